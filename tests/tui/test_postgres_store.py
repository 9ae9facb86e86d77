"""A store on a server in the app: its runs are listed, walked through, followed, and marked."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.store.recordings import begin, call, step
from tests.postgres_server import SECRET
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.waiting import until

from agent_tt.model import NewStep, StepEnd
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.run_list import RunList

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from tests.postgres_server import TestDatabase


async def test_a_run_on_a_server_is_walked_through_and_grows_on_the_screen(postgres: TestDatabase) -> None:
    with closing(open_store(postgres.address, create=True)) as store, closing(open_source(postgres.url)) as source:
        writer = begin(store, {"n": 0, "log": []}, "walk")
        for n in (1, 2, 3):
            number = writer.open_step(NewStep("think"))
            call(writer, number, {"asked": n}, {"found": n})
            writer.close_step(number, StepEnd("ok"), {"n": n, "log": list(range(n))})
        app = debugger(source, 3)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await settled(pilot)
            assert screen.time.view.state == {"n": 3, "log": [0, 1, 2]}
            await pilot.press("left")
            screen = await settled(pilot)
            assert screen.time.view.state == {"n": 2, "log": [0, 1]}
            step(writer, {"n": 4, "log": []})
            await until(pilot, lambda: screen.model.last == 4)
            writer.finish("succeeded")
            await until(pilot, lambda: source.run("walk").status == "succeeded")
            assert SECRET not in "".join(screen_text(app))


async def test_the_list_of_a_store_on_a_server_follows_it(
    postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with closing(open_store(postgres.address, create=True)) as store, closing(open_source(postgres.url)) as source:
        begin(store, {}, "first").finish("succeeded")
        app = AgentTT(lambda: RunsScreen(source), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            listed = app.screen.query_one(RunList)
            await until(pilot, lambda: [row.run.name for row in listed.rows] == ["first"])
            begin(store, {}, "second").finish("failed")
            await until(pilot, lambda: [row.run.name for row in listed.rows] == ["second", "first"])
            text = "".join(screen_text(app))
            assert "postgresql://tester:***@" in text
            assert SECRET not in text
