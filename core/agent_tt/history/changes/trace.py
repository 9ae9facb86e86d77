"""Following a value forward through an operation; `ops.trace` follows it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.ops import op_path

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op

__all__ = ["trace_forward"]


def trace_forward(op: Op, path: Path) -> Path | None:
    """Where the value at `path` is after `op`; None if `op` replaced it, removed it, or changed something in it.

    Raises:
        CorruptDelta: the operation is not one.
    """
    code, own = op[0], op_path(op)
    if code == "m":
        target = _target(op)
        if path[: len(own)] == own:
            return target + path[len(own) :]
        is_replaced = path[: len(target)] == target or target[: len(path)] == path
        return None if is_replaced or own[: len(path)] == path else path
    if path[: len(own)] != own:
        return None if own[: len(path)] == path else path
    if code in ("s", "d") or len(own) == len(path):
        return None
    position = path[len(own)]
    if code == "x" and isinstance(position, int):
        return _through_splice(op, own, path, position)
    return path


def _through_splice(op: Op, own: Path, path: Path, position: int) -> Path | None:
    _, _, start, removed, items = op
    if not isinstance(start, int) or not isinstance(removed, int) or not isinstance(items, list):
        raise CorruptDelta("an operation is damaged: it is not a splice", hint="Run `agent-tt verify` on the store.")
    if position < start:
        return path
    if position < start + removed:
        return None
    return (*own, position - removed + len(items), *path[len(own) + 1 :])


def _target(op: Op) -> Path:
    target: Wire = op[2]
    if not isinstance(target, list):
        raise CorruptDelta("an operation is damaged: it is not a move", hint="Run `agent-tt verify` on the store.")
    return tuple(step for step in target if isinstance(step, str | int))
