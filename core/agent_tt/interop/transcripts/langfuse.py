"""Traces that Langfuse exports: an object with `trace` and `observations`, or what its API gives with both in one.

Several of them may stand in a list, in lines, or under `data` or `traces`. Observations alone, as its tables and its
exports to a blob storage have them (these in snake case), are put together by their traces; also as CSV.

An observation is a span: a `GENERATION` a model call, a `TOOL` a tool, an `AGENT` an agent. Inputs and outputs stand as
JSON in texts, now and then in two of them. A tool that is a mere `SPAN` is seen in what the next model was shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.spans import (
    AgentWork,
    ModelWork,
    Span,
    ToolWork,
    parsed,
    parsed_number,
    tell_trace,
)
from agent_tt.interop.transcripts.telling import micros
from agent_tt.model import ErrorInfo
from agent_tt.providers.gemini import camel_case
from agent_tt.providers.loose import amount, count, dicts, items, mapping, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_langfuse"]

_LISTS: Final = "data", "traces"
_CACHED: Final = "input_cache_read", "input_cached_tokens", "cache_read_input_tokens", "prompt_details.cache_read"
_THOUGHT: Final = "output_reasoning", "output_reasoning_tokens", "completion_details.reasoning"
_TRIED: Final = 50
"""Rows that are looked at to tell whether a file is Langfuse's; others are told as far as they are."""


def read_langfuse(document: Document) -> Sequence[Transcript] | None:
    """Read Langfuse's observations as runs, one for each trace; None where the document has another format."""
    rows = [line.value for line in document.lines]
    if not rows:
        whole = mapping(document.value)
        rows = next((dicts(whole[key]) for key in _LISTS if key in whole), [whole] if whole else dicts(document.value))
    if not rows or not all(_is_observed(row) or "observations" in row for row in rows[:_TRIED]):
        return None
    traces: dict[str, tuple[dict[str, Json], list[dict[str, Json]]]] = {}
    for row in rows:
        observed = [row] if _is_observed(row) else dicts(row.get("observations"))
        trace = mapping(row.get("trace")) or ({} if _is_observed(row) else row)
        named = text(trace.get("id")) or text(row.get("traceId")) or text(row.get("trace_id"))
        traces.setdefault(named, (trace, []))[1].extend(filter(_is_observed, observed))
    if not any(observed for _, observed in traces.values()):
        return None
    return [_told(named or document.path.stem, trace, observed) for named, (trace, observed) in traces.items()]


def _is_observed(row: dict[str, Json]) -> bool:
    return "type" in row and bool(text(row.get("id"))) and ("startTime" in row or "start_time" in row)


def _told(named: str, trace: dict[str, Json], observed: Sequence[dict[str, Json]]) -> Transcript:
    plain = [{camel_case(key): value for key, value in each.items()} for each in observed]
    spans = {span.id: span for span in map(_span, plain)}
    title = text(trace.get("name")) or next((text(each["traceName"]) for each in plain if each.get("traceName")), "")
    return tell_trace(named, spans, "Langfuse", title)


def _span(observed: dict[str, Json]) -> Span:
    error = None
    if observed.get("level") == "ERROR":
        error = ErrorInfo("Error", text(observed.get("statusMessage")))
    span = Span(
        id=text(observed.get("id")),
        trace=text(observed.get("traceId")),
        parent=text(observed.get("parentObservationId")),
        name=text(observed.get("name")),
        start_us=micros(observed.get("startTime")),
        end_us=micros(observed.get("endTime")),
        says={key: observed[key] for key in ("environment", "version", "level") if observed.get(key)},
        error=error,
    )
    given, came = parsed(parsed(observed.get("input"))), parsed(parsed(observed.get("output")))
    kind = text(observed.get("type"))
    if kind == "GENERATION":
        span.does = ModelWork(_turns(given, "user"), _turns(came, "assistant"), _answer(observed, error))
    elif kind == "TOOL":
        span.does = ToolWork(span.name, mapping(given).get("input", given), came)
    elif kind == "AGENT":
        span.does = AgentWork(span.name)
    return span


def _turns(value: Json, role: str) -> list[dict[str, Json]]:
    """Messages as turns of a chat; a text alone is one, and what LangChain keeps apart of a message is in it."""
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    holder = mapping(value)
    listed = items(holder.get("messages")) or (items(value) if isinstance(value, list) else [holder])
    turns: list[dict[str, Json]] = []
    for turn in dicts(listed):
        asked = mapping(turn.get("additional_kwargs")).get("tool_calls")
        own: dict[str, Json] = {"role": role, **turn}
        # Langfuse puts the definitions of tools among the messages of a model, as if tools had said them.
        if own.get("role") == "tool" and mapping(own.get("content")).get("type") == "function":
            continue
        if isinstance(asked, list) and not own.get("tool_calls"):
            own["tool_calls"] = asked
        if "content" in own or "tool_calls" in own:
            turns.append(own)
    return turns


def _answer(observed: dict[str, Json], error: ErrorInfo | None) -> ModelAnswer:
    usage = mapping(parsed(observed.get("usageDetails"))) or mapping(parsed(observed.get("usage")))
    read, wrote = _sum(usage, "input"), _sum(usage, "output")
    total, plain = count(usage.get("total")), (count(usage.get("input")) or 0) + (count(usage.get("output")) or 0)
    if total is not None and total == plain != (read or 0) + (wrote or 0):  # the others are parts of these
        read, wrote = count(usage.get("input")), count(usage.get("output"))
    tokens = Tokens(
        input=read,
        output=wrote,
        cached=next((number for key in _CACHED if (number := count(usage.get(key)))), 0),
        reasoning=next((number for key in _THOUGHT if (number := count(usage.get(key)))), 0),
    )
    cost = amount(parsed_number(mapping(parsed(observed.get("costDetails"))).get("total")))
    return ModelAnswer(
        model=text(observed.get("model")) or text(observed.get("providedModelName")),
        tokens=tokens,
        cost_usd=amount(parsed_number(observed.get("totalCost"))) if cost is None else cost,
        error=error.short if error is not None else "",
    )


def _sum(usage: dict[str, Json], kind: str) -> int | None:
    """All that was counted of a kind: Langfuse keeps what was cached, read aloud or thought apart, and adds it up."""
    found = [number for key, value in usage.items() if kind in key.lower() and (number := count(value)) is not None]
    return sum(found) if found else None
