"""Damaged rows in the app: something stands in their place, every screen opens, and the app goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

from agent_tt.model import Edit
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.screens.runs.screen import RunsScreen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import Store

OF_RUN = "run = (SELECT run FROM runs WHERE name = 'trip-planner')"

DAMAGES = {
    "a result": f"UPDATE calls SET result = '{{\"forged\": 1}}' WHERE {OF_RUN} AND step = 3",
    "every result": f"UPDATE calls SET result = '\"forged\"' WHERE {OF_RUN}",
    "a result that is not valid JSON": f"UPDATE calls SET result = '{{' WHERE {OF_RUN} AND step = 3",
    "arguments": f"UPDATE calls SET args = x'ff00' WHERE {OF_RUN} AND step = 3",
    "facts of calls": f"UPDATE calls SET meta = '[]' WHERE {OF_RUN}",
    "a kind of call": f"UPDATE calls SET kind = 'spoon' WHERE {OF_RUN} AND step = 3",
    "an error of a call": f"UPDATE calls SET error = '[1, 2' WHERE {OF_RUN} AND step = 3",
    "times of calls": f"UPDATE calls SET ended_us = 'late' WHERE {OF_RUN}",
    "a call that is missing": f"DELETE FROM calls WHERE {OF_RUN} AND step = 3",
    "the name of a step": f"UPDATE steps SET name = 'forged' WHERE {OF_RUN} AND step = 3",
    "a step that is missing": f"DELETE FROM steps WHERE {OF_RUN} AND step = 3",
    "the status of a step": f"UPDATE steps SET status = 'spoon' WHERE {OF_RUN} AND step = 3",
    "facts of steps": f"UPDATE steps SET meta = '{{' WHERE {OF_RUN}",
    "the name of the run": "UPDATE runs SET agent = 'forged:main' WHERE name = 'trip-planner'",
    "facts of the run": "UPDATE runs SET meta = '{' WHERE name = 'trip-planner'",
    "states": "UPDATE deltas SET ops = x'00'",
}

TABS = ("1", "2", "3", "4")
STEPS = ("home", "right", "right", "right")
DIALOGS = ("i", "A", "f", "r", "W", "question_mark", "g", "slash", "m", "n", "d", "y")


@pytest.fixture
def damaged(sample_runs_file: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """The sample runs, of which one has damaged rows."""
    path = tmp_path / "runs.db"
    path.write_bytes(sample_runs_file.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(request.param).rowcount > 0
    with closing(open_source(path)) as source:
        yield source


def shown(app: AgentTT) -> str:
    return "\n".join(screen_text(app))


async def press(pilot, *keys: str) -> None:
    """Press keys one by one, and let what they began come to its end; the app must live on."""
    for key in keys:
        await pilot.press(key)
        await workers_ended(pilot.app)
        await pilot.pause()
        assert pilot.app.is_running, f"the app ended on {key}"
        assert pilot.app.return_code in (None, 0), f"the app ended on {key}"


SIZES = ((120, 40), (80, 24))


@pytest.mark.parametrize(
    ("damaged", "size"),
    [pytest.param(sql, SIZES[at % 2], id=name) for at, (name, sql) in enumerate(DAMAGES.items())],
    indirect=["damaged"],
)
async def test_every_screen_opens_and_the_app_goes_on(damaged: Store, size: tuple[int, int]) -> None:
    app = AgentTT(lambda: RunsScreen(damaged), look=Look())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "trip-planner" in shown(app))
        await press(pilot, "i", "escape", "down", "i", "escape", "down", "down")
        run = damaged.run("trip-planner")
        app.push_screen(DebuggerScreen(damaged, run))
        await pilot.pause()
        for tab in TABS:
            await press(pilot, tab, *STEPS)
        await press(pilot, "tab", "b", "escape", "w", "escape", "shift+tab")
        debugger = app.screen
        for key in DIALOGS:
            await press(pilot, key)
            while app.screen is not debugger:
                await press(pilot, "escape")
        app.pop_screen()
        app.push_screen(CompareScreen(damaged, damaged.run("refund-loop"), damaged, run))
        await pilot.pause()
        await press(pilot, "down", "down", "i", "escape", "o", "s", "down")
        app.pop_screen()
        app.push_screen(DebuggerScreen(damaged, run, 3))
        await pilot.pause()
        app.push_screen(ForkDialog(damaged, run, 4, [Edit("set", "budget", 3)]))
        await pilot.pause()
        await press(pilot, "down", "right", "escape")
        assert "trip-planner" in shown(app)


@pytest.mark.parametrize("damaged", [DAMAGES["a result"]], indirect=True)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_forged_result_is_never_shown_and_its_place_says_why(damaged: Store, size: tuple[int, int]) -> None:
    run = damaged.run("trip-planner")
    app = AgentTT(lambda: DebuggerScreen(damaged, run, 3), look=Look())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "trip-planner" in shown(app))
        await press(pilot, "2")
        await until(pilot, lambda: "the result of call 2 of step 3 is not what" in shown(app))
        assert "damaged: " in shown(app)
        assert "forged" not in shown(app)
        await press(pilot, "e")
        assert "it cannot be edited" in shown(app)


@pytest.mark.parametrize("damaged", [DAMAGES["the name of a step"]], indirect=True)
async def test_of_a_damaged_step_nothing_is_said_that_is_not_known(damaged: Store) -> None:
    app = AgentTT(lambda: DebuggerScreen(damaged, damaged.run("trip-planner"), 3), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "this step is damaged" in shown(app))
        await press(pilot, "2")
        assert "made no calls" not in shown(app)
        await press(pilot, "e")
        assert "this step is damaged: nothing of it can be edited" in shown(app)
        assert "forged" not in shown(app)


@pytest.mark.parametrize("damaged", [DAMAGES["the name of the run"]], indirect=True)
async def test_a_damaged_run_is_neither_said_to_be_interrupted_nor_gone_on_with(damaged: Store) -> None:
    run = next(run for run in damaged.runs() if run.damaged is not None)
    app = AgentTT(lambda: DebuggerScreen(damaged, run, 3), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "? damaged" in shown(app))
        assert "interrupted" not in shown(app)
        for key in ("R", "r"):
            await press(pilot, key)
            assert "is damaged: its row is not what was recorded" in screen_text(app)[-1]
        await press(pilot, "i")
        assert "interrupted" not in shown(app)
        app.push_screen(RunsScreen(damaged))
        await until(pilot, lambda: "trip-planner (damaged)" in shown(app))
        assert "forged" not in shown(app)
