"""Replacing one function under every name that loaded modules have for it, and putting it back."""

from __future__ import annotations

import sys
import weakref
from types import ModuleType
from typing import Final, NamedTuple

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
        # By id of the original, which is kept so that its id stays its own.
        self._found = _FOUND.setdefault(id(original), (original, {}))[1]

    @property
    def place(self) -> tuple[int, str]:
        """What it replaces; the same for two of one function."""
        return id(self._original), ""

    def apply(self) -> None:
        """Put the replacement wherever the original is."""
        self._bind(self._original, self._replacement, remembers=True)

    def undo(self) -> None:
        """Put the original wherever the replacement is."""
        self._bind(self._replacement, self._original, remembers=False)

    def _bind(self, old: object, new: object, *, remembers: bool) -> None:
        """Bind `new` to every name that is `old`.

        Modules are thousands in a large program, and each replay goes through them several times: one that is as it
        was costs a look at its number of names.
        """
        found = self._found
        for name, module in sys.modules.copy().items():
            known = found.get(name)
            if known is None or known.module() is not module:
                if not _is_searched(name, module):
                    continue
                known = None
            namespace: dict[str, object] = object.__getattribute__(module, "__dict__")
            if known is None or known.size != len(namespace):
                names = tuple(each for each, value in list(namespace.items()) if value is old)
                known = _Found(weakref.ref(module), len(namespace), names)
                if remembers:
                    found[name] = known
            for each in known.names:
                if namespace.get(each) is old:
                    namespace[each] = new


class _Found(NamedTuple):
    """Which names of a module were found to be a function, when it had so many names."""

    module: weakref.ref[ModuleType]
    size: int
    names: tuple[str, ...]


_FOUND: Final[dict[int, tuple[object, dict[str, _Found]]]] = {}
"""Where each original was found the last time, by the name of the module."""


def _is_searched(name: str, module: object) -> bool:
    is_own = name.startswith(_OWN) and name.partition(".")[0] == _OWN
    return not is_own and issubclass(type(module), ModuleType)
