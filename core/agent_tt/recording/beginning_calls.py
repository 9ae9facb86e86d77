"""Where a call belongs when it begins: to the open step, or one of its own; to nothing, outside any recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.looking import is_looking
from agent_tt.errors import UsageError
from agent_tt.model import NewCall
from agent_tt.recording.answers import answers_here, question_of
from agent_tt.recording.call_site import call_site
from agent_tt.recording.calls import RecordedCall
from agent_tt.recording.scope import here
from agent_tt.recording.signature import signature_of_call
from agent_tt.recording.unrecorded import check_unrecorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.recording.call_spec import CallSpec
    from agent_tt.recording.scope import Scope
    from agent_tt.recording.steps import RecordedStep

__all__ = ["begin_call", "begin_in"]


class NotAnswered(BaseException):
    """A call that an object made while it was looked at, in a replay. Whoever looks catches it."""


def begin_call(spec: CallSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> RecordedCall | None:
    """Begin a call of the code that asks; None outside any recording, where the function simply runs.

    Outside any step the call makes a step of its own, named after it.

    Raises:
        ToolDenied: the policy of the fork that this process runs denies the tool.
        Divergence: a replay has no answer.
    """
    if spec.seen is not None:
        spec.seen()
    scope = here()
    if scope is None:
        answers = answers_here()
        if answers is not None and is_looking():
            raise NotAnswered  # an object that we look at asks, not the agent: nothing of it was recorded
        if answers is not None:
            named = spec.parameters.bind(args, kwargs)
            signature = signature_of_call(spec.kind, spec.name, named, without=spec.idempotency_key)
            new = NewCall(spec.kind, spec.name, named, signature, spec.effect, lane="", meta=call_site(None))
            answers.ask(question_of(new))
        check_unrecorded(spec.kind, spec.name, spec.effect)
        return None
    return begin_in(scope, spec, lambda call: call.begin(args, kwargs))


def begin_in(
    scope: Scope, spec: CallSpec, begin: Callable[[RecordedCall], None], *, signature: str = ""
) -> RecordedCall | None:
    """Begin a call in the open step of `scope`, else in a step of its own; None where the run has just ended.

    Args:
        scope: where the agent is.
        spec: what is called.
        begin: commits the call's intent.
        signature: digest of the question, where it is known before.
    """
    try:
        step = _step_for(scope, spec, signature)
    except UsageError:
        if scope.recording.is_open:
            raise
        return None  # another thread ended the run just now
    if step is not None and step.is_open:
        call = RecordedCall(scope, spec, step, owns_step=False)
        begin(call)
        return call
    own = scope.recording.step(spec.title)
    try:
        own.open(is_current=False)
    except UsageError:
        if scope.recording.is_open:
            raise
        return None  # another thread ended the run just now
    call = RecordedCall(scope, spec, own, owns_step=True)
    try:
        begin(call)
    except BaseException as error:
        own.close(error)
        raise
    return call


def _step_for(scope: Scope, spec: CallSpec, signature: str) -> RecordedStep | None:
    steps = scope.recording.model_steps
    found = None if steps is None else steps.step_for(scope, spec, signature)
    return scope.step if found is None else found
