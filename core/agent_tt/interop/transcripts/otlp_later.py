"""A trace of OTLP of very many spans, of which only the steps are known, and what they say is read later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts.otlp_spans import span_of
from agent_tt.interop.transcripts.otlp_traces import system_of
from agent_tt.interop.transcripts.otlp_work import head_of, work_of
from agent_tt.interop.transcripts.spans_later import NotInParts, tell_later

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.interop.transcripts.otlp_spans import Requests
    from agent_tt.interop.transcripts.otlp_traces import Trace
    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.interop.transcripts.spans_later import Head
    from agent_tt.interop.transcripts.transcript import Transcript

__all__ = ["SpansOf", "told_later"]


def told_later(trace: Trace, requests: Requests, most: int) -> Transcript:
    """Tell a trace later, of so many of its spans at most.

    Raises:
        NotInParts: it can only be told as a whole.
    """
    heads, trace.heads = trace.heads, []  # they are of no use afterwards
    numbers, places, systems = trace.requests[:most], trace.places[:most], [trace.system]

    def found() -> Iterator[Head]:
        for number, at in zip(numbers, places, strict=True):
            if at < 0:
                raise NotInParts("logs say more of its spans")
            spans = requests.at(number).spans[at : at + 1]
            if not spans:
                raise NotInParts("some of it is damaged")
            given, holder = spans[0]
            systems[0] = systems[0] or system_of(holder)
            yield head_of(given)

    known = heads if len(heads) == len(places) else found()
    read = SpansOf(trace.name, requests, numbers, places)
    return tell_later(trace.name, known, read, lambda: systems[0] or "OpenTelemetry")


class SpansOf:
    """The spans of a trace, each read when it is asked for.

    Args:
        trace: its id.
        requests: the requests of the file.
        numbers, places: of each span its request, and its place there.
    """

    def __init__(self, trace: str, requests: Requests, numbers: Sequence[int], places: Sequence[int]) -> None:
        self.requests, self.numbers, self.places = requests, numbers, places
        self._trace = trace

    def __call__(self, place: int) -> Span:
        """The span at a place.

        Raises:
            StoreUnreadable: it is not there any more.
        """
        at = self.places[place]
        spans = self.requests.at(self.numbers[place]).spans[at : at + 1]
        if not spans:
            raise StoreUnreadable(f"what spans of {self._trace} say is damaged, or was changed meanwhile")
        span = span_of(spans[0][0])
        span.does = work_of(span)
        return span
