"""How runs ended, in full: error, traceback and output; and what the screens that show runs do with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from agent_tt_tui.contexts import READING
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.look import look_of
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.status import run_glyph
from agent_tt_tui.viewmodel.ending import ending_lines
from agent_tt_tui.viewmodel.pieces import TextLine
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from agent_tt.forking.handle import ForkHandle
    from agent_tt.model import Run


@dataclass(frozen=True, slots=True)
class Ending:
    """A run and what its process printed; the side is `A` or `B` where there are two."""

    side: str
    run: Run
    output: str


class EndingView(TextView):
    """The text of the dialog."""

    HELP = "How each run ended: its error, the traceback, and what it printed."

    def __init__(self, endings: Sequence[Ending]) -> None:
        super().__init__(id="ending")
        self._endings = endings

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out one run after the other."""
        glyphs = look_of(self).glyphs
        rows: list[TextLine] = []
        for ending in self._endings:
            run = ending.run
            if rows:
                rows += [TextLine(), TextLine()]
            status = f"{run_glyph(run.status, glyphs)} {run.status}"
            rows += ending_lines(ending.side, run, status, ending.output, columns, glyphs.cut)
        return rows


class EndingDialog(Dialog[None]):
    """Shows how one or two runs ended."""

    CONTEXT = READING
    BINDINGS: ClassVar[list[BindingType]] = READING.screen_bindings()
    AUTO_FOCUS = "EndingView"
    HELP = "How each run ended: its error, the traceback, and what it printed. esc closes."

    def __init__(self, endings: Sequence[Ending]) -> None:
        """Show endings.

        Args:
            endings: One a run, A before B.
        """
        super().__init__(classes="tall")
        self._endings = endings

    def compose_content(self) -> ComposeResult:
        """Yield the title and the text."""
        yield DialogTitle("Outcome", detail="error, traceback and what was printed")
        yield EndingView(self._endings)


class RunWatch(CommandScreen[None]):
    """A screen that shows runs, some of which may be forks that were started here and still run."""

    def shown_runs(self) -> Sequence[Run]:
        """The runs that the screen shows now, A before B."""
        raise NotImplementedError

    def own_fork(self) -> ForkHandle | None:
        """The process of a shown run, if it was started here and still runs."""
        handles = (forks_of(self).running(run.id) for run in self.shown_runs())
        return next((handle for handle in handles if handle is not None), None)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command that concerns the runs cannot be used now."""
        if command_id == "live.stop" and self.own_fork() is None:
            return "no fork that was started here is running on this screen"
        return super().blocked(command_id)

    def action_ending(self) -> None:
        """Show how the runs ended."""
        runs, forks = self.shown_runs(), forks_of(self)
        sides = ("A", "B") if len(runs) > 1 else ("",)
        endings = [Ending(side, run, forks.output(run.id)) for side, run in zip(sides, runs, strict=True)]
        self.app.push_screen(EndingDialog(endings))

    def action_stop(self) -> None:
        """Stop the fork that was started here."""
        handle = self.own_fork()
        if handle is not None:
            self.say("stopping the fork", None)
            self.run_worker(lambda: self._stop(handle), group="stop", exclusive=True, thread=True, exit_on_error=False)

    def action_back(self) -> None:
        """Leave the screen, and say of a fork that still runs that it goes on."""
        forks = forks_of(self)
        going_on = [run for run in self.shown_runs() if forks.running(run.id) is not None]
        super().action_back()
        below = self.app.screen
        if going_on and below is not self and isinstance(below, RunWatch) and going_on[0] not in below.shown_runs():
            below.say(f"{going_on[0].name} goes on running; c shows it again, and S there stops it")

    def _stop(self, handle: ForkHandle) -> None:
        handle.stop()
        self.app.call_from_thread(self.say, "the fork was stopped; what it did is kept")
