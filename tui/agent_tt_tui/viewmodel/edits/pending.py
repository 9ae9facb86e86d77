"""Edits that no fork has run with yet: of one step's state or calls, of steps, and of later requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.comparing.values.states import compare_states
from agent_tt.errors import InvalidEdit
from agent_tt.forking.editing.edits import apply_edits, with_old_values
from agent_tt_tui.format import counted
from agent_tt_tui.viewmodel.edits.subjects import beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Edit

_ORDER: Final = {"state": 0, "result": 1, "error": 1, "answer": 1, "step": 2}
"""In which order they are made: a state is edited as it is shown, before a step of it is undone."""

_CALLS: Final = frozenset({"result", "error", "answer"})


@dataclass(frozen=True, slots=True)
class Pending:
    """What a person changed at a step; the recording itself is never touched.

    Attributes:
        step: The step whose state or calls are edited; where only steps are muted, the one that was shown.
        recorded: The step's state as it was recorded; shared, never to be changed.
        state: The state with all edits of it; shares with `recorded` what no edit touched.
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
        """All edits in the order in which a fork makes them, each with the value that it replaces."""
        edits = (edit for group in self.groups for edit in group)
        return tuple(sorted(edits, key=lambda edit: _ORDER.get(edit.target, 3)))

    @property
    def is_anchored(self) -> bool:
        """Whether the fork has to begin at `step`: its state or its calls are edited."""
        return any(edit.target == "state" or edit.target in _CALLS for edit in self.edits)

    @property
    def place(self) -> str:
        """Where the edits are, in words: `after 6` of a state, `in 6` of calls; "" where only steps are muted."""
        targets = {edit.target for edit in self.edits}
        return f"after {self.step}" if "state" in targets else f"in {self.step}" if targets & _CALLS else ""

    @property
    def words(self) -> str:
        """How many edits there are, and where: `2 edits after 3`."""
        count = len(self.edits)
        return f"{counted(count, 'edit')} {self.place}".rstrip()

    def muted(self) -> frozenset[int]:
        """The steps that are muted."""
        return frozenset(edit.step for edit in self.edits if edit.target == "step" and edit.step is not None)

    def steps(self) -> frozenset[int]:
        """The steps that something was edited of: muted ones, and the one whose state or calls were."""
        return self.muted() | ({self.step} if self.is_anchored else frozenset())

    def fork_step(self, shown: int) -> int:
        """The step that a fork begins after, where `shown` is the one on the screen."""
        return self.step if self.is_anchored else max(shown, *self.muted(), 0)

    def of_call(self, step: int, call: int) -> tuple[Edit, ...]:
        """The edits of a call: one, or several of parts of its result."""
        return tuple(e for e in self.edits if e.target in _CALLS and (e.step, e.call) == (step, call))

    def add(self, edits: Sequence[Edit]) -> Pending:
        """Make edits at once; a value that is set twice in a row counts as one edit, a call's second as its only one.

        Of a call's result several parts may be edited.

        Args:
            edits: Their paths are meant for `state`, or for what the edits before them make of it.

        Returns:
            The edits with these; the same object where they change nothing.

        Raises:
            InvalidPath: A path cannot be read.
            InvalidEdit: An edit does not fit the state; a step is muted that comes after the edited one.
        """
        states = [edit for edit in edits if edit.target == "state"]
        if len(states) == len(edits) and not compare_states(self.state, apply_edits(self.state, edits)):
            return self
        kept = self.groups
        if kept and _set_one_value(kept[-1], edits):
            kept = kept[:-1]
        of_calls = [edit for edit in edits if edit.target in _CALLS]
        kept = tuple(group for group in kept if not any(_replaces(e, of_calls) for e in group))
        added = self._with((*kept, tuple(edits)))
        late = max(added.muted(), default=0)
        if added.step in added.muted() and any(edit.target in _CALLS for edit in added.edits):
            raise InvalidEdit(f"step {added.step} cannot be muted: one of its calls is edited")
        if added.is_anchored and late > added.step:
            raise InvalidEdit(f"step {late} cannot be muted: what is edited at step {added.step} comes before it")
        return added

    def undo(self) -> Pending:
        """Take back what was done last."""
        return self._with(self.groups[:-1])

    def without(self, index: int) -> Pending:
        """Take back one group of edits.

        Raises:
            InvalidEdit, InvalidPath: A later edit does not fit without it.
        """
        return self._with((*self.groups[:index], *self.groups[index + 1 :]))

    def unmuted(self, step: int) -> Pending:
        """Take back that a step is muted."""
        return self._with(tuple(g for g in self.groups if not any(e.target == "step" and e.step == step for e in g)))

    def _with(self, groups: tuple[tuple[Edit, ...], ...]) -> Pending:
        known = iter(with_old_values(self.recorded, [e for group in groups for e in group if e.target == "state"]))
        grouped = tuple(tuple(next(known) if e.target == "state" else e for e in group) for group in groups)
        state = apply_edits(self.recorded, [e for group in grouped for e in group if e.target == "state"])
        changes = tuple(compare_states(self.recorded, state))
        if not changes:  # they take each other back
            state = self.recorded
            grouped = tuple(filter(None, (tuple(e for e in group if e.target != "state") for group in grouped)))
        return Pending(self.step, self.recorded, state, grouped, changes)


def _replaces(before: Edit, edits: Sequence[Edit]) -> bool:
    """Whether later edits of the same call leave nothing of an earlier one."""
    same = [e for e in edits if before.target in _CALLS and (e.step, e.call) == (before.step, before.call)]
    return any(not beside([before], edit) for edit in same)


def _set_one_value(before: Sequence[Edit], after: Sequence[Edit]) -> bool:
    """Whether both set the same value of the state and nothing else."""
    if len(before) != 1 or len(after) != 1:
        return False
    both = (before[0], after[0])
    return all(e.op == "set" and e.target == "state" for e in both) and before[0].path == after[0].path
