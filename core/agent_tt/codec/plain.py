"""Telling values that are their own wire values from those that need an envelope."""

from __future__ import annotations

import gc
import math
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeGuard

from agent_tt.codec.tracked import TrackedDict
from agent_tt.codec.wire import MAX_DEPTH, TYPE, VALUE, Encoded, is_int64

if TYPE_CHECKING:
    from collections.abc import Collection

    from agent_tt.codec.wire import Scalar, Wire

__all__ = ["is_own_wire", "is_plain_dict", "is_plain_scalar", "is_plain_text", "is_tree_of_json_types", "parts_of"]

_CONTAINERS: Final = frozenset({dict, list})
_NUMBERS: Final = frozenset({int, float})
_JSON_TYPES: Final = frozenset({str, int, float, bool, type(None), dict, list})


def is_plain_text(text: str) -> bool:
    """Whether a string can be written as UTF-8, which lone surrogates cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain_scalar(value: object) -> TypeGuard[Scalar]:
    """Whether a value that holds no others is its own wire value."""
    kind = type(value)
    if kind is str:
        return is_plain_text(value)  # type: ignore[arg-type]
    if kind is int:
        return is_int64(value)  # type: ignore[arg-type]
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    return value is None or kind is bool


def is_plain_dict(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a dict travels as an object: all keys are exact, encodable strings, and none is an envelope's own."""
    if (type(value) is not dict and type(value) is not TrackedDict) or TYPE in value or VALUE in value:
        return False
    if not value:
        return True
    if set(map(type, value)) != {str}:
        return False
    return all(map(str.isascii, value)) or all(map(is_plain_text, list(value)))


def parts_of(wire: dict[str, Wire]) -> dict[str, object]:
    """The entries of an object, each in the place of a Python value, so that none is encoded again."""
    return {key: item if is_plain_scalar(item) else Encoded(item) for key, item in wire.items()}


def is_own_wire(value: object, *, deepest: int = MAX_DEPTH) -> TypeGuard[Wire]:
    """Whether what `json.loads` gave is its own wire value, so that it need not be encoded.

    Looks at one level after the other, mostly at the speed of C.

    Args:
        value: made by `json.loads` just now: a tree of exact types, of which nobody else holds a part.
        deepest: how many containers may lie inside each other.
    """
    level = [value]
    for _ in range(deepest + 1):
        dicts: list[dict[str, object]] = [item for item in level if type(item) is dict]
        lists: list[list[object]] = [item for item in level if type(item) is list]
        if not _are_plain_texts([item for item in level if type(item) is str]):
            return False
        if not all(is_plain_scalar(item) for item in level if type(item) in _NUMBERS):
            return False
        if not dicts and not lists:
            return True
        names = set[str]().union(*dicts)
        if TYPE in names or VALUE in names or not _are_plain_texts(names):
            return False
        level = [*chain.from_iterable(map(dict.values, dicts)), *chain.from_iterable(lists)]
    return False


def _are_plain_texts(texts: Collection[str]) -> bool:
    return all(map(str.isascii, texts)) or all(map(is_plain_text, texts))


def is_tree_of_json_types(value: object, *, most: int) -> bool:
    """Whether a dict or list holds exact JSON types alone, no container that holds itself, and few that are shared.

    Looks at one level after the other, at the speed of C. A cycle would keep `tlv` busy for ever, and containers that
    are shared by containers that are shared for as long.

    Args:
        value: the dict or list.
        most: how many elements it may have, what is shared counted as often as it is found.
    """
    if type(value) not in _CONTAINERS:
        return False
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        if sum(map(len, level)) > most:  # type: ignore[arg-type]  # containers, all of them
            return False
        below = gc.get_referents(*level)
        kinds = set(map(type, below))
        if not kinds <= _JSON_TYPES:
            return False
        if kinds.isdisjoint(_CONTAINERS):
            return True
        level = [item for item in below if type(item) in _CONTAINERS]
        most -= len(below)
    return False
