"""Agents that are forked from a process that has imported what they need do what they do in processes of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from agent_tt.errors import AgentFailed, Interrupted
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.forking.terms import Terms, terms_from
from agent_tt.intercepting.limits import Limits
from agent_tt.model import Edit
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.replay import run_replay
from agent_tt.rerunning.warm.pool import COLD_VARIABLE, WarmAgents
from agent_tt.store import open_store
from agent_tt.supervising.forked import ForkedProcess
from agent_tt.supervising.stopping import stop_run
from agent_tt.sweeping import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Project

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.rerunning.handle import RunHandle

    Wait = Callable[[Callable[[], object]], None]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="without Linux every agent begins from nothing")

SAMPLES = Path(__file__).parents[3] / "sample_runs"
FORKED = {
    "flaky-checkout": ("restore", 1),
    "refund-loop": ("restore", 1),
    "research-team": ("restore", 1),
    "trip-planner": ("restore", 2),
}
"""The samples, with how and where each is forked; `long-haul` takes a minute."""

TELLER = """
import os, random, sys, time, uuid
import agent_tt

COUNTED, DREW, AT, ID = [], random.random(), time.time_ns(), str(uuid.uuid4())
UNIQUE = str(uuid.uuid1())
FILE = open(__file__)
FIRST = FILE.readline()
CONTEXT = FILE.tell()

def told():
    COUNTED.append(1)
    flags = [os.path.realpath(f"/proc/self/fd/{each}") for each in sorted(os.listdir("/proc/self/fd"), key=int)[:3]]
    return {
        "alike": {
            "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
            "options": sorted(sys._xoptions), "warnings": sys.warnoptions, "folder": os.getcwd(),
            "variables": {k: v for k, v in os.environ.items() if k != "AGENT_TT_WITHIN"},
            "name": __name__, "main": sys.modules["__main__"].__file__, "order": list({"a", "b", "c", "d", "e"}),
            "streams": [repr(each) for each in (sys.stdin, sys.stdout, sys.stderr)],
            "files": len(os.listdir("/proc/self/fd")), "counted": len(COUNTED), "position": CONTEXT,
            "parent": os.getppid(), "leads": os.getsid(0) == os.getpid(), "read": sys.stdin.read(),
            "loaded": sorted(name for name in sys.modules if not name.startswith("agent_tt")
                and name.partition(".")[0] not in ("hyperscan", "platformdirs")),
            "signal": str(__import__("signal").getsignal(2)),
            "command": open("/proc/self/cmdline").read(),
        },
        "own": [DREW, AT, ID, UNIQUE, random.random(), os.getpid()],
        "marks": [os.environ["AGENT_TT_WITHIN"].split()[-1], *within()],
        "forked": "agent_tt.rerunning.warm.server" in sys.modules,
    }

def within():
    begun_with = open("/proc/self/environ").read().split("\\0")
    return [each.partition("=")[2].split()[-1] for each in begun_with if each.startswith("AGENT_TT_WITHIN=")]

def main(state=None):
    state = state if state is not None else {"mode": "tell"}
    with agent_tt.record("teller", state=state) as run:
        with run.step("tell", state):
            if os.environ.get("AGENT_TT_WITHIN"):
                state["told"] = told()
            if state["mode"] == "die":
                os.kill(os.getpid(), 9)
            if state["mode"] == "fail":
                raise LookupError("as it was told")
            if state["mode"] == "print":
                print("printed without an end", end="")
            if state["mode"] in ("sleep", "deaf"):
                if state["mode"] == "deaf":
                    import signal
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
                with open("pids", "a") as file: file.write(f"{os.getpid()}\\n")
                while not os.path.exists("go"): time.sleep(0.02)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def warm() -> Iterator[WarmAgents]:
    agents = WarmAgents()
    yield agents
    agents.close()


@pytest.fixture
def teller(project: Project) -> Run:
    project.put("teller.py", TELLER)
    return project.record("teller.py")


def begin(
    project: Project,
    run: Run,
    warm: WarmAgents,
    mode: str = "tell",
    terms: Terms = Terms(),  # noqa: B008  frozen
) -> RunHandle:
    request = ForkRequest(0, agent="teller.py:main", edits=[Edit("set", "mode", mode)], terms=terms)
    handle = start_fork(plan_fork(project.store, run, request), warm=warm)
    project.handles.append(handle)
    return handle


def told(project: Project, handle: RunHandle) -> dict:
    assert handle.result().status == "succeeded"
    return project.state(handle, 1)["told"]


def warm_up(project: Project, run: Run, warm: WarmAgents) -> dict:
    """The first of its kind begins from nothing: there may be no other. What it says."""
    return told(project, begin(project, run, warm))


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


def servers(warm: WarmAgents) -> list[int]:
    return [each._process.pid for each in warm._servers.values()]


def pids(project: Project) -> list[int]:
    file = project.folder / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


# ---------------------------------------------------------------- they are the same


def test_all_that_an_agent_can_tell_of_its_process_is_as_in_one_of_its_own(
    project: Project, teller: Run, warm: WarmAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    fresh = warm_up(project, teller, warm)
    handles = [begin(project, teller, warm) for _ in range(3)]
    forked = [told(project, handle) for handle in handles]
    assert [fresh["forked"], *(each["forked"] for each in forked)] == [False, True, True, True]
    for each in forked:
        assert each["alike"] == fresh["alike"]
    assert fresh["alike"]["parent"] == os.getpid()
    assert [each["marks"] for each in forked] == [[handle.run_id] * 2 for handle in handles]
    for place in range(len(fresh["own"])):
        assert len({str(each["own"][place]) for each in (fresh, *forked)}) == 4, f"number {place} is drawn in each run"


def what_came(source: RunSource, run_id: str) -> object:
    """A run without what is another one each time: ids, times, processes."""
    run = source.run(run_id)
    metadata = {key: value for key, value in run.metadata.items() if key != "process"}
    steps = [
        (each.number, each.name, each.status, each.kind, each.decision, str(each.error))
        for each in source.steps(run_id)
    ]
    calls = [
        (each.step, each.number, each.kind, each.name, each.status, each.signature, each.args, each.result, each.error)
        for each in source.call_page(run_id, 1, len(steps) + 1)
    ]
    states = [source.digest(run_id, number) for number, *_ in steps]
    notes = [(note.step, note.kind, note.text) for note in source.notes(run_id)]
    return run.status, str(run.error), run.tags, run.policy, metadata, steps, calls, states, notes


@pytest.mark.parametrize("name", FORKED)
def test_the_forks_and_replays_of_a_sample_are_those_of_processes_of_their_own(
    tmp_path: Path, warm: WarmAgents, name: str
) -> None:
    for file in (*SAMPLES.glob("*.py"), SAMPLES / "runs.db"):
        shutil.copy(file, tmp_path)
    by, step = FORKED[name]
    with closing(open_store(tmp_path / "runs.db")) as store:
        script = next(tmp_path.glob(f"{name.replace('-', '_')}.py"))
        plan = plan_fork(store, name, ForkRequest(step, by=by, agent=f"{script}:main"))
        handles = []
        for _ in range(3):
            handles.append(start_fork(plan, warm=warm))
            handles[-1].wait()
        kinds = [isinstance(handle._process, ForkedProcess) for handle in handles]
        assert kinds == [False, True, True]
        fresh, *forked = [what_came(store, handle.run_id) for handle in handles]
        assert forked == [fresh, fresh]
        fork = store.run(handles[0].run_id)
        reports = [run_replay(store, fork, warm=warm).to_json() for _ in range(3)]
        assert reports[1:] == [reports[0]] * 2


def test_code_that_is_changed_between_two_runs_is_the_code_that_runs(
    project: Project, teller: Run, warm: WarmAgents
) -> None:
    warm_up(project, teller, warm)
    assert told(project, begin(project, teller, warm))["forked"]
    project.put("teller.py", TELLER.replace('"own": [', '"own": ["changed", '))
    again = told(project, begin(project, teller, warm))
    assert (again["forked"], again["own"][0]) == (True, "changed")


def test_what_a_forked_agent_prints_and_how_it_fails_are_kept(project: Project, teller: Run, warm: WarmAgents) -> None:
    warm_up(project, teller, warm)
    printing, failing, dying = (begin(project, teller, warm, mode) for mode in ("print", "fail", "die"))
    assert printing.result().status == "succeeded"
    assert printing.output() == "printed without an end"
    with pytest.raises(AgentFailed, match="as it was told"):
        failing.result()
    with pytest.raises(AgentFailed, match="killed by SIGKILL"):
        dying.result()
    assert dying.poll() == -signal.SIGKILL
    assert all(isinstance(each._process, ForkedProcess) for each in (printing, failing, dying))


def test_a_forked_agent_keeps_its_time_limit_is_stopped_and_is_found_by_its_mark(
    project: Project, teller: Run, warm: WarmAgents, eventually: Wait
) -> None:
    warm_up(project, teller, warm)
    limited = begin(project, teller, warm, "deaf", terms_from(time_limit=0.2))
    with pytest.raises(Interrupted, match="time limit"):
        limited.result()
    stopped = begin(project, teller, warm, "sleep")
    eventually(lambda: len(pids(project)) == 2)
    stopped.stop()
    with pytest.raises(Interrupted):
        stopped.result()
    elsewhere = begin(project, teller, warm, "deaf")
    eventually(lambda: len(pids(project)) == 3)
    assert stop_run(project.store_path, elsewhere.run_id, grace=0.1).status == "interrupted"
    assert all(is_gone(pid) for pid in pids(project))
    assert all(isinstance(each._process, ForkedProcess) for each in (limited, stopped, elsewhere))


def test_the_runs_of_a_sweep_are_forked(project: Project, teller: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr("agent_tt.rerunning.warm.pool._MOST_FORKS", 2)  # then another process is forked
    matrix = sweep(teller.id, 0, agents=["teller.py:main"], samples=3, jobs=2, store=project.store_path)
    runs = [sample.run for cell in matrix.cells for sample in cell.samples]
    said = [project.store.state(run.id, 1)["told"] for run in runs if run is not None]
    assert [each["forked"] for each in said] == [True] * 3
    assert len({str(each["own"]) for each in said}) == 3


# ---------------------------------------------------------------- what is killed


def test_where_the_warm_process_is_killed_its_agents_go_on_and_the_next_begin_from_nothing(
    project: Project, teller: Run, warm: WarmAgents, eventually: Wait
) -> None:
    warm_up(project, teller, warm)
    running = begin(project, teller, warm, "sleep")
    eventually(lambda: pids(project))
    (server,) = servers(warm)
    os.kill(server, signal.SIGKILL)
    eventually(lambda: is_gone(server))
    after = [told(project, begin(project, teller, warm)) for _ in range(2)]
    assert [each["forked"] for each in after] == [False, True]
    (project.folder / "go").touch()
    assert told(project, running)["forked"]
    warm.close()
    assert all(is_gone(pid) for pid in (server, *servers(warm)))


def test_a_warm_process_that_is_killed_twice_is_not_started_again(
    project: Project, teller: Run, warm: WarmAgents
) -> None:
    warm_up(project, teller, warm)
    for _ in range(2):
        assert told(project, begin(project, teller, warm))["forked"]
        os.kill(servers(warm)[0], signal.SIGKILL)
        assert not told(project, begin(project, teller, warm))["forked"]
    assert not told(project, begin(project, teller, warm))["forked"]
    assert servers(warm) == []


def test_nobody_waits_for_a_warm_process_that_says_nothing(
    project: Project, teller: Run, warm: WarmAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tt.rerunning.warm.pool._FORK_SECONDS", 0.5)
    warm_up(project, teller, warm)
    assert told(project, begin(project, teller, warm))["forked"]
    (server,) = servers(warm)
    os.kill(server, signal.SIGSTOP)
    assert not told(project, begin(project, teller, warm))["forked"]
    assert is_gone(server)


STARTER = """
import sys, time
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.model import Edit
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.warm.pool import WarmAgents
from agent_tt.store import open_store
store, warm = open_store(sys.argv[1]), WarmAgents()
start_fork(plan_fork(store, sys.argv[2], ForkRequest(0, agent="teller.py:main")), warm=warm).wait()
plan = plan_fork(store, sys.argv[2], ForkRequest(0, agent="teller.py:main", edits=[Edit("set", "mode", "deaf")]))
handles = [start_fork(plan, warm=warm) for _ in range(2)]
print(*[each._process.pid for each in warm._servers.values()], warm._keeper._line.process.pid, flush=True)
time.sleep(600)
"""


def test_agents_and_the_warm_process_end_with_what_started_them(
    project: Project, teller: Run, eventually: Wait
) -> None:
    command = [sys.executable, "-c", STARTER, str(project.store_path), teller.id]
    with subprocess.Popen(command, cwd=project.folder, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        others = [int(word) for word in starter.stdout.readline().split()]
        eventually(lambda: len(pids(project)) == 2)
        starter.kill()
    eventually(lambda: all(is_gone(pid) for pid in (*pids(project), *others)))
    runs = [run for run in project.store.runs() if run.parent is not None]
    deaf = [project.store.run(run.id) for run in runs if run.steps == 1 and run.status != "succeeded"] or runs[:2]
    eventually(lambda: {project.store.run(run.id).status for run in deaf} == {"interrupted"})
    assert all("it ended with what had started it" in str(project.store.run(run.id).error) for run in deaf)


# ---------------------------------------------------------------- what begins from nothing


def test_with_a_limit_of_memory_an_agent_begins_from_nothing(project: Project, teller: Run, warm: WarmAgents) -> None:
    terms = Terms(limits=Limits(memory=2_000_000_000))
    both = [told(project, begin(project, teller, warm, terms=terms)) for _ in range(2)]
    assert [each["forked"] for each in both] == [False, False]


def test_each_agent_begins_from_nothing_where_somebody_wants_that(
    project: Project, teller: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COLD_VARIABLE, "1")
    with closing(WarmAgents()) as warm:
        both = [told(project, begin(project, teller, warm)) for _ in range(2)]
    assert [each["forked"] for each in both] == [False, False]


BEGUN = {
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    "a connection": "import socket\nHELD = socket.socketpair()",
    "an event loop": "import asyncio\nHELD = asyncio.new_event_loop()",
    "a tracer": "import sys\nsys.settrace(lambda *_: None)",
}


@pytest.mark.parametrize("what", BEGUN)
def test_where_something_is_there_before_the_agent_each_begins_from_nothing(
    project: Project, teller: Run, warm: WarmAgents, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    place = project.folder / "installed"
    place.mkdir()
    (place / "sitecustomize.py").write_text(BEGUN[what])
    monkeypatch.setenv("PYTHONPATH", str(place))
    both = [told(project, begin(project, teller, warm)) for _ in range(2)]
    assert [each["forked"] for each in both] == [False, False]
    assert servers(warm) == []


def test_agents_that_do_not_begin_alike_are_not_forked_from_the_same_process(
    project: Project, teller: Run, warm: WarmAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up(project, teller, warm)
    assert told(project, begin(project, teller, warm))["forked"]
    monkeypatch.setenv("SOME_SETTING", "another")
    changed = told(project, begin(project, teller, warm))
    assert not changed["forked"]
    assert changed["alike"]["variables"]["SOME_SETTING"] == "another"
    again = told(project, begin(project, teller, warm))
    assert again["forked"]
    assert again["alike"]["variables"]["SOME_SETTING"] == "another"
    assert len(servers(warm)) == 2
