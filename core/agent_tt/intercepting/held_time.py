"""How long calls of this process have waited for a person, and clocks that stand still meanwhile."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["HeldTime"]

_now: Final = time.monotonic
"""As it was before an agent's clock is replaced."""


@dataclass(frozen=True, slots=True)
class _Period:
    """The time from one change to the next: calls wait in it, or none does.

    Attributes:
        held: seconds for which calls had waited before it began.
        since: when calls began to wait; None where none waits.
        readings: what each clock says in it, as long as calls wait.
    """

    held: float
    since: float | None = None
    readings: dict[object, float] = field(default_factory=dict)


class HeldTime:
    """Counts the time in which at least one call waits. Safe to use from several threads.

    Reading takes no lock: a clock may be read anywhere, also in a signal handler and in a process that was forked
    while another thread held the lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._period = _Period(0.0)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of the block."""
        with self._lock:
            if not self._waiting:
                self._period = _Period(self._period.held, _now())
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._period = _Period(self.seconds())

    def seconds(self) -> float:
        """Seconds for which at least one call has waited so far."""
        period = self._period
        return period.held if period.since is None else period.held + (_now() - period.since)

    def without(self, clock: Callable[..., Any], *arguments: Any) -> float:
        """What a clock says without that time.

        While calls wait it says the same each time, to the last bit: who asks twice for what is left of a time-out of 0
        must not hear of a nanosecond, for which it would wait until the question is answered.
        """
        while True:
            period = self._period
            if period.since is None:
                reading = float(clock(*arguments)) - period.held
            elif clock is _now:  # the very clock that we count by
                reading = period.since - period.held
            else:
                waited = _now() - period.since
                reading = float(clock(*arguments)) - waited - period.held
                reading = period.readings.setdefault((clock, *map(id, arguments)), reading)
            if self._period is period:
                return reading
