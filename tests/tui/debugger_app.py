"""The debugger over a run in memory, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.tui.waiting import workers_ended

from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from agent_tt.protocols import RunSource


def debugger(source: RunSource, step: int | None = None, look: Look | None = None) -> AgentTT:
    """An app that shows the newest run of a source."""
    run = source.runs()[-1]
    return AgentTT(lambda: DebuggerScreen(source, run, step), look=look or Look())


async def settled(pilot: Pilot[None]) -> DebuggerScreen:
    """Wait until everything that was asked for has been read and drawn, and give the screen."""
    app = pilot.app
    screen = app.screen
    await workers_ended(app)
    await pilot.pause()
    # What was read may have asked for more.
    await workers_ended(app)
    await pilot.pause()
    assert isinstance(screen, DebuggerScreen)
    return screen
