"""The link that lets an agent wait before its next call because somebody holds it.

An agent never breaks because of it: where the store cannot be asked, it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.holding.conditions import is_met
from agent_tt.holding.held_call import HeldCall
from agent_tt.intercepting.asking import Asking
from agent_tt.intercepting.policy_enforcement import is_own_doing
from agent_tt.model.facts import CallFacts
from agent_tt.recording.links import Link, Place, Reply
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from agent_tt.model import Hold, NewCall
    from agent_tt.recording.open_run import OpenCall

__all__ = ["Holds"]


class Holds(Link):
    """Asks about the calls of recordings that are attached and held; one that only belongs to another call goes out.

    Attributes:
        asking: what asks and waits.
    """

    place = Place.HOLDS

    def __init__(self) -> None:
        self.asking = Asking()

    def stood_still(self) -> float:
        """Give the seconds in which calls were held: deadlines stand still then."""
        return self.asking.held.seconds()

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Ask about a call that would go out now; for a coroutine later, so that its event loop goes on."""
        recording, around = call.recording, call.around
        if call.number is None or not recording.is_attached:
            return None
        if around is not None and not around.is_over and is_own_doing(call.spec.kind, around.asks_a_model):
            return None
        if CallFacts.policy.of(new.meta).word not in (None, "live"):
            return None  # a person was asked about it just now, or nothing of it goes out
        if call.spec.can_wait and SESSION.chain.serves:  # it goes out later, behind what was recorded: asked then
            return Reply(later=lambda: self._held_soon(call, new))
        hold = _standing(call, new)
        if hold is None:
            return None
        held = HeldCall(call, new, hold)
        if call.spec.can_wait:
            return Reply(later=lambda: self._decided_soon(held))
        try:
            return self.asking.decided(held)
        except AgentTTError:  # nobody can be asked any more
            return held.let_go()

    async def _held_soon(self, call: OpenCall, new: NewCall) -> Reply | None:
        hold = _standing(call, new)
        return None if hold is None else await self._decided_soon(HeldCall(call, new, hold))

    async def _decided_soon(self, held: HeldCall) -> Reply | None:
        try:
            return await self.asking.decided_soon(held)
        except AgentTTError:
            return held.let_go()


def _standing(call: OpenCall, new: NewCall) -> Hold | None:
    """The hold because of which a call waits; None where it goes out."""
    holds = call.recording.journal.attempt(lambda writer: writer.holds())
    return next((hold for hold in holds or () if is_met(hold.when, call, new)), None)
