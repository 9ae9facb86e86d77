"""The scrubber: the whole run on one strip, with the cursor, marks and the writes of the selected path."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt_tui.format import duration
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import show, width
from agent_tt_tui.viewmodel.debugger.lane_strip import has_lane_strips, lane_cells
from agent_tt_tui.viewmodel.debugger.strip import StripLayout, watch_marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.style import Style
    from textual import events

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.viewmodel.debugger.strip import WatchMark
    from agent_tt_tui.viewmodel.past.writes import Writes

_CLOCK = 9
_CLOCK_WIDE = 18
_LANE = 8
"""Columns of a lane's name."""

_GAP = 4
"""Columns free between the last sign of the path row and the path."""


class Scrubber(RowWidget):
    """One row, or three: marks and forks, the strip, and what the selected path or the search has to say."""

    HELP = "The whole run: a click goes to that step, dragging goes along, the wheel goes step by step."

    @dataclass
    class StepWanted(Message):
        """A person pointed at a step."""

        number: int

    def __init__(self, model: RunModel, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Show a run."""
        super().__init__(id=id)
        self._model = model
        self._number = 0
        self._clock_us: int | None = None
        self._path = ""
        self._writes: Writes | None = None
        self._hits: Sequence[int] | None = None
        self._as_spans = False
        self._hit_columns: tuple[StripLayout | None, int, Sequence[int]] = (None, 0, ())
        """The columns with hits, for which layout and how many hits."""
        self._watch_marks: tuple[object, Mapping[int, WatchMark]] = (None, {})

    def show_step(self, number: int) -> None:
        """Put the cursor on a step."""
        self._number = number
        step, run = self._model.peek(number), self._model.run
        if step is not None:
            at_us = step.ended_us or step.started_us
            self._clock_us = at_us - run.started_us if at_us else None
        elif number == 0:
            self._clock_us = 0 if run.started_us else None
        self.refresh()

    def show_writes(self, path: str, writes: Writes | None) -> None:
        """Show which steps wrote the selected path.

        Args:
            path: The path, as people write it.
            writes: Who wrote it, as far as it was looked for; None while nothing is known.
        """
        self._path, self._writes = path, writes
        self.refresh()

    def show_hits(self, steps: Sequence[int] | None, *, as_spans: bool = False) -> None:
        """Show which steps, in order, a search found something in; None shows the selected path again.

        Args:
            steps: The steps.
            as_spans: Whether something holds at them: then those that follow one another are one bar.
        """
        self._hits, self._as_spans = steps, as_spans
        self._hit_columns = (None, 0, ())
        self.refresh()

    @property
    def shows_hits(self) -> bool:
        """Whether hits of a search are shown, which need a row of their own."""
        return self._hits is not None

    @property
    def layout_of_strip(self) -> StripLayout:
        """Which steps share a column of the strip."""
        return self._layout(self.size.width)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go to the step under the mouse, and along with it until it is let go."""
        self.capture_mouse()
        self._go_to(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Go along with the mouse."""
        if self.app.mouse_captured is self:
            self._go_to(event.x)

    def on_mouse_up(self) -> None:
        """Stay there."""
        self.release_mouse()

    def on_mouse_scroll_down(self) -> None:
        """Go to the next step."""
        self.post_message(self.StepWanted(min(self._model.last, self._number + 1)))

    def on_mouse_scroll_up(self) -> None:
        """Go to the previous step."""
        self.post_message(self.StepWanted(max(0, self._number - 1)))

    def _go_to(self, x: int) -> None:
        """Ask for the step at a column, where it is another one."""
        layout = self._layout(self.size.width)
        number = layout.step_at(max(0, x - layout.start))
        if number != self._number:
            self.post_message(self.StepWanted(number))

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw a row; the strip is the middle one of three."""
        layout = self._layout(columns)
        if self.size.height >= 3 and has_lane_strips(self._model.overview):
            return self._lane_row(y, columns, styles)
        if self.size.height < 3:
            if y == 1:
                return self._hits_row(layout, columns, styles)
            return self._strip_row(layout, columns, styles)
        if y == 0:
            return self._marks_row(layout, styles)
        if y == 1:
            return self._strip_row(layout, columns, styles)
        return (
            self._hits_row(layout, columns, styles)
            if self._hits is not None
            else self._path_row(layout, columns, styles)
        )

    def _layout(self, columns: int) -> StripLayout:
        return StripLayout.plan(columns, self._model.last, _CLOCK_WIDE if self._wide else _CLOCK)

    @property
    def _wide(self) -> bool:
        return self.size.height >= 3 and self.size.width >= 100

    def _strip_row(self, layout: StripLayout, columns: int, styles: Palette) -> Row:
        row = self.new_row()
        row.right(self._label(layout.start - 2, styles), layout.start - 2).pad_to(layout.start - 1)
        at = layout.column(self._number)
        reach = 1 if layout.cell >= 3 and self._number else 0
        # Step 0 has no cell: its cursor stands in the column before the strip.
        for column, (text, style) in enumerate([(" ", styles.faint), *self._cells(layout, styles)], start=-1):
            row.add(text, styles.time_cursor if at - reach <= column <= at + reach else style)
        if reach and self._number == layout.last:
            row.add(" ", styles.time_cursor)
        return row.right(self._clock(styles), columns - 1)

    def _label(self, columns: int, styles: Palette) -> Row:
        """The step and how many there are; of a range both ends, and where there is room how many there are."""
        start, last = self._model.range_start, str(self._model.last)
        row = self.new_row()
        if start is not None and start < self._number:
            row.add(f"{start}{look_of(self).glyphs.span}", styles.yours)
        row.add(str(self._number), styles.strong)
        return row.add(f"/{last}", styles.muted) if row.cells + 1 + len(last) <= columns else row

    def _is_in_range(self, number: int) -> bool:
        start = self._model.range_start
        return start is not None and start <= number <= self._number

    def _lane_row(self, lane: int, columns: int, styles: Palette) -> Row:
        """Draw the strip of a lane; what lanes are left out is said in the last row."""
        glyphs, overview, row = look_of(self).glyphs, self._model.overview, self.new_row().add(" ")
        own = overview.lane_index(self._number)
        left_out = len(overview.lanes) - self.size.height
        if left_out > 0 and lane == self.size.height - 1:
            return row.add(f"+{left_out + 1} lanes", styles.note).right(self._place(lane, styles), columns - 1)
        if lane >= len(overview.lanes):
            return row.right(self._place(lane, styles), columns - 1)
        style = styles.strong if lane == own and self._number else styles.faint
        row.column(show(overview.lanes[lane], _LANE, glyphs.cut), _LANE + 1, style)
        for cell in lane_cells(overview, lane, max(2, columns - row.cells - _CLOCK_WIDE)):
            played = cell.step is not None and cell.step <= self._number
            line = styles.model if played else styles.faint
            if cell.step is not None and cell.begins:
                glyph, line = self._cell(cell.step, styles)
                row.add(glyph, styles.time_cursor if cell.step == self._number else line)
            elif cell.step is not None:
                row.add(glyphs.busy, styles.failed_text if overview.is_error(cell.step) else line)
            else:
                row.add(glyphs.line if cell.alive else " ", styles.faint)
        return row.right(self._place(lane, styles), columns - 1)

    def _place(self, lane: int, styles: Palette) -> Row:
        """What stands at the right end of the lanes: step and clock, in two of the rows."""
        middle = self.size.height // 2
        if lane == middle:
            return self._label(_CLOCK_WIDE, styles)
        return self._clock(styles) if lane == middle + 1 else self.new_row()

    def _cells(self, layout: StripLayout, styles: Palette) -> list[tuple[str, Style]]:
        glyphs = look_of(self).glyphs
        cells: list[tuple[str, Style]] = []
        if layout.cell == 0:
            played = layout.column(self._number)
            return [self._bucket(*layout.steps(at), played=at <= played, styles=styles) for at in range(layout.columns)]
        for number in range(1, layout.last + 1):
            cells.append(self._cell(number, styles))
            line = styles.model if number < self._number else styles.faint
            after = layout.cell - 1 if number < layout.last else 0
            is_inside = self._is_in_range(number) and number < self._number
            cells += [(glyphs.busy, styles.yours) if is_inside else (glyphs.line, line)] * after
        return cells

    def _cell(self, number: int, styles: Palette) -> tuple[str, Style]:
        glyphs, overview = look_of(self).glyphs, self._model.overview
        if number > overview.scanned:
            return glyphs.line, styles.faint
        if overview.is_error(number):
            return glyphs.failed, styles.failed
        style = styles.text if number <= self._number else styles.faint
        if overview.is_running(number) and self._model.run.status == "running":
            return glyphs.still, styles.running
        kind = overview.kind(number)
        return kind_glyph(kind, glyphs), styles.model if kind == "llm" and number <= self._number else style

    def _bucket(self, first: int, last: int, *, played: bool, styles: Palette) -> tuple[str, Style]:
        glyphs, overview, forks = look_of(self).glyphs, self._model.overview, self._model.forks
        if overview.errors_between(first, last):
            return glyphs.failed, styles.failed
        if any(first <= number <= last for number in forks):
            return glyphs.fork, styles.yours
        strongest = overview.rarest(first, last)
        if not strongest and self._is_in_range(first):
            return glyphs.busy, styles.yours
        if strongest:
            return kind_glyph(strongest, glyphs), styles.text if played else styles.faint
        return glyphs.line, styles.model if played else styles.faint

    def _marks_row(self, layout: StripLayout, styles: Palette) -> Row:
        """Bookmarks and forks; where there are none, what watches say, see `watch_marks`."""
        glyphs, model = look_of(self).glyphs, self._model
        row = self.new_row().add(" marks", styles.faint)
        signs: dict[int, tuple[str, Style]] = {
            layout.start + column: self._watch_sign(mark, styles)
            for column, mark in self._marks_of_watches(layout).items()
        }
        marks = dict.fromkeys(model.forks, glyphs.fork) | model.bookmarks.letters
        for number in sorted(marks, reverse=True):
            signs[layout.start + layout.column(number)] = show(marks[number], 1, ""), styles.yours
        for column in sorted(signs):
            _put(row, column, *signs[column])
        return row

    def _watch_sign(self, mark: WatchMark, styles: Palette) -> tuple[str, Style]:
        if not mark.letter:
            return look_of(self).glyphs.busy, styles.muted
        return mark.letter, styles.chip if mark.breaks else styles.yours

    def _marks_of_watches(self, layout: StripLayout) -> Mapping[int, WatchMark]:
        """They are worked out anew when more is known."""
        rows = self._model.board.rows
        key = (layout, tuple((row.watch, len(row.found), row.breaks) for row in rows))
        if self._watch_marks[0] != key:
            self._watch_marks = (key, watch_marks(rows, layout))
        return self._watch_marks[1]

    def _path_row(self, layout: StripLayout, columns: int, styles: Palette) -> Row:
        glyphs = look_of(self).glyphs
        row = self.new_row().add(" path", styles.faint)
        signs = {
            "+": (glyphs.added, styles.added_mark),
            "-": (glyphs.removed, styles.removed_mark),
            "~": (glyphs.changed, styles.changed_mark),
        }
        writes = self._writes
        if writes is None:
            if self._path:
                row.add(" " * _GAP).add("looking", styles.faint)
        else:
            wrote = {layout.column(number): writes.signs[number] for number in sorted(writes.signs, reverse=True)}
            first, last = layout.column(writes.begun), layout.column(writes.ended)
            for column in range(-1, layout.columns):
                if column in wrote:
                    text, style = signs[wrote[column]]
                    _put(row, layout.start + column, text, style)
                elif not first <= column <= last and not layout.is_between(column):  # nobody looked at this step
                    _put(row, layout.start + column, "?", styles.faint)
        room = columns - 1 - row.cells - _GAP
        path = show(self._path, max(0, room), glyphs.cut)
        return (
            row.add(" " * _GAP).add(path, styles.faint) if width(path) == width(show(self._path, 10_000, "")) else row
        )

    def _hits_row(self, layout: StripLayout, _columns: int, styles: Palette) -> Row:
        glyphs = look_of(self).glyphs
        row = self.new_row().add(" hits", styles.faint)
        hits = self._hits or ()
        if self._hit_columns[:2] != (layout, len(hits)):
            found = {layout.start + column for column in layout.columns_of(hits)}
            if self._as_spans and layout.cell > 1:
                found |= {
                    layout.start + layout.column(number) + more
                    for number, following in pairwise(hits)
                    if following == number + 1 and number
                    for more in range(1, layout.cell)
                }
            self._hit_columns = (layout, len(hits), sorted(found))
        for column in self._hit_columns[2]:
            _put(row, column, glyphs.hit, styles.changed_mark)
        return row

    def _clock(self, styles: Palette) -> Row:
        run, row = self._model.run, self.new_row()
        if self._clock_us is None:
            return row.add(look_of(self).glyphs.span, styles.faint)
        row.add(duration(self._clock_us / 1_000_000), styles.strong)
        if self._wide and run.ended_us is not None:
            row.add(f" / {duration((run.ended_us - run.started_us) / 1_000_000)}", styles.muted)
        return row


def _put(row: Row, column: int, text: str, style: Style) -> None:
    """Add one glyph at a column, unless something stands there already."""
    if row.cells <= column:
        row.pad_to(column).add(text, style)
