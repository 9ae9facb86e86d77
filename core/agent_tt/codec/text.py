"""Wire values as text for people: a type's short name, one line, or all of it.

Typed values show as what they are: a datetime as its ISO text, bytes as `b"..."`, a tuple in parentheses. No text holds
control characters or others that do not print, whatever an agent recorded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt._pattern import lazy_re
from agent_tt.codec.typed_text import dtype_name, half_pairs, simple_name, typed_pieces
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire

__all__ = ["describe", "pretty", "printable", "summary"]

_SIZED: Final = frozenset({"deque", "dict", "frozenset", "set", "tuple"})
_OF_A_CLASS: Final = frozenset({"dataclass", "enum", "exception", "made", "namedtuple", "pydantic", "sub"})
_HALF_PAIRS: Final = '"$type": "str"'
"""The beginning of the envelope of a text with lone surrogates, in the indented JSON of `pretty`."""

_UNUSUAL: Final = lazy_re(r"[^\n -~]")


def describe(wire: Wire) -> str:
    """Name a value's type in short, with its size where it has one: `str 24`, `dict 3`, `tuple 2`, `Decimal`."""
    if wire is None:
        return "null"
    if not is_envelope(wire):
        return f"{type(wire).__name__} {len(wire)}" if isinstance(wire, str | list | dict) else type(wire).__name__
    kind, payload = envelope_type(wire) or "unknown", wire.get(VALUE)
    if kind in _SIZED and isinstance(payload, list):
        return f"{kind} {len(payload)}"
    if kind in ("bytes", "bytearray") and isinstance(payload, str):
        return f"{kind} {len(payload) // 4 * 3 - payload[-2:].count('=')}"
    if kind in _OF_A_CLASS:
        return simple_name(wire) + (f" {len(payload)}" if kind == "sub" and isinstance(payload, list) else "")
    if kind == "opaque":
        return f"opaque {simple_name(wire)}"
    if kind in ("ndarray", "npscalar"):
        shape = wire.get("shape")
        return f"ndarray {'×'.join(map(str, shape))}".rstrip() if isinstance(shape, list) else dtype_name(wire)
    return printable(str(wire.get("flavour", kind)))[:40]


def summary(wire: Wire, limit: int = 80) -> str:
    """Write a value on one line of at most `limit` characters; it ends in `…` if that is not all."""
    written: list[str] = []
    length = 0
    for piece in _pieces(wire, limit):
        written.append(piece)
        length += len(piece)
        if length > limit:
            return "".join(written)[: max(limit - 1, 0)] + "…"
    return "".join(written)


def pretty(wire: Wire) -> str:
    r"""Write all of a value as indented JSON; `agent_tt.codec.parse` reads it again.

    Envelopes stand as they are, but for texts with lone surrogates, which are texts (`"\ud83d"`).
    """
    try:
        text = orjson.dumps(wire, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # nested deeper than orjson goes
        text = json.dumps(wire, indent=2, ensure_ascii=False)
    if _HALF_PAIRS in text:
        text = json.dumps(_as_texts(wire), indent=2, ensure_ascii=False)
    return printable(text)


def _as_texts(wire: Wire) -> Wire:
    """A value whose texts with lone surrogates are no envelopes; those that JSON would not read as they were stay."""
    if isinstance(wire, list):
        return [_as_texts(item) for item in wire]
    if not isinstance(wire, dict):
        return wire
    text = half_pairs(wire) if envelope_type(wire) == "str" else ""
    if text:
        from agent_tt.codec.encode import encode

        if encode(text) == wire and json.loads(json.dumps(text)) == text:  # else damaged, or halves side by side
            return text
    return {key: _as_texts(item) for key, item in wire.items()}


def _pieces(wire: Wire, limit: int) -> Iterator[str]:
    if isinstance(wire, str):
        yield _quoted(wire, limit)
    elif isinstance(wire, list):
        yield "["
        for index, item in enumerate(wire):
            if index:
                yield ", "
            yield from _pieces(item, limit)
        yield "]"
    elif is_envelope(wire):
        for piece in typed_pieces(wire, limit):
            if isinstance(piece, str):
                yield printable(piece[: limit + 1])
            else:
                yield from _pieces(piece.wire, limit)
    elif isinstance(wire, dict):
        yield "{"
        for index, (key, item) in enumerate(wire.items()):
            yield ", " if index else ""
            yield _quoted(key, limit) + ": "
            yield from _pieces(item, limit)
        yield "}"
    else:
        yield json.dumps(wire)


def _quoted(text: str, limit: int) -> str:
    return printable(json.dumps(text[: limit + 1], ensure_ascii=False))


def printable(text: str) -> str:
    r"""Write what does not print as JSON writes it: `\u202e`; line ends stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNUSUAL.sub(lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text)
