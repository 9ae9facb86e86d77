"""Cassettes of VCR as runs, and the YAML that they stand in."""

from __future__ import annotations

import base64
import gzip
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.conformance.reading import check_source

from agent_tt.codec.encode import encode
from agent_tt.errors import NotAStore, StoreUnreadable
from agent_tt.interop.transcripts import vcr, yaml_text
from agent_tt.interop.transcripts.yaml_text import YamlFlaw, read_yaml
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

URL = "https://api.openai.com/v1/chat/completions"
ASKED = {"role": "user", "content": "What is 17 times 3?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "times", "arguments": '{"a": 17, "b": 3}'}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
GIVEN = {"role": "tool", "tool_call_id": "c1", "content": "51"}
SAID = {"role": "assistant", "content": "It is 51."}


def answer(message: dict[str, Any]) -> bytes:
    usage = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
    whole = {"id": "x", "object": "chat.completion", "model": "gpt-4o", "usage": usage}
    return json.dumps(whole | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


def stream(message: dict[str, Any]) -> bytes:
    usage = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
    chunks = [{"choices": [{"index": 0, "delta": message, "finish_reason": None}]}, {"choices": [], "usage": usage}]
    return b"".join(b"data: " + json.dumps({"model": "gpt-4o", **chunk}).encode() + b"\n\n" for chunk in chunks)


def exchange(
    turns: list[dict[str, Any]], body: object, kind: str = "application/json", **headers: str
) -> dict[str, Any]:
    sent = json.dumps({"model": "gpt-4o", "messages": turns, "stream": "event" in kind})
    return {
        "request": {"method": "POST", "uri": URL, "body": sent, "headers": {"content-type": ["application/json"]}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"Content-Type": [kind], **{name: [value] for name, value in headers.items()}},
            "body": body,
        },
    }


def told(first: dict[str, Any]) -> dict[str, Any]:
    page = {"method": "GET", "uri": "https://example.com/page?q=1", "body": None, "headers": {}}
    came = {
        "status": {"code": 200, "message": "OK"},
        "headers": {"content-type": ["text/plain"]},
        "body": {"string": "x"},
    }
    second = exchange([ASKED, CALLS, GIVEN], {"string": answer(SAID).decode()})
    return {"interactions": [first, {"request": page, "response": came}, second], "version": 1}


def written(folder: Path, cassette: object, write: Callable[[Any], str] = yaml.safe_dump) -> Path:
    path = folder / "test_sum.yaml"
    path.write_text(write(cassette), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("first", "write"),
    [
        (exchange([ASKED], {"string": answer(CALLS).decode()}), yaml.safe_dump),
        (exchange([ASKED], {"string": answer(CALLS).decode()}), json.dumps),
        (exchange([ASKED], {"string": gzip.compress(answer(CALLS))}, **{"Content-Encoding": "gzip"}), yaml.safe_dump),
        (exchange([ASKED], {"string": answer(CALLS).decode()}, **{"Content-Encoding": "gzip"}), yaml.safe_dump),
        (exchange([ASKED], {"base64_string": base64.b64encode(answer(CALLS)).decode()}), json.dumps),
        (exchange([ASKED], {"parsed_body": json.loads(answer(CALLS))}), yaml.safe_dump),
        (exchange([ASKED], {"string": stream(CALLS).decode()}, "text/event-stream; charset=utf-8"), yaml.safe_dump),
    ],
    ids=["yaml", "json", "gzip", "stored unpacked", "base64", "parsed", "stream"],
)
def test_exchanges_are_steps_that_hold_what_was_asked_and_answered(
    tmp_path: Path, first: dict[str, Any], write: Callable[[Any], str]
) -> None:
    with closing(open_source(written(tmp_path, told(first), write))) as source:
        (run,) = source.runs()
        assert (run.id, run.status, run.tokens_in, run.tokens_out) == ("test_sum", "unknown", 40, 8)
        assert [step.name for step in source.steps(run.id)] == ["times", "GET https://example.com/page", "answer"]
        asked, tool = source.calls(run.id, 1)
        assert (asked.kind, asked.args["url"], asked.args["body"]["messages"]) == ("llm", URL, [ASKED])
        assert asked.result["status"] == 200
        assert (tool.args, tool.result, tool.status) == ({"a": 17, "b": 3}, "51", "ok")
        (page,) = source.calls(run.id, 2)
        assert (page.kind, page.args["method"], page.result["body"]) == ("http", "GET", "x")
        assert source.state(run.id, 3)["messages"][-1]["content"] == "It is 51."
        check_source(source)


def test_betamax_writes_nearly_the_same(tmp_path: Path) -> None:
    one = exchange([ASKED], {"string": answer(SAID).decode(), "encoding": "utf-8"})
    one["request"]["body"] = {"encoding": "utf-8", "string": one["request"]["body"]}
    one["recorded_at"] = "2026-03-02T10:00:01"
    with closing(
        open_source(written(tmp_path, {"http_interactions": [one], "recorded_with": "betamax/0.9"}))
    ) as source:
        (step,) = source.steps("test_sum")
        assert (step.name, step.ended_us) == ("answer", 1772445601000000)


def test_an_answer_that_is_an_error_is_one_and_says_nothing(tmp_path: Path) -> None:
    refused = exchange([ASKED], {"string": '{"error": {"message": "no such model"}}'})
    refused["response"]["status"]["code"] = 404
    with closing(open_source(written(tmp_path, {"interactions": [refused]}))) as source:
        (call,) = source.calls("test_sum", 1)
        assert (call.status, call.error.message) == ("error", "404 no such model")
        assert call.result["status"] == 404
        assert source.state("test_sum", 1) == {"messages": [ASKED]}


def test_an_answer_that_unpacks_to_too_much_stays_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vcr, "MOST_VALUE_BYTES", 100_000)
    packed = gzip.compress(answer(SAID) + b" " * 1_000_000)
    whole = exchange([ASKED], {"string": packed}, **{"Content-Encoding": "gzip"})
    with closing(open_source(written(tmp_path, {"interactions": [whole]}))) as source:
        (call,) = source.calls("test_sum", 1)
        assert call.result["body"] == encode(packed)
        check_source(source)


@pytest.mark.parametrize(
    "cassette", ["interactions: []\n", "interactions: 3\n", "interactions:\n- a\n", "interactions:\n- request: {}\n"]
)
def test_what_holds_no_exchange_is_none(tmp_path: Path, cassette: str) -> None:
    with pytest.raises(NotAStore):
        open_source(written(tmp_path, cassette, str))


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [[]], {"string": 3}, b"\xff\x00"])
def test_strange_values_in_a_cassette_are_no_traceback(tmp_path: Path, odd: object) -> None:
    whole = exchange([ASKED], {"string": answer(SAID).decode()})
    for side in ("request", "response"):
        for key in whole[side]:
            changed = {**whole, side: {**whole[side], key: odd}}
            with closing(open_source(written(tmp_path, {"interactions": [changed]}))) as source:
                assert source.runs()[0].steps == 1
                check_source(source)


# ---------------------------------------------------------------- YAML

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 12)
)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (BOMB + "interactions: *a11\n", "more than 1,000,000 values"),
        ("interactions: " + "[" * 100_000, "nests deeper than 200, at line 1|maximum nesting depth"),
        ("interactions:\n" + "- " * 100_000 + "x", "nests deeper|maximum nesting depth"),
        ("interactions: &a [*a]\n", "not there yet"),
        ("interactions:\n- request: {\n", "breaks at line"),
        ("interactions:\n- \x07\n", "breaks"),
    ],
    ids=["aliases", "flow", "block", "itself", "broken off", "control code"],
)
def test_hostile_yaml_is_refused_in_words(tmp_path: Path, body: str, why: str) -> None:
    with pytest.raises(StoreUnreadable, match=why):
        open_source(written(tmp_path, body, lambda text: "interactions: x\n" + text if text.startswith("a0") else text))


def test_no_tag_of_yaml_makes_anything(tmp_path: Path) -> None:
    made = tmp_path / "made"
    body = f"interactions: [!!python/object/apply:os.mkdir ['{made}'], !!python/name:os.system '']\n"
    with pytest.raises(NotAStore):
        open_source(written(tmp_path, body, str))
    assert not made.exists()
    assert read_yaml(b"a: !!python/unicode 'x'\n") == {"a": "x"}


def test_an_alias_is_what_it_names() -> None:
    assert read_yaml(b"a: &x [1, {b: c}]\nd: *x\n") == {"a": [1, {"b": "c"}], "d": [1, {"b": "c"}]}


@pytest.mark.parametrize("text", ["2026-01-01", "1_000", "0x1f", "012", "1:30", "yes", "1.2.3", ".inf", "1e5", "+"])
def test_a_word_that_json_has_no_value_for_is_text(text: str) -> None:
    assert read_yaml(f"a: {text}\n".encode()) == {"a": text}


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None)
@given(value=plain)
def test_what_pyyaml_writes_is_read_as_it_was(value: object) -> None:
    assert read_yaml(yaml.safe_dump(value).encode()) == encode(value)


def test_the_bound_of_values_counts_aliases_as_often_as_they_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "_MOST_NODES", 9)
    assert read_yaml(b"[&a [1, 2], *a, 3]")  # 8
    with pytest.raises(YamlFlaw):
        read_yaml(b"[&a [1, 2], *a, *a]")  # 10
