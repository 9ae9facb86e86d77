"""An agent ends with what started it, and with all that it has started itself, unless it was let go."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import Interrupted, UsageError
from agent_tt.model import Edit, NewRun
from agent_tt.store import open_store
from agent_tt.store.tables.definitions import RUNS
from agent_tt.supervising.stopping import stop_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Project

    from agent_tt.model import Run

    Wait = Callable[[Callable[[], object]], None]

TICKER = """
import ctypes, os, pathlib, signal, subprocess, sys, time
import agent_tt

HERE = pathlib.Path(__file__).parent
TICK = "import sys, time\\nwhile True:\\n open(sys.argv[1], 'a').write(f'{time.time()}\\\\n'); time.sleep(0.1)"

def note(pid):
    with open(HERE / "pids", "a") as file: file.write(f"{pid}\\n")

def hears_nothing():
    for name in ("SIGINT", "SIGTERM", "SIGHUP"): signal.signal(getattr(signal, name), signal.SIG_IGN)

def tick():
    while True:
        try:
            with open(HERE / "ticks", "a") as file: file.write(f"{time.time()}\\n")
            time.sleep(0.1)
        except BaseException:
            pass

def daemon():
    if not os.fork():
        os.setsid()
        if not os.fork():
            note(os.getpid())
            tick()
        os._exit(0)
    os.wait()

def main(state=None):
    with agent_tt.record("ticker", state=state if state is not None else {}) as run:
        with run.step("tick", state):
            mode = (state or {}).get("mode")
            if mode is None:
                return
            if mode == "deaf":
                hears_nothing()
                daemon()
                child = [sys.executable, "-c", TICK, str(HERE / "ticks")]
                note(subprocess.Popen(child, env={}, start_new_session=True).pid)
            note(os.getpid())
            if mode == "busy in C":
                hears_nothing()
                ctypes.PyDLL(None).sleep(600)
            tick() if mode == "deaf" else time.sleep(600)

if __name__ == "__main__":
    main()
"""

STARTS = {
    "fork": "import runpy, sys; sys.argv = ['agent-tt', 'fork', 'ticker', '--at', '0', '--allow', '*subprocess',"
    " '--set', 'mode=\"{mode}\"']; runpy.run_module('agent_tt_tui', run_name='__main__')",
    "sweep": "import runpy, sys; sys.argv = ['agent-tt', 'sweep', 'ticker', '--at', '0', '--allow', '*subprocess',"
    " '--set', 'mode=\"{mode}\"', '--samples', '2', '--jobs', '2'];"
    " runpy.run_module('agent_tt_tui', run_name='__main__')",
    "program": "import agent_tt, time;"
    "handle = agent_tt.fork('ticker', 0, {{'mode': '{mode}'}}, allow=['*subprocess']);"
    "time.sleep(600)",
    "app": "from agent_tt_tui.app import AgentTT\n"
    "import agent_tt, os\n"
    "from agent_tt_tui.screens.runs.screen import RunsScreen\n"
    "source = agent_tt.open_source(os.environ['AGENT_TT_STORE'])\n"
    "app = AgentTT(lambda: RunsScreen(source))\n"
    "app.forks.add('fork', agent_tt.fork('ticker', 0, {{'mode': '{mode}'}}, allow=['*subprocess']))\n"
    "app.run()\n",
}


@pytest.fixture
def ticker(project: Project) -> Iterator[Run]:
    project.put("ticker.py", TICKER)
    yield project.record("ticker.py")
    for pid in pids(project):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pids(project: Project) -> list[int]:
    file = project.folder / "pids"
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


def new_run(name: str) -> NewRun:
    return NewRun(name=name)


def all_gone(project: Project) -> bool:
    return all(is_gone(pid) for pid in pids(project))


def begin(project: Project, how: str, mode: str) -> subprocess.Popen[bytes]:
    """Start a process that starts an agent, and hears of a lost terminal even where we do not (`nohup`)."""
    return subprocess.Popen(
        [sys.executable, "-c", STARTS[how].format(mode=mode)],
        cwd=project.folder,
        env={**os.environ, "AGENT_TT_STORE": str(project.store_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )


def forks(project: Project) -> list[Run]:
    with closing(open_store(project.store_path)) as store:
        return [run for run in store.runs() if run.parent is not None]


@pytest.mark.parametrize(
    ("how", "number", "mode", "agents"),
    [
        ("fork", signal.SIGKILL, "deaf", 3),
        ("fork", signal.SIGHUP, "deaf", 3),
        ("fork", signal.SIGKILL, "busy in C", 1),
        ("program", signal.SIGTERM, "idle", 1),
        ("sweep", signal.SIGKILL, "idle", 2),
        ("sweep", signal.SIGHUP, "idle", 2),
    ],
)
def test_an_agent_ends_with_what_started_it(
    project: Project, ticker: Run, eventually: Wait, how: str, number: signal.Signals, mode: str, agents: int
) -> None:
    del ticker
    with begin(project, how, mode) as starter:
        eventually(lambda: len(pids(project)) == agents)
        starter.send_signal(number)
        starter.wait()
    eventually(lambda: all_gone(project))
    eventually(lambda: {run.status for run in forks(project)} == {"interrupted"})
    if number != signal.SIGHUP:  # then the command itself has stopped it
        eventually(lambda: all("it ended with what had started it" in str(run.error) for run in forks(project)))


@pytest.mark.parametrize("is_killed", [True, False])
def test_what_the_app_started_ends_when_it_is_killed_or_its_terminal_is_gone(
    project: Project, ticker: Run, eventually: Wait, is_killed: bool
) -> None:
    del ticker
    environment = {**os.environ, "AGENT_TT_STORE": str(project.store_path), "TERM": "xterm-256color"}
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(project.folder)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execve(sys.executable, [sys.executable, "-c", STARTS["app"].format(mode="deaf")], environment)
    try:
        os.set_blocking(terminal, False)

        def has_begun() -> bool:
            with suppress(OSError):
                os.read(terminal, 65_536)  # what nobody reads would block it
            return len(pids(project)) == 3

        eventually(has_begun)
        if is_killed:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(terminal)
    eventually(lambda: is_gone(pid))
    os.waitpid(pid, 0)
    eventually(lambda: all_gone(project))
    eventually(lambda: forks(project)[0].status == "interrupted")


def test_an_agent_that_was_let_go_runs_on_keeps_its_limits_and_is_ended_by_stop(
    project: Project, ticker: Run, eventually: Wait
) -> None:
    command = [sys.executable, "-m", "agent_tt_tui", "fork", ticker.id, "--at", "0", "--detach"]
    command += ["--set", 'mode="idle"', "--time-limit"]
    environment = {**os.environ, "AGENT_TT_STORE": str(project.store_path)}
    for limit in ("1h", "0.5s"):
        subprocess.run([*command, limit], cwd=project.folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    limited, free = forks(project)
    eventually(lambda: "its time limit of 0.5 s is reached" in str(project.store.run(limited.id).error))
    assert project.store.run(limited.id).status == "interrupted"
    eventually(lambda: project.store.run(free.id).steps == 1 or pids(project))
    assert project.store.run(free.id).status == "running"
    stopped = stop_run(project.store_path, free.id)
    assert (stopped.status, stopped.error and stopped.error.message) == (
        "interrupted",
        "it was stopped with `agent-tt stop`",
    )
    assert all_gone(project)
    with pytest.raises(UsageError, match="does not run: it is interrupted"):
        stop_run(project.store_path, free.id)


def test_stop_ends_a_deaf_fork_of_another_process_with_all_that_it_started(
    project: Project, ticker: Run, eventually: Wait
) -> None:
    handle = project.fork(ticker, 0, agent="ticker.py:main", allow=["*subprocess"], edits=[Edit("set", "mode", "deaf")])
    eventually(lambda: len(pids(project)) == 3)
    assert stop_run(project.store_path, handle.run_id, grace=0.2).status == "interrupted"
    assert all_gone(project)
    with pytest.raises(Interrupted):
        handle.result()


def owned_by(project: Project, run_id: str, **changed: object) -> None:
    """Let a run name another process as the one that records it."""
    with closing(open_store(project.store_path)) as store, store.database.transaction() as tx:
        ((number, owner),) = tx.query("SELECT run, owner FROM runs WHERE id = ?", (run_id,))
        RUNS.update(tx, (number,), {"owner": json.dumps({**json.loads(owner), **changed})})


def test_stop_ends_a_program_that_records_itself_and_never_a_process_that_is_not_it(
    project: Project, ticker: Run, eventually: Wait
) -> None:
    del ticker
    code = "import ticker; ticker.main({'mode': 'idle'})"
    environment = {**os.environ, "AGENT_TT_STORE": str(project.store_path)}
    with subprocess.Popen([sys.executable, "-c", code], cwd=project.folder, env=environment, stderr=-3) as program:
        eventually(lambda: pids(project))
        run = project.store.run("latest")
        assert stop_run(project.store_path, run.id).status == "interrupted"
        assert program.wait(PATIENCE_SECONDS) != 0
    # A run that names a process as its own that began at another time: that number is somebody else's by now.
    writer = project.store.begin_run(new_run("impostor"), {})
    owned_by(project, writer.run_id, start=1)
    with pytest.raises(UsageError, match="does not run: it is crashed"):
        stop_run(project.store_path, writer.run_id)


def test_a_run_that_this_process_records_is_not_stopped_by_itself(project: Project) -> None:
    writer = project.store.begin_run(new_run("own"), {})
    with pytest.raises(UsageError, match="recorded by this process itself"):
        stop_run(project.store_path, writer.run_id)
    writer.finish("succeeded")


def test_a_run_on_another_machine_is_not_stopped_here(project: Project) -> None:
    writer = project.store.begin_run(new_run("far"), {})
    owned_by(project, writer.run_id, host="elsewhere")
    with pytest.raises(UsageError, match="runs on elsewhere"):
        stop_run(project.store_path, writer.run_id)
    writer.finish("succeeded")
