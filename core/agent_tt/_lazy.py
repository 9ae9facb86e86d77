"""Names that a package offers and loads when they are first used (PEP 562)."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # without `typing`, which every import of the package would wait for
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["lazily"]


def lazily(
    package: str, homes: Mapping[str, str], companions: Mapping[str, Sequence[str]] | None = None
) -> Callable[[str], object]:
    """Make a package's `__getattr__`.

    Args:
        package: the package's `__name__`.
        homes: for each name that it offers, the module that has it.
        companions: for a name, other modules that must be loaded with it.
    """

    def load(name: str) -> object:
        from importlib import import_module

        home = homes.get(name)
        if home is None:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        for companion in () if companions is None else companions.get(name, ()):
            import_module(companion)
        value: object = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
