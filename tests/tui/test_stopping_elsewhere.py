"""`S` in the app stops any run that goes on: after asking where it was started elsewhere, and saying what cannot be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.sources import open_source
from agent_tt.store.liveness import current_owner
from agent_tt_tui.app import AgentTT
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.runs.screen import RunsScreen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.warm

WAITER = """
import sys
import agent_tt

with agent_tt.record("waiter", state={"n": 0}) as run:
    with run.step("begin"):
        pass
    with run.step("wait"):
        print("waits", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def waiter(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that records itself and waits for input, started by somebody else."""
    (tmp_path / "waiter.py").write_text(WAITER)
    environment = {**os.environ, "AGENT_TT_STORE": str(tmp_path / "runs.db")}
    process = subprocess.Popen(
        [sys.executable, "waiter.py"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        yield process
        process.kill()


def shown(app: AgentTT) -> str:
    return "\n".join(screen_text(app))


@pytest.mark.parametrize("first", ["run", "list"])
async def test_a_run_that_was_started_elsewhere_is_stopped_after_asking(tmp_path, waiter, first):
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("waiter")
        app = AgentTT(lambda: DebuggerScreen(source, run) if first == "run" else RunsScreen(source), look=Look())
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "S stop" in shown(app))
            await pilot.press("S")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            assert "waiter was not started here" in shown(app)
            await pilot.press("n")
            await pilot.pause()
            assert waiter.poll() is None
            assert source.run(run.id).status == "running"
            await pilot.press("S")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("y")
            await until(pilot, lambda: "it was stopped; what it did is kept" in shown(app))
            waiter.wait(PATIENCE_SECONDS)
            assert source.run(run.id).status == "interrupted"
            await until(pilot, lambda: app.screen.blocked("live.stop") is not None)  # its end is read in a while
            assert "S stop" not in shown(app)
            await pilot.press("S")
            assert not isinstance(app.screen, ConfirmDialog)
            assert "no run is running on this screen" in shown(app)


async def test_a_run_that_ends_while_it_is_asked_is_not_said_to_be_stopped(tmp_path, waiter):
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("waiter")
        app = AgentTT(lambda: DebuggerScreen(source, run), look=Look())
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "S stop" in shown(app))
            await pilot.press("S")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            waiter.stdin.close()
            waiter.wait(PATIENCE_SECONDS)
            await pilot.press("y")
            await until(pilot, lambda: "it was not stopped: waiter does not run: it is succeeded" in shown(app))


async def test_a_run_whose_process_was_killed_is_no_run_that_could_be_stopped(tmp_path, waiter):
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("waiter")
        app = AgentTT(lambda: DebuggerScreen(source, run), look=Look())
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "S stop" in shown(app))
            await pilot.press("S")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            waiter.send_signal(signal.SIGKILL)
            waiter.wait(PATIENCE_SECONDS)
            await pilot.press("y")
            await until(pilot, lambda: "it was not stopped: waiter does not run: it is crashed" in shown(app))


async def test_a_run_of_another_machine_is_not_stopped_and_it_is_said_where_it_runs(tmp_path, waiter, monkeypatch):
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("waiter")
        app = AgentTT(lambda: DebuggerScreen(source, run), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "S stop" in shown(app))
            here = current_owner()
            elsewhere = replace(here, host="build-7")
            monkeypatch.setattr("agent_tt.supervising.stopping.current_owner", lambda: elsewhere)
            await pilot.press("S")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("y")
            await until(pilot, lambda: f"it was not stopped: waiter runs on {here.host}" in shown(app))
            assert waiter.poll() is None


async def test_a_run_of_a_file_that_is_only_read_can_only_be_stopped_where_it_was_started(tmp_path, waiter):
    del waiter

    class ReadOnly:
        """The same file, as one that is only read."""

        def __init__(self, source):
            self._source = source

        read_only = True

        def __getattr__(self, name):
            return getattr(self._source, name)

    with closing(open_source(tmp_path / "runs.db")) as source:
        app = AgentTT(lambda: DebuggerScreen(ReadOnly(source), source.run("waiter")), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: "waiter" in shown(app))
            await pilot.press("S")
            await until(pilot, lambda: "waiter can only be stopped where it was started" in shown(app))
