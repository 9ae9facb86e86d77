"""Choosing the step of a call that begins: the open one, or one of its own; none outside any recording."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent_tt.codec.looking import is_looking
from agent_tt.errors import UsageError
from agent_tt.model import NewCall
from agent_tt.recording.calls.once_keys import not_recorded
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.calls.signature import signature_of_call
from agent_tt.recording.calls.site import call_site
from agent_tt.recording.scope import here
from agent_tt.recording.session import SESSION
from agent_tt.recording.steps.agent_names import agent_here
from agent_tt.recording.steps.recorded_step import RecordedStep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.calls.signature import CallSpec
    from agent_tt.recording.open_run import OpenStep
    from agent_tt.recording.scope import Scope

__all__ = ["begin_call", "begin_in"]


class NotAnswered(BaseException):
    """A call that an object made while it was looked at, in a replay. Whoever looks catches it."""


def begin_call(spec: CallSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> RecordedCall | None:
    """Begin a call of the code that asks; None where the function simply runs.

    That is so outside any recording, and for what a framework's tool is made of: that one's call has begun already.
    Outside any step the call makes a step of its own, named after it.

    Raises:
        BaseException: a link refuses it (`ToolDenied`), or halts the agent (`Divergence`).
        UsageError: it is done once for its key, and no recording is open.
    """
    if spec.seen is not None:
        spec.seen()
    scope = here()
    if scope is None:
        if SESSION.chain.unrecorded_call:
            _begin_unrecorded(spec, args, kwargs)
        _check_not_once(spec)
        return None
    if scope.call is not None and spec.made_of is None and scope.call.enters(spec.kind, spec.name):
        return None
    call = begin_in(scope, spec, lambda call: call.begin(args, kwargs))
    if call is None:
        _check_not_once(spec)
    return call


def _check_not_once(spec: CallSpec) -> None:
    """Check that a function may simply run, where nothing records it.

    Raises:
        UsageError: it is done once for its key, and no store can be asked whether it was.
    """
    if spec.once is not None and not spec.once.is_recognised:
        raise not_recorded(spec.name)


def _begin_unrecorded(spec: CallSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Put a call that no recording reaches to the chain.

    Raises:
        BaseException: a link refuses it, or halts the agent.
    """
    chain, signature, spec = SESSION.chain, "", _under_settings(spec)
    named: dict[str, Wire] = {}
    if chain.serves:
        if is_looking():
            raise NotAnswered  # an object that we look at asks, not the agent: nothing of it was recorded
        named = spec.parameters.bind(args, kwargs)
        signature = signature_of_call(spec.kind, spec.name, named, without=spec.uncompared)
    new = NewCall(spec.kind, spec.name, named, signature, spec.effect, lane="", meta=call_site(None))
    for begins in chain.unrecorded_call:
        begins(new, is_own_doing=False)


def _under_settings(spec: CallSpec) -> CallSpec:
    """What is called, with what the settings say of it; without that where they cannot be read, as outside a run."""
    if spec.kind != "tool" or spec.is_effect_said:
        return spec
    from agent_tt import config

    with suppress(UsageError):
        return spec.under(config.load().effects)
    return spec


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
    own = RecordedStep(scope.recording, spec.title, agent=agent_here())
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


def _step_for(scope: Scope, spec: CallSpec, signature: str) -> OpenStep | None:
    steps = scope.recording.model_steps
    found = None if steps is None else steps.step_for(scope, spec, signature)
    return scope.step if found is None else found
