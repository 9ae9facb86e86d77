"""Changes of a message that mean nothing: a client that sends a model's answer back may write it differently.

A key that is null is left out or comes in, keys stand in another order, a tool's arguments are spaced otherwise. What
is exact (digests, JSON, patches) knows them all; where people read what a step did, they hide it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent_tt.codec.paths import get
from agent_tt.comparing.values.bookkeeping import is_bookkeeping
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.values.states import Change

__all__ = ["without_echoes"]


def without_echoes(a: Wire, b: Wire, changes: Sequence[Change]) -> list[Change]:
    """The changes that say something; all of them where none does, so that two states never look alike that are not.

    What a framework keeps in a state for itself says nothing either.

    Args:
        a: the old state.
        b: the new one.
        changes: what differs between them.
    """
    kept = [change for change in changes if not _is_echo(a, b, change)]
    return kept or list(changes)


def _is_echo(a: Wire, b: Wire, change: Change) -> bool:
    if is_bookkeeping(change.where):
        return True
    match change.op:
        case "add" if change.new is None or change.new == []:
            holder = b
        case "remove" if change.old is None or change.old == []:
            holder = a
        case "reorder" if change.of == "keys":
            holder = b
        case "change" if _same_json(change.old, change.new):
            holder = b
        case _:
            return False
    return _is_in_message(holder, change.where)


def _same_json(old: Wire, new: Wire) -> bool:
    """Whether two texts are one JSON object, written in two ways."""
    if not (isinstance(old, str) and isinstance(new, str) and old[:1] == new[:1] == "{"):
        return False
    try:
        return _ordered(json.loads(old)) == _ordered(json.loads(new))
    except (ValueError, RecursionError):
        return False


def _ordered(value: object) -> str:
    """The JSON of a value with its keys in order; it tells 1, 1.0 and true apart."""
    return json.dumps(value, sort_keys=True)


def _is_in_message(state: Wire, path: Path) -> bool:
    """Whether a place is a message, or in one: a dict in a list, with a role."""
    for depth in range(1, len(path) + 1):
        if not isinstance(path[depth - 1], int):
            continue
        try:
            part = get(state, path[:depth])
        except AgentTTError:
            return False
        if isinstance(part, dict) and isinstance(part.get("role"), str):
            return True
    return False
