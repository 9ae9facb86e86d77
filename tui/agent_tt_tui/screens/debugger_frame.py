"""The debugger's frame: which panes it has, and how they share the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Horizontal, Vertical

from agent_tt_tui.chrome import HeaderRow, Pane, PaneTitle
from agent_tt_tui.contexts import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.running_again import RunAgainScreen
from agent_tt_tui.viewmodel.debugger_layout import DebuggerLayout
from agent_tt_tui.widgets.blame_pane import BlamePane
from agent_tt_tui.widgets.call_pane import CallPane
from agent_tt_tui.widgets.diff_pane import DiffPane
from agent_tt_tui.widgets.divergence_views import DivergencePane
from agent_tt_tui.widgets.find_panel import FindPanel
from agent_tt_tui.widgets.inspector import Inspector
from agent_tt_tui.widgets.run_header import run_header
from agent_tt_tui.widgets.scrubber import Scrubber
from agent_tt_tui.widgets.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.viewmodel.runmodel import RunModel

_LEAST_DIVERGENCE = 6
_LEAST_BLAME = 9


class DebuggerFrame(RunAgainScreen):
    """Timeline, inspector, diff, find panel and scrubber of one run; what they show is up to a subclass."""

    CONTEXT = DEBUGGER
    AUTO_FOCUS = "Timeline"
    OPENS_QUESTIONS = True

    def __init__(self, model: RunModel) -> None:
        """Make the panes.

        Args:
            model: The run.
        """
        super().__init__()
        self.model = model
        """The run that is shown."""
        self.timeline = Timeline(model)
        self.inspector = Inspector()
        self.diff = DiffPane()
        self.divergence = DivergencePane()
        self.blame = BlamePane(self._kind_of)
        self.scrubber = Scrubber(model)
        self.find_panel = FindPanel(self._kind_of)
        self.call_pane = CallPane()
        self.timeline_pane = Pane(PaneTitle("Timeline"), self.timeline, id="timeline-pane")
        self.zoomed = False
        """Whether the pane in focus has the whole screen."""
        self._side = Vertical(self.inspector, self.diff, self.divergence, self.blame, id="inspector-side")
        self._shown_pane: Widget | None = None
        self._has_call_column = False
        self._grown = (0, 0)
        self._diff_needs = 0

    def compose(self) -> ComposeResult:
        """Lay out header, timeline, inspector with the diff below it, find panel, scrubber and footer."""
        yield HeaderRow(run_header(self.model, look_of(self).glyphs))
        yield Horizontal(self.timeline_pane, self._side, self.call_pane, id="debugger-body")
        yield self.find_panel
        yield self.scrubber
        yield self.footer()

    def shown_runs(self) -> Sequence[Run]:
        """The run."""
        return [self.model.run]

    def source_of(self, _run: Run) -> RunSource:
        """Where the run lies."""
        return self.model.source

    def watched(self) -> Sequence[tuple[RunSource, str | None]]:
        """The run, while it runs."""
        run = self.model.run
        return [(self.model.source, run.id)] if run.status == "running" else []

    def on_resize(self, _event: events.Resize) -> None:
        """Share the new size."""
        self.share_screen()

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """Where there is room for one pane, show the one in focus."""
        self.share_screen()

    def share_screen(self) -> None:
        """Share the screen between the panes."""
        overview = self.model.overview
        plan = DebuggerLayout.plan(
            self.size.width,
            self.size.height,
            lanes=len(overview.lanes),
            depth=overview.deepest,
            diff_needs=self._below_needs,
            grown=self._grown,
        )
        self._has_call_column = plan.call > 0
        if not self._has_call_column and self.focused is self.call_pane.call_view:
            self.timeline.focus()
        alone = self._alone() if plan.one_pane or self.zoomed else None
        self.timeline_pane.display = alone in (None, self.timeline_pane)
        self._side.display = alone in (None, self.inspector, self._below)
        self.call_pane.display = self._has_call_column and alone in (None, self.call_pane)
        self.call_pane.styles.width = "1fr" if alone is self.call_pane else plan.call
        self.inspector.display = alone in (None, self.inspector)
        for pane in (self.diff, self.divergence, self.blame):
            pane.display = pane is self._below and alone in (None, pane)
        self.timeline_pane.styles.width = "1fr" if alone is self.timeline_pane else plan.timeline
        self.diff.styles.height = "1fr" if alone is self.diff else plan.diff
        # Whoever asked for a divergence wants to read it, also where the diff is given up for lack of rows.
        self.divergence.styles.height = "1fr" if alone is self.divergence else max(plan.diff, _LEAST_DIVERGENCE)
        most = max(_LEAST_BLAME, (self.size.height - 2 - plan.scrubber) * 3 // 5)
        rows = min(self.blame.needed(self.inspector.size.width), most) + 2 * self._grown[1]
        self.blame.styles.height = "1fr" if alone is self.blame else max(_LEAST_DIVERGENCE, rows)
        self.diff.lines.whole = alone is self.diff
        self.scrubber.styles.height = max(plan.scrubber, 2) if self.scrubber.shows_hits else plan.scrubber

    def _alone(self) -> Widget:
        """The pane to show where there is room for one."""
        for pane in self._panes():
            if self.focused is not None and pane in self.focused.ancestors_with_self:
                self._shown_pane = pane
        if self._shown_pane is self.call_pane and not self._has_call_column:
            self._shown_pane = None
        return self._shown_pane or self.timeline_pane

    def _panes(self) -> tuple[Widget, ...]:
        return self.timeline_pane, self.inspector, self._below, self.call_pane

    @property
    def _below(self) -> Widget:
        """The pane below the inspector: the diff, unless something that was asked for is shown in its place."""
        if self.blame.is_open:
            return self.blame
        return self.diff if self.divergence.finding is None else self.divergence

    def focus_next(self, selector: str | type[Widget] = "*") -> Widget | None:
        """Go to the next pane, one that is hidden for lack of room included."""
        self._show_all_panes()
        return super().focus_next(selector)

    def focus_previous(self, selector: str | type[Widget] = "*") -> Widget | None:
        """Go to the previous pane, one that is hidden for lack of room included."""
        self._show_all_panes()
        return super().focus_previous(selector)

    def _show_all_panes(self) -> None:
        for pane in (*self._panes(), self._side):
            pane.display = pane is not self.call_pane or self._has_call_column

    def look_into_inspector(self) -> None:
        """Go to the inspector where another pane hides it."""
        if not (self.inspector.display and self._side.display):
            self._show_all_panes()
            self.inspector.focus_shown()

    def action_zoom(self) -> None:
        """Give the pane in focus the whole screen, or take it back."""
        self.zoomed = not self.zoomed
        self.share_screen()

    def action_resize_pane(self, by: int) -> None:
        """Make the pane in focus larger or smaller."""
        columns, rows = self._grown
        in_timeline = self.focused is self.timeline
        in_diff = self.focused in (self.diff.lines, self.divergence.lines, self.blame.list)
        self._grown = (columns + (by if in_timeline else 0 if in_diff else -by), rows + (by if in_diff else 0))
        self.share_screen()

    def make_room_for_diff(self) -> None:
        """Give the diff pane the rows it needs; it never shrinks by itself, or the tree above would jump."""
        if self.diff.needed > self._diff_needs:
            self._diff_needs = self.diff.needed
            self.share_screen()

    @property
    def _below_needs(self) -> int:
        if self._below is not self.divergence:
            return self._diff_needs
        return self.divergence.needed(self.inspector.size.width)

    def _kind_of(self, number: int) -> str | None:
        return self.model.overview.kind(number) if number <= self.model.overview.scanned else None
