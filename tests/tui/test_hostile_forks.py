"""Forks whose agents misbehave, started from the fork dialog: the interface keeps working and says what happened."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.model import AgentCode, NewRun, NewStep, StepEnd
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.dialogs.action_row import ActionRow

AGENT = """
import os, signal, sys, time
import agent_tt

def recorded(function):
    def main(state=None):
        with agent_tt.record("agent", state=state) as run:
            with run.step("only", state):
                print("\\x1b[2J\\x1b[?1049l\\x1b]0;mine\\x07" * 200)
                function(state)
    return main

def quits(state): os._exit(3)
def aborts(state): os.abort()
def leaves(state): sys.exit("enough")
def lingers(state):
    state["pid"] = os.fork()
    if not state["pid"]:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)

run_quits, run_aborts, run_leaves, run_lingers = map(recorded, (quits, aborts, leaves, lingers))
"""


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("quits", "crashed", "exited with code 3"),
        ("aborts", "crashed", "killed by SIGABRT"),
        ("leaves", "failed", "enough"),
        ("lingers", "succeeded", ""),
    ],
)
async def test_the_interface_keeps_working_and_says_what_happened(tmp_path, name, status, says):
    (tmp_path / "agent.py").write_text(AGENT)
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        code = AgentCode(entry=f"agent:run_{name}", root=str(tmp_path), cwd=str(tmp_path), restore="state")
        writer = store.begin_run(NewRun(name="agent", code=code), {"n": 1})
        number = writer.open_step(NewStep(name="first"))
        writer.close_step(number, StepEnd(status="ok"), {"n": 2})
        writer.finish("succeeded")
        results = []
        app = AgentTT(lambda: RunsScreen(store), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            dialog = ForkDialog(store, store.run(writer.run_id), 1, ())
            app.push_screen(dialog, results.append)
            await until(pilot, lambda: dialog.is_mounted and not dialog.query_one(ActionRow).busy)
            await pilot.press("F")
            await until(pilot, lambda: results)
            handle = results[0]
            await until(pilot, lambda: handle.poll() is not None)
            run = store.run(handle.run_id)
            assert run.status == status
            app.push_screen(DebuggerScreen(store, run))
            await until(pilot, lambda: says in "\n".join(screen_text(app)) and "first" in "\n".join(screen_text(app)))
            await pilot.press("left")
            assert status in "\n".join(screen_text(app))
    if name == "lingers":
        with closing(open_store(tmp_path / "runs.db")) as store:
            pid = store.state(run.id, 2)["pid"]
        assert not Path(f"/proc/{pid}").exists() or ") Z" in Path(f"/proc/{pid}/stat").read_text()
