"""Real sweeps of a real agent: killed with its agents, interrupted, resumed; and counted by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.model.facts import RunFacts
from agent_tt.store import open_store
from agent_tt.sweeping import resume_sweep
from agent_tt.sweeping.matrix import MatrixReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_tt.sweeping.matrix import Matrix

pytestmark = pytest.mark.warm

AGENT = """
import os, time
import agent_tt

HERE = os.path.dirname(os.path.abspath(__file__))

def begun():
    "How many of these agents have begun before this one."
    number = 0
    while True:
        try:
            os.close(os.open(os.path.join(HERE, f"begun-{number}"), os.O_CREAT | os.O_EXCL))
            return number
        except FileExistsError:
            number += 1

@agent_tt.tool(effect="read")
def wait_until_let(free):
    while begun_as >= free and not os.path.exists(os.path.join(HERE, "go")):
        time.sleep(0.01)

def main(state=None):
    global begun_as
    begun_as = begun()
    state = state or {"temperature": 0, "free": 0, "budget": 1, "answer": None}
    with agent_tt.record("guess", state=state) as run:
        with run.step("think", state):
            wait_until_let(state["free"])
            state["budget"] -= 2 * state["temperature"]
        with run.step("answer", state):
            if state["temperature"] == 1:
                raise ValueError("too hot")
            state["answer"] = "cold" if state["temperature"] == 0 else "warm"
    with open(os.path.join(HERE, "ended"), "a") as file:
        file.write(f"{state['temperature']}\\n")

if __name__ == "__main__":
    main({"temperature": 0, "free": 100, "budget": 1, "answer": None})
"""


class Swept:
    """A folder with an agent, a run of it, and sweeps that are started as commands."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "runs.db"
        (folder / "guess.py").write_text(AGENT)
        self.environment = {**os.environ, "AGENT_TT_STORE": str(self.path)}
        self.started: list[subprocess.Popen[str]] = []
        done = subprocess.run([sys.executable, "guess.py"], cwd=folder, env=self.environment, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0
        for left in (*folder.glob("begun-*"), folder / "ended"):
            left.unlink()

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "agent_tt_tui", "sweep", *words],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def matrix(self) -> Matrix:
        with closing(open_store(self.path, read_only=True)) as store:
            return MatrixReader(store, "latest").read()

    def agents(self) -> list[int]:
        """The processes that fill runs of the sweep now."""
        with closing(open_store(self.path)) as store:
            rows = store.database.query("SELECT owner FROM runs WHERE status = 'running'")
        mine = {process.pid for process in self.started}
        return [pid for (owner,) in rows if (pid := json.loads(owner)["pid"]) not in mine]

    def until(self, condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.05)

    def has_sweep(self) -> bool:
        with closing(open_store(self.path, read_only=True)) as store:
            return bool(store.sweeps())


@pytest.fixture
def swept(tmp_path: Path) -> Iterator[Swept]:
    made = Swept(tmp_path)
    yield made
    (tmp_path / "go").touch()
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
    for pid in made.agents():
        os.kill(pid, signal.SIGKILL)


def test_a_sweep_that_is_killed_half_way_with_its_agents_comes_to_15_runs_none_of_them_twice(swept: Swept) -> None:
    process = swept.start(
        "guess", "--at", "0", "--set", "temperature=0,0.5,1", "--set", "free=6", "--samples", "5", "--jobs", "3",
        "--outcome", "answer", "--outcome", "budget < 0",
    )  # fmt: skip
    swept.until(swept.has_sweep, process)
    swept.until(lambda: swept.matrix().total.done == 6 and len(swept.agents()) == 3, process)
    process.kill()
    process.wait()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while swept.agents():  # they end with it
        assert time.monotonic() < deadline
        time.sleep(0.05)
    matrix = swept.matrix()
    assert (matrix.status, matrix.total.done) == ("interrupted", 6)
    (swept.folder / "go").touch()

    resume_sweep("guess/sweep-1", jobs=3, store=swept.path)

    matrix = swept.matrix()
    assert (matrix.status, matrix.total.done, matrix.total.samples) == ("complete", 15, 15)
    assert matrix.broken == 3
    with closing(open_store(swept.path)) as store:
        forks = store.forks(matrix.sweep.run)
        assert store.verify() == []
    ends = Counter(
        (fork.metadata[RunFacts.fork_sweep.key]["cell"], fork.metadata[RunFacts.fork_sweep.key]["sample"])  # type: ignore[index,call-overload]
        for fork in forks
        if fork.status in ("succeeded", "failed")
    )
    assert ends == Counter({(cell, sample): 1 for cell in (1, 2, 3) for sample in (1, 2, 3, 4, 5)})
    assert Counter(fork.status for fork in forks) == {"succeeded": 10, "failed": 5, "interrupted": 3}
    # By hand: what the agents themselves wrote down, and the states that they left.
    assert Counter((swept.folder / "ended").read_text().split()) == {"0": 5, "0.5": 5}
    assert [cell.tally.succeeded.count for cell in matrix.cells] == [5, 5, 0]
    assert [cell.tally.holds[1].count for cell in matrix.cells if cell.tally.holds[1]] == [0, 0, 5]
    assert [sample.found[0] for cell in matrix.cells for sample in cell.samples] == ["cold"] * 5 + ["warm"] * 5 + [
        None
    ] * 5


def test_ctrl_c_stops_the_agents_says_how_to_go_on_and_leaves_no_process(swept: Swept) -> None:
    process = swept.start("guess", "--at", "0", "--set", "temperature=0,0.5", "--set", "free=0", "--jobs", "2")
    swept.until(swept.has_sweep, process)
    swept.until(lambda: len(swept.agents()) == 2, process)
    agents = swept.agents()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, err
    assert "guess/sweep-1 was stopped: 0 of 2 runs are done" in err
    assert "agent-tt sweep --resume guess/sweep-1" in err
    assert "Traceback" not in out + err
    assert swept.agents() == []
    for pid in agents:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    (swept.folder / "go").touch()
    matrix = resume_sweep("guess/sweep-1", store=swept.path)
    assert (matrix.total.done, matrix.broken, matrix.status) == (2, 2, "complete")
    assert [cell.samples[0].run.name for cell in matrix.cells if cell.samples[0].run] == [
        "guess/sweep-1/1.1.2",
        "guess/sweep-1/2.1.2",
    ]
