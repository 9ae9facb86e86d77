"""The calls of a step, one at a time: as a tab of the inspector, and as a column beside the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.debugger.stepview import calls_differ
from agent_tt_tui.viewmodel.values.pieces import TextLine
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path
    from agent_tt.model import Call
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.calls.callview import CallContext
    from agent_tt_tui.viewmodel.calls.source_excerpt import Excerpt
    from agent_tt_tui.viewmodel.debugger.stepview import StepView

CALL_KEYS: Final = (DEBUGGER.command("call.previous"), DEBUGGER.command("call.next"))
"""What goes to the other calls of a step."""


class CallView(TextView):
    """A call of the step that is shown."""

    HELP = "A call of the step: what was asked and what came back; comma and dot go to the other calls."

    def __init__(self, *, id: str = "call-view") -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.number = 0
        """Which call is shown, from 0."""
        self.calls: Sequence[Call] = ()
        """The calls of the step."""
        self._surroundings: CallContext | None = None

    def show(self, view: StepView) -> None:
        """Show a step's last call, or the first that failed."""
        from agent_tt_tui.viewmodel.calls.callview import CallContext

        self.calls = view.calls
        self._surroundings = CallContext(view.run, view.step, view.calls)
        failed = (n for n, call in enumerate(view.calls) if call.status in ("error", "pending", "denied"))
        self.number = next(failed, max(0, len(view.calls) - 1))
        self._show_call()

    def go(self, direction: int) -> bool:
        """Show the next or previous call; tell whether there is one."""
        if not 0 <= self.number + direction < len(self.calls):
            return False
        self.number += direction
        self._show_call()
        return True

    def go_to(self, number: int) -> bool:
        """Show the call of that number in the step, from 1; tell whether there is one."""
        index = next((at for at, call in enumerate(self.calls) if call.number == number), None)
        if index is None:
            return False
        self.number = index
        self._show_call()
        return True

    def show_outcome(self) -> None:
        """Bring what came back of the call into view, once it is laid out for its place on the screen."""
        self.call_after_refresh(self._reveal_outcome)

    def _reveal_outcome(self) -> None:
        from agent_tt_tui.viewmodel.calls.callview import OUTCOME_HEADINGS

        index = next((at for at, line in enumerate(self._lines) if line.pieces[:1] in OUTCOME_HEADINGS), None)
        if index is not None:
            self.reveal(self.line_count - 1)
            self.move_to(index)

    @property
    def call(self) -> Call | None:
        """The call that is shown; None if the step made none."""
        return self.calls[self.number] if self.calls else None

    @property
    def place(self) -> Path | None:
        """Where in the result of the call the value is that is under the cursor; None on every other row."""
        return self._lines[self.cursor].place if self.has_focus and 0 <= self.cursor < len(self._lines) else None

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out the call, or say that there is none."""
        from agent_tt_tui.viewmodel.calls.callview import call_lines, error_lines

        if self.call is None or self._surroundings is None:
            said = "the input: no call was made before it" if self._is_input else "this step made no calls"
            if not self._is_input and self._surroundings is not None and self._surroundings.run.read_only:
                said = "this file records no calls of this step"  # which may well have made some
            step = self._surroundings.step if self._surroundings is not None else None
            if step is not None and step.damaged is not None:
                said = "which calls this step made is not known: it is damaged"
            raised = step.error if step is not None else None
            lines = [TextLine(((f" {said}", "note"),))]
            if raised is not None:
                lines += error_lines(raised, columns, look_of(self).glyphs, self.toggled)
            return lines
        return call_lines(self.call, self._surroundings, columns, look_of(self).glyphs, self.toggled)

    @property
    def _is_input(self) -> bool:
        return self._surroundings is not None and self._surroundings.step is None

    def _show_call(self) -> None:
        from agent_tt_tui.viewmodel.calls.source_excerpt import place_of

        if self._surroundings is not None:
            self._surroundings = self._surroundings._replace(excerpt=None)
        self.lay_out_again()
        self.cursor = 0 if self.line_count else -1
        self.reveal(0)
        if self.display and self.call is not None and place_of(self.call) is not None:
            self.call_after_refresh(self._look_for_source)  # it is the last that the pane shows

    def _look_for_source(self) -> None:
        self.run_worker(self._read_source, group="source", thread=True, exclusive=True)

    def _read_source(self) -> None:
        from agent_tt_tui.viewmodel.calls.source_excerpt import read_excerpt

        context, call = self._surroundings, self.call
        worker = get_current_worker()
        if context is None or call is None:
            return
        excerpt = read_excerpt(context.run, call)
        if excerpt is not None and not worker.is_cancelled:
            self.app.call_from_thread(self._add_source, call, excerpt)

    def _add_source(self, call: Call, excerpt: Excerpt) -> None:
        if self._surroundings is not None and call is self.call:
            self._surroundings = self._surroundings._replace(excerpt=excerpt)
            self.lay_out_again()


_LAST: Final = (1 << 30, 0)


class CallTitle(PaneTitle):
    """`CALL  3 search_docs`, and at the right which of the step's calls it is."""

    which: tuple[int, int] = (0, 0)
    """The number of the call, from 1, and how many there are."""

    def draw_right(self, row: Row, styles: Palette) -> None:
        """Add which call it is, and the keys that go to the others."""
        number, total = self.which
        if total > 1:
            row.add(look_of(self).key(*CALL_KEYS), styles.key)
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

    @property
    def _focus_sort_key(self) -> tuple[int, int]:
        """Come last of the panes, wherever it lies: the state and what changed in it belong together."""
        return _LAST

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
