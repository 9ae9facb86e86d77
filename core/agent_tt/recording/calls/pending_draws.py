"""Draws (of a clock, random numbers, ids, the environment) made between steps, until a step can hold them.

Other calls outside any step make a step of their own; a glance at the clock is not a step. So draws wait in memory for
the next step of their lane. What a crash loses are only draws that nothing outside the process has seen.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agent_tt.model import CallEnd, NewCall
    from agent_tt.protocols import RunWriter
    from agent_tt.recording.runs.journal import Journal

__all__ = ["LEFT_OVER", "HeldDraws"]

LEFT_OVER: Final = "draws"
"""Name of the step of what was drawn after the last one."""


class HeldDraws:
    """The draws of one recording that belong to no step yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_lane: dict[str, list[tuple[NewCall, CallEnd]]] = {}

    def hold(self, new: NewCall, end: CallEnd) -> None:
        """Keep a draw for the next step of its lane."""
        with self._lock:
            self._by_lane.setdefault(new.lane, []).append((new, end))

    def write(self, journal: Journal, step: int, lane: str) -> None:
        """Commit what `lane` has drawn as calls of `step`, which it has just opened.

        Raises:
            StoreUnreadable: it could not be written.
        """
        if self._by_lane:
            self._commit(journal, step, lane)

    def write_all(self, journal: Journal, step: int) -> None:
        """Commit what is left."""
        for lane in list(self._by_lane):
            self._commit(journal, step, lane)

    def __bool__(self) -> bool:
        return bool(self._by_lane)

    def _commit(self, journal: Journal, step: int, lane: str) -> None:
        with self._lock:
            draws = self._by_lane.pop(lane, [])
        for new, end in draws:
            journal.write(partial(_commit_draw, step, new, end))


def _commit_draw(step: int, new: NewCall, end: CallEnd, writer: RunWriter) -> None:
    writer.end_call(step, writer.begin_call(step, new), end)
