"""What all features of the debugger know: the run, the panes, and the step that is shown."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.querying.places import read_path
from agent_tt_tui.feature import Feature

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.viewmodel.past.blame import Place


class DebuggerFeature(Feature):
    """Something that can be done with a run at one of its steps."""

    def __init__(self, time: Time) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
        """
        self.time, self.screen, self.model, self.panes = time, time.screen, time.model, time.panes

    def key(self, command_id: str) -> str:
        """The key of a command, as it is shown."""
        return self.screen.key(command_id)

    @property
    def why_no_value(self) -> str:
        """Said where no value is selected, and the state is not in focus."""
        return f"select a value first: {self.key('pane.next')} goes to the state"

    def go_to_place(self, place: Place) -> None:
        """Go to the step of a place, and show its value or its call as soon as the step is read."""
        self.time.go(place.step, partial(self._show_place, place))

    def _show_place(self, place: Place, view: StepView) -> None:
        if place.call is not None:
            self.panes.show_call(place.call)
            if place.is_outcome:
                self.panes.show_outcome()
            return
        with suppress(AgentTTError):  # a place of the agent's own code has no path
            path = read_path(view.state, place.path) if place.path else ()
            if path:
                self.panes.inspector.show_value(path)
