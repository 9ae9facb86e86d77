"""The digest once more, written from its definition alone and in no hurry."""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import Any

PRIME = 2**127 - 1
BASE = 0x5DEECE66D1234567F4A7C15B9E3779B1


def reference_digest(wire: Any) -> bytes:
    """The 16-byte digest of a wire value."""
    if isinstance(wire, dict):
        return _dict_digest(wire)
    if not isinstance(wire, list):
        return _hash(b"s" + _bytes_of(wire))
    if not any(isinstance(item, dict | list) for item in wire):
        return _hash(b"a" + _bytes_of(wire))
    total = 0
    for index, item in enumerate(wire):
        total += _number(reference_digest(item)) * pow(BASE, len(wire) - 1 - index, PRIME)
    return _hash(b"L" + struct.pack("<Q", len(wire)) + (total % PRIME).to_bytes(16, "little"))


def _dict_digest(wire: dict[str, Any]) -> bytes:
    size = struct.pack("<Q", len(wire))
    if wire.get("$type") == "dict":
        pairs = wire["$v"]
        total = sum(_number(_hash(b"e" + reference_digest(key) + reference_digest(item))) for key, item in pairs)
        return _hash(b"E" + struct.pack("<Q", len(pairs)) + (total % 2**128).to_bytes(16, "little"))
    if len(wire) <= 64 and not any(isinstance(item, dict | list) for item in wire.values()):
        flat = b"".join(b"(" + struct.pack("<I", 2) + _bytes_of(key) + _bytes_of(wire[key]) for key in sorted(wire))
        return _hash(b"o[" + struct.pack("<I", len(wire)) + flat)
    total = sum(_number(_hash(b"p" + reference_digest(item) + key.encode())) for key, item in wire.items())
    return _hash(b"D" + size + (total % 2**128).to_bytes(16, "little"))


def _bytes_of(value: Any) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, int):
        return _int_bytes(value)
    if isinstance(value, float):
        return b"g" + struct.pack("<d", value)
    if isinstance(value, str):
        return b"u" + struct.pack("<I", len(value.encode())) + value.encode()
    return b"[" + struct.pack("<I", len(value)) + b"".join(map(_bytes_of, value))


def _int_bytes(value: int) -> bytes:
    if -(2**31) <= value < 2**31:
        return b"i" + struct.pack("<i", value)
    digits, rest = [], abs(value)
    while rest:
        digits.append(rest % 2**15)
        rest //= 2**15
    count = len(digits) if value > 0 else -len(digits)
    return b"l" + struct.pack("<i", count) + b"".join(struct.pack("<H", digit) for digit in digits)


def _hash(plain: bytes) -> bytes:
    return blake2b(plain, digest_size=16).digest()


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "little")
