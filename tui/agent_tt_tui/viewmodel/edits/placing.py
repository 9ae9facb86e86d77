"""Inserting and moving values of a state, as a person types where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.errors import InvalidEdit, PathNotFound
from agent_tt.forking.editing.assignments import parse_assignment
from agent_tt.model import Edit

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire


def insertion_text(state: Wire, path: Path) -> str:
    """What is typed to insert beside a value: `messages[3]=` in a list, `budget.` for a new key of a dict."""
    parent = _parent(state, path)
    if isinstance(parent, list):
        return f"{format_path(path)}="
    return f"{format_path(path[:-1])}." if len(path) > 1 else ""


def insertion(state: Wire, text: str) -> Edit:
    """Read `PATH=VALUE`: before that position of a list, else as a new key.

    Raises:
        InvalidEdit: it has another form, or there is such a key.
        InvalidPath, InvalidValue: it cannot be read.
    """
    edit = parse_assignment(text)
    path = parse_path(edit.path)
    parent = _parent(state, path)
    if isinstance(parent, list):
        return Edit("insert", edit.path, edit.value)
    if isinstance(parent, dict) and path and path[-1] in parent:
        raise InvalidEdit(f"{edit.path} is there already: edit it")
    return edit


def move(path: str, text: str) -> Edit:
    """Move what is at `path` to another place.

    Raises:
        InvalidPath: the place cannot be read.
    """
    return Edit("move", path, to=format_path(parse_path(text)))


def _parent(state: Wire, path: Path) -> Wire:
    """What holds the place; None where nothing does."""
    try:
        return get(state, to_wire_path(state, path[:-1]) if len(path) > 1 else ())
    except PathNotFound:
        return None
