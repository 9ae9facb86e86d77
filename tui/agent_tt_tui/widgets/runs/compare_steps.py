"""The steps of two runs side by side."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.model.shown import step_span
from agent_tt_tui import format as fmt
from agent_tt_tui.format import counted
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.status import kind_glyph, step_style
from agent_tt_tui.text import clean, cut, width
from agent_tt_tui.viewmodel.values.pieces import wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.runs.comparison import Cell, CompareView, Line

PACK_FROM: Final = 70
"""From this many columns a side on, its duration stands next to the name instead of at the edge."""

_LEAST_NAME: Final = 6
"""Columns that a step's name keeps."""

GUTTER: Final = 4
"""Columns between the two sides; the glyph stands in the third."""

SIDE_BY_SIDE_FROM: Final = 72
"""From how many columns on the two sides of a pair stand beside each other; on a narrower screen A stands above B."""

_MET: Final = {"diverged": "parted", "rejoined": "rejoined"}
"""What two runs do where a rule stands."""

_RULE: Final = 10
"""Columns of a rule besides its title and what it says."""

_MOST_WHY: Final = 3
_BELOW: Final = 3
"""Rows of a rule that says why two runs parted, and the blanks before those below its first."""
_LEAST_WHY: Final = 12
"""Columns from which on what a rule says may begin beside its title."""

_STACKED: Final = 4
"""Columns of the glyph and the letter before a step of one side, where A stands above B."""


def half(columns: int) -> int:
    """The columns of one side on a screen so wide: what the gutter, the cursor bar and the free column leave."""
    return max(10, (columns - GUTTER - 2) // 2)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """What it takes to draw a line."""

    styles: Palette
    glyphs: Glyphs
    columns: int
    waiting: frozenset[tuple[str, int]] = frozenset()
    """Steps in which a call waits for a decision, each with its side, `a` or `b`."""
    stacks: bool = False
    """Whether A stands above B."""
    whole_arguments: bool = False
    """Whether what a tool was asked is left out where it would be cut."""


class CompareSteps(LineView):
    """The lines of a comparison; the cursor passes over rules."""

    HELP = "Steps of both runs: left and right go from pair to pair, { and } from difference to difference."

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.view: CompareView | None = None
        """What is compared; None while it is read."""
        self.lines: Sequence[Line] = ()
        """What is shown, in order."""
        self.waiting: frozenset[tuple[str, int]] = frozenset()
        """Steps in which a call waits for a decision, each with the id of its run."""
        self.inline = False
        """Whether A stands above B although there is room beside it."""
        self.in_column = False
        """Whether it is one of several columns.

        Sides stand beside each other all the same, what a tool was asked is left out where it would be cut, and
        another pane says why the runs part and what was edited.
        """
        self._rows: Sequence[tuple[int, str]] = ()
        """The line that each row shows, and which side of it: `both`, `a` or `b`."""

    @property
    def line_count(self) -> int:
        """How many rows there are, rules among them."""
        return len(self._rows)

    @property
    def current(self) -> Line | None:
        """The line under the cursor."""
        return self.lines[self._rows[self.cursor][0]] if 0 <= self.cursor < len(self._rows) else None

    def show(self, view: CompareView, lines: Sequence[Line]) -> None:
        """Show a comparison; the cursor stays on the pair that it is on."""
        current = self.current
        self.view, self.lines = view, lines
        self._lay_out(current)

    def on_resize(self) -> None:
        """Put the sides beside each other, or A above B."""
        self._lay_out(self.current)

    def show_inline(self, *, inline: bool) -> None:
        """Put A above B, or the sides beside each other where there is room."""
        self.inline = inline
        self._lay_out(self.current)

    def show_in_column(self, *, in_column: bool) -> None:
        """Be one of several columns, or have the whole width."""
        if in_column != self.in_column:
            self.in_column = in_column
            self._lay_out(self.current)

    @property
    def _stacks(self) -> bool:
        return self.inline or (self.size.width < SIDE_BY_SIDE_FROM and not self.in_column)

    def _lay_out(self, current: Line | None) -> None:
        stacks = self._stacks
        rows: list[tuple[int, str]] = []
        for index, line in enumerate(self.lines):
            if self.in_column and line.kind == "edits":
                continue
            parts = line.row is not None and line.row.kind in ("different", "pending") and stacks
            rows += [(index, "a"), (index, "b")] if parts else [(index, "both")]
            if line.row is None:
                rows += [(index, str(number)) for number in range(1, len(self._why(line)))]
        self._rows = rows
        self.refresh_lines_data()
        if current is not None and current.row is not None:
            same = next((number for number, line in enumerate(self.lines) if line.row == current.row), None)
            if same is not None:
                self.go_to(same)

    def _why(self, line: Line) -> list[str]:
        """What a rule says, in its own row, and in those below it where there is no room in that."""
        if self.in_column and line.kind == "diverged":
            return [""]
        room, said = self.size.width - 2, clean(line.text)
        first = room - width(_rule_title(line, self.view)) - _RULE
        if line.kind != "diverged" or first < _LEAST_WHY:
            return [said]
        causes = said.split("; ")
        for count in range(len(causes), 0, -1):
            left = len(causes) - count
            words = "; ".join([*causes[:count], *([fmt.counted(left, "more cause")] if left else [])])
            wrapped = wrap([(words, "muted")], first, room - _BELOW)
            rows = ["".join(text for text, _ in row).rstrip() for row in wrapped]
            if len(rows) <= _MOST_WHY:
                break
        return rows if len(rows) <= _MOST_WHY else [*rows[: _MOST_WHY - 1], " ".join(rows[_MOST_WHY - 1 :])]

    def go_to(self, index: int) -> None:
        """Put the cursor on one of the lines."""
        row = next((row for row, (line, _) in enumerate(self._rows) if line == index), None)
        if row is not None and row != self.cursor:
            self.move_to(row)

    def action_move(self, rows: int) -> None:
        """Move the cursor by so many lines; rules do not count."""
        index, direction = self.cursor, 1 if rows > 0 else -1
        for _ in range(abs(rows)):
            target = index + direction
            while 0 <= target < len(self._rows) and not self.can_point_at(target):
                target += direction
            if not 0 <= target < len(self._rows):
                break
            index = target
        self.move_to(index)

    def can_point_at(self, index: int) -> bool:
        """Whether the cursor may stand on a row: of a pair that takes two, on the first."""
        line, side = self._rows[index]
        return self.lines[line].row is not None and side != "b"

    def action_first(self) -> None:
        """Move the cursor to the first pair."""
        self.action_move(-self.line_count)

    def action_last(self) -> None:
        """Move the cursor to the last pair."""
        self.action_move(self.line_count)

    def next_difference(self, direction: int) -> bool:
        """Go to the next difference (or rejoining) in a direction; say whether there was one."""
        index = (self._rows[self.cursor][0] if self.cursor < len(self._rows) else 0) + direction
        while 0 <= index < len(self.lines):
            line, before = self.lines[index], self.lines[index - 1] if index else None
            if line.row is not None and (line.row.kind != "same" or (before is not None and before.kind == "rejoined")):
                self.go_to(index)
                return True
            index += direction
        return False

    def _waiting_sides(self) -> frozenset[tuple[str, int]]:
        if self.view is None or not self.waiting:
            return frozenset()
        sides = {self.view.comparison.a.id: "a", self.view.comparison.b.id: "b"}
        return frozenset((sides[run], step) for run, step in self.waiting if run in sides)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a pair, one side of it, a fold or a rule."""
        number, part = self._rows[index]
        line = self.lines[number]
        drawing = _Drawing(
            styles,
            look_of(self).glyphs,
            width,
            self._waiting_sides(),
            stacks=self._stacks,
            whole_arguments=self.in_column,
        )
        if line.row is None and part.isdecimal():
            said = self._why(line)[int(part)]
            return Row(drawing.glyphs.cut).pad_to(_BELOW).upto(said, width, styles.muted).strip(width)
        if line.row is None:
            return _rule(line, self._why(line)[0], drawing, self.view)
        view = self.view
        if view is None:
            return Row("").strip(width)
        side = half(width + 2)
        a = view.cells_a.get(line.row.a) if line.row.a is not None else None
        b = view.cells_b.get(line.row.b) if line.row.b is not None else None
        row = Row(drawing.glyphs.cut)
        if drawing.stacks:
            if part == "both":
                part = "b" if line.row.kind == "only_b" else "a"
            glyph, style = _gutter(line, drawing) if part == "b" or line.row.kind != "different" else (" ", None)
            row.add(glyph, style).add(" " if line.row.kind == "same" else f" {part.upper()}", styles.muted)
            room = width - _STACKED
            return (
                row.pad_to(_STACKED)
                .upto_row(_cell(a if part == "a" else b, line, part, room, drawing), room)
                .strip(width)
            )
        there = _elsewhere(view.elsewhere.get(line.row), drawing)
        row.upto_row(_cell(a, line, "a", side, drawing) if a is not None else there, side).pad_to(side + 2)
        glyph, style = _gutter(line, drawing)
        row.add(glyph, style).pad_to(side + GUTTER)
        return row.upto_row(_cell(b, line, "b", side, drawing) if b is not None else there, side).strip(width)


def _gutter(line: Line, drawing: _Drawing) -> tuple[str, Style]:
    glyphs, styles = drawing.glyphs, drawing.styles
    kind = line.row.kind if line.row is not None else "same"
    return {
        "same": (glyphs.same, styles.faint),
        "different": (glyphs.differs, styles.yours),
        "only_a": (glyphs.only_a, styles.muted),
        "only_b": (glyphs.only_b, styles.muted),
        "pending": (glyphs.ambient, styles.muted),
    }[kind]


def _elsewhere(number: int | None, drawing: _Drawing) -> Row:
    """The empty side of a step that the other run took at another place."""
    row = Row(drawing.glyphs.cut)
    return row if number is None else row.pad_to(8).add(f"(step {number})", drawing.styles.faint)


def _cell(cell: Cell | None, line: Line, side: str, columns: int, drawing: _Drawing) -> Row:
    """One side of a pair."""
    styles, glyphs = drawing.styles, drawing.glyphs
    row = Row(glyphs.cut)
    if cell is None:
        return row
    step = cell.step
    same = line.row is not None and line.row.kind == "same"
    quiet = styles.muted if same else styles.text
    waits = (side, step.number) in drawing.waiting
    number, right = str(step.number), f"{glyphs.person} waits" if waits else _right(cell, drawing)
    right_style = styles.yours if waits else styles.failed if step.status == "error" else styles.muted
    if line.kind == "fold" and line.row is not None:
        numbers = [each.a if side == "a" else each.b for each in (line.row, *line.more)]
        number = step_span([each for each in numbers if each is not None], glyphs.span, glyphs.cut)
        right = f"{line.count}{glyphs.times}"
        quiet = styles.muted
    name_style = styles.failed if step.status == "error" else styles.strong if styles.on_cursor_row else quiet
    row.column(number, 5, styles.faint if same else styles.muted, "right").add(" ")
    glyph = glyphs.still if step.status == "running" else kind_glyph(step.kind, glyphs)
    if line.kind == "fold" and same:  # steps of any kind, of which none differs
        return row.add(glyphs.alike, styles.faint).upto(
            f" {counted(line.count, 'step')} the same", columns, styles.muted
        )
    row.add(glyph, styles.running if step.status == "running" else step_style(step, styles)).add(" ")
    room = columns - row.cells - width(right) - 2
    if room < _LEAST_NAME and line.kind != "fold":
        # On a narrow screen the name says more than how long it took.
        right = glyphs.failed if step.status == "error" else ""
        room = columns - row.cells - width(right) - 1
    name = cut(clean(step.name), room, glyphs.cut)
    row.add(name, name_style)
    if cell.tool and width(name) + 2 < room:
        tool = cut(clean(cell.tool), room - width(name) - 1, glyphs.cut)
        row.add(" ").add(tool, styles.muted if same else styles.text)
        name = f"{name} {tool}"
    left = room - width(name) - 1
    if cell.argument and cell.argument != step.name and not (drawing.whole_arguments and width(cell.argument) > left):
        row.add(" ").add(cut(clean(cell.argument), room - width(name) - 1, glyphs.cut), styles.muted)
    if columns >= PACK_FROM:
        return row.add("  ").add(right, right_style)
    tail = Row(glyphs.cut)
    if cell.denied and line.kind != "fold":
        tail.add(right, styles.yours)
    else:
        tail.add(right, styles.running if step.status == "running" and not waits else right_style)
    return row.right(tail, columns)


def _right(cell: Cell, drawing: _Drawing) -> str:
    step = cell.step
    if cell.denied:
        return "denied"
    if step.inherited:
        return "recorded"
    if step.status == "running" and step.started_us is not None:
        return fmt.duration(max(0.0, time.time() - step.started_us / 1e6))
    failed = f" {drawing.glyphs.failed}" if step.status == "error" else ""
    return (fmt.duration(step.duration_us / 1e6) if step.duration_us is not None else "") + failed


def _rule_title(line: Line, view: CompareView | None) -> str:
    at = view and (view.comparison.diverged_at if line.kind == "diverged" else view.comparison.rejoined_at)
    return "no step differs" if line.kind not in _MET else f"{_MET[line.kind]} at {at}"


def _rule(line: Line, why: str, drawing: _Drawing, view: CompareView | None) -> Strip:
    """A rule across both sides, or the line that names the edits."""
    styles, glyphs, columns = drawing.styles, drawing.glyphs, drawing.columns
    side = half(columns + 2)
    if line.kind == "edits" and drawing.stacks:
        row = Row(glyphs.cut).add(glyphs.edited, styles.yours).pad_to(_STACKED)
        return row.upto(clean(line.text), columns, styles.yours).strip(columns)
    if line.kind == "edits":
        row = Row(glyphs.cut).pad_to(side + 2).add(glyphs.edited, styles.yours).pad_to(side + GUTTER + 6)
        return row.upto(clean(line.text), columns, styles.yours).strip(columns)
    style = styles.well if line.kind == "rejoined" else styles.yours
    glyph = glyphs.same if line.kind == "rejoined" else glyphs.differs
    row = Row(glyphs.cut).add(glyphs.line * 2 + " ", style).add(f"{glyph} {_rule_title(line, view)}  ", style)
    row.upto(why, columns - 2, styles.muted).add(" ")
    return row.add(glyphs.line * max(0, columns - row.cells), style).strip(columns)
