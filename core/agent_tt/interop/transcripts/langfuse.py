"""Traces that Langfuse exports: an object with `trace` and `observations`, or what its API gives with both in one.

An observation is a span: a `GENERATION` a model call, a `TOOL` a tool, an `AGENT` an agent. Inputs and outputs stand as
JSON in texts, now and then in two of them. A tool that is a mere `SPAN` is seen in what the next model was shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.interop.transcripts.spans import AgentWork, ModelWork, Span, ToolWork, parsed, tell_trace
from agent_tt.interop.transcripts.telling import micros
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import amount, count, dicts, items, mapping, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_langfuse"]


def read_langfuse(document: Document) -> Sequence[Transcript] | None:
    """See `agent_tt.interop.transcripts.source.Format`."""
    whole = mapping(document.value)
    observed = dicts(whole.get("observations"))
    if not observed or not all("type" in each and "startTime" in each for each in observed):
        return None
    trace = mapping(whole.get("trace")) or whole
    spans = {span.id: span for span in map(_span, observed)}
    return [tell_trace(text(trace.get("id")) or document.path.stem, spans, "Langfuse", text(trace.get("name")))]


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
    usage = mapping(observed.get("usageDetails")) or mapping(observed.get("usage"))
    tokens = Tokens(
        input=count(usage.get("input")),
        output=count(usage.get("output")),
        cached=count(usage.get("input_cache_read")) or 0,
        reasoning=count(usage.get("output_reasoning")) or 0,
    )
    cost = amount(mapping(observed.get("costDetails")).get("total"))
    return ModelAnswer(
        model=text(observed.get("model")),
        tokens=tokens,
        cost_usd=amount(observed.get("totalCost")) if cost is None else cost,
        error=error.short if error is not None else "",
    )
