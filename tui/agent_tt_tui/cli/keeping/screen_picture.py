"""A format that the library cannot have: the screen of the app on a run, or on two runs side by side."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt.errors import UsageError
from agent_tt.exporting.export import Export

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot
    from textual.screen import Screen

    from agent_tt.exporting.export import Exported

_SIZE: Final = (120, 40)
_LOOK_SECONDS: Final = 0.2
_MOST_LOOKS: Final = 50
"""How often the screen is looked at until it does not change any more, and nothing is being read for it; that of a run
that goes on is drawn as it is then."""


class ScreenPicture(Export):
    """The debugger at a step of one run, or the comparison of two."""

    SUFFIXES: ClassVar = (".svg",)
    HELP: ClassVar = "A picture of the app's screen, at a step of a run or comparing two."
    IS_TEXT: ClassVar = True

    def write(self, exported: Exported, path: Path) -> None:
        """Draw the screen."""
        if len(exported.runs) > 2:
            raise UsageError("a picture shows one run, or two beside each other", hint="Name one or two runs.")
        path.write_text(asyncio.run(_drawn(exported)), encoding="utf-8")


async def _drawn(exported: Exported) -> str:
    from agent_tt_tui.app import AgentTT
    from agent_tt_tui.look import Look
    from agent_tt_tui.picture import svg_of

    seen: list[str] = []

    async def look(pilot: Pilot[object]) -> None:
        for _ in range(_MOST_LOOKS):
            await pilot.pause(_LOOK_SECONDS)
            seen.append(svg_of(pilot.app))
            if seen[-2:-1] == seen[-1:] and not any(worker.is_running for worker in pilot.app.workers):
                break
        pilot.app.exit()

    await AgentTT(lambda: _screen(exported), look=Look()).run_async(headless=True, size=_SIZE, auto_pilot=look)
    return seen[-1]


def _screen(exported: Exported) -> Screen[None]:
    source, runs = exported.source, exported.runs
    if len(runs) == 2:
        from agent_tt_tui.screens.compare.screen import CompareScreen

        return CompareScreen(source, runs[0], source, runs[1])
    from agent_tt_tui.screens.debugger.screen import DebuggerScreen

    return DebuggerScreen(source, runs[0], exported.steps.get(runs[0].id))
