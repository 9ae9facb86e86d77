"""The lines of the diff pane: short values on one row, text by word, long text by line and by word inside the line."""

from __future__ import annotations

import base64
from contextlib import suppress
from itertools import groupby, islice
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path
from agent_tt.codec.text import describe, summary
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope
from agent_tt_tui.text import clean, cut, cut_start, fit, width
from agent_tt_tui.viewmodel.calls.messages import line_at, line_of
from agent_tt_tui.viewmodel.values.difftext import CUT, INDENT, MOST_ROWS, MOST_TEXT, DiffLine, compare_texts, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt_tui.viewmodel.values.difftext import DiffText, Piece, Role, Sign

_TO = 3
"""Columns that an arrow between two pieces takes."""

_LEAST_OLD = 12
"""Columns that a long old value has at least where it stands behind its path."""

_MOST_CHANGES = 500
_MOST_ALIKE = 30

_MOST_LINES = 4_000
"""Rows of all changes after which no further change is shown."""

_LONG_NAME = 200
"""Characters from which a text without blanks is more than a name."""

_LARGE_ARRAY = 1_000_000
"""Characters of an array's data from which its elements are not counted."""

_FEW_POSITIONS = 12
_COLUMN = 12
"""Where values begin behind their paths, if these leave room."""

_NEST_FROM = 2
"""So many changes in a row inside one value stand below its path."""

_MOST_ENTRIES = 8

_MOST_AT_ONCE = 20_000
"""Characters of texts that are compared in a few milliseconds."""


def diff_lines(changes: Sequence[Change], columns: int) -> list[DiffLine]:
    """Lay out changes once; see `DiffRows`."""
    return DiffRows(changes).lay_out(columns)


class DiffRows:
    """Changes as rows, for any width: what two texts have in common is found out once and kept.

    Args:
        changes: In the order in which they are shown; of very many, the first.
        nested: Whether changes inside one value stand below its path, each with the rest of its own.
        alike: So many neighbours in a list that were all added, or all removed, are shown one by one.
    """

    def __init__(self, changes: Sequence[Change], *, nested: bool = False, alike: int = _MOST_ALIKE) -> None:
        self.changes = changes
        self._alike = alike
        self._nested = nested
        self._texts: dict[int, DiffText] = {}
        self._laid: tuple[int, list[DiffLine]] | None = None

    @property
    def is_slow(self) -> bool:
        """Whether long texts are still to be compared: `lay_out` may take most of a second then."""
        return sum(self._length(change) for change in self.changes) > _MOST_AT_ONCE

    def _length(self, change: Change) -> int:
        """Characters that are still to be compared."""
        old, new = change.old, change.new
        known = change.op != "change" or id(change) in self._texts
        return 0 if known or not isinstance(old, str) or not isinstance(new, str) else len(old) + len(new)

    def lay_out(self, columns: int) -> list[DiffLine]:
        """The rows for so many columns. The first time takes as long as comparing the texts, later ones a moment."""
        if self._laid is None or self._laid[0] != columns:
            self._laid = columns, self._rows(columns)
        return self._laid[1]

    def _rows(self, columns: int) -> list[DiffLine]:
        lines: list[DiffLine] = []
        folded = list(_folded(self.changes, self._alike))
        left = len(self.changes)
        for above, group in _grouped(folded[:_MOST_CHANGES], nested=self._nested):
            deep, column = 0, _COLUMN
            if above:
                lines.append(DiffLine("~", 2, ((clean(above), "path"),)))
                deep = 2
                column = max(_COLUMN, *(min(2 * _COLUMN, width(_below(each, above)) + 2) for each in group))
            for each in group:
                if len(lines) > _MOST_LINES:
                    break
                left -= each.count
                said = cut_start(_below(each, above) or "(the whole state)", max(8, columns - deep - 3), CUT)
                path: Piece = (said, "path")
                rows = self._lines(each, path, columns - deep, column)
                lines += (_deeper(row, deep) for row in _capped(rows))
        if left:
            lines.append(DiffLine("", 2, ((f"{left:,} more changes", "muted"),)))
        return lines

    def _lines(self, each: _Shown, path: Piece, columns: int, column: int) -> Iterator[DiffLine]:
        change = each.change
        match change.op:
            case "add" | "remove" if each.count > 1:
                said = f"{each.count:,} more, up to {clean(each.last)}"
                yield DiffLine("+" if change.op == "add" else "-", 2, ((said, "muted"),))
            case "add":
                yield from _whole("+", path, change.new, columns)
            case "remove":
                yield _gone(path, change.old, columns)
            case "move":
                yield _moved(path, change)
            case "reorder":
                yield _reordered(path, change)
            case _:
                yield from self._changed(path, change, columns, column)

    def _changed(self, path: Piece, change: Change, columns: int, column: int) -> Iterator[DiffLine]:
        old, new = change.old, change.new
        if isinstance(old, str) and isinstance(new, str) and (_is_prose(old) or _is_prose(new)):
            text = self._texts.get(id(change))
            if text is None:
                text = self._texts[id(change)] = compare_texts(old, new)
            if text.rows is not None:
                yield DiffLine("~", 2, (path, (f"  {text.where}", "muted")))
                yield from text.rows
            else:
                yield DiffLine("~", 2, (path,))
                yield from wrapped(text.words, columns)
            return
        yield from _values(path, old, new, columns, column)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A change, and how many it stands for: itself, and neighbours up to the one at the path `last`."""

    change: Change
    count: int = 1
    last: str = ""


def _folded(changes: Sequence[Change], most: int) -> Iterator[_Shown]:
    """Of very many neighbours that were all added or all removed the first, and one that stands for the others."""
    run: list[Change] = []
    for change in [*changes, None]:
        if run and not (change is not None and _continues(run[-1], change)):
            few = most if len(run) > most + 1 else len(run)
            yield from map(_Shown, run[:few])
            if len(run) > few:
                yield _Shown(run[few], len(run) - few, run[-1].path)
            run = []
        if change is not None:
            run.append(change)


def _grouped(shown: Sequence[_Shown], *, nested: bool) -> Iterator[tuple[str, Sequence[_Shown]]]:
    """Changes in groups that stand below the path of what they are in; that path is empty for those that do not."""
    for parent, part in groupby(shown, key=lambda each: each.change.where[:-1] if nested else ()):
        group = list(part)
        below = len(parent) > 0 and len(group) >= _NEST_FROM and all(each.change.op != "move" for each in group)
        yield format_path(parent) if below else "", group


def _below(each: _Shown, above: str) -> str:
    """The path of a change as it is said below that of what it is in."""
    path = each.change.path
    return clean(path.removeprefix(above).removeprefix(".") if above else path)


def _continues(before: Change, change: Change) -> bool:
    if before.op != change.op or change.op not in ("add", "remove") or not (before.where and change.where):
        return False
    last, here = before.where[-1], change.where[-1]
    return before.where[:-1] == change.where[:-1] and isinstance(last, int) and here == last + 1


def _capped(rows: Iterator[DiffLine]) -> Iterator[DiffLine]:
    yield from islice(rows, MOST_ROWS)
    if next(rows, None) is not None:
        yield DiffLine("", INDENT, ((f"more than {MOST_ROWS:,} rows differ; these are the first", "muted"),))


def _deeper(row: DiffLine, columns: int) -> DiffLine:
    """A row below the path of what its value is in: its sign stays at the edge."""
    return row._replace(indent=row.indent + columns) if columns else row


def _moved(path: Piece, change: Change) -> DiffLine:
    old: Piece = (clean(change.old_path or ""), "text")
    item = bool(change.where) and isinstance(change.where[-1], int)
    said = "  moved" if item else "  another key, the same value"
    return DiffLine("~", 2, (old, ("", "to"), path, (said, "muted")))


def _reordered(path: Piece, change: Change) -> DiffLine:
    if change.of != "items":
        return DiffLine("~", 2, (path, ("  the same keys in another order", "muted")))
    order = change.new if isinstance(change.new, list) else []
    said = "  the same items in another order"
    if len(order) <= _FEW_POSITIONS:
        said += f": {' '.join(map(str, order))}"
    else:
        said += f" ({len(order):,})"
    return DiffLine("~", 2, (path, (said, "muted")))


def _gone(path: Piece, value: Wire, columns: int) -> DiffLine:
    said = line_at(path[0], value)
    lead: Piece = (" ", "muted") if said is None else _speaker(said[0])
    room = columns - 2 - width(path[0]) - _cells(lead)
    shown = _short(value, room) if said is None else cut(said[1], max(1, room), CUT)
    return DiffLine("-", 2, (path, lead, (shown, "removed")))


def _spoken(said: tuple[str | None, str], role: Role, columns: int) -> DiffLine:
    """A message that gave way to another, or that one."""
    lead = f"{said[0]} " if said[0] else ""
    room = max(1, columns - INDENT - width(lead))
    return DiffLine("", INDENT, ((lead, "muted"), (cut(said[1], room, CUT), role)))


def _speaker(who: str | None) -> Piece:
    """What stands between the path of a message and its words: who speaks, or an arrow where tools are called."""
    return ("", "to") if who is None else (f" {who} " if who else " ", "muted")


def _cells(piece: Piece) -> int:
    return _TO if piece[1] == "to" else width(piece[0])


def _whole(sign: Sign, path: Piece, value: Wire, columns: int) -> Iterator[DiffLine]:
    """A value that is new: on the row of its path if it fits there."""
    room = columns - 2 - width(path[0]) - 1
    said = line_at(path[0], value)
    if said is not None:
        lead = _speaker(said[0])
        words = cut(said[1], max(1, room + 1 - _cells(lead)), CUT)
        yield DiffLine(sign, 2, (path, lead, (words, "new")))
    elif width(_shown(value)) <= room or not isinstance(value, (str, dict)) or is_envelope(value) or not value:
        yield DiffLine(sign, 2, (path, (" ", "text"), (_short(value, room), "new")))
    elif isinstance(value, str):
        yield DiffLine(sign, 2, (path, (f" {describe(value)}", "muted")))
        for line in value[:MOST_TEXT].splitlines():
            yield from wrapped([(clean(line), "new")], columns)
    else:
        yield DiffLine(sign, 2, (path,))
        yield from _entries(value, columns)


def _entries(value: dict[str, Wire], columns: int) -> Iterator[DiffLine]:
    keys = list(value)[:_MOST_ENTRIES]
    column = min(16, max(width(clean(key)) for key in keys)) + 1
    for key in keys:
        name, item = fit(clean(key), column - 1, CUT) + " ", value[key]
        if isinstance(item, str):
            rows = wrapped([(clean(summary(item, MOST_TEXT)), "new")], columns - column)
            first = next(rows)
            yield first._replace(pieces=((name, "muted"), *first.pieces))
            yield from (_deeper(row, column) for row in rows)
        else:
            yield DiffLine("", INDENT, ((name, "muted"), (_short(item, columns - INDENT - column), "new")))
    if len(value) > len(keys):
        yield DiffLine("", INDENT, ((f"{len(value) - len(keys):,} more keys", "muted"),))


def _is_prose(text: str) -> bool:
    """Whether a text is compared by word or line; others are names and figures, which are seen as they are."""
    return " " in text or "\n" in text or len(text) >= _LONG_NAME


def _values(path: Piece, old: Wire, new: Wire, columns: int, column: int) -> Iterator[DiffLine]:
    """Two values that are not compared by word."""
    said, said_new = line_of(old), line_of(new)
    if said is not None and said_new is not None and said != said_new:
        yield DiffLine("~", 2, (path,))
        yield _spoken(said, "removed", columns)
        yield _spoken(said_new, "added", columns)
        return
    before, after = _shown(old), _shown(new)
    if type(old) is not type(new) and before == after:
        before, after = f"{before} ({describe(old)})", f"{after} ({describe(new)})"
    if before == after:
        yield DiffLine("~", 2, (path, (f"  {after}", "text"), (f"  {_inside(old, new)}", "muted")))
        return
    lead = max(width(path[0]) + 2, column)
    pieces: list[Piece] = [(before, "removed"), ("", "to"), (after, "added")]
    if 2 + lead + width(before) + 3 + width(after) <= columns:
        gap: Piece = (" " * (lead - width(path[0])), "text")
        yield DiffLine("~", 2, (path, gap, *pieces))
        return
    room = columns - INDENT
    at_path = columns - 2 - width(path[0]) - 2
    if isinstance(new, str) and at_path >= min(width(before), _LEAST_OLD):
        yield DiffLine("~", 2, (path, ("  ", "text"), (_short(old, at_path), "removed")))
    else:
        yield DiffLine("~", 2, (path,))
        yield DiffLine("", INDENT, ((cut(before, room, CUT), "removed"),))
    to: Piece = ("", "to")
    if isinstance(new, str) and new:
        for number, row in enumerate(wrapped([(clean(new[:MOST_TEXT]), "new")], columns)):
            yield row if number else DiffLine("", INDENT - _TO, (to, *row.pieces))
    else:
        yield DiffLine("", INDENT - _TO, (to, (cut(after, room, CUT), "added")))


def _inside(old: Wire, new: Wire) -> str:
    """How two values differ that show alike: arrays, and such as are too long to be shown."""
    one, other = _elements(old), _elements(new)
    if not one or len(one) != len(other):
        return "not the same inside"
    unlike = sum(before != after for before, after in zip(one, other, strict=True))
    return f"{unlike:,} of {len(one):,} elements differ"


def _elements(value: Wire) -> Sequence[bytes]:
    """The bytes of each element of an array that is not very large; nothing for other values."""
    if envelope_type(value) != "ndarray" or not isinstance(value, dict):
        return ()
    payload, dtype = value.get(VALUE), str(value.get("dtype"))
    if not isinstance(payload, str) or len(payload) > _LARGE_ARRAY or not dtype[2:].isdecimal():
        return ()
    size = int(dtype[2:]) * (4 if dtype[1] == "U" else 1)
    with suppress(ValueError):
        raw = base64.b64decode(payload, validate=True)
        return [raw[at : at + size] for at in range(0, len(raw), size)] if size else ()
    return ()


def _shown(value: Wire) -> str:
    return clean(summary(value, 400))


def _short(value: Wire, room: int) -> str:
    return cut(clean(summary(value, max(room, 1) + 1)), max(room, 1), CUT)
