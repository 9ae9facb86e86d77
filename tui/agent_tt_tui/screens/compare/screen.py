"""Two runs side by side: steps aligned, states at the selected pair, how each ended; live while one runs."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.containers import Vertical
from textual.worker import get_current_worker

from agent_tt.comparing.runs.call_changes import call_changes
from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt.comparing.values.states import compare_states
from agent_tt.errors import AgentTTError, Interrupted
from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.format import counted
from agent_tt_tui.keymaps import COMPARE
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.golden.opening import Goldens
from agent_tt_tui.screens.running.approvals import Approvals
from agent_tt_tui.screens.running.copied import copy_command
from agent_tt_tui.screens.running.run_control import RunControl
from agent_tt_tui.viewmodel.runs.alike import alike_places
from agent_tt_tui.viewmodel.runs.compare_calls import (
    PairCalls,
    pair_blocks,
    places_at_the_right,
    read_pair,
    without_seen,
)
from agent_tt_tui.viewmodel.runs.compare_why import why_blocks
from agent_tt_tui.viewmodel.runs.comparison import CompareView, Shown, read_comparison, read_states
from agent_tt_tui.widgets.runs.compare_frame import CompareHeader, PairStrip, SideTitles
from agent_tt_tui.widgets.runs.compare_state import CompareState
from agent_tt_tui.widgets.runs.compare_steps import CompareSteps
from agent_tt_tui.widgets.runs.compare_text import CompareText
from agent_tt_tui.widgets.runs.outcome import LivePane, OutcomePane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

    from agent_tt.comparing.runs.comparison import Row
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.screens.running.approvals import Waiting
    from agent_tt_tui.viewmodel.runs.alike import Alike

_POLL_SECONDS: Final = 0.2
_TALL_FROM: Final = 30
_LOW_BELOW: Final = 18
_FRAME_ROWS: Final = 3
"""Header, strip and footer."""
_LEAST_STEPS, _MOST_STEPS = 3, 11
_LEAST_STATE: Final = 5
_COLUMNS_FROM: Final = 180
"""From so many columns on steps, state and calls stand beside each other."""

_MOST_ALIKE: Final = 500
"""Values that both states have in common of which it is known how they read."""

_OUTPUT_BYTES: Final = 2_000
_SAID: Final[dict[Shown, str]] = {
    "folded": "what is the same is folded",
    "differences": "only what differs",
    "all": "every pair",
}
"""What is said of how pairs are shown that are the same, in the order in which the key goes through."""


class _Found(NamedTuple):
    """What was read of a pair.

    Attributes:
        at: The checkpoints of A and B.
        pair: The calls of both steps.
        calls: What differs between those, for a screen without a column of its own for them.
        changes: What differs in the states.
        alike: What is the same in both.
        trouble: What could not be read; empty where all could.
    """

    at: tuple[int, int]
    pair: PairCalls = PairCalls()
    calls: Sequence[Change] = ()
    changes: Sequence[Change] = ()
    alike: Sequence[Alike] = ()
    trouble: str = ""


class CompareScreen(CommandScreen[None]):
    """Run A beside run B."""

    CONTEXT = COMPARE
    AUTO_FOCUS = "CompareSteps"
    HELP = "Two runs, aligned by what each step did: equal pairs are muted, the place where they part is marked."

    def __init__(
        self, source_a: RunSource, run_a: Run, source_b: RunSource, run_b: Run, handle: RunHandle | None = None
    ) -> None:
        """Compare two runs.

        Args:
            source_a: Where run A is.
            run_a: Run A.
            source_b: Where run B is; may be the same.
            run_b: Run B; may still be running.
            handle: The process that fills run B, if it was started here.
        """
        super().__init__()
        self._control = RunControl(self, self.shown_runs, self.source_of)
        self.features = (
            self._control,
            Approvals(self, self._watched, self._show_waiting, opens_by_itself=True),
            Goldens(self, lambda: self._sides[1]),
        )
        self._sides = ((source_a, run_a), (source_b, run_b))
        self._handle = handle
        self._view: CompareView | None = None
        self._versions: tuple[int, int] | None = None
        self._reading = False
        self._shown: Shown = "folded"
        self._following = self._tells_end = run_b.status == "running"
        self._settled = False
        """Whether the processes that were started here had ended, and written down how, before the last reading."""
        self._zoomed = self._low = self._in_columns = False
        self._shared: tuple[int | str, int] = (0, 0)
        self._found: _Found | None = None
        """What was read of the pair under the cursor; None before that, and where there is nothing to compare yet."""
        self._looking: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out header, steps, state, outcome, strip and footer."""
        yield CompareHeader()
        with Vertical(id="compare-body"):
            with Vertical(id="compare-left"):
                with Vertical(id="compare-steps"):
                    yield SideTitles()
                    yield CompareSteps()
                yield CompareText(id="compare-why")
            yield Pane(PaneTitle("State"), CompareState(), id="compare-state", classes="ground")
            yield Pane(PaneTitle("Calls"), CompareText(id="compare-said"), id="compare-calls")
        yield OutcomePane(id="compare-outcome")
        yield LivePane(id="compare-live")
        yield PairStrip()
        yield self.footer()

    def on_mount(self) -> None:
        """Read the comparison and follow both stores."""
        if self._handle is not None:
            forks_of(self).add(self._sides[1][1].name, self._handle)
        self.query_one(CompareHeader).runs = (self._sides[0][1], self._sides[1][1])
        self.query_one(SideTitles).runs = (self._sides[0][1], self._sides[1][1])
        self._show_live()
        self._say_comparing()
        self._look()
        self._looking = self.set_interval(_POLL_SECONDS, self._look)

    def on_resize(self, event: events.Resize) -> None:
        """Share the rows, and the columns where there are many; where there are few rows, one pane has all."""
        self._low = event.size.height < _LOW_BELOW
        in_columns = event.size.width >= _COLUMNS_FROM and not self._low
        if in_columns != self._in_columns:
            self._in_columns = in_columns
            self.set_class(in_columns, "in-columns")
            self.query_one(CompareHeader).packed = self.query_one(SideTitles).in_column = in_columns
            self.query_one(OutcomePane).counts_tools = not in_columns
            self.query_one(CompareSteps).show_in_column(in_column=in_columns)
            self._show_found()
        self._share_rows()

    # Reading.

    def _say_comparing(self) -> None:
        steps = sum(run.steps for run in self.shown_runs())
        busy = f"comparing {steps:,} steps, {self.key('app.escape')} gives up"
        self.query_one("#compare-state", Pane).title_row.busy = busy

    @property
    def _over(self) -> bool:
        """Whether both runs, and what was started here, had ended when they were read last: then no more can come."""
        return self._settled and self._view is not None and all(run.status != "running" for run in self.shown_runs())

    def _look(self) -> None:
        """Read anew when a store has changed; one reading at a time, so that a slow one still ends."""
        if self._over:
            if self._looking is not None:
                self._looking.pause()
        elif not self._reading:
            self._reading = True
            self.run_worker(self._read, group="compare", thread=True, exit_on_error=False)

    def _read(self) -> None:
        worker, settled = get_current_worker(), self._control.own_fork() is None
        try:
            (source_a, run_a), (source_b, run_b) = self._sides
            versions = (source_a.version(), source_b.version())
            if versions == self._versions and (self._view is None or self._view.comparison.b.status != "running"):
                return
            if versions != self._versions:
                run_a, run_b = source_a.run(run_a.id), source_b.run(run_b.id)
                view = read_comparison(source_a, run_a, source_b, run_b, cancelled=lambda: worker.is_cancelled)
                if not worker.is_cancelled:
                    self.app.call_from_thread(self._show, view, versions)
            elif not worker.is_cancelled:
                self.app.call_from_thread(self._refresh_live)
        except Interrupted:
            return
        except AgentTTError as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self.say, error.message, None)
        finally:
            self._reading = False
            if settled and not self._settled and not worker.is_cancelled:
                self._settled = True
                self.app.call_from_thread(self.refresh_footer)

    def _show(self, view: CompareView, versions: tuple[int, int]) -> None:
        if view.comparison.a.id != self._sides[0][1].id:
            return  # the sides were swapped meanwhile
        first = self._view is None
        self._view, self._versions = view, versions
        runs = (view.comparison.a, view.comparison.b)
        self._sides = ((self._sides[0][0], runs[0]), (self._sides[1][0], runs[1]))
        self.query_one(CompareHeader).runs = self.query_one(SideTitles).runs = runs
        self.query_one(OutcomePane).view = self.query_one(LivePane).view = view
        self.query_one(PairStrip).pairs = view.comparison.rows
        self.query_one(SideTitles).lanes = view.comparison.lanes
        steps = self.query_one(CompareSteps)
        lines = view.lines(self._shown)
        steps.show(view, lines)
        self.query_one("#compare-why", CompareText).show(partial(why_blocks, view))
        self._share_rows()
        if first:
            steps.go_to(view.opening_line(lines))
        elif self._following and runs[1].status == "running":
            steps.go_to(len(lines) - 1)
        elif self._following:
            # The last step of a run that has ended says less than where it parted from the other.
            self._following = False
            steps.go_to(view.opening_line(lines))
        if self._tells_end and runs[1].status != "running":
            self._say_edits_without_effect(runs[1])
        self._show_live()
        self._select()
        self.refresh_footer()

    def _say_edits_without_effect(self, run: Run) -> None:
        """Say of a fork that has just ended which of its edits changed nothing, and why."""
        unmade = edits_without_effect(run)
        if unmade:
            self._tells_end = False
            first, more = unmade[0], f", and {len(unmade) - 1} more" if len(unmade) > 1 else ""
            self.say(f"no effect: {first.edit.where or 'the whole state'}{more}: {first.reason}", None)

    def _show_live(self) -> None:
        live = any(run.status == "running" for _, run in self._sides)
        self.query_one(LivePane).display = live
        self.query_one(OutcomePane).display = not live
        self._refresh_live()

    def _refresh_live(self) -> None:
        pane = self.query_one(LivePane)
        lines = forks_of(self).output(self._sides[1][1].id, _OUTPUT_BYTES).rstrip().splitlines()
        pane.last_output = lines[-1] if lines else ""
        pane.refresh()
        self.query_one(CompareSteps).refresh_lines_data()

    # The state at the selected pair.

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show the states at the pair that the cursor came to."""
        if isinstance(message.view, CompareSteps):
            self._select()

    def _select(self) -> None:
        line, view = self.query_one(CompareSteps).current, self._view
        if line is None or line.row is None or view is None:
            return
        row = line.row
        self.query_one(PairStrip).current = view.comparison.rows.index(row)
        if row.kind == "pending":
            self._show_pending(row)
            return
        self.run_worker(
            lambda: self._read_states(view, row), group="states", exclusive=True, thread=True, exit_on_error=False
        )

    def _show_pending(self, row: Row) -> None:
        """Say that a run has not come to a pair: there is nothing to compare yet, and so nothing that differs."""
        self.workers.cancel_group(self, "states")
        sides = {"A": row.a, "B": row.b}
        missing = next((side for side, step in sides.items() if step is None), "")
        here = f"{missing} has not come to this step yet" if missing else "this step is not over yet"
        title = self.query_one("#compare-state", Pane).title_row
        title.busy, title.detail = "", here
        self._found = None
        self.query_one(CompareState).show((), (), here)
        self.query_one("#compare-said", CompareText).show(lambda _columns, _glyphs: ())

    def _read_states(self, view: CompareView, row: Row) -> None:
        worker = get_current_worker()
        found = _Found(view.states_at(row))
        try:
            sides = zip(self._sides, (row.a, row.b), strict=True)
            both = [[] if step is None else source.calls(run.id, step) for (source, run), step in sides]
            found = found._replace(pair=read_pair(*both))
            if row.a is not None and row.b is not None:
                found = found._replace(calls=call_changes(*both))
            states = read_states(self._sides, found.at)
            changes = compare_states(*states)
            places = alike_places(states[0], states[1], [change.path for change in changes])
            alike = islice(places, _MOST_ALIKE)
            found = found._replace(changes=changes, alike=list(alike))
        except AgentTTError as error:
            found = found._replace(trouble=error.message)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_states, found)

    def _show_states(self, found: _Found) -> None:
        self._found = found
        self._show_found()

    def _show_found(self) -> None:
        """Show what was read of the pair: in columns the calls have one, else they stand above the state."""
        from agent_tt_tui.look import look_of

        found = self._found
        if found is None:
            return
        glyphs = look_of(self).glyphs
        title = self.query_one("#compare-state", Pane).title_row
        calls = () if self._in_columns else found.calls
        trouble = found.trouble
        differ = bool(calls) or any(change.makes_a_difference for change in found.changes)
        sign = glyphs.differs if differ else glyphs.unknown if trouble else glyphs.same
        count = counted(len(found.changes), "path")
        if calls:
            count = f"{len(calls)} in the calls, {len(found.changes)} in the state"
        if trouble:
            count = f"{count}   {glyphs.failed} {trouble}"
        title.busy = ""
        title.detail = f"A {found.at[0]} {sign} B {found.at[1]}   {count}"
        edited = [edit.path for edit in self._sides[1][1].edits if edit.target == "state"]
        note = f"{glyphs.failed} {trouble}" if trouble else "the states are equal here"
        state = self.query_one(CompareState)
        if not self._in_columns:
            state.show([*calls, *found.changes], edited, note)
            return
        alike = without_seen(found.alike, found.pair)
        state.show(found.changes, edited, note, alike, places_at_the_right(found.pair, found.changes, glyphs.to))
        self.query_one("#compare-calls", Pane).title_row.title = (
            "What the model saw and said" if found.pair.models else "Calls"
        )
        said = self.query_one("#compare-said", CompareText)
        said.show(lambda columns, glyphs: pair_blocks(found.pair, found.changes, columns, glyphs))

    # What keys do.

    def _watched(self) -> Sequence[tuple[RunSource, str | None]]:
        """The runs that are running."""
        return [(source, run.id) for source, run in self._sides if run.status == "running"]

    def _show_waiting(self, waiting: Sequence[Waiting]) -> None:
        """Say in the header and at its step what waits."""
        self.query_one(CompareHeader).waiting = frozenset(each.question.run_id for each in waiting)
        steps = self.query_one(CompareSteps)
        steps.waiting = frozenset((each.question.run_id, each.question.step) for each in waiting)
        steps.refresh_lines_data()

    def shown_runs(self) -> Sequence[Run]:
        """A and B, as they were read last."""
        return [run for _, run in self._sides]

    def source_of(self, run: Run) -> RunSource:
        """Where A or B lies."""
        return next(source for source, shown in self._sides if shown is run)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        running = any(run.status == "running" for _, run in self._sides)
        if command_id == "live.follow" and not running:
            return "neither run is still running"
        if command_id == "live.follow" and self._following:
            return "the newest step is followed already"
        return super().blocked(command_id)

    def _follow(self, *, on: bool) -> None:
        self._following = on
        self.refresh_footer()

    def action_pair(self, rows: int) -> None:
        """Go to another pair."""
        self._follow(on=False)
        self.query_one(CompareSteps).action_move(rows)

    def action_end_pair(self, direction: int) -> None:
        """Go to the first or the last pair."""
        self.action_pair(direction * self.query_one(CompareSteps).line_count)

    def action_difference(self, direction: int) -> None:
        """Go to the next difference."""
        self._follow(on=False)
        if not self.query_one(CompareSteps).next_difference(direction):
            self.say("no further difference" if direction > 0 else "no difference before this one")

    def action_copy_command(self) -> None:
        """Copy the command that compares the two."""
        from agent_tt_tui.viewmodel.running.as_command import compare_command

        (source_a, run_a), (source_b, run_b) = self._sides
        copy_command(self, lambda: compare_command(source_a, run_a, source_b, run_b))

    def action_swap(self) -> None:
        """Swap A and B."""
        self._sides = (self._sides[1], self._sides[0])
        self._versions = self._view = None
        self._say_comparing()
        self.query_one(CompareHeader).runs = self.query_one(SideTitles).runs = (self._sides[0][1], self._sides[1][1])
        self.query_one(SideTitles).lanes = ()

    def action_only_differences(self) -> None:
        """Show only what differs, then every pair, then fold what is the same again."""
        order = list(_SAID)
        self._shown = order[(order.index(self._shown) + 1) % len(order)]
        if self._view is not None:
            self.query_one(CompareSteps).show(self._view, self._view.lines(self._shown))
            self._share_rows()
        self.say(_SAID[self._shown])

    def action_inline(self) -> None:
        """Show A above B, in the steps and in the state, or beside it again."""
        titles, steps = self.query_one(SideTitles), self.query_one(CompareSteps)
        titles.inline = not titles.inline
        steps.show_inline(inline=titles.inline)
        self.query_one(CompareState).show_inline(inline=titles.inline)
        self._share_rows()
        self.say("A above B" if titles.inline else "A beside B, where there is room")

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Open a run at the chosen step: B's where it has one."""
        if isinstance(message.view, CompareSteps):
            self._open_here()

    def _open_here(self) -> None:
        line = self.query_one(CompareSteps).current
        if line is None or line.row is None:
            return
        (source_a, run_a), (source_b, run_b) = self._sides
        if line.row.b is not None:
            self.post_message(OpenRun(source_b, run_b, line.row.b))
        else:
            self.post_message(OpenRun(source_a, run_a, line.row.a))

    def action_follow(self) -> None:
        """Go along with the newest step."""
        self._follow(on=True)
        steps = self.query_one(CompareSteps)
        steps.go_to(len(steps.lines) - 1)

    def action_zoom(self) -> None:
        """Give the steps or the state all rows between header and footer, or take them back."""
        self._zoomed = not self._zoomed
        self._share_rows()

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """The pane that takes the focus takes over the rows as well."""
        self._share_rows()

    def action_escape(self) -> None:
        """Take back the whole screen from a pane; while the runs are first compared, give up."""
        if self._zoomed:
            self.action_zoom()
        elif self._view is None:
            self.workers.cancel_group(self, "compare")
            self.action_back()

    def _share_rows(self) -> None:
        panes = ("state", "calls", "left")
        focused = next((pane for pane in panes if self.query_one(f"#compare-{pane}").has_focus_within), "left")
        alone = focused if self._zoomed or self._low else ""
        self.query_one(SideTitles).active = self.focused is self.query_one(CompareSteps)
        for pane in panes:
            self.set_class(alone == pane, f"only-{pane}")
        self._share_with_outcome(alone)

    def _share_with_outcome(self, alone: str) -> None:
        """Give the steps the rows they have, and the outcome what it needs of at most half of the rest.

        That goes by both runs, not by the pair: nothing moves from one pair to the next.
        """
        outcome, size = self.query_one(OutcomePane), self.size
        outcome.has_title = size.height >= _TALL_FROM
        if not size.height:
            return
        most = size.height * 3 // 5 if outcome.has_title else _MOST_STEPS
        # Before there is something to show, about as many as there will be.
        wanted = max(self.query_one(CompareSteps).line_count, _LEAST_STEPS) if self._view is not None else _MOST_STEPS
        steps = min(wanted + 1, most)
        left = size.height - _FRAME_ROWS - outcome.least - (0 if self._in_columns else steps)
        spare = 0 if self._low else max(0, min(left // 2, left - _LEAST_STATE))
        rows = min(outcome.needed(size.width), outcome.least + spare)
        if not self._in_columns and alone in ("left", "state"):
            shared: tuple[int | str, int] = ("1fr" if alone == "left" else 0, rows)
        else:
            shared = (steps, rows)
        if shared != self._shared:
            self._shared = shared
            self.query_one("#compare-steps").styles.height = shared[0]
            outcome.styles.height = self.query_one(LivePane).styles.height = rows
