"""The process that records a run, or drives a sweep."""

from __future__ import annotations

import json
from dataclasses import asdict

from agent_tt._dataclass import dataclass

__all__ = ["Owner"]


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that records a run.

    Attributes:
        host: the machine's name, with its process-id namespace where there is one (containers).
        boot: the machine's boot, "" where it cannot be told.
        pid: the process id.
        start: when the process started, in clock ticks since boot; 0 where it cannot be told.
    """

    host: str
    boot: str
    pid: int
    start: int

    def to_json(self) -> str:
        """As the column `owner` keeps it."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: object) -> Owner | None:
        """The owner that a column names, None if it names none."""
        try:
            found = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            return None
        if not isinstance(found, dict):
            return None
        host, boot, pid, start = (found.get(name) for name in ("host", "boot", "pid", "start"))
        if isinstance(host, str) and isinstance(boot, str) and isinstance(pid, int) and isinstance(start, int):
            return Owner(host, boot, pid, start)
        return None
