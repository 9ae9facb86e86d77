"""Edits of one step's state that nothing has run with yet."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from agent_tt.comparing.states import compare_states
from agent_tt.forking.edits import apply_edits, with_old_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.states import Change
    from agent_tt.model import Edit


@dataclass(frozen=True, slots=True)
class Pending:
    """What a person changed in the state after a step; the recording itself is never touched.

    Attributes:
        step: The step.
        recorded: The state as it was recorded; shared, never to be changed.
        state: The state with all edits; shares with `recorded` what no edit touched.
        groups: The edits, those that were made at once together.
        changes: What differs between `recorded` and `state`.
    """

    step: int
    recorded: Wire
    state: Wire
    groups: tuple[tuple[Edit, ...], ...] = ()
    changes: tuple[Change, ...] = ()

    @classmethod
    def begin(cls, step: int, recorded: Wire) -> Pending:
        """No edits yet."""
        return cls(step, recorded, recorded)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits in order, each with the value that it replaces."""
        return tuple(edit for group in self.groups for edit in group)

    def add(self, edits: Sequence[Edit]) -> Pending:
        """Make edits at once; a value that is set twice in a row counts as one edit.

        Args:
            edits: Their paths are meant for `state`, or for what the edits before them make of it.

        Returns:
            The edits with these; the same object where they change nothing.

        Raises:
            InvalidPath: A path cannot be read.
            InvalidEdit: An edit does not fit the state.
        """
        if not compare_states(self.state, apply_edits(self.state, edits)):
            return self
        again = bool(self.groups) and _set_one_value(self.groups[-1], edits)
        return self._with((*(self.groups[:-1] if again else self.groups), tuple(edits)))

    def undo(self) -> Pending:
        """Take back what was done last."""
        return self._with(self.groups[:-1])

    def _with(self, groups: tuple[tuple[Edit, ...], ...]) -> Pending:
        sizes = [len(group) for group in groups]
        edits = with_old_values(self.recorded, [edit for group in groups for edit in group])
        state = apply_edits(self.recorded, edits)
        changes = tuple(compare_states(self.recorded, state))
        if not changes:
            return Pending.begin(self.step, self.recorded)
        ends = list(accumulate(sizes))
        grouped = tuple(edits[end - size : end] for end, size in zip(ends, sizes, strict=True))
        return Pending(self.step, self.recorded, state, grouped, changes)


def _set_one_value(before: Sequence[Edit], after: Sequence[Edit]) -> bool:
    """Whether both set the same value and nothing else."""
    if len(before) != 1 or len(after) != 1:
        return False
    return before[0].op == after[0].op == "set" and before[0].path == after[0].path
