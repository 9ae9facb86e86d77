"""The timeline: a row for each step, the input as row 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt_tui.chrome import PaneTitle
from agent_tt_tui.keymaps import TIMELINE
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import kind_glyph, kind_sign, step_style
from agent_tt_tui.text import show, width
from agent_tt_tui.viewmodel.debugger.folding import Below, Fold, Rows, around, fold, fold_of
from agent_tt_tui.viewmodel.debugger.marked_steps import name_of
from agent_tt_tui.viewmodel.debugger.timeline import INPUT_NAME, TimelineColumns
from agent_tt_tui.viewmodel.debugger.timeline_columns import ASKED, COLUMNS, NAME, WATERFALL, StepFacts, cells_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt.context.causes import Causes
    from agent_tt.model import Step
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.debugger.causes import CauseMark
    from agent_tt_tui.viewmodel.debugger.clock_axis import ClockAxis
    from agent_tt_tui.viewmodel.debugger.folding import Narrowed
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel

_NOT_ENDED: Final = ("interrupted", "unknown")
"""Signs of steps that did not come to their end."""

_LONGEST_NAME = 30
"""Longest name, in columns, that the other columns leave room for."""


class TimelineTitle(PaneTitle):
    """The title of the pane, with as much about the run as there is room for."""

    def __init__(self, words: Callable[[int], tuple[str, str]]) -> None:
        """Stand above a timeline.

        Args:
            words: what stands behind the title, and at the right, in so many columns.
        """
        super().__init__("Timeline")
        self._words = words

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        detail, hint = self._words(columns)
        self.set_reactive(PaneTitle.detail, detail)
        self.set_reactive(PaneTitle.hint, hint)
        return super().draw(y, columns, styles)


class TimelineHead(RowWidget):
    """What stands above the columns: their names, and the clock above the bars of a waterfall."""

    def __init__(self, timeline: Timeline) -> None:
        """Stand above a timeline."""
        super().__init__(id="timeline-head")
        self._timeline = timeline

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the names and the clock."""
        glyphs, placed = look_of(self).glyphs, self._timeline.plan_for(max(1, columns - 2))
        row = self.new_row().pad_to(1 + self._timeline.head_column)
        for name, columns_of in placed.placed:
            end, column = row.cells + columns_of, COLUMNS[name]
            axis = self._timeline.axis(columns_of) if name == WATERFALL else None
            if axis is not None:
                begin = row.cells
                for tick in axis.ticks:
                    row.pad_to(begin + tick.column).add(glyphs.tick if tick.column else "", styles.faint)
                    row.add(tick.label if row.cells + len(tick.label) <= end else "", styles.faint)
            elif name != WATERFALL:
                if column.align == "right":
                    row.pad_to(end - width(column.head))
                row.upto(column.head, end, styles.faint)
            row.pad_to(end + 1)
        return row


class Timeline(LineView, inherit_bindings=True):
    """The steps of a run: it draws those at hand, asks for the others, and leaves moving in time to its parent."""

    BINDINGS: ClassVar[list[BindingType]] = TIMELINE.widget_bindings()
    HELP = "The steps of the run: left and right go through time from any pane, space plays."

    @dataclass
    class StepWanted(Message):
        """A person asked for a step, with a key of the list or the mouse."""

        number: int

    @dataclass
    class PagesWanted(Message):
        """Rows around a step are to be drawn whose steps are not at hand."""

        number: int

        def can_replace(self, message: Message) -> bool:
            """Let the newest rows be read first: older ones may have gone out of sight."""
            return isinstance(message, Timeline.PagesWanted)

    @dataclass
    class ArgumentsWanted(Message):
        """Rows were drawn of steps of which it was not read what they asked; `take_unread` gives them."""

        def can_replace(self, message: Message) -> bool:
            """Let one stand for all that were drawn."""
            return isinstance(message, Timeline.ArgumentsWanted)

    @dataclass
    class PlayToggled(Message):
        """Playing was asked for, or its end."""

    def __init__(self, model: RunModel, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Show a run."""
        super().__init__(id=id)
        self._model = model
        self._number = self._came_from = 0
        self._alike: Sequence[tuple[int, int]] = ()
        self._folds: Sequence[Fold] = []
        self.narrowed: Narrowed | None = None
        """The steps that were asked for, which are shown with those beside them; None for all."""
        self._rows_of_all = 0
        self._rows = Rows(model.last)
        self._writes: Mapping[int, str] = {}
        self._diverged: frozenset[int] = frozenset()
        self._waiting: frozenset[int] = frozenset()
        self._edited: frozenset[int] = frozenset()
        self._causes: Causes | None = None
        self._cause_marks: Mapping[int, CauseMark] = {}
        self._unread: list[int] = []
        self._names = 0
        """Columns of the longest name when steps were shown first in this size: 0 before that."""
        self._columns = TimelineColumns.plan(30, last=model.last, lanes=1, depth=0)
        self._drawn_width = 0
        self.head = TimelineHead(self)
        """What stands above its columns."""

    # What the parent says.

    def show_step(self, number: int) -> None:
        """Put the cursor on a step."""
        hidden_before = self._hidden(self._number)
        self._came_from, self._number = self._number, number
        if hidden_before or self._hidden(number):
            self._lay_rows()
        self._mark_causes()
        self._mark_range()
        self.move_to(self._rows.row_of(number))

    def steps_beside(self, direction: int, count: int) -> Sequence[int]:
        """The steps to which so many keys in a direction go, one after the other, as far as there are any."""
        rows = (self.cursor + direction * (index + 1) for index in range(2 * count))  # folds stand between
        steps = dict.fromkeys(self._step_in(row, direction) for row in rows if 0 <= row < len(self._rows))
        return [step for step in steps if step != self._number][:count]

    def show_alike(self, alike: Sequence[tuple[int, int]]) -> None:
        """Learn which stretches of steps repeat one another, as (first, last)."""
        self._alike = alike
        self.refresh_run()

    @property
    def needed_rows(self) -> int:
        """How many rows it takes; while it is narrowed, as many as before: panes do not jump as one types."""
        return self.line_count if self.narrowed is None else self._rows_of_all

    def show_narrowed(self, narrowed: Narrowed | None) -> None:
        """Show only some steps and those beside them; None for all."""
        if self.narrowed is None:
            self._rows_of_all = self.line_count
        self.narrowed = narrowed
        self._lay_rows()
        self.move_to(self._rows.row_of(self._number))

    def show_writes(self, writes: Mapping[int, str]) -> None:
        """Mark the steps that wrote the selected path, each with its sign."""
        before, self._writes = self._writes, writes
        changed = (step for step in before.keys() | writes.keys() if before.get(step) != writes.get(step))
        self.refresh_items(map(self._rows.row_of, changed))

    def show_causes(self, causes: Causes | None) -> None:
        """Mark the steps that fed the one that is shown, and those that it fed; None: mark none."""
        if causes is not self._causes:
            self._causes = causes
            self._mark_causes()

    def show_divergences(self, steps: frozenset[int]) -> None:
        """Mark the steps in which a replay differed."""
        self._diverged = steps
        self.refresh_lines_data()

    def show_waiting(self, steps: frozenset[int]) -> None:
        """Mark the steps in which a call waits for a decision."""
        self._waiting = steps
        self.refresh_lines_data()

    def show_edited(self, steps: frozenset[int]) -> None:
        """Mark the steps that pending edits are of."""
        self._edited = steps
        self.refresh_lines_data()

    def refresh_run(self) -> None:
        """Draw anew after the run, its marks or what is known of it has changed."""
        self._drawn_width = 0
        self.head.refresh()
        self._lay_rows()
        self.move_to(self._rows.row_of(self._number))

    # LineView.

    @property
    def line_count(self) -> int:
        """A row for each step or fold, and one for the input."""
        return len(self._rows)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a step, the input or a fold."""
        self._plan(width)
        shown = self._rows[index]
        if isinstance(shown, Fold):
            draw = self._fold_row if shown.like is not None else self._hidden_row
            return draw(shown, styles).strip(width)
        if isinstance(shown, Below):
            return self._asked_row(shown, styles).strip(width)
        if shown == 0:
            return self._input_row(styles).strip(width)
        step = self._model.peek(shown)
        if step is None:
            self.post_message(self.PagesWanted(shown))
            row = Row(look_of(self).glyphs.cut).pad_to(1)
            return row.column(str(shown), self._columns.number, styles.faint, "right").strip(width)
        if self.shows_arguments and self._model.arguments.lacks(shown):
            self._unread.append(shown)
            self.post_message(self.ArgumentsWanted())
        return self._step_row(step, styles).strip(width)

    @property
    def shows_arguments(self) -> bool:
        """Whether the column with the arguments of tools is shown."""
        return self._columns.width_of(ASKED) > 0

    def steps_in_view(self) -> Iterator[int]:
        """Give the steps of the rows that are in view."""
        first = self.scroll_offset.y
        for row in range(first, min(first + self.size.height, len(self._rows))):
            shown = self._rows[row]
            if isinstance(shown, int):
                yield shown

    def take_unread(self) -> list[int]:
        """Give the steps that were drawn before it was known what they asked."""
        unread, self._unread = self._unread, []
        return unread

    def action_move(self, rows: int) -> None:
        """Ask for the step so many rows away."""
        self._ask(self.cursor + rows, direction=rows)

    def action_page(self, pages: int) -> None:
        """Ask for the step so many screens away."""
        self._ask(self.cursor + pages * max(1, self.size.height - 1), direction=pages)

    def action_first(self) -> None:
        """Ask for the input."""
        self.post_message(self.StepWanted(0))

    def action_last(self) -> None:
        """Ask for the last step."""
        self.post_message(self.StepWanted(self._model.last))

    def action_play(self) -> None:
        """Play, or pause."""
        self.post_message(self.PlayToggled())

    def on_click(self, event: events.Click) -> None:
        """Ask for the step under the mouse."""
        event.prevent_default()
        self.point_at(event.y + self.scroll_offset.y)

    def point_at(self, index: int) -> None:
        """Ask for the step of a line."""
        self._ask(index)

    @property
    def columns(self) -> TimelineColumns:
        """The columns that it has."""
        return self._columns

    def plan_for(self, columns: int) -> TimelineColumns:
        """The columns that it has in so many."""
        self._plan(columns)
        return self._columns

    @property
    def head_column(self) -> int:
        """Where its first column stands that has a name."""
        columns = self._columns
        return 1 + columns.number + 1 + (columns.rails * columns.rail if columns.rails else 1) + 1

    def axis(self, columns: int) -> ClockAxis | None:
        """The clock of the run in so many columns."""
        run = self._model.run
        return self._model.overview.axis(run.started_us, run.ended_us or 0, columns)

    def holds_names(self, columns: int) -> bool:
        """Whether no name is cut in so many columns, of those that were shown first: panes stay where they are."""
        self._names = self._names or self._longest_name()
        return self._columns_in(columns, look_of(self).columns, self._names).width_of(NAME) >= self._names

    def try_columns(self, chosen: Sequence[str] | None) -> TimelineColumns:
        """Plan other columns, as they would be here."""
        return self._columns_in(self.size.width, chosen, self._longest_name())

    def _columns_in(self, columns: int, chosen: Sequence[str] | None, longest: int) -> TimelineColumns:
        overview = self._model.overview
        return TimelineColumns.plan(
            max(1, columns - 2),
            last=self._model.last,
            lanes=len(overview.lanes),
            depth=min(overview.deepest, 6),
            longest=longest,
            chosen=chosen,
            has_tokens=overview.most_context > 0,
            has_asked=self._model.source.capabilities.pages,
            longest_agent=max((width(show(lane, _LONGEST_NAME, "")) for lane in overview.lanes), default=0),
        )

    def facts_of(self, step: Step) -> StepFacts:
        """What the cells of a step are made from."""
        run = self._model.run
        is_live = step.status == "running" and run.status == "running"
        waits = step.number in self._waiting
        ended_us = run.ended_us or 0
        glyphs, asked = look_of(self).glyphs, self._model.arguments.of(step.number)
        return StepFacts(step, self._model.overview, run.started_us, ended_us, waits, is_live, glyphs, asked)

    def on_resize(self) -> None:
        """Fold as many steps as now do not fit, and stay on the step."""
        self._names = 0
        self.refresh_run()

    # Inside.

    def _mark_causes(self) -> None:
        marks: Mapping[int, CauseMark] = {}
        before = self._cause_marks
        if self._causes is not None:
            from agent_tt_tui.viewmodel.debugger.causes import cause_marks

            marks = cause_marks(self._causes.of(self._number))
        self._cause_marks = marks
        changed = (step for step in before.keys() | marks.keys() if before.get(step) != marks.get(step))
        self.refresh_items({self._rows.row_of(step) for step in changed if step <= self._model.last})

    def _mark_range(self) -> None:
        """Draw the rows anew that are in the marked range now and were not, or the other way round."""
        if self._model.range_start is not None:
            first, last = sorted((self._came_from, self._number))
            if last - first > self.size.height:
                self.refresh_lines_data()
            else:
                self.refresh_items(map(self._rows.row_of, range(first, last + 1)))

    def _ask(self, row: int, direction: int = 0) -> None:
        self.post_message(self.StepWanted(self._step_in(row, direction)))

    def _step_in(self, row: int, direction: int) -> int:
        """The step that somebody comes to in a row; the direction from which they come is 0 if they point at it."""
        shown = self._rows[max(0, min(row, len(self._rows) - 1))]
        if isinstance(shown, Fold) and shown.like is None and direction:
            beyond = (shown.first - 1, shown.last + 1)  # what was not asked for is left out
            step = beyond[direction > 0]
            return step if 0 <= step <= self._model.last else beyond[direction < 0]
        if isinstance(shown, Fold):
            return shown.last if direction < 0 else shown.first
        if isinstance(shown, Below):
            return min(shown.step + (direction > 0), self._model.last)
        return shown

    def _hidden(self, number: int) -> bool:
        return fold_of(self._folds, number) is not None

    def _lay_rows(self) -> None:
        last, below = self._model.last, {step: len(asked) for step, asked in self._model.asked.items()}
        rows = last + 1 + sum(below.values())
        if self.narrowed is not None:
            self._folds = self.narrowed.folds
        else:
            self._folds = fold(self._alike, rows - self.size.height) if self.size.height else []
        self._rows = Rows(last, around(self._folds, self._number), below)
        self.refresh_lines_data()

    def _plan(self, width: int) -> None:
        if width == self._drawn_width:
            return
        self._drawn_width = width
        self._columns = self.try_columns(look_of(self).columns)

    def _longest_name(self) -> int:
        """Columns of the longest name of a step at hand that is around the one that is shown."""
        near = max(1, self.size.height)
        steps = map(
            self._model.peek, range(max(1, self._number - near), min(self._model.last, self._number + near) + 1)
        )
        return max((self._name_columns(step) for step in steps if step is not None), default=0)

    def _name_columns(self, step: Step) -> int:
        """Columns of the name of a step, and of what a person called the state after it."""
        label = self._model.labels.get(step.number)
        called = f"{label.name} " if label is not None and label.name is not None else ""
        return width(show(called + name_of(step), _LONGEST_NAME, ""))

    def _step_row(self, step: Step, styles: Palette) -> Row:
        glyphs, columns = look_of(self).glyphs, self._columns
        number = step.number
        name_style = self._name_style(step, styles)
        is_beside = self.narrowed is not None and not self.narrowed.has(number) and not styles.on_cursor_row
        row = Row(glyphs.cut).add(*self._mark(number, styles))
        if is_beside:  # it is there for those that were asked for, and stands back
            styles = styles.standing_back()
            name_style = styles.faint
        row.column(str(number), columns.number, styles.strong if styles.on_cursor_row else styles.muted, "right").add(
            *self._cause(number, styles)
        )
        facts = self.facts_of(step)
        glyph = glyphs.still if facts.is_live else kind_glyph(step.kind, glyphs)
        self._add_tracks(row, number, glyph, styles.running if facts.is_live else step_style(step, styles), styles)
        for name, columns_of in columns.placed:
            end = row.cells + columns_of
            if name == NAME:
                self._add_name(row, step, end, name_style, styles)
            else:
                column = COLUMNS[name]
                pieces = column.cell(facts, columns_of)
                if column.align == "right":
                    row.pad_to(end - cells_of(pieces))
                for text, tone in pieces:
                    row.upto(text, end, getattr(styles, tone))
            row.pad_to(end + 1)
        return self._add_flags(row, number, self._flag(step, styles), styles)

    def _add_name(self, row: Row, step: Step, end: int, style: Style, styles: Palette) -> None:
        glyphs, label = look_of(self).glyphs, self._model.labels.get(step.number)
        if label is not None and label.name is not None:
            room = end - row.cells
            called = show(label.name, room, glyphs.cut)
            row.add(called, styles.yours).add(" " if width(called) < room else "")
        row.upto(show(name_of(step), end - row.cells, glyphs.cut), end, style)

    def _input_row(self, styles: Palette) -> Row:
        glyphs, columns = look_of(self).glyphs, self._columns
        row = Row(glyphs.cut).add(*self._mark(0, styles))
        row.column("0", columns.number, styles.strong if styles.on_cursor_row else styles.muted, "right").add(
            *self._cause(0, styles)
        )
        row.add(glyphs.person, styles.muted).pad_to(self._name_column)
        label = self._model.labels.get(0)
        if label is not None and label.name is not None:
            row.add(show(label.name, columns.width_of(NAME), glyphs.cut), styles.yours).add(" ")
        row.add(INPUT_NAME, styles.strong if styles.on_cursor_row else styles.muted)
        return row.pad_to(self._change_column + 1).add(glyphs.edited, styles.yours) if 0 in self._edited else row

    def _fold_row(self, found: Fold, styles: Palette) -> Row:
        glyphs, columns = look_of(self).glyphs, self._columns
        row = Row(glyphs.cut).pad_to(columns.number + 1)
        row.add(*self._cause_in(found, styles)).add(glyphs.alike, styles.muted).pad_to(self._name_column)
        count = found.last - found.first + 1
        row.upto(f"{count} more like {found.like}", self._change_column - 1, styles.note).pad_to(
            self._change_column + 1
        )
        return row.add(glyphs.same, styles.muted)

    def _hidden_row(self, found: Fold, styles: Palette) -> Row:
        """Draw steps that were not asked for."""
        glyphs, columns = look_of(self).glyphs, self._columns
        first, last = found.first, found.last
        row = Row(glyphs.cut).pad_to(columns.number + 2).add(glyphs.alike, styles.faint).pad_to(self._name_column)
        failed = self._model.overview.errors_between(first, last)
        steps, room = f"{last - first + 1:,} hidden", self._change_column - 1 - row.cells
        said = f"{steps}, {failed:,} failed" if failed else steps
        return row.add(said if width(said) <= room else f"{steps}, {failed:,} {glyphs.failed}", styles.note)

    def _asked_row(self, below: Below, styles: Palette) -> Row:
        """Draw a tool that only the conversation shows."""
        glyphs, asked = look_of(self).glyphs, self._model.asked[below.step][below.index]
        row = Row(glyphs.cut).pad_to(self._name_column)
        row.add(f"{glyphs.branch_last} ", styles.faint)
        row.add(show(asked.name, self._change_column - 1 - row.cells, glyphs.cut), styles.text)
        if row.cells + 2 + len(asked.seen) < self._change_column:
            row.add(f"  {asked.seen}", styles.note)
        return row.pad_to(self._change_column + 1).add(glyphs.unknown, styles.changed_mark)

    @property
    def _name_column(self) -> int:
        columns = self._columns
        before = 0
        for name, columns_of in columns.placed:
            if name == NAME:
                break
            before += columns_of + 1
        return self.head_column + before

    @property
    def _change_column(self) -> int:
        return self._drawn_width - 2

    def _mark(self, number: int, styles: Palette) -> tuple[str, Style | None]:
        letter = self._model.bookmarks.letters.get(number)
        if letter is not None:
            return show(letter, 1, ""), styles.yours
        if number in self._model.forks:
            return look_of(self).glyphs.fork, styles.yours
        held = self._model.board.at(number)
        if not held:
            start = self._model.range_start
            in_range = start is not None and start <= number <= self._number
            return (look_of(self).glyphs.rail, styles.yours) if in_range else (" ", None)
        stops = held[0].breaks and held[0].watched.stops_at(number)
        return held[0].watch.letter, styles.chip if stops else styles.yours

    def _cause(self, number: int, styles: Palette) -> tuple[str, Style | None]:
        """What a step is to the one that is shown: a glyph in the free column before its kind."""
        mark = self._cause_marks.get(number)
        if mark is None:
            return " ", None
        return getattr(look_of(self).glyphs, mark), styles.muted if mark.endswith("perhaps") else styles.model

    def _cause_in(self, found: Fold, styles: Palette) -> tuple[str, Style | None]:
        """The same of steps that are folded: that of the first that the recording says is one."""
        marks = self._cause_marks
        steps = [step for step in range(found.first, found.last + 1) if step in marks] if marks else []
        first = next((step for step in steps if not marks[step].endswith("perhaps")), steps[0] if steps else -1)
        return self._cause(first, styles)

    def _add_tracks(self, row: Row, number: int, glyph: str, style: Style, styles: Palette) -> None:
        """Add the rails of lanes, or of nesting, and the kind's glyph among them."""
        glyphs, overview, columns = look_of(self).glyphs, self._model.overview, self._columns
        if not columns.rails:
            depth = min(overview.depth(number), 6)
            row.add(glyphs.rail * depth, styles.faint).add(glyph, style).add(" ")
            return
        own = min(overview.lane_index(number), columns.rails - 1)
        joints = self._joints(number, own)
        farthest = max(joints, default=own)
        for lane in range(columns.rails):
            begin, end = overview.lane_reach(lane)
            if lane == own:
                row.add(glyph, style)
            elif lane in joints:
                row.add(joints[lane], styles.model)
            elif begin < number < end:
                row.add(glyphs.rail, styles.faint)
            else:
                row.add(glyphs.line if own < lane < farthest else " ", styles.model)
            row.add((glyphs.line if own <= lane < farthest else " ") * (columns.rail - 1), styles.model)
        row.add(" ")

    def _joints(self, number: int, own: int) -> Mapping[int, str]:
        """By rail, the glyph where lanes branch off a step, or else where they are gathered in it."""
        glyphs, overview, rails = look_of(self).glyphs, self._model.overview, self._columns.rails
        out = overview.branches(number)
        lanes = sorted({min(lane, rails - 1) for lane in out or overview.gathered(number)} - {own})
        through, end = (glyphs.fan_out, glyphs.branch_end) if out else (glyphs.gather, glyphs.gather_end)
        return {lane: end if lane == lanes[-1] else through for lane in lanes}

    def _add_flags(self, row: Row, number: int, flag: tuple[str, Style], styles: Palette) -> Row:
        glyphs = look_of(self).glyphs
        styled = {"added": styles.added_mark, "removed": styles.removed_mark, "changed": styles.changed_mark}
        sign = self._change(number)
        row.pad_to(self._change_column)
        row.add(*(getattr(glyphs, sign), styled[sign]) if sign else (" ", None))
        return row.add(*flag)

    def _change(self, number: int) -> str:
        """The name of the sign for what a step did to the selected value; "" for nothing."""
        sign = self._writes.get(number)
        return {"+": "added", "-": "removed"}.get(sign, "changed") if sign else ""

    def _flag(self, step: Step, styles: Palette) -> tuple[str, Style]:
        sign = self._flag_sign(step)
        if not sign:
            return " ", styles.muted
        style = {"failed": styles.failed, "same": styles.muted} | dict.fromkeys(_NOT_ENDED, styles.changed_mark)
        return getattr(look_of(self).glyphs, sign), style.get(sign, styles.yours)

    def _flag_sign(self, step: Step) -> str:
        """The name of the sign at the end of a step's row; "" for none."""
        if step.number in self._waiting:
            return "person"
        if step.number in self._edited:
            return "edited"
        if step.number in self._diverged:
            return "differs"
        if step.status == "error":
            return "failed"
        if step.status == "interrupted":
            return "interrupted"
        if step.status == "running" and self._model.run.status != "running":
            return "unknown"
        return "same" if step.repeat_of is not None else ""

    def signs_of(self, number: int) -> Sequence[str]:
        """The names of the signs in the row of a step that is at hand; for the input that it is one."""
        if not number:
            return ("person",)
        step = self._model.peek(number)
        if step is None:
            return ()
        kind = "still" if self.facts_of(step).is_live else kind_sign(step.kind)
        # A letter that a person gave the step stands in its place.
        fork = "fork" if number in self._model.forks and number not in self._model.bookmarks.letters else ""
        return [sign for sign in (kind, self._change(number), self._flag_sign(step), fork) if sign]

    def _name_style(self, step: Step, styles: Palette) -> Style:
        if step.status == "error":
            return styles.failed
        if styles.on_cursor_row:
            return styles.strong
        return styles.muted if step.repeat_of is not None or step.inherited else styles.text
