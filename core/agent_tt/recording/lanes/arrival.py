"""How the answer to one call arrives, as far as a replay could not tell: its pace, and the timers that had fired.

An answer usually comes while everything else that could run has run. A replay therefore gives one out when its loop has
nothing else to do, except where the recording says otherwise under `pace` of the call's facts:

| `pace` | the answer came |
|---|---|
| `"at once"` | without the loop having run anything since the question: the function never really waited |
| a number n | n passes of the loop after the answer before it, and the loop had not come to rest in between |

The second kind is what decides races: whoever waits for the first of several answers may find two of them.

Of an answer in pieces each has its own, under `paces`: `[[first, last, pace], …]` by number of piece, from 0, for those
of which something is to be said. There "since the question" means since the piece before, from the second on.

The timers are those of `agent_tt.recording.lanes.timers`.

While a person is waited for, the agent's deadlines stand still, and answers come all the same. For how much of the time
between a question and its answer they did is said under `stood_still`: a replay counts it to nobody's deadline.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Final

from agent_tt.model.facts import CallFacts
from agent_tt.recording.concurrency.tasks import running_loop, trio_runner, trio_task
from agent_tt.recording.concurrency.trio_passes import TrioStretch
from agent_tt.recording.lanes.timers import timers_fired

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire

__all__ = ["AT_ONCE", "Arrival", "LatestAnswer", "Runs", "Stretch", "pace_of", "stretch_from_here"]

AT_ONCE: Final = "at once"

_MOST_PASSES: Final = 32
"""A loop that does not come to rest for so long has somebody who polls in it."""


class Stretch:
    """What an event loop does from one moment on, until it comes to rest.

    Attributes:
        loop: the loop.
        passes: how many passes it has made since.
        is_over: whether it has come to rest, or is not looked at any more.
    """

    __slots__ = ("_most", "is_over", "loop", "passes")

    def __init__(self, loop: AbstractEventLoop, most: int) -> None:
        self.loop = loop
        self.passes = 0
        self.is_over = False
        self._most = most
        loop.call_soon(self._pass, context=contextvars.Context())

    def _pass(self) -> None:
        self.passes += 1
        # Loops that are not asyncio's own do not show what is ready; they count as at rest.
        self.is_over = self.is_over or self.passes >= self._most or not getattr(self.loop, "_ready", None)
        if not self.is_over:
            self.loop.call_soon(self._pass, context=contextvars.Context())


def stretch_from_here(most: int = _MOST_PASSES) -> Stretch | TrioStretch | None:
    """What the event loop of this code does from now on; None where none runs in this thread.

    Args:
        most: how many passes are counted.
    """
    if trio_task() is not None:
        return TrioStretch(trio_runner(), most)
    loop = running_loop()
    return None if loop is None else Stretch(loop, most)


def pace_of(since_question: Stretch | TrioStretch | None, since_answer: Stretch | TrioStretch | None) -> Wire:
    """The `pace` of an answer that comes now; None where nothing needs to be said.

    Args:
        since_question: what its loop did since its question.
        since_answer: what a loop did since the answer before it, whoever got that.
    """
    if since_question is not None and not since_question.passes:
        return AT_ONCE
    if since_question is None or since_answer is None or since_answer.is_over:
        return None
    return since_answer.passes if since_answer.loop is since_question.loop else None


class Runs:
    """What is said of the pieces of one answer, where anything is: `[first, last, what]` of those that are alike."""

    def __init__(self) -> None:
        self._count = 0
        self._runs: list[tuple[int, int, Wire]] = []

    def add(self, what: Wire) -> None:
        """Say `what` of the next piece; None where nothing needs to be said."""
        number = self._count
        self._count += 1
        if what is None:
            return
        first, last, known = self._runs[-1] if self._runs else (number, -1, None)
        if last == number - 1 and known == what:
            self._runs[-1] = first, number, what
        else:
            self._runs.append((number, number, what))

    def to_wire(self) -> Wire:
        """As it is kept with the call; None where nothing was said."""
        return [list(run) for run in self._runs] or None


_PACE: Final = CallFacts.pace.key
_PACES: Final = CallFacts.paces.key
_TIMERS: Final = CallFacts.timers.key
_STOOD_STILL: Final = CallFacts.stood_still.key


class LatestAnswer:
    """When the latest answer, or piece of one, reached the agent of a run.

    Attributes:
        since: what its event loop did since.
        timers: how many of the agent's timers had fired then.
    """

    def __init__(self) -> None:
        self.since: Stretch | TrioStretch | None = None
        self.timers = timers_fired()

    def comes(self, *, is_served: bool) -> None:
        """One reaches the agent now; `is_served` where it was recorded, or made up, before."""
        self.timers = timers_fired()
        if self.since is not None:
            self.since.is_over = True
        self.since = None if is_served else stretch_from_here()


class Arrival:
    """The arrival of one answer, in one piece or several.

    Args:
        before: when the answer before it came.
        stood_still_us: says for how many microseconds so far deadlines stood still.
    """

    def __init__(self, before: LatestAnswer, stood_still_us: Callable[[], int]) -> None:
        self._before = before
        self._stood_still_us = stood_still_us
        self._since_question: Stretch | TrioStretch | None = None
        self._paces, self._timers, self._stood_still = Runs(), Runs(), Runs()
        self._before_us: int | None = None

    def asked(self) -> None:
        """The question goes out now; it may have waited for a person since this was called first."""
        self._since_question = stretch_from_here(most=1)
        if self._before_us is None:
            self._before_us = self._stood_still_us()

    def piece(self, *, is_timed: bool, is_served: bool) -> None:
        """A piece of the answer reaches the agent now.

        Args:
            is_timed: whether it comes to an event loop, from the world.
            is_served: whether it was recorded, or made up, before.
        """
        self._paces.add(self._pace(is_timed=is_timed))
        self._timers.add(self._fired())
        self._stood_still.add(self._stood())
        self.asked()
        self._before.comes(is_served=is_served)

    def end(self, *, is_stream: bool, is_timed: bool, is_served: bool) -> dict[str, Wire]:
        """The answer reaches the agent now, or its end does; what the facts of the call say of how it came."""
        pace, fired, stood = self._pace(is_timed=is_timed), self._fired(), self._stood()
        if is_stream:
            self._paces.add(pace)
            self._timers.add(fired)
            self._stood_still.add(stood)
            facts = {_PACES: self._paces.to_wire(), _TIMERS: self._timers.to_wire()}
            facts[_STOOD_STILL] = self._stood_still.to_wire()
        else:
            facts = {_PACE: pace, _TIMERS: fired, _STOOD_STILL: stood}
        self._before.comes(is_served=is_served)
        return facts

    def _pace(self, *, is_timed: bool) -> Wire:
        """How an answer came that comes now, or a piece of one; None where nothing needs to be said."""
        return pace_of(self._since_question, self._before.since) if is_timed else None

    def _fired(self) -> Wire:
        """How many of the agent's timers have fired since the answer before; None for none."""
        return (timers_fired() - self._before.timers) or None

    def _stood(self) -> Wire:
        """For how many microseconds since the question deadlines stood still; None for none."""
        return (self._stood_still_us() - (self._before_us or 0)) or None
