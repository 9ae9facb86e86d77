"""Our wire values in the language-neutral encoding of the reference databases' `expected.json`.

What the database cannot tell is not compared: whether a constructor with keywords made a dataclass or a named tuple,
and whether one with an argument made an enum member. `neutral` makes one word of those in an expected value.
"""

from __future__ import annotations

import base64
import struct
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

_TYPED = ("__dataclass__", "__namedtuple__", "__enum__", "__obj__")
_ARRAY_FORMATS = {"<f8": "d", "<i4": "i", "|b1": "?", "|u1": "B"}


def encoded(wire: Wire) -> Any:
    """A wire value in that encoding."""
    if isinstance(wire, list):
        return [encoded(item) for item in wire]
    if type(wire) is int:
        return wire if abs(wire) < 2**53 else {"__int__": str(wire)}
    if not isinstance(wire, dict):
        return wire
    if "$type" not in wire:
        return {key: encoded(item) for key, item in wire.items()}
    kind: Any = wire["$type"]
    return _ENVELOPES[kind](wire, wire["$v"])


def neutral(expected: Any) -> Any:
    """An expected value without the differences that the database does not keep."""
    if isinstance(expected, list):
        return [neutral(item) for item in expected]
    if not isinstance(expected, dict):
        return expected
    for word in _TYPED:
        if word in expected:
            return {"__made__": expected[word], "value": neutral(expected["value"])}
    return {key: neutral(item) for key, item in expected.items()}


def _standard(name: str) -> Any:
    return lambda _wire, payload: {"__made__": name, "value": encoded(payload)}


def _made(wire: Any, payload: Any) -> Any:
    arguments, keywords = payload
    name = wire["class"].replace(":", ".")
    if name == "re.compile":
        return {"__made__": "re.Pattern", "value": encoded(arguments)}
    if name == "langgraph.types.Interrupt":
        return {"__interrupt__": encoded(keywords)}
    return {"__made__": name, "value": encoded(keywords or arguments[0])}


def _ndarray(wire: Any, payload: str) -> Any:
    raw, shape = base64.b64decode(payload), wire["shape"]
    if wire["dtype"].startswith("<U"):
        size = int(wire["dtype"][2:]) * 4
        flat: list[Any] = [raw[at : at + size].decode("utf-32-le").rstrip("\0") for at in range(0, len(raw), size)]
    else:
        flat = [value for (value,) in struct.iter_unpack("<" + _ARRAY_FORMATS[wire["dtype"]], raw)]
    items = iter(flat)

    def nested(sizes: list[int]) -> Any:
        return next(items) if not sizes else [nested(sizes[1:]) for _ in range(sizes[0])]

    values = nested(shape)
    assert not list(islice(items, 1))
    return {"__ndarray__": {"dtype": wire["dtype"], "shape": shape, "values": values}}


_ENVELOPES: dict[str, Any] = {
    "int": lambda _wire, payload: {"__int__": str(int(payload, 16))},
    "float": lambda _wire, payload: {"__float__": payload},
    "dict": lambda _wire, payload: {"__map__": [[encoded(key), encoded(item)] for key, item in payload]},
    "bytes": lambda _wire, payload: {"__bytes_b64__": payload, "type": "bytes"},
    "bytearray": lambda _wire, payload: {"__bytes_b64__": payload, "type": "bytearray"},
    "pydantic": lambda wire, payload: {"__pydantic__": wire["class"].replace(":", "."), "value": encoded(payload)},
    "made": _made,
    "ndarray": _ndarray,
    "set": _standard("builtins.set"),
    "frozenset": _standard("builtins.frozenset"),
    "deque": _standard("collections.deque"),
    "datetime": _standard("datetime.datetime"),
    "date": _standard("datetime.date"),
    "time": _standard("datetime.time"),
    "timedelta": _standard("datetime.timedelta"),
    "Decimal": _standard("decimal.Decimal"),
    "UUID": _standard("uuid.UUID"),
    "path": lambda wire, payload: {"__made__": f"pathlib.{wire['flavour']}", "value": payload},
}
