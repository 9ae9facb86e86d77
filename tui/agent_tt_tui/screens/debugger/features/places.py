"""Going to a place of a run: a step, and in it a value or a call."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.querying.places import read_path

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.panes import Panes
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.blame import Place
    from agent_tt_tui.viewmodel.stepview import StepView


def go_to_place(time: Time, place: Place) -> None:
    """Go to the step of a place, and show its value or its call as soon as the step is read."""
    time.go(place.step, partial(_show, time.panes, place))


def _show(panes: Panes, place: Place, view: StepView) -> None:
    if place.call is not None:
        panes.show_call(place.call)
        if place.is_outcome:
            panes.show_outcome()
        return
    with suppress(AgentTTError):  # a place of the agent's own code has no path
        path = read_path(view.state, place.path) if place.path else ()
        if path:
            panes.inspector.show_value(path)
