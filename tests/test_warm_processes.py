"""A process that is forked from a warm interpreter does what one does that begins from nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.warm_processes import warm_processes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="without Linux every process begins from nothing")

PROGRAM = """
import inspect, __main__
print(__name__, __file__, __spec__, sys.argv, sys.orig_argv, sys.path, os.getcwd(), __main__.f is f)
def f():
    raise ValueError(inspect.getsource(f))
f()
"""
PROGRAMS = {
    "lists": ("-c", "print(sys.argv, sys.path, sys.orig_argv, __name__)", "a", "--b"),
    "module": ("-m", "json.tool", "--compact"),
    "unbuffered": ("-P", "-u", "-X", "faulthandler", "-c", "print(sys.path, sys._xoptions); os._exit(0)"),
    "streams": ("-c", "for s in (sys.stdin, sys.stdout, sys.stderr): print(s, s.errors, s.line_buffering, s.buffer)"),
    "environment": ("-c", "print(sorted(os.environ.items()), os.getppid(), os.getpgid(0) == os.getpid())"),
    "lost": ("-c", "print('is never flushed', end=''); os._exit(4)"),
    "exit word": ("-c", "sys.exit('no')"),
    "exit code": ("-c", "sys.exit(300)"),
    "interrupt": ("-c", "raise KeyboardInterrupt"),
    "killed": ("-c", "os.kill(os.getpid(), 9)"),
    "aborted": ("-c", "os.abort()"),
    "end": (
        "-c",
        """
import atexit, threading
class Last:
    def __del__(self, say=print): say("taken apart")
last = Last()
atexit.register(print, "at exit")
def wait_for_the_end():
    threading.main_thread().join()
    print("thread")
threading.Thread(target=wait_for_the_end).start()
print("main")
""",
    ),
}


def ended(*command: str, **options: object) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *command],
        input='{"a": 1}',
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        **options,
    )
    return done.returncode, done.stdout, done.stderr


def check_same(folder: Path, *command: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "1", "ONLY": "here"}
    fresh = ended(*command, cwd=folder, env=environment)
    with warm_processes():
        assert ended(*command, cwd=folder, env=environment) == fresh


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_says_and_ends_the_same(tmp_path: Path, name: str) -> None:
    check_same(tmp_path, *(f"import os, sys\n{word}" if " " in word else word for word in PROGRAMS[name]))


def test_a_script_is_its_main_module(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"import os, sys\n{PROGRAM}")
    check_same(tmp_path, "program.py", "a")
    check_same(tmp_path, "./program.py")


def test_it_is_a_child_of_ours_in_a_session_of_its_own_and_has_imported_before() -> None:
    loaded = "import sys; print('agent_tt.rerunning.filling' in sys.modules, flush=True); input()"
    with (
        warm_processes(),
        subprocess.Popen(
            [sys.executable, "-c", loaded], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        assert os.getsid(process.pid) == process.pid
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == -signal.SIGINT
    assert ended("-c", "import sys; print('agent_tt' in sys.modules)")[1] == "False\n"
