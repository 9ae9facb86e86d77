"""When a process began, which tells it from every later one that has its number.

Linux says it in a file. Asking psutil takes as long as starting a process: it is loaded where the system has no such
file.
"""

from __future__ import annotations

from typing import Final

__all__ = ["began", "ticks"]

_MOST_STAT: Final = 4096
_START_FIELD: Final = 19
"""Of `/proc/PID/stat`, counted from after the name: see proc_pid_stat(5)."""


def began(pid: int) -> float | None:
    """A number that stays the same while this process is there; None where there is none.

    Args:
        pid: its number.
    """
    found = ticks(pid)
    if found is not None:
        return found
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None where that is not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123  asked of every process
            fields = file.read(_MOST_STAT).rpartition(b")")[2].split()
        return int(fields[_START_FIELD])
    except (OSError, IndexError, ValueError):  # it is gone, or another system
        return None
