"""Replacing a function by one whose calls are recorded, wherever it is found: in modules, classes and objects."""

from __future__ import annotations

import functools
import inspect
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import UsageError
from agent_tt.launching.dotted import missing
from agent_tt.recording import boundary
from agent_tt.recording.tools import mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.launching.dotted import DottedPath
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.model import CallKind

    Undo = Callable[[], None]

__all__ = ["Replaced", "replace_at", "replace_everywhere"]

_OURS: Final = "agent_tt"
_RECORDERS: Final = frozenset({__file__, boundary.__file__, str(Path(boundary.__file__).with_name("streams.py"))})
"""Files whose functions record already."""
_MAKING: Final = frozenset({"__init__", "__new__", "__init_subclass__", "__set_name__", "__del__"})
_TOOL_METHODS: Final = ("call", "invoke", "run")
"""By what SDKs call the objects that they make of functions; a function in their place would not be a tool to them."""


class Replaced:
    """What was replaced by one path.

    Attributes:
        original: the function as it was; None where it was recorded before.
        replacement: what stands in its place.
        is_method: whether it was replaced in one class.
    """

    def __init__(self, original: object, replacement: object, undo: list[Undo], *, is_method: bool = False) -> None:
        self.original = original
        self.replacement = replacement
        self.is_method = is_method
        self._undo = undo

    def undo(self) -> None:
        """Put everything back that is still ours."""
        for step in reversed(self._undo):
            step()
        self._undo.clear()


def replace_at(module: ModuleType, path: DottedPath, effect: OutsideEffect) -> Replaced | None:
    """Replace what `path` leads to from its module; None where its calls are recorded already.

    Raises:
        NotFound: it leads nowhere.
        UsageError: it leads to something that cannot be replaced.
    """
    owner: object = module
    for depth, name in enumerate(path.names[:-1]):
        owner = _step(owner, name, path, depth)
    name = path.names[-1]
    _step(owner, name, path, len(path.names) - 1)
    if name in _MAKING:
        raise UsageError(
            f"{path.text} makes objects, which a recording cannot give back", hint="name the method that is called"
        )
    if name == "__call__" and not isinstance(owner, type | ModuleType):
        owner = type(owner)  # Python looks for it there
    raw = inspect.getattr_static(owner, name)
    if isinstance(owner, type):
        return _in_class(owner, name, raw, path, effect)
    if isinstance(owner, ModuleType):
        return replace_everywhere(_function(raw, path), path.shown, effect)
    return _in_object(owner, name, path, effect)


def replace_everywhere(function: object, shown: str, effect: OutsideEffect) -> Replaced | None:
    """Replace a function under every name by which a loaded module knows it."""
    if _is_recorded(function):
        return None
    replacement = _recorded(cast("Callable[..., object]", function), shown, effect)
    undo: list[Undo] = []
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, ModuleType) else {}
        for name in [name for name, value in list(names.items()) if value is function]:
            _set(module, name, replacement, function, undo)
    return Replaced(function, replacement, undo)


def _step(owner: object, name: str, path: DottedPath, depth: int) -> object:
    try:
        return getattr(owner, name)
    except AttributeError:
        raise missing(path, depth, dir(owner)) from None


def _function(found: object, path: DottedPath) -> Callable[..., object]:
    if isinstance(found, type):
        raise UsageError(
            f"{path.text} is a class: its calls make objects",
            hint=f"name the method that is called, for example {path.text}.run",
        )
    if isinstance(found, ModuleType) or not callable(found):
        raise UsageError(f"{path.text} is a {type(found).__name__}, which nobody calls", hint="name a function")
    method = next((name for name in _TOOL_METHODS if callable(inspect.getattr_static(found, name, None))), None)
    if method is not None:
        raise UsageError(
            f"{path.text} is a {type(found).__name__}, which is more than a function",
            hint=f"name the method that is called: {path.text}.{method}",
        )
    return cast("Callable[..., object]", found)


def _in_class(owner: type, name: str, raw: object, path: DottedPath, effect: OutsideEffect) -> Replaced | None:
    inner = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
    if isinstance(raw, property) or not callable(inner):
        raise UsageError(f"{path.text} is a {type(raw).__name__}, which nobody calls", hint="name a method")
    if _is_recorded(inner):
        return None
    _function(inner, path)
    replacement = _recorded(cast("Callable[..., object]", raw), path.shown, effect)
    is_own = name in vars(owner)
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

    return Replaced(inner, replacement, [undo], is_method=True)


def _in_object(owner: object, name: str, path: DottedPath, effect: OutsideEffect) -> Replaced | None:
    bound = getattr(owner, name)
    if _is_recorded(inspect.unwrap(bound, stop=_is_recorded) if callable(bound) else bound):
        return None
    replacement = _recorded(_function(bound, path), path.shown, effect)
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

    return Replaced(None, replacement, [undo])


def _recorded(function: Callable[..., object], shown: str, effect: OutsideEffect) -> object:
    kind: CallKind = "llm" if effect == "llm" else "tool"
    recorded = mark(function, kind, None if effect == "llm" else effect, name=shown)
    module = str(getattr(function, "__module__", "")).partition(".")[0]
    return _unless_ours(function, recorded) if module in sys.stdlib_module_names else recorded


def _unless_ours(function: Callable[..., object], recorded: Callable[..., object]) -> Callable[..., object]:
    """A function of the standard library, which the recorder uses as well: its own calls are not the program's."""
    if not isinstance(recorded, FunctionType):
        return recorded

    @functools.wraps(recorded)
    def call(*args: object, **kwargs: object) -> object:
        caller = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001
        return (function if caller.partition(".")[0] == _OURS else recorded)(*args, **kwargs)

    return call


def _is_recorded(function: object) -> bool:
    """Whether a function is one of the recorder's own wrappers."""
    inner = getattr(function, "__func__", function)
    return isinstance(inner, FunctionType) and inner.__code__.co_filename in _RECORDERS


def _set(module: ModuleType, name: str, replacement: object, original: object, undo: list[Undo]) -> None:
    setattr(module, name, replacement)

    def put_back() -> None:
        if vars(module).get(name) is replacement:
            setattr(module, name, original)

    undo.append(put_back)
