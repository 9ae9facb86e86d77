"""A replay whose run is kept: the agent's own recording goes into a store, as that of any agent does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from agent_tt._dataclass import dataclass
from agent_tt.protocols import ForwardingWriter
from agent_tt.replaying.null_store import NumberingStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import NewRun, NewStep, Note, Output, Run, StepEnd
    from agent_tt.protocols import RunWriter, Store
    from agent_tt.replaying.null_store import StateCheck

__all__ = ["Keeping", "KeptStore"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where the run of a replay is kept.

    Attributes:
        store: an open store; whoever made this closes it.
        run_id: the id of the run.
        name: its name.
        is_fork: whether its row is there already, waiting to be filled.
    """

    store: Store
    run_id: str
    name: str
    is_fork: bool = False


class KeptStore(NumberingStore):
    """Keeps the run of a process that is checked, and numbers the others.

    Args:
        keeping: where it is kept.
        recorded: the run that is replayed.
        check: compares its states with the recorded ones.
        checked: which recording of the process it is; see `NumberingStore`.
    """

    def __init__(self, keeping: Keeping, recorded: Run, check: StateCheck, *, checked: int) -> None:
        super().__init__(check, checked=checked)
        self._keeping = keeping
        self._recorded = recorded
        self._state_check = check

    def _begin_checked(self, new: NewRun, state: object) -> RunWriter:
        keeping = self._keeping
        new = replace(
            new,
            name=keeping.name,
            code=self._recorded.code if new.code.entry is None else new.code,
            model=new.model or self._recorded.model,
        )
        if keeping.is_fork:
            writer = keeping.store.adopt_run(keeping.run_id, new, state)
        else:
            writer = keeping.store.begin_run(new, state, run_id=keeping.run_id)
        return _KeptWriter(writer, self._state_check)

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note | None:
        """Keep a note on the kept run."""
        return self._keeping.store.add_note(run_id, step, kind, body) if self._is_kept(run_id) else None

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Keep the tags of the kept run."""
        if self._is_kept(run_id):
            self._keeping.store.set_tags(run_id, tags)

    def keep_output(self, run_id: str, output: Output) -> None:
        """Compare what the kept run printed, and keep it."""
        if self._is_kept(run_id):
            self._state_check.check_output(output)
            self._keeping.store.keep_output(run_id, output)

    def _is_kept(self, run_id: str) -> bool:
        return run_id == self._keeping.run_id


class _KeptWriter(ForwardingWriter):
    """The open end of the kept run, whose states are compared with the recorded ones too."""

    def __init__(self, writer: RunWriter, check: StateCheck) -> None:
        self._writer = writer
        self._check = check

    def _forward(self, action: Callable[[RunWriter], T]) -> T:
        return action(self._writer)

    def open_step(self, new: NewStep) -> int:
        number = super().open_step(new)
        self._check.opened(number)
        return number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        self._check.check(number, state)
        super().close_step(number, end, state, track=track)
