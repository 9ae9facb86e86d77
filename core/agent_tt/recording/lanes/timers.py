"""Counting the agent's timers that have fired: a measure of time that does not depend on the machine's speed.

Timers fire late, each a little, so their order among answers from outside cannot be told from the time alone once there
were many. With each answer it is therefore kept how many had fired since the answer before it, under `timers` among the
facts of the call; of an answer in pieces `[[first, last, count], …]` by number of piece, from 0. Those inside recorded
calls do not count: in a replay the functions do not run, and nor does the network stack below a request.
"""

from __future__ import annotations

__all__ = ["count_fired", "timers_fired"]


class _Count:
    fired = 0


_COUNT = _Count()


def timers_fired() -> int:
    """How many have fired in this process."""
    return _COUNT.fired


def count_fired(number: int = 1) -> None:
    """Count some more."""
    _COUNT.fired += number
