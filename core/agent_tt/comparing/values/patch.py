"""A difference between two states as a JSON Patch (RFC 6902), for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.collector import collector_paused
from agent_tt.codec.wire import envelope_type
from agent_tt.comparing.sequences.items import match_items
from agent_tt.comparing.values.states import compare_states, entries_of, renamed_keys
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.diff import same

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.sequences.items import Matching

__all__ = ["pointer", "to_json_patch"]

_MOST_MOVES: Final = 200
"""Items that moved in one list, up to which each is moved; of more the list is replaced."""


def to_json_patch(a: Wire, b: Wire) -> list[dict[str, Wire]]:
    """Give the patch that turns `a` into `b`.

    Args:
        a: the old state, a wire value; typed values are patched inside their envelopes.
        b: the new state.

    Returns:
        Operations `add`, `remove`, `replace` and `move`, each path being one at that moment; values are parts of `b`.
        JSON objects have no order: a dict that differs only in the order of its keys needs no operation.

    Raises:
        CorruptDelta: a value is nested deeper than anything that is ever recorded.
    """
    patch: list[dict[str, Wire]] = []
    try:
        with collector_paused():
            _values(a, b, (), patch)
    except RecursionError as error:
        raise CorruptDelta("the states are nested too deeply to be ones that were recorded") from error
    return patch


def pointer(path: Path) -> str:
    """Write a path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _values(old: Wire, new: Wire, path: Path, patch: list[dict[str, Wire]]) -> None:
    if old is new or same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and envelope_type(old) == envelope_type(new):
        if not _same_entries(old, new):
            _dicts(old, new, path, patch)
    elif isinstance(old, list) and isinstance(new, list):
        matching = match_items(old, new)
        if (matching.pairs or not old or not new) and len(matching.moved) <= _MOST_MOVES:
            _lists(matching, (old, new), path, patch)
        else:
            patch.append({"op": "replace", "path": pointer(path), "value": new})
    else:
        patch.append({"op": "replace", "path": pointer(path), "value": new})


def _same_entries(old: dict[str, Wire], new: dict[str, Wire]) -> bool:
    """Whether two dicts whose keys are not all plain text differ in the order of their keys alone."""
    if envelope_type(old) != "dict" or entries_of(_listed(old)) is None or entries_of(_listed(new)) is None:
        return False
    return not any(change.makes_a_difference for change in compare_states(old, new))


def _listed(envelope: dict[str, Wire]) -> list[Wire]:
    payload = envelope.get("$v")
    return payload if isinstance(payload, list) else [None]


def _dicts(old: dict[str, Wire], new: dict[str, Wire], path: Path, patch: list[dict[str, Wire]]) -> None:
    renamed = renamed_keys(old, new)
    for key, origin in renamed.items():
        patch.append({"op": "move", "from": pointer((*path, str(origin))), "path": pointer((*path, str(key)))})
    gone = set(renamed.values())
    patch += [{"op": "remove", "path": pointer((*path, key))} for key in old if key not in new and key not in gone]
    for key, value in new.items():
        if key in old:
            _values(old[key], value, (*path, key), patch)
        elif key not in renamed:
            patch.append({"op": "add", "path": pointer((*path, key)), "value": value})


def _lists(matching: Matching, both: tuple[list[Wire], list[Wire]], path: Path, patch: list[dict[str, Wire]]) -> None:
    """Take away from the back, move, add from the front, then change what was edited at its new place."""
    patch += [{"op": "remove", "path": pointer((*path, at))} for at in reversed(matching.removed)]
    _move(matching, path, patch)
    patch += [{"op": "add", "path": pointer((*path, at)), "value": both[1][at]} for at in matching.added]
    for one, other in matching.pairs:
        if (one, other) in matching.replaced:
            patch.append({"op": "replace", "path": pointer((*path, other)), "value": both[1][other]})
            continue
        _values(both[0][one], both[1][other], (*path, other), patch)


def _move(matching: Matching, path: Path, patch: list[dict[str, Wire]]) -> None:
    """Move each item that moved to behind the one that it follows now."""
    if not matching.moved:
        return
    row = sorted(one for one, _ in matching.pairs)
    before = None
    for one, other in matching.pairs:
        if (one, other) in matching.moved:
            origin = row.index(one)
            del row[origin]
            target = 0 if before is None else row.index(before) + 1
            row.insert(target, one)
            if origin != target:
                patch.append({"op": "move", "from": pointer((*path, origin)), "path": pointer((*path, target))})
        before = one
