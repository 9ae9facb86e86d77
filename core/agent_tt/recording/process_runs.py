"""Which of a process's recordings a run is.

A script that asks its agent several questions may record a run for each; a replay of any of them starts the whole
script again (`agent_tt.replaying.siblings`).
"""

from __future__ import annotations

import os
import secrets
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["PROCESS", "number_of_this_run", "process_of"]

PROCESS: Final = "process"
"""Key of a run's metadata: `{"id": …, "run": …}`, the process that recorded it and the number of the run there."""


class _Process:
    """This process, as the runs that it records name it."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self.lock = threading.Lock()
        self.token = secrets.token_hex(8)
        self.begun = 0


_PROCESS: Final = _Process()


def number_of_this_run() -> Wire:
    """A recording begins: what it says of its process."""
    with _PROCESS.lock:
        _PROCESS.begun += 1
        return {"id": _PROCESS.token, "run": _PROCESS.begun}


def process_of(metadata: Mapping[str, Wire]) -> tuple[str | None, int]:
    """The process that recorded a run, and which of its recordings the run is, from 1; None and 1 where nobody said."""
    said = metadata.get(PROCESS)
    token, number = (said.get("id"), said.get("run")) if isinstance(said, dict) else (None, None)
    return (token, number) if isinstance(token, str) and isinstance(number, int) else (None, 1)
