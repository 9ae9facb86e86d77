"""What the OpenAI Agents SDK keeps, written by the SDK itself: states of runs, and traces."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool, generation_span, set_trace_processors
from agents.models.interface import Model
from agents.tracing import TracingProcessor
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary
from tests.core.conformance.reading import check_source

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COUNTED = Usage(requests=1, input_tokens=20, output_tokens=4, total_tokens=24)


def asks(call: str, name: str, **given: object) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(type="function_call", call_id=call, name=name, arguments=json.dumps(given))


def says(words: str) -> ResponseOutputMessage:
    text = ResponseOutputText(type="output_text", text=words, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])


class Canned(Model):
    """Answers as it was told to, in spans as a model of chats has them."""

    def __init__(self, *answers: list[Any]) -> None:
        self._answers = list(answers)

    async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
        output, given = self._answers.pop(0), named["input"] if "input" in named else args[1]
        shown = [{"role": "user", "content": given}] if isinstance(given, str) else [dict(item) for item in given]
        said = [item.model_dump(exclude_none=True) for item in output]
        usage = {"input_tokens": 20, "output_tokens": 4}
        with generation_span(input=shown, output=said, model="gpt-4o", usage=usage):
            return ModelResponse(output=output, usage=COUNTED, response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError


@function_tool
def times(a: int, b: int) -> int:
    """Multiply."""
    return a * b


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    raise AssertionError("nobody allowed it")


def paying() -> dict[str, Any]:
    """The state of a run that waits for leave to pay."""
    return json.loads(_paying())


@cache
def _paying() -> str:
    thought = ResponseReasoningItem(id="r", type="reasoning", summary=[Summary(type="summary_text", text="Easy.")])
    cashier = Agent(name="cashier", model=Canned([asks("c2", "pay", amount=51)]), tools=[pay])
    first = [thought, asks("c1", "times", a=17, b=3)]
    agent = Agent(
        name="desk", model=Canned(first, [asks("h1", "transfer_to_cashier")]), tools=[times], handoffs=[cashier]
    )
    config = RunConfig(tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, "Pay 17 times 3.", context={"till": 7}, run_config=config))
    return json.dumps(result.to_state().to_json())


def written(folder: Path, value: object) -> Path:
    path = folder / "kept.json"
    path.write_text(json.dumps(value))
    return path


def test_a_run_that_waits_for_leave_shows_how_it_came_there(tmp_path: Path) -> None:
    with closing(open_source(written(tmp_path, paying()))) as source:
        (run,) = source.runs()
        assert (run.status, run.tokens_in, run.tokens_out) == ("interrupted", 60, 12)
        assert [(step.name, step.agent, step.status) for step in source.steps(run.id)] == [
            ("times", "desk", "ok"), ("transfer_to_cashier", "desk", "ok"), ("pay", "cashier", "interrupted"),
        ]  # fmt: skip
        told = [(call.name, call.status, call.args, call.result)
                for step in (1, 3) for call in source.calls(run.id, step) if call.kind == "tool"]  # fmt: skip
        assert told == [("times", "ok", {"a": 17, "b": 3}, "51"), ("pay", "pending", {"amount": 51}, None)]
        state = source.state(run.id, 3)
        assert state["context"] == {"till": 7}
        assert [turn.get("type", "said") for turn in state["messages"]] == [
            "said", "reasoning", "function_call", "function_call_output", "function_call", "function_call_output",
            "function_call",
        ]  # fmt: skip
        check_source(source)


def test_a_state_of_older_versions_has_no_items_of_the_session(tmp_path: Path) -> None:
    state = paying()
    del state["session_items"]
    with closing(open_source(written(tmp_path, state))) as source:
        assert len(source.steps(source.runs()[0].id)) == 3


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [[]], {"id": 3}, [None], [{}]])
def test_strange_values_in_a_state_are_no_traceback(tmp_path: Path, odd: object) -> None:
    state = paying()
    for key in state.keys() - {"$schemaVersion", "model_responses"}:
        with closing(open_source(written(tmp_path, {**state, key: odd}))) as source:
            check_source(source)
    for inner in ("session_items", "model_responses"):
        for key in state[inner][0]:
            changed = {**state, inner: [{**state[inner][0], key: odd}, *state[inner][1:]]}
            with closing(open_source(written(tmp_path, changed))) as source:
                check_source(source)


# ---------------------------------------------------------------- traces


class Exported(TracingProcessor):
    """Keeps what exporters are given, as they send it."""

    def __init__(self) -> None:
        self.traces: list[Any] = []
        self.spans: list[Any] = []

    def on_trace_start(self, trace: Any) -> None:
        self.traces.append(trace.export())

    def on_trace_end(self, trace: Any) -> None: ...

    def on_span_start(self, span: Any) -> None: ...

    def on_span_end(self, span: Any) -> None:
        self.spans.append(span.export())

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...


@pytest.fixture
def exported() -> Iterator[Exported]:
    found = Exported()
    set_trace_processors([found])
    yield found
    set_trace_processors([])


def traced(exported: Exported) -> list[dict[str, Any]]:
    """A run with an agent that is a tool of another one."""
    helper = Agent(name="helper", model=Canned([asks("c2", "times", a=17, b=3)], [says("51")]), tools=[times])
    tool = helper.as_tool("ask_helper", "Asks the helper.")
    first = asks("c1", "ask_helper", input="17 times 3?")
    agent = Agent(name="desk", model=Canned([first], [says("It is 51.")]), tools=[tool])
    asyncio.run(Runner.run(agent, "What is 17 times 3?", run_config=RunConfig(workflow_name="sums")))
    return [*exported.traces, *exported.spans]


@pytest.mark.parametrize("wrapping", ["lines", "list", "request"])
def test_a_trace_shows_agents_in_agents(tmp_path: Path, exported: Exported, wrapping: str) -> None:
    sent = traced(exported)
    path = written(tmp_path, {"data": sent} if wrapping == "request" else sent)
    if wrapping == "lines":
        path.write_text("".join(json.dumps(each) + "\n" for each in sent))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.status, run.tokens_in, run.tokens_out) == ("succeeded", 80, 16)
        assert run.metadata["title"] == "sums"
        steps = source.steps(run.id)
        assert [(step.name, step.lane) for step in steps] == [
            ("ask_helper", "main"), ("times", "helper"), ("answer", "helper"), ("answer", "main"),
        ]  # fmt: skip
        tools = [call for step in steps for call in source.calls(run.id, step.number) if call.kind == "tool"]
        assert [(call.name, call.status, call.result) for call in tools] == [
            ("ask_helper", "ok", "51"), ("times", "ok", "51"),
        ]  # fmt: skip
        check_source(source)


def test_a_response_whose_words_are_not_exported_has_none(tmp_path: Path, exported: Exported) -> None:
    sent = traced(exported)
    for each in sent:
        if each.get("span_data", {}).get("type") == "generation":
            usage = each["span_data"]["usage"]
            each["span_data"] = {"type": "response", "response_id": "resp_1", "usage": usage}
    with closing(open_source(written(tmp_path, sent))) as source:
        (run,) = source.runs()
        models = [call for step in source.steps(run.id) for call in source.calls(run.id, step.number)
                  if call.kind == "llm"]  # fmt: skip
        assert [call.result for call in models] == [None] * 4
        assert source.state(run.id, run.steps)["messages"] == []
        assert run.tokens_in == 80
        check_source(source)


def test_a_trace_with_a_root_that_is_not_over_is_unknown(tmp_path: Path, exported: Exported) -> None:
    sent = traced(exported)
    roots = [each for each in sent if each["object"] == "trace.span" and each["parent_id"] is None]
    for change, status in (({"ended_at": None}, "unknown"), ({"error": {"message": "no", "data": {}}}, "failed")):
        other = {**roots[0], "id": "span_other", **change}
        with closing(open_source(written(tmp_path, [*sent, other]))) as source:
            assert source.runs()[0].status == status
