"""What a wire value is, and how an envelope is told from plain data.

A wire value is JSON with two promises: integers fit in 64 bits and floats are finite; and strings hold no lone
surrogates. Every other Python value travels in an *envelope*, an object with the key `$type` whose payload is its last
key, `$v`. A user's own dict that has one of these two keys is enveloped as well, so a `$v` in a path is never data.
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeGuard

__all__ = [
    "MAX_DEPTH", "TYPE", "VALUE", "Encoded", "Path", "Scalar", "Wire", "envelope_type", "is_envelope", "is_int64"
]  # fmt: skip

Wire: TypeAlias = "bool | int | float | str | list[Wire] | dict[str, Wire] | None"

Scalar: TypeAlias = "bool | int | float | str | None"
"""A wire value that holds no others."""

Path: TypeAlias = "tuple[str | int, ...]"
"""A place in a wire value: dict keys and list positions (from 0, never negative). `()` is the whole value."""

TYPE: Final = "$type"
VALUE: Final = "$v"

MAX_DEPTH: Final = 200
"""Containers inside each other, envelopes included; what lies deeper is recorded as opaque. (orjson stops at 254.)"""


class Encoded:
    """A wire value in the place of a Python value: encoding it gives it as it is. It never changes.

    Attributes:
        wire: the wire value.
    """

    __slots__ = ("wire",)

    def __init__(self, wire: Wire) -> None:
        self.wire = wire


def is_envelope(wire: Wire) -> TypeGuard[dict[str, Wire]]:
    """Whether `wire` stands for something that JSON cannot say."""
    return type(wire) is dict and TYPE in wire


def envelope_type(wire: Wire) -> str | None:
    """The `$type` of an envelope; None for plain data and for an envelope whose `$type` is not text."""
    kind = wire.get(TYPE) if type(wire) is dict else None
    return kind if type(kind) is str else None


def is_int64(number: int) -> bool:
    """Whether an integer travels as it is; others need an `int` envelope."""
    return -(1 << 63) <= number < 1 << 63
