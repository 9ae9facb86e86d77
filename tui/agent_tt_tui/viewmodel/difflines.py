"""The lines of the diff pane: short values on one row, text by word, long text by line and by word inside the line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt.codec.text import describe, summary
from agent_tt.codec.wire import is_envelope
from agent_tt.comparing.sequence import align
from agent_tt.comparing.words import compare_words
from agent_tt_tui.text import clean, cut, fit, width
from agent_tt_tui.viewmodel.messages import line_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.states import Change

Role: TypeAlias = Literal["path", "text", "muted", "new", "added", "removed", "to", "failed"]
"""How a piece is drawn: `new` is a whole new value, `added` and `removed` are words, `to` stands between values."""

Piece: TypeAlias = tuple[str, Role]
Sign: TypeAlias = Literal["+", "-", "~", ""]

CUT = "\N{HORIZONTAL ELLIPSIS}"
"""Says that text is left out, as the summaries of values have it; whoever draws puts the glyph in use in its place."""

_TO = 3
"""Columns that an arrow between two pieces takes."""

_INDENT = 5
_NUMBER = 4
_MOST_CHANGES = 500
_MOST_TEXT = 4_000
_CONTEXT = 60
_MOST_ENTRIES = 8
_LONG_LINE = 1_000


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One row: a sign, a column to begin at, and pieces of safe text."""

    sign: Sign
    indent: int
    pieces: tuple[Piece, ...]


def diff_lines(changes: Sequence[Change], columns: int) -> list[DiffLine]:
    """Lay out changes.

    Args:
        changes: In the order in which they are shown; of very many, the first.
        columns: Columns there are for a row.
    """
    lines = [line for change in changes[:_MOST_CHANGES] for line in _lines(change, columns)]
    if len(changes) > _MOST_CHANGES:
        lines.append(DiffLine("", 2, ((f"{len(changes) - _MOST_CHANGES:,} more changes", "muted"),)))
    return lines


def _lines(change: Change, columns: int) -> Iterator[DiffLine]:
    path: Piece = (clean(change.path) or "(the whole state)", "path")
    match change.op:
        case "add":
            yield from _whole("+", path, change.new, columns)
        case "remove":
            yield _gone(path, change.old, columns)
        case "move":
            old: Piece = (clean(change.old_path or ""), "text")
            yield DiffLine("~", 2, (old, ("", "to"), path, ("  another key, the same value", "muted")))
        case "reorder":
            yield DiffLine("~", 2, (path, ("  the same keys in another order", "muted")))
        case _:
            yield from _changed(path, change.old, change.new, columns)


def _gone(path: Piece, value: Wire, columns: int) -> DiffLine:
    said = line_of(value)
    lead: Piece = (" ", "muted") if said is None else _speaker(said[0])
    room = columns - 2 - width(path[0]) - _cells(lead)
    shown = _short(value, room) if said is None else cut(said[1], max(1, room), CUT)
    return DiffLine("-", 2, (path, lead, (shown, "removed")))


def _speaker(who: str | None) -> Piece:
    """What stands between the path of a message and its words: who speaks, or an arrow where tools are called."""
    return ("", "to") if who is None else (f" {who} " if who else " ", "muted")


def _cells(piece: Piece) -> int:
    return _TO if piece[1] == "to" else width(piece[0])


def _whole(sign: Sign, path: Piece, value: Wire, columns: int) -> Iterator[DiffLine]:
    """A value that is new: on the row of its path if it fits there."""
    room = columns - 2 - width(path[0]) - 1
    said = line_of(value)
    if said is not None:
        lead = _speaker(said[0])
        words = cut(said[1], max(1, room + 1 - _cells(lead)), CUT)
        yield DiffLine(sign, 2, (path, lead, (words, "new")))
    elif width(_shown(value)) <= room or not isinstance(value, (str, dict)) or is_envelope(value) or not value:
        yield DiffLine(sign, 2, (path, (" ", "text"), (_short(value, room), "new")))
    elif isinstance(value, str):
        yield DiffLine(sign, 2, (path, (f" {describe(value)}", "muted")))
        for line in value[:_MOST_TEXT].splitlines():
            yield from _wrapped([(clean(line), "new")], columns)
    else:
        yield DiffLine(sign, 2, (path,))
        yield from _entries(value, columns)


def _entries(value: dict[str, Wire], columns: int) -> Iterator[DiffLine]:
    keys = list(value)[:_MOST_ENTRIES]
    column = min(16, max(width(clean(key)) for key in keys)) + 1
    for key in keys:
        shown = fit(clean(key), column - 1, CUT) + " "
        yield DiffLine("", _INDENT, ((shown, "muted"), (_short(value[key], columns - _INDENT - column), "new")))
    if len(value) > len(keys):
        yield DiffLine("", _INDENT, ((f"{len(value) - len(keys):,} more keys", "muted"),))


def _changed(path: Piece, old: Wire, new: Wire, columns: int) -> Iterator[DiffLine]:
    if isinstance(old, str) and isinstance(new, str):
        if "\n" in old or "\n" in new:
            yield from _text_by_line(path, old, new)
            return
        if " " in old or " " in new:
            yield DiffLine("~", 2, (path,))
            yield from _wrapped(_words(old, new), columns)
            return
    before, after = _shown(old), _shown(new)
    if type(old) is not type(new) and before == after:
        before, after = f"{before} ({describe(old)})", f"{after} ({describe(new)})"
    lead = max(width(path[0]) + 2, 12)
    pieces: list[Piece] = [(before, "removed"), ("", "to"), (after, "added")]
    if 2 + lead + width(before) + 3 + width(after) <= columns:
        gap: Piece = (" " * (lead - width(path[0])), "text")
        yield DiffLine("~", 2, (path, gap, *pieces))
        return
    room = columns - _INDENT
    if isinstance(new, str):
        yield DiffLine("~", 2, (path, ("  ", "text"), (_short(old, room // 2), "removed"), ("", "to")))
        yield from _wrapped([(clean(new[:_MOST_TEXT]), "new")], columns)
        return
    yield DiffLine("~", 2, (path,))
    yield DiffLine("", _INDENT, ((cut(before, room, CUT), "removed"),))
    yield DiffLine("", _INDENT - 2, (("", "to"), (cut(after, room, CUT), "added")))


def _text_by_line(path: Piece, old: str, new: str) -> Iterator[DiffLine]:
    """Only the lines that differ, numbered as in the new text (removed ones as in the old)."""
    old_lines, new_lines = old.splitlines(), new.splitlines()
    rows: list[DiffLine] = []
    first = None
    for (start, stop), (new_start, new_stop) in _gaps(align(old_lines, new_lines), len(old_lines), len(new_lines)):
        first = new_start + 1 if first is None else first
        paired = stop - start == new_stop - new_start
        if paired:
            for at, (before, after) in enumerate(zip_longest(old_lines[start:stop], new_lines[new_start:new_stop])):
                rows.append(_numbered(new_start + at + 1, "~", _words(before, after)))
        else:
            rows += [_numbered(n + 1, "-", [(clean(old_lines[n][:_LONG_LINE]), "removed")]) for n in range(start, stop)]
            rows += [
                _numbered(n + 1, "+", [(clean(new_lines[n][:_LONG_LINE]), "new")]) for n in range(new_start, new_stop)
            ]
        if len(rows) > _MOST_TEXT:
            break
    where = f"  line {first}" if first is not None else "  only how its lines end"
    yield DiffLine("~", 2, (path, (where, "muted")))
    yield from rows


def _numbered(number: int, sign: Sign, pieces: Iterable[Piece]) -> DiffLine:
    lead = f"{number:>{_NUMBER}} {sign if sign != '~' else ' '} "
    return DiffLine("", 0, ((lead, "muted"), *pieces))


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
    segments = compare_words(old, new)
    pieces: list[Piece] = []
    for index, segment in enumerate(segments):
        text = segment.text
        if segment.kind == "same":
            text = _middle_left_out(text, first=index == 0, last=index == len(segments) - 1)
        elif len(text) > _MOST_TEXT:
            text = text[:_MOST_TEXT] + CUT
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


def _wrapped(pieces: Iterable[Piece], columns: int) -> Iterator[DiffLine]:
    """Break pieces into rows between words, and inside words that are longer than a row."""
    room = max(1, columns - _INDENT)
    row: list[Piece] = []
    used = 0
    for text, role in pieces:
        for word in _breakable(text, room):
            if used + width(word) > room and row:
                yield DiffLine("", _INDENT, tuple(row))
                row, used = [], 0
                word = word.lstrip() if role == "text" else word  # noqa: PLW2901 - what is left of it
            if not word:
                continue
            if row and row[-1][1] == role:
                row[-1] = (row[-1][0] + word, role)
            else:
                row.append((word, role))
            used += width(word)
    if row:
        yield DiffLine("", _INDENT, tuple(row))


def _breakable(text: str, room: int) -> Iterator[str]:
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


def _shown(value: Wire) -> str:
    return clean(summary(value, 400))


def _short(value: Wire, room: int) -> str:
    return cut(clean(summary(value, max(room, 1) + 1)), max(room, 1), CUT)
