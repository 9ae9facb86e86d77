"""Regular expressions that are compiled when they are first used: where many are imported, few are in most commands."""

from __future__ import annotations

from re import compile as compiled

TYPE_CHECKING = False  # without `typing`, which every import of the package would wait for
if TYPE_CHECKING:
    from re import compile as lazy_re

__all__ = ["lazy_re"]


class _Later:
    """Stands for a pattern, and has its methods as soon as one is asked for."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> object:
        found: object = getattr(compiled(*self._given), name)  # kept by `re` for the next name
        setattr(self, name, found)
        return found


if not TYPE_CHECKING:  # a checker is to know it for what it stands for
    lazy_re = _Later
