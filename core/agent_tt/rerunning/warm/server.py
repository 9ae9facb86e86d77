"""The process that agents are forked from: `python -m agent_tt._child` with `WARM_VARIABLE` in its environment.

It imports what an agent's process imports of this package, then forks itself for each request. What it forks returns
from `serve` with what it is to do, and goes on as a process does that was told the same when it began: command line,
options and the order of sets are those of this process, which was started as that one would have been.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from agent_tt.replaying.program.program_end import end_program
from agent_tt.rerunning.rerun import WARM_VARIABLE, Rerun
from agent_tt.supervising.marks import MARK

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["HEAD", "YES", "let_go", "serve"]

HEAD: Final = 12
"""Bytes that a number takes on the socket."""

YES: Final = b"y"

_ALL: Final = (
    "agent_tt.recording.record",
    "agent_tt.recording.tools",
    "agent_tt.recording.llm",
    "agent_tt.recording.steps",
    "agent_tt.seams.install",
    "agent_tt.seams.processes.popen_seam",
    "agent_tt.store",
    "platformdirs.unix",
)
_OF: Final = {
    "state": ("agent_tt.rerunning.filling", "agent_tt.rerunning.from_state", "agent_tt.store.writer", "ctypes"),
    "recording": ("agent_tt.rerunning.filling", "agent_tt.rerunning.from_recording", "agent_tt.store.writer", "ctypes"),
    "halt": ("agent_tt.rerunning.replayed",),
}
"""What is imported for reruns of each kind; all of it is imported by such a process in any case."""

_OURS: Final = frozenset({"agent_tt", "agent_tt_tui"})

_KEPT: Final[list[object]] = []
_KEPT.append(_KEPT)
"""Never freed: it holds itself, and `gc.freeze` has put it out of the collector's sight."""

_ENV_START: Final = 47
"""Of `/proc/PID/stat`, counted from after the name: where the variables lie that the process began with."""


class _Mark:
    """The mark among the variables that this process began with, where others look for it in `/proc/PID/environ`.

    A fork of this process shows the same. It is a copy of its memory, so it writes its own mark over that. It does so
    by a file: `ctypes` would be one more library in the process of an agent that loads none.
    """

    def __init__(self) -> None:
        variables, name = Path("/proc/self/environ").read_bytes(), f"{MARK}=".encode()
        place = 0 if variables.startswith(name) else variables.index(b"\0" + name) + 1
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        self._address = int(fields[_ENV_START]) + place + len(name)
        self._room = variables.index(b"\0", place) - place - len(name)

    def write(self, mark: str) -> None:
        """Let others see that mark.

        Raises:
            OSError, ValueError: it cannot be written there, or there is no room for it.
        """
        text = os.fsencode(mark)
        if len(text) > self._room:
            raise ValueError(mark)
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(memory, text.ljust(self._room), self._address)
        finally:
            os.close(memory)

    def can_be_seen(self) -> bool:
        """Tell whether the system shows what is written there."""
        self.write("tried")
        seen = Path("/proc/self/environ").read_bytes().split(b"\0")
        self.write(os.environ[MARK])
        return f"{MARK}=tried".encode() in [each.rstrip() for each in seen]


def serve(environment: MutableMapping[str, str] = os.environ) -> Rerun:
    """Import, say whether this process can be forked, and fork it at each request.

    It is told `FILE BEGINS FOLLOWS` in `WARM_VARIABLE`: the socket that requests come through, and the two words of
    the reruns that will be asked for.

    Returns:
        In a process that was forked, what it is to do.
    """
    file, begins, follows = environment.pop(WARM_VARIABLE).split()
    channel = socket.socket(fileno=int(file))
    channel.set_inheritable(False)
    for name in (*_OF["halt" if follows == "halt" else begins], *_ALL):
        importlib.import_module(name)
    _prepare()
    try:
        mark = _Mark()
        is_fit = mark.can_be_seen()
    except (OSError, ValueError, IndexError):
        is_fit = False
    if not is_fit or not _is_alone(channel):
        os._exit(0)  # who asked hears it, and starts processes that begin from nothing
    gc.collect()
    gc.freeze()  # their memory stays shared
    channel.sendall(YES)
    with suppress(KeyboardInterrupt, OSError):
        return _fork_at_each(channel, mark)
    os._exit(0)


def let_go() -> None:
    """Near the end of a forked process: keep the interpreter from taking apart, one by one, what is ours.

    That would be a third of its work, and copy memory that is shared. Threads are waited for and what was registered is
    done first, as the interpreter would. What else is loaded it takes apart as ever: files are closed, and objects of
    the agent say farewell.
    """
    end_program()
    _KEPT.extend(sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] in _OURS)


def _prepare() -> None:
    """Do what each of the processes would do, and do once: it depends on what is installed here alone."""
    from agent_tt.frameworks.adapters import ADAPTERS
    from agent_tt.recording.lanes.list_order import ListOrder
    from agent_tt.recording.modules.native_libraries import uncovered_libraries
    from agent_tt.redaction.anchors import ANCHORS

    ADAPTERS.declared()
    order = ListOrder()  # which looks through all modules the first time, and then through what is new
    order.acquire()
    order.release()
    ANCHORS.held_in("any text")  # settings, which a process may find changed, have their patterns looked for beside
    uncovered_libraries()


def _is_alone(channel: socket.socket) -> bool:
    """Tell whether nothing is here that forks would share, or miss, because something began before the agent does.

    A `.pth` file or `sitecustomize` may have begun it. A fork has none of the other threads, and waits for ever for
    what they hold; what is open (a connection, an event loop) would be the same in all of them; and what traces the
    program would go on with what it had gathered.
    """
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return False
    try:
        threads = os.listdir("/proc/self/task")  # noqa: PTH208  no objects of them
        return threading.active_count() == len(threads) == 1 and _open_files() == {0, 1, 2, channel.fileno()}
    except OSError:
        return False


def _open_files() -> set[int]:
    listed = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
    return {each for each in listed if Path(f"/proc/self/fd/{each}").is_symlink()}  # the list itself is closed by now


def _fork_at_each(channel: socket.socket, mark: _Mark) -> Rerun:
    while True:
        head, ancillary, _, _ = channel.recvmsg(HEAD, socket.CMSG_SPACE(2 * array.array("i").itemsize))
        if not head:
            os._exit(0)  # whoever started us has ended, or needs no more
        files = array.array("i")
        for _, _, data in ancillary:
            files.frombytes(data)
        asked = json.loads(channel.recv(int(head), socket.MSG_WAITALL))
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid:
                channel.sendall(b"%*d" % (HEAD, pid))
                os._exit(0)  # so that the new process becomes a child of whoever asked
            channel.close()
            return _become(asked, mark, *files)
        os.waitpid(between, 0)
        for each in files:
            os.close(each)
        channel.sendall(YES)


def _become(asked: dict[str, str], mark: _Mark, output: int, go: int) -> Rerun:
    """Be the process that was asked for, once whoever asked knows it."""
    os.setsid()
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.environ[MARK] = asked["mark"]
    mark.write(asked["mark"])
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]  # noqa: SLF001  that of the parent
    importlib.invalidate_caches()
    with socket.socket(fileno=go) as told:
        told.sendall(YES)
        if told.recv(1) != YES:
            _vanish()
    return Rerun.from_variable(asked["rerun"])


def _vanish() -> NoReturn:
    """End: whoever asked has ended, or does not want this process."""
    sys.stdout = sys.stderr = None
    os._exit(0)
