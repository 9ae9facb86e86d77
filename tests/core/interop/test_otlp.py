"""Traces of OpenTelemetry as runs: the same agent in three conventions, spans in any order, ids in two spellings."""

from __future__ import annotations

import base64
import json
import random
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

TRACE = "0af7651916cd43dd8448eb211c80319c"
ASKED = "What is 17 times 3?"
BEGAN = 1_772_000_000_000_000_000


def value(given: Any) -> dict[str, Any]:
    """An `AnyValue`."""
    if isinstance(given, list):
        return {"arrayValue": {"values": [value(each) for each in given]}}
    if isinstance(given, bool):
        return {"boolValue": given}
    return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}


def listed(says: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(given)} for key, given in says.items()]


def span(number: int, parent: int, name: str, seconds: tuple[int, int], says: dict[str, Any], **more: Any) -> Any:
    first, last = (str(BEGAN + second * 10**9) for second in seconds)
    own = {"traceId": TRACE, "spanId": f"{number:016x}", "name": name, "startTimeUnixNano": first}
    above = {"parentSpanId": f"{parent:016x}"} if parent else {}
    return {**own, **above, "endTimeUnixNano": last, "attributes": listed(says), **more}


def request(spans: list[Any]) -> dict[str, Any]:
    resource = {"attributes": listed({"service.name": "desk"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "t"}, "spans": spans}]}]}


def in_parts(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": [*parts]}


CALL = {"type": "tool_call", "id": "c1", "name": "times", "arguments": {"a": 17, "b": 3}}
FIRST = [in_parts("user", {"type": "text", "content": ASKED})]
SECOND = [
    *FIRST,
    in_parts("assistant", CALL),
    in_parts("tool", {"type": "tool_call_response", "id": "c1", "response": "51"}),
]
SAID_PLAIN = {"role": "assistant", "content": "It is 51."}
SAID = [in_parts("assistant", {"type": "text", "content": "It is 51."})]

RAISED = listed({"exception.type": "TimeoutError", "exception.message": "10 s"})
FAILED = {"status": {"code": 2, "message": "no"}, "events": [{"name": "exception", "attributes": RAISED}]}


def genai(**of_tool: Any) -> list[Any]:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini", "gen_ai.usage.input_tokens": 20}

    def says(shown: Any, said: Any, written: int) -> dict[str, Any]:
        told = {"gen_ai.input.messages": json.dumps(shown), "gen_ai.output.messages": json.dumps(said)}
        return chat | told | {"gen_ai.usage.output_tokens": written}

    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "times", "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": '{"a": 17, "b": 3}', "gen_ai.tool.call.result": "51"}  # fmt: skip
    return [
        span(2, 1, "chat gpt-4o-mini", (0, 2), says(FIRST, [in_parts("assistant", CALL)], 7)),
        span(3, 1, "execute_tool times", (2, 3), tool, **of_tool),
        span(4, 1, "chat gpt-4o-mini", (3, 5), says(SECOND, SAID, 5)),
        span(1, 0, "invoke_agent clerk", (0, 5), {"gen_ai.operation.name": "invoke_agent",
             "gen_ai.agent.name": "clerk", "gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 12}),
    ]  # fmt: skip


def openinference() -> list[Any]:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    user = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": ASKED}
    counted = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-mini", "llm.token_count.prompt": 20}
    first = user | {
        "llm.output_messages.0.message.role": "assistant",
        f"{call}.id": "c1",
        f"{call}.function.name": "times",
        f"{call}.function.arguments": '{"a": 17, "b": 3}',
    }
    asked = {f"llm.input_messages.1.message.{key[30:]}": given for key, given in first.items() if "output" in key}
    result = {"role": "tool", "content": "51", "tool_call_id": "c1"}
    second = user | asked | {f"llm.input_messages.2.message.{key}": given for key, given in result.items()}
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "It is 51."}
    tool = {"openinference.span.kind": "TOOL", "tool.name": "times", "input.value": '{"a": 17, "b": 3}',
            "output.value": "51"}  # fmt: skip
    return [
        span(2, 1, "ChatOpenAI", (0, 2), counted | first | {"llm.token_count.completion": 7}),
        span(3, 1, "times", (2, 3), tool),
        span(4, 1, "ChatOpenAI", (3, 5), counted | second | said | {"llm.token_count.completion": 5}),
        span(1, 0, "clerk", (0, 5), {"openinference.span.kind": "AGENT"}),
    ]


def openllmetry() -> list[Any]:
    counted = {"llm.request.type": "chat", "gen_ai.request.model": "gpt-4o-mini", "gen_ai.usage.prompt_tokens": 20}
    user = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": ASKED}
    call = {"id": "c1", "name": "times", "arguments": '{"a": 17, "b": 3}'}
    asked = {f"gen_ai.completion.0.tool_calls.0.{key}": given for key, given in call.items()}
    first = user | {"gen_ai.completion.0.role": "assistant"} | asked
    again = {f"gen_ai.prompt.1.tool_calls.0.{key}": given for key, given in call.items()}
    result = {"gen_ai.prompt.2.role": "tool", "gen_ai.prompt.2.content": "51", "gen_ai.prompt.2.tool_call_id": "c1"}
    second = user | {"gen_ai.prompt.1.role": "assistant"} | again | result
    said = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "It is 51."}
    tool = {"traceloop.span.kind": "tool", "traceloop.entity.name": "times",
            "traceloop.entity.input": '{"a": 17, "b": 3}', "traceloop.entity.output": "51"}  # fmt: skip
    return [
        span(2, 1, "openai.chat", (0, 2), counted | first | {"gen_ai.usage.completion_tokens": 7}),
        span(3, 1, "times.tool", (2, 3), tool),
        span(4, 1, "openai.chat", (3, 5), counted | second | said | {"gen_ai.usage.completion_tokens": 5}),
        span(1, 0, "clerk", (0, 5), {"traceloop.span.kind": "agent", "traceloop.entity.name": "clerk"}),
    ]


def ai_sdk() -> list[Any]:
    counted = {"ai.operationId": "ai.generateText.doGenerate", "gen_ai.request.model": "gpt-4o-mini",
               "gen_ai.usage.input_tokens": 20}  # fmt: skip
    call = {"toolCallId": "c1", "toolName": "times", "input": {"a": 17, "b": 3}}
    user = {"role": "user", "content": [{"type": "text", "text": ASKED}]}
    asked = {"role": "assistant", "content": [{"type": "tool-call", **call}]}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "times", "output": {"type": "text", "value": "51"}}
    first = {"ai.prompt.messages": json.dumps([user]), "ai.response.toolCalls": json.dumps([call])}
    told = [user, asked, {"role": "tool", "content": [result]}]
    second = {"ai.prompt.messages": json.dumps(told), "ai.response.text": "It is 51."}
    tool = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "times", "ai.toolCall.id": "c1",
            "ai.toolCall.args": '{"a": 17, "b": 3}', "ai.toolCall.result": "51"}  # fmt: skip
    return [
        span(2, 1, "ai.generateText.doGenerate", (0, 2), counted | first | {"gen_ai.usage.output_tokens": 7}),
        span(3, 1, "ai.toolCall", (2, 3), tool),
        span(4, 1, "ai.generateText.doGenerate", (3, 5), counted | second | {"gen_ai.usage.output_tokens": 5}),
        span(1, 0, "ai.generateText", (0, 5), {"ai.operationId": "ai.generateText", "ai.usage.inputTokens": 40,
             "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}),
    ]  # fmt: skip


def written(folder: Path, *requests: dict[str, Any]) -> Path:
    path = folder / "traces.json"
    path.write_text("\n".join(json.dumps(each) for each in requests))
    return path


@pytest.mark.parametrize(
    "spans",
    [genai(), openinference(), openllmetry(), ai_sdk()],
    ids=["GenAI", "OpenInference", "OpenLLMetry", "AI SDK"],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_trace_is_the_same_run_in_each_convention_in_whatever_order_its_spans_come(
    tmp_path: Path, spans: list[Any], seed: int
) -> None:
    shuffled = [*spans]
    random.Random(seed).shuffle(shuffled)
    with closing(open_source(written(tmp_path, *(request([each]) for each in shuffled)))) as source:
        (run,) = source.runs()
        first, second = source.steps(run.id)
        model, tool = source.calls(run.id, 1)
        assert (run.id, run.status, run.tokens_in, run.tokens_out) == (TRACE, "succeeded", 40, 12)
        assert (run.origin["system"], run.model.model) == ("OpenTelemetry, desk", "gpt-4o-mini")
        assert (first.name, first.agent, first.duration_us) == ("times", "clerk", 3_000_000)
        assert model.args == {"messages": [{"role": "user", "content": ASKED}]}
        assert (tool.name, tool.args, tool.result, tool.status) == ("times", {"a": 17, "b": 3}, "51", "ok")
        assert tool.duration_us == 1_000_000
        assert (second.name, second.decision) == ("answer", "It is 51.")
        assert [message["role"] for message in source.state(run.id, 2)["messages"]] == [
            "user", "assistant", "tool", "assistant",
        ]  # fmt: skip
        check_source(source)


def test_ids_in_base64_are_the_ones_in_hexadecimal(tmp_path: Path) -> None:
    spans = genai()
    for each in spans:
        for key in {"traceId", "spanId", "parentSpanId"} & each.keys():
            each[key] = base64.b64encode(bytes.fromhex(each[key])).decode()
    with closing(open_source(written(tmp_path, request(spans)))) as source:
        assert [run.id for run in source.runs()] == [TRACE]
        assert source.steps(TRACE)[0].agent == "clerk"


def test_a_span_that_failed_is_an_error_with_its_exception(tmp_path: Path) -> None:
    with closing(open_source(written(tmp_path, request(genai(**FAILED))))) as source:
        _, tool = source.calls(TRACE, 1)
        assert (tool.status, tool.error.short, tool.result) == ("error", "TimeoutError: 10 s", None)


def test_what_is_sent_twice_counts_once_and_a_trace_without_its_root_is_not_said_to_have_ended(tmp_path: Path) -> None:
    spans = genai()[:3]
    with closing(open_source(written(tmp_path, request(spans), request(spans)))) as source:
        (run,) = source.runs()
        assert (run.status, run.steps, run.tokens_in) == ("unknown", 2, 40)


def test_messages_in_log_records_belong_to_their_spans(tmp_path: Path) -> None:
    spans = genai()
    told = {"gen_ai.input.messages", "gen_ai.output.messages"}
    records = []
    for each in spans:
        kept = [pair for pair in each["attributes"] if pair["key"] in told]
        each["attributes"] = [pair for pair in each["attributes"] if pair["key"] not in told]
        kept += listed({"gen_ai.operation.name": "chat"})
        if len(kept) > 1:
            records.append({"traceId": TRACE, "spanId": each["spanId"], "attributes": kept})
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    with closing(open_source(written(tmp_path, logs, request(spans)))) as source:
        assert [step.name for step in source.steps(TRACE)] == ["times", "answer"]
        assert source.state(TRACE, 2)["messages"][-1]["content"] == "It is 51."


def test_messages_in_events_are_read_too(tmp_path: Path) -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": listed({"content": ASKED})},
        {"name": "gen_ai.choice", "attributes": listed({"message": json.dumps({"content": "It is 51."})})},
    ]
    only = span(2, 0, "chat", (0, 2), {"gen_ai.operation.name": "chat"}, events=events)
    with closing(open_source(written(tmp_path, request([only])))) as source:
        assert [message["content"] for message in source.state(TRACE, 1)["messages"]] == [ASKED, "It is 51."]


def test_an_agent_inside_an_agent_has_a_lane_of_its_own(tmp_path: Path) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(SAID)}
    spans = [
        span(1, 0, "invoke_agent", (0, 9), agent | {"gen_ai.agent.name": "chief"}),
        span(2, 1, "chat", (0, 1), chat),
        span(3, 1, "invoke_agent", (1, 4), agent | {"gen_ai.agent.name": "scout"}),
        span(4, 3, "chat", (2, 3), chat),
        span(5, 1, "chat", (5, 6), chat),
    ]
    with closing(open_source(written(tmp_path, request(spans)))) as source:
        assert [(step.lane, step.agent, step.parent) for step in source.steps(TRACE)] == [
            ("main", "chief", None), ("scout", "scout", 1), ("main", "chief", None),
        ]  # fmt: skip
        check_source(source)


def test_a_trace_of_something_else_has_a_step_for_each_span(tmp_path: Path) -> None:
    with closing(
        open_source(written(tmp_path, request([span(1, 0, "GET /", (0, 1), {"http.method": "GET"})])))
    ) as source:
        (step,) = source.steps(TRACE)
        assert (step.name, step.kind, step.facts.raw_entries) == ("GET /", None, [{"http.method": "GET"}])


@pytest.mark.parametrize(
    "place", ["spanId", "parentSpanId", "traceId", "attributes", "startTimeUnixNano", "status", "events"]
)
@pytest.mark.parametrize("given", [None, 7, [], {"a": 1}, "x" * 40, [None, {"key": 3}]])
def test_a_part_of_any_kind_opens(tmp_path: Path, place: str, given: object) -> None:
    spans = [each | {place: given} for each in genai()]
    with closing(open_source(written(tmp_path, request(spans)))) as source:
        for run in source.runs():
            for step in source.steps(run.id):
                assert len(source.calls(run.id, step.number)) == step.calls


def test_agents_that_are_inside_each_other_in_a_circle_end(tmp_path: Path) -> None:
    spans = genai()
    spans[-1]["parentSpanId"] = spans[0]["spanId"]
    with closing(open_source(written(tmp_path, request(spans)))) as source:
        assert source.runs()[0].steps == 2


def dumped(told: dict[str, Any]) -> dict[str, Any]:
    """A span as OpenTelemetry's SDK for JavaScript dumps it."""

    def pair(nanos: str) -> list[int]:
        return [*divmod(int(nanos), 10**9)]

    def plain(stringValue: str = "", intValue: str | None = None) -> object:
        return stringValue if intValue is None else int(intValue)

    return {
        "name": told["name"],
        "spanContext": {"traceId": told["traceId"], "spanId": told["spanId"]},
        "parentSpanContext": {"spanId": told.get("parentSpanId")},
        "startTime": pair(told["startTimeUnixNano"]),
        "endTime": pair(told["endTimeUnixNano"]),
        "attributes": {each["key"]: plain(**each["value"]) for each in told["attributes"]},
        "status": {"code": 0},
    }


def test_a_dump_of_spans_is_the_same_run_as_the_request_that_they_make(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(json.dumps([dumped(each) for each in ai_sdk()]))
    with (
        closing(open_source(tmp_path / "dump.json")) as one,
        closing(open_source(written(tmp_path, request(ai_sdk())))) as two,
    ):
        assert one.steps(TRACE) == two.steps(TRACE)
        assert one.calls(TRACE, 1) == two.calls(TRACE, 1)
        assert one.state(TRACE, 2) == two.state(TRACE, 2)


def observed(number: int, kind: str, name: str, seconds: tuple[int, int], given: Any, came: Any, **more: Any) -> Any:
    first, last = (f"2026-03-02T10:00:0{second}.000Z" for second in seconds)
    texts = {"input": json.dumps(given), "output": json.dumps(json.dumps(came))}
    return {"id": str(number), "type": kind, "name": name, "startTime": first, "endTime": last, **texts, **more}


def test_an_exported_trace_of_langfuse_is_a_run(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "times", "arguments": '{"a": 17, "b": 3}'}}
    user = {"role": "user", "content": ASKED}
    asked = {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [call]}}
    tools = {"role": "tool", "content": {"type": "function", "function": {"name": "times"}}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "51"}
    usage = {"usageDetails": {"input": 20, "output": 6}, "costDetails": {"total": 0.25}, "model": "gpt-4o"}
    inside = {"parentObservationId": "1"}
    spans = [
        observed(3, "GENERATION", "ChatOpenAI", (3, 5), [user, asked, result, tools], SAID_PLAIN, **usage, **inside),
        observed(2, "GENERATION", "ChatOpenAI", (0, 2), [user, tools], asked, **usage, **inside),
        observed(4, "SPAN", "times", (2, 3), {"a": 17}, "51", **inside),
        observed(1, "SPAN", "LangGraph", (0, 5), {}, {}),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"trace": {"id": "t1", "name": "sums"}, "observations": spans}))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        model, tool = source.calls("t1", 1)
        assert (run.status, run.tokens_in, run.cost_usd, run.facts.title) == ("succeeded", 40, 0.5, "sums")
        assert model.args == {"messages": [user]}
        assert (tool.name, tool.args, tool.result) == ("times", {"a": 17, "b": 3}, "51")
        assert [step.name for step in source.steps("t1")] == ["times", "answer"]
        check_source(source)


@pytest.mark.parametrize("kind", ["TOOL", "AGENT"])
def test_tools_and_agents_of_langfuse_and_what_failed(tmp_path: Path, kind: str) -> None:
    failed = {"level": "ERROR", "statusMessage": "no such city"}
    only = observed(1, kind, "weather", (0, 1), {"input": {"city": "Rome"}}, None, **failed)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"trace": {"id": "t1"}, "observations": [only]}))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.status, run.error.message) == ("failed", "no such city")
        calls = source.calls("t1", 1)
        assert [(call.name, call.args, call.status) for call in calls] == (
            [("weather", {"city": "Rome"}, "error")] if kind == "TOOL" else []
        )
