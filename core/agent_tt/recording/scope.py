"""Where the agent is: in which recording, in which of its steps, and inside which call.

The scope travels in a context variable, so that `gather`, `TaskGroup` and `to_thread` nest as the agent's own code
does; `hooks` carries it into plain threads and executor jobs, whose contexts start empty.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from agent_tt.codec.looking import is_looking
from agent_tt.recording.open_run import Scope
from agent_tt.recording.store_work import STORE_WORK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Context

    from agent_tt.recording.open_run import OpenCall, OpenRun, OpenStep


__all__ = ["CURRENT", "Scope", "enter", "here", "innermost_step", "is_answered", "leave", "nowhere"]

_FUNCTIONS: Final = ("tool", "llm")

CURRENT: ContextVar[Scope | None] = ContextVar("agent_tt_scope", default=None)


def here(context: Context | None = None) -> Scope | None:
    """The scope of this code in a recording that has not ended, None outside any.

    Its step may have ended: then this code belongs to a task or thread that outlived the step it was created in.

    Args:
        context: whose code is meant, where it is not the code that asks.
    """
    if STORE_WORK.depth or is_looking():
        return None
    scope = CURRENT.get() if context is None else context.get(CURRENT)
    while scope is not None and not scope.recording.is_open:
        scope = scope.outer
    return scope


def innermost_step(recording: OpenRun) -> OpenStep | None:
    """The innermost step of `recording` that this code was created in, None outside its steps. It may have ended."""
    scope = CURRENT.get()
    while scope is not None and scope.recording is not recording:
        scope = scope.outer
    return None if scope is None else scope.step


def is_answered(recording: OpenRun) -> bool:
    """Whether this code is inside a tool or a model's function of `recording`: a replay answers it and runs none."""
    scope = CURRENT.get()
    while scope is not None and scope.recording is not recording:
        scope = scope.outer
    call = None if scope is None else scope.call
    while call is not None and call.spec.kind not in _FUNCTIONS:
        call = call.around
    return call is not None


def enter(recording: OpenRun, step: OpenStep | None, call: OpenCall | None = None) -> Scope:
    """Make the scope of `step` (None: of the run itself) the current one, inside `call` or the call that is running."""
    outer = CURRENT.get()
    if call is None and outer is not None and outer.recording is recording:
        call = outer.call
    scope = Scope(recording, step, call, outer)
    CURRENT.set(scope)
    return scope


@contextmanager
def nowhere() -> Iterator[None]:
    """While it lasts, this code and what it starts are in no scope: a task of ours is not the agent's."""
    scope = CURRENT.get()
    CURRENT.set(None)
    try:
        yield
    finally:
        CURRENT.set(scope)


def leave(scope: Scope) -> None:
    """Go back to the nearest scope around `scope` that is still open.

    Does nothing when another scope is current: steps that were not closed innermost first, or a context that was
    copied and left behind. (Resetting by token would raise there.)
    """
    if CURRENT.get() is not scope:
        return
    outer = scope.outer
    while outer is not None and not outer.is_open:
        outer = outer.outer
    CURRENT.set(outer)
