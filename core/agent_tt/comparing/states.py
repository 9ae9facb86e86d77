"""What differs between two states, as people read it: a list of changes at human paths.

The work is done by `agent_tt.history.diff`, which is exact on types (`1`, `1.0` and `True` differ; NaN equals itself),
aligns lists by content and stops at equal subtrees. Its operations speak of places *at that moment*; here they become
places in the
old and the new state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt.codec.paths import format_path
from agent_tt.codec.wire import VALUE, is_envelope
from agent_tt.history.diff import diff
from agent_tt.history.ops import op_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op

ChangeOp: TypeAlias = Literal["add", "remove", "change", "move", "reorder"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between an old and a new state.

    Attributes:
        op: `add`, `remove`, `change`; `move` for a dict entry under another key; `reorder` for a dict whose keys
            changed order.
        path: where it is, as people write it: in the new state, or in the old one for what was removed.
        old: the old value, None for `add`; the old keys for `reorder`.
        new: the new value, None for `remove`; the new keys for `reorder`.
        old_path: where it was in the old state if that differs from `path`; None otherwise and for `add`.
        where: `path` in wire coordinates.
    """

    op: ChangeOp
    path: str
    old: Wire = None
    new: Wire = None
    old_path: str | None = None
    where: Path = ()


def compare_states(a: Wire, b: Wire) -> list[Change]:
    """List what differs between two states, in the order in which it stands in them.

    Args:
        a: The old state, a wire value.
        b: The new state.

    Returns:
        The changes; empty when the states are equal in every respect. Values are parts of `a` and `b`, not copies.
    """
    return describe_ops(a, b, diff(a, b))


def describe_ops(a: Wire, b: Wire, ops: Sequence[Op]) -> list[Change]:
    """Turn operations that lead from `a` to `b` into changes: for neighbours, whose operations are recorded.

    Args:
        a: The state before the operations.
        b: The state after them.
        ops: The operations, in order.
    """
    shifts = [(number, op) for number, op in enumerate(ops) if op[0] in _SHIFTING]
    numbers = [number for number, _ in shifts]
    shifting = [op for _, op in shifts]
    found: dict[tuple[ChangeOp, Path], Change] = {}
    for number, op in enumerate(ops):
        earlier = shifting[: bisect_left(numbers, number)]
        later = shifting[bisect_right(numbers, number) :]
        for change in _changes_of(op, _Places(a, b, earlier, later)):
            found.setdefault((change.op, change.where), change)
    order = _Order(a, b)
    return sorted(found.values(), key=order.of)


_SHIFTING: Final = frozenset({"x", "m"})
"""Operations after which other values stand at other places."""


class _Missing:
    """What stands where a state has nothing."""


_MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class _Places:
    """The two states, and what moved values to other places before and after the operation that is looked at."""

    a: Wire
    b: Wire
    earlier: Sequence[Op]
    later: Sequence[Op]

    def old(self, path: Path) -> Path | None:
        """Where the value now at `path` was in the old state; None if it was not there."""
        for op in reversed(self.earlier):
            before = _before(op, path)
            if before is None:
                return None
            path = before
        return None if isinstance(_at(self.a, path), _Missing) else path

    def new(self, path: Path) -> Path:
        """Where what is now at `path` ends up in the new state."""
        for op in self.later:
            path = path_after(op, path)
        return path

    def changed(self, path: Path, op: ChangeOp = "change", to: Path | None = None) -> Change:
        """The change of one value, which was there before or was not.

        Args:
            path: Where it is.
            op: What to call it if it was there before.
            to: Where it goes, if it moves.
        """
        old_path = self.old(path)
        if old_path is None:
            return self.added(path)
        old_path = _whole_value(self.a, old_path)
        new_path = _whole_value(self.b, self.new(path if to is None else to))
        old_text, text = format_path(old_path), format_path(new_path)
        return Change(
            op,
            text,
            _value(self.a, old_path),
            _value(self.b, new_path),
            old_path=None if old_text == text else old_text,
            where=new_path,
        )

    def added(self, path: Path) -> Change:
        """The change of a value that is new."""
        new_path = self.new(path)
        return Change("add", format_path(new_path), None, _value(self.b, new_path), where=new_path)

    def removed(self, path: Path) -> Iterator[Change]:
        """The change of a value that is taken away, if it was in the old state."""
        old_path = self.old(path)
        if old_path is not None:
            yield Change("remove", format_path(old_path), _value(self.a, old_path), None, where=old_path)


def _changes_of(op: Op, places: _Places) -> Iterator[Change]:
    """What one operation changed."""
    path = op_path(op)
    match op:
        case ["x", _, int(start), int(removed), list(items)]:
            # Elements replaced one for one are changes; what is left over on either side was removed or added.
            for offset in range(max(removed, len(items))):
                element = (*path, start + offset)
                if offset >= removed:
                    yield places.added(element)
                elif offset >= len(items):
                    yield from places.removed(element)
                else:
                    yield places.changed(element)
        case ["a", _, int(length), list(items)]:
            for offset in range(len(items)):
                yield places.added((*path, length + offset))
        case ["d", _]:
            yield from places.removed(path)
        case ["m", _, list(target)]:
            yield places.changed(path, "move", tuple(step for step in target if isinstance(step, (str, int))))
        case ["o", _, list()]:
            change = places.changed(path)
            yield replace(change, op="reorder", old=_keys(change.old), new=_keys(change.new))
        case _:
            yield places.changed(path)


def _before(op: Op, path: Path) -> Path | None:
    """Where the value at `path` was before a shifting operation; None if that put it there."""
    own = op_path(op)
    match op:
        case ["x", _, int(start), int(removed), list(items)] if path[: len(own)] == own and len(path) > len(own):
            position = path[len(own)]
            if not isinstance(position, int) or position < start:
                return path
            if position < start + len(items):
                return None
            return (*own, position - len(items) + removed, *path[len(own) + 1 :])
        case ["m", _, list(steps)] if list(path[: len(steps)]) == steps:
            return own + path[len(steps) :]
        case _:
            return path


def path_after(op: Op, path: Path) -> Path:
    """Where the value at `path` is after a shifting operation that does not take it away."""
    own = op_path(op)
    if path[: len(own)] != own:
        return path
    match op:
        case ["x", _, int(start), int(removed), list(items)] if len(path) > len(own):
            position = path[len(own)]
            if not isinstance(position, int) or position < start:
                return path
            return (*own, position - removed + len(items), *path[len(own) + 1 :])
        case ["m", _, list(steps)]:
            return (*(step for step in steps if isinstance(step, (str, int))), *path[len(own) :])
        case _:
            return path


def _whole_value(root: Wire, path: Path) -> Path:
    """Lift a path to the typed value whose inner facts it points at: a datetime is one thing, not a zone and a text."""
    node = root
    for depth, step in enumerate(path):
        if is_envelope(node) and (step != VALUE or depth == len(path) - 1):
            return path[:depth]
        node = _value(node, (step,))
    return path


def _at(root: Wire, path: Path) -> Wire | _Missing:
    node = root
    for step in path:
        found = _child(node, step)
        if isinstance(found, _Missing):
            return found
        node = found
    return node


def _child(node: Wire, step: str | int) -> Wire | _Missing:
    if isinstance(node, dict) and isinstance(step, str):
        return node.get(step, _MISSING)
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    return _MISSING


def _value(root: Wire, path: Path) -> Wire:
    """The value at a place, None where there is none."""
    found = _at(root, path)
    return None if isinstance(found, _Missing) else found


def _keys(value: Wire) -> Wire:
    return list(value) if isinstance(value, dict) else None


class _Order:
    """The order in which changes stand in the states: the old one for what was removed, the new one for all else."""

    def __init__(self, a: Wire, b: Wire) -> None:
        self._a, self._b = a, b
        self._ranks: dict[int, dict[str, int]] = {}

    def of(self, change: Change) -> tuple[int, ...]:
        node = self._a if change.op == "remove" else self._b
        positions: list[int] = []
        for step in change.where:
            if isinstance(step, int):
                positions.append(step)
            elif isinstance(node, dict):
                ranks = self._ranks.get(id(node))
                if ranks is None:
                    ranks = self._ranks[id(node)] = {key: rank for rank, key in enumerate(node)}
                positions.append(ranks.get(step, 0))
            node = _value(node, (step,))
        return tuple(positions)
