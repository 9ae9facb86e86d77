"""Ids, times and marks of redaction in a text: what a program makes anew each time, although it says the same."""

from __future__ import annotations

from typing import Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.keyed import KEYED_MARK
from agent_tt.redaction.marks import MARK, canonical

__all__ = ["has_made_anew", "with_one_form", "without_ids_and_times"]

_UUID: Final = lazy_re(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_TIME: Final = lazy_re(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?|\d{1,2}:\d{2}:\d{2}(?:\.\d+)?"
    r"|\b1[5-9]\d{8}(?:\d{3}){0,3}(?:\.\d+)?\b"  # since 1970, of 2017 to 2033, in seconds to nanoseconds
)


def has_made_anew(text: str) -> bool:
    """Whether a text holds a UUID, or a time of day with or without its date, or as a number."""
    return _UUID.search(text) is not None or _TIME.search(text) is not None


def without_ids_and_times(text: str) -> str:
    """The text with `<id>` and `<time>` in place of these."""
    return _TIME.sub("<time>", _UUID.sub("<id>", text))


def with_one_form(text: str) -> str:
    """The text in a form that is the same for texts that differ in ids, times and marks of redaction alone.

    Dates without a time of day, other numbers and names count: what they say may be what was asked for.
    """
    return without_ids_and_times(KEYED_MARK.sub(MARK, canonical(text)))
