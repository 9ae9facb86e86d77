"""A call before which an agent is held: what is asked about it, and what becomes of it."""

from __future__ import annotations

import itertools
import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.codec.decode import decode
from agent_tt.codec.loaded_classes import LOADED
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.forking.policy.prepared import given_answer
from agent_tt.holding.conditions import state_before
from agent_tt.intercepting.asking import About
from agent_tt.intercepting.policy_enforcement import NotRecorded
from agent_tt.model.facts import CallFacts, HoldFacts
from agent_tt.model.facts.edits import EDITS
from agent_tt.querying.expressions.values import Missing
from agent_tt.questions import Decision
from agent_tt.recording.links import Reply
from agent_tt.recording.steps.in_place import CannotChange, change_state_of
from agent_tt.recording.store_work import store_at_work
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Edit, ErrorInfo, Hold, NewCall
    from agent_tt.protocols import OpenQuestion
    from agent_tt.questions import NewQuestion
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.recording.open_run import OpenCall, OpenRun

__all__ = ["HeldCall"]

_LARGEST_SHOWN: Final = 2_000_000
"""Characters of a state, as JSON, that a question carries. A larger one can be edited by paths, without being shown."""

_LOOKED_AT: Final = 200
"""Steps in which an earlier call of the same function is looked for."""

_PATIENCE_S: Final = 1.0
"""How long a change of the state waits for what another thread does with its last answer."""

_CHANGES: Final = itertools.count()
"""Counts the changes of states in this process, so that their order is known."""

_LET_GO: Final = Decision("run", why="it was let go", by="nobody")


class HeldCall(About):
    """A call that somebody who holds the agent is asked about."""

    def __init__(self, call: OpenCall, new: NewCall, hold: Hold) -> None:
        super().__init__(call, new, _OwnStandIns(call.recording))
        self._hold = hold
        self._is_asked = False
        self._changed: tuple[Edit, ...] = ()
        self._after: int | None = None
        self._nth = 0

    def ask(self) -> OpenQuestion | None:
        """Write the question down, and that the call is held; None where the store cannot."""
        call, journal = self._call, self.recording.journal
        step, number, new, facts = call.step_number, call.number or 0, self._new_question(), self._facts()
        journal.attempt(lambda writer: writer.amend_call(step, number, facts))
        question = journal.attempt(lambda writer: writer.ask(step, number, new))
        self._is_asked = question is not None
        return question

    def _new_question(self) -> NewQuestion:
        state, new = state_before(self._call), super()._new_question()
        if isinstance(state, Missing):
            return replace(new, hold=self._hold.id)
        is_shown = len(json.dumps(state, ensure_ascii=False)) <= _LARGEST_SHOWN
        return replace(new, hold=self._hold.id, can_edit_state=True, state=state if is_shown else None)

    def is_asked_still(self) -> bool:
        """Whether the run goes on, and the hold stands."""
        if not self._is_asked or not self.recording.is_open:
            return False
        holds = self.recording.journal.attempt(lambda writer: writer.holds())
        return any(hold.id == self._hold.id for hold in holds or ())

    def let_go(self) -> Reply:
        """The call goes out as it is."""
        return Reply(facts={**self._facts(), CallFacts.answered.key: _LET_GO.to_facts()})

    def reply(self, decision: Decision) -> Reply | None:
        """What becomes of it as a person has decided; None where that cannot be, and the next question says why."""
        reply = super().reply(decision)
        if reply is None:
            return None
        if decision.state:  # behind what another thread does with its last answer, as an answer is
            with self.recording.journal.handover.answering(_PATIENCE_S):
                if not self._change_state(decision):
                    return None
        return replace(reply, facts={**reply.facts, **self._facts()})

    def _facts(self) -> dict[str, Wire]:
        said: dict[str, Wire] = {HoldFacts.number.key: self._hold.id, HoldFacts.by.key: self._hold.by}
        if self._changed:
            said |= {HoldFacts.state.key: EDITS.write(self._changed), HoldFacts.nth.key: self._nth}
            said |= HoldFacts.after.entry(self._after)
        return {CallFacts.hold.key: said}

    def _change_state(self, decision: Decision) -> bool:
        """Change the agent's own state; whether all of it could be done."""
        step = self._call.step
        self._after = self.recording.journal.attempt(lambda writer: writer.last_answer()) or 0
        self._nth = next(_CHANGES)
        try:
            state = state_before(self._call)
            if isinstance(state, Missing):
                raise UsageError("the agent has no state that could be changed")
            apply_edits(state, decision.state)
        except AgentTTError as error:
            self._trouble = error.message
            return False
        for count, edit in enumerate(decision.state):
            try:
                change_state_of(step, [edit])
            except (CannotChange, AgentTTError) as error:
                done = f"; the {count} before it were done" if count else ""
                self._trouble = f"the change of {edit.path or 'the state'} cannot be done: {error}{done}"
                return False
            self._changed = (*self._changed, edit)
        return True


class _OwnStandIns:
    """See `agent_tt.intercepting.policy_enforcement.StandIns`; for the answers that a person gives, and no others."""

    def __init__(self, recording: OpenRun) -> None:
        self._recording = recording

    def recorded(self, question: Question) -> tuple[Served, Mapping[str, Wire]] | None:  # noqa: ARG002  none is asked for
        """None: nothing recorded answers a call of a run that goes on."""
        return None

    def not_recorded(self, question: Question) -> NotRecorded:
        """What to raise where a recorded answer is wanted."""
        return NotRecorded(f"nothing recorded answers {question.name}")

    def given(self, question: Question, value: Wire, error: ErrorInfo | None) -> Served:
        """What a person gave, in the form of the answers that the run had of the same function.

        Raises:
            UsageError: such a call cannot be answered so.
        """
        like = None
        if self._recording.file is not None:
            with store_at_work():
                like = _like(self._recording.file, self._recording.id, question)
        return given_answer(question, value, error, like=like)

    def value(self, wire: Wire) -> object:
        """The Python value of a wire value."""
        return decode(wire, LOADED)


def _like(path: Path, run_id: str, question: Question) -> Call | None:
    """The newest answered call of the same function; None where there was none, or it cannot be read."""
    try:
        with closing(open_source(path)) as source:
            last = source.step_count(run_id)
            for step in range(last, max(0, last - _LOOKED_AT), -1):
                for call in reversed(source.calls(run_id, step)):
                    if (call.kind, call.name, call.status) == (question.kind, question.name, "ok"):
                        return call
    except AgentTTError:
        return None
    return None
