"""An edit of a fork that had no effect is told by the app: when the fork ends, in its outcome, and before it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.model import Edit
from agent_tt.rerunning.launch import start_fork
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.ending import Ending, EndingDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.screens.runs.screen import RunsScreen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import RunSource

pytestmark = pytest.mark.warm

AGENT = """
import agent_tt


@agent_tt.llm
def think(messages, temperature=0.0):
    return "thought"


@agent_tt.tool(effect="read")
def look_up(query):
    return {"days": 14}


def main(state=None):
    state = dict(state or {})
    with agent_tt.record("forgetful", state=state) as run:
        with run.step("look up", state):
            state["limit"] = 5  # whatever it was
            state["days"] = look_up("refunds")["days"]
        with run.step("answer", state):
            state["answer"] = think([{"role": "user", "content": "?"}])


if __name__ == "__main__":
    main({"limit": 5})
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forgetful")
    (folder / "forgetful.py").write_text(AGENT)
    environment = {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db")}
    subprocess.run([sys.executable, "forgetful.py"], cwd=folder, env=environment, check=True, timeout=PATIENCE_SECONDS)
    return folder / "runs.db"


@pytest.fixture
def source(store: Path) -> Iterator[RunSource]:
    with closing(open_source(store)) as opened:
        yield opened


def shown(app: AgentTT) -> str:
    return "\n".join(screen_text(app))


def show(first):
    return AgentTT(first, look=Look())


async def test_it_is_told_when_the_fork_has_ended_with_its_reason(source):
    original = source.run("forgetful")
    handle = start_fork(plan_fork(source, original, ForkRequest(0, edits=[Edit("set", "limit", 9)])))
    fork = source.run(handle.run_id)
    app = show(lambda: CompareScreen(source, original, source, fork, handle=handle))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "1 edit without effect: limit" in shown(app))
        assert "no effect: limit" in shown(app)
        await until(pilot, lambda: "the agent wrote over it" in shown(app))
    fork = source.run(handle.run_id)
    assert [each.edit.path for each in edits_without_effect(fork)] == ["limit"]
    app = show(lambda: DebuggerScreen(source, fork))
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(EndingDialog([Ending("", fork, "", source)]))
        await until(pilot, lambda: "EDITS WITHOUT EFFECT" in shown(app))
        assert "limit: the agent wrote over it" in shown(app)
    app = show(lambda: RunsScreen(source))
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "forgetful" in shown(app))
        await pilot.press("down")
        await until(pilot, lambda: "no effect  limit" in shown(app))


async def test_an_edit_that_had_one_is_not_said_to_have_none(source):
    original = source.run("forgetful")
    edit = Edit("set", "days", 30, target="result", step=1, call=1)
    fork = start_fork(plan_fork(source, original, ForkRequest(None, edits=[edit]))).result()
    app = show(lambda: CompareScreen(source, original, source, fork))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "1 edit: result of call 1 in step 1, days" in shown(app))
        assert "effect:" not in shown(app)
        app.push_screen(EndingDialog([Ending("", fork, "", source)]))
        await until(pilot, lambda: "OUTCOME" in shown(app))
        assert "WITHOUT EFFECT" not in shown(app)


async def test_where_it_can_be_known_before_it_is_told_before_anything_runs(source):
    edit = Edit("set", "top_p", 0.5, target="parameter")
    original = source.run("forgetful")
    app = show(lambda: DebuggerScreen(source, original))
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(ForkDialog(source, original, 1, [edit]))
        await until(pilot, lambda: "took no parameter top_p when it was recorded" in shown(app))
