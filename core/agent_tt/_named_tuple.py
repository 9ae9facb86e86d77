"""The `NamedTuple` of `typing`, which leaves the types of fields as they are written.

`typing` compiles each of them as an expression of its own, which takes longer than all else that makes the class.
"""

from __future__ import annotations

import collections

TYPE_CHECKING = False  # without `typing`, which every import of the package would wait for
if TYPE_CHECKING:
    from typing import Any, NamedTuple

__all__ = ["NamedTuple"]


class _Made(type):
    """Makes a class of named tuples out of one that is derived from `NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], own: dict[str, Any]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, own)
        fields = own.pop("__annotations__", {})
        defaults = [own.pop(field) for field in list(fields) if field in own]
        make: Any = collections.namedtuple  # noqa: PYI024  `typing` makes its own of it, too
        made: type = make(name, fields, defaults=defaults, module=own["__module__"])
        made.__annotations__ = fields
        for key, value in own.items():
            setattr(made, key, value)
        return made


if not TYPE_CHECKING:  # a checker is to know it for what it stands for

    class NamedTuple(metaclass=_Made):
        """What a class of named tuples is derived from."""
