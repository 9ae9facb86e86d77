"""A run that is killed at any moment, and resumed, makes every call exactly once."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 100
PROCESSES = 2
AGENT = """
import agent_tt


@agent_tt.tool(effect="read")
def look(n):
    return {"seen": n}


@agent_tt.tool(effect="write")
def count(n):
    with open("counted", "a") as file:
        file.write(f"{n}\\n")
    return {"counted": n}


def main(state=None):
    state = state or {"log": []}
    with agent_tt.record("counting", state=state, store="runs.db", durability="normal") as run:
        for n in range(20):
            with run.step("count"):
                look(n)
                state["log"].append(count(n)["counted"])
"""

MOTHER = """
import json, os, random, signal, subprocess, sys, threading
from collections import Counter
from pathlib import Path

import agent_tt
import agent_tt.rerunning.from_recording
from agent_tt import _child
from agent_tt.recording.links import Link, Place
from agent_tt.recording.session import SESSION
from agent_tt.rerunning import process
from agent_tt.resuming import Happened
from agent_tt.store import open_store

root, seed, kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
choose = random.Random(seed)
sys.path.insert(0, str(root))


def die_after(seconds):
    def die():
        threading.Event().wait(seconds)
        os.kill(os.getpid(), signal.SIGKILL)
    if seconds is not None:
        threading.Thread(target=die, daemon=True).start()


class Forked:
    '''In place of a new interpreter: a fork of this one, which has imported everything but the agent.

    No store is open here when it is made: SQLite cannot be carried over a fork.
    '''

    delay = None

    def __init__(self, command, *, cwd, env, stdout, **_):
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.chdir(cwd)
            os.dup2(stdout.fileno() if hasattr(stdout, "fileno") else stdout, 2)
            os.environ.clear()
            os.environ.update(env)
            die_after(Forked.delay)
            os._exit(_child.main())

    def wait(self):
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


class Subprocess:
    '''What starts the agent; its keeper is a process like any other.'''

    Popen = Forked

    def __getattr__(self, name):
        return getattr(subprocess, name)


process.subprocess = Subprocess()


class DiesAfter(Link):
    place = Place.WATCH

    def __init__(self, delay):
        self.delay = delay

    def run_begun(self, recording):
        die_after(self.delay)


def begin(folder, delay):
    folder.mkdir()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        import agent
        SESSION.join(DiesAfter(delay))
        agent.main()
        os._exit(0)
    os.waitpid(child, 0)


def counted(folder):
    file = folder / "counted"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def calls_of(folder):
    store = open_store(folder / "runs.db")
    run = store.run("counting")
    calls = [call for step in store.steps(run.id) for call in store.calls(run.id, step.number) if call.name == "count"]
    store.close()
    return run, calls


def check_recorded(folder):
    '''Everything that was executed is recorded, except at most one call, which is known to have been in flight.'''
    run, calls = calls_of(folder)
    finished = {call.args["n"] for call in calls if call.status == "ok"}
    flying = {call.args["n"] for call in calls if call.status == "pending"} - finished
    assert len(flying) <= 1, flying
    assert finished <= set(counted(folder)) <= finished | flying, (finished, flying, counted(folder))
    return run.status == "crashed", len(flying)


def resume(folder, delay=None):
    Forked.delay = delay
    executed = counted(folder)
    told = lambda call: Happened({"counted": call.args["n"]}) if call.args["n"] in executed else None
    handle = agent_tt.resume("counting", store=folder / "runs.db", in_flight=told)
    code = handle.wait(300)
    assert code in (0, -signal.SIGKILL), (code, handle.output())


summary = Counter()
while summary["kills"] < kills:
    folder = root / f"{seed}-{summary['runs']}"
    summary["runs"] += 1
    begin(folder, choose.uniform(0, 0.04))
    crashed, flying = check_recorded(folder)
    while crashed:
        summary["kills"] += 1
        summary["in flight"] += flying
        again = choose.uniform(0.02, 0.1) if choose.random() < 0.3 else None
        resume(folder, again)
        crashed, flying = check_recorded(folder)
    assert counted(folder) == list(range(20)), counted(folder)
    store = open_store(folder / "runs.db")
    run = store.run("counting")
    assert (run.status, run.steps) == ("succeeded", 20), run
    assert store.state(run.id, 20) == {"log": list(range(20))}
    assert store.verify() == []
    store.close()
print(json.dumps(summary))
"""


def test_a_run_killed_at_a_hundred_moments_and_resumed_makes_every_call_once(tmp_path: Path):
    (tmp_path / "agent.py").write_text(AGENT)
    command = [sys.executable, "-c", MOTHER, str(tmp_path)]
    mothers = [
        subprocess.Popen(
            [*command, str(seed), str(KILLS // PROCESSES)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for seed in range(PROCESSES)
    ]
    summaries = []
    for mother in mothers:
        told, complaints = mother.communicate(timeout=2 * PATIENCE_SECONDS)
        assert mother.returncode == 0, complaints[-3000:]
        summaries.append(json.loads(told))
    assert sum(summary["kills"] for summary in summaries) >= KILLS
    assert sum(summary["in flight"] for summary in summaries) > 0
