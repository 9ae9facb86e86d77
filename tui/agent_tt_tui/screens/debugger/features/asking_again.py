"""Asking a model again what a recorded call asked, and showing the answers that came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.screens.debugger.features.base import DebuggerFeature

if TYPE_CHECKING:
    from agent_tt.model import Call


class AskingAgain(DebuggerFeature):
    """Opens the dialog for the call that is shown; in a run of answers, shows these beside the recorded one."""

    COMMANDS = frozenset({"again.open"})

    def blocked(self, command_id: str) -> str | None:  # noqa: ARG002  it has one
        """Say why no model can be asked."""
        if self._has_answers:
            return None
        view = self.time.view
        if view is None:
            return "the step is being read"
        return None if any(call.kind == "llm" for call in view.calls) else "this step asked no model"

    @property
    def _has_answers(self) -> bool:
        return bool(self.model.run.facts.asked_again.run)

    def action_ask_again(self) -> None:
        """Open the dialog, or the answers."""
        from agent_tt.asking_again.plan import AgainRequest
        from agent_tt_tui.screens.running.again import AgainDialog
        from agent_tt_tui.screens.running.answers import AnswersScreen, show_answers

        source, run = self.model.source, self.model.run
        if self._has_answers:
            self.screen.app.push_screen(AnswersScreen(source, run))
            return
        call = self._call()
        if call is None:
            previous, following = self.key("call.previous"), self.key("call.next")
            self.screen.say(f"this step asked models several times: {previous} {following} choose the call", 6.0)
            return
        dialog = AgainDialog(source, run, AgainRequest(call.step, call.number))
        self.screen.ask(dialog, lambda handle: show_answers(self.screen, source, handle))

    def _call(self) -> Call | None:
        """The call to ask again: the one that is shown, else the only request to a model; None where it is open."""
        from agent_tt.providers.reading import recorded_call

        view, shown = self.time.view, self.panes.call_view.call
        calls = [] if view is None else [call for call in view.calls if call.kind == "llm"]
        requests = [call for call in calls if recorded_call(call.args) is not None] or calls
        places = [(call.step, call.number) for call in requests]
        if shown is not None and (shown.step, shown.number) in places:
            return shown
        return requests[0] if len(requests) == 1 else None
