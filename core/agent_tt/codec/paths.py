r"""Paths as people write them, `messages[3].content` or `plan["odd key"]`, and the same places in a wire value.

A person's path does not name envelopes: it leaves out the `$v` steps. Keys that are not plain words stand in brackets
as JSON strings; numbers in brackets are positions, from 0. The whole value is the empty path.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._pattern import lazy_re
from agent_tt.codec.wire import TYPE, VALUE, is_envelope
from agent_tt.errors import InvalidPath, PathNotFound

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire

__all__ = ["Pattern", "format_path", "get", "parse_path", "parse_pattern", "to_wire_path", "without_envelopes"]

Pattern: TypeAlias = "tuple[str | int | None, ...]"
"""A path that may stand for many places: None is any key and any position."""

_WORD: Final = lazy_re(r"""[^\s.\[\]"']+""")
_PLAIN_WORD: Final = lazy_re(r"[^\W\d][\w-]*")
_POSITION: Final = lazy_re(r"\[\s*(\d{1,18})\s*\]")
_STRING: Final = lazy_re(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACE: Final = lazy_re(r"\s*")
_ANY: Final = "[*]"


def parse_path(text: str) -> Path:
    """Read a path as a person writes it.

    Raises:
        InvalidPath: with the position at which it cannot be read on.
    """
    return tuple(step for step in _steps(text, wildcards=False) if step is not None)


def parse_pattern(text: str) -> Pattern:
    """Read a path in which `[*]` stands for any position of a list and any key: `messages[*].id`.

    Raises:
        InvalidPath: with the position at which it cannot be read on.
    """
    return tuple(_steps(text, wildcards=True))


def _steps(text: str, *, wildcards: bool) -> list[str | int | None]:
    path: list[str | int | None] = []
    at, text_end = 0, len(text)
    while at < text_end:
        step: str | int | None
        if wildcards and text.startswith(_ANY, at):
            step, at = None, at + len(_ANY)
        elif text[at] == "[":
            step, at = _bracket(text, at)
        else:
            if text[at] == ".":
                if not path:
                    raise _error(text, at, "a path does not begin with a dot")
                at += 1
            elif path:
                raise _error(text, at, "a dot or a bracket is missing")
            word = _WORD.match(text, at)
            if word is None:
                raise _error(text, at, "a key is missing")
            step, at = word.group(), word.end()
        path.append(step)
    return path


def _bracket(text: str, at: int) -> tuple[str | int, int]:
    position = _POSITION.match(text, at)
    if position is not None:
        return int(position.group(1)), position.end()
    inside = _end(_SPACE, text, at + 1)
    string = _STRING.match(text, inside)
    if string is None:
        why = "positions count from 0" if text[inside : inside + 1] == "-" else "a bracket holds a position or a key"
        raise _error(text, inside, why)
    try:
        key = json.loads(string.group())
    except ValueError as error:
        raise _error(text, inside, "the key in quotes is not a JSON string") from error
    closing = _end(_SPACE, text, string.end())
    if text[closing : closing + 1] != "]":
        raise _error(text, closing, "the bracket is not closed")
    return str(key), closing + 1


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _error(text: str, position: int, why: str) -> InvalidPath:
    shown = json.dumps(text[:120], ensure_ascii=False)
    hint = 'Write paths like messages[3].content, and odd keys in quotes: plan["odd key"].'
    return InvalidPath(
        f"path {shown} cannot be read at character {position + 1}: {why}", text=text, position=position, hint=hint
    )


def format_path(path: Path) -> str:
    """Write a path as a person does, without the `$v` of envelopes. `parse_path` reads it again."""
    written = ""
    for step in without_envelopes(path):
        if type(step) is int:
            written += f"[{step}]"
        elif _PLAIN_WORD.fullmatch(str(step)):
            written += f".{step}" if written else str(step)
        else:
            written += f"[{_quoted(str(step))}]"
    return written


def _quoted(key: str) -> str:
    if key.isprintable():
        return json.dumps(key, ensure_ascii=False)
    return json.dumps(key)


def without_envelopes(path: Path) -> Path:
    """A wire path as a person sees it: without the `$v` steps, which are never data."""
    return tuple(step for step in path if step != VALUE)


def get(state: Wire, path: Path) -> Wire:
    """Get the part of a wire value at a path in wire coordinates.

    Raises:
        PathNotFound: there is nothing at that path.
    """
    part = state
    for depth, step in enumerate(path):
        if not _has(part, step):
            raise _not_found(part, path, depth)
        part = part[step]  # type: ignore[index]
    return part


def _has(part: Wire, step: str | int) -> bool:
    if type(part) is dict:
        return type(step) is str and step in part
    return type(part) is list and type(step) is int and 0 <= step < len(part)


def to_wire_path(state: Wire, path: Path) -> Path:
    """The wire path of a person's path: with a `$v` wherever it leads into an envelope.

    In an envelope of pairs (a dict whose keys are not all plain text) positions count the pairs, `[2][1]` being the
    value of the third; a text key finds its value by itself.

    Raises:
        PathNotFound: there is nothing at that path.
    """
    part, found = state, list[str | int]()
    for depth, step in enumerate(path):
        pair = None
        while is_envelope(part) and VALUE in part and pair is None:
            pair = _pair(part, step)
            found.append(VALUE)
            part = part[VALUE]
        inside: Path = (step,) if pair is None else (pair, 1)
        if pair is None and not _has(part, step):
            raise _not_found(_by_key(part) if type(step) is str else part, path, depth)
        part = get(part, inside)
        found += inside
    return tuple(found)


def _pair(envelope: dict[str, Wire], step: str | int) -> int | None:
    """Where a text key stands in an envelope of pairs."""
    pairs = envelope.get(VALUE)
    if type(step) is not str or type(pairs) is not list:
        return None
    if envelope[TYPE] != "dict" and envelope.get("base") != "dict":
        return None
    return next((n for n, pair in enumerate(pairs) if type(pair) is list and len(pair) == 2 and pair[0] == step), None)


def _by_key(part: Wire) -> Wire:
    """Pairs as the mapping that they stand for, as far as their keys are texts; anything else as it is."""
    if type(part) is not list or not part or not all(type(pair) is list and len(pair) == 2 for pair in part):
        return part
    return {str(pair[0]): None for pair in part if type(pair) is list and type(pair[0]) is str}


def _not_found(part: Wire, path: Path, depth: int) -> PathNotFound:
    shown, above = format_path(path[: depth + 1]), format_path(path[:depth]) or "the state"
    if type(part) is list:
        return PathNotFound(f"there is no {shown}: {above} has {len(part)} elements, numbered from 0")
    if type(part) is not dict:
        return PathNotFound(f"there is no {shown}: {above} holds no other values")
    keys = [key for key in part if key != TYPE]
    nearest = _nearest(str(path[depth]), keys)
    hint = f"Did you mean {format_path((*path[:depth], nearest[0]))}?" if nearest else ""
    return PathNotFound(f"there is no {shown}", hint=hint, nearest=nearest)


def _nearest(name: str, names: list[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, names[:1000], n=3)
