"""The key that applies the pending writes of a LangGraph checkpoint to the state that is shown."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.interop import graphs
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.waiting import until

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import RunSource


@pytest.fixture
def source(tmp_path: Path) -> Iterator[RunSource]:
    """A thread whose last checkpoint has a write that no later one took in."""
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.chain("one", "two").compile(checkpointer=checkpointer)
        graph.invoke({"log": ["begun"]}, graphs.thread("t"))
    with closing(sqlite3.connect(path)) as connection:
        (last,) = connection.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()
        row = ("t", "", last, "task", "~__pregel_pull, three", 0, "log", "msgpack", b"\x91\xa7not yet")
        connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    with closing(open_source(path)) as opened:
        yield opened


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_key_applies_them_until_it_is_pressed_again_or_another_step_is_shown(source, size):
    app = debugger(source, source.step_count(source.runs()[-1].id))
    async with app.run_test(size=size) as pilot:
        screen = await settled(pilot)
        last, plain = screen.time.number, screen.time.view.state
        await pilot.press("ctrl+w")
        await until(pilot, lambda: screen.time.view.state != plain)
        assert screen.time.view.state["log"] == [*plain["log"], "not yet"]
        assert [str(change.new) for change in screen.time.view.changes] == ["not yet"]
        await until(pilot, lambda: any("with pending writes applied; " in line for line in screen_text(app)))
        await pilot.press("ctrl+w")
        await until(pilot, lambda: screen.time.view.state == plain)
        await pilot.press("ctrl+w")
        await until(pilot, lambda: screen.time.view.state != plain)
        await pilot.press("left")
        await until(pilot, lambda: screen.time.view.number == last - 1)
        assert screen.time.base is None
        await until(pilot, lambda: any("without pending writes" in line for line in screen_text(app)))
        await pilot.press("home")
        await until(pilot, lambda: screen.time.view.number == 0)
        await pilot.press("ctrl+w")
        await until(pilot, lambda: any("the input has no pending writes" in line for line in screen_text(app)))
        await pilot.press("right", "right")
        await until(pilot, lambda: screen.time.view.number == 2)
        await pilot.press("ctrl+w")
        await until(pilot, lambda: any("no write is pending after this step" in line for line in screen_text(app)))
        assert screen.time.base is None


async def test_in_a_store_of_ours_nothing_is_pending_and_the_footer_has_no_such_key(sample_store):
    app = debugger(sample_store, 1)
    async with app.run_test(size=(200, 40)) as pilot:
        await settled(pilot)
        assert not any("pending writes" in line for line in screen_text(app))
        await pilot.press("ctrl+w")
        await until(pilot, lambda: any("nothing is pending here" in line for line in screen_text(app)))
