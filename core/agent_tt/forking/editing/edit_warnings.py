"""Warnings about edits that are valid, and perhaps not meant.

A key that the state never had may be one that was mistyped; providers refuse a conversation in which a tool's result
has lost the call that it answers, or a call its result.
"""

from __future__ import annotations

import difflib
from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path, parse_path
from agent_tt.codec.wire import VALUE
from agent_tt.errors import PathNotFound
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.forking.editing.json_text import read_inside
from agent_tt.providers.reading import answered_ids, asked_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Edit

__all__ = ["new_keys", "unanswered_calls"]

_MOST_PLACES: Final = 2
"""How many places of the same name are offered."""

_MOST_SEEN: Final = 100_000
"""How many places are looked at: more takes longer than anyone waits for a hint."""


def new_keys(state: Wire, edits: Sequence[Edit]) -> tuple[str, ...]:
    """One line for each edit that gives the state a key which it did not have, with what may have been meant."""
    lines: list[str] = []
    for edit in edits:
        path = parse_path(edit.path)
        if edit.op == "set" and path and isinstance(path[-1], str) and not _has(state, path):
            meant = " or ".join(_meant(state, path, path[-1]))
            lines.append(f"{edit.path} is a new key of the state" + (f": did you mean {meant}?" if meant else ""))
        state = apply_edits(state, [edit])
    return tuple(lines)


def unanswered_calls(before: Wire, after: Wire) -> tuple[str, ...]:
    """One line for tool calls that edits have parted from their results in a conversation; none where all is whole."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return ()
    lines: list[str] = []
    for key, turns in after.items():
        known = before.get(key)
        if not isinstance(turns, list) or not isinstance(known, list) or turns == known:
            continue
        whole = asked_ids(known) & answered_ids(known)
        lost, alone = (whole & answered_ids(turns)) - asked_ids(turns), (whole & asked_ids(turns)) - answered_ids(turns)
        if lost:
            lines.append(f"{key} keeps results of tool calls that are taken out: models refuse that; mute the step")
        if alone:
            lines.append(f"{key} keeps tool calls whose results are taken out: models refuse that; mute the step")
    return tuple(lines)


def _has(state: Wire, path: Path) -> bool:
    try:
        read_inside(state, path)
    except PathNotFound:
        return False
    return True


def _meant(state: Wire, path: Path, key: str) -> list[str]:
    """Places elsewhere with the same key, else keys beside it that look like it."""
    same = [format_path(place) for place in islice(_places(state), _MOST_SEEN) if place[-1] == key]
    if same:
        return same[:_MOST_PLACES]
    parent = read_inside(state, path[:-1])
    beside = list(parent) if isinstance(parent, dict) else []
    return [format_path((*path[:-1], near)) for near in difflib.get_close_matches(key, beside, n=_MOST_PLACES)]


def _places(state: Wire) -> Iterator[Path]:
    """The wire paths of all keys and items, outer ones first, without those of typed values' own parts."""
    waiting: list[tuple[Path, Wire]] = [((), state)]
    for path, node in waiting:
        parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in parts:
            if key != VALUE:
                yield (*path, key)
            waiting.append(((*path, key), value))
