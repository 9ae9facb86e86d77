"""A database in PostgreSQL in the app: a thread that grows is followed, and one that is gone is said."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.interop import graphs
from tests.postgres_server import SECRET, postgres_saver
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.waiting import until

from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.run_list import RunList

if TYPE_CHECKING:
    from tests.postgres_server import TestDatabase


def turn(database: TestDatabase, thread: str) -> None:
    with postgres_saver(database) as saver:
        graph = graphs.chain("one", "two").compile(checkpointer=saver)
        graph.invoke({"log": ["in"]}, graphs.thread(thread))


async def test_a_thread_of_a_server_grows_on_the_screen(postgres: TestDatabase) -> None:
    turn(postgres, "t")
    with closing(open_source(postgres.url)) as source:
        app = debugger(source, 4)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await settled(pilot)
            assert screen.time.view.state == {"log": ["in", "one", "two"]}
            turn(postgres, "t")
            await until(pilot, lambda: screen.model.last == 8)
            assert SECRET not in "".join(screen_text(app))


async def test_the_list_of_a_server_follows_it_and_says_when_it_is_gone(postgres: TestDatabase) -> None:
    turn(postgres, "first")
    with closing(open_source(postgres.url)) as source:
        app = AgentTT(lambda: RunsScreen(source), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            listed = app.screen.query_one(RunList)
            await until(pilot, lambda: [row.run.name for row in listed.rows] == ["first"])
            turn(postgres, "second")
            await until(pilot, lambda: [row.run.name for row in listed.rows] == ["second", "first"])
            assert any("postgresql://tester:***@" in line for line in screen_text(app))
            postgres.execute("DROP TABLE checkpoints")
            await until(pilot, lambda: any("has other tables than LangGraph" in line for line in screen_text(app)))
            assert SECRET not in "".join(screen_text(app))
