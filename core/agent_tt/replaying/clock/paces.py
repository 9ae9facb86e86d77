"""Answers that came a known number of passes of their event loop behind the one before.

`recording.lanes.arrival` counts them: they decide whether who waits for the first of several answers finds two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.replaying.answers.waiters import no_context
from agent_tt.replaying.tape.passes import WITH_ITS_OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.replaying.answers.waiters import Loop

__all__ = ["Paces"]


class Paces:
    """Says when the moment of such an answer has come.

    Args:
        passes: by number, how many passes it came behind the one before it; None where the loop had come to rest.
        came: told of a number whose moment has come, in the thread of its loop.
    """

    def __init__(self, passes: Mapping[float, int | None], came: Callable[[float], None]) -> None:
        self._passes = passes
        self._came = came
        self._coming: set[float] = set()
        self._due: set[float] = set()

    def is_coming(self, number: float) -> bool:
        """Whether the passes before it are being counted."""
        return number in self._coming

    def is_due(self, number: float) -> bool:
        """Whether its moment has come."""
        return number in self._due

    def is_with_its_own(self, number: float) -> bool:
        """Whether whoever got the piece before it takes it by itself."""
        return self._passes[number] == WITH_ITS_OWN

    def released(self, loop: Loop, following: float | None) -> None:
        """Somebody in `loop`, which runs here, was released just now: `following` is next."""
        if following is None or following in self._coming:
            return
        if self._passes[following] == 0:
            self._is_due(following)
        elif self._passes[following] is not None:
            self._coming.add(following)
            # It runs behind the waiter that was just released, in the same pass.
            loop.call_soon(self._count, loop, following, context=no_context())

    def given_out(self, loop: Loop, following: float | None) -> None:
        """An answer was given out in this pass of `loop`: let `following` come as many passes later as it did."""
        if following is None or following in self._coming or following in self._due:
            return
        if self._passes[following] not in (None, WITH_ITS_OWN):
            self._coming.add(following)
            self._count(loop, following)

    def _count(self, loop: Loop, number: float) -> None:
        """Let `number` be due as many passes behind the one before it, which is given out in this pass.

        What a loop is told from outside (by a timer, a socket, a thread) it runs at the end of a pass, and who waits
        for that goes on at the end of the next. So an answer that came two passes later was told at the end of the
        pass in between: just where the loop runs a timer that is due.
        """
        left = (self._passes[number] or 0) - 2

        def count() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                loop.call_later(0, self._is_due, number, context=no_context())
            else:
                loop.call_soon(count, context=no_context())

        if left < 0:
            self._is_due(number)
        else:
            count()

    def _is_due(self, number: float) -> None:
        self._due.add(number)  # first this: another thread may look in between
        self._coming.discard(number)
        self._came(number)
