"""How each type of envelope shows on one line."""

from __future__ import annotations

import base64
import datetime as dt
import struct
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agent_tt.codec.wire import TYPE, VALUE, envelope_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agent_tt.codec.wire import Wire

__all__ = ["Part", "dtype_name", "half_pairs", "simple_name", "typed_pieces"]

_NUMPY_NAMES: Final = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool", "U": "str", "S": "bytes"}
_STRUCT_CODES: Final = {
    "f4": "f",
    "f8": "d",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
}
_MOST_HEX: Final = 64
"""Hex digits up to which a large integer is shown in decimal: the conversion is quadratic."""


class Part(NamedTuple):
    """A value inside the shown one, to be shown in its place."""

    wire: Wire


Piece: TypeAlias = "str | Part"


def simple_name(envelope: dict[str, Wire]) -> str:
    """The class that an envelope names, without its module; at most 40 characters that print."""
    name = str(envelope.get("class", envelope.get(TYPE)))[-200:].rpartition(":")[2].rpartition(".")[2][:40]
    return name if name.isprintable() else "?"


def dtype_name(envelope: dict[str, Wire]) -> str:
    """`float32` and the like."""
    dtype = str(envelope.get("dtype"))[:40]
    kind, digits = dtype[1:2], dtype[2:]
    if kind in "fiuc" and digits.isdecimal() and kind in _NUMPY_NAMES:
        return f"{_NUMPY_NAMES[kind]}{int(digits) * 8}"
    return _NUMPY_NAMES.get(kind, dtype if dtype.isprintable() else "?")


def half_pairs(envelope: dict[str, Wire]) -> str:
    """Decode a text that is kept as base64 because UTF-8 cannot hold its lone surrogates; give "" if it is damaged."""
    try:
        return base64.b64decode(str(envelope.get(VALUE))).decode("utf-8", "surrogatepass")
    except ValueError:
        return ""


def typed_pieces(envelope: dict[str, Wire], limit: int) -> Iterator[Piece]:
    """The pieces of an envelope's line; an envelope that is not well formed shows as the object that it is.

    Args:
        envelope: the envelope; parts of it are given back unread.
        limit: characters that will be shown: what is surely beyond them is not looked at.
    """
    rule = _RULES.get(envelope_type(envelope) or "", _raw)
    try:
        pieces = list(rule(envelope, envelope.get(VALUE), limit))
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError, struct.error):
        pieces = list(_raw(envelope, None, limit))
    yield from pieces


def _joined(items: Iterable[Iterable[Piece]], limit: int, opening: str, closing: str) -> Iterator[Piece]:
    """Pieces in brackets, with commas; no more of them than could be shown."""
    yield opening
    for index, item in enumerate(items):
        if index > limit:
            break
        if index:
            yield ", "
        yield from item
    yield closing


def _list(payload: Wire, limit: int, opening: str, closing: str) -> Iterator[Piece]:
    if not isinstance(payload, list):
        raise TypeError("no list")
    return _joined(([Part(item)] for item in payload), limit, opening, closing)


def _fields(payload: Wire, limit: int, opening: str) -> Iterator[Piece]:
    if not isinstance(payload, dict):
        raise TypeError("no fields")
    return _joined((_entry(f"{name[: limit + 1]}=", item) for name, item in payload.items()), limit, opening, ")")


def _entry(label: str, item: Wire) -> list[Piece]:
    return [label, Part(item)]


def _pairs(payload: Wire, limit: int, opening: str, closing: str) -> Iterator[Piece]:
    if not isinstance(payload, list):
        raise TypeError("no pairs")
    return _joined((_pair(pair) for pair in payload), limit, opening, closing)


def _pair(pair: Wire) -> list[Piece]:
    if not isinstance(pair, list):
        raise TypeError("no pair")
    return [Part(pair[0]), ": ", Part(pair[1])]


def _raw(envelope: dict[str, Wire], _payload: Wire, limit: int) -> Iterator[Piece]:
    entries = (_entry(f"{key[: limit + 1]}: ", item) for key, item in envelope.items() if key != TYPE)
    kind = envelope.get(TYPE)
    return _joined(entries, limit, f"<{kind[:40] if isinstance(kind, str) else 'unknown'} ", ">")


def _int(_envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    digits = str(payload)[: limit + 3]
    return [str(int(digits, 16)) if len(digits) < min(_MOST_HEX, limit + 3) else digits]


def _some_bytes(payload: Wire, limit: int) -> bytes:
    if not isinstance(payload, str):
        raise TypeError("no base64")
    return base64.b64decode(payload[: (limit // 3 + 1) * 4])


def _str(_envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    text = _some_bytes(payload, 4 * limit).decode("utf-8", "surrogatepass" if len(str(payload)) <= limit else "replace")
    return [Part(text)]


def _tuple(_envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    return _list(payload, limit, "(", ",)" if isinstance(payload, list) and len(payload) == 1 else ")")


def _set(_envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    return _list(payload, limit, "{", "}") if payload else ["set()"]


def _moment(envelope: dict[str, Wire], payload: Wire, _limit: int) -> Iterable[Piece]:
    return [str(payload), f" {envelope['zone']}" if "zone" in envelope else ""]


def _timedelta(_envelope: dict[str, Wire], payload: Wire, _limit: int) -> Iterable[Piece]:
    parts = [part for part in payload if type(part) is int] if isinstance(payload, list) else []
    return [str(dt.timedelta(parts[0], parts[1], parts[2]))]


def _sub(envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    name = simple_name(envelope)
    if envelope.get("base") == "dict":
        return _pairs(payload, limit, f"{name}({{", "})")
    return [f"{name}(", Part(payload), ")"]


def _made(envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    if not isinstance(payload, list):
        raise TypeError("no arguments")
    positional, named = payload
    if not isinstance(positional, list) or not isinstance(named, dict):
        raise TypeError("no arguments")
    method = envelope.get("method")
    call = f"{simple_name(envelope)}{f'.{method[:40]}' if isinstance(method, str) else ''}("
    entries = (_entry(f"{name[: limit + 1]}=", item) for name, item in named.items())
    return _joined(chain(([Part(item)] for item in positional), entries), limit, call, ")")


def _exception(envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    return _list(payload["args"] if isinstance(payload, dict) else None, limit, f"{simple_name(envelope)}(", ")")


def _opaque(envelope: dict[str, Wire], _payload: Wire, _limit: int) -> Iterable[Piece]:
    shown = str(envelope.get("repr", "opaque"))
    return [shown if shown.startswith("<") else f"<{shown}>"]


def _complex(_envelope: dict[str, Wire], payload: Wire, _limit: int) -> Iterable[Piece]:
    if not isinstance(payload, list):
        raise TypeError("no parts")
    return ["(", Part(payload[0]), " + ", Part(payload[1]), "j)"]


def _npscalar(envelope: dict[str, Wire], payload: Wire, limit: int) -> Iterable[Piece]:
    dtype = str(envelope.get("dtype"))
    code = _STRUCT_CODES[dtype[1:]]
    order = dtype[0].replace("|", "<")
    return [f"{dtype_name(envelope)}({struct.unpack(order + code, _some_bytes(payload, limit + 24))[0]})"]


def _ndarray(envelope: dict[str, Wire], _payload: Wire, _limit: int) -> Iterable[Piece]:
    shape = envelope["shape"]
    if not isinstance(shape, list):
        raise TypeError("no shape")
    return [f"<ndarray {'×'.join(map(str, shape[:32]))} {dtype_name(envelope)}>"]


_RULES: Final[dict[str, Callable[[dict[str, Wire], Wire, int], Iterable[Piece]]]] = {
    "int": _int,
    "float": lambda _e, payload, _n: [str(payload)[:4].rstrip(":")],
    "str": _str,
    "dict": lambda _e, payload, n: _pairs(payload, n, "{", "}"),
    "bytes": lambda _e, payload, n: [_bytes_text(_some_bytes(payload, 3 * n))],
    "bytearray": lambda _e, payload, n: [f"bytearray({_bytes_text(_some_bytes(payload, 3 * n))})"],
    "tuple": _tuple,
    "set": _set,
    "frozenset": lambda _e, payload, n: _list(payload, n, "frozenset({", "})"),
    "deque": lambda _e, payload, n: _list(payload, n, "deque([", "])"),
    "range": lambda _e, payload, n: _list(payload, n, "range(", ")"),
    "complex": _complex,
    "datetime": _moment,
    "time": _moment,
    "date": _moment,
    "timedelta": _timedelta,
    "Decimal": lambda _e, payload, _n: ["Decimal(", Part(payload), ")"],
    "UUID": lambda _e, payload, _n: ["UUID(", Part(payload), ")"],
    "path": lambda e, payload, _n: [f"{e['flavour']}(", Part(payload), ")"],
    "enum": lambda e, _p, _n: [f"{simple_name(e)}.{e['name']}"],
    "namedtuple": lambda e, payload, n: _fields(payload, n, f"{simple_name(e)}("),
    "dataclass": lambda e, payload, n: _fields(payload, n, f"{simple_name(e)}("),
    "pydantic": lambda e, payload, n: _fields(payload, n, f"{simple_name(e)}("),
    "made": _made,
    "exception": _exception,
    "npscalar": _npscalar,
    "ndarray": _ndarray,
    "sub": _sub,
    "opaque": _opaque,
}


def _bytes_text(value: bytes) -> str:
    """Like `repr`, but always in double quotes."""
    inside = repr(value + b'"')[2:-2]  # the added quote makes repr choose single quotes
    escaped = inside.replace("\\'", "'").replace('"', '\\"')
    return f'b"{escaped}"'
