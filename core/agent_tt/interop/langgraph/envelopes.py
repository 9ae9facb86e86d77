"""Values of a LangGraph database as wire values.

A typed value of the standard library becomes the envelope that recording it here would have made; the few classes for
which that happens are listed below and belong to Python itself. Pydantic models, which all messages are, keep their
fields. Everything else that a constructor made is a `made` envelope: it is shown with its class and arguments, and
nothing looks for that class. What the database cannot tell stays untold: an exception is its text, a tuple a list, an
enum member a constructor with one argument, a named tuple and a dataclass both a constructor with keywords.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import pathlib
import re
import uuid
from math import prod
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.encode import encode, is_plain_dict, is_plain_scalar
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import MAX_DEPTH, TYPE, VALUE
from agent_tt.errors import Damaged
from agent_tt.history.payloads.damage import placeholder
from agent_tt.interop.langgraph.decode import Constructor, Extension, Sealed, unpack_extension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["SharedConverter", "is_plainly_constructed", "made", "opaque", "to_wire"]

_SHARED_DEPTH: Final = 8
"""Containers around a typed value up to which it is remembered: how deep it may go on depends on where it lies."""

_CONSTRUCTED: Final = {0: 3, 1: 3, 2: 3, 3: 4, 4: 3, 5: 4}
"""Extension codes that name a class, and how many items they must hold."""

_NUMBER_DTYPE: Final = re.compile(r"[<>|=][biufcmMSUV]\d+(\[[^\]]+\])?")


def to_wire(value: object) -> Wire:
    """The wire value of what `read_value` gave, the caller's own.

    Never raises: what cannot be read is a placeholder at its place.
    """
    return _Converter(0).wire(value, 0)


class SharedConverter:
    """Converts values that share most of their parts, as the checkpoints of one thread do.

    A typed value whose bytes were met before gives the very same wire value again, which also lets a comparison of two
    states pass over it. Never change what it gives.

    Args:
        room: bytes of typed values that are remembered.
    """

    def __init__(self, room: int = 64 * 1024 * 1024) -> None:
        self._converter = _Converter(room)

    def to_wire(self, value: object) -> Wire:
        """Like the function `to_wire`, but shared."""
        return self._converter.wire(value, 0)


def made(class_name: str, arguments: list[Wire], keywords: Mapping[str, Wire], method: str | None = None) -> Wire:
    """The envelope of a value that a constructor, or a method of a class, made."""
    return {TYPE: "made", "class": class_name, "method": method, VALUE: [arguments, dict(keywords)]}


class _Converter:
    """Converts values; remembers typed ones by their bytes as long as there is room."""

    def __init__(self, room: int) -> None:
        self._known: dict[tuple[int, bytes], Wire] = {}
        self._room = room

    def wire(self, value: object, depth: int) -> Wire:
        """The wire value of a part that lies in `depth` containers."""
        if is_plain_scalar(value):
            return value  # it is its own wire value
        if depth >= MAX_DEPTH:
            return opaque("too deep", "", "depth")
        kind = type(value)
        if kind is list or kind is tuple:
            return [self.wire(item, depth + 1) for item in value]  # type: ignore[attr-defined]
        if kind is dict:
            return self._dict(value, depth)  # type: ignore[arg-type]
        if kind is Extension:
            return self._remembered(value, depth)  # type: ignore[arg-type]
        if kind is Constructor:
            return self._json_constructor(value, depth)  # type: ignore[arg-type]
        if kind is Sealed:
            return opaque(f"langgraph:{value.encoding}", f"{value.size} bytes", "sealed")  # type: ignore[attr-defined]
        return encode(value)

    def _dict(self, value: dict[object, object], depth: int) -> Wire:
        if is_plain_dict(value):
            return {str(key): self.wire(item, depth + 1) for key, item in value.items()}
        return self._dict_envelope(value.items(), depth)

    def _json_constructor(self, value: Constructor, depth: int) -> Wire:
        *parts, name = [str(part) for part in value.names]
        module, arguments, only = ".".join(parts), value.arguments, value.arguments[:1]
        if not module and name == "Map" and only and _is_pairs(only[0]):
            return self._dict_envelope(only[0], depth)  # type: ignore[arg-type]  # a list of pairs
        kind = _COLLECTIONS.get((module, name))
        if kind is not None and only and isinstance(only[0], list):
            return _collection(kind, [self.wire(item, depth + 1) for item in only[0]])
        standard = _standard(module, name, arguments if name in _OF_MANY else only[0] if only else None)
        if standard is not None:
            return standard
        return made(
            f"{module}:{name}" if module else name,
            [self.wire(item, depth + 1) for item in arguments],
            {key: self.wire(item, depth + 1) for key, item in value.keywords.items()},
            value.method,
        )

    def _dict_envelope(self, items: Iterable[Iterable[object]], depth: int) -> Wire:
        pairs: list[Wire] = [[self.wire(part, depth + 1) for part in pair] for pair in items]
        return {TYPE: "dict", VALUE: pairs}

    def _remembered(self, extension: Extension, depth: int) -> Wire:
        key = (extension.code, extension.data)
        if key in self._known and depth <= _SHARED_DEPTH:
            return self._known[key]
        try:
            wire = self._extension(extension, depth)
        except Damaged as error:
            return placeholder(error.message)
        if depth <= _SHARED_DEPTH and len(extension.data) <= self._room:
            self._room -= len(extension.data)
            self._known[key] = wire
        return wire

    def _extension(self, extension: Extension, depth: int) -> Wire:
        content = unpack_extension(extension)
        code = extension.code
        if code in _CONSTRUCTED and isinstance(content, list) and len(content) >= _CONSTRUCTED[code]:
            module, name, data = content[:3]
            if isinstance(module, str) and isinstance(name, str):
                return self._constructed(code, module, name, data, content[3] if code == 3 else None, depth)
        if code == 6:  # see the table in `decode`
            return _array(content)
        if code == 7:
            return self.wire(content, depth)
        raise Damaged(f"a typed value with code {code} is not built as LangGraph builds it")

    def _constructed(self, code: int, module: str, name: str, data: object, method: object, depth: int) -> Wire:
        standard = _standard(module, name, data)
        if standard is not None:
            return standard
        class_name = f"{module}:{name}"
        kind = _COLLECTIONS.get((module, name))
        if kind is not None and isinstance(data, list):
            return _collection(kind, [self.wire(item, depth + 1) for item in data])
        if code in (4, 5) and is_plain_dict(data):
            fields = self.wire(data, depth + 1)
            names: list[Wire] = [*sorted(fields)] if isinstance(fields, dict) else []
            return {TYPE: "pydantic", "class": class_name, "set": names, "extra": None, "private": None, VALUE: fields}
        if code == 2 and is_plain_dict(data):
            return made(class_name, [], {str(key): self.wire(item, depth + 1) for key, item in data.items()})
        if code == 1 and isinstance(data, list):
            return made(class_name, [self.wire(item, depth + 1) for item in data], {})
        return made(class_name, [self.wire(data, depth + 1)], {}, str(method) if method is not None else None)


def is_plainly_constructed(code: int, content: object) -> bool:
    """Whether a typed value with this content is its class and arguments as they stand, none of Python's own."""
    if code not in _CONSTRUCTED or not isinstance(content, list) or len(content) < _CONSTRUCTED[code]:
        return False
    module, name = content[:2]
    return isinstance(module, str) and isinstance(name, str) and (module, name) not in _KNOWN


def opaque(class_name: str, shown: str, why: str) -> Wire:
    """The envelope of a value that is not to be had: its class, what is shown in its place, and why."""
    return {TYPE: "opaque", "class": class_name, "repr": shown, "why": why, VALUE: None}


def _collection(name: str, items: list[Wire]) -> Wire:
    if name == "deque":
        return {TYPE: "deque", "maxlen": None, VALUE: items}
    return {TYPE: name, VALUE: sorted(items, key=tlv)}


def _is_pairs(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == len(("key", "value")) for pair in value
    )


def _standard(module: str, name: str, data: object) -> Wire | None:
    """The envelope of a value of Python's own; None for what is none, or was not built as one."""
    known = _KNOWN.get((module, name))
    try:
        built = known(data) if known is not None else None
    except (ValueError, TypeError, ArithmeticError, LookupError):
        built = None
    wire = encode(built) if built is not None else None
    if module == "pathlib" and isinstance(wire, dict):
        wire["flavour"] = name
    return wire


_COLLECTIONS: Final = {
    ("builtins", "set"): "set",
    ("builtins", "frozenset"): "frozenset",
    ("collections", "deque"): "deque",
    ("", "Set"): "set",
}
"""Constructors that take a list of items, with the kind of envelope; one of JavaScript."""

_OF_MANY: Final = frozenset({"timedelta", "PurePosixPath", "PosixPath", "PureWindowsPath", "WindowsPath"})
"""Classes that are built from several arguments."""


# ---------------------------------------------------------------- Python's own classes


def _sequence(data: object) -> list[Any]:  # what does not fit is refused by the class that it is for
    if not isinstance(data, list):
        raise TypeError("not the arguments of a constructor")
    return data


def _date(data: object) -> object:
    return dt.date(*_sequence(data))


def _time(data: object) -> object:
    if not isinstance(data, dict):
        return None
    zone = data.get("tzinfo")
    if zone is not None:
        zone = _fixed_zone(zone)
        if zone is None:
            return None
    return dt.time(data["hour"], data["minute"], data["second"], data["microsecond"], zone, fold=data["fold"])


def _fixed_zone(zone: object) -> dt.timezone | None:
    """`timezone(timedelta(days, seconds, microseconds))`; None for any other zone, whose rules are not in the file."""
    module, name, arguments = _three(zone)
    if (module, name) != ("datetime", "timezone") or not isinstance(arguments, list) or len(arguments) != 1:
        return None
    module, name, parts = _three(arguments[0])
    return dt.timezone(dt.timedelta(*_sequence(parts))) if (module, name) == ("datetime", "timedelta") else None


def _three(value: object) -> tuple[object, object, object]:
    """Module, name and arguments of a typed value."""
    content = unpack_extension(value) if isinstance(value, Extension) else None
    module, name, arguments = _sequence(content)[:3]
    return module, name, arguments


def _timedelta(data: object) -> object:
    return dt.timedelta(*_sequence(data))


def _windows_path(data: object) -> object:
    return pathlib.PureWindowsPath(*_sequence(data))


def _posix_path(data: object) -> object:
    return pathlib.PurePosixPath(*_sequence(data))


_KNOWN: Final[dict[tuple[str, str], Callable[[object], object]]] = {
    ("uuid", "UUID"): lambda data: uuid.UUID(str(data)),
    ("decimal", "Decimal"): lambda data: decimal.Decimal(str(data)),
    ("datetime", "datetime"): lambda data: dt.datetime.fromisoformat(str(data)),
    ("datetime", "date"): _date,
    ("datetime", "time"): _time,
    ("datetime", "timedelta"): _timedelta,
    ("pathlib", "PurePosixPath"): _posix_path,
    ("pathlib", "PosixPath"): _posix_path,
    ("pathlib", "PureWindowsPath"): _windows_path,
    ("pathlib", "WindowsPath"): _windows_path,
}
"""Value classes of the standard library, rebuilt here, by us, from what the database says about them."""


# ---------------------------------------------------------------- numpy


def _array(content: object) -> Wire:
    """An array's envelope: its bytes in C order, as `encode` gives them."""
    if not isinstance(content, list) or len(content) != 4:  # see the table in `decode`
        raise Damaged("an array is not built as LangGraph builds it")
    dtype, shape, order, buffer = content
    if not isinstance(dtype, str) or not isinstance(shape, list) or not isinstance(buffer, bytes):
        raise Damaged("an array is not built as LangGraph builds it")
    if not _NUMBER_DTYPE.fullmatch(dtype) or not all(type(size) is int and size >= 0 for size in shape):
        return opaque("numpy:ndarray", f"dtype {dtype[:40]}, {len(buffer)} bytes", "type")
    count = prod(shape)
    if bool(count) != bool(buffer) or (count and len(buffer) % count):
        raise Damaged(f"an array of {count} items has {len(buffer)} bytes")
    if count and order == "F" and len(shape) > 1:
        buffer = _in_c_order(buffer, shape, len(buffer) // count)
    payload = base64.b64encode(buffer).decode("ascii")
    return {TYPE: "ndarray", "dtype": dtype, "shape": list(shape), VALUE: payload}


def _in_c_order(buffer: bytes, shape: list[int], item_size: int) -> bytes:
    """The items of a column-major array, row by row."""
    offsets = [0]
    stride = item_size
    strides = []
    for size in shape:
        strides.append(stride)
        stride *= size
    for size, step in zip(shape, strides, strict=True):
        offsets = [offset + index * step for offset in offsets for index in range(size)]
    return b"".join(buffer[offset : offset + item_size] for offset in offsets)
