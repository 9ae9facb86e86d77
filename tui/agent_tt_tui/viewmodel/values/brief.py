"""A value on one row: whole entries as far as they fit, at least the name of the first, and a count of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.codec.wire import is_envelope
from agent_tt_tui.text import clean, cut, width

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

_LEAST_INSIDE: Final = 12
"""Columns from which on the first entries of an entry are shown that does not fit as a whole."""


def brief(wire: Wire, columns: int, more: str) -> str:
    """Write as many whole entries of a dict or list as fit, and how many are left: `{"id": 7, "item": "cup", +3}`.

    Args:
        wire: A value.
        columns: How many columns there are.
        more: The glyph for what is cut, where not even the count fits, or the value has no entries; also for the value
            of the first entry, where only its key fits.
    """
    whole = clean(summary(wire, columns + 1))
    if width(whole) <= columns:
        return whole
    if not isinstance(wire, dict | list) or is_envelope(wire):
        return cut(whole, columns, more)
    opens, closes = "{}" if isinstance(wire, dict) else "[]"
    entries = wire.items() if isinstance(wire, dict) else (("", item) for item in wire)
    said, count = opens, 0
    for key, item in entries:
        name = clean(summary(key, columns)) + ": " if isinstance(wire, dict) else ""
        before = f"{said}{', ' if count else ''}{name}"
        left = len(wire) - count - 1
        room = columns - width(before) - len(f", +{left}{closes}" if left else closes)
        text = clean(summary(item, max(0, room) + 1))
        if width(text) > room:
            inside = isinstance(item, dict | list) and not is_envelope(item) and room >= _LEAST_INSIDE
            text = brief(item, room, more) if inside else ""
            if text[1:2] == "+":  # nothing of it but a count
                text = ""
            if not text and not count and name and room >= width(more):
                text = more
            if text:
                said, count = before + text, count + 1
            break
        said, count = before + text, count + 1
    left = len(wire) - count
    rest = f"{', ' if count else ''}+{left}" if left else ""
    return cut(f"{said}{rest}{closes}", columns, more)
