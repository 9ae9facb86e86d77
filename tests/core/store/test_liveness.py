"""Whether a process is still there, told by what the kernel says about it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tt.store.liveness import Clock, Owner, as_if, current_owner, is_alive, now_us, start_in

STATE, FLAGS, START, PENDING = 0, 6, 19, 28
"""Fields of `/proc/PID/stat` after the name."""
PF_EXITING = 0x4

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the state of a process")


def own_stat(name: str = "python3", **fields: object) -> str:
    """This process's line, with a name and some fields replaced."""
    number, _, rest = Path("/proc/self/stat").read_text().rpartition(")")
    found = rest.split()
    for field, value in fields.items():
        found[globals()[field]] = str(value)
    return f"{number.partition('(')[0]}({name}) {' '.join(found)}"


@pytest.mark.parametrize("name", ["python3", "a b", ") Z 1 (", "x) Z"])
def test_a_process_that_runs_has_a_start_whatever_its_name(name: str) -> None:
    assert start_in(own_stat(name)) == current_owner().start > 0


@pytest.mark.parametrize(
    "fields",
    [
        {"STATE": "Z"},
        {"STATE": "X"},
        {"FLAGS": 0x400000 | PF_EXITING},
        {"PENDING": 1 << (signal.SIGKILL - 1)},
        {"PENDING": 1 << (signal.SIGKILL - 1) | 1 << (signal.SIGTERM - 1)},
    ],
    ids=str,
)
def test_a_process_that_runs_no_code_any_more_is_gone(fields: dict[str, object]) -> None:
    assert start_in(own_stat(**fields)) is None


@pytest.mark.parametrize("state", ["R", "S", "D", "T", "t", "I"])
def test_a_process_that_waits_or_is_stopped_is_there(state: str) -> None:
    pending = 1 << (signal.SIGTERM - 1)  # it may refuse this one
    assert start_in(own_stat(STATE=state, PENDING=pending)) == current_owner().start


def test_a_stopped_process_is_gone_the_moment_it_is_killed() -> None:
    own = current_owner()
    program = "import os, signal; print(1, flush=True); os.kill(os.getpid(), signal.SIGSTOP)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        stat = Path(f"/proc/{process.pid}/stat").read_text()
        owner = Owner(own.host, own.boot, process.pid, start_in(stat) or 0)
        assert is_alive(owner, None)
        process.kill()
        assert not is_alive(owner, None)


def test_what_is_written_as_if_at_another_time_is_written_at_that_or_at_what_a_clock_tells_each_time() -> None:
    other, clock, times = Owner("elsewhere", "", 1, 1), Clock(), iter(range(10, 20))
    with as_if(7, other):
        assert (now_us(), clock.now_us(), current_owner()) == (7, 7, other)
        with as_if(lambda: next(times), None):
            assert [now_us(), clock.now_us(), now_us()] == [10, 11, 12]
            assert current_owner().pid == os.getpid()
        assert (now_us(), current_owner()) == (7, other)
    assert now_us() > 20
