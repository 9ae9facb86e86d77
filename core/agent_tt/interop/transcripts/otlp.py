"""Traces in OTLP/JSON: a file holds one request, or one request per line, as the collector's file exporter writes.

A trace is a run, in whatever order its spans come (`spans`). What a span says is read in the names of these
conventions, in this order:

| convention | says by |
|---|---|
| OpenTelemetry GenAI | `gen_ai.operation.name`; messages in `gen_ai.input.messages`, in a log record, or in events |
| OpenInference | `openinference.span.kind`; `llm.input_messages.N.message.…` |
| OpenLLMetry | `traceloop.span.kind`, `llm.request.type`; `gen_ai.prompt.N.…`, `gen_ai.completion.N.…` |
| Vercel's AI SDK | `ai.operationId`; `ai.prompt.messages`, `ai.response.text`, `ai.response.toolCalls` |

The list of spans that OpenTelemetry's SDK for JavaScript dumps, with `spanContext` in each, is read as well.

Messages are shown in the form of OpenAI's chats.
"""

from __future__ import annotations

import base64
import binascii
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts.pieces import Lines
from agent_tt.interop.transcripts.spans import AgentWork, ModelWork, Span, ToolWork, parsed, tell_trace
from agent_tt.interop.transcripts.spans_later import NotInParts, tell_later
from agent_tt.interop.transcripts.transcript import Promise
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import amount, count, dicts, items, mapping, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["error_of", "read_otlp", "work_of"]

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
    "ai.generatetext.dogenerate": "llm",
    "ai.streamtext.dostream": "llm",
    "ai.generateobject.dogenerate": "llm",
    "ai.streamobject.dostream": "llm",
    "ai.toolcall": "tool",
}
_KIND_KEYS: Final = (
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "llm.request.type",
    "ai.operationId",
)
_ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "input.value",
    "traceloop.entity.input",
    "ai.toolCall.args",
)
_RESULTS: Final = (
    "gen_ai.tool.call.result",
    "tool_response",
    "output.value",
    "traceloop.entity.output",
    "ai.toolCall.result",
)
_MODELS: Final = "gen_ai.response.model", "gen_ai.request.model", "llm.model_name"
_READ: Final = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
)
_WROTE: Final = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
)
_CACHED: Final = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
)
_TOOLS: Final = "gen_ai.tool.name", "tool.name", "traceloop.entity.name", "ai.toolCall.name"
_ASKED_AS: Final = "gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"
_AGENTS: Final = "gen_ai.agent.name", "agent_name", "traceloop.entity.name", "agent.name"
_COSTS: Final = "operation.cost", "gen_ai.usage.cost", "llm.cost.total"
_EVENT: Final = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_FLAT: Final = re.compile(
    r"(?:llm\.(?P<way>in|out)put_messages\.(?P<at>\d{1,6})\.message|gen_ai\.(?P<word>prompt|completion)\.(?P<n>\d{1,6}))"
    r"\.(?P<rest>.+)"
)
_CALLED: Final = re.compile(r"tool_calls\.(\d{1,4})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)")
_PART: Final = re.compile(r"contents\.\d{1,4}\.message_content\.text")
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")
_NAMELESS: Final = "trace"
_MOST_SPANS: Final = 25_000
"""Spans of a trace that are told as a whole: more of them, with what they say, would pass 300 MB of memory."""

_MOST_SPANS_LATER: Final = 120_000
"""Spans of a trace of which the steps are told, and what they say later."""

_ERROR: Final = "2", "STATUS_CODE_ERROR"


def read_otlp(document: Document) -> Sequence[Promise] | None:
    """See `agent_tt.interop.transcripts.source.Format`."""
    whole = None if document.value is None else _flat(_as_request(document.value))
    pieces = document.parts or document.lines
    requests = _Requests(lambda at: _flat(pieces[at].value) if whole is None else whole)
    traces: dict[str, _Trace] = {}
    trace, known_as, is_known = None, None, False
    for number in range(1 if whole is not None else len(pieces)):
        large = document.parts if whole is None and isinstance(document.parts, Lines) else None
        request = requests.at(number) if large is None else _flat(large.outline(number))
        is_known = is_known or request.is_one
        for at, (span, _) in enumerate(request.spans):
            named = _one(span, "traceId")
            if trace is None or named != known_as:  # mostly one follows another of its own
                known_as, trace = named, traces.setdefault(_id(named), _Trace(_id(named)))
            trace.take(number, at, _one(span, "startTimeUnixNano"))
        for at, record in enumerate(request.records):
            if _id(_one(record, "spanId")) and text(_attributes(record).get("gen_ai.operation.name")):
                named = _id(_one(record, "traceId"))
                traces.setdefault(named, _Trace(named)).take(number, -1 - at, _one(record, "timeUnixNano"))
    if not is_known:
        return None
    return [
        Promise(each.id or _NAMELESS, each.began_us, len(each.places), partial(_told, each, requests))
        for each in traces.values()
    ]


class _Trace:
    """Where the spans of a trace are.

    Attributes:
        began_us: when the first of them began.
        places: of each the request, and its number there; of a log record -1 less its number.
    """

    __slots__ = ("began_us", "id", "places")

    def __init__(self, trace: str) -> None:
        self.id, self.began_us = trace, 0
        self.places: list[tuple[int, int]] = []

    def take(self, request: int, at: int, began: Json) -> None:
        """Add a span or a record."""
        self.places.append((request, at))
        began_us = _micros(began)
        if began_us is not None and (not self.began_us or began_us < self.began_us):
            self.began_us = began_us


def _told(trace: _Trace, requests: _Requests) -> Transcript:
    if len(trace.places) > _MOST_SPANS:
        with suppress(NotInParts):
            return _told_later(trace, requests)
    spans: dict[str, Span] = {}
    resource: dict[str, Json] = {}
    records: list[dict[str, Json]] = []
    missing = 0
    for number, at in trace.places[:_MOST_SPANS]:
        request = requests.at(number)
        missing += not request.is_one  # it was one when it was looked through: what was skipped then is damaged
        if at < 0:
            records += request.records[-1 - at : -at]
            continue
        for given, holder in request.spans[at : at + 1]:
            span = _span(given)
            resource = resource or _attributes(mapping(holder.get("resource")))
            if span.id in spans:  # sent again
                spans[span.id].says |= span.says
            else:
                spans[span.id] = span
    for given in records:
        record = _record(given)
        own = spans.setdefault(record.id, record)
        own.says = {**record.says, **own.says}
    for span in spans.values():
        span.does = work_of(span)
    told = tell_trace(trace.id or _NAMELESS, spans, _system(resource))
    if missing:
        told.flaws.append((0, f"{missing:,} of its spans are left out: what they say is damaged"))
    _leave_out(told, trace, _MOST_SPANS)
    return told


def _told_later(trace: _Trace, requests: _Requests) -> Transcript:
    """A trace of many spans, of which only the steps are known.

    Raises:
        NotInParts: it can only be told as a whole.
    """
    places = trace.places[:_MOST_SPANS_LATER]
    resource: dict[str, Json] = {}

    def read(place: int) -> Span:
        number, at = places[place]
        spans = requests.at(number).spans[at : at + 1]
        if not spans:
            raise StoreUnreadable(f"what spans of {trace.id} say is damaged, or was changed meanwhile")
        span = _span(spans[0][0])
        span.does = work_of(span)
        return span

    def heads() -> Iterator[Span]:
        for number, at in places:
            if at < 0:
                raise NotInParts("logs say more of its spans")
            spans = requests.at(number).spans[at : at + 1]
            if not spans:
                raise NotInParts("some of it is damaged")
            given, holder = spans[0]
            resource.update({} if resource else _attributes(mapping(holder.get("resource"))))
            span = _span(given)
            span.does = work_of(span, is_outline=True)
            span.says, span.events = {}, []
            yield span

    told = tell_later(trace.id or _NAMELESS, heads(), read, lambda: _system(resource))
    _leave_out(told, trace, _MOST_SPANS_LATER)
    return told


def _system(resource: Mapping[str, Json]) -> str:
    service = text(resource.get("service.name"))
    return f"OpenTelemetry, {service}" if service else "OpenTelemetry"


def _leave_out(told: Transcript, trace: _Trace, most: int) -> None:
    """Say how many spans were not told, if any."""
    if len(trace.places) > most:
        left = f"{len(trace.places) - most:,} of {len(trace.places):,} spans, which stand last in the file"
        told.metadata |= RunFacts.parts_left_out.entry(left)
        told.flaws.append((len(told.steps), f"too large to be shown whole: left out are {left}"))


# ---------------------------------------------------------------- spans


@dataclass(frozen=True, slots=True)
class _Request:
    """What a request holds, in order.

    Attributes:
        is_one: whether it is a request at all.
        spans: each with what says of which program it is.
        records: of logs.
    """

    is_one: bool
    spans: list[tuple[dict[str, Json], dict[str, Json]]]
    records: list[dict[str, Json]]


class _Requests:
    """The requests of a file; the one that was asked for last is kept."""

    def __init__(self, read: Callable[[int], _Request]) -> None:
        self._read = read
        self._last: tuple[int, _Request] | None = None

    def at(self, number: int) -> _Request:
        """One of them."""
        if self._last is None or self._last[0] != number:
            self._last = number, self._read(number)
        return self._last[1]


def _flat(request: Mapping[str, Json]) -> _Request:
    of_spans, of_logs = _part(request, "resourceSpans"), _part(request, "resourceLogs")
    spans = [
        (span, each) for each in of_spans for scope in _part(each, "scopeSpans") for span in dicts(scope.get("spans"))
    ]
    logs = [record for each in of_logs for scope in _part(each, "scopeLogs") for record in _part(scope, "logRecords")]
    return _Request(bool(of_spans or of_logs), spans, logs)


def _as_request(value: Json) -> dict[str, Json]:
    """What a file holds as a request of OTLP; the spans of a dump stand in one."""
    dumped = dicts(value)
    if not dumped or not all("spanContext" in each for each in dumped):
        return mapping(value)
    return {"resourceSpans": [{"scopeSpans": [{"spans": [_as_span(each) for each in dumped]}]}]}


def _as_span(dumped: dict[str, Json]) -> dict[str, Json]:
    """A span of a dump, whose times are pairs of seconds and nanoseconds, as OTLP has it."""
    context, above = mapping(dumped.get("spanContext")), mapping(dumped.get("parentSpanContext"))
    times: dict[str, Json] = {}
    for name in ("startTime", "endTime"):
        pair = [part for part in items(dumped.get(name)) if isinstance(part, int)]
        times[f"{name}UnixNano"] = str(pair[0] * 10**9 + pair[1]) if len(pair) == len(("s", "ns")) else None
    attributes: list[Json] = [
        {"key": key, "value": {"plain": value}} for key, value in mapping(dumped.get("attributes")).items()
    ]
    return {
        **times,
        "traceId": context.get("traceId"),
        "spanId": context.get("spanId"),
        "parentSpanId": dumped.get("parentSpanId", above.get("spanId")),
        "name": dumped.get("name"),
        "status": dumped.get("status"),
        "attributes": attributes,
    }


@cache
def _underscored(name: str) -> str:
    """A name as protocol buffers spell it."""
    return re.sub(r"([A-Z])", lambda each: "_" + each[1].lower(), name)


def _part(holder: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    """A list by its name, in the spelling of JSON or of protocol buffers."""
    return dicts(holder.get(name)) or dicts(holder.get(_underscored(name)))


def _one(holder: Mapping[str, Json], name: str) -> Json:
    return holder[name] if name in holder else holder.get(_underscored(name))


def _record(record: dict[str, Json]) -> Span:
    """What a log record says of a span."""
    at_us, says = _micros(_one(record, "timeUnixNano")), _attributes(record)
    ids = _id(_one(record, "spanId")), _id(_one(record, "traceId"))
    return Span(*ids, "", text(_one(record, "eventName")), at_us, at_us, says)


def _span(span: dict[str, Json]) -> Span:
    events = [(text(event.get("name")), _attributes(event)) for event in dicts(span.get("events"))]
    says = _attributes(span)
    status = mapping(span.get("status"))
    failed = str(status.get("code")) in _ERROR
    return Span(
        _id(_one(span, "spanId")),
        _id(_one(span, "traceId")),
        _id(_one(span, "parentSpanId")),
        text(span.get("name")),
        _micros(_one(span, "startTimeUnixNano")),
        _micros(_one(span, "endTimeUnixNano")),
        says,
        error_of(says, events, text(status.get("message"))) if failed else None,
        events,
    )


def error_of(says: Mapping[str, Json], events: Sequence[tuple[str, dict[str, Json]]], message: str) -> ErrorInfo:
    """What a span that failed says of it: its exception, else its status."""
    raised = next((said for name, said in events if name == "exception"), {})
    kind = text(raised.get("exception.type")) or text(says.get("error.type")) or "Error"
    return ErrorInfo(kind, text(raised.get("exception.message")) or message)


def _attributes(holder: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for each in items(holder.get("attributes")):
        if isinstance(each, dict):
            key, value = each.get("key"), each.get("value")
            is_text = isinstance(value, dict) and len(value) == 1 and "stringValue" in value  # as nearly all are
            said = value["stringValue"] if is_text and isinstance(value, dict) else _value(value)
            found[key if isinstance(key, str) else ""] = said
    return found


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
    return _id_of(text(given))


@lru_cache(4096)
def _id_of(written: str) -> str:
    if _HEXADECIMAL.fullmatch(written):
        return written.lower()
    try:
        found = base64.b64decode(written, validate=True)
    except (ValueError, binascii.Error):
        return written
    return found.hex() if len(found) in (8, 16) else written


def _micros(nanos: Json) -> int | None:
    try:
        found = int(cast("str", nanos)) // 1000
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 < found < 1 << 62 else None


# ---------------------------------------------------------------- what a span stands for


def work_of(span: Span, *, is_outline: bool = False) -> ModelWork | ToolWork | AgentWork | None:
    """What a span stands for, in the words of whichever convention it uses.

    Args:
        span: the span.
        is_outline: leave out what a model was shown, and what a tool was given and gave.
    """
    words = (text(span.says[key]).lower() for key in _KIND_KEYS if key in span.says)
    kind = next((_KINDS[word] for word in words if word in _KINDS), "")
    if kind == "llm":
        return _model_work(span, is_outline=is_outline)
    if kind == "tool":
        name = text(span.first(_TOOLS)) or span.name
        asked_as = text(span.first(_ASKED_AS))
        is_over = span.says.get("agent_tt.call.outcome") != "unknown"
        if is_outline:
            return ToolWork(name, None, None, asked_as, is_over=is_over)
        return ToolWork(name, parsed(span.first(_ARGUMENTS)), parsed(span.first(_RESULTS)), asked_as, is_over=is_over)
    if kind == "agent":
        return AgentWork(text(span.first(_AGENTS)) or span.name)
    return None


def _model_work(span: Span, *, is_outline: bool) -> ModelWork:
    shown: list[dict[str, Json]] = []
    said = _listed(span.says.get("gen_ai.output.messages")) if is_outline else []
    if not said:
        shown, said = _messages(span)
        shown = [] if is_outline else shown
    model = text(span.first(_MODELS))
    model = "" if model == "unknown" else model
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
    return ModelWork(shown, said, told)


# ---------------------------------------------------------------- messages


def _messages(span: Span) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """What a model was shown, and what it said."""
    shown, said = (_listed(span.says.get(f"gen_ai.{way}.messages")) for way in ("input", "output"))
    system = parsed(span.says.get("gen_ai.system_instructions"))
    if isinstance(system, list) and shown and shown[0].get("role") != "system":
        shown = [{"role": "system", "content": _words(system)}, *shown]
    if not shown and not said:
        shown, said = _of_flat(span.says)
    if not shown and not said:
        shown, said = _of_ai_sdk(span.says)
    if not shown and not said:
        shown, said = _of_events(span.events)
    return shown, said


def _listed(value: Json) -> list[dict[str, Json]]:
    """Messages with parts, as OpenTelemetry's conventions have them, as turns of a chat."""
    return [turn for message in dicts(parsed(value)) for turn in _turns(message)]


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


def _of_flat(says: Mapping[str, Json]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
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
        elif _PART.fullmatch(named["rest"]) and isinstance(value, str):
            message["content"] = "\n".join(filter(None, (text(message["content"]), value)))
    for (way, at), asked in calls.items():
        found[way][at]["tool_calls"] = [
            {"id": call.get("id"), "type": "function",
             "function": {"name": call.get("name"), "arguments": call.get("arguments")}}
            for _, call in sorted(asked.items())
        ]  # fmt: skip
    shown, said = ([message for _, message in sorted(found[way].items())] for way in ("in", "out"))
    return shown, said


def _of_ai_sdk(says: Mapping[str, Json]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Messages as Vercel's AI SDK has them, as turns of a chat."""
    shown: list[dict[str, Json]] = []
    for message in dicts(parsed(says.get("ai.prompt.messages"))):
        parts = dicts(message.get("content"))
        results = [part for part in parts if part.get("type") == "tool-result"]
        for part in results:
            given = part.get("output", part.get("result"))
            content = mapping(given).get("value", given)
            shown.append({"role": "tool", "tool_call_id": part.get("toolCallId"), "content": content})
        if not results:
            words = "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text")
            called = [part for part in parts if part.get("type") == "tool-call"]
            shown.append({**message, "content": words or None, **_sdk_calls(called)} if parts else message)
    called = dicts(parsed(says.get("ai.response.toolCalls")))
    words = text(says.get("ai.response.text")) or text(says.get("ai.response.object"))
    said: dict[str, Json] = {"role": "assistant", "content": words or None, **_sdk_calls(called)}
    return shown, [said] if words or called else []


def _sdk_calls(called: Sequence[dict[str, Json]]) -> dict[str, Json]:
    calls: list[Json] = [
        {"id": call.get("toolCallId"), "type": "function",
         "function": {"name": call.get("toolName"), "arguments": call.get("input", call.get("args"))}}
        for call in called
    ]  # fmt: skip
    return {"tool_calls": calls} if calls else {}


def _of_events(events: Sequence[tuple[str, dict[str, Json]]]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Messages in events of the span, as older conventions have them."""
    shown: list[dict[str, Json]] = []
    said: list[dict[str, Json]] = []
    for name, says in events:
        named = _EVENT.fullmatch(name)
        if named is not None:
            content = says.get("content", says.get("gen_ai.event.content"))
            message: dict[str, Json] = {"role": named[1], "content": content}
            calls = parsed(says.get("tool_calls"))
            message |= {"tool_calls": calls} if isinstance(calls, list) else {}
            message |= {"tool_call_id": says["id"]} if named[1] == "tool" and "id" in says else {}
            shown.append(message)
        elif name == "gen_ai.choice":
            inner = mapping(parsed(says.get("message"))) or says
            said.append({"role": "assistant", "content": inner.get("content"), "tool_calls": inner.get("tool_calls")})
        elif name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            key = name.replace("content.", "")
            (shown if key.endswith("prompt") else said).extend(dicts(parsed(says.get(key))))
    return shown, said
