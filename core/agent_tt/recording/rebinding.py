"""Replacing one function under every name that loaded modules have for it, and putting it back."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Rebinding"]

_OWN: Final = "agent_tt"


class Rebinding:
    """`time.sleep` and every `from time import sleep`, say.

    Modules that load meanwhile import the replacement; they get the original in the end as well. Our own modules keep
    the original throughout.

    A module is searched again only when it has another number of names than when it was searched last. One that bound
    an old name to the function in between keeps what it has, so a replacement must do no harm once it is undone.
    """

    def __init__(self, original: object, replacement: object) -> None:
        self._original = original
        self._replacement = replacement
        self._searches = _searches_of(original)

    @property
    def place(self) -> tuple[int, str]:
        """What it replaces; the same for two of one function."""
        return id(self._original), ""

    def apply(self) -> None:
        """Put the replacement wherever the original is."""
        for module in _modules():
            known = self._searches.get(module)
            namespace = _namespace(module)
            if known is None or known.size != len(namespace):
                known = self._searches[module] = _Search.of(namespace, self._original)
            known.bind(namespace, self._original, self._replacement)

    def undo(self) -> None:
        """Put the original wherever the replacement is."""
        for module in _modules():
            known = self._searches.get(module)
            namespace = _namespace(module)
            if known is None or known.size != len(namespace):
                known = _Search.of(namespace, self._replacement)
            known.bind(namespace, self._replacement, self._original)


@dataclass(frozen=True, slots=True)
class _Search:
    """Which names of a module were found to be a function, when it had so many names."""

    size: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, namespace: dict[str, object], function: object) -> _Search:
        return cls(len(namespace), tuple(name for name, value in list(namespace.items()) if value is function))

    def bind(self, namespace: dict[str, object], old: object, new: object) -> None:
        """Bind `new` to those of the names that are `old`."""
        for name in self.names:
            if namespace.get(name) is old:
                namespace[name] = new


_Searches: TypeAlias = "weakref.WeakKeyDictionary[ModuleType, _Search]"

_SEARCHES: Final[dict[int, tuple[object, _Searches]]] = {}
"""By id of the original, which is kept so that its id stays its own: where it was found the last time.

Modules are thousands in a large program, and each replay goes through them: one that is as it was costs a look.
"""


def _searches_of(original: object) -> _Searches:
    return _SEARCHES.setdefault(id(original), (original, weakref.WeakKeyDictionary()))[1]


def _namespace(module: ModuleType) -> dict[str, object]:
    namespace: dict[str, object] = object.__getattribute__(module, "__dict__")
    return namespace


def _modules() -> Iterator[ModuleType]:
    for name in list(sys.modules):  # not their items: so many new tuples set the garbage collector going
        module = sys.modules.get(name)
        is_own = name.startswith(_OWN) and name.partition(".")[0] == _OWN
        if not is_own and issubclass(type(module), ModuleType):
            yield cast("ModuleType", module)
