"""The byte form of wire values that is hashed and compared.

None `N`, True `T`, False `F`, an int in ±2^31 `i` and int32, another int `l`, int32 count of digits (negative for a
negative number) and its digits in base 2^15 as uint16, a float `g` and binary64, a str `u`, uint32 length and UTF-8, a
list `[`, uint32 count and its items; all little-endian. CPython's `marshal`, version 2, produces exactly this at the
speed of C. The bytes are never stored and never read back from a file.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["from_tlv", "tlv"]


def tlv(wire: object) -> bytes:
    """Write a value as bytes. Injective on wire values: types, signs of zero and key order show.

    Raises:
        ValueError: `wire` holds something that is not a wire value and that this form does not have.
    """
    return marshal.dumps(wire, 2)  # type: ignore[arg-type]  # trying any object is meant, see above


def from_tlv(raw: bytes) -> Wire:
    """Read bytes that this process made with `tlv`; never call it with anything else."""
    wire: Wire = marshal.loads(raw)  # noqa: S302  # own bytes, straight from memory
    return wire
