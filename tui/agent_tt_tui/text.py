r"""Text that came from agents, made safe and measured in terminal columns.

Nothing an agent wrote may move the cursor, colour the screen, reorder a line or hide in it. What a terminal would obey
or swallow is shown as the escape that a Python string would have: `\n`, `\x1b`, `\u202e`. Natural right-to-left
text, combining marks and wide characters are left as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, split_graphemes

if TYPE_CHECKING:
    from collections.abc import Sequence

Align = Literal["left", "right"]

_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters, which begin every terminal sequence
    "\u00ad\u180e\u200b-\u200f\u2028\u2029\u2060-\u2065\ufeff\ufff9-\ufffb"  # invisible, or breaking lines
    "\u061c\u202a-\u202e\u2066-\u206f"  # changing the direction of what follows
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # invisible although they count as letters
    "\U0001f3fb-\U0001f3ff"  # skin tones, which some terminals draw on the emoji before them and others beside it
    "\ufe00-\ufe0f"  # variation selectors, which change a width that no two terminals agree on
    "\ud800-\udfff"  # lone surrogates, which cannot be written out
    "\U000e0000-\U000e0fff"  # tags: invisible text
    "]"
)

_NEUTRAL = frozenset("\u200c\u200d") | {chr(code) for code in (*range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400))}
"""Joiners, variation selectors and skin tones: honest in scripts and emoji, so they are left out rather than shown."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_CHARACTERS_PER_COLUMN = 4
"""How many characters are looked at per column to be filled: enough for a base and three combining marks."""


def clean(text: str) -> str:
    """Make text safe to draw on one line.

    Args:
        text: any text. For text of unknown length prefer `show`, which never reads more than it draws.

    Returns:
        The text with everything a terminal would obey or hide made visible.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_visible, text)


def width(text: str) -> int:
    """Measure text in terminal columns."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, columns: int, more: str) -> str:
    """Shorten text to a number of columns.

    Args:
        text: safe text, of any length; only its beginning is measured.
        columns: how many columns there are; less than one gives an empty string.
        more: the glyph that says something is missing; may be empty.

    Returns:
        The text, or as much of it as fits and `more`.
    """
    if columns < 1:
        return ""
    if len(text) <= columns and width(text) <= columns:
        return text
    room = columns - width(more)
    if text.isascii():
        return text[:room] + more
    head = text[: (columns + 1) * _CHARACTERS_PER_COLUMN]
    spans, cells = split_graphemes(head)
    if cells <= columns and len(head) == len(text):
        return text
    end = 0
    used = 0
    for _, span_end, cell_width in spans:
        if used + cell_width > room:
            break
        used += cell_width
        end = span_end
    return head[:end] + more


def cut_start(text: str, columns: int, more: str) -> str:
    """Shorten safe text from its beginning: of a path or a fork's name the end says more."""
    if width(text) <= columns:
        return text
    tail = text[-columns:] if columns > 0 else ""
    while tail and width(tail) > columns - width(more):
        tail = tail[1:]
    return more + tail if columns > 0 else ""


def fair_share(widths: Sequence[int], columns: int) -> int:
    """How many columns each of several texts may take so that all fit: short ones leave their share to the others."""
    most = columns
    for left, wide in zip(range(len(widths), 0, -1), sorted(widths), strict=True):
        most = max(1, columns // left)
        if wide > most:
            break
        columns -= wide
    return most


def fit(text: str, columns: int, more: str, align: Align = "left") -> str:
    """Cut or pad safe text to exactly a number of columns."""
    shown = cut(text, columns, more)
    padding = " " * (columns - width(shown))
    return padding + shown if align == "right" else shown + padding


def show(text: str, columns: int, more: str) -> str:
    """Make the beginning of any text safe, cut to a number of columns.

    The cost depends on `columns`, not on the length of the text.
    """
    # Left-out characters could make the head too short to fill the columns, which costs a cut that comes early.
    limit = (max(columns, 0) + 1) * _CHARACTERS_PER_COLUMN
    if len(text) <= limit:
        return cut(clean(text), columns, more)
    shown = cut(clean(text[:limit]), columns, more)
    return shown if shown.endswith(more) else cut(shown, columns - 1, more) + more


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    if character in _NEUTRAL:
        return ""
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def call_name(name: str, columns: int, more: str) -> str:
    """What is called, safe and in so many columns: of an address without its scheme, and cut in its middle.

    `POST https://api.openai.com/v1/responses` becomes `POST …com/v1/responses`: its end says more than its beginning.

    Args:
        name: any text.
        columns: columns there are.
        more: the glyph that says something was cut.
    """
    method, _, address = clean(name).partition(" ")
    place = address.partition("://")[2]
    if not place:
        return cut(clean(name), columns, more)
    return f"{method} {cut_start(place, max(1, columns - width(method) - 1), more)}"
