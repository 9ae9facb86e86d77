"""Places in a text where secrets stand."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Span", "apart"]


class Span(NamedTuple):
    """Where a secret stands in a text.

    Attributes:
        start: its first character.
        end: one after its last.
        quote: None of text; of a number in JSON how a quote is written there: `"`, or  in JSON inside a string.
    """

    start: int
    end: int
    quote: str | None = None


def apart(found: list[Span]) -> list[Span]:
    """Put the spans in order, join those that overlap, leave empty ones out."""
    joined: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if joined and span.start < joined[-1].end:
            if span.end > joined[-1].end:
                joined[-1] = Span(joined[-1].start, span.end)
        elif span.end > span.start:
            joined.append(span)
    return joined
