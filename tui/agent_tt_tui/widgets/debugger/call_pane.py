"""The column that shows the calls of a step beside its state, where the screen is wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.debugger.stepview import calls_differ
from agent_tt_tui.widgets.debugger.call_view import CallView

if TYPE_CHECKING:
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.debugger.stepview import StepView


class CallTitle(PaneTitle):
    """`CALL  3 search_docs`, and at the right which of the step's calls it is."""

    which: tuple[int, int] = (0, 0)
    """The number of the call, from 1, and how many there are."""

    def draw_right(self, row: Row, styles: Palette) -> None:
        """Add which call it is, and the keys that go to the others."""
        number, total = self.which
        if total > 1:
            row.add(", .", styles.key)
        if total:
            row.add(" call ", styles.muted).add(str(number), styles.strong).add(" of ", styles.muted)
            row.add(str(total), styles.strong)


class CallPane(Pane):
    """A call of the step that is shown; what it is told while it is hidden it shows as soon as it is not."""

    def __init__(self) -> None:
        self.call_title = CallTitle("Call")
        self.call_view = CallView(id="call-column-view")
        super().__init__(self.call_title, self.call_view, id="call-pane")
        self._view: StepView | None = None
        self._shown: StepView | None = None

    def show(self, view: StepView) -> None:
        """Show a step's calls; the call that was chosen stays so as long as they are the same."""
        self._view = view
        if self.display:
            self._show_view(view)

    def go(self, direction: int) -> bool:
        """Show the next or previous call; tell whether there is one."""
        gone = self.call_view.go(direction)
        self._refresh_title()
        return gone

    def go_to(self, number: int | None) -> None:
        """Show the call of that number in the step, from 1; None leaves the one that is shown."""
        if number is not None:
            self.call_view.go_to(number)
        self._refresh_title()

    def on_resize(self) -> None:
        """Show what came while the pane was hidden."""
        if self._view is not None and self._view is not self._shown:
            self._show_view(self._view)

    def _show_view(self, view: StepView) -> None:
        if self._shown is None or calls_differ(self._shown, view):
            self.call_view.show(view)
        self._shown = view
        name = f" {clean(view.step.name)}" if view.step is not None else " the input"
        self.call_title.detail = f"{view.number}{name}"
        self._refresh_title()

    def _refresh_title(self) -> None:
        total = len(self.call_view.calls)
        self.call_title.which = (self.call_view.number + 1, total)
        self.call_title.refresh()
