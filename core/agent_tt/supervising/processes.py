"""Find and end every process that an agent has started, however it tried to get away.

A session and a process group are not enough: what calls `setsid`, or is started in a session of its own, is in neither.
A process belongs to an agent by any of

- its place below the agent's process in the tree of processes, while what lies between them lives;
- the agent's session;
- the mark in the environment that it was started with (`marks.MARK`), which every descendant inherits unless it was
  given another environment when it was executed. A mere `fork`, a daemon's double one too, keeps it;
- having been seen once in one of these ways: `Processes.look` is asked every second while the agent runs.

What is missed is a process that was executed with another environment, in a session of its own, less than a second
before an agent that died without a farewell.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Final

import psutil

from agent_tt.supervising.beginning import ticks
from agent_tt.supervising.marks import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Processes", "process_of", "send"]

_ROUNDS: Final = 50
_MERCY_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.02
_SHOWN: Final = 60
_TRIES: Final = 5
_YOUNG_SECONDS: Final = 10.0
_DEAD: Final = frozenset({psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})


def process_of(pid: int) -> psutil.Process | None:
    """Get a process that lives by its number; None where there is none, or it is over and only not waited for."""
    try:
        process = psutil.Process(pid)
        return None if process.status() in _DEAD else process
    except psutil.Error:
        return None


def send(process: psutil.Process, number: signal.Signals) -> None:
    """Signal a process if it is still that one: numbers of processes are used again."""
    try:
        process.send_signal(number)
    except (psutil.Error, OSError):  # it is gone, or ending this moment
        return


class Processes:
    """What one agent has started.

    Args:
        mark: its mark, a word that no other agent has.
        pid: the agent's process, which leads a session of its own; None where it is not known.
    """

    def __init__(self, mark: str, pid: int | None) -> None:
        self._mark = mark
        self._pid = pid
        self._root = None if pid is None else process_of(pid)
        self._since = 0 if self._root is None else ticks(self._root.pid) or 0
        self._seen: set[psutil.Process] = set()
        self._unmarked: set[psutil.Process] = set()

    def look(self) -> None:
        """Remember what there is now."""
        self._find()

    def found(self) -> set[psutil.Process]:
        """Find all that are there now, the agent's own process too."""
        return self._find(root=True)

    def names(self) -> list[str]:
        """List the commands of those that are there without the agent's own; each as much as fits on a line."""
        return [_command(process) for process in sorted(self._find(), key=lambda each: (_began(each), each.pid))]

    def interrupt(self) -> None:
        """Interrupt the agent's process and its group, as Ctrl-C would; all that is known where that is not."""
        if self._root is None:
            self._signal(self._find(), signal.SIGINT)
            return
        in_group = {each for each in self._find() if _group(each.pid) == self._pid}
        self._signal({self._root, *in_group}, signal.SIGINT)

    def memory(self) -> int:
        """Bytes of memory that the agent and what it started hold; what several of them share is counted for each."""
        return sum(_resident(each) for each in (self._root, *self._seen) if each is not None)

    def shared_memory(self) -> int:
        """As `memory`, but what several processes share is counted once, where the system says so. Slower."""
        return sum(_proportional(each) for each in (self._root, *self._seen) if each is not None)

    def is_gone(self) -> bool:
        """Tell whether neither the agent nor anything that it started is there."""
        return not self._find(root=True)

    def end(self, *, mercy: bool, root: bool = False) -> int:
        """End all of them.

        Args:
            mercy: ask them first, and give them a second.
            root: whether the agent's own process is ended too.

        Returns:
            How many there were.
        """
        found = self._find(root=root)
        if not found:
            return 0
        if mercy:
            self._signal(found, signal.SIGTERM)
            deadline = time.monotonic() + _MERCY_SECONDS
            while self._find(root=root) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        ended = set(found)
        for _ in range(_ROUNDS):  # what is stopped starts nothing; what was started meanwhile is found the next time
            left = self._find(root=root)
            self._signal(left, signal.SIGSTOP)
            self._signal(left, signal.SIGKILL)
            if not left:
                break
            ended |= left
        return len(ended)

    @staticmethod
    def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
        for process in processes:
            send(process, number)

    def _find(self, *, root: bool = False) -> set[psutil.Process]:
        found: set[psutil.Process] = set()
        for _ in range(_TRIES):
            found = self._found()
            if all(process.is_running() for process in found):  # the library knows some numbers by who had them before
                break
        self._seen |= {process for process in found if process != self._root}
        return found if root or self._root is None else found - {self._root}

    def _found(self) -> set[psutil.Process]:
        rows, own = _rows(self._since), os.getpid()
        at_number = None if self._pid is None else rows.get(self._pid)
        is_root = at_number is not None and at_number[0] == self._root
        known = {self._pid} if is_root and self._pid is not None else set[int]()
        known |= {pid for pid, (process, _) in rows.items() if process in self._seen}
        if self._pid is not None and (is_root or at_number is None):  # else the number is another process's by now
            known |= {pid for pid in rows if _session(pid) == self._pid}
        known |= {pid for pid, (process, _) in rows.items() if pid not in known and self._is_marked(process)}
        known.discard(own)
        grew = True
        while grew:
            more = {pid for pid, (_, parent) in rows.items() if parent in known and pid != own} - known
            known |= more
            grew = bool(more)
        self._seen &= {process for process, _ in rows.values()}
        return {rows[pid][0] for pid in known}

    def _is_marked(self, process: psutil.Process) -> bool:
        if process in self._unmarked:  # only its own descendants can have what it has not
            return False
        try:
            within = process.environ().get(MARK, "")
        except (psutil.Error, OSError):  # it is gone, or somebody else's
            within = ""
        if self._mark in within.split():
            return True
        if _began(process) < time.time() - _YOUNG_SECONDS:  # until it executes its program it shows its parent's
            self._unmarked.add(process)
        return False


def _rows(since: int) -> dict[int, tuple[psutil.Process, int]]:
    """Processes that live, with the number of each one's parent: those that are not older, where that can be told.

    What an agent starts is younger than the agent, and most of what a machine runs is not.

    Args:
        since: when the agent's process started, in clock ticks since boot.
    """
    rows: dict[int, tuple[psutil.Process, int]] = {}
    for pid in psutil.pids():
        began = ticks(pid)
        if began is not None and began < since:
            continue
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                if process.status() not in _DEAD:
                    rows[pid] = process, process.ppid()
        except psutil.Error:
            continue
    return rows


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _began(process: psutil.Process) -> float:
    try:
        return float(process.create_time())
    except psutil.Error:
        return 0.0


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _proportional(process: psutil.Process) -> int:
    try:
        known = process.memory_full_info()
    except (psutil.Error, OSError):
        return _resident(process)
    return int(getattr(known, "pss", known.uss))


def _command(process: psutil.Process) -> str:
    try:
        text = " ".join(word for word in process.cmdline() if word)
    except (psutil.Error, OSError):
        text = ""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_SHOWN] or f"process {process.pid}"
