"""Going back: operations that undo operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import get
from agent_tt.errors import CorruptDelta, PathNotFound
from agent_tt.history.changes.ops import apply, op_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op

__all__ = ["apply_with_undo"]


def apply_with_undo(root: Wire, ops: Iterable[Op]) -> tuple[Wire, list[Op]]:
    """Apply operations in place; give the new root and the operations that lead back, key order included.

    Values that were replaced are kept in the way back as they are, not copied: both lists are for one use each.

    Raises:
        CorruptDelta: an operation does not fit the state, which is then half changed.
    """
    undo: list[list[Op]] = []
    for op in ops:
        back = _inverse(root, op)
        root = apply(root, [op])
        undo.append(back)
    return root, [op for back in reversed(undo) for op in back]


def _inverse(root: Wire, op: Op) -> list[Op]:
    code, path = op[0], op_path(op)
    if code == "s":
        return _inverse_set(root, path)
    if code == "d":
        return [["s", [*path], _at(root, path)], _order(root, path[:-1])]
    if code == "t":
        return [["s", [*path], _at(root, path)]]
    if code == "o":
        return [_order(root, path)]
    if code == "a" and isinstance(op[3], list):
        return [["x", [*path], op[2], len(op[3]), []]]
    if code == "x" and isinstance(op[4], list):
        start, removed = op[2], op[3]
        target = _at(root, path)
        if isinstance(target, list) and isinstance(start, int) and isinstance(removed, int):
            return [["x", [*path], start, len(op[4]), target[start : start + removed]]]
    if code == "m" and isinstance(op[2], list):
        return _inverse_move(root, path, tuple(step for step in op[2] if isinstance(step, str | int)))
    raise CorruptDelta("an operation is damaged: this version does not know it", hint="Run `agent-tt verify`.")


def _inverse_set(root: Wire, path: Path) -> list[Op]:
    if not path:
        return [["s", [], root]]
    parent = _at(root, path[:-1])
    if isinstance(parent, dict) and path[-1] not in parent:
        return [["d", [*path]]]
    return [["s", [*path], _at(root, path)]]


def _inverse_move(root: Wire, origin: Path, target: Path) -> list[Op]:
    """A move changes the key order of both dicts, and may replace what was at its target."""
    back: list[Op] = [["m", [*target], [*origin]]]
    parent = _at(root, target[:-1])
    if isinstance(parent, dict) and target[-1] in parent and target != origin:
        back.append(["s", [*target], parent[str(target[-1])]])
    return [*back, _order(root, origin[:-1]), _order(root, target[:-1])]


def _order(root: Wire, path: Path) -> Op:
    found = _at(root, path)
    if not isinstance(found, dict):
        raise CorruptDelta(f"an operation is damaged: there is no dict at {path}", hint="Run `agent-tt verify`.")
    return ["o", [*path], [*found]]


def _at(root: Wire, path: Path) -> Wire:
    try:
        return get(root, path)
    except PathNotFound as error:
        raise CorruptDelta("an operation is damaged: its path leads nowhere", hint="Run `agent-tt verify`.") from error
