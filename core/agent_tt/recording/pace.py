"""How an awaited answer came, as far as the event loop is concerned: what a replay needs to keep the same pace.

An answer usually comes while everything else that could run has run. A replay therefore gives one out when its loop has
nothing else to do, except where the recording says otherwise under `pace` of the call's facts:

| `pace` | the answer came |
|---|---|
| `"at once"` | without the loop having run anything since the question: the function never really waited |
| a number n | n passes of the loop after the answer before it, and the loop had not come to rest in between |

The second kind is what decides races: whoever waits for the first of several answers may find two of them.

Of an answer in pieces each has its own, under `paces`: `[[first, last, pace], …]` by number of piece, from 0, for those
of which something is to be said. There "since the question" means since the piece before, from the second on.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Final

from agent_tt.recording.concurrency.tasks import running_loop, trio_runner, trio_task
from agent_tt.recording.concurrency.trio_passes import TrioStretch

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from agent_tt.codec.wire import Wire

__all__ = ["AT_ONCE", "Runs", "Stretch", "pace_of", "stretch_from_here"]

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
