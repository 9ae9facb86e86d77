"""The timeline: a row for each step, the input as row 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from agent_tt_tui.format import duration
from agent_tt_tui.keymaps import TIMELINE
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.status import kind_glyph, step_style
from agent_tt_tui.text import show, width
from agent_tt_tui.viewmodel.debugger.folding import Below, Fold, Rows, around, fold
from agent_tt_tui.viewmodel.debugger.marked_steps import name_of
from agent_tt_tui.viewmodel.debugger.overview import lane_name
from agent_tt_tui.viewmodel.debugger.timeline import INPUT_NAME, TimelineColumns, bar_length

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt.model import Step
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel

_LONGEST_NAME = 30
"""Columns of a name beyond which bars do not give way to it."""

_AHEAD = 64
"""Rows read beyond the visible ones."""


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
        """Rows are to be drawn whose steps are not at hand."""

        first: int
        last: int

        def can_replace(self, message: Message) -> bool:
            """Let the newest rows be read first: older ones may have gone out of sight."""
            return isinstance(message, Timeline.PagesWanted)

    @dataclass
    class PlayToggled(Message):
        """Playing was asked for, or its end."""

    def __init__(self, model: RunModel, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Show a run."""
        super().__init__(id=id)
        self._model = model
        self._number = 0
        self._alike: Sequence[tuple[int, int]] = ()
        self._folds: list[Fold] = []
        self._rows = Rows(model.last)
        self._writes: Mapping[int, str] = {}
        self._diverged: frozenset[int] = frozenset()
        self._waiting: frozenset[int] = frozenset()
        self._edited: frozenset[int] = frozenset()
        self._columns = TimelineColumns.plan(30, last=model.last, lanes=1, depth=0)
        self._drawn_width = 0

    # What the parent says.

    def show_step(self, number: int) -> None:
        """Put the cursor on a step."""
        hidden_before = self._hidden(self._number)
        self._number = number
        if hidden_before or self._hidden(number):
            self._lay_rows()
        self.move_to(self._rows.row_of(number))

    def show_alike(self, alike: Sequence[tuple[int, int]]) -> None:
        """Learn which stretches of steps repeat one another, as (first, last)."""
        self._alike = alike
        self.refresh_run()

    def show_writes(self, writes: Mapping[int, str]) -> None:
        """Mark the steps that wrote the selected path, each with its sign."""
        before, self._writes = self._writes, writes
        changed = (step for step in before.keys() | writes.keys() if before.get(step) != writes.get(step))
        self.refresh_items(map(self._rows.row_of, changed))

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
            return self._fold_row(shown, styles).strip(width)
        if isinstance(shown, Below):
            return self._asked_row(shown, styles).strip(width)
        if shown == 0:
            return self._input_row(styles).strip(width)
        step = self._model.peek(shown)
        if step is None:
            self.post_message(self.PagesWanted(shown - _AHEAD, shown + _AHEAD))
            row = Row(look_of(self).glyphs.cut).pad_to(1)
            return row.column(str(shown), self._columns.number, styles.faint, "right").strip(width)
        return self._step_row(step, styles).strip(width)

    def action_move(self, rows: int) -> None:
        """Ask for the step so many rows away."""
        self._ask(self.cursor + rows, beyond_fold=rows)

    def action_page(self, pages: int) -> None:
        """Ask for the step so many screens away."""
        self._ask(self.cursor + pages * max(1, self.size.height - 1))

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
        self._ask(event.y + self.scroll_offset.y)

    def on_resize(self) -> None:
        """Fold as many steps as now do not fit, and stay on the step."""
        self.refresh_run()

    # Inside.

    def _ask(self, row: int, beyond_fold: int = 0) -> None:
        shown = self._rows[max(0, min(row, len(self._rows) - 1))]
        if isinstance(shown, Fold):
            shown = shown.last if beyond_fold < 0 else shown.first
        elif isinstance(shown, Below):
            shown = min(shown.step + (beyond_fold > 0), self._model.last)
        self.post_message(self.StepWanted(shown))

    def _hidden(self, number: int) -> bool:
        return any(found.first <= number <= found.last for found in self._folds)

    def _lay_rows(self) -> None:
        last, below = self._model.last, {step: len(asked) for step, asked in self._model.asked.items()}
        rows = last + 1 + sum(below.values())
        self._folds = fold(self._alike, rows - self.size.height) if self.size.height else []
        self._rows = Rows(last, around(self._folds, self._number), below)
        self.refresh_lines_data()

    def _plan(self, width: int) -> None:
        if width == self._drawn_width:
            return
        overview = self._model.overview
        self._drawn_width = width
        self._columns = TimelineColumns.plan(
            width,
            last=self._model.last,
            lanes=len(overview.lanes),
            depth=min(overview.deepest, 6),
            longest=self._longest_name(),
        )

    def _longest_name(self) -> int:
        """Columns of the longest name of a step at hand that is around the one that is shown."""
        near = max(1, self.size.height)
        steps = map(
            self._model.peek, range(max(1, self._number - near), min(self._model.last, self._number + near) + 1)
        )
        return max((width(show(name_of(step), _LONGEST_NAME, "")) for step in steps if step is not None), default=0)

    def _step_row(self, step: Step, styles: Palette) -> Row:
        glyphs, model, columns = look_of(self).glyphs, self._model, self._columns
        number, failed = step.number, step.status == "error"
        live = step.status == "running" and model.run.status == "running"
        name_style = self._name_style(step, styles)
        row = Row(glyphs.cut).add(*self._mark(number, styles))
        row.column(str(number), columns.number, styles.strong if styles.on_cursor_row else styles.muted, "right").add(
            " "
        )
        glyph = glyphs.still if live else kind_glyph(step.kind, glyphs)
        self._add_tracks(row, number, glyph, styles.running if live else step_style(step, styles), styles)
        if columns.agent:
            row.column(show(lane_name(step), columns.agent - 1, glyphs.cut), columns.agent, styles.muted)
        room = columns.name - 1 if columns.bar else columns.name
        end = row.cells + columns.name
        label = model.labels.get(number)
        if label is not None and label.name is not None:
            called = show(label.name, room, glyphs.cut)
            row.add(called, styles.yours).add(" " if width(called) < room else "")
        row.upto(show(name_of(step), room, glyphs.cut), end - columns.name + room, name_style).pad_to(end)
        self._add_bar(row, step, styles)
        took = step.duration_us
        waits = number in self._waiting
        text = "waits" if waits else "" if took is None else duration(took / 1_000_000)
        if len(text) > columns.duration:
            text = text.replace(" ", "")
        style = styles.yours if waits else styles.failed if failed else styles.muted
        row.add(" ").column(text, columns.duration, style, "right")
        return self._add_flags(row, number, self._flag(step, styles), styles)

    def _input_row(self, styles: Palette) -> Row:
        glyphs, columns = look_of(self).glyphs, self._columns
        row = Row(glyphs.cut).add(*self._mark(0, styles))
        row.column("0", columns.number, styles.strong if styles.on_cursor_row else styles.muted, "right").add(" ")
        row.add(glyphs.person, styles.muted).pad_to(self._name_column)
        label = self._model.labels.get(0)
        if label is not None and label.name is not None:
            row.add(show(label.name, columns.name, glyphs.cut), styles.yours).add(" ")
        row.add(INPUT_NAME, styles.strong if styles.on_cursor_row else styles.muted)
        return row.pad_to(self._change_column + 1).add(glyphs.edited, styles.yours) if 0 in self._edited else row

    def _fold_row(self, found: Fold, styles: Palette) -> Row:
        glyphs, columns = look_of(self).glyphs, self._columns
        row = Row(glyphs.cut).pad_to(columns.number + 2)
        row.add(glyphs.alike, styles.muted).pad_to(self._name_column)
        count = found.last - found.first + 1
        row.upto(f"{count} more like {found.like}", self._change_column - 1, styles.note).pad_to(
            self._change_column + 1
        )
        return row.add(glyphs.same, styles.muted)

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
        tracks = columns.rails * columns.rail if columns.rails else 1
        return 1 + columns.number + 1 + tracks + 1 + columns.agent

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
            return " ", None
        stops = held[0].breaks and held[0].watched.stops_at(number)
        return held[0].watch.letter, styles.chip if stops else styles.yours

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

    def _add_bar(self, row: Row, step: Step, styles: Palette) -> None:
        glyphs, columns = look_of(self).glyphs, self._columns
        row.pad_to(self._change_column - 1 - columns.duration - 1 - columns.bar)
        length, cut = bar_length(step.duration_us, self._model.overview.long_duration_us, columns.bar)
        if not length:
            row.pad_to(row.cells + columns.bar)
            return
        bar = glyphs.busy * (length - 1) + glyphs.to if cut else glyphs.busy * length
        row.column(bar, columns.bar, styles.failed if step.status == "error" else styles.muted)

    def _add_flags(self, row: Row, number: int, flag: tuple[str, Style], styles: Palette) -> Row:
        glyphs = look_of(self).glyphs
        signs = {"+": (glyphs.added, styles.added_mark), "-": (glyphs.removed, styles.removed_mark)}
        sign = self._writes.get(number)
        row.pad_to(self._change_column)
        row.add(*signs.get(sign, (glyphs.changed, styles.changed_mark)) if sign else (" ", None))
        return row.add(*flag)

    def _flag(self, step: Step, styles: Palette) -> tuple[str, Style]:
        glyphs = look_of(self).glyphs
        if step.number in self._waiting:
            return glyphs.person, styles.yours
        if step.number in self._edited:
            return glyphs.edited, styles.yours
        if step.number in self._diverged:
            return glyphs.differs, styles.yours
        if step.status == "error":
            return glyphs.failed, styles.failed
        if step.status == "interrupted":
            return glyphs.interrupted, styles.changed_mark
        if step.status == "running" and self._model.run.status != "running":
            return glyphs.unknown, styles.changed_mark
        return (glyphs.same, styles.muted) if step.repeat_of is not None else (" ", styles.muted)

    def _name_style(self, step: Step, styles: Palette) -> Style:
        if step.status == "error":
            return styles.failed
        if styles.on_cursor_row:
            return styles.strong
        return styles.muted if step.repeat_of is not None or step.inherited else styles.text
