"""Stand-ins for modules and classes, as unlike the originals as need be and no more."""

from __future__ import annotations

import functools
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["StandInModule", "StandInType", "all_like", "dress"]


class StandInModule(ModuleType):
    """A module with some names replaced. Everything else is looked up in the original when it is asked for."""

    def __init__(self, original: ModuleType, replaced: Mapping[str, object]) -> None:
        super().__init__(original.__name__, original.__doc__)
        vars(self).update(replaced)
        vars(self)["__spec__"] = original.__spec__
        vars(self)["_agent_tt_original"] = original

    def __getattr__(self, name: str) -> object:
        return getattr(vars(self)["_agent_tt_original"], name)

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_agent_tt_original"])

    def __repr__(self) -> str:
        return repr(vars(self)["_agent_tt_original"])


class StandInType(type):
    """The type of a class that stands for another one: equal to it, and with the same instances.

    `type(x) is datetime` is the one thing that stays False, because values are the original's own.
    """

    _original: type

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls._original) if "_original" in vars(cls) else super().__instancecheck__(value)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls._original) if "_original" in vars(cls) else super().__subclasscheck__(kind)

    def __eq__(cls, other: object) -> bool:
        return other is cls or ("_original" in vars(cls) and other is cls._original)

    def __hash__(cls) -> int:
        return hash(vars(cls).get("_original", cls.__name__))

    def __repr__(cls) -> str:
        return repr(vars(cls)["_original"]) if "_original" in vars(cls) else super().__repr__()


def dress(kind: type, original: type) -> None:
    """Give a stand-in the names of what it stands for."""
    dressed: Any = kind
    dressed._original = original  # noqa: SLF001  ours
    dressed.__name__, dressed.__qualname__ = original.__name__, original.__qualname__
    dressed.__module__, dressed.__doc__ = original.__module__, original.__doc__


class _Unbound:
    """A function that stays itself as an attribute of a class, as those written in C and bound methods do."""

    def __init__(self, function: Callable[..., object]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self._function)


def all_like(module: ModuleType, replaced: Mapping[str, object]) -> dict[str, object]:
    """Replacements by name, each of the nature of its original: `class Agent: clock = time.time` takes no `self`."""
    return {
        name: _Unbound(value)
        if isinstance(value, FunctionType) and not isinstance(getattr(module, name), FunctionType)
        else value
        for name, value in replaced.items()
    }
