"""How runs ended, in full: error, traceback and output."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.effects import Effects
from agent_tt.errors import AgentTTError
from agent_tt.forking.outside.ledger import effects_of
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import OUTCOME
from agent_tt_tui.look import look_of
from agent_tt_tui.status import run_glyph
from agent_tt_tui.viewmodel.running.effects import effect_lines
from agent_tt_tui.viewmodel.running.ending import ending_lines
from agent_tt_tui.viewmodel.values.pieces import TextLine
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource


_UNBROKEN: Final = 100_000
"""Columns in which no line that is copied is broken."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A run and what its process printed; the side is `A` or `B` where there are two. It lies in `source`."""

    side: str
    run: Run
    output: str
    source: RunSource | None = None


class EndingView(TextView):
    """The text of the dialog."""

    HELP = "How each run ended: its error, what it did to the world, the traceback, and what it printed."

    def __init__(self, endings: Sequence[Ending]) -> None:
        super().__init__(id="ending")
        self._endings = endings
        self._effects: Mapping[str, Effects] = {}

    def show_effects(self, effects: Mapping[str, Effects]) -> None:
        """Show what the runs did to the world, by their ids."""
        self._effects = effects
        self.lay_out_again()

    @property
    def text(self) -> str:
        """All of it, as it is copied."""
        rows = ("".join(text for text, _ in (*line.lead, *line.pieces)).rstrip() for line in self.lay_out(_UNBROKEN))
        return "\n".join(rows) + "\n"

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out one run after the other."""
        glyphs = look_of(self).glyphs
        rows: list[TextLine] = []
        for ending in self._endings:
            run = ending.run
            if rows:
                rows += [TextLine(), TextLine()]
            status = f"{run_glyph(run.status, glyphs)} {run.status}"
            if run.damaged is not None:
                status = f"{glyphs.unknown} damaged"
            known = self._effects.get(run.id, Effects())
            effects = [*effect_lines(known, columns, glyphs.times, glyphs.cut)]
            rows += ending_lines(ending.side, run, status, ending.output, columns, glyphs.cut, effects=effects)
        return rows


class EndingDialog(Dialog[None]):
    """Shows how one or two runs ended, and what they did to the world."""

    CONTEXT = OUTCOME
    AUTO_FOCUS = "EndingView"
    HELP = "How each run ended: its error, what it did to the world, the traceback, what it printed. y copies it."

    def __init__(self, endings: Sequence[Ending]) -> None:
        """Show endings.

        Args:
            endings: One a run, A before B.
        """
        super().__init__(classes="tall")
        self._endings = endings

    def compose_content(self) -> ComposeResult:
        """Yield the title and the text."""
        yield DialogTitle(
            "Outcome",
            detail="how it ended, and what it did" if len(self._endings) == 1 else "how each ended, and what it did",
        )
        yield EndingView(self._endings)

    def on_mount(self) -> None:
        """Read what the runs did, which may take a moment."""
        self.run_worker(self._read, thread=True, exit_on_error=False)

    def action_copy_text(self) -> None:
        """Copy all of it, its lines unbroken."""
        self.app.copy_to_clipboard(self.query_one(EndingView).text)
        self.say("copied")

    def _read(self) -> None:
        worker, effects = get_current_worker(), {}
        for ending in self._endings:
            if ending.source is not None and not worker.is_cancelled:
                with suppress(AgentTTError):  # what cannot be read is not shown; how it ended is
                    effects[ending.run.id] = effects_of(ending.source, ending.run)
        if not worker.is_cancelled:
            self.app.call_from_thread(self.query_one(EndingView).show_effects, effects)
