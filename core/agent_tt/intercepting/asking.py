"""Asking a person about a call: the question goes into the store, and the answer comes from there.

Whoever answers is in another process (a terminal, the app, a program), or in none: the store is all that the two
share. The process that asks looks a few times a second, for as long as the run goes on and its limits allow; it is a
person who is waited for, and each look reads one row.

The time for which an agent stands still because a call of it waits for a person is none of the agent's: its own
deadlines are measured without it (`agent_tt.intercepting.standing_still`).
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
from agent_tt.recording.links import Reply
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

__all__ = ["About", "Asking"]

_LOOK_SECONDS: Final = 0.1

_sleep: Final = time.sleep
"""As it was before an agent's clock is replaced."""


class Asking:
    """Asks about one call after another, and waits. Safe to use from several threads.

    Attributes:
        prepare: called each time before the agent stands still; None: nothing.
        held: the time for which calls have waited, which is none of the agent's.
    """

    def __init__(self) -> None:
        self.prepare: Callable[[], None] | None = None
        self.held = HeldTime()

    def decided(self, about: About, is_left: threading.Event | None = None) -> Reply | None:
        """Ask until there is a decision that can be carried out; blocks.

        Args:
            about: the call.
            is_left: says that nobody waits for it any more.

        Returns:
            What was decided; None where the call goes out because nobody is asked any more.

        Raises:
            LimitReached: the fork's time is over.
            KeyboardInterrupt: the run is stopped, or has ended meanwhile.
            StoreUnreadable: the question could not be written, or the answer not be read.
        """
        is_left = is_left or threading.Event()
        reply = None
        while reply is None:
            with self._asked(about) as question:
                decision = _wait(about, question, is_left)
            if decision is None:
                return about.let_go()
            reply = about.reply(decision)
        return reply

    async def decided_soon(self, about: About) -> Reply | None:
        """As `decided`, for a coroutine: its event loop goes on meanwhile."""
        reply = None
        while reply is None:
            with self._asked(about) as question:
                decision = await beside(lambda is_left: _wait(about, question, is_left))
            if decision is None:
                return about.let_go()
            reply = about.reply(decision)
        return reply

    @contextlib.contextmanager
    def _asked(self, about: About) -> Iterator[OpenQuestion | None]:
        """A question that is open while the block lasts; None where the run has just ended, or nobody can be asked."""
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


class About:
    """A call that somebody is asked about.

    Attributes:
        recording: what records it.
    """

    def __init__(self, call: OpenCall, new: NewCall, stand_ins: StandIns | None, trouble: str = "") -> None:
        self.recording = call.recording
        self._call = call
        self._asks = question_of(new, call.step_number, can_wait=call.spec.can_wait)
        self._stand_ins = stand_ins
        self._trouble = trouble

    def ask(self) -> OpenQuestion | None:
        """Write the question down.

        Raises:
            StoreUnreadable: it could not be written.
        """
        step, number, new = self._call.step_number, self._call.number or 0, self._new_question()
        return self.recording.journal.write(lambda writer: writer.ask(step, number, new))

    def _new_question(self) -> NewQuestion:
        call = self._call
        editable = () if call.given is None else call.given.editable(call.named)
        can_give = self._stand_ins is not None and self._asks.kind in ("tool", "llm", "http")
        return NewQuestion(editable=editable, can_give=can_give, trouble=self._trouble)

    def is_asked_still(self) -> bool:
        """Whether anybody may still decide; asked again and again while the call waits."""
        return True

    def let_go(self) -> Reply | None:
        """What becomes of it where nobody decides any more."""
        return None

    def reply(self, decision: Decision) -> Reply | None:
        """What becomes of it as a person has decided; None where that cannot be, and the next question says why."""
        facts: dict[str, Wire] = {CallFacts.answered.key: decision.to_facts()}
        name, stand_ins = self._asks.name, self._stand_ins
        if decision.word == "refuse":
            why = f": {decision.why}" if decision.why else ""
            return Reply(refusal=ToolDenied(f"{name} was not run: it was refused{why}", tool=name), facts=facts)
        try:
            if decision.word in ("give", "raise"):
                if stand_ins is None:
                    self._trouble = "nothing can be given for it in this process"
                    return None
                given = stand_ins.given(self._asks, decision.value, decision.error)
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
            raise UsageError(f"nothing of {self._asks.name} can be changed", hint="run it as it is, or refuse it")
        made = given.edited(named, changed, decode if stand_ins is None else stand_ins.value)
        return Reply(edited=edited, sent=made)


def _wait(about: About, question: OpenQuestion | None, is_left: threading.Event) -> Decision | None:
    """Look for the decision until it is there; None where nobody is asked any more.

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
        if not about.is_asked_still():
            with store_at_work():
                question.withdraw()
                decision = question.decision()  # somebody may have decided just then
            return None if decision is None or decision.word == "stop" else decision
        _sleep(_LOOK_SECONDS)
    if not about.is_asked_still():
        return None
    raise KeyboardInterrupt("the run was stopped before anybody had decided")
