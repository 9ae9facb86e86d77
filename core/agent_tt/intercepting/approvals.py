"""The link that asks a person about a call: the question goes into the store, and the answer comes from there.

Whoever answers is in another process (a terminal, the app, a program), or in none: the store is all that the two
share. The process that asks looks a few times a second, for as long as the run goes on and its limits allow; it is a
person who is waited for, and each look reads one row.

The time for which an agent stands still because a call of it waits for a person is none of the agent's: its own
deadlines are measured without it (`agent_tt.forking.policy.standing_still`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.codec.decode import decode
from agent_tt.errors import AgentTTError, NotRebuildable, ToolDenied, UsageError
from agent_tt.intercepting.held_time import HeldTime
from agent_tt.model.facts import CallFacts
from agent_tt.questions import Decision, NewQuestion
from agent_tt.recording.calls.answers import question_of
from agent_tt.recording.concurrency.beside import beside
from agent_tt.recording.links import Link, Place, Reply
from agent_tt.recording.session import SESSION
from agent_tt.recording.store_work import store_at_work
from agent_tt.redaction.values import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.intercepting.policy_enforcement import StandIns
    from agent_tt.model import NewCall
    from agent_tt.protocols import OpenQuestion
    from agent_tt.recording.open_run import OpenCall

__all__ = ["Approvals", "wait_for_decision"]

_LOOK_SECONDS: Final = 0.1

_sleep: Final = time.sleep
"""As it was before an agent's clock is replaced."""


class Approvals(Link):
    """Asks about the calls whose rule says so: `ask`, or `recorded-or-ask` where nothing recorded answers.

    Attributes:
        prepare: called each time before the agent stands still; None: nothing.
        held: the time for which calls have waited, which is none of the agent's.
    """

    place = Place.APPROVALS

    def __init__(self, stand_ins: StandIns | None = None) -> None:
        self.prepare: Callable[[], None] | None = None
        self.held = HeldTime()
        self._stand_ins = stand_ins

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Ask about a call that nobody has decided yet; for a coroutine later, so that its event loop goes on."""
        if CallFacts.policy.of(new.meta).word not in ("ask", "recorded") or call.number is None:
            return None
        about = _About(call, new, self._stand_ins)
        if call.spec.can_wait:
            return Reply(later=lambda: self._decided_soon(about))
        return self._decided(about, threading.Event())

    async def _decided_soon(self, about: _About) -> Reply:
        """As a plain call is asked about, for a coroutine."""
        reply = None
        while reply is None:
            reply = about.reply(await self._decision_soon(about))
        return reply

    async def _decision_soon(self, about: _About) -> Decision:
        with self._asked(about) as question:
            return await beside(lambda is_left: wait_for_decision(about, question, is_left))

    def outcome_unknown(self, call: OpenCall, new: NewCall, why: str, is_left: threading.Event) -> Reply | None:
        """Ask about a call that is done once for its key, and may have happened."""
        if call.number is None:
            return None
        return self._decided(_About(call, new, self._stand_ins, why), is_left)

    def _decided(self, about: _About, is_left: threading.Event) -> Reply:
        reply = None
        while reply is None:
            with self._asked(about) as question:
                decision = wait_for_decision(about, question, is_left)
            reply = about.reply(decision)
        return reply

    @contextlib.contextmanager
    def _asked(self, about: _About) -> Iterator[OpenQuestion | None]:
        """A question that is open while the block lasts; None where the run has just ended."""
        question = about.ask()
        try:
            if self.prepare is not None:
                self.prepare()
            with self.held.counted():
                yield question
        except BaseException:
            if question is not None:
                with contextlib.suppress(AgentTTError), store_at_work():  # the agent's own exception goes on its way
                    question.withdraw()
            raise


class _About:
    """A call that somebody is asked about."""

    def __init__(self, call: OpenCall, new: NewCall, stand_ins: StandIns | None, trouble: str = "") -> None:
        self.recording = call.recording
        self._call = call
        self._question = question_of(new, call.step_number, can_wait=call.spec.can_wait)
        self._stand_ins = stand_ins
        self._trouble = trouble

    def ask(self) -> OpenQuestion | None:
        """Write the question down.

        Raises:
            StoreUnreadable: it could not be written.
        """
        call, step = self._call, self._call.step_number
        number = call.number or 0
        editable = () if call.given is None else call.given.editable(call.named)
        can_give = self._stand_ins is not None and self._question.kind in ("tool", "llm", "http")
        new = NewQuestion(editable=editable, can_give=can_give, trouble=self._trouble)
        return self.recording.journal.write(lambda writer: writer.ask(step, number, new))

    def reply(self, decision: Decision) -> Reply | None:
        """What becomes of it as a person has decided; None where that cannot be, and the next question says why."""
        facts: dict[str, Wire] = {CallFacts.answered.key: decision.to_facts()}
        name, stand_ins = self._question.name, self._stand_ins
        if decision.word == "refuse":
            why = f": {decision.why}" if decision.why else ""
            return Reply(refusal=ToolDenied(f"{name} was not run: it was refused{why}", tool=name), facts=facts)
        try:
            if decision.word in ("give", "raise"):
                if stand_ins is None:
                    self._trouble = "nothing can be given for it in this process"
                    return None
                given = stand_ins.given(self._question, decision.value, decision.error)
                return Reply(given, is_free=True, facts=facts)
            if not decision.args:
                return Reply(facts=facts)
            CallFacts.args_asked.put(facts, {key: self._call.named.get(key) for key in decision.args})
            return replace(self._edited(decision.args), facts=facts)
        except (NotRebuildable, UsageError) as error:
            self._trouble = error.message
            return None

    def _edited(self, changed: Mapping[str, Wire]) -> Reply:
        """The call with other arguments.

        Raises:
            NotRebuildable, UsageError: they cannot be made into what is sent.
        """
        named, given, stand_ins = self._call.named, self._call.given, self._stand_ins
        edited = {**named, **{name: asked(value, name) for name, value in changed.items()}}
        if given is None:
            raise UsageError(f"nothing of {self._question.name} can be changed", hint="run it as it is, or refuse it")
        made = given.edited(named, changed, decode if stand_ins is None else stand_ins.value)
        return Reply(edited=edited, sent=made)


def wait_for_decision(about: _About, question: OpenQuestion | None, is_left: threading.Event) -> Decision:
    """Look for the decision until it is there; `is_left` says that nobody waits for it any more.

    Raises:
        LimitReached: the fork's time is over.
        KeyboardInterrupt: the run is stopped, or has ended meanwhile.
        StoreUnreadable: the answer could not be read.
    """
    while question is not None and about.recording.is_open and not is_left.is_set():
        for waits in SESSION.chain.while_waiting:
            waits()
        with store_at_work():
            decision = question.decision()
        if decision is not None and decision.word == "stop":
            break
        if decision is not None:
            return decision
        _sleep(_LOOK_SECONDS)
    raise KeyboardInterrupt("the run was stopped before anybody had decided")
