"""The link that asks a person about a call of a fork whose rule says so; see `agent_tt.intercepting.asking`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.intercepting.asking import About, Asking
from agent_tt.model.facts import CallFacts
from agent_tt.recording.links import Link, Place, Reply

if TYPE_CHECKING:
    import threading

    from agent_tt.intercepting.policy_enforcement import StandIns
    from agent_tt.model import NewCall
    from agent_tt.recording.open_run import OpenCall

__all__ = ["Approvals"]


class Approvals(Link):
    """Asks about the calls whose rule says so: `ask`, or `recorded-or-ask` where nothing recorded answers.

    Attributes:
        asking: what asks and waits.
    """

    place = Place.APPROVALS

    def __init__(self, stand_ins: StandIns | None = None) -> None:
        self.asking = Asking()
        self._stand_ins = stand_ins

    def stood_still(self) -> float:
        """Give the seconds in which calls waited for an answer of a person: deadlines stand still then."""
        return self.asking.held.seconds()

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Ask about a call that nobody has decided yet; for a coroutine later, so that its event loop goes on."""
        if CallFacts.policy.of(new.meta).word not in ("ask", "recorded") or call.number is None:
            return None
        about = About(call, new, self._stand_ins)
        if call.spec.can_wait:
            return Reply(later=lambda: self.asking.decided_soon(about))
        return self.asking.decided(about)

    def outcome_unknown(self, call: OpenCall, new: NewCall, why: str, is_left: threading.Event) -> Reply | None:
        """Ask about a call that is done once for its key, and may have happened."""
        if call.number is None:
            return None
        return self.asking.decided(About(call, new, self._stand_ins, why), is_left)
