"""Who else holds a function that was replaced: containers, default arguments and partials keep the original."""

from __future__ import annotations

import functools
import gc
import sys
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["holders_of"]

_ATTRIBUTE: Final = "the class attribute "
_MOST: Final = 8
"""So many are named at most."""


def holders_of(function: object, *, is_method: bool = False, without: Container[int] = ()) -> list[str]:
    """Where `function` is still held, in words; empty where nobody can call it any more but those who are known.

    Args:
        function: the original.
        is_method: whether it was replaced in one class: others that have it keep it rightly.
        without: identities of objects that hold it rightly.
    """
    found: list[str] = []
    modules = {id(vars(module)): name for name, module in list(sys.modules.items()) if isinstance(module, ModuleType)}
    for holder in gc.get_referrers(function):
        if id(holder) in without or isinstance(holder, FrameType | CellType) or id(holder) in modules:
            continue
        words = _describe(holder, function, modules)
        if is_method and words.startswith(_ATTRIBUTE):
            continue
        if words and words not in found:
            found.append(words)
    return sorted(found)[:_MOST]


def _describe(holder: object, function: object, modules: dict[int, str]) -> str:
    if isinstance(holder, functools.partial):
        return f"a partial{_named(holder, modules)}"
    if isinstance(holder, MethodType):
        named = _named(holder, modules)
        return f"a bound method{named}" if named else ""
    if isinstance(holder, dict):
        if "__wrapped__" in holder and holder["__wrapped__"] is function:
            return ""  # what stands in its place
        for owner in gc.get_referrers(holder):
            if isinstance(owner, type):
                names = [name for name, value in list(vars(owner).items()) if value is function]
                return f"{_ATTRIBUTE}{owner.__module__}.{owner.__qualname__}.{names[0]}" if names else ""
        keys = [repr(key) for key, value in list(holder.items()) if value is function][:1]
        return f"the entry {keys[0]} of a dict{_named(holder, modules)}" if keys else ""
    if isinstance(holder, tuple):
        for owner in gc.get_referrers(holder):
            if isinstance(owner, FunctionType) and owner.__defaults__ is holder:
                return f"a default argument of {owner.__module__}.{owner.__qualname__}"
    if isinstance(holder, list | tuple | set | frozenset):
        named = _named(holder, modules)
        return f"a {type(holder).__name__}{named}" if named else ""
    return ""


def _named(holder: object, modules: dict[int, str]) -> str:
    """` called my_app.TOOLS`, where a module has a name for it; ` of a my_app.Agent` for an object's attributes."""
    for outer in gc.get_referrers(holder):
        module = modules.get(id(outer))
        if module is not None and isinstance(outer, dict):
            names = [name for name, value in list(outer.items()) if value is holder]
            if names:
                return f" called {module}.{names[0]}"
    for outer in gc.get_referrers(holder):
        if getattr(outer, "__dict__", None) is holder and not isinstance(outer, type):
            return f" of a {type(outer).__module__}.{type(outer).__qualname__}"
    return ""
