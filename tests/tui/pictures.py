"""The pictures of the README: real screens on the sample runs. `python tests/tui/pictures.py` makes them again."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.tui.snapshot import save_svg

from agent_tt import samples
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.model import Edit
from agent_tt.rerunning.launch import start_fork
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.fork import ForkDialog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.screen import Screen

    from agent_tt.protocols import Store

PICTURES = Path(__file__).parents[2] / ".github" / "pictures"
SIZE = (120, 34)
_SETTLE_SECONDS = 1.0
"""How long a screen may take to read what it shows; nothing is measured here, so it may be generous."""


async def picture(name: str, screen: Callable[[], Screen[None]], keys: Sequence[str] = (), over: object = None) -> None:
    """Open a screen, press keys, and save what is shown."""
    app = AgentTT(screen, look=Look(theme="tt-dark"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(_SETTLE_SECONDS)
        for key in keys:
            await pilot.press(key)
        if over is not None:
            app.push_screen(over)
        await pilot.pause(_SETTLE_SECONDS)
        print(save_svg(app, PICTURES / f"{name}.svg"))


async def main(store: Store) -> None:
    """Make every picture."""
    refund, trip = store.run("refund-loop"), store.run("trip-planner")
    fork = start_fork(plan_fork(store, refund, ForkRequest(1, agent="refund_loop.py:main_v2"))).result()
    refund = store.run("refund-loop")
    await picture("debugger", lambda: DebuggerScreen(store, refund, step=2))
    await picture("compare", lambda: CompareScreen(store, refund, store, fork))
    await picture("keep", lambda: DebuggerScreen(store, fork), keys=("t",))
    edits = (Edit("set", "trip.destination", "Tokyo"),)
    dialog = ForkDialog(store, trip, 3, edits)
    await picture("fork", lambda: DebuggerScreen(store, trip, step=3), over=dialog)


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        os.environ["AGENT_TT_STORE"] = str(path)  # a command that is shown then needs no --store
        for sample in ("refund-loop", "trip-planner"):
            samples.ensure(sample, path)
        opened = open_store(path)
        try:
            asyncio.run(main(opened))
        finally:
            opened.close()
