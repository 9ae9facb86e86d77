"""Edits that lead into a text which is itself JSON, as results of tools in a conversation mostly are.

`messages[2].content.window_days` is the value in that text. Only what is edited is written anew; the rest of the text
stays as it was written, letter for letter, where a value is replaced by another.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.codec.json_in_text import JSON_SPACE, read_json_text
from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.errors import InvalidEdit, PathNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Edit

__all__ = ["read_inside", "text_before", "through_text"]

_DECODER: Final = json.JSONDecoder()
_SEPARATORS: Final = ((", ", ": "), (",", ":"))
_INDENTS: Final = (2, 4, "\t", 1, 3, 8)


def through_text(state: Wire, edit: Edit, apply: Callable[[Wire, Sequence[Edit]], Wire]) -> Edit:
    """Make an edit within a JSON text the edit of that text; any other is given back as it is.

    Args:
        state: what is edited.
        edit: the edit.
        apply: applies edits to what the text says.

    Raises:
        InvalidEdit: what the text says cannot be edited so.
    """
    path = parse_path(edit.path)
    depth = text_before(state, path)
    if depth is None:
        return edit
    outer, inner = path[:depth], path[depth:]
    text = str(get(state, to_wire_path(state, outer)))
    said = read_json_text(text)
    wanted = replace(edit, path=format_path(inner), old=None)
    if edit.op == "move":
        to = parse_path(edit.to or "")
        if to[:depth] != outer:
            raise InvalidEdit(
                f"move {edit.path}: it lies in the JSON text {format_path(outer)}, and {edit.to} does not",
                hint="set the one and delete the other",
            )
        wanted = replace(wanted, to=format_path(to[depth:]))
    try:
        wanted = through_text(said, wanted, apply)
        after = apply(said, [wanted])
    except InvalidEdit as error:
        place = format_path(outer) or "the state"
        why = error.message.replace("the state", f"the JSON text {place}")
        raise InvalidEdit(f"{edit.op} {edit.path}: {why}", hint=error.hint) from error
    written = _spliced(text, parse_path(wanted.path), wanted.value, after) if wanted.op == "set" else None
    return replace(edit, op="set", path=format_path(outer), value=written or _written(text, said, after), to=None)


def text_before(state: Wire, path: Path) -> int | None:
    """How many steps of a path lead to a JSON text that the rest of it leads into; None where it leads into none."""
    for depth in range(len(path)):
        try:
            found = get(state, to_wire_path(state, path[:depth]))
        except PathNotFound:
            return None
        if isinstance(found, str):
            return None if read_json_text(found) is None else depth
    return None


def read_inside(state: Wire, path: Path) -> Wire:
    """Get what a path leads to, into JSON texts too.

    Raises:
        PathNotFound: it leads nowhere.
    """
    depth = text_before(state, path)
    if depth is None:
        return get(state, to_wire_path(state, path))
    return read_inside(read_json_text(str(get(state, to_wire_path(state, path[:depth])))), path[depth:])


def _spliced(text: str, path: Path, value: Wire, after: Wire) -> str | None:
    """The text with one value replaced; None where that is not all that has to change."""
    try:
        start, end = _span(text, path)
        made = text[:start] + _value_text(text, value) + text[end:]
        return made if _same(json.loads(made), after) else None
    except (LookupError, ValueError, TypeError, RecursionError):
        return None


def _same(one: object, other: object) -> bool:
    """Whether two values are written alike: `1`, `1.0` and `true` are not."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _value_text(text: str, value: Wire) -> str:
    compact = ", " not in text and ": " not in text
    return json.dumps(value, ensure_ascii=text.isascii(), separators=(",", ":") if compact else (", ", ": "))


def _span(text: str, path: Path) -> tuple[int, int]:
    """Where in a JSON text the value at a path stands."""
    start = _skip(text, 0)
    for step in path:
        start = dict(_members(text, start))[step]
    return start, _DECODER.raw_decode(text, start)[1]


def _members(text: str, start: int) -> Iterator[tuple[str | int, int]]:
    """Keys or positions of an object or list, each with where its value begins; of a key said twice the last counts."""
    is_object, position, index = text[start] == "{", _skip(text, start + 1), 0
    while text[position] not in "]}":
        key: str | int = index
        if is_object:
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        yield key, position
        position = _skip(text, _DECODER.raw_decode(text, position)[1])
        if text[position] == ",":
            position = _skip(text, position + 1)
        index += 1


def _skip(text: str, position: int) -> int:
    while text[position] in JSON_SPACE:
        position += 1
    return position


def _written(text: str, before: Wire, after: Wire) -> str:
    """What is said now, in the form in which the text was written where that is one of the usual ones."""
    body = text.strip(JSON_SPACE)
    head = text[: text.index(body)]
    for ascii_only in (True, False):
        for indent in (None, *_INDENTS):
            for separators in _SEPARATORS if indent is None else ((",", ": "), *_SEPARATORS):
                if json.dumps(before, ensure_ascii=ascii_only, indent=indent, separators=separators) == body:
                    made = json.dumps(after, ensure_ascii=ascii_only, indent=indent, separators=separators)
                    return head + made + text[len(head) + len(body) :]
    return head + json.dumps(after, ensure_ascii=text.isascii()) + text[len(head) + len(body) :]
