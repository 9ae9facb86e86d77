"""Places in a text where secrets stand."""

from __future__ import annotations

from typing import Final, NamedTuple

from agent_tt._pattern import lazy_re

__all__ = ["Span", "apart", "quote_of"]

_BEFORE_NUMBER: Final = lazy_re(r"[:,\[]\s{0,20}\Z")
_NUMBER: Final = lazy_re(r"-?\d+(?:\.\d+)?")
_AFTER_NUMBER: Final = lazy_re(r"\s{0,20}(?:[,\]}]|\Z)")
_LONGEST_BEFORE: Final = 21


class Span(NamedTuple):
    """Where a secret stands in a text.

    Attributes:
        start: its first character.
        end: one after its last.
        quote: None of text; of a number in JSON how a quote is written there: `"`, or  in JSON inside a string.
        kind: the word of its mark (`agent_tt.redaction.keyed`); "" of what is secret by itself.
    """

    start: int
    end: int
    quote: str | None = None
    kind: str = ""


def apart(found: list[Span]) -> list[Span]:
    """Put the spans in order, join those that overlap, leave empty ones out."""
    joined: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if joined and span.start < joined[-1].end:
            if span.end > joined[-1].end:
                joined[-1] = Span(joined[-1].start, span.end, kind=joined[-1].kind and span.kind)
        elif span.end > span.start:
            joined.append(span)
    return joined


def quote_of(text: str, start: int, end: int) -> str | None:
    """`"` of a number as JSON has it outside of strings, in whose place something else has to be JSON; None of text.

    Args:
        text: any text.
        start: the first character of what may be a number.
        end: one after its last.
    """
    is_number = (
        start > 0
        and _NUMBER.fullmatch(text, start, end) is not None
        and _BEFORE_NUMBER.search(text, max(0, start - _LONGEST_BEFORE), start) is not None
        and _AFTER_NUMBER.match(text, end) is not None
    )
    return '"' if is_number else None
