"""Replacing one function under every name that loaded modules have for it, and putting it back."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.recording.modules.loaded_modules import changed_modules, namespace_of

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["Rebinding", "Replaced"]

_OWN: Final = "agent_tt"


class Replaced(Protocol):
    """Something of a library that is replaced, and put back."""

    @property
    def place(self) -> tuple[int, str]:
        """What it is; the same for two that replace the same."""

    def apply(self) -> None:
        """Replace it."""

    def undo(self) -> None:
        """Put it back."""


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
        self._names = _NAMES.setdefault(id(original), _Names(original))

    @property
    def place(self) -> tuple[int, str]:
        """What it replaces; the same for two of one function."""
        return id(self._original), ""

    def apply(self) -> None:
        """Put the replacement wherever the original is."""
        names = self._names
        moment, changed = changed_modules(names.searched)
        for name, module in changed:
            names.keep(name, module, _names_of(self._original, name, module))
        names.searched = moment
        names.bind(self._original, self._replacement)

    def undo(self) -> None:
        """Put the original wherever the replacement is."""
        _, changed = changed_modules(self._names.searched)  # which are searched for the original the next time
        for name, module in changed:
            namespace = namespace_of(module)
            for each in _names_of(self._replacement, name, module):
                namespace[each] = self._original
        self._names.bind(self._replacement, self._original)


class _Names:
    """Where a function was found the last time.

    Attributes:
        searched: the moment of the look at the modules since which they are not searched yet.
    """

    def __init__(self, original: object) -> None:
        self.original = original  # kept so that its id stays its own
        self.searched = 0
        self._found: dict[str, tuple[weakref.ref[ModuleType], tuple[str, ...]]] = {}

    def keep(self, name: str, module: ModuleType, names: tuple[str, ...]) -> None:
        """Keep the names that a module has for the function."""
        if names:
            self._found[name] = weakref.ref(module), names
        else:
            self._found.pop(name, None)

    def bind(self, old: object, new: object) -> None:
        """Bind `new` to those of them that are `old`."""
        for name, (reference, names) in list(self._found.items()):
            module = reference()
            if module is None or sys.modules.get(name) is not module:
                continue
            namespace = namespace_of(module)
            for each in names:
                if namespace.get(each) is old:
                    namespace[each] = new


_NAMES: Final[dict[int, _Names]] = {}
"""Of each original, by its id."""


def _names_of(value: object, name: str, module: ModuleType) -> tuple[str, ...]:
    """The names of a module that are `value`; none where the module is ours."""
    if name.startswith(_OWN) and name.partition(".")[0] == _OWN:
        return ()
    return tuple(each for each, held in list(namespace_of(module).items()) if held is value)
