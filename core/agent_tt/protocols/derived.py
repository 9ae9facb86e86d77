"""What follows about runs from their rows, steps and states, for sources that do not know it themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.codec.paths import format_path, get
from agent_tt.errors import AgentTTError, PathNotFound
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import trace
from agent_tt.history.digest import digest
from agent_tt.history.payloads.damage import find_placeholder
from agent_tt.model import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Run, Step

__all__ = [
    "StateCursor",
    "base_step",
    "changes",
    "forks",
    "lasting_states",
    "later_steps",
    "next_write",
    "unreadable",
    "written_at",
]

_PAGE: Final = 64
"""Steps that are looked at together for the last one of a track."""


class _Source(Protocol):
    """What is asked of a `RunSource` here."""

    def check_step(self, run_id: str, step: int) -> None: ...

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]: ...

    def state(self, run_id: str, step: int) -> Wire: ...

    def cursor(self, run_id: str, step: int) -> object: ...

    def base_step(self, run_id: str, step: int) -> int | None: ...

    def changes(self, run_id: str, step: int) -> list[Op]: ...


class StateCursor:
    """A cursor over states that are read where it moves to. It may share them: read a state, never change it.

    Args:
        read: gives the state after a step.
        step: where it stands at first.
        may_change: whether the step where it stands may take its checkpoint later, and is read again when asked for.
        lasts: whether a state that it gave stays as it is when the cursor moves on.

    Attributes:
        lasts: the same.
    """

    def __init__(
        self, read: Callable[[int], Wire], step: int, *, may_change: bool = False, lasts: bool = False
    ) -> None:
        self._read = read
        self.lasts = lasts
        self._may_change = may_change
        self._step = step
        self._state = read(step)

    @property
    def step(self) -> int:
        """The checkpoint that `state` is."""
        return self._step

    @property
    def state(self) -> Wire:
        """The state after `step`."""
        return self._state

    def seek(self, step: int) -> Wire:
        """Move to checkpoint `step` and give its state."""
        if self._may_change or step != self._step:
            self._state, self._step = self._read(step), step
        return self._state


def lasting_states(source: _Source, run_id: str, step: int) -> Callable[[int], Wire]:
    """What gives the states of a run, each of which stays as it is when the next one is asked for.

    Neighbours share what they have in common where the source's cursor says that its states last; else each is a copy.
    So whoever compares them by their objects misses no change.

    Args:
        source: where the run lies.
        run_id: the run.
        step: the first step that is asked for.
    """
    cursor = source.cursor(run_id, step)
    if isinstance(cursor, StateCursor) and cursor.lasts:
        return cursor.seek
    return lambda at: source.state(run_id, at)


def forks(runs: Sequence[Run], run_id: str, *, deep: bool) -> list[Run]:
    """The runs forked from a run, oldest first; with `deep` also what was forked from those, after these.

    Args:
        runs: all runs, newest first.
        run_id: the run.
        deep: forks of forks too.
    """
    below: dict[str | None, list[Run]] = {}
    for run in reversed(runs):
        below.setdefault(run.parent, []).append(run)
    found: list[Run] = []
    waiting, seen = [run_id], {run_id}
    while waiting:
        new = [run for run in below.get(waiting.pop(0), []) if run.id not in seen]  # a damaged file may go round
        found += new
        if deep:
            seen.update(run.id for run in new)
            waiting += (run.id for run in new)
    return found


def base_step(source: _Source, run_id: str, step: int) -> int | None:
    """The checkpoint before that of a step on the same track; the one it shows, where it took none of its own."""
    source.check_step(run_id, step)
    track, stop = track_at(source, run_id, step), step
    while stop > 1:
        start = max(1, stop - _PAGE)
        for each in reversed(source.steps(run_id, start, stop)):
            if each.track == track and each.seq is not None:
                return each.number
        stop = start
    return 0 if step and track == "main" else None


def track_at(source: _Source, run_id: str, step: int) -> str:
    """The track that the state of a step is on."""
    return next((each.track for each in source.steps(run_id, step, step + 1)), "main")


def changes(source: _Source, run_id: str, step: int) -> list[Op]:
    """The operations between the checkpoint of a step and the one before it."""
    base = source.base_step(run_id, step)
    return [] if base is None else diff(source.state(run_id, base), source.state(run_id, step))


def written_at(
    step: int, path: Path, base_step: Callable[[int], int | None], changes: Callable[[int], list[Op]]
) -> tuple[int, Path]:
    """The step that wrote a value, and where it was then: go back over the changes, and follow the value through them.

    Args:
        step: in whose checkpoint the value is.
        path: where it is there.
        base_step: gives the step that the changes of a step are against; None for the first.
        changes: gives the operations of a step.
    """
    while (before := base_step(step)) is not None:
        for op in reversed(changes(step)):
            earlier = trace(op, path)
            if earlier is None:
                return step, path
            path = earlier
        step = before
    return step, path


def later_steps(source: _Source, run_id: str, step: int) -> Iterator[int]:
    """The steps after one that took checkpoints on its track."""
    track = track_at(source, run_id, step)
    return (later.number for later in source.steps(run_id, step + 1) if later.seq is not None and later.track == track)


def next_write(step: int, path: Path, later: Iterable[int], state: Callable[[int], Wire]) -> int | None:
    """The first of `later` whose state holds something else at a place than that of `step`."""
    before = _digest_at(state(step), path)
    return next((number for number in later if _digest_at(state(number), path) != before), None)


def _digest_at(state: Wire, path: Path) -> bytes | None:
    try:
        return digest(get(state, path))
    except PathNotFound:
        return None


def unreadable(source: _Source, run_id: str) -> Iterator[Problem]:
    """What is damaged of a run: its rows that say so, and the states that cannot be read, in whole or in part."""
    steps = source.steps(run_id)
    for step in steps:
        if step.damaged is not None:
            yield Problem(run_id, step.number, step.damaged)
    for number in range(len(steps) + 1):
        try:
            where = find_placeholder(source.state(run_id, number))
        except AgentTTError as error:
            yield Problem(run_id, number, error.message)
            continue
        if where is not None:
            yield Problem(run_id, number, f"{format_path(where) or 'the state'} cannot be read")
