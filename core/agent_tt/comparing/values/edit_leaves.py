"""What a person's edit changes, value by value: `window_days 14 → 30` of a result that was replaced as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.codec.json_in_text import read_json_text
from agent_tt.codec.paths import format_path, parse_path
from agent_tt.codec.wire import is_envelope
from agent_tt.comparing.values.states import Change, compare_states
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit

__all__ = ["edit_changes"]


def edit_changes(edit: Edit) -> tuple[Change, ...]:
    """List what an edit changes, at the deepest values that differ, into texts that are JSON too.

    Args:
        edit: an edit with the value that it replaces, as a plan and a run have it.

    Returns:
        At least one change. Each path says what is changed, in words where that is not a state: `budget.limit`,
        `result of call 1 in step 3, window_days`. A muted step is removed.
    """
    if edit.op == "mute":
        return (Change("remove", f"{edit.where}, muted", edit.value),)
    if edit.op == "move":
        return (Change("move", edit.to or "", edit.old, edit.old, old_path=edit.path),)
    if edit.op == "delete":
        return (Change("remove", edit.where, edit.old),)
    if edit.op == "insert" or edit.old is None:
        return (Change("add", edit.where, None, edit.value),)
    whole = Change("change", edit.where, edit.old, edit.value)
    if edit.target == "parameter":  # its path is a name
        return (whole,)
    try:
        return tuple(_at(edit, change) for change in _leaves(edit.old, edit.value)) or (whole,)
    except AgentTTError:  # a value that cannot be compared, or a path that is none
        return (whole,)


def _leaves(old: Wire, new: Wire) -> Iterator[Change]:
    """The deepest changes between two values; nothing where they are equal, or one of them is not a container."""
    before, after = _inside(old), _inside(new)
    if before is None or after is None or type(old) is not type(new) or type(before) is not type(after):
        return
    for change in compare_states(before, after):
        inner = tuple(_leaves(change.old, change.new)) if change.op == "change" else ()
        yield from (_below(change.path, each) for each in inner)
        if not inner and change.makes_a_difference:
            yield change


def _inside(value: Wire) -> Wire:
    """What can be compared part by part: a list, a dict, or what a JSON text says; None for everything else."""
    if isinstance(value, str):
        return read_json_text(value)
    return value if isinstance(value, list | dict) and not is_envelope(value) else None


def _below(outer: str, change: Change) -> Change:
    """A change inside a value as one of what that is in."""
    old_path = None if change.old_path is None else _joined(outer, change.old_path)
    return replace(change, path=_joined(outer, change.path), old_path=old_path, where=())


def _joined(outer: str, inner: str) -> str:
    return format_path((*parse_path(outer), *parse_path(inner)))


def _at(edit: Edit, change: Change) -> Change:
    """A change inside an edited value, its path lengthened by where that value stands."""
    found = _below(edit.path, change)
    return replace(found, path=replace(edit, path=found.path).where)
