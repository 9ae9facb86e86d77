"""The time for which an agent stood still because a call of it waited for a person.

That is none of the agent's time: its own deadlines are measured without it (`agent_tt.forking.standing_still`).
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["held_seconds", "holding", "prepare_with"]

_now: Final = time.monotonic
"""As it was before an agent's clock is replaced."""


class _Held:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open = 0
        self.since = 0.0
        self.seconds = 0.0
        self.prepare: Callable[[], None] | None = None


_HELD: Final = _Held()


def held_seconds() -> float:
    """Seconds for which at least one call of this process has waited for a person so far."""
    if not _HELD.open and not _HELD.seconds:
        return 0.0
    with _HELD.lock:
        return _HELD.seconds + (_now() - _HELD.since if _HELD.open else 0.0)


def prepare_with(prepare: Callable[[], None] | None) -> None:
    """Have `prepare` called each time before the agent stands still; None: nothing."""
    _HELD.prepare = prepare


@contextmanager
def holding() -> Iterator[None]:
    """Count the time of the block as none of the agent's."""
    if _HELD.prepare is not None:
        _HELD.prepare()
    with _HELD.lock:
        if not _HELD.open:
            _HELD.since = _now()
        _HELD.open += 1
    try:
        yield
    finally:
        with _HELD.lock:
            _HELD.open -= 1
            if not _HELD.open:
                _HELD.seconds += _now() - _HELD.since
