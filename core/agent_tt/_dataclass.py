"""The `dataclass` of the standard library, whose methods are compiled when they are first used.

The standard library compiles five functions for a frozen class when its module is imported, which takes longer than all
else of that import. Most classes that a command imports are never made by it, and few are ever compared or shown.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import partial
from reprlib import recursive_repr
from types import MemberDescriptorType

TYPE_CHECKING = False  # without `typing`, which every import of the package would wait for
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass
    from types import FunctionType
    from typing import Any

__all__ = ["dataclass"]

_NO_FIELDS = ("ClassVar", "KW_ONLY")
"""What is in a type that the standard library has to see."""


def _dataclass(
    kind: type[Any] | None = None, /, *, eq: bool = True, frozen: bool = False, slots: bool = False
) -> Callable[[type[Any]], type[Any]] | type[Any]:
    """Make a data class as `dataclasses.dataclass` does.

    Raises:
        TypeError: a field is an `InitVar`, which this does not know.
    """
    make = partial(_made, eq=eq, frozen=frozen, slots=slots)
    return make if kind is None else make(kind)


if not TYPE_CHECKING:  # a checker is to know it for what it stands for
    dataclass = _dataclass


def _made(kind: type[Any], *, eq: bool, frozen: bool, slots: bool) -> type[Any]:
    own = kind.__dict__
    kind.__doc__ = kind.__doc__ or kind.__name__  # where there is none, the standard library looks at the signature
    is_derived = any("__dataclass_params__" in base.__dict__ for base in kind.__mro__[1:])
    # Only of a derived class does the standard library have to know that it is frozen: it compares both.
    made = _with_fields(kind, own.get("__annotations__", {}), frozen=frozen and is_derived, slots=slots)
    methods = {"__init__": _init, "__repr__": _repr}
    if eq:
        methods["__eq__"] = _eq
    if eq and frozen:
        methods["__hash__"] = _hash
    for name, make in methods.items():
        if own.get(name) is None:
            setattr(made, name, _Later(made, name, make))
    whole: dict[str, Callable[..., object] | None] = {}
    if eq and not frozen and own.get("__hash__") is None:
        whole["__hash__"] = None
    if frozen and not is_derived:
        whole |= _refusals(made)
        if slots:
            whole |= {"__getstate__": _getstate, "__setstate__": _setstate}
    for name, method in whole.items():
        setattr(made, name, method)
    params = made.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, True, eq, frozen
    return made


def _with_fields(kind: type[Any], types: dict[str, Any], *, frozen: bool, slots: bool) -> type[Any]:
    """Let the standard library find the fields; it looks for three words in each type that is still text."""
    if any("InitVar" in str(told) for told in types.values()):
        raise TypeError(f"{kind.__qualname__} has an InitVar; make it with the standard library's dataclass")
    kind.__annotations__ = {
        name: told if any(word in str(told) for word in _NO_FIELDS) else object for name, told in types.items()
    }
    made = dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen, slots=slots)(kind)
    made.__annotations__ = types
    for name in types.keys() & made.__dataclass_fields__.keys():
        made.__dataclass_fields__[name].type = types[name]
    return made


class _Later:
    """A method that is compiled when it is first looked up, and takes this place in its class then."""

    __slots__ = ("_kind", "_make", "_name")

    def __init__(self, kind: type[Any], name: str, make: Callable[[type[Any]], FunctionType]) -> None:
        self._kind, self._name, self._make = kind, name, make

    def __get__(self, instance: object, owner: type | None = None) -> object:
        method = self._make(self._kind)
        method.__qualname__ = f"{self._kind.__qualname__}.{self._name}"
        setattr(self._kind, self._name, method)
        return method.__get__(instance, owner)


class _Factory:
    """What stands for a default that is made anew each time."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Factory()


# ---------------------------------------------------------------- the methods, as the standard library makes them


def _compiled(kind: type[Any], head: str, lines: Sequence[str], names: dict[str, object]) -> FunctionType:
    """Compile a method in the module of its class, from its first line and its body; `names` are in its closure."""
    body = "\n".join(f"  {line}" for line in lines)
    found: dict[str, Any] = {}
    text = f"def _make({', '.join(names)}):\n def {head}:\n{body}\n return {head.partition('(')[0]}"
    home = sys.modules.get(kind.__module__)  # it may be gone by now, as at the end of a program
    exec(text, {} if home is None else vars(home), found)  # noqa: S102  the standard library's own way
    method: FunctionType = found["_make"](**names)
    return method


def _init(kind: type[Any]) -> FunctionType:
    is_frozen = kind.__dataclass_params__.frozen
    names: dict[str, object] = {"_set": object.__setattr__, "_missing": _MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines, types = [], {}
    for field in fields(kind):
        default = f"_default_{field.name}"
        value = field.name
        if field.default_factory is not MISSING:
            names[default] = field.default_factory
            made = f"{default}()"
            value = f"{made} if {field.name} is _missing else {field.name}" if field.init else made
        elif field.default is not MISSING:
            names[default] = field.default
            value = field.name if field.init else default
        elif not field.init:
            continue
        if field.init:
            given = "_missing" if field.default_factory is not MISSING else default if default in names else ""
            parameters[field.kw_only is True].append(f"{field.name}={given}" if given else field.name)
            types[field.name] = field.type
        slot = getattr(kind, field.name, None)
        if is_frozen and isinstance(slot, MemberDescriptorType):  # a quarter quicker than to look for it each time
            names[f"_set_{field.name}"] = slot.__set__
            lines.append(f"_set_{field.name}(_self, {value})")
        elif is_frozen:
            lines.append(f"_set(_self, {field.name!r}, {value})")
        else:
            lines.append(f"_self.{field.name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("_self.__post_init__()")
    listed = ["_self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    method = _compiled(kind, f"__init__({', '.join(listed)})", lines or ["pass"], names)
    method.__annotations__ = {**types, "return": None}
    return method


def _repr(kind: type[Any]) -> FunctionType:
    shown = ", ".join(f"{field.name}={{self.{field.name}!r}}" for field in fields(kind) if field.repr)
    line = f"return f'{{self.__class__.__qualname__}}({shown})'"
    made: Any = recursive_repr("...")(_compiled(kind, "__repr__(self)", [line], {}))
    method: FunctionType = made
    return method


def _eq(kind: type[Any]) -> FunctionType:
    compared = [field.name for field in fields(kind) if field.compare]
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {_tuple('self', compared)} == {_tuple('other', compared)}",
        "return NotImplemented",
    ]
    return _compiled(kind, "__eq__(self, other)", lines, {})


def _hash(kind: type[Any]) -> FunctionType:
    names = [field.name for field in fields(kind) if (field.compare if field.hash is None else field.hash)]
    return _compiled(kind, "__hash__(self)", [f"return hash({_tuple('self', names)})"], {})


def _tuple(owner: str, names: Sequence[str]) -> str:
    return f"({''.join(f'{owner}.{name}, ' for name in names)})"


def _refusals(kind: type[Any]) -> dict[str, Callable[..., object]]:
    names = frozenset(field.name for field in fields(kind))

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is kind or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is kind or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _getstate(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in fields(self)]


def _setstate(self: Any, state: Sequence[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
