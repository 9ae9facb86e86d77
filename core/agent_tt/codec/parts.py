"""How Python objects that JSON cannot say come apart into an envelope's header and payload.

Each rule names what it needs to be rebuilt exactly; an object that no rule covers is opaque. Nothing of the object is
called but what reading its content takes.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import math
import pathlib
import struct
import types
import uuid
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.looking import seen
from agent_tt.codec.tracked import TRACKED, TrackedDict
from agent_tt.codec.wire import is_int64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["MAX_INT_BITS", "NUMPY_KINDS", "Parts", "class_name", "take_apart"]

MAX_INT_BITS: Final = 1 << 22
"""Larger integers are opaque: reading one back must not become a way to keep a reader busy."""

NUMPY_KINDS: Final = frozenset("biufcmMSUV")
"""Kinds of numpy data whose bytes are the value; the others hold references."""

_QUIET_NAN: Final = "7ff8000000000000"


@dataclass(frozen=True, slots=True)
class Parts:
    """An object taken apart.

    Attributes:
        kind: the envelope's `$type`.
        payload: what goes into `$v`: Python values, not yet encoded.
        header: the envelope's other entries, not yet encoded.
    """

    kind: str
    payload: object
    header: Mapping[str, object] = dataclasses.field(default_factory=dict)


def take_apart(value: object) -> Parts | None:
    """The parts of an object; None if it can only be shown.

    Raises:
        Exception: whatever the object's own attributes raise.
    """
    kind = type(value)
    exact = _EXACT.get(kind)
    if exact is not None:
        return exact(value)
    for base, rule in _BY_BASE:
        if issubclass(kind, base):
            return rule(value)
    if dataclasses.is_dataclass(kind):
        return _data_class(value, dataclasses.fields(kind))
    if hasattr(kind, "__attrs_attrs__"):  # a hash that it keeps would be a wrong one in another process
        return None if hasattr(value, "_attrs_cached_hash") else _data_class(value, kind.__attrs_attrs__)
    if hasattr(kind, "__pydantic_fields__"):
        return _pydantic(value)
    if kind.__module__ == "numpy":
        return _numpy(value)
    for plain in (dict, list, str, int, float):
        if issubclass(kind, plain):
            return _subclass(value, plain)
    return None


def class_name(kind: type) -> str:
    """`module:Qualified.Name`, the form in which envelopes name classes; never raises, whatever a metaclass does."""
    passes = any(kind is tracked for tracked in TRACKED)  # those pass for what they stand for
    shown = kind.__mro__[1] if passes else kind
    return seen(lambda: f"{shown.__module__}:{shown.__qualname__}", "unknown")


# ---------------------------------------------------------------- exact types


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _int(value: int) -> Parts | None:
    return Parts("int", hex(value)) if value.bit_length() <= MAX_INT_BITS else None


def _float(value: float) -> Parts:
    if math.isinf(value):
        return Parts("float", "inf" if value > 0 else "-inf")
    bits = struct.pack(">d", value).hex()
    return Parts("float", "nan" if bits == _QUIET_NAN else f"nan:{bits}")


def _moment(value: dt.datetime | dt.time) -> Parts | None:
    header: dict[str, object] = {}
    zone = value.tzinfo
    if zone is not None and not _is_plain_offset(zone):
        import zoneinfo

        if type(zone) is not zoneinfo.ZoneInfo or not zone.key:
            return None
        header["zone"] = zone.key
    if value.fold:
        header["fold"] = 1
    text = value.replace(tzinfo=None) if "zone" in header else value
    return Parts(type(value).__name__, text.isoformat(), header)


def _is_plain_offset(zone: dt.tzinfo) -> bool:
    """Whether ISO text says all of a zone: an offset without a name, in whole seconds (finer ones CPython misreads)."""
    if type(zone) is not dt.timezone:
        return False
    offset = zone.utcoffset(None)
    return not offset.microseconds and zone.tzname(None) == dt.timezone(offset).tzname(None)


_EXACT: Final[dict[type, Callable[..., Parts | None]]] = {
    int: _int,
    float: _float,
    str: lambda v: Parts("str", _base64(v.encode("utf-8", "surrogatepass"))),
    **{kind: lambda v: Parts("dict", [[key, item] for key, item in list(v.items())]) for kind in (dict, TrackedDict)},
    bytes: lambda v: Parts("bytes", _base64(v)),
    bytearray: lambda v: Parts("bytearray", _base64(v)),
    tuple: lambda v: Parts("tuple", list(v)),
    set: lambda v: Parts("set", list(v)),
    frozenset: lambda v: Parts("frozenset", list(v)),
    collections.deque: lambda v: Parts("deque", list(v), {"maxlen": v.maxlen}),
    range: lambda v: Parts("range", [v.start, v.stop, v.step]),
    complex: lambda v: Parts("complex", [v.real, v.imag]),
    dt.datetime: _moment,
    dt.time: _moment,
    dt.date: lambda v: Parts("date", v.isoformat()),
    dt.timedelta: lambda v: Parts("timedelta", [v.days, v.seconds, v.microseconds]),
    decimal.Decimal: lambda v: Parts("Decimal", str(v)),
    uuid.UUID: lambda v: Parts("UUID", str(v)),
    **{
        flavour: lambda v: Parts("path", str(v), {"flavour": type(v).__name__})
        for flavour in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
    },
}


# ---------------------------------------------------------------- by base class


def _enum(value: enum.Enum) -> Parts:
    return Parts("enum", value.value, {"class": class_name(type(value)), "name": value.name})


def _exception(value: BaseException) -> Parts:
    attributes = dict(vars(value))
    if isinstance(value, OSError):
        # OSError keeps these two outside `args` and `__dict__`.
        given = {"filename": value.filename, "filename2": value.filename2}
        attributes |= {name: path for name, path in given.items() if path is not None}
    payload = {"args": list(value.args), "attrs": attributes}
    return Parts("exception", payload, {"class": class_name(type(value))})


def _named_tuple(value: tuple[object, ...]) -> Parts | None:
    names = getattr(type(value), "_fields", None)
    if names is None or len(names) != len(value):
        return None
    payload = dict(zip(names, value, strict=True))
    return Parts("namedtuple", payload, {"class": class_name(type(value))})


_BY_BASE: Final[tuple[tuple[type, Callable[..., Parts | None]], ...]] = (
    (enum.Enum, _enum),
    (BaseException, _exception),
    (tuple, _named_tuple),
)


# ---------------------------------------------------------------- by what they offer


def _data_class(value: object, fields: Iterable[Any]) -> Parts:
    """An object of a data class, the standard library's or one of attrs: its `__dict__`, then fields in slots."""
    kind = type(value)
    own: dict[str, object] = dict(getattr(value, "__dict__", {}))
    for name in (field.name for field in fields):
        in_slot = isinstance(getattr(kind, name, None), types.MemberDescriptorType)
        if name not in own and in_slot and hasattr(value, name):
            own[name] = getattr(value, name)
    return Parts("dataclass", own, {"class": class_name(kind)})


def _pydantic(value: object) -> Parts:
    header = {
        "class": class_name(type(value)),
        "set": sorted(getattr(value, "__pydantic_fields_set__")),  # noqa: B009  # names with underscores are mangled
        "extra": getattr(value, "__pydantic_extra__"),  # noqa: B009
        "private": getattr(value, "__pydantic_private__"),  # noqa: B009
    }
    return Parts("pydantic", dict(vars(value)), header)


def _numpy(value: object) -> Parts | None:
    dtype = getattr(value, "dtype", None)
    to_bytes = getattr(value, "tobytes", None)
    if dtype is None or to_bytes is None or dtype.kind not in NUMPY_KINDS or dtype.names is not None:
        return None
    if dtype.hasobject or dtype.subdtype is not None:
        return None
    payload = _base64(to_bytes() if dtype.itemsize else b"")  # an empty numpy str says that it has four bytes
    if type(value).__name__ == "ndarray":
        return Parts("ndarray", payload, {"dtype": dtype.str, "shape": list(getattr(value, "shape", ()))})
    return Parts("npscalar", payload, {"dtype": dtype.str})


def _subclass(value: object, base: type) -> Parts | None:
    """A subclass of a plain type, with its content, its own attributes and, for a defaultdict, its factory."""
    header: dict[str, object] = {"class": class_name(type(value)), "base": base.__name__}
    if isinstance(value, collections.defaultdict) and value.default_factory is not None:
        if not isinstance(value.default_factory, type):
            return None
        header["factory"] = class_name(value.default_factory)
    attributes = getattr(value, "__dict__", None)
    if attributes:
        header["attrs"] = dict(attributes)
    if isinstance(value, dict):
        return Parts("sub", [[key, item] for key, item in list(dict.items(value))], header)
    if isinstance(value, int):
        number = int.__int__(value)
        return Parts("sub", number, header) if is_int64(number) or _int(number) else None
    return Parts("sub", _PLAIN_COPY[base](value), header)


_PLAIN_COPY: Final[dict[type, Callable[..., object]]] = {
    list: lambda v: list.__getitem__(v, slice(None)),
    str: str.__str__,
    float: float.__float__,
}
