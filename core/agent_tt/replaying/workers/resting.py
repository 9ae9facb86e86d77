"""Whether any worker process works, as the system sees it: while one does, no answer comes before its turn."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["BusyProcesses"]

_REST: Final = 0.01
"""Real seconds for which a process has to be seen at rest."""

_QUIET: Final = 0.1
"""The same, since it last asked for something, where the system does not tell what a process does."""

_PART: Final = 0.3
"""The part of a processor that a process may use and still be at rest: it sees that it has to wait on."""

_APART: Final = 0.002
"""Real seconds at least between two looks that are compared."""

_RUNNING: Final = (b"R", b"D")
_monotonic: Final = time.monotonic


class _Seen(NamedTuple):
    """What was seen of a process.

    Attributes:
        used: seconds of processor time that it had used.
        at: when that was.
        since: when it was last seen working.
    """

    used: float
    at: float
    since: float


class BusyProcesses:
    """The worker processes of a replay, by their ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[int, _Seen] = {}

    def add(self, process: int) -> None:
        """One was started, has asked for something, or was given it."""
        now = _monotonic()
        with self._lock:
            known = self._seen.get(process, _Seen(0.0, now, now))
            self._seen[process] = known._replace(since=now)

    def works(self) -> bool | None:
        """Whether any of them works; None where none lives."""
        now = _monotonic()
        with self._lock:
            for process, before in list(self._seen.items()):
                looked = _look(process)
                if looked is None:
                    if _is_gone(process):
                        del self._seen[process]
                    continue
                runs, used = looked
                apart = now - before.at
                if runs or (apart > _APART and used - before.used > _PART * apart):
                    self._seen[process] = _Seen(used, now, now)
                elif apart > _APART:
                    self._seen[process] = before._replace(used=used, at=now)
            patience = _REST if _IS_TOLD else _QUIET
            return None if not self._seen else any(now - seen.since < patience for seen in self._seen.values())


_IS_TOLD: Final = Path("/proc/self/task").is_dir()


def _look(process: int) -> tuple[bool, float] | None:
    """Whether a process runs, and the seconds that its threads have used a processor; None where nobody tells."""
    runs, used = False, 0.0
    try:
        for folder in Path(f"/proc/{process}/task").iterdir():
            used += int((folder / "schedstat").read_bytes().split()[0]) / 1e9
            state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
            if state in (b"Z", b"X"):
                return None
            runs = runs or state in _RUNNING
    except (OSError, ValueError, IndexError):
        return None
    return runs, used


def _is_gone(process: int) -> bool:
    if _IS_TOLD:
        return True
    try:
        os.kill(process, 0)
    except OSError:
        return True
    return False
