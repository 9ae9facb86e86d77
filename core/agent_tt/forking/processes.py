"""Finding and ending every process that an agent has started, however it tried to get away.

A session and a process group are not enough: what calls `setsid`, or is started in a session of its own, is in neither.
A process of a fork is known by any of

- its place below the agent's process in the tree of processes, while what lies between them lives;
- the agent's session;
- the mark in the environment that it was started with (`MARK`), which every descendant inherits unless it was given
  another environment when it was executed. A mere `fork`, a daemon's double one too, keeps it;
- having been seen once in one of these ways: `Processes.look` is asked every second while the agent runs.

What is missed is a process that was executed with another environment, in a session of its own, less than a second
before an agent that died without a farewell. All this is read from `/proc`, which Linux has. Elsewhere only the process
group is ended.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["MARK", "Processes", "Started", "marked"]

MARK: Final = "AGENT_TT_WITHIN"
"""The variable of the environment that names the forks that a process is part of: ids of runs, outer ones first."""

_PROC: Final = Path("/proc")
_ROUNDS: Final = 50
_MERCY_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.02
_SHOWN: Final = 60
_DEAD: Final = frozenset("ZXx")

_STATE, _PARENT, _SESSION, _START = 0, 1, 3, 19


@dataclass(frozen=True, slots=True)
class Started:
    """A process.

    Attributes:
        pid: its id.
        start: when it was started, in clock ticks since boot: ids are used again.
    """

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class _Row:
    process: Started
    parent: int
    session: int


def marked(run_id: str, environment: dict[str, str]) -> dict[str, str]:
    """`environment` with the mark of one more fork."""
    around = environment.get(MARK)
    return environment | {MARK: f"{around} {run_id}" if around else run_id}


class Processes:
    """What the agent of one fork has started.

    Args:
        run_id: the fork's run.
        pid: the agent's process, which leads a session of its own. Its number must not be free for others to have
            while this is asked: it has not been waited for.
    """

    def __init__(self, run_id: str, pid: int) -> None:
        self._mark = run_id.encode()
        self._pid = pid
        self._seen: set[Started] = set()

    def look(self) -> None:
        """Remember what there is now."""
        self._find()

    def names(self) -> list[str]:
        """The commands of those that are there, the agent's own process left out; each as much as fits on a line."""
        return [_command(process.pid) for process in sorted(self._find(), key=lambda found: found.start)]

    def end(self, *, mercy: bool) -> int:
        """End all but the agent's own process.

        Args:
            mercy: ask them first, and give them a second.

        Returns:
            How many there were.
        """
        found = self._find()
        if not found:
            return 0
        if mercy:
            for process in found:
                _send(process, signal.SIGTERM)
            deadline = time.monotonic() + _MERCY_SECONDS
            while self._find() and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        ended = set(found)
        for _ in range(_ROUNDS):  # what is stopped starts nothing; what was started meanwhile is found the next time
            left = self._find()
            for process in left:
                _send(process, signal.SIGSTOP)
            for process in left:
                _send(process, signal.SIGKILL)
            if not left:
                break
            ended |= left
        return len(ended)

    def _find(self) -> set[Started]:
        rows = {row.process.pid: row for row in _rows()}
        known = {self._pid}
        known |= {row.process.pid for row in rows.values() if row.process in self._seen}
        known |= {pid for pid, row in rows.items() if row.session == self._pid}
        own = os.getpid()
        for pid in rows:
            if pid != own and pid not in known and self._is_marked(pid):
                known.add(pid)
        grew = True
        while grew:
            more = {pid for pid, row in rows.items() if row.parent in known} - known
            known |= more
            grew = bool(more)
        found = {rows[pid].process for pid in known if pid in rows and pid not in (self._pid, own)}
        self._seen |= found
        return found

    def _is_marked(self, pid: int) -> bool:
        try:
            text = (_PROC / str(pid) / "environ").read_bytes()
        except OSError:  # it is gone, or somebody else's
            return False
        prefix = f"{MARK}=".encode()
        return any(
            self._mark in entry[len(prefix) :].split() for entry in text.split(b"\0") if entry.startswith(prefix)
        )


def _rows() -> list[_Row]:
    """Every process that lives; none where there is no `/proc`."""
    try:
        names = [name for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208  much faster, and asked often
    except OSError:
        return []
    rows = (_row(int(name)) for name in names)
    return [row for row in rows if row is not None]


def _row(pid: int) -> _Row | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything, spaces and brackets too
    if len(fields) <= _START or fields[_STATE] in _DEAD:
        return None
    return _Row(Started(pid, int(fields[_START])), int(fields[_PARENT]), int(fields[_SESSION]))


def _send(process: Started, number: signal.Signals) -> None:
    """Signal a process if it is still that one."""
    try:
        if not hasattr(os, "pidfd_open"):
            row = _row(process.pid)
            if row is not None and row.process == process:
                os.kill(process.pid, number)
            return
        handle = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        row = _row(process.pid)  # asked while the handle holds on to whoever has this number
        if row is not None and row.process == process:
            signal.pidfd_send_signal(handle, number)
    except OSError:  # it is ending this moment
        return
    finally:
        os.close(handle)


def _command(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    text = " ".join(word.decode("utf-8", "replace") for word in words if word)
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_SHOWN] or f"process {pid}"
