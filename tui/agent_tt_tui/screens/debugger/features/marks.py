"""Marks: steps that a person gave a letter, to come back to them."""

from __future__ import annotations

from agent_tt_tui.screens.debugger.features.base import DebuggerFeature


class Marks(DebuggerFeature):
    """Marks the step that is shown, and goes to marked ones."""

    COMMANDS = frozenset({"time.mark", "time.go_to_mark"})

    def blocked(self, command_id: str) -> str | None:
        """Say that there is no mark to go to."""
        if command_id == "time.go_to_mark" and not self.model.bookmarks.letters:
            return f"no step is marked yet: {self.key('time.mark')} marks one"
        return None

    def action_mark(self) -> None:
        """Mark this step, or take its mark away."""
        if not self.model.bookmarks.kept:
            self.screen.say("this file is only read: marks last as long as this program")
        self.time.reading.toggle_mark(self.time.number)

    def action_go_to_mark(self) -> None:
        """Go to the marked step, or ask to which."""
        from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog

        letters = self.model.bookmarks.letters
        if len(letters) == 1:
            self.time.go(next(iter(letters)))
            return
        choices = [Choice(str(step), letters[step], f"step {step}") for step in sorted(letters)]
        self.screen.ask(PickDialog("Marks", choices), self.time.find)
