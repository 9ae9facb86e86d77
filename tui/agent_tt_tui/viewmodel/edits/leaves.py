"""The single values inside of one, and a value in rows of text, each with the place that it shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.codec.json_in_text import read_json_text
from agent_tt.codec.text import pretty, summary
from agent_tt.codec.wire import envelope_type, is_envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire

MOST_LEAVES: Final = 500
"""Single values that are offered to choose from."""

_MOST_VALUE: Final = 4_000
"""Characters of a value that is laid out; of a longer one its beginning is shown."""

_MOST_TEXT: Final = 20_000
"""Characters of a text in which blanks are looked for."""

_SHOWN: Final = 60
"""Characters of a typed value at most."""


def leaves_of(value: Wire, path: Path = ()) -> Iterator[tuple[Path, Wire]]:
    """Walk through the single values of a value, into texts that are JSON too.

    Args:
        value: a list, a dict or a JSON text; of anything else there is nothing.
        path: where it is.

    Yields:
        Places as people count them, each with what is there; a list or dict that is empty is a value.
    """
    for key, item in _members(value):
        place = (*path, key)
        if any(True for _ in _members(item)):
            yield from leaves_of(item, place)
        else:
            yield place, item


def is_json_text(value: Wire) -> bool:
    """Whether a value is a text that is shown as the JSON that it says."""
    return isinstance(value, str) and len(value) < _MOST_VALUE and read_json_text(value) is not None


def value_rows(value: Wire, place: Path | None) -> Iterator[tuple[str, Path | None]]:
    """Lay out a value; of a result that is not too large each part stands in a row of its own, with its place.

    Args:
        value: the value.
        place: where in a result it is; None of what is not a result.
    """
    if place is not None and is_json_text(value):
        yield from json_rows(read_json_text(str(value)), place)
        return
    text = _readable(value)
    if place is not None and "\n" in text and isinstance(value, list | dict):
        yield from json_rows(value, place)
    else:
        yield text, place


def json_rows(value: Wire, path: Path, indent: int = 0, lead: str = "", tail: str = "") -> Iterator[tuple[str, Path]]:
    """Lay out a list or a dict as indented JSON.

    Args:
        value: the value.
        path: where it is.
        indent: how deep it stands.
        lead: what stands before it in its row: its key.
        tail: what stands behind it: a comma.

    Yields:
        Each row with the place that it shows; a row that only closes something has that one's place.
    """
    space = "  " * indent
    members = list(_members(value)) if not isinstance(value, str) else []
    if not members:
        shown = summary(value, _SHOWN) if is_envelope(value) else json.dumps(value, ensure_ascii=False)
        yield f"{space}{lead}{shown}{tail}", path
        return
    opened, closed = ("[", "]") if isinstance(value, list) else ("{", "}")
    yield f"{space}{lead}{opened}", path
    for index, (key, item) in enumerate(members, 1):
        name = "" if isinstance(value, list) else f"{json.dumps(key, ensure_ascii=False)}: "
        yield from json_rows(item, (*path, key), indent + 1, name, "," if index < len(members) else "")
    yield f"{space}{closed}{tail}", path


def _readable(value: Wire) -> str:
    """A value as text of bounded length: small ones laid out, large ones on one line."""
    if isinstance(value, str) and ("\n" in value[:_MOST_TEXT] or " " in value[:_MOST_TEXT]):
        return value
    short = summary(value, _MOST_VALUE)
    plain = isinstance(value, list | dict) and envelope_type(value) is None
    return pretty(value) if plain and 60 < len(short) < _MOST_VALUE else short


def _members(value: Wire) -> Iterator[tuple[str | int, Wire]]:
    """The keys or positions of a value with what is there, of a JSON text too; nothing where it has none."""
    inside = read_json_text(value) if isinstance(value, str) else value
    if isinstance(inside, list):
        yield from enumerate(inside)
    elif isinstance(inside, dict) and not is_envelope(inside):
        yield from inside.items()
