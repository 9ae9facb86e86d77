"""What differs between the states of two runs at the selected pair."""

from __future__ import annotations

import re
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agent_tt.codec.text import summary
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, cut, cut_start, fit, width
from agent_tt_tui.viewmodel.values.blocks import Block, as_far_as_free
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap
from agent_tt_tui.viewmodel.values.sides import side_pieces
from agent_tt_tui.widgets.drawing import add_pieces
from agent_tt_tui.widgets.runs.compare_steps import GUTTER, half

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from textual.strip import Strip

    from agent_tt.comparing.values.states import Change
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.runs.alike import Alike
    from agent_tt_tui.viewmodel.values.pieces import Piece

SIDE_BY_SIDE_FROM: Final = 100
"""From how many columns on both values of a change stand beside each other, whatever their length."""

_MOST_CHANGES: Final = 2_000
"""Changes that are shown; the title counts all."""

_PATH_COLUMNS: Final = 20
_STACKED: Final = 6
"""Columns of the glyph and the letter before a value, where A stands above B."""

_MOST_ROWS: Final = 200

_LEAST_ALIKE: Final = 3
"""From so many free rows on there is a list of what both states have in common: a blank row, its title, a value."""

_MOST_PATH: Final = 24
"""Columns of a path in that list."""


def path_rows(path: str, columns: int) -> list[str]:
    """Break a path into rows, behind what parts its names."""
    rows, room = [""], max(1, columns)
    for part in re.split(r"(?<=[./ \]])|(?=\[)", path):
        if rows[-1] and width(rows[-1]) + width(part.rstrip()) > room:
            rows.append("")
        rows[-1] += part
        while width(rows[-1].rstrip()) > room:  # a name that is wider than the row
            head = cut(rows[-1], room, "")
            rows[-1:] = [head, rows[-1][len(head) :]]
    return [row.rstrip() for row in rows]


class _Place(NamedTuple):
    """What one row shows.

    Attributes:
        change: The position of the change.
        part: Both values, the path above them, or one of them.
        pieces: What stands there of A and of B, where values are shown to their end; None for as much as fits.
        is_first: Whether it is the first row of its value.
        path: What stands there of the path, where that is shown to its end too; None for as much as fits.
    """

    change: int
    part: Literal["both", "path", "a", "b"]
    pieces: tuple[Sequence[Piece], ...] | None = None
    is_first: bool = True
    path: str | None = None


class CompareState(LineView):
    """The changes that turn A's state into B's, A's value beside B's or above it.

    Where rows are free values are shown in full, from the top; in focus first the one under the cursor.
    """

    HELP = "What differs in the state at this pair; the one under the cursor is shown in full."

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.changes: Sequence[Change] = ()
        """What is shown."""
        self.edited: Collection[str] = ()
        """Paths that a person edited, drawn as theirs."""
        self.note = ""
        """Stands there where nothing differs."""
        self.inline = False
        """Whether A stands above B although there is room beside it."""
        self.alike: Sequence[Alike] = ()
        """What both states have in common, listed where rows are left."""
        self.said_elsewhere: Mapping[tuple[int, str], str] = {}
        """What stands in place of a value that another pane shows, by the index of its change and its side."""
        self._rows: list[_Place] = []
        self._spare: Sequence[TextLine] = ()
        self._path_columns = _PATH_COLUMNS

    def show(
        self,
        changes: Sequence[Change],
        edited: Collection[str],
        note: str,
        alike: Sequence[Alike] = (),
        said_elsewhere: Mapping[tuple[int, str], str] | None = None,
    ) -> None:
        """Show changes, or a note where there are none; below them what is alike, where rows are left."""
        self.changes, self.edited, self.note = changes, edited, note
        self.alike, self.said_elsewhere = alike, said_elsewhere or {}
        self._lay_out()
        self.refresh_lines_data()

    def show_inline(self, *, inline: bool) -> None:
        """Show A's values above B's, or beside them where there is room."""
        self.inline = inline
        self._lay_out()
        self.refresh_lines_data()

    def on_resize(self) -> None:
        """Lay the changes out for the new size."""
        self._lay_out()

    def on_focus(self) -> None:
        """Show in full what the cursor is on."""
        super().on_focus()
        self._show_here()

    def watch_cursor(self, old: int, new: int) -> None:
        """Show in full what the cursor came to."""
        super().watch_cursor(old, new)
        if self.in_focus and 0 <= old < len(self._rows) and 0 <= new < len(self._rows):
            was, now = self._rows[old].change, self._rows[new].change
            if was != now:
                self._show_here()

    def can_point_at(self, index: int) -> bool:
        """Whether a change begins in a row."""
        rows = self._rows
        return index < len(rows) and (not index or rows[index - 1].change != rows[index].change)

    def is_here(self, index: int) -> bool:
        """Whether a row is of the change under the cursor."""
        rows = self._rows
        if not (0 <= self.cursor < len(rows) and 0 <= index < len(rows)):
            return index == self.cursor
        return rows[index].change == rows[self.cursor].change

    @property
    def _beside(self) -> bool:
        """Whether both values of a change stand beside each other."""
        return self.size.width >= SIDE_BY_SIDE_FROM and not self.inline

    def _show_here(self) -> None:
        """Lay out the rows again after the cursor moved, and put it on the first row of its change."""
        if not 0 <= self.cursor < len(self._rows):
            return
        here = self._rows[self.cursor].change
        self._lay_out()
        self.set_reactive(LineView.cursor, next(at for at, row in enumerate(self._rows) if row.change == here))
        self.refresh_lines_data()
        self.reveal(min(self.line_count - 1, self.cursor + sum(row.change == here for row in self._rows) - 1))
        self.reveal(self.cursor)

    def _lay_out(self) -> None:
        changes = self.changes[:_MOST_CHANGES]
        longest = max((width(clean(change.path)) + 1 for change in changes), default=0)
        self._path_columns = max(_PATH_COLUMNS, min(longest, self.size.width // 4 - 10))
        rows = {index: self._folded(index, change) for index, change in enumerate(changes)}
        free = self.size.height - sum(map(len, rows.values()))
        here = self._rows[self.cursor].change if self.in_focus and 0 <= self.cursor < len(self._rows) else None
        for index in sorted(rows, key=lambda index: index != here):
            if free <= 0 and index != here:
                break
            full = self._full(index, changes[index]) if index < len(changes) else []
            if len(full) - len(rows[index]) <= free or index == here:
                free -= len(full) - len(rows[index])
                rows[index] = full
        for index, change in enumerate(changes):  # a path gives way to a value, as its end is seen in any case
            if free > 0 and self._beside:
                full = self._full(index, change, whole_path=True)
                if len(full) - len(rows[index]) <= free and (len(rows[index]) > 1 or len(full) > 1):
                    free -= len(full) - len(rows[index])
                    rows[index] = full
        self._rows = [row for each in rows.values() for row in each]
        taken = len(self._rows) + (not self._rows or len(self.changes) > _MOST_CHANGES)
        self._spare = self._alike_rows(self.size.height - taken)

    def _alike_rows(self, free: int) -> list[TextLine]:
        """What both states have in common in so many rows; nothing where those are too few."""
        if not self.alike or free < _LEAST_ALIKE:
            return []
        glyphs = look_of(self).glyphs
        room = min(_MOST_PATH, max(width(clean(each.path)) for each in self.alike))
        listed = self.alike if len(self.alike) <= free - 2 else self.alike[: free - _LEAST_ALIKE]
        blocks = []
        for each in listed:
            path = cut_start(clean(each.path), room, glyphs.cut)
            lead: tuple[Piece, ...] = ((f"{glyphs.same} ", "well"), (f"{fit(path, room, glyphs.cut)}  ", "muted"))
            lines = []
            for row in wrap([(each.said, "muted")], self.size.width - 2 - room - 4):
                lines.append(TextLine(row, lead))
                lead = ((" " * (room + 4), "muted"),)
            blocks.append(Block(lines, 1))
        title = TextLine((("ALIKE", "title"), ("  in both states", "muted")))
        rows = [TextLine(), title, *as_far_as_free(blocks, free - 2 - (len(listed) < len(self.alike)), glyphs.cut)]
        if len(listed) < len(self.alike):
            rows.append(TextLine(((f"{len(self.alike) - len(listed):,} more alike", "note"),), (("  ", "muted"),)))
        return rows

    def _pieces(self, index: int, side: str, columns: int | None) -> list[Piece]:
        """One side of a change, or where else it is shown."""
        there = self.said_elsewhere.get((index, side))
        if there is not None:
            return [(there, "note")]
        return side_pieces(self.changes[index], side, columns, look_of(self).glyphs)

    def _folded(self, index: int, change: Change) -> list[_Place]:
        if self._beside or self._fits(index, change):
            return [_Place(index, "both")]
        return [_Place(index, "path"), _Place(index, "a"), _Place(index, "b")]

    def _full(self, index: int, change: Change, *, whole_path: bool = False) -> list[_Place]:
        """The rows of a change whose values are shown to their end; beside each other with the path to its end, too."""
        if not self._beside and self._fits(index, change):
            return [_Place(index, "both")]
        rooms = self._rooms()
        a, b = (
            list(islice(wrap(self._pieces(index, side, None), room), _MOST_ROWS))
            for side, room in zip("ab", rooms, strict=True)
        )
        if self._beside:
            if not whole_path:
                return [_Place(index, "both", row) for row in zip_longest(a, b, fillvalue=())] or [
                    _Place(index, "both")
                ]
            told = path_rows(clean(change.path or "state"), self._path_columns - 1)
            rows = [
                _Place(index, "both", (one, other), path="".join(path))
                for one, other, path in zip_longest(a, b, told, fillvalue=())
            ]
            return rows or [_Place(index, "both")]
        rows = [_Place(index, "path")]
        rows += [_Place(index, "a", (row, ()), is_first=not at) for at, row in enumerate(a)]
        return rows + [_Place(index, "b", ((), row), is_first=not at) for at, row in enumerate(b)]

    def _rooms(self) -> tuple[int, int]:
        """The columns of a value of A, and of one of B."""
        columns = self.size.width - 2
        if not self._beside:
            return columns - _STACKED, columns - _STACKED
        side = half(columns + 2)
        return side - self._path_columns - 2, columns - side - GUTTER

    def _fits(self, index: int, change: Change) -> bool:
        if (index, "a") in self.said_elsewhere or (index, "b") in self.said_elsewhere:
            both = sum(width(text) for side in "ab" for text, _ in self._pieces(index, side, self.size.width)) + 7
        elif change.op == "move":
            both = width(change.old_path or "") + width(change.path) + 7
        else:
            both = sum(width(summary(value, self.size.width)) for value in (change.old, change.new)) + 7
        return max(_PATH_COLUMNS, width(change.path)) + both <= self.size.width - 4

    @property
    def line_count(self) -> int:
        """How many rows the changes take, at least one for the note."""
        return len(self._rows) + (not self._rows or len(self.changes) > _MOST_CHANGES) + len(self._spare)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one row of a change."""
        glyphs = look_of(self).glyphs
        if self._spare and index >= self.line_count - len(self._spare):
            spare = self._spare[index - self.line_count + len(self._spare)]
            return add_pieces(Row(glyphs.cut), (*spare.lead, *spare.pieces), styles).strip(width)
        if not self._rows:
            return Row(glyphs.cut).add(" ").add(self.note, styles.note).strip(width)
        if index >= len(self._rows):
            more = f"{len(self.changes) - _MOST_CHANGES:,} more changes"
            return Row(glyphs.cut).add("  ").add(more, styles.muted).strip(width)
        place = self._rows[index]
        change = self.changes[place.change]
        glyph = glyphs.edited if change.path in self.edited else glyphs.differs
        is_first = not index or self._rows[index - 1].change != place.change
        row = Row(glyphs.cut).add("  ")
        if place.part == "path":
            return row.add(clean(change.path or "state"), styles.strong).strip(width)
        if place.part == "both" and self._beside:
            return self._both(row, place, width, styles, glyph if is_first else " ", is_first=is_first).strip(width)
        if place.part == "both":
            row.add(clean(change.path or "state"), styles.strong).pad_to(_PATH_COLUMNS + 1)
            there = [self.said_elsewhere.get((place.change, side)) for side in "ab"]
            if there[0] is not None and there[0] == there[1]:
                return row.add(f" {glyph} ", styles.yours).add(there[0], styles.note).strip(width)
            add_pieces(row.add(" "), self._pieces(place.change, "a", width), styles).add(f" {glyph} ", styles.yours)
            return add_pieces(row, self._pieces(place.change, "b", width), styles).strip(width)
        row = Row(glyphs.cut)
        if place.is_first:
            row.add("  ").add(" " if place.part == "a" else glyph, styles.yours).add(
                f" {place.part.upper()}", styles.muted
            )
        row.pad_to(_STACKED)
        pieces = None if place.pieces is None else place.pieces["ab".index(place.part)]
        room = width - row.cells
        return add_pieces(row, pieces or self._pieces(place.change, place.part, room), styles).strip(width)

    def _both(self, row: Row, place: _Place, width: int, styles: Palette, glyph: str, *, is_first: bool) -> Row:
        """Both values of a change, or one row of them, beside each other."""
        glyphs, change, side = look_of(self).glyphs, self.changes[place.change], half(width + 2)
        room = self._path_columns - 1
        path = place.path
        if path is None:  # its end tells it from its neighbours
            path = cut_start(clean(change.path or "state"), room, glyphs.cut) if is_first else ""
        row.column(path, room, styles.strong if styles.on_cursor_row else styles.text).add(" ")
        whole = place.pieces is not None
        a, b = place.pieces or (
            self._pieces(place.change, "a", side - row.cells),
            self._pieces(place.change, "b", width - side - GUTTER),
        )
        values = [add_pieces(Row(glyphs.cut), each, styles) for each in (a, b)]
        row = row.join(values[0]) if whole else row.upto_row(values[0], side - row.cells)
        return row.pad_to(side + 2).add(glyph, styles.yours).pad_to(side + GUTTER).join(values[1])
