"""Traces of very many spans: one pass finds their steps, and what a step says is the same as when all is told."""

from __future__ import annotations

import json
import random
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.benchmarks.large_files import trace_lines, write_lines
from tests.core.conformance.reading import check_source
from tests.core.interop.otlp_bytes import request
from tests.recordings import MISSING, recordings

from agent_tt.cache_files import cache_folder
from agent_tt.interop.transcripts import contents, document, kept_list, otlp, otlp_later, pieces, spans_later
from agent_tt.providers.reading import PROVIDERS, messages_of_turn
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource

CACHES = count()
RECORDED = [recordings("otlp") / name for name in ("oai_latest.json", "pai_temp_v2.json")]


def said_in(source: RunSource) -> list[Any]:
    """All that a source says of its runs."""
    return [
        (
            run,
            source.steps(run.id),
            [source.calls(run.id, step) for step in range(1, run.steps + 1)],
            [source.call_page(run.id, step, step + 1) for step in range(1, run.steps + 1)],
            [source.state(run.id, step) for step in range(run.steps + 1)],
            [source.digest(run.id, step) for step in range(run.steps + 1)],
            [source.changes(run.id, step) for step in range(1, run.steps + 1)],
        )
        for run in source.runs()
    ]


def check_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """See that each run of a file says the same when it is told as a whole and when its steps are told later."""
    with closing(open_source(path)) as source:
        whole = said_in(source)
    found: list[str] = []
    tell = otlp_later.tell_later
    monkeypatch.setattr(kept_list, "LEAST_BYTES", 1)

    def tell_later(trace: str, *more: Any) -> Any:
        told = tell(trace, *more)
        found.append(trace)
        return told

    with monkeypatch.context() as patch:
        patch.setattr(otlp, "_MOST_SPANS", 0)
        patch.setattr(otlp_later, "tell_later", tell_later)
        with closing(open_source(path)) as source:
            later = said_in(source)
            check_source(source)
        with closing(open_source(path)) as source:  # as it was kept, where it was
            again = said_in(source)
    assert set(found) == {run.id for run, *_ in later}
    assert later == whole
    assert again == whole


def attribute(key: str, value: Any) -> dict[str, Any]:
    said = value if isinstance(value, str) else json.dumps(value)
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": said}}


def span(number: int, parent: int, at: int, lasts: int, error: str = "", **says: Any) -> dict[str, Any]:
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in says.items()}
    return {
        "traceId": f"{7:032x}",
        "spanId": f"{number + 1:016x}",
        "parentSpanId": f"{parent + 1:016x}" if parent >= 0 else "",
        "name": f"{says.get('operation__name', 'work')} {number}",
        "startTimeUnixNano": str(1_770_000_000_000_000_000 + at * 10**6),
        "endTimeUnixNano": str(1_770_000_000_000_000_000 + (at + lasts) * 10**6),
        "attributes": [attribute(key, value) for key, value in named.items()],
        **({"status": {"code": 2, "message": error}} if error else {}),
    }


def drawn_trace(drawn: random.Random, turns: int) -> list[dict[str, Any]]:
    """The spans of agents inside agents, whose tools have spans, are only shown to a later model, or never end."""
    spans = [span(0, -1, 0, 10**6, operation__name="invoke_agent", agent__name="desk")]
    agents = [0]
    talks: dict[int, list[Any]] = {0: []}
    for turn in range(turns):
        at = 10 + turn * 100
        if drawn.random() < 0.2:
            agents.append(len(spans))
            name = drawn.choice(["desk", "helper", "writer"])
            spans.append(span(len(spans), drawn.choice(agents[:-1]), at, 50_000, operation__name="invoke_agent",
                              agent__name=name))  # fmt: skip
            talks[agents[-1]] = []
        agent = drawn.choice(agents)
        talk = talks[agent]
        if drawn.random() < 0.3:
            talk.append({"role": "user", "parts": [{"type": "text", "content": f"Question {turn}"}]})
        if drawn.random() < 0.1:
            del talk[: len(talk) // 2]
        asked = [drawn.choice([f"call_{turn}_{each}", f"call_{each}"]) for each in range(drawn.randrange(3))]
        tools = [drawn.choice(["search", "read"]) for _ in asked]
        parts: list[Any] = (
            [{"type": "text", "content": f"Answer {turn}.\n" * drawn.choice([1, 40])}] if drawn.random() < 0.6 else []
        )
        parts += [{"type": "tool_call", "id": each, "name": tool, "arguments": {"of": turn}}
                  for each, tool in zip(asked, tools, strict=True)]  # fmt: skip
        said = [{"role": "assistant", "parts": parts}] if parts else []
        spans.append(
            span(len(spans), agent, at, 20, drawn.choice(["", "", "", "it is busy"]), operation__name="chat",
                 request__model="gpt-5-mini", usage__input_tokens=turn, usage__output_tokens=3,
                 input__messages=[*talk], **({"output__messages": said} if said else {}))
        )  # fmt: skip
        talk += said
        for each, tool in zip(asked, tools, strict=True):
            if drawn.random() < 0.6:
                spans.append(
                    span(len(spans), agent, at + 30, 20, drawn.choice(["", "", "no such file"]),
                         operation__name="execute_tool", tool__name=tool, tool__call__id=each,
                         tool__call__arguments={"of": turn}, tool__call__result=f"found {turn}")
                )  # fmt: skip
            if drawn.random() < 0.7:
                response = {"type": "tool_call_response", "id": each, "response": f"shown {turn}"}
                drawn.choice([*talks.values()]).append({"role": "tool", "parts": [response]})
        if drawn.random() < 0.2:
            spans.append(span(len(spans), agent, at + 60, 5))
    return spans


@pytest.mark.parametrize("kind", ["json", "lines", "bytes"])
@given(seed=st.integers(0, 10**6), turns=st.integers(1, 25), near=st.sampled_from([0, 2, 32]), in_parts=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_a_step_says_when_it_is_asked_for_is_what_it_says_when_all_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int, turns: int, near: int, in_parts: bool
) -> None:
    drawn = random.Random(seed)
    spans = drawn_trace(drawn, turns)
    drawn.shuffle(spans)
    half = len(spans) // drawn.choice([2, 9])
    requests = [{"resourceSpans": [{"scopeSpans": [{"spans": part}]}]} for part in (spans[:half], spans[half:]) if part]
    path = tmp_path / f"f.{kind}"
    if kind == "bytes":
        path.write_bytes(b"".join(map(request, requests)))
    elif kind == "lines":
        path.write_text("".join(json.dumps(each) + "\n" for each in requests))
    else:
        path.write_text(json.dumps({"resourceSpans": [each["resourceSpans"][0] for each in requests]}))
    with monkeypatch.context() as patch:
        patch.setattr(spans_later, "_NEAR", near)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache {next(CACHES)}"))
        if in_parts:
            patch.setattr(document, "MOST_BYTES", 1)
        check_same(path, monkeypatch)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the steps of small traces told later, and kept, in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_list, "LEAST_BYTES", 1)
    monkeypatch.setattr(otlp, "_MOST_SPANS", 0)


@pytest.mark.usefixtures("kept")
def test_steps_that_were_found_are_not_looked_for_again_as_long_as_the_file_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "f.jsonl", trace_lines(40, 1, 10))
    with closing(open_source(path)) as source:
        first = said_in(source)
    (place,) = cache_folder("steps").glob("*.steps")
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    def read(_: Path) -> None:
        raise AssertionError("it was read")

    with monkeypatch.context() as patch, closing(open_source(path)) as source:
        patch.setattr(contents, "read_document", read)
        assert said_in(source) == first
    body = place.read_bytes()
    place.write_bytes(body[:-9] + bytes([body[-9] ^ 1]) + body[-8:])
    with closing(open_source(path)) as source:
        assert said_in(source) == first
    assert place.read_bytes() == body
    path.write_text(
        path.read_text().replace('"name": "execute_tool desk"', '"name": "execute_tool", "status": {"code": 2}')
    )
    with closing(open_source(path)) as source:
        changed = said_in(source)
        assert source.verify() == []
    assert [len(each) for each in changed[0][2]] == [len(each) for each in first[0][2]]
    assert changed != first


SECRET = "sk-proj-" + "aB3dE5gH7jK9mN1p" * 3


def one_a_line(path: Path, spans: list[dict[str, Any]]) -> Path:
    return write_lines(path, ({"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]} for each in spans))


@pytest.mark.usefixtures("kept")
def test_a_line_with_a_secret_is_not_kept_but_read_again(tmp_path: Path) -> None:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": f"The key is {SECRET}."}]}]
    chat: dict[str, Any] = {"operation__name": "chat", "output__messages": said}
    errors = "", "no more", f"no more for {SECRET}"
    path = one_a_line(
        tmp_path / "f.jsonl", [span(at, -1, 10 * at, 5, error, **chat) for at, error in enumerate(errors)]
    )
    with closing(open_source(path)) as source:
        first = said_in(source)
    (place,) = cache_folder("steps").glob("*.steps")
    assert b"sk-proj" not in place.read_bytes()
    with closing(open_source(path)) as source:
        assert said_in(source) == first
    assert [(step.decision, step.status) for step in first[0][1]] == [
        (f"The key is {SECRET}.", status) for status in ("ok", "error", "error")
    ]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("named", ["tool__name", "agent__name"])
def test_steps_with_a_secret_in_a_name_are_not_kept(tmp_path: Path, named: str) -> None:
    agent: dict[str, Any] = {"operation__name": "invoke_agent", "agent__name": "a"}
    spans = [span(0, -1, 0, 90, **agent), span(1, 0, 1, 80, **agent | ({named: SECRET} if "agent" in named else {}))]
    tool: dict[str, Any] = {"operation__name": "execute_tool", "tool__name": "b"}
    spans.append(span(2, 1, 2, 5, **tool | ({named: SECRET} if "tool" in named else {})))
    with closing(open_source(one_a_line(tmp_path / "f.jsonl", spans))) as source:
        (run,) = source.runs()
        (step,) = source.steps(run.id)
    assert SECRET in (step.name, step.lane)
    assert not list(cache_folder("steps").glob("*.steps"))


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("as_bytes", [False, True])
@pytest.mark.parametrize("service", ["desk", SECRET])
def test_steps_with_a_secret_in_what_is_said_of_their_program_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str, *, as_bytes: bool
) -> None:
    monkeypatch.setattr(document, "MOST_VALUE_BYTES", 100)
    for name, most in (("_BATCH", 300), ("_LARGEST", 1_000), ("_WINDOW", 1_500)):  # so that it stands around pieces
        monkeypatch.setattr(pieces, name, most)
    spans = [span(at, -1, at, 5, operation__name="chat") for at in range(9)]
    resource = {"attributes": [attribute("key", service), attribute("service.name", "desk")]}
    said = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
    path = tmp_path / "f"
    path.write_bytes(request(said) if as_bytes else json.dumps(said).encode())
    with closing(open_source(path)) as source:
        assert len(source.steps(source.runs()[0].id)) == len(spans)
    assert bool(list(cache_folder("steps").glob("*.steps"))) == (service == "desk")


@pytest.mark.parametrize("is_circle", [True, False])
@pytest.mark.parametrize("most", [0, 25_000])
def test_spans_that_are_nested_very_deeply_or_in_a_circle_are_told_in_time_that_grows_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, *, is_circle: bool
) -> None:
    many = 6_000
    spans = [
        span(number, number - 1 if number or not is_circle else many - 1, number, 9, operation__name="chat")
        for number in range(many)
    ]
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    monkeypatch.setattr(otlp, "_MOST_SPANS", most)
    with closing(open_source(path)) as source:
        (run,) = source.runs()
    assert run.steps == many


@pytest.mark.skipif(not all(path.exists() for path in RECORDED), reason=MISSING)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_a_recorded_trace_says_the_same_step_by_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_same(path, monkeypatch)


@pytest.mark.parametrize("content", ["", "Hello.", None, 7, {"text": "Hello."}])
@pytest.mark.parametrize("calls", [None, [], [{"id": "a", "function": {"name": "read", "arguments": "{}"}}], "none"])
@pytest.mark.parametrize("role", ["user", "assistant", "tool", None])
def test_a_plain_turn_is_read_as_the_first_provider_that_knows_it_reads_it(content: Any, calls: Any, role: Any) -> None:
    turn = {"role": role, "content": content, "tool_calls": calls}
    read = (provider.read_turn(turn) for _, provider in PROVIDERS.ours())
    assert messages_of_turn(turn) == tuple(next(found for found in read if found is not None))
