"""Steps of a run whose agent names none: one for each model call.

Step k opens when the k-th model call begins, in order of starting over all lanes. Other calls belong to the open step
of their own lane, else to that of the nearest lane around it. A lane that ends hands its step to the lane that created
it, because that goes on with the answer. So a call never belongs to an earlier step than the model call it follows
from. A failed call that is made again is one step with its retries; a model call that a function recorded as a model
call makes is that function's; and what happens before the first model call is a step of its own.

The state of a step is the conversation: what the model was sent and what it answered, as the provider says it.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt.recording.steps.agent_names import agent_here
from agent_tt.recording.steps.conversations import Conversation, Conversations
from agent_tt.recording.steps.kept_turns import KeptTurns
from agent_tt.recording.steps.recorded_step import RecordedStep
from agent_tt.recording.steps.state_histories import lineage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallEnd
    from agent_tt.recording.calls.signature import CallSpec
    from agent_tt.recording.open_run import OpenCall, OpenRun, OpenStep
    from agent_tt.recording.scope import Scope
    from agent_tt.recording.steps.model_turns import ModelTurn

_LOG = logging.getLogger(__name__)

FIRST: Final = "start"
"""Name of the step of what happens before the first model call."""

BETWEEN: Final = "between model calls"
"""Name of a step of what belongs to none: every step was over, and no model has been asked since."""

_UNKNOWN: Final = "(not asked yet)"
"""The track of a step until its question says which conversation it belongs to."""


@dataclass(slots=True, eq=False)
class _ModelStep:
    """A step and its model call.

    Attributes:
        step: the step.
        name: what is called, to recognise a retry.
        signature: digest of the question, for the same.
        call: the call that asks; None before it has begun, and of the first step.
        turn: what was sent, once it was read.
        conversation: that which the call belongs to.
        failure: why the last try gave no answer.
        is_answered: whether the model call is over.
    """

    step: OpenStep
    name: str = ""
    signature: str = ""
    call: OpenCall | None = None
    turn: ModelTurn | None = None
    conversation: Conversation | None = None
    failure: BaseException | None = None
    is_answered: bool = False


class ModelSteps:
    """The steps of one recording."""

    def __init__(self, recording: OpenRun) -> None:
        self._recording = recording
        self.begin_anew(recording.lanes.main.id)

    def begin_anew(self, lane: str) -> None:
        """Forget all steps so far: a process that was forked begins, or a job of a pool, in that lane."""
        self._lock = threading.RLock()
        self._lanes: dict[str, list[_ModelStep]] = {}
        self._steps: dict[int, _ModelStep] = {}  # those that are open, oldest first
        self._numbers: set[int] = set()
        self._conversations = Conversations(lane)
        self._kept = KeptTurns()

    def makes(self, step: int) -> bool:
        """Whether a step is a model call's, and not one that the agent names."""
        return step in self._numbers

    # ------------------------------------------------------------ which step a call belongs to

    def step_for(self, scope: Scope, spec: CallSpec, signature: str) -> OpenStep | None:
        """The step that a call of the code in `scope` belongs to, opened now where it is a new one.

        Returns:
            The step; None inside a step that the agent names itself, which holds its calls as ever.
        """
        if scope.step is not None and scope.step.is_open and scope.step.number not in self._numbers:
            return None
        lane = self._recording.lanes.current().id
        with self._lock:
            if spec.kind != "llm":
                found = self._current(lane, scope) or self._open(lane, BETWEEN if self._numbers else FIRST)
                return found.step
            around = scope.call
            if around is not None and not around.is_over and around.asks_a_model and scope.step is not None:
                return scope.step
            current = self._current(lane, scope)
            if current is not None and self._is_retry(current, spec, signature):
                current.is_answered, current.failure = False, None
                return current.step
            return self._open(lane, spec.model or spec.name, spec, signature).step

    def _is_retry(self, current: _ModelStep, spec: CallSpec, signature: str) -> bool:
        asks_the_same = (current.name, current.signature) == (spec.name, signature)
        return asks_the_same and current.is_answered and current.failure is not None

    def _current(self, lane: str, scope: Scope) -> _ModelStep | None:
        """The open step of a lane, else of the nearest around it, else the newest of all."""
        while lane:
            found = self._top(lane, scope)
            if found is not None:
                return found
            lane = lane.rpartition("/")[0]
        return next(reversed(self._steps.values()), None)

    def _top(self, lane: str, scope: Scope) -> _ModelStep | None:
        """The open step of one lane, for code in `scope`. Those inside calls that are over end here."""
        stack = self._lanes.get(lane, [])
        while stack:
            last = stack[-1]
            if last.step.is_open and (last.step.parent is None or self._is_inside(scope, last.step.parent)):
                return last
            self._close(stack.pop())
        return None

    def _is_inside(self, scope: Scope | None, step: object) -> bool:
        while scope is not None:
            if scope.step is step:
                return True
            scope = scope.outer
        return False

    def _open(self, lane: str, name: str, spec: CallSpec | None = None, signature: str = "") -> _ModelStep:
        step = RecordedStep(self._recording, name, agent=agent_here(), track=_UNKNOWN)
        opened = _ModelStep(step, "" if spec is None else spec.name, signature)
        step.open(is_current=False)
        self._numbers.add(step.number)
        stack = self._lanes.setdefault(lane, [])
        around = opened.step.parent
        while stack and stack[-1].step is not around:
            self._close(stack.pop())
        stack.append(opened)
        self._steps[opened.step.number] = opened
        return opened

    # ------------------------------------------------------------ what the model is asked and answers

    def asked(self, step: OpenStep, call: OpenCall, args: Mapping[str, Wire]) -> None:
        """A model call of a step begins; its question says what the conversation is."""
        known = self._steps.get(step.number) if step.is_open else None
        if known is None:
            return
        from agent_tt.recording.steps.model_turns import asked_of  # reads providers' languages: most processes never do

        turn = asked_of(args)
        with self._lock:
            self._kept.join(turn)
        is_wrapped = known.call is not None and not known.call.is_over
        if turn.is_plain and is_wrapped:
            return
        with self._lock:
            if known.conversation is not None:
                self._conversations.answered(known.conversation)
            lane = self._recording.lanes.current().id
            known.call, known.turn, known.is_answered = call, turn, False
            known.conversation = self._conversations.choose(turn.state, turn.turns, lane)
            self._leave_to(known)
            step.follow(turn.state, known.conversation.track)

    def _leave_to(self, newer: _ModelStep) -> None:
        """End the steps whose conversation goes on in `newer`: what they work on changes from here on."""
        for known in list(self._steps.values()):
            is_around = known is newer or known.step in lineage(newer.step)
            if known.conversation is newer.conversation and known.is_answered and not is_around:
                self._close(known)

    def ended(self, step: OpenStep, call: OpenCall, end: CallEnd, error: BaseException | None) -> None:
        """A model call of a step is over."""
        known = self._steps.get(step.number)
        if known is None:
            return
        with self._lock:
            if known.turn is None or known.call is not call:
                return  # the call around the one that asked, or a try that another one has followed
            if known.conversation is not None:
                self._conversations.answered(known.conversation)
            from agent_tt.recording.steps.model_turns import said_of

            said = said_of(known.turn, end.result)
            known.is_answered, known.failure = True, error or said.failure
            if known.failure is None:
                known.turn.add(said)
                self._kept.answered(known.turn, said)
                step.decision = said.summary or step.decision

    # ------------------------------------------------------------ ends

    def lane_ended(self, lane: str) -> None:
        """A task, job or thread is over: its step goes on in the lane that created it."""
        with self._lock:
            stack = self._lanes.pop(lane, [])
            around = lane.rpartition("/")[0]
            for known in stack:
                above = self._lanes.setdefault(around, [])
                newest = above[-1].step.number if above else 0
                if not known.step.is_open or newest > known.step.number or not around:
                    self._close(known)
                    continue
                while above and known.step.parent is not above[-1].step:
                    self._close(above.pop())
                above.append(known)

    def finish(self, error: BaseException | None) -> None:
        """The run is over; `error` left the code of the main lane, if one did."""
        with self._lock:
            main = self._lanes.get(self._recording.lanes.main.id, [])
            last = next((known for known in reversed(main) if known.step.is_open), None)
            for known in list(self._steps.values()):
                if known is last and error is not None and known.failure is None:
                    known.failure = error
                self._close(known)

    def _close(self, known: _ModelStep) -> None:
        """End a step. Errors of the store are logged and remembered: the call that is being made did nothing wrong."""
        self._steps.pop(known.step.number, None)
        try:
            known.step.close(known.failure)
        except AgentTTError:
            _LOG.exception("the end of step %s could not be recorded", known.step.number)
