"""How runs ended, in full: error, traceback and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from agent_tt_tui.contexts import READING
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.look import look_of
from agent_tt_tui.status import run_glyph
from agent_tt_tui.viewmodel.ending import ending_lines
from agent_tt_tui.viewmodel.pieces import TextLine
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

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
