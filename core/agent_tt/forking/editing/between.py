"""What a person changed in a whole state (in `$EDITOR`), as single edits that can be listed, undone and stored."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, cast

from agent_tt.codec.paths import format_path, get
from agent_tt.codec.wire import VALUE, Path, Wire, is_envelope
from agent_tt.forking.editing.edits import value_shape, with_old_values
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import apply, op_path
from agent_tt.model import Edit

if TYPE_CHECKING:
    from agent_tt.history.changes.ops import Op

__all__ = ["edits_between"]


def edits_between(old: Wire, new: Wire) -> tuple[Edit, ...]:
    """The edits that turn one state into another.

    `apply_edits(old, edits_between(old, new))` equals `new`, except that key order stays that of `old`. A change inside
    a value that people edit only as a whole (a set, a dict with keys that are not text) sets that value.
    """
    state = deepcopy(old)  # operations are applied in place
    edits: list[Edit] = []
    for op in diff(old, new):
        passed, blocked_at = _human_prefix(state, op)
        if blocked_at is None:
            fresh = _edits_of(op, passed, state)
            state = apply(state, [op])
        else:
            state = apply(state, [op])
            whole = Edit("set", format_path(passed), deepcopy(get(state, blocked_at)))
            if edits and (edits[-1].op, edits[-1].path) == (whole.op, whole.path):
                edits.pop()
            fresh = [whole]
        edits.extend(fresh)
    return with_old_values(old, edits)


def _human_prefix(state: Wire, op: Op) -> tuple[Path, Path | None]:
    """The place of an operation as people write it.

    Returns:
        The human path and None; or, where a value that is edited only as a whole blocks the way, the human path and the
        wire path of that value.
    """
    wire_path = op_path(op)
    human: list[str | int] = []
    node = state
    for depth, key in enumerate(wire_path):
        if not is_envelope(node):
            human.append(key)
        elif not _passable(node, wire_path[depth:], op):
            return tuple(human), wire_path[:depth]
        node = _child(node, key)
    return tuple(human), None


def _passable(envelope: dict[str, Wire], rest: Path, op: Op) -> bool:
    """Whether an edit of people can do what `op` does at `rest` inside an envelope."""
    shape, inside = value_shape(envelope)
    if not inside or rest[:1] != inside or shape == "pairs" or (len(rest) == 1 and op[0] == "s"):
        return False
    if shape != "fields" or len(rest) == 1:
        return True
    payload = envelope[VALUE]
    removes_the_field = len(rest) == 2 and op[0] == "d"
    return isinstance(payload, dict) and rest[1] in payload and not removes_the_field


def _child(node: Wire, key: str | int) -> Wire:
    if isinstance(node, dict) and isinstance(key, str):
        return node.get(key)  # a key that is only now to be set has no value yet
    return node[key] if isinstance(node, list) and isinstance(key, int) and key < len(node) else None


def _edits_of(op: Op, path: Path, state: Wire) -> list[Edit]:
    """One operation (the table of operations is `agent_tt.history.changes.ops`) at a place that people can name."""
    match op:
        case ["s", _, value]:
            return [Edit("set", format_path(path), deepcopy(value))]
        case ["d", _]:
            return [Edit("delete", format_path(path))]
        case ["t", _, int(), str(suffix)]:
            return [Edit("set", format_path(path), f"{get(state, op_path(op))}{suffix}")]
        case ["a", _, int(length), list(items)]:
            return _splice(path, length, 0, items)
        case ["x", _, int(start), int(removed), list(items)]:
            return _splice(path, start, removed, items)
        case ["m", _, list(target)]:
            return [Edit("move", format_path(path), to=format_path(tuple(cast("list[str | int]", target))))]
        case _:  # a new key order ("o"), which no edit can say
            return []


def _splice(path: Path, start: int, removed: int, items: list[Wire]) -> list[Edit]:
    replaced = min(removed, len(items))
    places = [format_path((*path, start + offset)) for offset in range(max(removed, len(items)))]
    sets = [Edit("set", place, deepcopy(item)) for place, item in zip(places, items[:replaced], strict=False)]
    inserts = [Edit("insert", places[offset], deepcopy(items[offset])) for offset in range(replaced, len(items))]
    deletes = [Edit("delete", format_path((*path, start + replaced))) for _ in range(removed - replaced)]
    return sets + inserts + deletes
