"""The debugger's panes, and how they share the screen."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.containers import Container, Vertical

from agent_tt_tui.chrome import HeaderRow, Pane, PaneTitle
from agent_tt_tui.feature import Feature, hears
from agent_tt_tui.look import look_of
from agent_tt_tui.viewmodel.debugger.debugger_layout import DebuggerLayout
from agent_tt_tui.widgets.debugger.call_view import CallPane
from agent_tt_tui.widgets.debugger.diff_pane import DiffPane
from agent_tt_tui.widgets.debugger.inspector import Inspector
from agent_tt_tui.widgets.debugger.run_header import run_header, timeline_hint
from agent_tt_tui.widgets.debugger.scrubber import Scrubber
from agent_tt_tui.widgets.debugger.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.widget import AwaitMount, Widget

    from agent_tt_tui.lines import LineView
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.running.approvals import Waiting
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.widgets.debugger.find_panel import FindPanel


class LowerPane(NamedTuple):
    """A pane that can stand below the inspector, in the place of the diff.

    Attributes:
        pane: The pane.
        lines: What has the focus in it.
        is_open: Tells whether it is wanted.
        rows: Tells how many rows it gets of a layout, title included.
        needs: Tells how many rows the layout is to plan for it; None plans as many as for the diff.
    """

    pane: Pane
    lines: LineView
    is_open: Callable[[], bool]
    rows: Callable[[DebuggerLayout], int]
    needs: Callable[[], int] | None = None


class Panes(Feature):
    """Timeline, inspector, calls, find panel and scrubber of one run, and below the inspector one of several panes."""

    COMMANDS = frozenset({"pane.zoom", "pane.grow", "pane.shrink"})

    def __init__(self, screen: CommandScreen[None], model: RunModel) -> None:
        """Make the panes.

        Args:
            screen: The screen that shows them.
            model: The run.
        """
        self._screen = screen
        self._model = model
        self.timeline = Timeline(model)
        self.inspector = Inspector()
        self.diff = DiffPane()
        self.scrubber = Scrubber(model)
        self.call_pane = CallPane()
        self.timeline_pane = Pane(PaneTitle("Timeline"), self.timeline, id="timeline-pane")
        self.zoomed = False
        """Whether the pane in focus has the whole screen."""
        self.grown = (0, 0)
        """How many times a person made the timeline wider and the pane below the inspector higher."""
        self.lower: list[LowerPane] = []
        """What features show below the inspector: the first that is open stands there, else the diff."""
        self.opens_lower = False
        """Whether one of these is open from the beginning."""
        self._diff = LowerPane(self.diff, self.diff.lines, lambda: True, lambda plan: plan.diff)
        self._side = Vertical(id="inspector-side")
        self._body = Container(id="debugger-body")
        self._number = 0
        self._waits = False
        self._shown_pane: Widget | None = None
        self._has_call_pane = False
        self._diff_needs = 0
        self._hidden: tuple[AwaitMount, ...] | None = None
        """What is being mounted behind the first frame; None before, and nothing when it is."""

    def compose(self) -> ComposeResult:
        """Lay out header, timeline, inspector with the diff below it, calls and scrubber."""
        yield HeaderRow(run_header(self._model, look_of(self._screen).glyphs))
        with self._body:
            yield self.timeline_pane
            with self._side:
                yield self.inspector
                yield from self._lower() if self.opens_lower else ()
                yield self.diff
            yield self.call_pane
        yield self.scrubber

    async def mount_hidden(self) -> None:
        """Mount what is hidden until a key opens it, once: the first frame does not wait for it, a key does."""
        is_laid_out = all(pane.is_attached for pane in (self._side, self.inspector, self.scrubber))
        if self._hidden is None and is_laid_out:
            self._hidden = (
                self._side.mount_all(self._lower(), before=self.diff),
                self._screen.mount(self.find_panel, before=self.scrubber),
                self.inspector.mount_hidden(),
            )
        for mounted in self._hidden or ():
            await mounted
        if self._hidden:
            self._hidden = ()  # each time that one is awaited Textual lays out anew

    @cached_property
    def find_panel(self) -> FindPanel:
        """What finds."""
        from agent_tt_tui.widgets.debugger.find_panel import FindPanel

        return FindPanel(self._model.kind_of)

    def _lower(self) -> Sequence[Pane]:
        """The panes below the inspector that are not mounted yet."""
        return [lower.pane.add_class("lower") for lower in self.lower if not lower.pane.is_attached]

    # What concerns the whole run.

    def refresh_run(self) -> None:
        """Show again what concerns the whole run."""
        self.refresh_header()
        self._show_hint()
        self.timeline.refresh_run()
        self.scrubber.refresh()
        self._screen.refresh_footer()
        self.share()

    def refresh_header(self) -> None:
        """Show the header anew."""
        state = run_header(self._model, look_of(self._screen).glyphs, waits=self._waits)
        self._screen.query_one(HeaderRow).state = state

    def show_waiting(self, waiting: Sequence[Waiting]) -> None:
        """Say in the header and at its step what waits."""
        self._waits = bool(waiting)
        self.timeline.show_waiting(frozenset(each.question.step for each in waiting))
        self.refresh_header()

    def show_step(self, number: int) -> None:
        """Put the cursor on a step."""
        self._number = number
        self._show_hint()
        self.timeline.show_step(number)
        self.scrubber.show_step(number)

    def _show_hint(self) -> None:
        hint = timeline_hint(self._model, self._number, self.timeline.size.width, look_of(self._screen))
        self.timeline_pane.title_row.hint = hint

    # Calls, which stand in the inspector, or beside it where the screen is wide.

    def show_call(self, number: int | None) -> None:
        """Show a call of the step, by its number from 1; None shows those that there are."""
        if self.call_pane.display:
            self.call_pane.go_to(number)
        else:
            self.inspector.show_call(number)

    def show_outcome(self) -> None:
        """Show what came back of the call that is shown."""
        (self.call_pane if self.call_pane.display else self.inspector).call_view.show_outcome()

    # Sharing the screen.

    @hears(events.Resize)
    def _on_resize(self, _event: events.Resize) -> None:
        self.share()

    @hears(Inspector.TabShown)
    def _on_tab_shown(self, _message: Inspector.TabShown) -> None:
        """Show the calls once: they are in a tab, or in a pane."""
        self.share()

    @hears(events.DescendantFocus)
    def _on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """Where there is room for one pane, show the one in focus."""
        self.share()

    def share(self) -> None:
        """Share the screen between the panes."""
        overview, size, below = self._model.overview, self._screen.size, self._below
        plan = DebuggerLayout.plan(
            size.width,
            size.height,
            lanes=len(overview.lanes),
            depth=overview.deepest,
            diff_needs=self._diff_needs if below.needs is None else below.needs(),
            timeline_needs=None if self.inspector.tab == "Call" else self.timeline.line_count + 1,
            grown=self.grown,
        )
        self._has_call_pane = plan.call > 0 or plan.card > 0
        if not self._has_call_pane and self._screen.focused is self.call_pane.call_view:
            self.timeline.focus()
        alone = self._alone() if plan.one_pane or self.zoomed or self._is_in_context else None
        self.timeline_pane.display = alone in (None, self.timeline_pane)
        self._side.display = alone in (None, self.inspector, below.pane)
        self.call_pane.display = self._has_call_pane and alone in (None, self.call_pane)
        self._lay_grid(plan, alone=alone is not None)
        self.inspector.display = alone in (None, self.inspector)
        for lower in (*self.lower, self._diff):
            lower.pane.display = lower is below and alone in (None, lower.pane)
            lower.pane.styles.height = "1fr" if alone is lower.pane else lower.rows(plan)
        self.diff.lines.whole = alone is self.diff
        self.inspector.state_tree.show_old(shows_old=not self.diff.display or plan.diff == 1)
        self.scrubber.styles.height = max(plan.scrubber, 2) if self.scrubber.shows_hits else plan.scrubber
        # How much of it fits is known once the timeline has its new width.
        self._screen.call_after_refresh(self._show_hint)

    @property
    def _is_in_context(self) -> bool:
        """Whether somebody looks at what a model was shown, which takes the whole screen."""
        return self.inspector.tab == "Context" and self.inspector.has_focus_within

    def _lay_grid(self, plan: DebuggerLayout, *, alone: bool) -> None:
        """Put the timeline at the left, the calls below it or at the right, and the state beside."""
        columns = [plan.timeline, "1fr", plan.call] if plan.call else [plan.timeline, "1fr"]
        rows = ["1fr", plan.card] if plan.card and not alone else ["1fr"]
        grid, side = self._body.styles, self._side.styles
        grid.grid_size_columns = 1 if alone else len(columns)
        grid.grid_size_rows = len(rows)
        grid.grid_columns = "1fr" if alone else " ".join(map(str, columns))
        grid.grid_rows = " ".join(map(str, rows))
        side.row_span = len(rows)

    def _alone(self) -> Widget:
        """The pane to show where there is room for one."""
        focused = self._screen.focused
        for pane in self._all():
            if focused is not None and pane in focused.ancestors_with_self:
                self._shown_pane = pane
        if self._shown_pane is self.call_pane and not self._has_call_pane:
            self._shown_pane = None
        return self._shown_pane or self.timeline_pane

    def _all(self) -> tuple[Widget, ...]:
        return self.timeline_pane, self.inspector, self._below.pane, self.call_pane

    @property
    def _below(self) -> LowerPane:
        """The pane below the inspector."""
        return next((lower for lower in self.lower if lower.is_open()), self._diff)

    def show_all(self) -> None:
        """Show all panes, those that are hidden for lack of room included, so that each can get the focus."""
        for pane in (*self._all(), self._side):
            pane.display = pane is not self.call_pane or self._has_call_pane

    def look_into_inspector(self) -> None:
        """Go to the inspector where another pane hides it."""
        if not (self.inspector.display and self._side.display):
            self.show_all()
            self.inspector.focus_shown()

    def make_room_for_diff(self) -> None:
        """Give the diff pane the rows it needs, and what it does not need to the state."""
        if self.diff.needed != self._diff_needs:
            self._diff_needs = self.diff.needed
            self.share()

    # What keys do.

    def action_zoom(self) -> None:
        """Give the pane in focus the whole screen, or take it back."""
        self.zoomed = not self.zoomed
        self.share()

    def action_resize_pane(self, by: int) -> None:
        """Make the pane in focus larger or smaller."""
        columns, rows = self.grown
        focused = self._screen.focused
        in_timeline = focused is self.timeline
        in_lower = any(focused is lower.lines for lower in (*self.lower, self._diff))
        self.grown = (columns + (by if in_timeline else 0 if in_lower else -by), rows + (by if in_lower else 0))
        self.share()

    def escape(self) -> bool:
        """Take back the whole screen from a pane."""
        if not self.zoomed:
            return False
        self.action_zoom()
        return True
