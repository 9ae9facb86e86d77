"""The debugger's panes, and how they share the screen."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from textual import events

from agent_tt_tui.chrome import HeaderRow, Pane
from agent_tt_tui.feature import Feature, hears
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger.pane_layout import PanesBody
from agent_tt_tui.text import clean, cut
from agent_tt_tui.viewmodel.debugger.debugger_layout import GROW_COLUMNS, GROW_ROWS, WIDE_FROM, DebuggerLayout, Rect
from agent_tt_tui.widgets.debugger.call_view import CallPane
from agent_tt_tui.widgets.debugger.diff_pane import DiffPane
from agent_tt_tui.widgets.debugger.inspector import Inspector
from agent_tt_tui.widgets.debugger.run_header import run_header, timeline_hint
from agent_tt_tui.widgets.debugger.scrubber import Scrubber
from agent_tt_tui.widgets.debugger.timeline import Timeline, TimelineTitle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.app import ComposeResult
    from textual.widget import AwaitMount, Widget

    from agent_tt_tui.lines import LineView
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.running.approvals import Waiting
    from agent_tt_tui.viewmodel.debugger.folding import Narrowed
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.widgets.debugger.call_view import CallView
    from agent_tt_tui.widgets.debugger.context_growth import GrowthPane
    from agent_tt_tui.widgets.debugger.find_panel import FindPanel


_LEAST_BARS, _MOST_BARS = 3, 1_000
"""Steps that asked models, from which on and up to which there is a chart of the context."""

_NARROWED_TITLE = 14
"""Columns of the timeline's title and what is free beside it."""


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
        self.timeline_pane = Pane(
            TimelineTitle(self._title_words), self.timeline.head, self.timeline, id="timeline-pane"
        )
        self.zoomed = False
        """Whether the pane in focus has the whole screen."""
        self.grown = (0, 0)
        """Columns and rows by which a person made the timeline wider and the pane below the inspector higher."""
        self.lower: list[LowerPane] = []
        """What features show below the inspector: the first that is open stands there, else the diff."""
        self.opens_lower = False
        """Whether one of these is open from the beginning."""
        self._diff = LowerPane(self.diff, self.diff.lines, lambda: True, lambda plan: plan.diff)
        self._body = PanesBody()
        self._number = 0
        self._narrowed_by = ("", "")
        """What the timeline's steps were asked for with, and what stands after their number."""
        self._waits = False
        self._shown_pane: Widget | None = None
        self._has_call_pane = False
        self._diff_needs = 0
        self._placed: tuple[DebuggerLayout, int, Widget, Widget | None] | None = None
        """By what the panes have their places."""
        self.growth: GrowthPane | None = None
        """How the context grows, below a short timeline on a wide screen; None until there is room for it."""
        self._hidden: tuple[AwaitMount, ...] | None = None
        """What is being mounted behind the first frame; None before, and nothing when it is."""

    def compose(self) -> ComposeResult:
        """Lay out header, timeline, inspector with the diff below it, calls and scrubber."""
        yield HeaderRow(run_header(self._model, look_of(self._screen).glyphs))
        with self._body:
            yield self.timeline_pane
            yield self.inspector
            yield from self._lower() if self.opens_lower else ()
            yield self.diff
            yield self.call_pane
        yield self.scrubber

    async def mount_hidden(self) -> None:
        """Mount what is hidden until a key opens it, once: the first frame does not wait for it, a key does."""
        is_laid_out = all(pane.is_attached for pane in (self._body, self.inspector, self.scrubber))
        if self._hidden is None and is_laid_out:
            self._hidden = (
                self._body.mount_all(self._lower(), before=self.diff),
                self._screen.mount(self.find_panel, before=self.scrubber),
                self.inspector.mount_hidden(),
            )
        for mounted in self._hidden or ():
            await mounted
        if self._hidden:
            self._hidden = ()  # each time that one is awaited Textual lays out anew
            if self._screen.size.width >= WIDE_FROM:
                self.share()  # the chart may have room, which the first frame does not wait for

    @cached_property
    def find_panel(self) -> FindPanel:
        """What finds."""
        from agent_tt_tui.widgets.debugger.find_panel import FindPanel

        return FindPanel(self._model.kind_of)

    @property
    def call_view(self) -> CallView:
        """What shows the calls of the step: the tab where it is open, else the column."""
        return self.inspector.call_view if self.inspector.tab == "Call" else self.call_pane.call_view

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

    def narrow(self, narrowed: Narrowed | None, text: str, *, is_complete: bool) -> None:
        """Show in the timeline only some steps and those beside them.

        Args:
            narrowed: The steps; None for all.
            text: What they were asked for with.
            is_complete: Whether these are all of them.
        """
        self.timeline.show_narrowed(narrowed)
        self._narrowed_by = (clean(text), "" if is_complete else "+")
        self._show_hint()

    def show_step(self, number: int) -> None:
        """Put the cursor on a step."""
        self._number = number
        self._show_hint()
        self.timeline.show_step(number)
        self.scrubber.show_step(number)
        self._show_growth()

    def _mount_growth(self) -> None:
        """Mount the chart of context growth when the screen is first wide enough, then lay out the panes again."""
        from agent_tt_tui.widgets.debugger.context_growth import GrowthPane

        self.growth = GrowthPane()
        self.growth.display = False
        self._body.mount(self.growth)
        self._screen.call_after_refresh(self.share)

    def _show_growth(self) -> None:
        if self.growth is not None and self.growth.display:
            self.growth.show(self._sent(), self._number)

    def _sent(self) -> Sequence[tuple[int, int]]:
        """What each step sent to models, of a run whose steps can be told apart in a chart."""
        last = self._model.last
        if last > _MOST_BARS:
            return ()
        steps = [step for number in range(1, last + 1) if (step := self._model.peek(number)) is not None]
        return [(step.number, step.tokens_in) for step in steps if step.tokens_in]

    def _show_hint(self) -> None:
        self.timeline_pane.title_row.refresh()

    def _title_words(self, columns: int) -> tuple[str, str]:
        """What stands behind the title of the timeline, and at the right of it, in so many columns."""
        narrowed = self.timeline.narrowed
        if narrowed is None:
            return "", timeline_hint(self._model, self._number, columns, look_of(self._screen))
        text, more = self._narrowed_by
        hint = f"{len(narrowed.steps):,}{more} of {narrowed.looked:,}"
        return cut(f"/ {text}", columns - len(hint) - _NARROWED_TITLE, look_of(self._screen).glyphs.cut), hint

    @property
    def has_call_column(self) -> bool:
        """Whether the calls have a column of their own; then they are in no tab."""
        return not self.inspector.has_call_tab

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
        overview, below = self._model.overview, self._below
        size = self._screen.size or self._screen.app.size  # it has none before it is laid out
        shows_head = size.width >= WIDE_FROM or look_of(self._screen).columns is not None
        self.timeline.head.display = shows_head
        plan = DebuggerLayout.plan(
            size.width,
            size.height,
            lanes=len(overview.lanes),
            depth=overview.deepest,
            diff_needs=self._diff_needs if below.needs is None else below.needs(),
            timeline_needs=None if self.inspector.tab == "Call" else self.timeline.needed_rows + 1 + shows_head,
            holds_names=self.timeline.holds_names,
            grown=self.grown,
            has_chart=self.growth is not None and len(self._sent()) >= _LEAST_BARS,
        )
        if plan.call and self.growth is None and self._hidden is not None and len(self._sent()) >= _LEAST_BARS:
            self._mount_growth()
        self._has_call_pane = plan.call > 0 or plan.card > 0
        self.inspector.show_call_tab(shows=not plan.call)
        if not self._has_call_pane and self._screen.focused is self.call_pane.call_view:
            self.timeline.focus()
        alone = self._alone() if plan.one_pane or self.zoomed or self._is_in_context else None
        self.timeline_pane.display = alone in (None, self.timeline_pane)
        self.call_pane.display = self._has_call_pane and alone in (None, self.call_pane)
        if self.growth is not None:
            self.growth.display = plan.chart > 0 and alone is None
            self._show_growth()
        self._place(plan, below, alone)
        self.inspector.display = alone in (None, self.inspector)
        for lower in (*self.lower, self._diff):
            lower.pane.display = lower is below and alone in (None, lower.pane)
        self.diff.lines.whole = alone is self.diff
        self.inspector.state_tree.show_old(shows_old=not self.diff.display or plan.diff == 1)
        self.scrubber.styles.height = max(plan.scrubber, 2) if self.scrubber.shows_hits else plan.scrubber

    @property
    def _is_in_context(self) -> bool:
        """Whether somebody looks at what a model was shown, which takes the whole screen."""
        return self.inspector.tab == "Context" and self.inspector.has_focus_within

    def _place(self, plan: DebuggerLayout, below: LowerPane, alone: Widget | None) -> None:
        """Say where the panes lie."""
        rows_below = below.rows(plan)
        if self._placed == (plan, rows_below, below.pane, alone):
            return
        self._placed = plan, rows_below, below.pane, alone

        def places(columns: int, rows: int) -> Mapping[Widget, Rect]:
            if alone is not None:
                return {alone: Rect(0, 0, columns, rows)}
            found = plan.places(columns, rows, rows_below)
            panes: dict[Widget, Rect] = {
                self.timeline_pane: found.timeline,
                self.inspector: found.state,
                below.pane: found.lower,
            }
            if found.call is not None:
                panes[self.call_pane] = found.call
            if found.chart is not None and self.growth is not None:
                panes[self.growth] = found.chart
            return panes

        self._body.place(places)
        edges = () if alone is not None else (self.inspector, below.pane)
        self._body.edges = edges

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
        for pane in self._all():
            pane.display = pane is not self.call_pane or self._has_call_pane

    def look_into_inspector(self) -> None:
        """Go to the inspector where another pane hides it."""
        if not self.inspector.display:
            self.show_all()
            self.inspector.take_focus()

    @hears(DiffPane.Refitted)
    def _on_diff_refitted(self, _message: DiffPane.Refitted) -> None:
        self.make_room_for_diff()

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
        focused = self._screen.focused
        in_timeline = focused is self.timeline
        in_lower = any(focused is lower.lines for lower in (*self.lower, self._diff))
        wider = by * GROW_COLUMNS
        self._grow(wider if in_timeline else 0 if in_lower else -wider, by * GROW_ROWS if in_lower else 0)

    @hears(PanesBody.EdgeDragged)
    def _on_edge_dragged(self, message: PanesBody.EdgeDragged) -> None:
        self._grow(message.columns, message.rows)

    def _grow(self, columns: int, rows: int) -> None:
        """Make the timeline wider and the pane below the inspector higher, as far as there is room."""
        self.grown = (self.grown[0] + columns, self.grown[1] + rows)
        self.share()

    def escape(self) -> bool:
        """Take back the whole screen from a pane."""
        if not self.zoomed:
            return False
        self.action_zoom()
        return True
