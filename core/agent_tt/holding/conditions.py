"""Which calls are held: an expression, asked of the state as it is and of the call that waits."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt.codec.encode import encode
from agent_tt.codec.looking import must_go_on
from agent_tt.errors import AgentTTError, InvalidExpression
from agent_tt.model import Call, Step
from agent_tt.querying.expressions import parse, tree
from agent_tt.querying.expressions.evaluator import holds
from agent_tt.querying.expressions.values import MISSING, Missing, at
from agent_tt.querying.watches.step_search import call_fact, step_fact
from agent_tt.recording.store_work import store_at_work
from agent_tt.redaction.values import redact

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import NewCall
    from agent_tt.querying.expressions import Expression
    from agent_tt.querying.expressions.tree import Place
    from agent_tt.querying.expressions.values import Value
    from agent_tt.recording.open_run import OpenCall

__all__ = ["condition", "is_met", "state_before"]

_READ: Final = 32
"""Expressions that are kept as they were read."""


@lru_cache(maxsize=_READ)
def condition(text: str) -> Expression:
    """Read the expression that has to hold where a call is to wait.

    Raises:
        InvalidExpression: it cannot be read, or asks what nobody knows before a call is made.
    """
    read = parse(text)
    if read.compared:
        why = "a hold cannot ask what has changed: the step is not over where a call waits"
        raise InvalidExpression(why, text=text, why=why, position=0, hint="ask what the state is: state.budget < 10")
    return read


def is_met(text: str, call: OpenCall, new: NewCall) -> bool:
    """Whether a call is to wait; what cannot be answered does not hold anybody up."""
    if not text:
        return True
    try:
        with store_at_work():
            read = condition(text)
            return holds(read, _Now(call, new, state_before(call) if read.asks_state else MISSING))
    except AgentTTError:
        return False


def state_before(call: OpenCall) -> Wire | Missing:
    """The state that a call's step works on, as it would be kept; `MISSING` where there is none, or it is unreadable.

    Of a step that a model call makes, the state is the conversation, which lies with the agent's SDK. What is done
    inside of another call is that one's doing, and what a replay does not do again.
    """
    step, recording, around = call.step, call.recording, call.around
    if around is not None and not around.is_over:
        return MISSING
    steps = recording.model_steps
    state = step.state
    if state is None or (steps is not None and steps.makes(step.number)):
        return MISSING
    try:
        return redact(encode(recording.snapshot(state)))
    except BaseException as error:
        if must_go_on(error):
            raise
        return MISSING


class _Now:
    """A step that goes on, and its call that waits, as an expression asks about them."""

    def __init__(self, call: OpenCall, new: NewCall, state: Wire | Missing) -> None:
        step = call.step
        self._state = state
        self._step = Step(step.number, step.name, "running", agent=step.agent, lane=new.lane)
        self._call = Call(
            *(step.number, call.number or 0, new.kind, new.name, "pending"),
            args=dict(call.named),
            effect=new.effect,
            lane=new.lane,
            meta=new.meta,
        )

    def value(self, root: str, place: Place) -> Value:
        """See `agent_tt.querying.expressions.evaluator.Facts`."""
        if root == "state":
            return MISSING if self._state is MISSING else at(self._state, place)
        if root in tree.CALL_NAMES:
            return call_fact(self._call, root, place)
        return step_fact(self._step.number, self._step, root)

    def changed(self, place: Place) -> bool:  # noqa: ARG002  see `condition`
        """Nobody knows yet."""
        return False
