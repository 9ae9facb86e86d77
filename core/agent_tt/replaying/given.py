"""Answers given by hand, for names: `with given({"my_app.api.charge": {"id": 7}}):` around any block of code."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

__all__ = ["given"]


@contextmanager
def given(answers: Mapping[str, object]) -> Iterator[None]:
    """Let functions give these answers while the block lasts; they do not run.

    An answer is a value, an exception that is raised, or a function that is called in place of the original with its
    arguments. Async functions stay async. A function of a module is replaced under every name that a loaded module has
    for it (`from my_app.api import charge`).

    Args:
        answers: by dotted path: `my_app.api.charge` or `my_app.api.Client.charge`.

    Raises:
        UsageError: a path leads to nothing, or to what cannot be called.
    """
    with ExitStack() as stack:
        for path, answer in answers.items():
            stack.enter_context(_replaced(path, answer))
        yield


@contextmanager
def _replaced(path: str, answer: object) -> Iterator[None]:
    owner, name = _found(path)
    original = inspect.getattr_static(owner, name)
    function = getattr(owner, name)
    if not callable(function):
        raise UsageError(f"{path} is a {type(function).__name__}, which cannot be called", hint="name a function")
    stand_in: object = _stand_in(function, answer)
    if isinstance(original, staticmethod | classmethod):
        stand_in = staticmethod(_stand_in(function, answer))
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


def _stand_in(function: Callable[..., object], answer: object) -> Callable[..., object]:
    def give(*args: object, **kwargs: object) -> object:
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
        for part in parts[depth:-1]:
            owner = getattr(owner, part, None)
        if (inspect.ismodule(owner) or isinstance(owner, type)) and hasattr(owner, parts[-1]):
            return owner, parts[-1]
        break
    raise UsageError(f"{path} leads to no function", hint="write it as it is imported: package.module.function")


def _globals_holding(value: object) -> list[tuple[ModuleType, str]]:
    return [
        (module, name)
        for module in list(sys.modules.values())
        if inspect.ismodule(module)
        for name, held in list(vars(module).items())
        if held is value
    ]
