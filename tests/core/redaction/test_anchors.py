"""The pass that lets most texts go: it misses nothing, whatever is written around a secret, and however."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, settings
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.core.redaction.personal_kinds import PERSONAL
from tests.core.redaction.secret_kinds import HARMLESS_TEXTS, TEXTS, WORD

from agent_tt.redaction import anchors, multiple_search, one_look, shapes, values
from agent_tt.redaction import texts as searching
from agent_tt.redaction.anchors import ANCHORS
from agent_tt.redaction.fields import FIELDS, SECRET_HINTS, STRICT_FIELDS, _Fields
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.judging import is_placeholder
from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.names import is_secret_parameter
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.streams import bodies
from agent_tt.redaction.streams.answers import Veil
from agent_tt.redaction.texts import asked_text, redact_text


@pytest.fixture(autouse=True)
def _no_rules():
    yield
    OWN.use(Rules())
    GIVEN.forget()


GLUE = (
    *(" ", ": ", "=", '"', '":"', "'", "\n", "\\n", "\\\\n", "?", "&", "&amp;", ";", "_", "-", ".", "/", "@", "://"),
    *("<", ">", "is ", "é", "😀", "\u212a", "İ", "ſ", "\ud800", "0", "a", "A1", "%20", "f" * 31, "~r1~~", "<redacted>"),
    *("curl -u ", "mysql -p", "sshpass -p ", "login ann password ", "githubPat", "x_pat", "sig", "auth", "PRIVATE KEY"),
    ",",
)  # fmt: skip
PARTS = (
    *(text for text, _ in TEXTS.values()), *(secret for _, secret in TEXTS.values()), *HARMLESS_TEXTS, *SECRET_HINTS,
    *(word for shape in shapes._SHAPES for word in shape.words), *PERSONAL.values(),
    *STRICT_FIELDS, *(field.replace(" ", "_").upper() for field in STRICT_FIELDS),
    *("".join(map(str.title, field.split())) for field in STRICT_FIELDS),
)  # fmt: skip
CASES = (str, str, str, str.upper, str.lower, str.title, str.swapcase)
pieces = st.one_of(
    st.sampled_from(GLUE), st.tuples(st.sampled_from(PARTS), st.sampled_from(CASES)).map(lambda both: both[1](both[0]))
)


@pytest.mark.parametrize("profile", [None, "strict"])
@settings(max_examples=800, deadline=None)
@for_all(st.lists(pieces, max_size=10).map("".join))
def test_a_text_without_an_anchor_is_found_nothing_in_by_the_rules_that_need_it(profile: str | None, text: str):
    """Told that every anchor is there, the rules find what they find with those that are."""
    OWN.use(Rules(profile=profile, fields=("blood group",)))
    assert secrets_in(text) == secrets_in(text, ANCHORS.words)


@pytest.mark.parametrize("number", range(len(shapes._SHAPES)))
@settings(max_examples=40, deadline=None)
@for_all(st.data())
def test_every_secret_of_a_shape_holds_an_anchor_of_it(number: int, data: st.DataObject):
    shape = shapes._SHAPES[number]
    text = data.draw(st.from_regex(re.compile(shape.pattern.pattern, re.ASCII)))
    if shape.pattern.search(text) is not None:
        assert shape in shapes._likely(text, ANCHORS.held_in(text))


@settings(max_examples=400, deadline=None)
@for_all(
    st.lists(
        st.sampled_from(
            ("a@b.example ", "https://", "://", ":", "@", "u", "u" * 255, "p" * 256, " ", "\n", "\x1c", "\u2003")
        ),
        max_size=9,
    ).map("".join)
)
@example("see https://" + "u" * 256 + ":" + "p" * 256 + "@")
def test_a_link_with_a_login_is_told_by_what_stands_before_its_end(text: str):
    if shapes._LINK.pattern.search(text) is not None:
        assert shapes._may_hold_link(text)
    if "@" not in text or "://" not in text:
        assert not shapes._may_hold_link(text)


NAMES = ("said", "password", "token", "name", "value", "id", "email", "set-cookie", "Cookie", "pin")
OF_OBJECTS = st.one_of(
    st.lists(pieces, max_size=3).map("".join),
    st.sampled_from(("<redacted>", "~redacted1~~", "%3Credacted%3E", "a=<redacted>", "Bearer <redacted>")),
    st.sampled_from((0, 1234, 1.5, True, None, 4111111111111111)),
)


@pytest.mark.parametrize("profile", [None, "strict"])
@settings(max_examples=400, deadline=None)
@for_all(st.dictionaries(st.sampled_from(NAMES), OF_OBJECTS, max_size=4))
def test_an_object_that_a_question_has_as_it_is_is_kept_and_answered_as_it_is(
    profile: str | None, fields: dict[str, Any]
):
    """So it takes one way through an object that is asked, kept and answered."""
    GIVEN.forget()
    OWN.use(Rules(profile=profile))
    if values.asked(fields) == fields:
        GIVEN.renew()  # nothing of it is remembered
        assert values.given(fields) == fields
        assert values.redact(fields) == fields


QUIET = ("said", "id", "content", "note", "at")
OF_FIELDS = st.dictionaries(st.sampled_from(QUIET), st.lists(pieces, max_size=3).map("".join), max_size=5)


@pytest.mark.parametrize("profile", [None, "strict"])
@settings(max_examples=200, deadline=None)
@for_all(fields=OF_FIELDS, known=st.sets(st.sampled_from(QUIET)))
def test_fields_that_are_looked_at_together_are_found_in_what_each_alone_is(
    profile: str | None, fields: dict[str, Any], known: set[str]
):
    """Whichever of their texts were looked at before."""
    GIVEN.forget()
    OWN.use(Rules(profile=profile))
    alone = {key: redact_text(text) for key, text in fields.items()}
    GIVEN.renew()
    values.redact(dict.fromkeys(QUIET, "x"))
    for key in known & fields.keys():
        redact_text(fields[key])
    assert values.redact(fields) == alone
    assert values.redact({"all": [fields, fields]}) == {"all": [alone, alone]}


GIVEN_BEFORE = "abc123defXYZ"
TEXTS_OF_LISTS = st.lists(st.one_of(pieces, st.just(GIVEN_BEFORE)), max_size=2).map("".join)
ITEMS = st.one_of(
    TEXTS_OF_LISTS,
    st.dictionaries(st.sampled_from(NAMES + QUIET), st.one_of(TEXTS_OF_LISTS, OF_FIELDS), max_size=3),
)


@pytest.mark.parametrize("profile", [None, "strict"])
@settings(max_examples=300, deadline=None)
@for_all(items=st.lists(ITEMS, min_size=2, max_size=40))
@example(items=["password", "= hunter22"])
@example(items=["of nothing", f"it is {GIVEN_BEFORE}"])
@example(items=[{"said": "Bearer"}, {"said": "a1b2c3d4e5f6"}])
@example(items=[*"abc", {"id": "pass"}, {"id": "word: hunter22"}])
def test_texts_of_a_list_that_are_looked_at_together_are_found_in_what_each_alone_is(
    profile: str | None, items: list[Any]
):
    """Also where one ends as a secret begins that the next one goes on with."""

    def shown() -> list[Any]:
        found = []
        for way in (values.redact, values.asked, values.given, values.Redactor().redact):
            GIVEN.forget()
            values.given({"password": GIVEN_BEFORE})
            way(dict.fromkeys(QUIET, "x"))
            found.append(way([items, {"all": items}]))
        return found

    OWN.use(Rules(profile=profile))
    with pytest.MonkeyPatch.context() as alone:
        alone.setattr(one_look, "are_clean", lambda _texts: False)
        expected = shown()
    assert shown() == expected


def test_many_short_texts_of_a_list_are_looked_at_together(monkeypatch: pytest.MonkeyPatch):
    searched: list[str] = []
    held_in = ANCHORS.held_in
    monkeypatch.setattr(ANCHORS, "held_in", lambda text: searched.append(text) or held_in(text))
    for redact in (values.redact, values.asked, values.given, values.Redactor().redact):
        for records in (
            [{"id": f"n-{number}", "of": {"page": f"p {number}"}} for number in range(100)],
            [f"word {number}" for number in range(200)],
        ):
            GIVEN.forget()
            redact({"id": "x", "of": {"page": "x"}})
            searched.clear()
            assert redact(records) == records  # type: ignore[arg-type]
            assert len(searched) < 15


def test_what_an_answer_gives_is_taken_out_of_all_that_stands_beside_it():
    secret = "abc123defXYZ"
    for fields in (
        {"a": f"x {secret} y", "b": f'{{"password": "{secret}"}}'},
        {"b": f'{{"password": "{secret}"}}', "a": f"x {secret} y"},
        {"b": {"password": secret}, "a": f"x {secret} y"},
        {"a": f"x {secret} y", "b": {"password": secret}},
        {"b": {"password": secret}, "a": f"x {secret} y" + " and" * 1000},
        {"a": f"x {secret} y", "password": secret},
    ):
        GIVEN.forget()
        values.given({"a": "x", "b": "y"})
        redact_text(fields["a"])  # type: ignore[arg-type]  # nothing, so far
        assert secret not in str(values.given(fields)), fields  # type: ignore[arg-type]


def test_a_value_that_a_question_has_as_it_is_is_gone_through_again_once_something_else_is_secret():
    body = {"messages": [{"role": "user", "content": "it is abc123defXYZ"}]}
    assert values.asked(body) is body
    assert values.redact(body) is body
    values.given({"password": "abc123defXYZ"})
    assert "abc123defXYZ" not in str(values.redact(body))
    schema = {"properties": {"password": {"default": "hunter22"}}}
    assert values.asked(schema["properties"], "properties") == schema["properties"]
    assert "hunter22" not in str(values.redact(schema["properties"]))


def test_long_texts_that_are_alike_at_both_ends_are_two():
    words = ["word"] * 2000
    clean = " ".join(words)
    assert redact_text(clean) is clean
    for at in range(0, 2000, 111):
        secret = " ".join([*words[:at], f"password={WORD}", *words[at:]])
        alike = secret.replace(f"password={WORD}", "x" * len(f"password={WORD}"))
        for _ in range(2):
            assert redact_text(alike) is alike
            assert WORD not in redact_text(secret)
            assert WORD not in asked_text(secret)


def test_a_number_is_no_fraction_of_the_same_size():
    OWN.use(Rules(profile="personal"))
    card = 4111111111111111
    assert values.redact({"n": float(card)}) == {"n": float(card)}
    assert values.redact({"n": card}) != {"n": card}


def test_records_with_fractions_are_not_gone_through_again_under_a_profile(monkeypatch: pytest.MonkeyPatch):
    OWN.use(Rules(profile="personal"))
    record: dict[str, Any] = {"id": 98765432101, "total": 12.5, "note": "the refund was approved"}
    walks = (values.asked, values.given)
    assert [walk({**record}) for walk in walks] == [record] * 2
    monkeypatch.setattr(values._Walk, "_dict", lambda *_: pytest.fail("it is known"))
    assert [walk({**record}) for walk in walks] == [record] * 2


@pytest.mark.parametrize("walk", [values.asked, values.redact])
def test_a_yes_in_a_field_is_no_number(walk: Any):
    OWN.use(Rules(fields=("patient",)))
    assert walk({"patient": True}) == {"patient": True}
    assert walk({"patient": 1}) != {"patient": 1}


def test_megabytes_of_documents_that_are_made_anew_are_not_searched_again(monkeypatch: pytest.MonkeyPatch):
    documents = [f"document {number} " + "of many words " * 1_000 for number in range(200)]
    assert sum(map(len, documents)) > 2_500_000
    for text in documents:
        assert redact_text(text) is text
    monkeypatch.setattr(searching, "_searched", lambda *_: pytest.fail("it is known"))
    for text in documents:
        assert redact_text(f"{text[:99]}{text[99:]}") == text


@pytest.mark.parametrize("sign", [chr(code) for code in range(1, 128)] + ["é", ""])
def test_signs_of_two_letters_are_found_whatever_follows(sign: str):
    assert "-u" in ANCHORS.held_in(f"a -u{sign}")
    assert "-u" in ANCHORS.held_in(f"-U{sign}b")


REFERENCE = re.compile(r"[?&;](?:amp;)?(?P<name>[\w.%-]{1,60})=(?P<it>[^\s&;#\"'<>\\]+)")
OF_ADDRESSES = (
    "?",
    "&",
    "&amp;",
    ";",
    "key",
    "api_key",
    "a",
    "=",
    "==",
    WORD,
    "x" * 31,
    " ",
    "#",
    "%20",
    "sig",
    "é",
    "\n",
)


@settings(max_examples=800, deadline=None)
@for_all(st.lists(st.sampled_from(OF_ADDRESSES), max_size=14).map("".join))
def test_parameters_are_found_as_by_one_search_through_the_whole_text(text: str):
    found = [(span.start, span.end) for span in shapes._parameters(text)]
    assert found == [
        match.span("it")
        for match in REFERENCE.finditer(text)
        if is_secret_parameter(match["name"]) and not is_mark(match["it"]) and not is_placeholder(match["it"])
    ]


@settings(max_examples=300, deadline=None)
@for_all(st.lists(pieces, max_size=6).map("".join))
def test_the_words_of_a_text_are_the_same_without_the_library(text: str):
    held = ANCHORS.held_in(text)
    with pytest.MonkeyPatch.context() as without:
        without.setattr(anchors, "is_at_once", lambda: False)
        without.setattr(multiple_search, "is_at_once", lambda: False)
        anchors._searches_for.cache_clear()
        without.setattr(ANCHORS, "_searches", None)
        alone = ANCHORS.held_in(text)
    ANCHORS._searches = None
    anchors._searches_for.cache_clear()
    assert alone == held


def test_rules_that_hold_again_need_nothing_that_was_not_made_before():
    """As a process begins, no profile holds; once one held and went, the same words are looked for."""
    fields = _Fields()
    begun = ANCHORS._words["fields"]
    fields.use(STRICT_FIELDS, ())
    assert ANCHORS._words["fields"] != begun
    FIELDS.use((), ())
    assert ANCHORS._words["fields"] == begun


@pytest.mark.parametrize("profile", [None, "personal"])
def test_so_few_signs_are_looked_for_that_it_takes_less(profile: str | None):
    OWN.use(Rules(profile=profile))
    words = {word: place for said in ANCHORS._words.values() for place, held in said for word in held if len(word) > 1}
    assert len(anchors._signs_of(words)[0]) < 250


def test_a_mark_that_is_all_there_is_is_searched_once(monkeypatch: pytest.MonkeyPatch):
    GIVEN.forget()
    searched: list[str] = []
    held_in = ANCHORS.held_in
    monkeypatch.setattr(ANCHORS, "held_in", lambda text: searched.append(text) or held_in(text))
    for _ in range(3):
        fields = {"authorization": "<redacted>", "said": "a <redacted> b"}
        assert values.redact(fields) is fields
    assert sorted(text for text in searched if "redacted" in text) == ["<redacted>", "a <redacted> b"]


def test_a_short_word_that_an_answer_gave_is_taken_out():
    GIVEN.forget()
    values.given({"password": "a1b2"})
    assert redact_text("a1b2") == "<redacted>"
    assert values.redact(["x", "a1b2", "y", "z", "a1b2c"]) == ["x", "<redacted>", "y", "z", "<redacted>c"]


def test_a_secret_with_half_a_letter_is_taken_out():
    """JSON may hold a half of a pair that makes one letter, which no encoding has."""
    for kept in (redact_text, asked_text):
        assert WORD not in kept(f'{{"password": "{WORD}\ud800"}}')
    assert WORD not in GIVEN.hide(f"{WORD}\ud800")


# ---------------------------------------------------------------- events that are written alike


def covered(events: list[Any], *, has_forms: bool) -> bytes:
    """What is kept of a stream of events."""
    GIVEN.forget()
    kept: dict[int, bytes | None] = {}
    with pytest.MonkeyPatch.context() as patch:
        if not has_forms:
            patch.setattr(bodies.EventForm, "of", lambda *_: None)
        veil = Veil()
        veil.headers([("content-type", "text/event-stream")])
        for number, event in enumerate(events):
            line = event if isinstance(event, str) else json.dumps(event, ensure_ascii=number % 2 == 0)
            for piece in veil.body(number, f"data: {line}\n\n".encode("utf-8", "surrogatepass")):
                kept[piece.number] = piece.data
        for piece in veil.end():
            kept[piece.number] = piece.data
    return b"".join(kept[number] or b"?" for number in sorted(kept))


SAID = (
    *(
        "word ",
        "the ",
        "é",
        "",
        "sk-proj-",
        "Abc123Def456Ghi789",
        "password: ",
        WORD,
        "\n",
        '"',
        "ann@example.com",
        "-u",
    ),
    *(
        "--api-key",
        "ann:" + WORD,
        "x",
        "Authorization",
        "name",
        "api_key",
        "\ud800",
        "4111111111111111",
        "a\\",
        "token",
    ),
)
said = st.sampled_from(SAID)
events = st.one_of(
    st.builds(
        lambda text, end: {"id": "c1", "choices": [{"index": 0, "delta": {"content": text}, "end": end}], "at": 7},
        said, st.sampled_from((None, "stop")),
    ),
    st.builds(
        lambda kind, number, *texts: {
            "type": kind, "sequence": number, "index": number % 2, "delta": texts[0], "obfuscation": texts[1]
        },
        st.sampled_from(("delta", "thinking")), st.sampled_from((0, 1, 2, 10**6, 10**10, 4111111111111111)), said, said,
    ),
    st.builds(lambda first, second: {"args": [first, second]}, said, said),
    st.builds(lambda name, value: {"name": name, "value": value}, said, said),
    st.builds(lambda name, value: {"token": value, "birth_date": name}, said, said),
    st.builds(lambda text: f'{{"a": "{text}", "b": 012}}', st.sampled_from(("x", "word "))),
    st.builds(lambda number: f'{{"a": "x", "b": {number}}}', st.sampled_from(("1", "012", "1.5", "-3", "1e5"))),
    said,
)  # fmt: skip


@pytest.mark.parametrize("profile", [None, "strict"])
@settings(max_examples=250, deadline=None)
@for_all(st.lists(events, max_size=12))
def test_events_that_are_told_by_their_form_are_judged_as_each_by_itself(profile: str | None, stream: list[Any]):
    OWN.use(Rules(profile=profile))
    assert covered(stream, has_forms=True) == covered(stream, has_forms=False)


def test_most_events_of_a_models_answer_are_told_by_their_form(monkeypatch: pytest.MonkeyPatch):
    read = []
    leaves_of = bodies.leaves_of
    monkeypatch.setattr(bodies, "leaves_of", lambda event: read.append(event) or leaves_of(event))
    for noise in ("", "xY9k2"):
        read.clear()
        stream = [
            {
                "id": "c1",
                "choices": [{"index": 0, "delta": {"content": f"word{number} "}}],
                "obfuscation": noise * (number % 3),
            }
            for number in range(50)
        ]
        covered(stream, has_forms=True)
        assert len(read) == 1
