"""Looking whether a library is made the way its patches take for granted, before anything of it is replaced.

The private names that they use are not promised by anybody. Where one is gone, a recording would have gaps and a
replay would break in the middle; so the library is refused by its version when it is first patched. Nothing is run:
what a constructor assigns is read from its code, which costs microseconds.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def need_attributes(made_by: Callable[..., object], *names: str) -> None:
    """Check that a constructor, or another function, uses attributes of these names.

    Raises:
        AttributeError: it does not; the message names it.
    """
    code = getattr(inspect.unwrap(made_by), "__code__", None)
    for name in names:
        if code is not None and name not in code.co_names:
            raise AttributeError(f"{made_by.__qualname__} knows no {name}")


def need_members(owner: type, *names: str) -> None:
    """Check that a class has members of these names.

    Raises:
        AttributeError: it has not; the message names it.
    """
    for name in names:
        if not hasattr(owner, name):
            raise AttributeError(f"{owner.__qualname__} has no {name}")


def need_parameters(method: Callable[..., object], *names: str) -> None:
    """Check that a method takes these parameters first, in this order, after the object that it belongs to.

    Raises:
        AttributeError: it does not; the message names it.
    """
    parameters = inspect.signature(method).parameters
    taken = tuple(parameters)[1 : len(names) + 1]
    passes_on = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters.values())
    if taken != names and not passes_on:  # others may have replaced it already, by what takes anything
        raise AttributeError(f"{method.__qualname__} takes {', '.join(taken)}, not {', '.join(names)}")


def need_keywords(function: Callable[..., object], *names: str) -> None:
    """Check that a function takes these parameters by name.

    Raises:
        AttributeError: it does not; the message names those that it lacks.
    """
    parameters = inspect.signature(function).parameters
    missing = [name for name in names if name not in parameters]
    if missing:
        raise AttributeError(f"{function.__qualname__} takes no {', '.join(missing)}")
