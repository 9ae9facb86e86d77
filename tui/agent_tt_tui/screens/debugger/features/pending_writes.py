"""Pending writes: what tasks of LangGraph wrote after a step, and no checkpoint has taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.screens.debugger.features.base import DebuggerFeature

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.past.bases import BaseKind


class PendingWrites(DebuggerFeature):
    """Shows the state of the step with its pending writes applied, until another step is gone to."""

    COMMANDS = frozenset({"state.pending"})

    def __init__(self, time: Time) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
        """
        super().__init__(time)
        self._before: BaseKind | None = None
        time.on_leaving.append(self._take_back)

    def blocked(self, command_id: str) -> str | None:
        """Say that this file has no such writes."""
        del command_id
        if self.model.source.capabilities.records and self.model.run.facts.langgraph_thread is None:
            return "nothing is pending here: agent-tt takes every write into the state"
        return None if self.time.number else "the input has no pending writes: go to a step"

    def action_apply_pending(self) -> None:
        """Apply them to the state that is shown, or show that as it was kept again."""
        if self.time.base == "pending":
            self._take_back()
        else:
            self._before, self.time.base = self.time.base, "pending"
            self.screen.say(f"with pending writes applied; {self.key('state.pending')} shows the state as it was kept")
        self.time.read_step()

    def _take_back(self) -> None:
        if self.time.base == "pending":
            self.time.base = self._before
            self.screen.say("the state as it was kept, without pending writes")
