"""Who wrote a value: a walk over the changes between neighbouring checkpoints of one branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import get
from agent_tt.errors import PathNotFound
from agent_tt.history.changes.ops import trace
from agent_tt.history.digest import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.interop.langgraph.layout import Row

__all__ = ["next_write", "written_at"]


def written_at(
    rows: Sequence[Row], number: int, path: Path, changes: Callable[[int], list[Op]]
) -> tuple[int, Path] | None:
    """The row that wrote the value now at `path` of row `number`'s state, and where it was then.

    The value is followed through list shifts.

    Args:
        rows: the rows of the branch, from number 1.
        number: a row with a checkpoint, or 0.
        path: in wire coordinates.
        changes: what turned a row's base into it.
    """
    while number:
        base = rows[number - 1].base
        if base is None:
            return number, path
        for op in reversed(changes(number)):
            earlier = trace(op, path)
            if earlier is None:
                return number, path
            path = earlier
        number = base
    return None


def next_write(rows: Sequence[Row], number: int, path: Path, state: Callable[[int], Wire]) -> int | None:
    """The first row after `number` that went on from it and holds something else at `path`."""
    before = _digest_at(state(number), path)
    for row in rows[number:]:
        if row.checkpoint is not None and row.base == number:
            number = row.number
            if _digest_at(state(number), path) != before:
                return number
    return None


def _digest_at(state: Wire, path: Path) -> bytes | None:
    try:
        return digest(get(state, path))
    except PathNotFound:
        return None
