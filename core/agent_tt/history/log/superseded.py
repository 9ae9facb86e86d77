"""What rows of the log replace of the states before them without having looked at it: nobody has to read that.

An agent that keeps a large value and replaces it now and then leaves each of them in the log, as a blob of its own. For
a state after that only the last one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.history.changes.ops import op_path

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import RowOps, Wanted

__all__ = ["Replaced", "is_replaced", "replaced_by", "unless"]

Replaced: TypeAlias = "frozenset[Path]"
"""Places whose values are replaced by what comes later."""

_WITH_ITEMS: Final = frozenset({"a", "x"})
"""Operations whose last item is a list of items, which come to stand from a position on that they name."""

_NONE: Final[Replaced] = frozenset()


def replaced_by(rows: Sequence[RowOps], places: Collection[Path]) -> list[Replaced]:
    """What is replaced by all of some rows, by those after the first of them, and so on to the last.

    Only of what lies before rows with blobs, and where a place begins as those do, anything is told; and nothing where
    rows move values, or take something out of lists: there a place is no longer what it was.

    Args:
        rows: the rows, in order, without their blobs.
        places: where a value may be replaced that lies before all of them.
    """
    told = [_NONE] * (len(rows) + 1)
    blobs = {number for number, row in enumerate(rows) if row.left}
    if not blobs and not places:
        return told
    try:
        holding = [*places, *{tuple(op[1]) for number in blobs for op, _, _ in rows[number].left}]  # type: ignore[arg-type]
        begins, whole = {place[0] for place in holding if place}, () in holding
        ops = [[op for op in row.ops if whole or not op[1] or op[1][0] in begins or op[0] == "m"] for row in rows]  # type: ignore[index]
        if not any(op[0] in ("x", "m") for some in ops for op in some):
            _look_back(ops, blobs, told)
    except TypeError:  # paths of a file that hold something else than keys and positions: applying them tells
        return [_NONE] * (len(rows) + 1)
    return told


def _look_back(ops: Sequence[Sequence[Op]], blobs: Collection[int], told: list[Replaced]) -> None:
    gone: set[Path] = set()
    for number in range(len(ops) - 1, -1, -1):
        if number in blobs:
            told[number + 1] = frozenset(gone)
        for op in reversed(ops[number]):
            path: Path = tuple(op[1])  # type: ignore[arg-type]
            replaces = op[0] in ("s", "d")
            # What an operation goes through, or adds to, has to be there.
            for length in range(len(path) if replaces else len(path) + 1):
                gone.discard(path[:length])
            if replaces:
                gone.add(path)
    told[0] = frozenset(gone)


def is_replaced(place: Sequence[Wire], replaced: Replaced) -> bool:
    """Whether the value at a place, or all of one that it lies in, is replaced."""
    try:
        return any(tuple(place[:length]) in replaced for length in range(len(place) + 1))
    except TypeError:  # a place of a file that holds something else than keys and positions
        return False


def unless(replaced: Replaced) -> Wanted | None:
    """Says that each blob is needed but those that are replaced."""
    if not replaced:
        return None
    last: tuple[Op | None, Path, bool | None] = None, (), None

    def wanted(op: Op, at: Sequence[Wire]) -> bool:
        nonlocal last
        if op is not last[0]:  # most have many parts, and one answer for all of them
            path = op_path(op)
            below = any(each[: len(path)] == path for each in replaced)
            last = op, path, False if is_replaced(path, replaced) else None if below else True
        _, path, told = last
        return not is_replaced((*path, *_in_value(op, at)), replaced) if told is None else told

    return wanted


def _in_value(op: Op, at: Sequence[Wire]) -> Sequence[Wire]:
    """Where a part of an operation comes to stand below its path: the first item appended to two is the third."""
    if op[0] not in _WITH_ITEMS or not at:
        return at
    start, first = op[2], at[0]
    return (start + first, *at[1:]) if type(start) is int and type(first) is int else at
