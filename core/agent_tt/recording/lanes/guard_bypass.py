"""Letting allowed calls past the guard of a fork, in whatever task or thread they do their work.

A seam makes its request inside `passing`. The mark travels as the scope does: tasks copy their creator's context, and
`hooks` carries it into plain threads and executor jobs, so that the look-up of a name in a thread pool passes too.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, ParamSpec, TypeVar

from agent_tt._dataclass import dataclass
from agent_tt.recording.lanes.shared_end import SharedEnd
from agent_tt.recording.scope import CURRENT, nowhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Context

__all__ = ["carried", "is_below_a_call", "is_ours", "is_passing", "ours", "passing", "passing_for", "share_ends"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class _Mark:
    reason: Literal["request", "call"]
    end: SharedEnd = field(default_factory=SharedEnd)


_MARK: ContextVar[_Mark | None] = ContextVar("agent_tt_passing", default=None)


@contextmanager
def passing(reason: Literal["request", "call"] = "request") -> Iterator[None]:
    """Let what this code does, and what it starts, pass the guard while the block lasts: it is part of an allowed call.

    Args:
        reason: what that is: a request or a process, which was decided about itself, or a function that is called.
    """
    before, mark = _MARK.get(), _Mark(reason)
    _MARK.set(mark)
    try:
        yield
    finally:
        # Not by token: a coroutine that nobody awaits any more is closed in somebody else's context.
        mark.end.come()
        if _MARK.get() is mark:
            _MARK.set(before)


class _Ours(threading.local):
    """How deep this thread is in what agent-tt does on its own account."""

    depth = 0


_OURS: Final = _Ours()


@contextmanager
def ours() -> Iterator[None]:
    """Switch off every guard for this thread, also that of a replay, while the block lasts.

    For what agent-tt itself needs to run a program at all, such as the port of a proxy and the program behind it.
    """
    _OURS.depth += 1
    try:
        with nowhere(), passing():
            yield
    finally:
        _OURS.depth -= 1


def is_ours() -> bool:
    """Whether this thread does what `ours` lets pass."""
    return _OURS.depth > 0


def share_ends() -> None:
    """A process is about to be forked by this code: let it see when what this code belongs to has ended."""
    mark, scope = _MARK.get(), CURRENT.get()
    if mark is not None:
        mark.end.share()
    while scope is not None:
        if scope.call is not None:
            scope.call.end.share()
        scope = scope.outer


def is_passing() -> bool:
    """Whether this code belongs to something that may be made for real: it is marked, or inside a call that runs."""
    return passing_for() is not None


def passing_for() -> Literal["request", "call"] | None:
    """What this code belongs to that may be made for real: a `request` (or process), or a `call` that runs."""
    mark = _MARK.get()
    if mark is not None and not mark.end.has_come:
        return mark.reason
    scope = CURRENT.get()
    while scope is not None:
        if scope.call is not None and scope.call.runs:
            return "call"
        scope = scope.outer
    return None


def is_below_a_call(context: Context | None = None) -> bool:
    """Whether this code, or code in `context`, carries out a call, such as the network stack below a request.

    In a replay the call is answered and none of this runs, so what it creates must not be counted with the agent's own.
    """
    if context is None:
        context = copy_context()
    scope = context.get(CURRENT)
    return context.get(_MARK) is not None or (scope is not None and scope.call is not None)


def carried(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, which another thread is to call, with the mark of the code that asks."""
    mark = _MARK.get()
    if mark is None:
        return function

    @functools.wraps(function)
    def marked(*args: P.args, **kwargs: P.kwargs) -> R:
        before = _MARK.get()
        _MARK.set(mark)
        try:
            return function(*args, **kwargs)
        finally:
            _MARK.set(before)

    return marked
