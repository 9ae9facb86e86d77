"""A replay whose run is kept: it is recorded like any other, and recorded calls may come in another order."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.fresh_source import write_source

from agent_tt.rerunning.replay import KeptRun, run_replay
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

AGENT = """
import agent_tt

@agent_tt.tool(effect="read")
def look(word):
    return {"word": word}

def main(state=None):
    state = state or {"seen": []}
    with agent_tt.record("looker", state=state) as run:
        for word in WORDS:
            with run.step(word, state):
                state["seen"].append(look(word)["word"])
"""


def recorded(folder: Path, words: list[str]) -> Path:
    """A store with a run of the agent, whose file is in the folder."""
    path = folder / "runs.db"
    write(folder, words)
    subprocess.run(
        [sys.executable, "-c", "import looker; looker.main()"],
        cwd=folder,
        env={**os.environ, "AGENT_TT_STORE": str(path)},
        check=True,
    )
    return path


def write(folder: Path, words: list[str]) -> None:
    write_source(folder / "looker.py", textwrap.dedent(AGENT).replace("WORDS", repr(words)))


def kept(path: Path, run_id: str = "0123456789ab"):
    """Replay the run and give the report, and the kept run with its steps and calls."""
    with closing(open_source(path)) as source:
        report = run_replay(source, source.run("looker"), keeps=KeptRun(path, run_id, "looker now", str(path.parent)))
    with closing(open_store(path)) as store:
        run = store.run(run_id)
        return (
            report,
            run,
            [(step.name, len(store.calls(run_id, step.number))) for step in store.steps(run_id)],
            [store.state(run_id, step) for step in range(run.steps + 1)],
        )


def test_the_run_of_a_replay_is_kept_with_its_steps_calls_and_states(tmp_path):
    path = recorded(tmp_path, ["a", "b"])
    report, run, steps, states = kept(path)
    assert (report.verdict, run.name, run.status) == ("as_recorded", "looker now", "succeeded")
    assert steps == [("a", 1), ("b", 1)]
    assert states == [{"seen": []}, {"seen": ["a"]}, {"seen": ["a", "b"]}]


def test_recorded_calls_are_answered_in_any_order_and_others_halt(tmp_path):
    path = recorded(tmp_path, ["a", "b", "c"])
    write(tmp_path, ["c", "a", "b"])
    report, run, steps, states = kept(path)
    assert (report.agent.status, run.status, steps) == ("ended", "succeeded", [("c", 1), ("a", 1), ("b", 1)])
    assert states[-1] == {"seen": ["c", "a", "b"]}
    write(tmp_path, ["b", "a", "never", "c"])
    report, run, steps, _ = kept(path, "0123456789ac")
    assert (report.agent.status, run.status) == ("halted", "failed")
    assert (report.failure.kind, report.failure.step) in {("extra call", 3), ("changed request", 3)}
    assert steps == [("b", 1), ("a", 1), ("never", 1)]
