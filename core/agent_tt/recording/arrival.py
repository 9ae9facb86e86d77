"""How the answer to one call arrives, as far as a replay could not tell: its pace, and the timers that had fired.

See `agent_tt.recording.pace` and `agent_tt.recording.timers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.model.facts import CallFacts
from agent_tt.recording.pace import Runs, pace_of, stretch_from_here
from agent_tt.recording.timers import timers_fired

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.recording.concurrency.trio_passes import TrioStretch
    from agent_tt.recording.pace import Stretch
    from agent_tt.recording.recorder import Recording

__all__ = ["Arrival"]

_PACE: Final = CallFacts.pace.key
_PACES: Final = CallFacts.paces.key
_TIMERS: Final = CallFacts.timers.key


class Arrival:
    """The arrival of one answer, in one piece or several.

    Args:
        recording: what records it: it knows when the answer before it came.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._since_question: Stretch | TrioStretch | None = None
        self._paces, self._timers = Runs(), Runs()

    def asked(self) -> None:
        """The question goes out now."""
        self._since_question = stretch_from_here(most=1)

    def piece(self, *, is_timed: bool, is_served: bool) -> None:
        """A piece of the answer reaches the agent now.

        Args:
            is_timed: whether it comes to an event loop, from the world.
            is_served: whether it was recorded, or made up, before.
        """
        self._paces.add(self._pace(is_timed=is_timed))
        self._timers.add(self._fired())
        self.asked()
        self._answered(is_served=is_served)

    def end(self, *, is_stream: bool, is_timed: bool, is_served: bool) -> dict[str, Wire]:
        """The answer reaches the agent now, or its end does; what the facts of the call say of how it came."""
        pace, fired = self._pace(is_timed=is_timed), self._fired()
        if is_stream:
            self._paces.add(pace)
            self._timers.add(fired)
            facts = {_PACES: self._paces.to_wire(), _TIMERS: self._timers.to_wire()}
        else:
            facts = {_PACE: pace, _TIMERS: fired}
        self._answered(is_served=is_served)
        return facts

    def _pace(self, *, is_timed: bool) -> Wire:
        """How an answer came that comes now, or a piece of one; None where nothing needs to be said."""
        return pace_of(self._since_question, self._recording.since_answer) if is_timed else None

    def _fired(self) -> Wire:
        """How many of the agent's timers have fired since the answer before; None for none."""
        return (timers_fired() - self._recording.timers_before) or None

    def _answered(self, *, is_served: bool) -> None:
        self._recording.timers_before = timers_fired()
        before = self._recording.since_answer
        if before is not None:
            before.is_over = True
        self._recording.since_answer = None if is_served else stretch_from_here()
