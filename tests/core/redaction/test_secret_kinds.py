"""Each kind of secret in each place where a value or text can hold it; what only looks like one stays."""

from __future__ import annotations

import base64
import json
import re
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.core.redaction.secret_kinds import FIELDS, HARMLESS_TEXTS, TEXTS
from tests.core.stored_bytes import contents

import agent_tt
from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.history.changes.ops import apply
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import asked, field_of, given, redact
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _nothing_was_given() -> Iterator[None]:
    GIVEN.forget()
    yield
    GIVEN.forget()


PLACES: dict[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "field": lambda text: {"content": text},
    "deep": lambda text: {"a": [{"b": [text]}]},
    "key": lambda text: {text: 1},
    "tuple": lambda text: (text,),
    "key of a dict with other keys": lambda text: {1: 1, text: 2},
    "JSON": lambda text: json.dumps({"content": text}),
    "JSON with indent": lambda text: json.dumps({"content": [text]}, indent=2),
    "JSON in JSON": lambda text: json.dumps({"content": json.dumps([text])}),
    "bytes": lambda text: text.encode(),
    "lines around": lambda text: f"before\n{text}\nafter",
    "message of an exception": lambda text: ValueError(text),
}


@pytest.mark.parametrize("first", [kind for kind, (text, _) in TEXTS.items() if re.fullmatch(r"[\w.-]+", text)])
def test_of_two_secrets_without_anything_between_a_second_look_takes_no_more(first: str):
    for second in TEXTS:
        shown = redact_text(TEXTS[first][0] + TEXTS[second][0])
        assert redact_text(shown) == shown, second


def test_a_secret_directly_behind_one_of_a_known_length_goes_too():
    for kind in ("openai", "anthropic", "gitlab", "slack"):
        assert redact_text(f"a {TEXTS['aws'][0]}{TEXTS[kind][0]} b") == "a <redacted><redacted> b"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_keeps_no_secret(kind: str, place: str):
    text, secret = TEXTS[kind]
    wire = encode(PLACES[place](text))
    for shown in (redact(wire), asked(wire), given(wire)):
        assert traces(secret, json.dumps(shown).encode()) == []
    decode(redact(wire), types={"builtins:ValueError": ValueError})  # a typed value is one still


@pytest.mark.parametrize("kind", FIELDS)
def test_a_field_keeps_no_secret_of_any_type(kind: str):
    value, secret = FIELDS[kind]
    for held in (value, {"deep": [value]}, (value,), {1: value}):
        wire = encode(held)
        for shown in (redact(wire), asked(wire), given(wire)):
            assert traces(secret, json.dumps(shown).encode()) == []
            assert redact(shown) == redact(wire)
        decode(redact(wire))
    plain = [value] if isinstance(value, dict) and all(isinstance(key, str) for key in value) else []
    for held in plain:
        text = json.dumps(held, default=lambda item: item.decode() if isinstance(item, bytes) else list(item))
        for shown in (redact_text(text), redact_text(json.dumps({"x": text}))):
            assert secret not in shown
            json.loads(shown)


@pytest.mark.parametrize("text", HARMLESS_TEXTS, ids=range(len(HARMLESS_TEXTS)))
def test_a_placeholder_a_type_a_count_and_a_word_stay(text: str):
    for value in (text, {"content": text}, json.dumps({"content": text}), f"{text}\nand more"):
        assert redact(value) == value
        assert given(value) == value


@pytest.mark.parametrize("kind", TEXTS)
def test_an_answer_is_as_long_as_before(kind: str):
    text, _ = TEXTS[kind]
    assert len(redact_text(text, hide=GIVEN.hide)) == len(text)


names = st.sampled_from(["password", "secret", "token", "pin", "properties", "value", "name", "a", "cookies", "x1"])
leaves = st.sampled_from(["hunter2Xy9Q", "word", 48213657, 5, None, True, 1.5, "sid=hunter2Xy9Q"])
trees = st.dictionaries(
    names,
    st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)),
    max_size=4,
)


@for_all(trees, trees)
def test_a_state_that_grew_keeps_what_it_would_have_kept_at_once(before: dict[str, Any], after: dict[str, Any]):
    shadow = Shadow(admit=redact)
    state = apply(None, shadow.step(before, 0)[0])
    assert state == redact(encode(before))
    assert apply(state, shadow.step(after, 1)[0]) == redact(encode(after))


@for_all(st.lists(st.sampled_from(["password", "properties", "a", "secret", 0, 1]), max_size=5))
def test_the_name_that_counts_is_the_same_for_a_part_and_for_the_whole(path: list[str | int]):
    value: Any = "hunter2Xy9Q"
    for part in reversed(path):
        value = [value, value] if isinstance(part, int) else {part: value}
    whole = redact(value)
    for part in path:
        whole = whole[part]  # type: ignore[index,call-overload]
    assert redact("hunter2Xy9Q", field_of(path, is_object=False)) == whole


def test_no_kind_of_secret_reaches_the_file_by_any_way_into_it(tmp_path: Path):
    texts = [text for text, _ in TEXTS.values()]
    values = [value for value, _ in FIELDS.values()]
    path = tmp_path / "runs.db"

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

    state: dict[str, Any] = {"texts": [], "values": [], "by key": {}}
    with agent_tt.record(
        f"run {texts[0]}", state=state, store=path, user_id=texts[1], tags=texts[:3], metadata={"all": texts}
    ) as run:
        for text in texts:
            run.note(text)
            with run.step(f"step {text}"[:120], agent=text[:60]) as step, agent_tt.lane(text[:60]):
                step.decision = text
                look_up(text, args=json.dumps({"of": text}), raw=text.encode())
                state["texts"].append(text)
                state["by key"][text] = text
                with pytest.raises(ValueError):  # noqa: PT011  what it says is the secret
                    fails(text)
        for value in values:
            with run.step("value"):
                look_up(value)
                state["values"].append(value)
        list(stream(texts))
    store = open_store(path)
    assert store.verify() == []
    store.close()
    found = b"\n".join(raw for _, raw in contents(path)) + path.read_bytes()
    secrets = {
        secret for _, secret in (*TEXTS.values(), *FIELDS.values()) if len(secret) > 6
    }  # a time holds digits too
    assert {secret: traces(secret, found) for secret in secrets if traces(secret, found)} == {}


def traces(secret: str, raw: bytes) -> list[str]:
    """How a secret is found in bytes: as it is, as addresses write it, and in base64 at any place in it."""
    ways = {"raw": secret.encode(), "address": quote(secret, safe="").encode()}
    for lead in range(3):
        packed = base64.b64encode(b"\0" * lead + secret.encode())
        ways[f"base64 after {lead}"] = packed[4 if lead else 0 : -4]
    return [way for way, data in ways.items() if data and data in raw]


ADVERSE = [
    "A", "a b", "sk-", "hf_", "eyJ", "eyJa.", "password", "password=", "password: ", '"password":', '"password":"',
    '"secret":{', '"secret":[', "'password': '", "\\", '\\"', "secret\\", "Cookie: ", "a=b;", "-----BEGIN ", "://a:",
    "bearer ", "--token ", "<password>", "curl -u a:", "login a password ", "mysql -", "authorization:", "é", "pin",
    "token_", "a.b.", "M.a", "~redacted1~", "xxxxx", "...", "$(", "{{", "properties", "İ",
]  # fmt: skip


@pytest.mark.parametrize("piece", ADVERSE, ids=range(len(ADVERSE)))
def test_a_text_is_searched_in_time_linear_in_its_length(piece: str):
    def work(length: int) -> int:
        """Calls and lines of Python that a search takes; patterns are counted by their matches."""
        text = (piece * (length // len(piece) + 1))[:length]
        count = 0

        def counted(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(counted)
        try:
            redact_text(text + "!")
        finally:
            sys.setprofile(None)
        return count

    short, long = work(4_000), work(16_000)
    assert long <= 6 * short + 1000
