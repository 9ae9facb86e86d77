"""Classes that a recording names, found among those that the program has loaded. Nothing is ever imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["LOADED", "loaded_class"]


def loaded_class(name: str) -> type | None:
    """The class called `module:Qualified.Name`, None where no loaded module has it.

    Only what a module or class itself holds is looked at: a lazy module's `__getattr__` would import, a descriptor
    would run.
    """
    module_name, _, qualname = name.partition(":")
    holder: object = sys.modules.get(module_name)
    for part in qualname.split("."):
        holder = _own(holder).get(part)
    return holder if issubclass(type(holder), type) else None  # type: ignore[return-value]


def _own(holder: object) -> Mapping[str, object]:
    if issubclass(type(holder), type):
        return type.__dict__["__dict__"].__get__(holder)  # type: ignore[no-any-return]
    if issubclass(type(holder), type(sys)):
        return object.__getattribute__(holder, "__dict__")  # type: ignore[no-any-return]
    return {}


class _LoadedClasses(Mapping[str, type]):
    """Every loaded class by `module:Qualified.Name`, for whoever takes a mapping. Listing them is not offered."""

    def __getitem__(self, name: str) -> type:
        found = loaded_class(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


LOADED: Final[Mapping[str, type]] = _LoadedClasses()
"""What `codec.decode` is given as `types` where the agent's own loaded classes may be used."""
