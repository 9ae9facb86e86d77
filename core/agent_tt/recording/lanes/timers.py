"""How many timers of the agent have fired in its event loops: a clock that no machine is too slow for.

Timers fire late, each a little, so their order among answers from outside cannot be told from the time alone once there
were many. With each answer it is therefore kept how many had fired since the answer before it, under `timers` among the
facts of the call; of an answer in pieces `[[first, last, count], …]` by number of piece, from 0. Those inside recorded
calls do not count: in a replay the functions do not run, and nor does the network stack below a request.
"""

from __future__ import annotations

from contextvars import Context
from typing import TYPE_CHECKING

from agent_tt.recording.lanes.guard_bypass import is_below_a_call
from agent_tt.recording.scope import CURRENT, here

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable
    from typing import TypeAlias

    Callback: TypeAlias = Callable[..., object]

__all__ = ["count_fired", "count_timers", "timers_fired"]


class _Count:
    fired = 0


_COUNT = _Count()


def timers_fired() -> int:
    """How many have fired in this process."""
    return _COUNT.fired


def count_timers(original: Callable[..., object]) -> Callable[..., object]:
    """In place of `call_at` of an event loop: the same, with the agent's own timers counted when they fire."""

    def call_at(
        loop: AbstractEventLoop, when: float, callback: Callback, *args: object, context: Context | None = None
    ) -> object:
        return original(loop, when, _counted(loop, callback, context), *args, context=context)

    return call_at


def _counted(loop: AbstractEventLoop, callback: Callback, context: Context | None) -> Callback:
    scope = here() if context is None else context.get(CURRENT)
    if scope is None or is_below_a_call(context):
        return callback

    def fire(*args: object) -> object:
        result = callback(*args)
        # Behind whoever it woke: before they have run, nothing has come of it.
        loop.call_soon(count_fired, context=Context())
        return result

    return fire


def count_fired(number: int = 1) -> None:
    """Count some more."""
    _COUNT.fired += number
