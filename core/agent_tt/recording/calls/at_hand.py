"""An answer that is there at once: nobody waits for it, and it stands in no order with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.decode import decode
from agent_tt.codec.loaded_classes import LOADED
from agent_tt.errors import NotRebuildable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Delivery

__all__ = ["AtHand"]


class AtHand:
    """See `agent_tt.recording.calls.answers.Served`.

    Args:
        call: the call, with what it is answered.
        pieces: what reaches the agent in pieces.
    """

    def __init__(self, call: Call, pieces: Sequence[Delivery] = ()) -> None:
        self._call = call
        self._pieces = pieces

    @property
    def call(self) -> Call:
        """The call, with what it is answered."""
        return self._call

    @property
    def pieces(self) -> Sequence[Delivery]:
        """What reaches the agent in pieces."""
        return self._pieces

    def wait(self, index: int = 0) -> None:
        """It is there at once."""

    async def turn(self, index: int = 0) -> None:
        """It is there at once."""

    def wait_for_all(self) -> None:
        """There is no other."""

    async def turn_after_all(self) -> None:
        """There is no other."""

    def leave(self, index: int) -> None:
        """Nobody else waits for what is left."""

    def read_past(self, why: str = "it was not read to its end") -> BaseException:
        """What to raise where the agent wants more of an answer than there is."""
        return NotRebuildable(f"of the answer of {self._call.name} no more is kept: {why}", path="", class_name="")

    def value(self, recorded: Wire) -> object:
        """The Python value of a recorded one."""
        return decode(recorded, LOADED)

    def failure(self) -> BaseException:
        """What to raise in place of an answer: only those that succeeded are given like this."""
        return NotRebuildable(f"{self._call.name} has no answer", path="", class_name="")

    def got(self, index: int, value: Wire) -> None:
        """Whatever the agent sends into a generator changes nothing."""
