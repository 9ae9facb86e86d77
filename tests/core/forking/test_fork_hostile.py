"""Agents that crash, hide and misbehave, each in a real process: the run says it, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import InvalidEntryPoint, StoreBusy
from agent_tt.forking.terms import terms_from
from agent_tt.model import Edit, NewRun
from agent_tt.rerunning.launch import start_fork
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

    from agent_tt.model import Run
    from agent_tt.rerunning.handle import RunHandle

HOSTILE = """
import ctypes, multiprocessing, os, pathlib, shutil, signal, subprocess, sys, time
import agent_tt

SLEEP = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(600)"

def note(pid):
    with open("pids", "a") as file:
        file.write(f"{pid}\\n")

def until_noted(count):
    while not os.path.exists("pids") or len(open("pids").readlines()) < count:
        time.sleep(0.01)

def linger():
    for number in (1, 2, 15):
        signal.signal(number, signal.SIG_IGN)
    note(os.getpid())
    time.sleep(600)

def recorded(function):
    def main(state=None):
        with agent_tt.record("agent", state=state) as run:
            with run.step("only", state):
                function(state)
    return main

def spin(state):
    note(os.getpid())
    while True:
        pass

def forks_plainly(state):
    if not os.fork():
        linger()
    until_noted(1)

def leads_a_session(state):
    note(subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True).pid)

def daemon(state):
    if not os.fork():
        os.setsid()
        if not os.fork():
            linger()
        os._exit(0)
    os.wait()
    until_noted(1)

def scrubbed(state):
    note(subprocess.Popen([sys.executable, "-c", SLEEP], env={}, start_new_session=True).pid)
    time.sleep(2.5)

def pool(state):
    workers = multiprocessing.get_context("fork").Pool(2)
    for _ in range(2):
        workers.apply_async(linger)
    until_noted(2)

def family(state):
    code = "import subprocess, sys; args = [sys.executable, '-c', sys.argv[1]];"
    code += "print(subprocess.Popen(args, start_new_session=True, stdout=subprocess.DEVNULL).pid)"
    note(int(subprocess.run([sys.executable, "-c", code, SLEEP], stdout=subprocess.PIPE).stdout))

def aborts(state):
    leads_a_session(state)
    os.abort()

def dies_in_c(state):
    leads_a_session(state)
    ctypes.string_at(0)

def leaves_at_once(state):
    daemon(state)
    os._exit(3)

def blocked_in_c(state):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leads_a_session(state)
    note(os.getpid())
    ctypes.PyDLL(None).sleep(600)

def deaf(state):
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    daemon(state)
    spin(state)

def swallows(state):
    daemon(state)
    note(os.getpid())
    while True:
        try:
            time.sleep(600)
        except BaseException:
            pass

def terminal(state):
    try:
        os.open("/dev/tty", os.O_RDWR)
        state["tty"] = "opened"
    except OSError as error:
        state["tty"] = os.strerror(error.errno)
    state["input"] = sys.stdin.read()

def control_codes(state):
    sys.stdout.write("\\x1b[2J\\x1b]0;title\\x07\\x1b[?1049h" * 1000 + "bye\\n")

def closes_everything(state):
    os.closerange(3, 4096)

def moves_away(state):
    os.chdir("/")

def removes_itself(state):
    folder = pathlib.Path(__file__).parent / "cage"
    folder.mkdir()
    os.chdir(folder)
    shutil.rmtree(folder)

def continues_in_a_fork(state):
    pid = os.fork()
    state["who"] = "child" if not pid else "parent"
    if pid:
        os.waitpid(pid, 0)
"""
_FUNCTIONS = [
    line[4:].partition("(")[0] for line in HOSTILE.splitlines() if line.startswith("def ") and "(state)" in line
]
HOSTILE += "\n".join(f"run_{name} = recorded({name})" for name in _FUNCTIONS)

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")


@pytest.fixture
def start(project: Project) -> Callable[..., RunHandle]:
    project.put("hostile.py", HOSTILE)

    def begin(name: str, **terms: object) -> RunHandle:
        made = project.made(f"hostile:run_{name}", {"n": 1})
        return project.fork(made, 0, terms=terms_from(**terms), allow=["*subprocess"])

    return begin


def pids(project: Project) -> list[int]:
    file = project.folder / "pids"
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZXx"


def ended(project: Project, handle: RunHandle) -> Run:
    assert handle.wait(PATIENCE_SECONDS) is not None
    return project.store.run(handle.run_id)


@linux
@pytest.mark.parametrize("name", ["forks_plainly", "leads_a_session", "daemon", "pool", "family", "scrubbed"])
def test_what_an_agent_started_ends_with_it_wherever_it_went(
    project: Project, start: Callable[..., RunHandle], name: str, eventually: Callable[[Callable[[], object]], None]
) -> None:
    handle = start(name)
    run = ended(project, handle)
    assert run.status == "succeeded", run.error
    eventually(lambda: pids(project))
    assert [pid for pid in pids(project) if not is_gone(pid)] == []
    notes = [note.body for note in project.store.notes(run.id)]
    assert any("still there when it ended, and ended with it" in body for body in notes)


@linux
@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("aborts", "crashed", "killed by SIGABRT"),
        ("dies_in_c", "crashed", "killed by SIGSEGV"),
        ("leaves_at_once", "crashed", "exited with code 3"),
    ],
)
def test_an_agent_that_dies_leaves_nobody(
    project: Project, start: Callable[..., RunHandle], name: str, status: str, says: str
) -> None:
    run = ended(project, start(name))
    assert run.status == status
    assert run.error is not None
    assert says in run.error.message
    assert [pid for pid in pids(project) if not is_gone(pid)] == []
    assert pids(project)


@linux
@pytest.mark.parametrize("name", ["spin", "blocked_in_c", "deaf", "swallows"])
def test_an_agent_that_hangs_and_hears_nothing_is_stopped_with_all_it_started(
    project: Project,
    start: Callable[..., RunHandle],
    name: str,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    handle = start(name)
    eventually(lambda: len(pids(project)) == (1 if name == "spin" else 2))
    handle.stop(grace=0.3)
    run = project.store.run(handle.run_id)
    assert run.status == "interrupted"
    assert [pid for pid in pids(project) if not is_gone(pid)] == []


@linux
def test_a_time_limit_ends_an_agent_that_swallows_every_interrupt(
    project: Project, start: Callable[..., RunHandle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tt.rerunning.handle._GRACE_SECONDS", 0.3)
    run = ended(project, start("swallows", time_limit=1.5))
    assert run.status == "interrupted"
    assert run.error is not None
    assert run.error.message == "its time limit of 1.5 s is reached"
    assert [pid for pid in pids(project) if not is_gone(pid)] == []


def test_an_agent_has_no_terminal_to_draw_on_or_read_from(project: Project, start: Callable[..., RunHandle]) -> None:
    handle = start("terminal")
    assert ended(project, handle).status == "succeeded"
    assert project.state(handle, 1) == {"n": 1, "tty": "No such device or address", "input": ""}


def test_control_codes_go_to_the_output_only(
    project: Project, start: Callable[..., RunHandle], capfd: pytest.CaptureFixture[str]
) -> None:
    handle = start("control_codes")
    assert ended(project, handle).status == "succeeded"
    assert handle.output().endswith("bye\n")
    assert capfd.readouterr() == ("", "")


def test_an_agent_that_closes_every_file_harms_only_its_own_run(
    project: Project, start: Callable[..., RunHandle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tt.rerunning.handle._GRACE_SECONDS", 0.3)
    run = ended(project, start("closes_everything", time_limit=2.0))  # SQLite tries for long to get its file back
    assert run.status in ("crashed", "interrupted", "failed")
    assert run.error is not None
    assert project.store.verify(run.id) == []


@pytest.mark.parametrize("name", ["moves_away", "removes_itself"])
def test_an_agent_that_leaves_its_folder_is_recorded_to_its_end(
    project: Project, start: Callable[..., RunHandle], name: str
) -> None:
    assert ended(project, start(name)).status == "succeeded"


def test_a_process_that_the_agent_forked_does_not_write_its_run(
    project: Project, start: Callable[..., RunHandle]
) -> None:
    handle = start("continues_in_a_fork")
    assert ended(project, handle).status == "succeeded"
    assert project.state(handle, 1) == {"n": 1, "who": "parent"}
    assert project.store.verify() == []


def test_what_is_printed_without_end_does_not_fill_the_disk(
    project: Project, monkeypatch: pytest.MonkeyPatch, eventually: Callable[[Callable[[], object]], None]
) -> None:
    monkeypatch.setattr("agent_tt.rerunning.handle._MOST_OUTPUT_BYTES", 4_000_000)
    monkeypatch.setattr("agent_tt.rerunning.handle._TICK_SECONDS", 0.05)
    project.put(
        "chatty.py",
        "import agent_tt\n"
        "def main(state=None):\n"
        "    with agent_tt.record('chatty', state=state) as run:\n"
        "        with run.step('talk', state):\n"
        "            while True: print('x' * 100_000)\n",
    )
    handle = project.fork(project.made("chatty:main", {}), 0)
    size = lambda: os.fstat(handle._output)  # noqa: E731
    eventually(lambda: size().st_size > 40_000_000)
    handle.stop(grace=1)
    assert size().st_blocks * 512 < 40_000_000
    assert handle.output(1000).splitlines()[-1] == "KeyboardInterrupt"
    assert "\0" not in handle.output()
    assert project.store.run(handle.run_id).status == "interrupted"


def test_forks_of_one_checkpoint_run_side_by_side(project: Project, start: Callable[..., RunHandle]) -> None:
    project.put("side.py", HOSTILE + "\ndef quick(state): state['done'] = True\nmain = recorded(quick)\n")
    run = project.made("side:main", {"n": 1})
    handles: list[RunHandle] = []
    threads = [threading.Thread(target=lambda: handles.append(project.fork(run, 0))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = [ended(project, handle) for handle in handles]
    assert [each.status for each in runs] == ["succeeded"] * 4
    assert sorted(each.name for each in runs) == [f"made/fork-{number}" for number in range(1, 5)]
    assert project.store.verify() == []


def test_a_fork_waits_longer_for_the_lock_than_others_do(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's lock has no queue: of many forks that begin at once, one may see all the others come first."""
    project.put("side.py", HOSTILE + "\ndef quick(state): state['done'] = True\nmain = recorded(quick)\n")
    plan = project.plan(project.made("side:main", {"n": 1}), 0)
    monkeypatch.setattr("agent_tt.store.file.connecting._Patience.seconds", 0.01)
    handles: list[RunHandle] = []
    with closing(sqlite3.connect(project.store_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(open_store(project.store_path)) as hasty, pytest.raises(StoreBusy):
            hasty.begin_run(NewRun(name="hasty"), {})
        starter = threading.Thread(target=lambda: handles.append(start_fork(plan)))
        starter.start()
        starter.join(0.5)  # longer than others wait
        other.execute("ROLLBACK")
        starter.join()
    project.handles += handles
    assert [ended(project, handle).status for handle in handles] == ["succeeded"]


def test_a_stopped_agent_of_one_fork_leaves_the_others_alone(
    project: Project, start: Callable[..., RunHandle], eventually: Callable[[Callable[[], object]], None]
) -> None:
    one, other = start("spin"), start("spin")
    eventually(lambda: len(pids(project)) == 2)
    one.stop(grace=0.3)
    assert other.poll() is None
    assert sum(is_gone(pid) for pid in pids(project)) == 1
    other.stop(grace=0.3)
    assert all(is_gone(pid) for pid in pids(project))
    assert other.poll() in (-signal.SIGKILL, 130, -signal.SIGINT)


GROWING = """
import pathlib
import agent_tt

def main(state=None):
    state = state if state is not None else {"n": 0}
    with agent_tt.record("growing", state=state) as run:
        while state["n"] < 4:
            with run.step("grow", state):
                state["n"] += 1
                if state["n"] == 3 and "WAIT" in __import__("os").environ:
                    pathlib.Path("waiting").touch()
                    input()
"""


def test_a_run_is_forked_while_it_is_still_recorded(
    project: Project, eventually: Callable[[Callable[[], object]], None]
) -> None:
    project.put("growing.py", GROWING)
    environment = {**os.environ, "AGENT_TT_STORE": str(project.store_path), "WAIT": "1"}
    command = [sys.executable, "-c", "import growing; growing.main()"]
    with subprocess.Popen(command, cwd=project.folder, env=environment, stdin=subprocess.PIPE) as parent:
        eventually((project.folder / "waiting").exists)
        original = project.store.run("latest")
        assert original.status == "running"
        fork = ended(project, project.fork(original, 2, edits=[Edit("set", "n", 3)]))
        assert parent.poll() is None
        parent.communicate(b"\n")
    assert (fork.status, fork.steps) == ("succeeded", 3)
    assert project.store.state(fork.id, 3) == {"n": 4}
    original = project.store.run(original.id)
    assert (original.status, original.steps) == ("succeeded", 4)
    assert project.store.verify() == []


def test_looking_at_a_store_keeps_the_locks_of_who_has_it_open(project: Project) -> None:
    """What closes a file gives up SQLite's locks on it: another process would then remove the log under us."""
    project.put("growing.py", GROWING)
    first = project.record("-c", "import growing; growing.main()")
    for _ in range(3):
        open_source(project.store_path).close()
        project.record("-c", "import growing; growing.main()")
        assert project.store.run(first.id).steps == 4
    assert len(project.store.runs()) == 4
    assert project.store.verify() == []


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("def main(state=None):", "def main():", r"main takes no state="),
        ("def main(state=None):", "def main(state, budget):", r"main also needs budget"),
        ("def main(", "def other(", "has no main, which growing:main asks for"),
        ("import agent_tt\n", "import agent_tt\nimport no_such_module\n", None),
    ],
)
def test_an_entry_point_that_has_changed_is_one_clear_line(
    project: Project, before: str, after: str, says: str | None
) -> None:
    project.put("growing.py", GROWING)
    run = project.record("-c", "import growing; growing.main()")
    project.put("growing.py", GROWING.replace(before, after))
    if says is not None:
        with pytest.raises(InvalidEntryPoint, match=says) as error:
            project.plan(run, 2)
        assert "\n" not in error.value.message
        return
    run = ended(project, project.fork(run, 2))
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.short == "ModuleNotFoundError: No module named 'no_such_module'"
