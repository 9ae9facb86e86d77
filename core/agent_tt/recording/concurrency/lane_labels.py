"""What a lane is labelled with: the agent's own coroutine, seen through the wrappers that libraries put around it.

anyio starts each task as `TaskHandle._run_coro`, Starlette as `wrap`, asyncio runs an awaitable in `_wrap_awaitable`.
Under these names all tasks of a program would look alike, and its own would be counted with those of its libraries.

Only what a coroutine that has not begun was called with is looked at, and nothing of it is called.
"""

from __future__ import annotations

import functools
from types import CoroutineType, FunctionType, MemberDescriptorType, MethodType
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.site import is_agent_file

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["label_of_task"]

_UNKNOWN: Final = "task"
_MOST_WRAPPERS: Final = 8

_CALLED: Final = frozenset(
    {"afn", "async_fn", "async_func", "call", "coro", "coro_fn", "coroutine", "f", "fn", "func", "function", "target"}
)
"""Names under which wrappers keep the function that they call; a function under any other name may be a callback."""

_KEPT: Final = ("_coro", "coro", "_func", "func", "afn")
"""The same of objects whose method is the wrapper: anyio's `TaskHandle`, trio's `Run`."""


def label_of_task(coroutine: object) -> str:
    """The qualified name of the coroutine function that a task runs; of a wrapper's, of the function that it wraps."""
    label = _name(coroutine) or _UNKNOWN
    for _ in range(_MOST_WRAPPERS):
        found = next(((inner, name) for inner in _wrapped(coroutine) if (name := _name(inner))), None)
        if found is None:
            break
        coroutine, label = found
    return label


def _name(called: object) -> str | None:
    """The qualified name of a coroutine or of a function; None for anything else, whose name may be code."""
    while type(called) is functools.partial:
        called = called.func
    if type(called) is MethodType:
        called = called.__func__
    if isinstance(called, (CoroutineType, FunctionType)):
        return called.__qualname__
    return None


def _wrapped(coroutine: object) -> Iterator[object]:
    """What a library's coroutine that has not begun may be a wrapper of, the likeliest first."""
    if type(coroutine) is not CoroutineType:
        return
    code, frame = coroutine.cr_code, coroutine.cr_frame
    if frame is None or is_agent_file(code.co_filename):
        return
    given = frame.f_locals
    names = [name for name in (*code.co_varnames, *code.co_freevars) if name in given]
    yield from (given[name] for name in names if type(given[name]) is CoroutineType)
    yield from (given[name] for name in names if name in _CALLED)
    if "self" in given:
        yield from (kept for name in _KEPT if (kept := _stored(given["self"], name)) is not None)


def _stored(owner: Any, name: str) -> object:
    """An attribute as it is stored, in a slot or in the object's dictionary; None where there is none."""
    for kind in type(owner).__mro__:
        member = vars(kind).get(name)
        if type(member) is MemberDescriptorType:
            try:
                return member.__get__(owner)
            except AttributeError:  # an empty slot
                return None
    try:
        stored = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None
    return stored.get(name) if type(stored) is dict else None
