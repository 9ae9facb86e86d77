"""States of a run that share what they have in common, so that a neighbour costs what changed."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from agent_tt.errors import Damaged
from agent_tt.history.changes.ops import apply, op_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.protocols import RunSource

_KEPT = 16
"""States kept; neighbours share most of their parts."""


class SharedStates:
    """Gives the states of one run, which are never changed. For one thread at a time."""

    def __init__(self, source: RunSource, run_id: str) -> None:
        self._source = source
        self._run_id = run_id
        self._kept: OrderedDict[int, Wire] = OrderedDict()

    def forget(self) -> None:
        """Read everything anew from now on."""
        self._kept.clear()

    def has(self, number: int) -> bool:
        """Whether the state after a step is kept."""
        return number in self._kept

    def get(self, number: int) -> Wire:
        """The state after a step.

        Raises:
            StepNotFound: The run has no such step.
            Damaged: It cannot be rebuilt at all.
        """
        if number not in self._kept:
            self._kept[number] = self._from_neighbour(number)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(number)
        return self._kept[number]

    def _from_neighbour(self, number: int) -> Wire:
        base = self._source.base_step(self._run_id, number) if number else None
        if base is None or base not in self._kept:
            return self._source.state(self._run_id, number)
        try:
            return advance(self._kept[base], self._source.changes(self._run_id, number))
        except Damaged:
            # The source may know another way, or put placeholders where operations are damaged.
            return self._source.state(self._run_id, number)


def advance(state: Wire, ops: Sequence[Op]) -> Wire:
    """Apply operations to a state that others hold too: only the containers on the way to a change are copied.

    Args:
        state: The state before; left as it is.
        ops: The operations; what they hold becomes part of the new state.

    Raises:
        CorruptDelta: They do not fit.
    """
    owned: set[int] = set()
    # Only what is kept alive keeps its identity, and so its place in `owned`.
    alive: list[Wire] = []
    for op in ops:
        state = _own(state, op_path(op), owned, alive)
        if op[0] == "m" and isinstance(op[-1], list):
            state = _own(state, tuple(part for part in op[-1] if isinstance(part, (str, int))), owned, alive)
        state = apply(state, [op])
    return state


def _own(state: Wire, path: Path, owned: set[int], alive: list[Wire]) -> Wire:
    """Copy the containers along a path, the root included, that are not ours yet."""
    state = _copy(state, owned, alive)
    node = state
    for part in path:
        match node, part:
            case dict(), str() if part in node:
                node[part] = below = _copy(node[part], owned, alive)
            case list(), int() if 0 <= part < len(node):
                node[part] = below = _copy(node[part], owned, alive)
            case _:
                break
        node = below
    return state


def _copy(node: Wire, owned: set[int], alive: list[Wire]) -> Wire:
    if id(node) in owned or not isinstance(node, (dict, list)):
        return node
    copy = node.copy()
    owned.add(id(copy))
    alive.append(copy)
    return copy
