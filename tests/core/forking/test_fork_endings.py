"""However the process of a fork ends, its run says so and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import AgentFailed, Interrupted, InvalidEntryPoint
from agent_tt.model import Edit

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

    from agent_tt.model import Run

AGENT = """
import os, signal, subprocess, sys
import agent_tt

def recorded(function):
    def main(state=None):
        with agent_tt.record("agent", state=state) as run:
            with run.step("only", state):
                function(state)
    return main

@recorded
def raises(state): raise ValueError("the flight is full")

@recorded
def exits(state): sys.exit(3)

@recorded
def interrupts(state): raise KeyboardInterrupt

def interrupts_before(state=None): raise KeyboardInterrupt

@recorded
def cancels(state):
    import asyncio
    raise asyncio.CancelledError

@recorded
def exits_well(state): sys.exit(0)

@recorded
def hard_exit(state):
    print("about to leave")
    os._exit(7)

@recorded
def killed(state):
    print("last words")
    os.kill(os.getpid(), signal.SIGKILL)

@recorded
def segfaults(state):
    import ctypes
    ctypes.string_at(0)

@recorded
def prints(state):
    for _ in range(2000):
        print("x" * 1000)
    print("the end \\x1b[31m\\udc80".encode("utf-8", "replace").decode())

@recorded
def loops(state):
    while True:
        pass

@recorded
def stubborn(state):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    quiet = "import signal, time; signal.signal(2, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
    state["child"] = subprocess.Popen([sys.executable, "-c", quiet]).pid
    print("child", state["child"])
    while True:
        pass

@recorded
def reads(state): state["typed"] = input()

def silent(state=None): pass

def exits_before(state=None): sys.exit(4)

def raises_before(state=None): raise KeyError("nothing recorded yet")

def raises_after(state=None):
    recorded(lambda state: None)(state)
    raise KeyError("all was recorded")

async def sleeps(state=None):
    import asyncio
    async with agent_tt.record("agent", state=state) as run:
        async with run.step("only", state):
            await asyncio.sleep(600)

constant = os.sep
"""


@pytest.fixture
def start(project: Project) -> Callable[..., object]:
    project.put("agent.py", AGENT)

    def begin(qualname: str) -> object:
        return project.fork(project.made(f"agent:{qualname}", {"n": 1}), 0, allow=["*subprocess"])

    return begin


def is_reaped(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def final(project: Project, handle: object) -> Run:
    """The run as the store has it, by id."""
    return project.store.run(handle.run_id)


@pytest.mark.parametrize(
    ("qualname", "code", "status", "says"),
    [
        ("raises", 5, "failed", "ValueError: the flight is full"),
        ("exits", 5, "failed", "SystemExit: 3"),
        ("silent", 2, "failed", "without calling agent_tt.record"),
        ("exits_before", 5, "failed", "SystemExit: 4"),
        ("raises_before", 5, "failed", "KeyError: 'nothing recorded yet'"),
        ("hard_exit", 7, "crashed", "exited with code 7"),
        ("killed", -signal.SIGKILL, "crashed", "killed by SIGKILL"),
        ("segfaults", -signal.SIGSEGV, "crashed", "killed by SIGSEGV"),
        ("reads", 5, "failed", "EOFError"),
        ("constant", 2, "failed", "cannot be called"),
    ],
)
def test_an_agent_that_ends_badly_leaves_a_run_that_says_how(
    project: Project, start: Callable[..., object], qualname: str, code: int, status: str, says: str
) -> None:
    handle = start(qualname)
    with pytest.raises(InvalidEntryPoint if code == InvalidEntryPoint.exit_code else AgentFailed) as caught:
        handle.result()
    run = final(project, handle)
    assert (handle.poll(), run.status) == (code, status), handle.output()
    assert says in run.error.short
    assert says in str(caught.value)
    assert is_reaped(handle._process.pid)


@pytest.mark.parametrize("qualname", ["interrupts", "interrupts_before", "cancels"])
def test_an_agent_that_interrupts_itself_was_interrupted_and_has_not_failed(
    project: Project, start: Callable[..., object], qualname: str
) -> None:
    handle = start(qualname)
    with pytest.raises(Interrupted, match="was interrupted") as caught:
        handle.result()
    assert (handle.poll(), final(project, handle).status, caught.value.exit_code) == (130, "interrupted", 130)


def test_a_traceback_begins_in_the_agent(project: Project, start: Callable[..., object]) -> None:
    with pytest.raises(AgentFailed) as caught:
        start("raises_before").result()
    assert "agent.py" in caught.value.traceback
    assert "_child" not in caught.value.traceback
    assert "rerunning" not in caught.value.traceback


def test_an_agent_that_could_not_start_has_no_traceback_of_ours(start: Callable[..., object]) -> None:
    handle = start("constant")
    with pytest.raises(InvalidEntryPoint):
        handle.result()
    assert "Traceback" not in handle.output()


def test_the_child_started_by_hand_says_what_it_is() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_TT_")}
    command = [sys.executable, "-m", "agent_tt._child"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)


def test_what_a_killed_agent_printed_last_is_kept_with_its_run(project: Project, start: Callable[..., object]) -> None:
    with pytest.raises(AgentFailed) as caught:
        start("killed").result()
    assert "last words" in caught.value.traceback


def test_an_exit_with_success_is_success(start: Callable[..., object]) -> None:
    assert start("exits_well").result().status == "succeeded"


def test_an_error_after_the_recording_does_not_undo_it(start: Callable[..., object]) -> None:
    handle = start("raises_after")
    assert handle.result().status == "succeeded"
    assert handle.poll() == 5
    assert "all was recorded" in handle.output()


def test_a_flood_of_output_is_only_a_file_and_its_tail_can_be_read(start: Callable[..., object]) -> None:
    handle = start("prints")
    assert handle.result().status == "succeeded"
    assert len(handle.output()) <= 64 * 1024
    assert "the end" in handle.output(100)


@pytest.mark.parametrize("qualname", ["loops", "sleeps"])
def test_an_agent_that_never_ends_can_be_stopped(
    project: Project, start: Callable[..., object], eventually: Callable[..., None], qualname: str
) -> None:
    handle = start(qualname)
    eventually(lambda: project.store.step_count(handle.run_id))
    assert handle.wait(timeout=0) is None
    handle.stop()
    assert (handle.poll(), final(project, handle).status) == (130, "interrupted")
    with pytest.raises(Interrupted):
        handle.result()


def test_what_ignores_the_interrupt_is_killed_with_all_that_it_started(
    project: Project, start: Callable[..., object], eventually: Callable[..., None]
) -> None:
    handle = start("stubborn")
    eventually(lambda: "ready" in handle.output() and "child " in handle.output())
    grandchild = int(handle.output().partition("child ")[2].split()[0])
    handle.stop(grace=0.2)
    run = final(project, handle)
    assert (handle.poll(), run.status) == (-signal.SIGKILL, "interrupted")
    eventually(lambda: is_reaped(grandchild) or is_zombie(grandchild))


def is_zombie(pid: int) -> bool:
    """Whether a process is over and only waits for its new parent (a container's init may never reap it)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_leaving_a_block_by_an_exception_stops_the_fork(
    project: Project, start: Callable[..., object], eventually: Callable[..., None]
) -> None:
    handle = start("loops")
    eventually(lambda: project.store.step_count(handle.run_id))
    with pytest.raises(KeyboardInterrupt), handle:
        raise KeyboardInterrupt
    assert final(project, handle).status == "interrupted"


def test_ctrl_c_in_a_script_that_waits_stops_its_fork(project: Project, eventually: Callable[..., None]) -> None:
    project.put("agent.py", AGENT)
    run = project.made("agent:loops", {"n": 1})
    script = f"import agent_tt; agent_tt.fork({run.id!r}, 0, store={str(project.store_path)!r}).result()"
    launcher = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, start_new_session=True)
    eventually(lambda: len(project.store.runs()) == 2 and project.store.step_count(project.store.run("latest").id))
    launcher.send_signal(signal.SIGINT)
    _, error = launcher.communicate(timeout=PATIENCE_SECONDS)
    assert b"KeyboardInterrupt" in error
    assert project.store.run("latest").status == "interrupted"


def test_stopping_what_has_ended_does_nothing(start: Callable[..., object]) -> None:
    handle = start("exits_well")
    handle.wait()
    handle.stop()
    assert handle.result().status == "succeeded"


def test_a_module_that_cannot_import_what_it_needs_fails_with_its_traceback(project: Project) -> None:
    project.put("broken.py", "import not_there_at_all\ndef main(state=None): ...\n")
    with pytest.raises(AgentFailed, match="not_there_at_all") as caught:
        project.fork(project.made("broken:main", {}), 0).result()
    assert "broken.py" in caught.value.traceback


def test_a_module_that_is_not_there_is_said_before_and_after(project: Project) -> None:
    run = project.made("nowhere.to.be_found:main", {})
    assert "cannot be found from here" in project.plan(run, 0).problems[0]
    handle = project.fork(run, 0)
    with pytest.raises(InvalidEntryPoint, match="there is no module nowhere"):
        handle.result()
    assert handle.poll() == 2


def test_a_process_that_cannot_start_leaves_a_failed_run(project: Project) -> None:
    project.put("agent.py", AGENT)
    fake = project.put("python", "this is not a program")
    fake.chmod(0o755)
    run = project.made("agent:silent", {})
    plan = project.plan(run, 0)
    from dataclasses import replace

    from agent_tt.rerunning.launch import start_fork

    with pytest.raises(InvalidEntryPoint, match="could not be started"):
        start_fork(replace(plan, code=replace(plan.code, interpreter=str(fake))))
    assert project.store.run("made/fork-1").status == "failed"


def test_an_edit_that_the_agent_cannot_take_is_the_agents_error(project: Project) -> None:
    project.put("agent.py", AGENT)
    run = project.made("agent:exits_well", {"n": 1})
    handle = project.fork(run, 0, edits=[Edit("set", "", [1, 2])])
    assert handle.result().status == "succeeded"
    assert project.state(handle, 0) == [1, 2]


def test_a_script_that_runs_its_agent_when_it_is_imported_is_refused_before_it_does_anything(project: Project) -> None:
    agent = project.put(
        "unguarded.py",
        "import pathlib, agent_tt\n"
        "@agent_tt.tool(effect='read')\n"
        "def look(): pathlib.Path('looked').touch()\n"
        "def main(state=None):\n"
        "    with agent_tt.record('unguarded', state=state or {}) as run:\n"
        "        look()\n"
        "main()\n",
    )
    handle = project.fork(project.made("unguarded.py:main", {"n": 1}), 0)
    with pytest.raises(InvalidEntryPoint, match="as soon as it is imported"):
        handle.result()
    assert handle.poll() == 2
    assert not (agent.parent / "looked").exists()
