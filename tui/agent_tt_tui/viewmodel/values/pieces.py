"""Pieces of text with the role that each is drawn in, and how they are broken into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypeVar

from agent_tt_tui.text import clean, cut, width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.codec.wire import Path

PieceRole: TypeAlias = Literal[
    "text", "strong", "muted", "faint", "note", "title", "model", "key", "new", "added", "removed",
    "added_mark", "removed_mark", "changed_mark", "yours", "failed", "failed_text", "well", "hit",
]  # fmt: skip
"""Roles of `agent_tt_tui.palette`; `new` is a whole new value, `added`, `removed` and `hit` (found) are words."""

_ARROWS: Final = frozenset({"→", ">"})
"""As Unicode and ASCII have it."""

_BREAKS: Final = "(,/_."
"""Marks in a word after which it is broken."""

Role = TypeVar("Role", bound=str)

Piece: TypeAlias = "tuple[str, PieceRole]"
"""Safe text and its role."""


class TextLine(NamedTuple):
    """One row of a view that is read.

    Attributes:
        lead: What stands before the text, such as a role and its bar.
        pieces: The text.
        right: What stands at the right edge.
        fold: What choosing this row folds or unfolds; None where there is nothing to.
        here: Whether it is the row that the others around it are about, such as the line that made a call.
        item: The position of the message that it shows, in the list that is shown; None where it shows none, or many.
        place: Where in the result of a call the value is that it shows, as people count; None of every other row.
    """

    pieces: tuple[Piece, ...] = ()
    lead: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()
    fold: str | None = None
    here: bool = False
    item: int | None = None
    place: Path | None = None


def wrap(pieces: Iterable[Piece], columns: int, below: int | None = None) -> Iterator[tuple[Piece, ...]]:
    """Break pieces into rows between words, and inside words that are wider than a row.

    An arrow stands before what it leads to, never at the end of a row.

    Args:
        pieces: Safe text.
        columns: Columns there are; at least one is used.
        below: Columns of the rows below the first, where these are more.

    Yields:
        The pieces of each row; nothing where there is no text.
    """
    room = max(1, columns)
    more = max(room, below or 0)
    row: list[Piece] = []
    used = 0
    arrow = ""
    for text, role in pieces:
        for word in words(text, room):
            shown = width(word.rstrip(" "))
            if row and used == width(arrow) and used + shown > room:
                head = _head(word, room - used)
                append(row, head, role)
                yield tuple(row)
                row, used, room = [], 0, more
                word = word[len(head) :]  # noqa: PLW2901 - what is left of it
            elif row and used + shown > room:
                goes_on = 0 < width(arrow) < used and width(arrow) + shown <= room
                carried = _take_off(row, arrow) if goes_on else []
                yield tuple(row)
                row, used, room = carried, width(arrow) if goes_on else 0, more
            append(row, word, role)
            used += width(word)
            arrow = word if word.strip(" ") in _ARROWS else ""
    if row:
        yield tuple(row)


def _head(word: str, room: int) -> str:
    """As much of a word as there is room for, up to a mark in it where it has one."""
    head = cut(word, room, "")
    return head[: max(map(head.rfind, _BREAKS)) + 1] or head


def _take_off(row: list[Piece], text: str) -> list[Piece]:
    """Take the text that a row ends in from it."""
    last, role = row.pop()
    if last != text:
        row.append((last[: -len(text)], role))
    return [(text, role)]


def append(row: list[tuple[str, Role]], text: str, role: Role) -> None:
    """Put more text at the end of a row; what is drawn alike is one piece."""
    if row and row[-1][1] == role:
        row[-1] = (row[-1][0] + text, role)
    else:
        row.append((text, role))


def wrap_text(text: str, columns: int, role: PieceRole, more: str, *, limit: int) -> Iterator[tuple[Piece, ...]]:
    """Break any text into rows, its own lines kept.

    Args:
        text: Any text; it is made safe.
        columns: Columns there are.
        role: How it is drawn.
        more: The glyph that says something is missing.
        limit: How many characters are shown at most; a last row says how many are missing.

    Yields:
        The pieces of each row, one row at least.
    """
    for line in text[:limit].splitlines() or [""]:
        yield from wrap([(clean(line.expandtabs(4)), role)], columns) if line else ((("", role),),)
    if len(text) > limit:
        yield ((f"{more} {len(text) - limit:,} more characters", "note"),)


def words(text: str, room: int) -> Iterator[str]:
    """The words of a text, each with the blanks after it, none wider than the room."""
    start = 0
    while start < len(text):
        blank = text.find(" ", start)
        end = len(text) if blank < 0 else blank + 1
        while end < len(text) and text[end] == " ":
            end += 1
        word = text[start:end]
        while width(word) > room:
            head = cut(word, room, "") or word[0]
            yield head
            word = word[len(head) :]
        yield word
        start = end
