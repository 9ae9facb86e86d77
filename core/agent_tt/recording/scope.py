"""Where the agent is: in which recording, in which of its steps, and inside which call.

The scope travels in a context variable, so that `gather`, `TaskGroup` and `to_thread` nest as the agent's own code
does; `hooks` carries it into plain threads and executor jobs, whose contexts start empty.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tt.codec.looking import is_looking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Context

    from agent_tt.recording.calls.recorded_call import RecordedCall
    from agent_tt.recording.runs.recorder import Recording
    from agent_tt.recording.steps.recorded_step import RecordedStep


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One place in a run.

    Attributes:
        recording: the run.
        step: the innermost step, None between steps.
        call: the call whose function runs, None where the agent's own code does.
        outer: the scope that this one was opened in.
    """

    recording: Recording
    step: RecordedStep | None
    call: RecordedCall | None
    outer: Scope | None

    @property
    def is_open(self) -> bool:
        """Whether something can still be recorded here."""
        return self.recording.is_open and (self.step is None or self.step.is_open)


class _Store(threading.local):
    """How many of the store's own doings this thread is inside of."""

    depth = 0


_STORE = _Store()
CURRENT: ContextVar[Scope | None] = ContextVar("agent_tt_scope", default=None)


def here(context: Context | None = None) -> Scope | None:
    """The scope of this code in a recording that has not ended, None outside any.

    Its step may have ended: then this code belongs to a task or thread that outlived the step it was created in.

    Args:
        context: whose code is meant, where it is not the code that asks.
    """
    if _STORE.depth or is_looking():
        return None
    scope = CURRENT.get() if context is None else context.get(CURRENT)
    while scope is not None and not scope.recording.is_open:
        scope = scope.outer
    return scope


def innermost_step(recording: Recording) -> RecordedStep | None:
    """The innermost step of `recording` that this code was created in, None outside its steps. It may have ended."""
    scope = CURRENT.get()
    while scope is not None and scope.recording is not recording:
        scope = scope.outer
    return None if scope is None else scope.step


def enter(recording: Recording, step: RecordedStep | None, call: RecordedCall | None = None) -> Scope:
    """Make the scope of `step` (None: of the run itself) the current one, inside `call` or the call that is running."""
    outer = CURRENT.get()
    if call is None and outer is not None and outer.recording is recording:
        call = outer.call
    scope = Scope(recording, step, call, outer)
    CURRENT.set(scope)
    return scope


@contextmanager
def store_at_work() -> Iterator[None]:
    """While it lasts, this thread is in no scope: what a store does on its own account is not the agent's doing.

    Unlike `nowhere` it leaves the context alone. Every write of a recording passes here, also one that the garbage
    collector's finalizers make: those may run in the middle of somebody's `ContextVar.set`, where CPython does not
    survive another one in the same context.
    """
    _STORE.depth += 1
    try:
        yield
    finally:
        _STORE.depth -= 1


def is_store_at_work() -> bool:
    """Whether this thread is inside something that the store does: a finalizer may run there."""
    return _STORE.depth > 0


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
