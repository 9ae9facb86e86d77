"""Stubs by dotted name: `with given({"my_app.api.charge": {"id": 7}}):` around any block of code."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import itertools
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

__all__ = ["given", "in_order"]


@contextmanager
def given(answers: Mapping[str, object]) -> Iterator[None]:
    """Let functions give these answers while the block lasts; they do not run.

    An answer is a value, an exception that is raised, or a function that is called in place of the original with its
    arguments. `in_order(first, second)`, or any iterator, gives one of these for each call; a list is a value. Async
    functions stay async. A function of a module is replaced under every name that a loaded module has for it
    (`from my_app.api import charge`).

    Args:
        answers: by dotted path: `my_app.api.charge` or `my_app.api.Client.charge`.

    Raises:
        UsageError: a path leads to nothing (the hint has the nearest names), or to what cannot be called; in the agent,
            where a function is called more often than answers were given in order.
    """
    with ExitStack() as stack:
        for path, answer in answers.items():
            stack.enter_context(_replaced(path, answer))
        yield


def in_order(*answers: object) -> Iterator[object]:
    """Answers for `given`, one for each call, in this order.

    ```python
    with given({"my_app.api.charge": in_order({"id": 1}, TimeoutError("slow"), {"id": 2})}):
        my_app.main()
    ```
    """
    return iter(answers)


@contextmanager
def _replaced(path: str, answer: object) -> Iterator[None]:
    owner, name = _found(path)
    original = inspect.getattr_static(owner, name)
    function = getattr(owner, name)
    if not callable(function):
        raise UsageError(f"{path} is a {type(function).__name__}, which cannot be called", hint="name a function")
    stand_in: object = _stand_in(path, function, answer)
    if isinstance(original, staticmethod | classmethod):
        stand_in = staticmethod(_stand_in(path, function, answer))
    places = [(owner, name)]
    if inspect.ismodule(owner):
        places += [place for place in _globals_holding(original) if place != (owner, name)]
    was_own = name in vars(owner)
    for holder, called in places:
        setattr(holder, called, stand_in)
    try:
        yield
    finally:
        for holder, called in places:
            setattr(holder, called, original)
        if not was_own:
            delattr(owner, name)


def _stand_in(path: str, function: Callable[..., object], answers: object) -> Callable[..., object]:
    lock, given_so_far = threading.Lock(), itertools.count()

    def next_answer() -> object:
        if not isinstance(answers, Iterator):
            return answers
        with lock:
            for answer in answers:
                next(given_so_far)
                return answer
            count = next(given_so_far)
        raise UsageError(
            f"{path} was given {count} answer{'' if count == 1 else 's'} in order, and is called once more",
            hint="give it another one, or a function that answers every call",
        )

    def give(*args: object, **kwargs: object) -> object:
        answer = next_answer()
        if isinstance(answer, BaseException) or (isinstance(answer, type) and issubclass(answer, BaseException)):
            raise answer
        return answer(*args, **kwargs) if callable(answer) else answer

    async def give_async(*args: object, **kwargs: object) -> object:
        result = give(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return functools.wraps(function)(give_async if inspect.iscoroutinefunction(function) else give)


def _found(path: str) -> tuple[ModuleType | type, str]:
    """The module or class that a path leads to, and the name in it."""
    parts = path.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        try:
            owner: object = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError as error:
            if error.name is not None and ".".join(parts[:depth]).startswith(error.name):
                continue
            raise
        for at in range(depth, len(parts)):
            if not (inspect.ismodule(owner) or isinstance(owner, type)):
                break
            if not hasattr(owner, parts[at]):
                raise UsageError(f"{path} leads to no function", hint=_nearest(owner, parts, at))
            if at == len(parts) - 1:
                return owner, parts[-1]
            owner = getattr(owner, parts[at])
        break
    near = difflib.get_close_matches(parts[0], list(sys.modules), n=3) if len(parts) > 1 else []
    raise UsageError(
        f"{path} leads to no function", hint=_did_you_mean([".".join([*each.split("."), *parts[1:]]) for each in near])
    )


def _nearest(owner: ModuleType | type, parts: Sequence[str], at: int) -> str:
    """Paths that lead on from `owner`, with names like the one that it does not have."""
    names = [
        name
        for name in dir(owner)
        if callable(getattr(owner, name, None)) or inspect.ismodule(getattr(owner, name, None))
    ]
    near = difflib.get_close_matches(parts[at], names, n=3)
    return _did_you_mean([".".join([*parts[:at], name, *parts[at + 1 :]]) for name in near])


def _did_you_mean(near: Sequence[str]) -> str:
    how = "write it as it is imported: package.module.function"
    return f"Did you mean {' or '.join(near)}? Else {how}" if near else how


def _globals_holding(value: object) -> list[tuple[ModuleType, str]]:
    return [
        (module, name)
        for module in list(sys.modules.values())
        if inspect.ismodule(module)
        for name, held in list(vars(module).items())
        if held is value
    ]
