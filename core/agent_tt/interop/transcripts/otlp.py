"""Traces in OpenTelemetry's OTLP/JSON: one request, or one a line as the collector's file exporter writes them.

A trace is a run, in whatever order its spans come. Spans of model calls are steps, those of tools their calls; agents
inside agents have lanes. What a span says of a model call is read in the names of these conventions, in this order:

| convention | says by |
|---|---|
| OpenTelemetry GenAI | `gen_ai.operation.name`; messages in `gen_ai.input.messages`, in a log record, or in events |
| OpenInference | `openinference.span.kind`; `llm.input_messages.N.message.…` |
| OpenLLMetry | `traceloop.span.kind`, `llm.request.type`; `gen_ai.prompt.N.…`, `gen_ai.completion.N.…` |

Usage counts where a model was called; sums that agents' spans repeat are not added. Messages are shown in the form of
OpenAI's chats. A trace without any such span has a step for each span.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from agent_tt.interop.transcripts.telling import Teller, answer, results_in, wire
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import amount, count, dicts, items, mapping, parse, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import ToldCall, ToldStep, Transcript
    from agent_tt.model import RunStatus
    from agent_tt.providers.shapes import Json

__all__ = ["read_otlp"]

_KINDS: Final = {
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "completion": "llm",
    "llm": "llm",
    "execute_tool": "tool",
    "tool": "tool",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "agent": "agent",
}
_KIND_KEYS: Final = "gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "llm.request.type"
_ARGUMENTS: Final = "gen_ai.tool.call.arguments", "tool_arguments", "input.value", "traceloop.entity.input"
_RESULTS: Final = "gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output"
_MODELS: Final = "gen_ai.response.model", "gen_ai.request.model", "llm.model_name"
_READ: Final = "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"
_WROTE: Final = "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"
_CACHED: Final = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
)
_COSTS: Final = "operation.cost", "gen_ai.usage.cost", "llm.cost.total"
_EVENT: Final = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_FLAT: Final = re.compile(
    r"(?:llm\.(?P<way>in|out)put_messages\.(?P<at>\d{1,6})\.message|gen_ai\.(?P<word>prompt|completion)\.(?P<n>\d{1,6}))"
    r"\.(?P<rest>.+)"
)
_CALLED: Final = re.compile(r"tool_calls\.(\d{1,4})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)")
_ERROR: Final = "2", "STATUS_CODE_ERROR"
_SHORT: Final = 200


@dataclass(slots=True, eq=False)
class _Span:
    """One span; of a log record without one, what it stands for."""

    id: str
    trace: str
    parent: str
    name: str
    start_us: int | None
    end_us: int | None
    says: dict[str, Json]
    error: ErrorInfo | None = None
    events: list[tuple[str, dict[str, Json]]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return next((_KINDS[word] for key in _KIND_KEYS if (word := text(self.says.get(key)).lower()) in _KINDS), "")

    def first(self, keys: Sequence[str]) -> Json:
        """What the first of some attributes says that is there."""
        return next((self.says[key] for key in keys if self.says.get(key) not in (None, "")), None)


def read_otlp(document: Document) -> Sequence[Transcript] | None:
    """See `agent_tt.interop.transcripts.source.Format`."""
    requests = [mapping(document.value)] if document.value is not None else [line.value for line in document.lines]
    if not any(_part(request, "resourceSpans") or _part(request, "resourceLogs") for request in requests):
        return None
    traces: dict[str, dict[str, _Span]] = {}
    resources: dict[str, dict[str, Json]] = {}
    for span, resource in _spans(requests):
        known = traces.setdefault(span.trace, {})
        if span.id in known:  # sent again
            known[span.id].says |= span.says
            continue
        known[span.id] = span
        resources.setdefault(span.trace, resource)
    for trace, record in _records(requests):
        spans = traces.setdefault(trace, {})
        own = spans.setdefault(record.id, record)
        own.says = {**record.says, **own.says}
    return [_told(trace, spans, resources.get(trace, {})) for trace, spans in traces.items()]


# ---------------------------------------------------------------- spans


def _part(holder: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    """A list by its name, in the spelling of JSON or of protocol buffers."""
    return dicts(holder.get(name)) or dicts(holder.get(re.sub(r"([A-Z])", lambda each: "_" + each[1].lower(), name)))


def _one(holder: Mapping[str, Json], name: str) -> Json:
    return holder.get(name, holder.get(re.sub(r"([A-Z])", lambda each: "_" + each[1].lower(), name)))


def _spans(requests: Sequence[dict[str, Json]]) -> Iterator[tuple[_Span, dict[str, Json]]]:
    for request in requests:
        for of_resource in _part(request, "resourceSpans"):
            resource = _attributes(mapping(of_resource.get("resource")))
            for scope in _part(of_resource, "scopeSpans"):
                for span in dicts(scope.get("spans")):
                    yield _span(span), resource


def _records(requests: Sequence[dict[str, Json]]) -> Iterator[tuple[str, _Span]]:
    """What log records say of spans."""
    for request in requests:
        for of_resource in _part(request, "resourceLogs"):
            for scope in _part(of_resource, "scopeLogs"):
                for record in _part(scope, "logRecords"):
                    span = _id(_one(record, "spanId"))
                    says = _attributes(record)
                    if span and text(says.get("gen_ai.operation.name")):
                        at_us = _micros(_one(record, "timeUnixNano"))
                        trace = _id(_one(record, "traceId"))
                        yield trace, _Span(span, trace, "", text(_one(record, "eventName")), at_us, at_us, says)


def _span(span: dict[str, Json]) -> _Span:
    events = [(text(event.get("name")), _attributes(event)) for event in dicts(span.get("events"))]
    says = _attributes(span)
    status = mapping(span.get("status"))
    error = None
    if str(status.get("code")) in _ERROR:
        raised = next((said for name, said in events if name == "exception"), {})
        kind = text(raised.get("exception.type")) or text(says.get("error.type")) or "Error"
        error = ErrorInfo(kind, text(raised.get("exception.message")) or text(status.get("message")))
    return _Span(
        _id(_one(span, "spanId")),
        _id(_one(span, "traceId")),
        _id(_one(span, "parentSpanId")),
        text(span.get("name")),
        _micros(_one(span, "startTimeUnixNano")),
        _micros(_one(span, "endTimeUnixNano")),
        says,
        error,
        events,
    )


def _attributes(holder: Mapping[str, Json]) -> dict[str, Json]:
    return {text(each.get("key")): _value(each.get("value")) for each in dicts(holder.get("attributes"))}


def _value(value: Json, depth: int = 0) -> Json:
    """An `AnyValue` as plain JSON."""
    for kind, given in mapping(value).items() if depth < 64 else ():
        if kind in ("arrayValue", "array_value"):
            return [_value(each, depth + 1) for each in items(mapping(given).get("values"))]
        if kind in ("kvlistValue", "kvlist_value"):
            pairs = dicts(mapping(given).get("values"))
            return {text(each.get("key")): _value(each.get("value"), depth + 1) for each in pairs}
        if kind in ("intValue", "int_value") and isinstance(given, str) and len(given) < 20:
            return int(given) if given.lstrip("-").isdigit() else given
        return given
    return None


def _id(given: Json) -> str:
    """An id in hexadecimal digits; protocol buffers write base64 in their own JSON."""
    written = text(given)
    if re.fullmatch(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}", written):
        return written.lower()
    try:
        found = base64.b64decode(written, validate=True)
    except (ValueError, binascii.Error):
        return written
    return found.hex() if len(found) in (8, 16) else written


def _micros(nanos: Json) -> int | None:
    try:
        found = int(cast("str", nanos)) // 1000
    except (TypeError, ValueError):
        return None
    return found if 0 < found < 1 << 62 else None


# ---------------------------------------------------------------- telling


def _told(trace: str, spans: dict[str, _Span], resource: dict[str, Json]) -> Transcript:
    order = sorted(spans.values(), key=lambda span: (span.start_us or 0, -(span.end_us or 0)))
    system = text(resource.get("service.name"))
    teller = _Trace(trace or "trace", spans, f"OpenTelemetry, {system}" if system else "OpenTelemetry")
    is_of_models = any(span.kind in ("llm", "tool") for span in order)
    for span in order:
        teller.tell(span, is_of_models=is_of_models)
    roots = [span for span in order if span.parent not in spans]
    root = next((span for span in roots if not span.parent), None)
    status: RunStatus = "unknown" if root is None or root.end_us is None else "failed" if root.error else "succeeded"
    said = {key: wire(value) for span in roots for key, value in span.says.items() if len(str(value)) <= _SHORT}
    title = RunFacts.title.entry(roots[0].name) if roots and roots[0].name else {}
    return teller.teller.done(
        status=status,
        error=None if root is None else root.error,
        model=teller.model or None,
        metadata={**said, **title},
    )


class _Trace:
    """Tells the spans of one trace, in the order in which they began."""

    def __init__(self, run_id: str, spans: Mapping[str, _Span], system: str) -> None:
        self.teller = Teller(run_id, system)
        self.model = ""
        self._spans = spans
        self._waiting: dict[str, list[tuple[ToldStep, ToldCall]]] = {}
        self._began_in: dict[str, ToldStep | None] = {}

    def tell(self, span: _Span, *, is_of_models: bool) -> None:
        lane = self._lane(span)
        if span.kind == "llm":
            self._model(span, lane)
        elif span.kind == "tool":
            self._tool(span, lane)
        elif not is_of_models:
            step = lane.step(span.name or "span", span.end_us, began_us=span.start_us)
            step.status, step.error = ("error", span.error) if span.error else ("ok", None)
            lane.note(span.says)

    def _lane(self, span: _Span) -> Lane:
        """The lane of the agent around a span, where that agent is inside another one."""
        agents: list[_Span] = []
        seen: set[str] = {span.id}
        above = self._spans.get(span.parent)
        while above is not None and above.id not in seen:
            seen.add(above.id)
            if above.kind == "agent":
                agents.append(above)
            above = self._spans.get(above.parent)
        name = _agent(agents[0]) if agents else ""
        if len(agents) < 2 or name == _agent(agents[-1]):
            self.teller.main.agent = name or None
            return self.teller.main
        if name not in self._began_in:
            self._began_in[name] = self.teller.steps[-1] if self.teller.steps else None
        return self.teller.lane(name, agent=name, parent=self._began_in[name])

    def _model(self, span: _Span, lane: Lane) -> None:
        shown, said = _messages(span)
        model = text(span.first(_MODELS))
        model = "" if model == "unknown" else model
        self.model = model or self.model
        tokens = Tokens(
            input=count(span.first(_READ)), output=count(span.first(_WROTE)), cached=count(span.first(_CACHED)) or 0
        )
        cost = amount(span.first(_COSTS))
        reasons = span.says.get("gen_ai.response.finish_reasons", span.says.get("llm.finish_reason"))
        told = ModelAnswer(
            model=model,
            finish_reason=text(items(reasons)[0]) if items(reasons) else text(reasons),
            tokens=tokens,
            cost_usd=cost_of(model, tokens) if cost is None else cost,
            error=f"{span.error.class_name}: {span.error.message}" if span.error else "",
        )
        for asked_as, content, is_error in (result for message in shown for result in results_in(message)):
            _, call = self.teller.asked.get(asked_as) or (None, None)
            if call is not None and call.status == "pending":  # no span of the tool says it
                answer(call, wire(content), failed=is_error)
        lane.shown([wire(message) for message in shown])
        turn: dict[str, Json] = said[0] if said else {"role": "assistant", "content": None}
        step = lane.turn(turn, span.end_us, answer=told, began_us=span.start_us)
        for call in step.calls if step is not None else ():
            if call.kind == "tool" and step is not None:
                self._waiting.setdefault(call.name, []).append((step, call))
        for message in said[1:]:
            lane.add(message, span.end_us)

    def _tool(self, span: _Span, lane: Lane) -> None:
        name = text(span.first(("gen_ai.tool.name", "tool.name", "traceloop.entity.name"))) or span.name
        asked_as = text(span.says.get("gen_ai.tool.call.id")) or text(span.says.get("tool_call.id"))
        given, result = _parsed(span.first(_ARGUMENTS)), _parsed(span.first(_RESULTS))
        known = self.teller.asked.get(asked_as) if asked_as else None
        if known is None:
            waiting = [each for each in self._waiting.get(name, []) if each[1].status == "pending"]
            alike = [each for each in waiting if each[1].args == wire(given)]
            known = next(iter(alike or waiting), None)
        if known is None:
            step = lane.step(name, span.end_us, began_us=span.start_us)
            known = step, lane.ask(step, name, wire(given), asked_as, span.start_us)
        own, call = known
        if call.args is None:
            call.args = wire(given)
        call.started_us = span.start_us
        answer(call, wire(result), span.end_us, failed=span.error is not None)
        call.error = span.error or call.error
        own.ended_us = max(filter(None, (own.ended_us, span.end_us)), default=None)


def _agent(span: _Span) -> str:
    return text(span.first(("gen_ai.agent.name", "agent_name", "traceloop.entity.name", "agent.name"))) or span.name


def _parsed(value: Json) -> Json:
    found = parse(value) if isinstance(value, str) and value[:1] in '{["' else None
    return value if found is None else found


# ---------------------------------------------------------------- messages


def _messages(span: _Span) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """What a model was shown, and what it said."""
    shown, said = (_listed(span.says.get(f"gen_ai.{way}.messages")) for way in ("input", "output"))
    system = _parsed(span.says.get("gen_ai.system_instructions"))
    if isinstance(system, list) and shown and shown[0].get("role") != "system":
        shown = [{"role": "system", "content": _words(system)}, *shown]
    if not shown and not said:
        shown, said = _flat(span.says)
    if not shown and not said:
        shown, said = _of_events(span.events)
    return shown, said


def _listed(value: Json) -> list[dict[str, Json]]:
    """Messages with parts, as OpenTelemetry's conventions have them, as turns of a chat."""
    return [turn for message in dicts(_parsed(value)) for turn in _turns(message)]


def _turns(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    parts = dicts(message.get("parts"))
    if not parts:
        yield message
        return
    calls: list[Json] = [
        {"id": part.get("id"), "type": "function",
         "function": {"name": part.get("name"), "arguments": part.get("arguments")}}
        for part in parts if part.get("type") == "tool_call"
    ]  # fmt: skip
    results = [part for part in parts if part.get("type") == "tool_call_response"]
    thoughts = "\n".join(text(part.get("content")) for part in parts if part.get("type") in ("reasoning", "thinking"))
    words = _words(parts)
    if words or calls or thoughts or not results:
        turn: dict[str, Json] = {"role": text(message.get("role")) or "user", "content": words or None}
        if thoughts:
            turn["reasoning_content"] = thoughts
        yield turn | ({"tool_calls": calls} if calls else {})
    for part in results:
        given = part.get("response", part.get("result"))
        yield {"role": "tool", "tool_call_id": part.get("id"), "content": given}


def _words(parts: Sequence[Json]) -> str:
    texts = [text(part.get("content")) for part in dicts([*parts]) if part.get("type") == "text"]
    return "\n".join(filter(None, texts))


def _flat(says: Mapping[str, Json]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Messages whose fields are attributes of their own, with their places in the names."""
    found: dict[str, dict[int, dict[str, Json]]] = {"in": {}, "out": {}}
    calls: dict[tuple[str, int], dict[int, dict[str, Json]]] = {}
    for key, value in says.items():
        named = _FLAT.fullmatch(key)
        if named is None:
            continue
        way = named["way"] or ("in" if named["word"] == "prompt" else "out")
        at = int(named["at"] or named["n"])
        message = found[way].setdefault(at, {"role": "user" if way == "in" else "assistant", "content": None})
        called = _CALLED.fullmatch(named["rest"])
        if called is not None:
            calls.setdefault((way, at), {}).setdefault(int(called[1]), {})[called[2]] = value
        elif named["rest"] in ("role", "content", "name", "tool_call_id", "finish_reason"):
            message[named["rest"]] = value
    for (way, at), asked in calls.items():
        found[way][at]["tool_calls"] = [
            {"id": call.get("id"), "type": "function",
             "function": {"name": call.get("name"), "arguments": call.get("arguments")}}
            for _, call in sorted(asked.items())
        ]  # fmt: skip
    shown, said = ([message for _, message in sorted(found[way].items())] for way in ("in", "out"))
    return shown, said


def _of_events(events: Sequence[tuple[str, dict[str, Json]]]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Messages in events of the span, as older conventions have them."""
    shown: list[dict[str, Json]] = []
    said: list[dict[str, Json]] = []
    for name, says in events:
        named = _EVENT.fullmatch(name)
        if named is not None:
            content = says.get("content", says.get("gen_ai.event.content"))
            message: dict[str, Json] = {"role": named[1], "content": content}
            calls = _parsed(says.get("tool_calls"))
            message |= {"tool_calls": calls} if isinstance(calls, list) else {}
            message |= {"tool_call_id": says["id"]} if named[1] == "tool" and "id" in says else {}
            shown.append(message)
        elif name == "gen_ai.choice":
            inner = mapping(_parsed(says.get("message"))) or says
            said.append({"role": "assistant", "content": inner.get("content"), "tool_calls": inner.get("tool_calls")})
        elif name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            key = name.replace("content.", "")
            (shown if key.endswith("prompt") else said).extend(dicts(_parsed(says.get(key))))
    return shown, said
