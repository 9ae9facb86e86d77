"""What a step is compared with: the bases that a key goes through, or any state that a person names."""

from __future__ import annotations

from agent_tt_tui.feature import hears
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.viewmodel.past.bases import following


class DiffBase(DebuggerFeature):
    """Chooses the base of the diff."""

    COMMANDS = frozenset({"diff.base", "diff.other"})

    def action_diff_base(self) -> None:
        """Compare with the next base."""
        self.time.base = following(self.model, self.time.number, self.time.base, self.time.other).kind
        self.time.read_step()

    def action_diff_other(self) -> None:
        """Ask for any state of any run, and compare with it."""
        from agent_tt_tui.screens.dialogs.prompt import PromptDialog

        dialog = PromptDialog(
            "Diff against",
            detail="a step or mark, RUN, RUN@STEP, FILE:RUN@STEP",
            check=lambda text: None if text else "type a step, or a run and its step",
        )
        self.screen.ask(dialog, self._named)

    def _named(self, text: str) -> None:
        self.time.reading.find_state(text, self.time.number)

    @hears(reading.OtherRead)
    def _on_other_read(self, message: reading.OtherRead) -> None:
        if message.other is None:
            self.screen.say(message.why)
            return
        self.time.base, self.time.other = "other", message.other
        self.time.read_step()
