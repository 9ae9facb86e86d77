"""Having the calls of a function recorded, whoever keeps it: in modules, classes and objects.

Python functions, methods and objects with a `__call__` in Python are redirected in place (`redirecting`), so that every
reference is caught. What is written in C cannot be changed: it is replaced wherever it is held (`holders`), and where
it cannot be replaced that is told.
"""

from __future__ import annotations

import functools
import inspect
import sys
from dataclasses import field
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.launching.tools.dotted import missing
from agent_tt.launching.tools.holders import replace_in_holders
from agent_tt.launching.tools.redirecting import IsBelow, IsReceiver, NotInside, copies_of, is_redirected, redirect
from agent_tt.launching.tools.tool_objects import functions_inside
from agent_tt.recording.calls import boundary
from agent_tt.recording.tools import mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.launching.tools.dotted import DottedPath
    from agent_tt.launching.tools.redirecting import Accepts
    from agent_tt.model import CallKind

    Undo = Callable[[], None]

__all__ = ["How", "Replaced", "replace_at", "replace_function"]

_OURS: Final = "agent_tt"
_RECORDERS: Final = frozenset({__file__, boundary.__file__, str(Path(boundary.__file__).with_name("streams.py"))})
"""Files whose functions record already."""
_MAKING: Final = frozenset({"__init__", "__new__", "__init_subclass__", "__set_name__", "__del__"})


@dataclass(frozen=True, slots=True)
class How:
    """How calls are recorded.

    Attributes:
        shown: their name.
        effect: what they do.
        seen: called as each begins.
    """

    shown: str
    effect: OutsideEffect
    seen: Callable[[], None] | None = None

    def recorded(self, function: Callable[..., object], *, has_receiver: bool | None = None) -> Callable[..., object]:
        """`function` with its calls recorded; see `mark`."""
        kind: CallKind = "llm" if self.effect == "llm" else "tool"
        effect = None if self.effect == "llm" else self.effect
        return mark(function, kind, effect, name=self.shown, has_receiver=has_receiver, seen=self.seen)


@dataclass(slots=True)
class Replaced:
    """What was done for one path.

    Attributes:
        held: where a function that cannot be redirected is still held, in words; calls through those are not recorded.
    """

    held: tuple[str, ...] = ()
    _undo: list[Undo] = field(default_factory=list)

    def undo(self) -> None:
        """Put everything back that is still ours."""
        for step in reversed(self._undo):
            step()
        self._undo.clear()


def replace_at(module: ModuleType, path: DottedPath, how: How) -> Replaced | None:
    """Have the calls recorded of what `path` leads to from its module; None where they are already.

    Raises:
        NotFound: it leads nowhere.
        UsageError: it leads to something whose calls cannot be recorded.
    """
    owner: object = module
    for depth, name in enumerate(path.names[:-1]):
        owner = _step(owner, name, path, depth)
    name = path.names[-1]
    found = _step(owner, name, path, len(path.names) - 1)
    if name in _MAKING:
        raise UsageError(
            f"{path.text} makes objects, which a recording cannot give back", hint="name the method that is called"
        )
    if name == "__call__" and not isinstance(owner, type | ModuleType):
        owner = type(owner)  # Python looks for it there
    if isinstance(owner, type):
        return _in_class(owner, name, path, how)
    if isinstance(owner, ModuleType):
        return _function(inspect.getattr_static(owner, name), path, how)
    return _in_object(owner, name, found, path, how)


def replace_function(function: object, how: How) -> Replaced | None:
    """Have the calls of a function, or of an object that can be called, recorded; None where they are already."""
    if isinstance(function, FunctionType):
        return _redirected(function, how)
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return _redirected(function.__func__, how, IsReceiver(function.__self__), has_receiver=True)
    call = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(call, FunctionType):
        return _redirected(call, how, IsReceiver(function), has_receiver=True)
    if _is_recorded(function):
        return None
    given = cast("Callable[..., object]", function)
    undo, held = replace_in_holders(given, lambda: _unless_ours(given, how.recorded(given)))
    return Replaced(held, undo)


def _step(owner: object, name: str, path: DottedPath, depth: int) -> object:
    try:
        return getattr(owner, name)
    except AttributeError:
        raise missing(path, depth, dir(owner)) from None


def _function(found: object, path: DottedPath, how: How) -> Replaced | None:
    """Record a function of a module, or the one inside what an SDK made of it."""
    if isinstance(found, type):
        raise UsageError(
            f"{path.text} is a class: its calls make objects",
            hint=f"name the method that is called, for example {path.text}.run",
        )
    inside = functions_inside(found, path)
    if inside is not None:
        done = [_redirected(function, how, NotInside(how.shown)) for function in inside]
        undo = [each.undo for each in done if each is not None]
        return Replaced((), undo) if undo else None
    return replace_function(found, how)


def _in_class(owner: type, name: str, path: DottedPath, how: How) -> Replaced | None:
    raw = inspect.getattr_static(owner, name)
    inner = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
    if isinstance(raw, property) or not callable(inner):
        raise UsageError(f"{path.text} is a {type(raw).__name__}, which cannot be called", hint="name a method")
    if _is_recorded(inner):
        return None
    if isinstance(inner, type):
        return _function(inner, path, how)
    is_own = name in vars(owner)
    has_receiver = not isinstance(raw, staticmethod)
    if isinstance(inner, FunctionType) and (is_own or has_receiver):
        return _redirected(inner, how, None if is_own else IsBelow(owner), has_receiver=has_receiver)
    replacement = _unless_ours(inner, how.recorded(cast("Callable[..., object]", raw)))
    try:
        setattr(owner, name, replacement)
    except (AttributeError, TypeError) as error:
        raise UsageError(f"{path.text} cannot be replaced: {error}", hint="record where it is called instead") from None

    def undo() -> None:
        if vars(owner).get(name) is not replacement:
            return
        if is_own:
            setattr(owner, name, raw)
        else:
            delattr(owner, name)

    return Replaced((), [undo])


def _in_object(owner: object, name: str, bound: object, path: DottedPath, how: How) -> Replaced | None:
    if callable(bound) and _is_recorded(inspect.unwrap(bound, stop=_is_recorded)):
        return None
    is_lasting = _is_same(bound, getattr(owner, name))  # else made anew by each look at it: nobody calls this one
    if is_lasting and not _is_written_in_c(bound):
        return _function(bound, path, how)
    return _on_object(owner, name, cast("Callable[..., object]", bound), path, how)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, MethodType) and isinstance(other, MethodType):
        return one.__func__ is other.__func__ and one.__self__ is other.__self__
    return one is other


def _is_written_in_c(function: object) -> bool:
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType | type) or not callable(function):
        return False
    return not isinstance(inspect.getattr_static(type(function), "__call__", None), FunctionType)


def _on_object(owner: object, name: str, bound: Callable[..., object], path: DottedPath, how: How) -> Replaced:
    """Replace what an object gives under a name, where that is not written in Python, or made anew each time."""
    replacement = how.recorded(bound)
    own = getattr(owner, "__dict__", {})
    before, is_own = own.get(name), name in own
    try:
        # Not the object's own `__setattr__`: data classes of pydantic refuse names that are no fields.
        object.__setattr__(owner, name, replacement)
    except (AttributeError, TypeError) as error:
        raise UsageError(
            f"{path.text} cannot be replaced: {error}",
            hint=f"name the method of its class, {type(owner).__module__}.{type(owner).__qualname__}.{name}",
        ) from None

    def undo() -> None:
        if getattr(owner, "__dict__", {}).get(name) is not replacement:
            return
        if is_own:
            object.__setattr__(owner, name, before)
        else:
            object.__delattr__(owner, name)

    return Replaced((), [undo])


def _redirected(
    function: FunctionType, how: How, accepts: Accepts | None = None, *, has_receiver: bool | None = None
) -> Replaced | None:
    """Redirect a function, the copies that were made of it, and what it wraps."""

    def make(untouched: FunctionType) -> Callable[..., object]:
        return how.recorded(untouched, has_receiver=has_receiver)

    if _is_recorded(function):
        return None
    undos = [redirect(each, make, accepts) for each in (*copies_of(function), function)]
    # A decorator may have kept the function that it was given, and given back another that calls it.
    inner = vars(function).get("__wrapped__")
    while isinstance(inner, FunctionType) and not isinstance(accepts, IsReceiver | IsBelow):
        if not _is_recorded(inner):
            undos.append(redirect(inner, make, NotInside(how.shown)))
        inner = vars(inner).get("__wrapped__")
    done = [undo for undo in undos if undo is not None]
    return Replaced((), done) if done else None


def _is_recorded(function: object) -> bool:
    """Whether all calls of a function are recorded: it is one of the recorder's own wrappers, or redirected."""
    inner = getattr(function, "__func__", function)
    if not isinstance(inner, FunctionType):
        return False
    return inner.__code__.co_filename in _RECORDERS or is_redirected(inner)


def _unless_ours(function: Callable[..., object], recorded: Callable[..., object]) -> Callable[..., object]:
    """A function of the standard library, which the recorder uses as well: its own calls are not the program's."""
    module = str(getattr(function, "__module__", "")).partition(".")[0]
    if module not in sys.stdlib_module_names or not isinstance(recorded, FunctionType):
        return recorded

    @functools.wraps(recorded)
    def call(*args: object, **kwargs: object) -> object:
        caller = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001
        return (function if caller.partition(".")[0] == _OURS else recorded)(*args, **kwargs)

    return call
