"""The functions inside what an SDK makes of them: `@function_tool`, `@tool` and their like leave an object of theirs.

What the object holds is looked through, at any depth, for the function that was written under the object's name. No
framework is known by name here, and nothing of the object's is called.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError
from agent_tt.recording.calls.site import is_agent_file

if TYPE_CHECKING:
    from agent_tt.launching.tools.dotted import DottedPath

__all__ = ["functions_inside"]

_TOOL_METHODS: Final = ("call", "invoke", "run", "on_invoke_tool", "__call__")
"""By what SDKs call the objects that they make of functions."""

_NO_OBJECTS: Final = (FunctionType, BuiltinFunctionType, MethodType, functools.partial, type)
_NOT_LOOKED_INTO: Final = (type, ModuleType, FrameType, CodeType, str, bytes, int, float)
_MOST: Final = 20_000
"""So many objects are looked at: what a tool is made of lies near."""


def functions_inside(found: object, path: DottedPath) -> tuple[FunctionType, ...] | None:
    """The functions that an object was made of; None for what is a function itself, or an object that is just called.

    Args:
        found: what a path leads to.
        path: the path.

    Raises:
        UsageError: nobody calls it, or it is more than a function and what it was made of cannot be told.
    """
    if isinstance(found, _NO_OBJECTS) or (callable(found) and _method_of(found) in ("", "__call__")):
        return None
    functions = _functions_below(found)
    name = path.names[-1]
    named = [each for each in functions if each.__name__ == name and each.__module__ == path.module]
    if named:
        return tuple(named)
    agents = [each for each in functions if is_agent_file(each.__code__.co_filename)]
    if len(agents) == 1 and not isinstance(found, ModuleType):
        return tuple(agents)
    kind, method = type(found).__name__, _method_of(found)
    if isinstance(found, ModuleType) or not method:
        raise UsageError(f"{path.text} is a {kind}, which cannot be called", hint="name a function")
    raise UsageError(
        f"{path.text} is a {kind}, which is more than a function",
        hint=f"name the method that is called: {path.text}.{method}",
    )


def _method_of(found: object) -> str:
    """By which method an object is called, as SDKs name them; "" where it has none of these."""
    for name in _TOOL_METHODS:
        if callable(inspect.getattr_static(found, name, None)):
            return name
    return ""


def _functions_below(found: object) -> list[FunctionType]:
    """The functions that an object holds, however deep; what modules, classes and code hold is not looked at."""
    namespaces = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    if isinstance(found, ModuleType):
        return []
    seen, level, functions = {id(found)}, [found], []
    while level and len(seen) < _MOST:
        below: list[object] = []
        for each in gc.get_referents(*level):
            if id(each) in seen or id(each) in namespaces or isinstance(each, _NOT_LOOKED_INTO):
                continue
            if isinstance(each, dict) and "__builtins__" in each:  # the globals of a module that is not listed
                continue
            seen.add(id(each))
            below.append(each)
            if isinstance(each, FunctionType):
                functions.append(each)
        level = below
    return functions
