"""What two texts have in common, as rows: by word, or by line and by word inside the line where they have several."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agent_tt_tui.text import clean, width
from agent_tt_tui.viewmodel.values.pieces import append, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Role: TypeAlias = Literal["path", "text", "muted", "new", "added", "removed", "to", "failed", "note"]
"""How a piece is drawn: `new` is a whole new value, `added` and `removed` are words, `to` stands between values.

`muted` and `note` are what is said about the values.
"""

Piece: TypeAlias = tuple[str, Role]
Sign: TypeAlias = Literal["+", "-", "~", ""]

CUT = "\N{HORIZONTAL ELLIPSIS}"
"""Says that text is left out, as the summaries of values have it; whoever draws puts the glyph in use in its place."""

INDENT = 5
"""Where the rows below a path begin."""

MOST_TEXT = 4_000
"""Characters of one piece of text that are shown."""

MOST_ROWS = 1_000
"""Rows of one change: what a screen shows of a text is not the text."""

_NUMBER = 4
_CONTEXT = 60
_LONG_LINE = 1_000


class DiffLine(NamedTuple):
    """One row: a sign, a column to begin at, and pieces of safe text."""

    sign: Sign
    indent: int
    pieces: tuple[Piece, ...]


class DiffText(NamedTuple):
    """What two texts have in common: by line, or by word where they have one line."""

    words: Sequence[Piece] = ()
    rows: Sequence[DiffLine] | None = None
    where: str = ""


def compare_texts(old: str, new: str) -> DiffText:
    """Find out what two texts have in common; for texts of any size in less than a second."""
    if "\n" in old or "\n" in new:
        first, rows = _by_line(old, new)
        where = f"line {first}" if first is not None else "only how its lines end"
        return DiffText(rows=rows, where=where)
    return DiffText(words=_words(old, new))


def _by_line(old: str, new: str) -> tuple[int | None, list[DiffLine]]:
    """Only the lines that differ, numbered as in the new text (removed ones as in the old), and the first of them."""
    old_lines, new_lines = old.splitlines(), new.splitlines()
    rows: list[DiffLine] = []
    first, most = None, MOST_ROWS + 1
    from agent_tt.comparing.sequences.anchors import align_long

    pairs = align_long(old_lines, new_lines)
    for (start, stop), (new_start, new_stop) in _gaps(pairs, len(old_lines), len(new_lines)):
        first = new_start + 1 if first is None else first
        if stop - start == new_stop - new_start:
            for at, (before, after) in enumerate(zip_longest(old_lines[start:stop], new_lines[new_start:new_stop])):
                if len(rows) <= MOST_ROWS:
                    rows.append(_numbered(new_start + at + 1, "~", _words(before, after)))
        else:
            rows += [
                _numbered(n + 1, "-", [(clean(old_lines[n][:_LONG_LINE]), "removed")])
                for n in range(start, min(stop, start + most))
            ]
            rows += [
                _numbered(n + 1, "+", [(clean(new_lines[n][:_LONG_LINE]), "new")])
                for n in range(new_start, min(new_stop, new_start + most))
            ]
        if len(rows) > MOST_ROWS:
            break
    return first, rows


def _numbered(number: int, sign: Sign, pieces: Iterable[Piece]) -> DiffLine:
    lead = f"{number:>{_NUMBER}} {sign if sign != '~' else ' '} "
    shown: list[Piece] = []
    left = _LONG_LINE
    for text, role in pieces:
        shown.append((text[:left], role))
        left -= len(text)
        if left <= 0:
            break
    return DiffLine("", 0, ((lead, "muted"), *shown))


def _gaps(
    pairs: Sequence[tuple[int, int]], length: int, new_length: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The stretches between aligned lines, as half-open ranges in both texts."""
    at = new_at = 0
    for line, new_line in [*pairs, (length, new_length)]:
        if line > at or new_line > new_at:
            yield (at, line), (new_at, new_line)
        at, new_at = line + 1, new_line + 1


def _words(old: str, new: str) -> list[Piece]:
    """The words of both texts; of long stretches that are the same only the ends, a space between removed and added."""
    roles: dict[str, Role] = {"same": "text", "removed": "removed", "added": "added"}
    from agent_tt.comparing.values.words import compare_words

    segments = compare_words(old, new)
    pieces: list[Piece] = []
    for index, segment in enumerate(segments):
        text = segment.text
        if segment.kind == "same":
            text = _middle_left_out(text, first=index == 0, last=index == len(segments) - 1)
        elif len(text) > MOST_TEXT:
            text = text[:MOST_TEXT] + CUT
        if segment.kind == "added" and pieces and pieces[-1][1] == "removed":
            pieces.append((" ", "text"))
        pieces.append((clean(text), roles[segment.kind]))
    return pieces


def _middle_left_out(text: str, *, first: bool, last: bool) -> str:
    if len(text) <= 2 * _CONTEXT + 3:
        return text
    head = "" if first else text[:_CONTEXT]
    tail = "" if last else text[-_CONTEXT:]
    return f"{head} {CUT} {tail}" if head or tail else CUT


def wrapped(pieces: Iterable[Piece], columns: int) -> Iterator[DiffLine]:
    """Break pieces into rows between words, and inside words that are longer than a row."""
    room = max(1, columns - INDENT)
    row: list[Piece] = []
    used = 0
    for text, role in pieces:
        for word in words(text, room):
            if used + width(word) > room and row:
                yield DiffLine("", INDENT, tuple(row))
                row, used = [], 0
                word = word.lstrip() if role == "text" else word  # noqa: PLW2901 - what is left of it
            if not word:
                continue
            append(row, word, role)
            used += width(word)
    if row:
        yield DiffLine("", INDENT, tuple(row))
