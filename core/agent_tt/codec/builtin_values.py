"""How envelopes of the standard library's and numpy's values are rebuilt. No class has to be offered for these."""

from __future__ import annotations

import base64
import collections
import datetime as dt
import decimal
import math
import pathlib
import struct
import sys
import uuid
from typing import TYPE_CHECKING, Any, Final

from agent_tt._pattern import lazy_re
from agent_tt.codec.parts import MAX_INT_BITS
from agent_tt.codec.refusal import NeedsClass, Refusal

if TYPE_CHECKING:
    from agent_tt.codec.refusal import Rule, Walk
    from agent_tt.codec.wire import Wire

__all__ = ["BUILTIN", "text"]

_HEX_INT: Final = lazy_re(r"-?0x[0-9a-f]+")
_DTYPE: Final = lazy_re(r"[<>|=][biufcmMSUV]\d{1,9}(\[\d*\w{1,8}\])?")
_MOST_DIMENSIONS: Final = 32
_FLAVOURS: Final = {
    kind.__name__: kind
    for kind in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
}


def text(payload: object) -> str:
    """The payload as text; refuses anything else."""
    if type(payload) is not str:
        raise Refusal("its payload is not text")
    return payload


def _bytes(payload: object) -> bytes:
    return base64.b64decode(text(payload), validate=True)


def _int(_envelope: dict[str, Wire], payload: Wire, _walk: Walk) -> int:
    digits = text(payload)
    if len(digits) > MAX_INT_BITS // 4 + 4 or not _HEX_INT.fullmatch(digits):
        raise Refusal("its payload is not a hexadecimal integer of a sensible size")
    return int(digits, 16)


def _float(_envelope: dict[str, Wire], payload: Wire, _walk: Walk) -> float:
    name = text(payload)
    if name in ("nan", "inf", "-inf"):
        return float(name)
    bits = bytes.fromhex(name.removeprefix("nan:"))
    (number,) = struct.unpack(">d", bits)
    if not name.startswith("nan:") or not math.isnan(number):
        raise Refusal("its payload is not a float")
    return float(number)


def _dict(_envelope: dict[str, Wire], payload: Wire, walk: Walk) -> dict[object, object]:
    pairs = walk.pairs(payload)
    try:
        return dict(pairs)
    except TypeError:
        raise NeedsClass("it has keys that cannot be rebuilt") from None


def _set(_envelope: dict[str, Wire], payload: Wire, walk: Walk) -> set[object]:
    items = walk.items(payload)
    try:
        return set(items)
    except TypeError:
        raise NeedsClass("it has elements that cannot be rebuilt") from None


def _frozenset(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> frozenset[object]:
    return frozenset(_set(envelope, payload, walk))


def _range(_envelope: dict[str, Wire], payload: Wire, walk: Walk) -> range:
    start, stop, step = (_whole(item) for item in walk.items(payload))
    return range(start, stop, step)


def _whole(item: object) -> int:
    if type(item) is not int:
        raise Refusal("its payload does not hold integers")
    return item


def _complex(_envelope: dict[str, Wire], payload: Wire, walk: Walk) -> complex:
    real, imaginary = walk.items(payload)
    if type(real) is not float or type(imaginary) is not float:
        raise Refusal("its payload does not hold two floats")
    return complex(real, imaginary)


def _deque(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> collections.deque[object]:
    longest = envelope.get("maxlen")
    return collections.deque(walk.items(payload), None if longest is None else _whole(longest))


def _datetime(envelope: dict[str, Wire], payload: Wire, _walk: Walk) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text(payload))
    return moment.replace(tzinfo=_zone(envelope, moment.tzinfo), fold=_fold(envelope))


def _time(envelope: dict[str, Wire], payload: Wire, _walk: Walk) -> dt.time:
    moment = dt.time.fromisoformat(text(payload))
    return moment.replace(tzinfo=_zone(envelope, moment.tzinfo), fold=_fold(envelope))


def _zone(envelope: dict[str, Wire], written: dt.tzinfo | None) -> dt.tzinfo | None:
    if "zone" not in envelope:
        return written
    import zoneinfo

    return zoneinfo.ZoneInfo(text(envelope["zone"]))


def _fold(envelope: dict[str, Wire]) -> int:
    return _whole(envelope.get("fold", 0))


def _timedelta(_envelope: dict[str, Wire], payload: Wire, walk: Walk) -> dt.timedelta:
    days, seconds, microseconds = (_whole(item) for item in walk.items(payload))
    return dt.timedelta(days, seconds, microseconds)


def _path(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> pathlib.PurePath:
    flavour = _FLAVOURS.get(text(envelope.get("flavour")))
    if flavour is None:
        raise Refusal("its flavour is not one of pathlib's")
    return flavour(text(walk.decode(payload)))


def _numpy() -> Any:  # numpy's own stubs come only with numpy
    module = sys.modules.get("numpy")
    if module is None:
        raise NeedsClass("numpy is not loaded")
    return module


def _array(dtype: Wire, shape: list[int], payload: Wire) -> Any:
    """An array with memory of its own; numpy checks that the bytes are exactly enough."""
    data = bytearray(_bytes(payload))
    name = text(dtype)
    if not _DTYPE.fullmatch(name):
        raise Refusal("its dtype is not one of plain numbers, times or texts")
    numpy = _numpy()
    kind = numpy.dtype(name)
    if len(shape) > _MOST_DIMENSIONS or min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != len(data):
        raise Refusal("its shape does not fit its bytes")
    return numpy.ndarray(tuple(shape), kind, data if data else None)


def _ndarray(envelope: dict[str, Wire], payload: Wire, walk: Walk) -> object:
    shape = [_whole(size) for size in walk.items(envelope.get("shape"))]
    return _array(envelope.get("dtype"), shape, payload)


def _npscalar(envelope: dict[str, Wire], payload: Wire, _walk: Walk) -> object:
    return _array(envelope.get("dtype"), [], payload)[()]


BUILTIN: Final[dict[str, Rule]] = {
    "int": _int,
    "float": _float,
    "str": lambda _envelope, payload, _walk: _bytes(payload).decode("utf-8", "surrogatepass"),
    "dict": _dict,
    "bytes": lambda _envelope, payload, _walk: _bytes(payload),
    "bytearray": lambda _envelope, payload, _walk: bytearray(_bytes(payload)),
    "tuple": lambda _envelope, payload, walk: tuple(walk.items(payload)),
    "set": _set,
    "frozenset": _frozenset,
    "range": _range,
    "complex": _complex,
    "deque": _deque,
    "datetime": _datetime,
    "time": _time,
    "date": lambda _envelope, payload, _walk: dt.date.fromisoformat(text(payload)),
    "timedelta": _timedelta,
    "Decimal": lambda _envelope, payload, _walk: decimal.Decimal(text(payload)),
    "UUID": lambda _envelope, payload, _walk: uuid.UUID(text(payload)),
    "path": _path,
    "ndarray": _ndarray,
    "npscalar": _npscalar,
}
"""By `$type`."""
