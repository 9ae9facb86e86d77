"""Where the spans of each trace lie in a file of OTLP; of a trace that is alone there, what a list shows of them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from agent_tt.interop.transcripts.otlp_spans import attributes_of, id_of, micros_of, one
from agent_tt.interop.transcripts.otlp_work import head_of
from agent_tt.interop.transcripts.spans_later import NotInParts
from agent_tt.providers.loose import mapping, text

if TYPE_CHECKING:
    from agent_tt.interop.transcripts.otlp_spans import Request
    from agent_tt.interop.transcripts.spans_later import Head
    from agent_tt.providers.shapes import Json

__all__ = ["Trace", "Traces", "system_of"]


class Trace:
    """Where the spans of a trace are.

    Attributes:
        began_us: when the first of them began.
        requests, places: of each the request, and its number there; of a log record -1 less its number.
        heads: what a list shows of the first of them, where that was found at once.
        system: the program that sent them, where that was found at once.
    """

    __slots__ = ("began_us", "heads", "id", "places", "requests", "system")

    def __init__(self, trace: str) -> None:
        self.id, self.began_us, self.system = trace, 0, ""
        self.requests, self.places = array("l"), array("l")
        self.heads: list[Head] = []

    @property
    def name(self) -> str:
        """Its id, or a word in its place."""
        return self.id or "trace"

    def __len__(self) -> int:
        return len(self.places)

    def take(self, request: int, at: int, began: Json) -> None:
        """Add a span or a record."""
        self.requests.append(request)
        self.places.append(at)
        began_us = micros_of(began)
        if began_us is not None and (not self.began_us or began_us < self.began_us):
            self.began_us = began_us


class Traces:
    """The traces of a file, whose requests are taken in one after another.

    Args:
        heads: of so many spans at most heads are kept, so that a trace that is alone need not be read again.

    Attributes:
        found: each by its id.
        is_one: whether spans are to be given as a whole: heads are kept, as long as there is one trace.
    """

    def __init__(self, heads: int) -> None:
        self.found: dict[str, Trace] = {}
        self.is_one = heads > 0
        self._most = heads
        self._trace: Trace | None = None
        self._known_as: Json = None

    def give_up(self) -> None:
        """Keep no heads."""
        self.is_one = False
        for trace in self.found.values():
            trace.heads = []

    def take(self, number: int, request: Request) -> None:
        """Take in the next request."""
        for at, (span, holder) in enumerate(request.spans):
            named = one(span, "traceId")
            trace = self._trace
            if trace is None or named != self._known_as:  # mostly one follows another of its own
                trace = self._trace = self._of(named)
                self._known_as = named
            if self.is_one:
                self._head(trace, span, holder)
            trace.take(number, at, one(span, "startTimeUnixNano"))
        for at, record in enumerate(request.records):
            if id_of(one(record, "spanId")) and text(attributes_of(record).get("gen_ai.operation.name")):
                self.give_up()
                self._of(one(record, "traceId")).take(number, -1 - at, one(record, "timeUnixNano"))

    def _of(self, named: Json) -> Trace:
        trace = id_of(named)
        if trace not in self.found:
            self.found[trace] = Trace(trace)
            if self.is_one and len(self.found) > 1:
                self.give_up()
        return self.found[trace]

    def _head(self, trace: Trace, span: dict[str, Json], holder: dict[str, Json]) -> None:
        try:
            trace.heads.append(head_of(span))
        except NotInParts:
            self.give_up()
            return
        trace.system = trace.system or system_of(holder)
        self.is_one = len(trace.heads) < self._most


def system_of(holder: dict[str, Json]) -> str:
    """The program that sent spans, by what stands around them; empty where that does not say."""
    said = attributes_of(mapping(holder.get("resource")))
    service = text(said.get("service.name"))
    return "" if not said else f"OpenTelemetry, {service}" if service else "OpenTelemetry"
