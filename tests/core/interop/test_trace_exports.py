"""Exports of LangSmith, Phoenix and Langfuse as runs: one agent with a tool, in each of their shapes."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.test_otlp import ASKED, BEGAN, TRACE, openinference

from agent_tt.errors import NotAStore
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ARGUMENTS = {"a": 17, "b": 3}


def told(folder: Path, rows: object, *, in_lines: bool = False) -> Any:
    """Of the one run of a file: its steps with their tokens, and its tool's call; the run."""
    path = folder / "export"
    text = "".join(json.dumps(row) + "\n" for row in rows) if in_lines else json.dumps(rows)  # type: ignore[attr-defined]
    path.write_text(text)
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        steps = source.steps(run.id)
        calls = [call for step in steps for call in source.calls(run.id, step.number) if call.kind == "tool"]
        check_source(source)
        shown = [message.get("role") for message in source.state(run.id, run.steps)["messages"]]
        found = [(step.name, step.tokens_in, step.tokens_out) for step in steps]
        return run, found, [(call.name, call.args, call.result, call.status) for call in calls], shown


STEPS = [("times", 20, 7), ("answer", 20, 5)]
TOOLS = [("times", ARGUMENTS, "51", "ok")]
ROLES = ["user", "assistant", "tool", "assistant"]


# ---------------------------------------------------------------- LangSmith


def constructor(name: str, **kwargs: Any) -> dict[str, Any]:
    kinds = {"HumanMessage": "human", "AIMessage": "ai", "ToolMessage": "tool"}
    kept = {"content": "", "type": kinds[name], **kwargs}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kept}


def plain(name: str, **kwargs: Any) -> dict[str, Any]:
    return constructor(name, **kwargs)["kwargs"]


def run_of(number: int, parent: int, kind: str, name: str, second: int, **more: Any) -> dict[str, Any]:
    own = {"id": f"{number:08x}-0000-4000-8000-000000000000", "run_type": kind, "name": name, "error": None}
    above = f"{parent:08x}-0000-4000-8000-000000000000" if parent else None
    times = {key: f"2026-03-02T10:00:{at:02}.000000" for key, at in (("start_time", second), ("end_time", second + 1))}
    return {**own, **times, "parent_run_id": above, "trace_id": f"{1:08x}-0000-4000-8000-000000000000", **more}


def of_langchain(message: Callable[..., Any], *, counted_beside: bool) -> list[dict[str, Any]]:
    """A chain with two model calls and a tool between them, of LangChain."""
    call = {"name": "times", "args": ARGUMENTS, "id": "c1", "type": "tool_call"}
    asked = message("HumanMessage", content=ASKED)
    result = message("ToolMessage", content="51", tool_call_id="c1", status="success")

    def model(number: int, second: int, shown: list[Any], said: dict[str, Any], written: int) -> dict[str, Any]:
        about = {"response_metadata": {"model_name": "gpt-4o-mini", "finish_reason": "stop"}}
        usage = {
            "usage_metadata": {"input_tokens": 20, "output_tokens": written, "input_token_details": {"cache_read": 4}}
        }
        counted = {"prompt_tokens": 20, "completion_tokens": written, "total_cost": "0.25"} if counted_beside else {}
        last = message("AIMessage", **said, **about, **({} if counted_beside else usage))
        outputs = {"generations": [[{"text": "", "type": "ChatGeneration", "message": last}]], "llm_output": None}
        return run_of(number, 1, "llm", "ChatOpenAI", second, inputs={"messages": [shown]}, outputs=outputs, **counted)

    blocks = [{"type": "tool_use", "id": "c1", "name": "times", "input": ARGUMENTS}]
    first = message("AIMessage", content="", tool_calls=[call])
    return [
        run_of(1, 0, "chain", "clerk", 0, prompt_tokens=40, completion_tokens=12, outputs={}, inputs={}),
        model(2, 0, [asked], {"content": blocks, "tool_calls": [call]}, 7),
        run_of(3, 1, "tool", "times", 2, inputs={"input": str(ARGUMENTS)}, outputs={"output": result}),
        model(4, 3, [asked, first, result], {"content": "It is 51."}, 5),
    ]


def nested(runs: list[dict[str, Any]]) -> dict[str, Any]:
    inner = [{key: value for key, value in run.items() if key not in ("parent_run_id", "trace_id")} for run in runs[1:]]
    return {**runs[0], "child_runs": inner}


@pytest.mark.parametrize("message", [constructor, plain])
@pytest.mark.parametrize(
    "shape",
    [lambda runs: runs, lambda runs: {"runs": runs[::-1], "cursors": {}}, nested, lambda runs: [nested(runs)],
     lambda runs: [{**run, **{key: json.dumps(run[key]) for key in ("inputs", "outputs")}} for run in runs]],
    ids=["list", "answer of the API", "nested", "list of nested", "table"],
)  # fmt: skip
def test_runs_of_langsmith_are_a_run_in_each_shape(tmp_path: Path, message: Any, shape: Any) -> None:
    run, steps, tools, roles = told(tmp_path, shape(of_langchain(message, counted_beside=True)))
    assert (steps, tools, roles) == (STEPS, TOOLS, ROLES)
    assert (run.id[:8], run.status, run.model.model) == ("00000001", "succeeded", "gpt-4o-mini")
    assert (run.tokens_in, run.cost_usd, run.origin["system"]) == (40, 0.5, "LangSmith")


def test_usage_that_stands_in_the_answer_alone_counts(tmp_path: Path) -> None:
    run, steps, _, _ = told(tmp_path, of_langchain(constructor, counted_beside=False), in_lines=True)
    assert steps == STEPS
    assert run.cost_usd not in (None, 0.5)


def test_what_the_clients_of_openai_and_anthropic_were_given_is_read_as_theirs(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "times", "arguments": json.dumps(ARGUMENTS)}}
    asked = {"role": "user", "content": ASKED}
    choices = [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}]
    gave = {"role": "tool", "tool_call_id": "c1", "content": "51"}
    runs = [
        run_of(1, 0, "llm", "ChatOpenAI", 0, inputs={"messages": [asked], "model": "gpt-4o-mini"},
               outputs={"choices": choices, "usage_metadata": {"input_tokens": 20, "output_tokens": 7}}),
        run_of(2, 1, "llm", "ChatAnthropic", 3,
               inputs={"messages": [asked, choices[0]["message"], gave], "model": "claude-sonnet-4-5", "system": ""},
               outputs={"message": {"role": "assistant", "content": [{"type": "text", "text": "It is 51."}]},
                        "usage_metadata": {"input_tokens": 20, "output_tokens": 5}}),
    ]  # fmt: skip
    _, steps, tools, roles = told(tmp_path, runs)
    assert (steps, tools, roles) == (STEPS, TOOLS, ROLES)


def test_runs_of_langsmith_that_failed_are_errors(tmp_path: Path) -> None:
    runs = of_langchain(constructor, counted_beside=True)
    runs[2] |= {"error": "ValueError('no')\nTraceback …", "outputs": None}
    runs[3] |= {"error": "RateLimitError", "outputs": None}
    runs[0]["error"] = "RateLimitError"
    run, steps, tools, _ = told(tmp_path, runs)
    assert (run.status, run.error.message, [status for *_, status in tools]) == ("failed", "RateLimitError", ["error"])
    assert len(steps) == 2


# ---------------------------------------------------------------- Phoenix


def seconds(nanos: str) -> str:
    return f"2026-03-02T10:00:{(int(nanos) - BEGAN) // 10**9:02}.000000+00:00"


def spans_of_phoenix() -> list[dict[str, Any]]:
    found = []
    for span in openinference():
        says = {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}
        says |= {key: int(value) for key, value in says.items() if "token_count" in key}
        context = {"trace_id": TRACE, "span_id": span["spanId"]}
        kind = says.pop("openinference.span.kind")
        times = {"start_time": seconds(span["startTimeUnixNano"]), "end_time": seconds(span["endTimeUnixNano"])}
        found.append({"id": "U3Bhbjox", "name": span["name"], "context": context, "span_kind": kind, **times,
                      "parent_id": span.get("parentSpanId"), "status_code": "OK", "status_message": "",
                      "attributes": says, "events": []})  # fmt: skip
    return found


def in_objects(span: dict[str, Any]) -> dict[str, Any]:
    """The span with attributes in objects and lists, as Phoenix keeps them."""
    found: dict[str, Any] = {}
    for key, value in span["attributes"].items():
        at: Any = found
        *way, last = key.split(".")
        for part in way:
            at = at.setdefault(part, {})
        at[last] = value

    def listed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        inner = {key: listed(each) for key, each in value.items()}
        return [inner[key] for key in sorted(inner)] if inner and all(map(str.isdigit, inner)) else inner

    return {**span, "attributes": listed(found)}


def in_columns(span: dict[str, Any]) -> dict[str, Any]:
    """The record of a data frame."""
    plain = {key: value for key, value in span.items() if key not in ("context", "attributes")}
    columns = {f"context.{key}": value for key, value in span["context"].items()}
    return plain | columns | {f"attributes.{key}": value for key, value in span["attributes"].items()}


@pytest.mark.parametrize("kept", [lambda span: span, in_objects, in_columns], ids=["names", "objects", "columns"])
@pytest.mark.parametrize("shape", ["list", "lines", "data", "trace", "traces"])
def test_spans_of_phoenix_are_a_run_in_each_shape(tmp_path: Path, kept: Any, shape: str) -> None:
    spans = [kept(span) for span in spans_of_phoenix()]
    trace = {"traceId": TRACE, "spans": spans}
    rows = {"data": {"data": spans, "next_cursor": None}, "trace": trace, "traces": [trace]}.get(shape, spans)
    run, steps, tools, roles = told(tmp_path, rows, in_lines=shape == "lines")
    assert (steps, tools, roles) == (STEPS, TOOLS, ROLES)
    assert (run.id, run.status, run.origin["system"]) == (TRACE, "succeeded", "Phoenix")


def test_a_span_of_phoenix_that_failed_says_its_exception(tmp_path: Path) -> None:
    spans = spans_of_phoenix()
    raised = {"exception.type": "TimeoutError", "exception.message": "10 s"}
    event = {"name": "exception", "timestamp": "2026-03-02T10:00:01Z", "attributes": raised}
    spans[1] |= {"status_code": "ERROR", "status_message": "no", "events": [event]}
    _, _, tools, _ = told(tmp_path, spans)
    assert tools[0][3] == "error"


def test_a_message_of_several_parts_says_all_of_its_texts(tmp_path: Path) -> None:
    spans = spans_of_phoenix()[:1]
    for name, words in (("0", "Look."), ("1", ASKED)):
        spans[0]["attributes"][f"llm.input_messages.0.message.contents.{name}.message_content.text"] = words
    del spans[0]["attributes"]["llm.input_messages.0.message.content"]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(spans))
    with closing(open_source(path)) as source:
        assert source.state(TRACE, 0)["messages"][0]["content"] == f"Look.\n{ASKED}"


# ---------------------------------------------------------------- Langfuse


def observations() -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "times", "arguments": json.dumps(ARGUMENTS)}}
    asked = {"role": "user", "content": ASKED}
    calls = {"role": "assistant", "content": "", "tool_calls": [call]}
    gave = {"role": "tool", "tool_call_id": "c1", "content": "51"}

    def one(number: int, kind: str, name: str, second: int, **more: Any) -> dict[str, Any]:
        times = {key: f"2026-03-02T10:00:{at:02}.000Z" for key, at in (("startTime", second), ("endTime", second + 1))}
        own = {"id": f"o{number}", "traceId": "t1", "type": kind, "name": name, **times, "level": "DEFAULT"}
        return own | {"parentObservationId": "o1" if number > 1 else None, "traceName": "clerk", **more}

    def model(number: int, second: int, shown: list[Any], said: Any, written: int) -> dict[str, Any]:
        return one(number, "GENERATION", "chat", second, model="gpt-4o-mini", input=shown, output=said,
                   usageDetails={"input": 20, "output": written}, costDetails={"total": 0.25})  # fmt: skip

    return [
        one(1, "SPAN", "clerk", 0),
        model(2, 0, [asked], calls, 7),
        one(3, "TOOL", "times", 2, input=ARGUMENTS, output="51"),
        model(4, 3, [asked, calls, gave], {"role": "assistant", "content": "It is 51."}, 5),
    ]


def in_snake_case(observed: dict[str, Any]) -> dict[str, Any]:
    """A row of an export to a blob storage."""
    snake = {"".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key): value
             for key, value in observed.items()}  # fmt: skip
    for key in ("start_time", "end_time"):
        snake[key] = snake[key].replace("T", " ").replace("Z", "000")
    for key in ("input", "output"):
        if key in snake:
            snake[key] = json.dumps(snake[key])
    return snake


@pytest.mark.parametrize("kept", [lambda observed: observed, in_snake_case], ids=["API", "storage"])
@pytest.mark.parametrize("shape", ["list", "lines", "data", "trace", "traces"])
def test_observations_of_langfuse_are_a_run_in_each_shape(tmp_path: Path, kept: Any, shape: str) -> None:
    observed = [kept(each) for each in observations()]
    trace = {"id": "t1", "name": "clerk", "observations": observed}
    rows = {"data": {"data": observed, "meta": {}}, "trace": {"trace": {"id": "t1"}, "observations": observed},
            "traces": {"id": "session", "traces": [trace]}}.get(shape, observed)  # fmt: skip
    run, steps, tools, roles = told(tmp_path, rows, in_lines=shape == "lines")
    assert (steps, tools, roles) == (STEPS, TOOLS, ROLES)
    assert (run.id, run.cost_usd, run.facts.title, run.status) == ("t1", 0.5, "clerk", "succeeded")


def test_traces_of_langfuse_are_told_apart(tmp_path: Path) -> None:
    other = [{**each, "traceId": "t2"} for each in observations()]
    path = tmp_path / "observations.json"
    path.write_text(json.dumps([each for pair in zip(observations(), other, strict=True) for each in pair]))
    with closing(open_source(path)) as source:
        assert {(run.id, run.steps) for run in source.runs()} == {("t1", 2), ("t2", 2)}


@pytest.mark.parametrize(
    "made", [lambda: of_langchain(constructor, counted_beside=True), spans_of_phoenix, observations]
)
@pytest.mark.parametrize("value", [None, 7, [None, 3], {"a": [{}]}, "x"])
def test_rows_of_any_shape_open_or_are_refused(tmp_path: Path, made: Any, value: object) -> None:
    for place in made()[1]:
        rows = made()
        rows[1][place] = value
        path = tmp_path / f"{place}.json"
        path.write_text(json.dumps(rows))
        with suppress(NotAStore), closing(open_source(path)) as source:
            check_source(source)
