"""The runs of a server in the app: listed, opened, walked through, and followed while spans come."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.core.interop.test_otlp import genai, request
from tests.core.serving.asking import FLAKY, SAMPLES
from tests.core.serving.otlp.instrumented import MODULES, instrumented
from tests.core.serving.rest.served import TOKEN, asking, serving
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled
from tests.tui.waiting import until

from agent_tt.marking import marked
from agent_tt.remote import open_server
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.run_list import RunList

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from agent_tt.marking.source import MarkedSource


@asynccontextmanager
async def listing(folder: Path) -> AsyncIterator[tuple[AgentTT, Pilot[None], MarkedSource, str]]:
    """The app with the samples of a server listed, what it reads them from, and the address of the server."""
    store = folder / "runs.db"
    store.write_bytes(SAMPLES.read_bytes())
    with serving(store, folder) as address, closing(marked(open_server(address, TOKEN))) as source:
        app = AgentTT(lambda: RunsScreen(source), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.screen.query_one(RunList).line_count > 0)
            yield app, pilot, source, address


async def test_a_run_of_a_server_is_listed_opened_and_walked_through(tmp_path: Path) -> None:
    async with listing(tmp_path) as (app, pilot, source, address):
        listed = app.screen.query_one(RunList)
        assert any(FLAKY in line for line in screen_text(app))
        assert any(address in line for line in screen_text(app))
        assert not any(TOKEN in line for line in screen_text(app))
        for _ in range([row.run.name for row in listed.rows].index(FLAKY)):
            await pilot.press("down")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        screen = await settled(pilot)
        assert screen.model.last == 10
        await pilot.press("home")
        for step in range(1, 7):
            await pilot.press("right")
            screen = await settled(pilot)
            assert screen.time.view.state == source.state(source.run(FLAKY).id, step)
        assert any("price order" in line for line in screen_text(app))
        await pilot.press("f")
        await pilot.pause()
        assert app.is_running, "a fork is refused in words"


async def test_an_instrumented_agent_grows_on_the_screen(tmp_path: Path) -> None:
    spans = genai()
    with serving(tmp_path / "runs.db", tmp_path) as address, asking(address) as asked:
        assert asked.post("/v1/traces", json=request(spans[:1])).status_code == 200
        with closing(marked(open_server(address, TOKEN))) as source:
            app = AgentTT(lambda: RunsScreen(source), look=Look())
            async with app.run_test(size=(120, 40)) as pilot:
                listed = app.screen.query_one(RunList)
                await until(pilot, lambda: [row.run.steps for row in listed.rows] == [1])
                await pilot.press("enter")
                await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
                screen = await settled(pilot)
                asked.post("/v1/traces", json=request(spans[1:]))
                await until(pilot, lambda: screen.model.last == 2)
                await pilot.press("end")
                screen = await settled(pilot)
                assert "It is 51." in json.dumps(screen.time.view.state)


@pytest.mark.parametrize("kind", MODULES)
async def test_what_an_instrumented_program_sends_is_on_the_screen_before_it_sends_more(
    tmp_path: Path, kind: str
) -> None:
    """The list, then the debugger, each show a step of a program that waits until that is so."""
    pytest.importorskip(MODULES[kind], exc_type=ImportError)
    with (
        serving(tmp_path / "runs.db", tmp_path) as address,
        closing(marked(open_server(address, TOKEN))) as source,
        instrumented(kind, address, tmp_path) as program,
    ):
        app = AgentTT(lambda: RunsScreen(source), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            listed = app.screen.query_one(RunList)
            assert not listed.rows
            await asyncio.to_thread(program.asked)
            await until(pilot, lambda: [(row.run.status, row.run.steps) for row in listed.rows] == [("unknown", 1)])
            await until(pilot, lambda: any("1 step" in line for line in screen_text(app)))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
            screen = await settled(pilot)
            assert screen.model.last == 1
            program.goes_on()
            await asyncio.to_thread(program.asked)
            await until(pilot, lambda: screen.model.last == 2)
            await pilot.press("end")
            await until(pilot, lambda: any("There are 30." in line for line in screen_text(app)))
            assert screen.model.run.status == "unknown", "the span around all others has not ended"
            await asyncio.to_thread(program.ends)
            await until(pilot, lambda: screen.model.run.status == "succeeded")
            await settled(pilot)


@pytest.mark.skipif(os.name != "posix", reason="signals")
async def test_a_server_that_ends_is_said_and_the_app_stays(tmp_path: Path) -> None:
    async with listing(tmp_path) as (app, pilot, _, address):
        server = _process_of(address)
        server.send_signal(signal.SIGINT)
        await until(pilot, lambda: any("does not answer" in line for line in screen_text(app)))
        assert any(FLAKY in line for line in screen_text(app))
        await until(pilot, lambda: server.status() == psutil.STATUS_ZOMBIE)


def _process_of(address: str) -> psutil.Process:
    """The process that listens at an address."""
    port = int(address.rpartition(":")[2])
    (found,) = [
        each
        for each in psutil.Process().children()
        for one in each.net_connections(kind="tcp")
        if one.status == "LISTEN" and one.laddr.port == port
    ]
    return found
