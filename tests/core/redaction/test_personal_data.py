"""What the profiles take out and what they leave, in every place and however it is cut; and what stands for it."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, settings
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.core.redaction.personal_kinds import HARMLESS, PERSONAL
from tests.core.redaction.secret_kinds import HARMLESS_TEXTS, TEXTS
from tests.core.redaction.test_secret_kinds import PLACES, traces
from tests.core.stored_bytes import contents
from tests.recordings import MISSING, recordings

import agent_tt
from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.config import load
from agent_tt.errors import UsageError
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.redaction import named, number_places
from agent_tt.redaction import personal as personal_rules
from agent_tt.redaction.anchors import ANCHORS
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import KEYED, key_path, keyed_marks_in
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import PROFILES, Rules
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.spans import apart
from agent_tt.redaction.streams.growing import Growing
from agent_tt.redaction.streams.wire_pieces import WirePieces
from agent_tt.redaction.values import asked, given, redact
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDED = ("bsn ", "cpr ", "personnummer ", "NHS ")
VALUES = {
    kind: next((text.removeprefix(w) for w in WORDED if text.startswith(w)), text) for kind, text in PERSONAL.items()
}


@pytest.fixture(autouse=True)
def personal(tmp_path: Path) -> Iterator[None]:
    GIVEN.forget()
    OWN.use(Rules(profile="personal"))
    KEYED.at(tmp_path / "keyed.db")
    yield
    GIVEN.forget()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", PERSONAL)
def test_personal_data_is_kept_in_no_place(kind: str, place: str):
    wire = encode(PLACES[place](PERSONAL[kind]))
    for shown in (redact(wire), asked(wire), given(wire)):
        assert traces(VALUES[kind], json.dumps(shown).encode()) == []
        assert asked(shown) == asked(wire), "handed on, it asks the same"
    decode(redact(wire), types={"builtins:ValueError": ValueError})


@pytest.mark.parametrize("kind", PERSONAL)
def test_a_mark_of_personal_data_has_kind_and_length_and_is_the_same_for_the_same(kind: str, tmp_path: Path):
    text = PERSONAL[kind]
    shown = redact(f"{text} and {text}")
    assert len(shown) == len(f"{text} and {text}")
    one, other = keyed_marks_in(shown)
    assert one == other
    assert given(text) == redact(text)
    KEYED.at(tmp_path / "another.db")
    GIVEN.renew()
    assert keyed_marks_in(redact(text)) != [one], "another key makes another mark"


@pytest.mark.parametrize("text", [*HARMLESS, *HARMLESS_TEXTS], ids=range(len(HARMLESS) + len(HARMLESS_TEXTS)))
def test_what_only_looks_like_personal_data_stays(text: str):
    for value in (text, {"content": text}, json.dumps({"content": text}), f"{text}\nand more"):
        assert redact(value) == value
        assert given(value) == value


@pytest.mark.parametrize("first", [kind for kind in PERSONAL if kind.startswith("phone")])
@pytest.mark.parametrize("second", [kind for kind in PERSONAL if kind.startswith("phone ") or kind == "phone"])
def test_a_number_right_behind_another_is_found_too(first: str, second: str):
    shown = str(redact(f"{PERSONAL[first]} {PERSONAL[second]}"))
    assert [value for value in (PERSONAL[first], PERSONAL[second]) if value in shown] == []


def test_numbers_stay_numbers_and_ask_the_same_when_handed_on():
    held = {"card": 4111111111111111, "pesel": 44051401359, "at": 1732435281000, "n": 3, "f": 1.5, "yes": True}
    answer = given(held)
    assert [type(answer[key]) for key in held] == [int, int, int, int, float, bool]
    assert (answer["card"], answer["at"], answer["n"]) == (1000000000000000, 1732435281000, 3)
    assert asked(answer) == asked(held) == {**held, "card": "<redacted>", "pesel": "<redacted>"}
    body = json.dumps(held)
    assert json.loads(str(asked(body))) == asked(held)
    assert asked(given(body)) == asked(body)


def test_equal_values_are_equal_however_they_are_written():
    forms = ["ann@example.com", "ANN@Example.com", "ann%40example.com"]
    assert len({redact(form) for form in forms}) == 1
    assert redact("https://host/?to=%2B491701234567") == "https://host/?to=" + str(redact("+491701234567"))


@pytest.mark.parametrize("kind", [*PERSONAL, *TEXTS])
def test_a_stream_of_personal_data_is_judged_as_the_whole(kind: str):
    text = {**PERSONAL, **{key: held for key, (held, _) in TEXTS.items()}}[kind]
    for before, after in [
        ("", ""),
        ("He said: ", "."),
        ("a\n", "\nb c"),
        ('{"content": "', '", "x": 1}'),
        ("x ", " and"),
    ]:
        whole = before + text + after
        growing = Growing()
        found = [span for letter in whole for span in growing.feed(letter)]
        found += growing.feed("", is_end=True)
        assert _covered(found, whole) == _covered(secrets_in(whole), whole)


@settings(max_examples=300, deadline=None)
@for_all(
    st.lists(
        st.sampled_from([*PERSONAL.values(), " ", "\n", "x", "1", ".", "@", "+", "A", '"', ", and", *HARMLESS]),
        max_size=8,
    ),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
@example(["ann.lee+bills@mail.example.com", "+4930901820", "@", "+49 170 1234567", "X2482300W"], [1])
def test_personal_data_in_pieces_is_found_however_they_are_cut(parts: list[str], cuts: list[int]):
    text = "".join(parts)
    growing, found, at, index = Growing(), [], 0, 0
    while at < len(text):
        size = cuts[index % len(cuts)]
        found += growing.feed(text[at : at + size])
        at, index = at + size, index + 1
    found += growing.feed("", is_end=True)
    assert _covered(found, text) == _covered(secrets_in(text), text)


def _everywhere(text: str, *, has_addresses: bool, is_named: bool) -> dict[str, list[tuple[int, int]]]:
    """All of a text, in place of the parts in which numbers could stand."""
    del is_named
    kinds = (number_places.DIGITS, number_places.LETTERED, number_places.DOTTED)
    return {kind: [(0, len(text))] for kind in kinds[: 3 if has_addresses else 2]}


PARTS = [
    *PERSONAL.values(), *HARMLESS, "8.8.4.4", "2001:db8::7334", "fe80::1", "10.0.0.7:80", "1.2.3", "::", ":", ".", "/",
    "T", "%2B491701234567", "2026-11-24T08:21", "ord_", "\\n", "\\t", "_", "0", "00", "+", "-", " ", "x", "é", '"', "n",
    "B", "home_address", "billingName", "phone number", "number", "account", "birth", "date", ": ", "=", "Ann", ", ",
    "1990", "ip", "IP", "Ip", "shipping", "token", "api", "key", "pass", "s", "\\nip: 8.8", "\\nzip=", "e-mail: ",
    "pin: 4711", "\\npin=4711", "PIN", "totp", "pincode=12345", "dbpwd", "old_pwd=",
]  # fmt: skip


@settings(max_examples=1500, deadline=None)
@for_all(st.lists(st.sampled_from(PARTS), max_size=10))
@example(
    [
        "chatcmpl-9abcDEF123456789",
        "415-555-2671",
        "415-555-2671",
        "home_address",
        "api",
        "home_address",
        " ",
        "ann@a.bc",
    ]
)
def test_what_a_text_must_hold_is_held_by_every_text_in_which_something_is_found(parts: list[str]):
    """The scans that let most texts pass miss nothing that the full rules find."""
    text = "".join(parts)
    OWN.use(Rules(profile="strict"))
    found = secrets_in(text)
    with pytest.MonkeyPatch.context() as always:
        always.setattr(personal_rules, "_is_in_word", lambda _text, _start: False)
        always.setattr(personal_rules, "parts_of", _everywhere)
        for name in ("_is_within_word", "_goes_on"):
            always.setattr(named, name, lambda _text, _start, _end: False)
        always.setattr(named, "_places_of", lambda hint, _is_name: re.compile(hint))
        in_full = secrets_in(text, ANCHORS.words)
    # Of a run that is longer than any name, the scans may name another part, and so more of it.
    taken = {place for span in found for place in range(span.start, span.end)}
    assert taken.issuperset(place for span in in_full for place in range(span.start, span.end))


DIGITS = (
    *PERSONAL.values(), *HARMLESS, "1", "2", "00", "49", "170", "2026-11-24", "1234-56-78", "08:21", "4111111111111111",
    "123456789", "(555) 201-4477", "+", "-", " ", ".", "(", ")", "/", "%2B", "%2b", "\\n", "\\t", "a", "n", "b", "B",
    "_", "x_", "T", "é", "ord_", "nhs ", "bsn: ", "\n", '"', ":", ",", "0", "12", "345", "6789", "٣", "😀",
)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@for_all(st.lists(st.sampled_from(DIGITS), max_size=11).map("".join))
def test_numbers_are_found_as_by_a_search_from_every_digit(text: str):
    """Dates, digits that go on a word, and short ones that no word names are passed over: nothing begins there."""
    found = apart(personal_rules.personal_in(text, ANCHORS.held_in(text)))
    with pytest.MonkeyPatch.context() as always:
        always.setattr(personal_rules, "_RUN", re.compile(rb"0(?:[-+ ./()]{0,2}0){7,}"))
        always.setattr(personal_rules, "_is_in_word", lambda _text, _start: False)
        always.setattr(personal_rules, "_DATE", re.compile(r"(?!)"))
        always.setattr(personal_rules._OF_DIGITS, "may_be_named_in", lambda _text: True)
        always.setattr(personal_rules, "_is_short", lambda _run: False)
        always.setattr(personal_rules, "parts_of", _everywhere)
        in_full = apart(personal_rules.personal_in(text, ANCHORS.words))
    assert found == in_full


def _written(pattern: re.Pattern[str] | str) -> st.SearchStrategy[str]:
    """Texts that a pattern fits, of whatever checksum, and nothing beside them."""
    form = pattern if isinstance(pattern, str) else pattern.pattern
    return st.from_regex(re.compile(form.removeprefix(personal_rules._B).removesuffix(personal_rules._E), re.A))


NOTATIONS = st.one_of(
    _written(personal_rules._OF_DIGITS._any),
    _written(personal_rules._WITH_LETTERS._any),
    _written(personal_rules._IBAN),
    _written(personal_rules._CARD),
    _written(personal_rules._AMERICA),
    _written(personal_rules._WORLD),
    _written(personal_rules._IP4),
    _written(personal_rules._IP6),
    st.sampled_from([*PERSONAL.values(), "8.8.4.4", "2001:db8::7334", "::ffff:8.8.4.4"]),
)
"""Personal data in all notations that the rules know, most of it with checksums that fit nothing."""
AROUND = st.one_of(
    st.sampled_from(
        ["", "", " ", "\n", "\\n", "\\t", ", ", ".", "/", "-", "+", "(", ") ", '"', "x", "_", "A", "é", "1", "%2B", ":"]
    ),
    st.text(max_size=3),
)


@pytest.mark.parametrize("profile", PROFILES[1:])
@settings(max_examples=1_000, deadline=None)
@for_all(st.lists(st.tuples(AROUND, NOTATIONS), max_size=4), AROUND)
def test_where_numbers_and_addresses_could_stand_is_wherever_they_stand(
    profile: str, parts: list[tuple[str, str]], end: str
):
    """No check of a number counts here, only its form: each is a telephone number, a card, valid in its state."""
    text = "".join(before + number for before, number in parts) + end
    OWN.use(Rules(profile=profile))
    with pytest.MonkeyPatch.context() as unchecked:
        unchecked.setattr(personal_rules, "_module", lambda _name: SimpleNamespace(is_valid=lambda *_, **__: True))
        unchecked.setattr(personal_rules, "_is_card", lambda _digits: True)
        unchecked.setattr(personal_rules.phones, "is_valid", lambda _digits: True)
        found = apart(personal_rules.personal_in(text, ANCHORS.held_in(text)))
        unchecked.setattr(personal_rules, "parts_of", _everywhere)
        assert found == apart(personal_rules.personal_in(text, ANCHORS.words))


@settings(max_examples=500, deadline=None)
@for_all(_written(personal_rules._OF_DIGITS._any))
def test_digits_that_nothing_parts_have_as_many_as_some_number_of_a_state(text: str):
    for match in personal_rules._OF_DIGITS._any.finditer(text):
        assert not match[0].isdigit() or len(match[0]) in personal_rules._SIZES_ALONE


@settings(max_examples=1_000, deadline=None)
@for_all(st.one_of(st.text(max_size=70), st.text("0Z +%().-/x\n@é٣", max_size=70)))
def test_digits_that_a_text_ends_with_begin_where_the_pattern_finds_them(text: str):
    mail = len(text) - len(text[-330:]) + len(text[-330:].rstrip(personal_rules._OF_MAIL))
    begun = personal_rules._DIGITS_BEGUN.search(text, max(0, len(text) - 64))
    assert personal_rules.open_from(text) == min(mail, len(text) if begun is None else begun.start())


@pytest.mark.parametrize("profile", PROFILES[1:])
def test_numbers_are_found_in_texts_of_nothing_else(profile: str):
    """There the search for places ends early, and all of the text is gone through."""
    OWN.use(Rules(profile=profile))
    text = " 17 ".join(VALUES.values()) * 9
    with pytest.MonkeyPatch.context() as always:
        always.setattr(personal_rules, "parts_of", _everywhere)
        in_full = secrets_in(text)
    for places in (0, 64, 10**6):
        with pytest.MonkeyPatch.context() as few:
            few.setattr(number_places, "_FEW", places or 1)
            assert secrets_in(text) == in_full


@settings(max_examples=500, deadline=None)
@for_all(
    st.from_regex(re.compile(personal_rules._WITH_LETTERS._any.pattern + "|" + personal_rules._IBAN.pattern, re.A))
)
def test_every_number_with_letters_holds_what_it_is_searched_by(text: str):
    assert number_places.NUMBERS in ANCHORS.held_in(text)
    assert number_places.parts_of(text, has_addresses=False, is_named=False).get(number_places.LETTERED)


@settings(max_examples=500, deadline=None)
@for_all(st.from_regex(re.compile(personal_rules._IP4.pattern + "|" + personal_rules._IP6.pattern, re.A)))
def test_every_address_of_a_machine_holds_what_it_is_searched_by(text: str):
    OWN.use(Rules(profile="strict"))
    held = ANCHORS.held_in(text)
    if any(personal_rules._machines(text, personal_rules._IP4, [(0, len(text))])):
        assert number_places.MACHINES in held
        assert number_places.parts_of(text, has_addresses=True, is_named=False).get(number_places.DOTTED)
    if any(personal_rules._machines(text, personal_rules._IP6, [(0, len(text))])):
        assert number_places.COLONS in held


@settings(max_examples=300, deadline=None)
@for_all(st.one_of(st.text(max_size=7), st.text("aipn_PIN@:.=-0é٣", max_size=7)))
def test_a_short_text_that_is_not_searched_holds_nothing(text: str):
    OWN.use(Rules(profile="strict", fields=("a", "p")))
    assert OWN.may_take_short(text) or not secrets_in(text)


def test_a_field_right_after_the_end_of_a_line_in_json_is_found():
    OWN.use(Rules(profile="strict"))
    assert "k8x3" not in str(redact(r'{"said": "in short:\nzip: k8x3"}'))


def test_pieces_of_a_stream_have_the_marks_of_the_whole():
    text = "write to ann.lee@mail.example.com or call +49 170 1234567, please"
    pieces = WirePieces()
    for at in range(0, len(text), 3):
        pieces.take({"delta": text[at : at + 3]})
    pieces.end()
    assert "".join(str(piece["delta"]) for piece in pieces.shown if isinstance(piece, dict)) == redact(text)


def _covered(found: list[Any], text: str) -> str:
    shown = list(text)
    for span in apart(found):
        shown[span.start : span.end] = "#" * (span.end - span.start)
    return "".join(shown)


# ---------------------------------------------------------------- the other rules


def test_strict_takes_fields_and_addresses_of_machines_too():
    person = {
        "first_name": "Ann",
        "birthDate": "1990-01-02",
        "homeAddress": {"street": "Main 5", "n": 4},
        "from": "8.8.4.4",
    }
    others = {"name": "search", "version": "1.2.3", "host": "127.0.0.1", "title": "Main Street"}
    assert redact({**person, **others}) == {**person, **others} | {"from": "8.8.4.4"}
    OWN.use(Rules(profile="strict"))
    for shown in (redact(person), json.loads(str(redact(json.dumps(person)))), given(person)):
        assert not any(traces(word, json.dumps(shown).encode()) for word in ("Ann", "1990", "Main", "8.8.4.4"))
    assert redact(others) == others


def test_fields_of_a_project_go_in_values_and_in_texts():
    OWN.use(Rules(fields=("patient", "case id")))
    assert redact({"patient": "Ann", "caseId": 17, "patients": 3, "case": "x"}) == {
        "patient": "<redacted>", "caseId": "<redacted>", "patients": 3, "case": "x",
    }  # fmt: skip
    assert redact('{"last_patient": "Ann", "n": 1}') == '{"last_patient": "<redacted>", "n": 1}'
    OWN.use(Rules())
    assert redact({"patient": "Ann"}) == {"patient": "Ann"}


def test_what_is_allowed_stays_but_no_secret_does():
    rules = Rules(
        profile="personal",
        patterns={"desk": "DESK-[0-9]{2}"},
        fields=("who",),
        allow=("*@example.com", "DESK-1?", "me"),
    )
    OWN.use(rules)
    assert redact("ann@example.com DESK-12") == "ann@example.com DESK-12"
    assert redact({"who": "me"}) == {"who": "me"}
    assert "bob@example.org" not in str(redact("bob@example.org DESK-23"))
    assert redact({"password": "me"}) == {"password": "<redacted>"}


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("personnel", "there is no profile 'personnel'"),
        (["personal"], "neither the name of a profile nor a table"),
        ({"profil": "personal"}, "has no key 'profil'"),
        ({"fields": "name"}, "fields must be a list of texts"),
        ({"allow": [""]}, "allow must be a list of texts"),
        ({"patterns": {"a": "x+"}}, "repeats without an end"),
        ({"patterns": ["x"]}, "must be a table of patterns by name"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(said: object, what: str):
    with pytest.raises(UsageError) as refused:
        Rules.read(said, "here")
    assert what in refused.value.message
    assert refused.value.hint


def test_a_profile_without_its_libraries_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agent_tt.redaction.rules.find_spec", lambda name: None)
    for library in ("phonenumbers", "stdnum"):
        monkeypatch.delitem(sys.modules, library, raising=False)
    assert not Rules.read(None, "here")
    with pytest.raises(UsageError, match="needs phonenumbers and stdnum") as refused:
        Rules.read("personal", "here")
    assert refused.value.hint == "pip install 'agent-tt[privacy]'"


def test_the_stronger_profile_of_user_and_project_holds(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.agent-tt]\nredact = "personal"\n[tool.agent-tt.redaction]\na = "A1"\n'
    )
    (tmp_path / "config.toml").write_text('redact = { profile = "strict", fields = ["x"], allow = ["y"] }\n')
    rules = load(tmp_path, {}, tmp_path / "config.toml").redaction
    assert rules == Rules("strict", {"a": "A1"}, ("x",), ("y",))


# ---------------------------------------------------------------- in a store


def _recorded(path: Path, texts: list[str]) -> None:
    @agent_tt.tool(effect="read")
    def look_up(key: object, **options: object) -> object:
        return {"found": key, **options}

    @agent_tt.tool(effect="read")
    def stream(keys: list[str]) -> Iterator[str]:
        yield from keys

    @agent_tt.tool(effect="write", name=f"pay {texts[0]}")
    def fails(key: str) -> None:
        error = ValueError(key)
        error.add_note(key)
        raise error

    state: dict[str, Any] = {"texts": [], "by key": {}}
    with agent_tt.record(
        f"run {texts[0]}",
        state=state,
        store=path,
        user_id=texts[1],
        tags=texts[:3],
        metadata={"all": texts},
        redact="personal",
    ) as run:
        for text in texts:
            run.note(text)
            with run.step(f"step {text}", agent=text) as step, agent_tt.lane(text):
                step.decision = text
                look_up(text, args=json.dumps({"of": text}), raw=text.encode())
                state["texts"].append(text)
                state["by key"][text] = text
                with pytest.raises(ValueError):  # noqa: PT011  what it says is the personal data
                    fails(text)
        list(stream(texts))


def test_no_kind_of_personal_data_reaches_the_file_by_any_way_into_it(tmp_path: Path):
    path = tmp_path / "runs.db"
    _recorded(path, [*PERSONAL.values()])
    store = open_store(path)
    assert store.verify() == []
    store.close()
    found = b"\n".join(raw for _, raw in contents(path))
    found += b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert {value: traces(value, found) for value in VALUES.values() if traces(value, found)} == {}


def test_the_key_lies_beside_the_store_and_in_nothing_of_it(tmp_path: Path):
    path = tmp_path / "runs.db"
    _recorded(path, ["ann@example.com", "x", "y"])
    key = key_path(path)
    assert key.stat().st_mode & 0o077 == 0
    assert key.read_bytes() not in b"".join(raw for _, raw in contents(path)) + path.read_bytes()
    _recorded(path, ["ann@example.com", "z", "w"])
    store = open_store(path)
    first, second = (run.name for run in store.runs())
    assert first.partition(" ")[2][:15] == second.partition(" ")[2][:15]
    store.close()
    (tmp_path / "plain").mkdir()
    with agent_tt.record("plain", state={}, store=tmp_path / "plain" / "runs.db"):
        pass
    assert not key_path(tmp_path / "plain" / "runs.db").exists()


def test_each_store_of_a_process_has_the_marks_of_its_own_key(tmp_path: Path):
    shown = []
    for name in ("one", "two", "one"):
        with agent_tt.record(
            "desk", state={"to": "ann@example.com"}, store=tmp_path / name / "runs.db", redact="personal"
        ) as run:
            pass
        store = open_store(tmp_path / name / "runs.db")
        shown.append(store.state(run.id, 0))
        store.close()
    assert shown[0] == shown[2] != shown[1]


def test_a_conversation_with_marks_is_not_gone_through_again_at_each_step():
    admitted: list[int] = []

    def admit(value: Any, name: str) -> Any:
        admitted.append(len(json.dumps(value)))
        return redact(value, name)

    shadow = Shadow(admit=admit)
    said = [{"role": "user", "content": f"of ann{number}@example.com"} for number in range(128)]
    state: dict[str, Any] = {"messages": said, "n": 0}
    shadow.step(state, 0)
    for number in range(1, 4):
        admitted.clear()
        state["n"] = number
        assert shadow.step(state, number)[0] == [["s", ["n"], number]]
    assert sum(admitted) < 10
    state["messages"][5]["content"] = "of bob@example.com"
    shadow.step(state, 4)
    assert "bob@" not in json.dumps(shadow.keyframe(lambda _: ""))


def test_of_a_conversation_that_grows_only_the_newest_messages_are_gone_through():
    gone_through: list[int] = []

    def admit(value: Any, name: str) -> Any:
        gone_through.append(len(value) if isinstance(value, list) else 1)
        return redact(value, name)

    shadow = Shadow(admit=admit)
    said: list[Any] = [f"of ann{number}@example.com, who writes from time to time" for number in range(100)]
    shadow.step({"messages": said}, 0)
    shadow.step({"messages": said}, 1)
    for number in range(2, 12):  # the run of 64 that they are added to is not full then
        said += [f"of bob{number}@example.com", f"it is the {number}th"]
        gone_through.clear()
        ops, _ = shadow.step({"messages": said}, number)
        assert [op[0] for op in ops] == ["a"]
        assert "bob" not in json.dumps(ops)
        assert sum(gone_through) < 16
    said[103] = "of eve@example.com"
    ops, _ = shadow.step({"messages": said}, 12)
    assert len(ops) == 1
    assert "eve" not in json.dumps(ops)


@pytest.mark.skipif(not recordings("chat").is_dir(), reason=MISSING)
def test_no_recorded_run_of_others_holds_what_only_looks_like_personal_data():
    texts: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, str):
            texts.add(value)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(item)

    for file in recordings("chat").parent.rglob("*.json*"):
        whole = file.read_text(errors="replace")
        for document in whole.splitlines() if file.suffix == ".jsonl" else [whole]:
            with contextlib.suppress(ValueError):
                walk(json.loads(document))
    mails, others = [], {}
    for profile in PROFILES[1:]:
        OWN.use(Rules(profile=profile))
        found = [
            (span.kind, text[span.start : span.end])
            for text in texts
            for span in OWN.spans(text, ANCHORS.held_in(text))
        ]
        mails.append([value for kind, value in found if kind == "mail"])
        others[profile] = [value for kind, value in found if kind != "mail"]
    assert all(value.endswith(("@example.com", "@all-hands.dev")) for value in mails[0])
    assert sorted(mails[0]) == sorted(mails[1])
    assert others == {"personal": [], "strict": ["10.0.0.0"]}
    told = " ".join((Path(__file__).parents[3] / "docs" / "secrets.md").read_text().split())
    assert f"In {len(texts):,} texts of recorded runs" in told
    assert f"{sum(map(len, texts)) / 1e6:.1f} million characters" in told
    assert f"`personal` found {len(mails[0])} e-mail addresses, which they are, and nothing else" in told
