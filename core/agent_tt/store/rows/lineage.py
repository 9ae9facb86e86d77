"""Where a run's steps and checkpoints lie: its own rows, and its ancestors' up to the step it was forked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.errors import Damaged, RunNotFound, StepNotFound
from agent_tt.history.rows import whole
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store.rows import columns
from agent_tt.store.tables.definitions import RUNS, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.history.log.log import StateLog
    from agent_tt.history.rows import Row
    from agent_tt.store.tables.asking import Rows

__all__ = ["Lineage", "Position", "Stretch", "last_own_step"]

_HINT: Final = "Run `agent-tt verify` on the store."
_MOST_ANCESTORS: Final = 256
"""Forks of forks; deeper ones are only made by someone who wants to see us fall."""


class Stretch(NamedTuple):
    """Steps `first`..`last` (both included; None: open-ended) as rows of one run."""

    run: int
    first: int
    last: int | None


class Position(NamedTuple):
    """A checkpoint.

    Attributes:
        own: True if the step took it itself; False if it is the newest earlier one of the step's track.
    """

    track: int
    seq: int
    own: bool = True


class _Origin(NamedTuple):
    run: int
    parent: int | None
    fork_step: int


class Lineage:
    """Looks steps up through forks. What never changes (a run's parent, a track's run) is remembered."""

    def __init__(self, rows: Rows, log: StateLog) -> None:
        self.rows = rows
        self._log = log
        self._numbers: dict[str, int] = {}
        self._origins: dict[int, _Origin] = {}
        self._track_origins: dict[int, Row] = {}
        self._gone: set[int] = set()

    def number(self, run_id: str) -> int:
        """The row number of a run.

        Raises:
            RunNotFound: no run has that id.
        """
        known = self._numbers.get(run_id)
        if known is None:
            found = self.rows.query("SELECT run FROM runs WHERE id = ?", (run_id,))
            if not found:
                raise RunNotFound(f"no run {run_id!r}", hint="`agent-tt runs` lists what there is.")
            known = self._numbers[run_id] = int(found[0][0])
        return known

    def forget(self, run_ids: Iterable[str], runs: Iterable[int]) -> None:
        """Forget runs that were deleted, by their ids and row numbers."""
        for run_id in run_ids:
            self._numbers.pop(run_id, None)
        for run in runs:
            self._origins.pop(run, None)
        self._track_origins.clear()

    def origin(self, run: int) -> tuple[int | None, int]:
        """The run that a run was forked from, and the step it was forked at (0 where there is none)."""
        known = self._origins.get(run)
        if known is None:
            found = RUNS.read(self.rows, "run = ?", (run,))
            if not found and (run in self._gone or run in self._numbers.values()):  # it was there when it was asked for
                # Its id may be that of another row by now: a thread that was pruned is written anew under it.
                self._gone.add(run)
                self._numbers = {run_id: number for run_id, number in self._numbers.items() if number != run}
                raise RunNotFound("the run was deleted meanwhile", hint="`agent-tt runs` lists what there is.")
            if not found:
                raise Damaged(f"the row of run number {run} is missing", hint=_HINT)
            what = f"the row of run number {run}"
            parent, fork_step = (None if value is None else whole(value, what) for value in found[0][6:8])
            if (parent is not None or fork_step is not None) and not RUNS.holds(found[0]):
                raise Damaged(f"{what} is damaged: it is not what was recorded", hint=_HINT)
            self._gone.discard(run)  # the number of a row that is gone may be given again
            known = self._origins[run] = _Origin(run, parent, fork_step or 0)
        return known.parent, known.fork_step

    def stretches(self, run: int) -> list[Stretch]:
        """Which run holds which steps, from step 1 on.

        Raises:
            Damaged: a run descends from itself, or its ancestor is missing.
        """
        walk: list[Stretch] = []
        last: int | None = None
        for ancestor in self._ancestry(run):
            _, fork_step = self.origin(ancestor)
            walk.append(Stretch(ancestor, fork_step + 1, last))
            last = fork_step if last is None else min(fork_step, last)
        walk.reverse()
        return walk

    def _ancestry(self, run: int) -> Iterator[int]:
        """The run, its parent, and so on."""
        seen: set[int] = set()
        current: int | None = run
        while current is not None:
            if current in seen:
                raise Damaged(f"run number {run} descends from itself", hint=_HINT)
            if len(seen) > _MOST_ANCESTORS:
                raise Damaged(f"run number {run} has more than {_MOST_ANCESTORS} ancestors", hint=_HINT)
            seen.add(current)
            yield current
            current, _ = self.origin(current)

    def holder(self, run: int, step: int) -> int:
        """The run whose row step `step` of a run is."""
        for stretch in self.stretches(run):
            if stretch.first <= step and (stretch.last is None or step <= stretch.last):
                return stretch.run
        raise StepNotFound(f"there is no step {step}")

    def count(self, run: int) -> int:
        """The number of the last step, those of ancestors included; 0 when there is none."""
        parent, fork_step = self.origin(run)
        return max(self.own_last(run), fork_step if parent is not None else 0)

    def own_last(self, run: int) -> int:
        """The number of the last step that is a run's own row, 0 when there is none."""
        _, fork_step = self.origin(run)
        last = last_own_step(self.rows, run, fork_step)
        if last is None:
            self._origins.pop(run, None)
            self.origin(run)  # which tells where the run is gone
        return last or 0

    def position(self, run: int, step: int) -> Position:
        """The checkpoint that shows the state after a step.

        Raises:
            StepNotFound: the run has no such step.
        """
        parent, fork_step = self.origin(run)
        if parent is None or step > fork_step:
            return self._own_position(run, step)
        forks: list[int] = []  # those that share the step with their parent
        holder = run
        for holder in self._ancestry(run):
            parent, fork_step = self.origin(holder)
            if parent is None or step > fork_step:
                break
            forks.append(holder)
        position = self._own_position(holder, step)
        for fork in reversed(forks):
            if step == self.origin(fork)[1]:
                position = self._edited(fork, position)
        return position

    def _edited(self, fork: int, inherited: Position) -> Position:
        """Where a fork keeps the checkpoint that it was forked at, as it was edited."""
        found = self.rows.query(
            "SELECT track FROM tracks WHERE run = ? AND parent = ? AND fork_seq = ?",
            (fork, inherited.track, inherited.seq),
        )
        return Position(int(found[0][0]), inherited.seq, inherited.own) if found else inherited

    def _own_position(self, run: int, step: int) -> Position:
        if step == 0:
            return Position(self._main_track(run), 0)
        found = STEPS.read(self.rows, "run = ? AND step = ?", (run, step))
        if not found:
            self._origins.pop(run, None)
            last = self.count(run)
            if 0 < step <= last:
                raise Damaged(f"step {step} is missing", hint=_HINT)
            raise StepNotFound(f"there is no step {step}: the last one is {last}")
        if not STEPS.holds(found[0]):
            raise Damaged(f"step {step} is damaged: its row is not what was recorded", hint=_HINT)
        track, seq = (None if value is None else whole(value, f"step {step}") for value in found[0][14:16])
        if track is not None and seq is not None:
            return Position(track, seq)
        return self._newest_before(run, step, track)

    def _newest_before(self, run: int, step: int, track: int | None) -> Position:
        """What a step without a checkpoint of its own shows: the newest earlier one of its track, else of `main`."""
        if track is None:
            found = self.rows.query("SELECT track FROM tracks WHERE run = ? AND name = 'main'", (run,))
            track = int(found[0][0]) if found else None
        found = self.rows.query(
            "SELECT seq FROM steps WHERE run = ? AND step < ? AND track = ? AND seq IS NOT NULL"
            " ORDER BY step DESC LIMIT 1",
            (run, step, track),
        )
        if found:
            return Position(track or 0, whole(found[0][0], f"a step of run number {run}"), own=False)
        parent, fork_step = self.origin(run)
        start = self.position(run, fork_step if parent is not None else 0)
        return Position(start.track, start.seq, own=False)

    def _main_track(self, run: int) -> int:
        found = self.rows.query("SELECT track FROM tracks WHERE run = ? AND name = 'main'", (run,))
        if not found:
            self._origins.pop(run, None)
            self.origin(run)  # which tells where the run is gone
            raise StepNotFound("the run has no state")
        return int(found[0][0])

    def step_of(self, track: int, seq: int) -> int | None:
        """The step whose end a checkpoint is; None where none says so.

        0 for the initial input, the fork step for the edit that a fork begins with.
        """
        for segment in reversed(self._log.segments(track, seq)):
            if segment.first <= seq <= segment.last:
                return self._step_in(segment.track, seq)
        return None

    def _step_in(self, track: int, seq: int) -> int | None:
        origin = self._track_origins.get(track)
        if origin is None:
            found = self.rows.query("SELECT run, name, parent, fork_seq FROM tracks WHERE track = ?", (track,))
            if not found:
                return None
            origin = self._track_origins[track] = found[0]
        run, name, parent, fork_seq = origin
        if seq == fork_seq:
            return self._step_of_first(run, parent, seq)
        # In a flat run the numbers are equal; only where they are not is the run searched.
        if self.rows.query(
            "SELECT 1 FROM steps WHERE run = ? AND step = ? AND track = ? AND seq = ?", (run, seq, track, seq)
        ):
            return seq
        if seq == 0 and name == "main":
            return 0
        found = self.rows.query("SELECT step FROM steps WHERE run = ? AND track = ? AND seq = ?", (run, track, seq))
        if found:
            return whole(found[0][0], f"a step of run number {run}")
        return None

    def _step_of_first(self, run: int, parent_track: int, seq: int) -> int | None:
        """The step of a fork's first row on a track: the fork step where the edit is, else what it continues."""
        parent, fork_step = self.origin(run)
        if parent is not None:
            edited = self.position(parent, fork_step)
            if (edited.track, edited.seq) == (parent_track, seq):
                return fork_step
        return self.step_of(parent_track, seq)

    def continuation(self, run: int, track: int) -> int:
        """The track on which a run goes on from an ancestor's track: its own of that name, if it has one."""
        found = self.rows.query(
            "SELECT mine.track FROM tracks mine JOIN tracks theirs USING(name) WHERE mine.run = ? AND theirs.track = ?",
            (run, track),
        )
        return int(found[0][0]) if found else track

    def last_seq(self, run: int, track: int) -> int:
        """The last checkpoint of a track that a run can see: its end, or where the run left an ancestor's track."""
        found = self.rows.query("SELECT run FROM tracks WHERE track = ?", (track,))
        if not found:
            raise Damaged(f"track {track} is missing", hint=_HINT)
        ((owner,),) = found
        if owner == run:
            return self._log.last_seq(track) or 0
        limit = next((stretch.last for stretch in self.stretches(run) if stretch.run == owner), None)
        ((last,),) = self.rows.query(
            "SELECT max(seq) FROM steps WHERE run = ? AND track = ? AND step <= ?", (owner, track, limit or 0)
        )
        return 0 if last is None else whole(last, f"a step on track {track}")


def last_own_step(rows: Rows, run: int, fork_step: int) -> int | None:
    """The number of the last step that is a run's own row, None when there is none.

    Where its last row is not as it was written, what is likely is taken: as many steps as there are rows, or as the
    run's end counted, never a number that has nothing to do with how many rows there are.
    """
    found = STEPS.read(rows, "run = ? ORDER BY step DESC LIMIT 1", (run,))
    meta = rows.query("SELECT meta FROM runs WHERE run = ?", (run,))
    counted = RunMeta.counts.of(columns.mapping_from_text(meta[0][0]))[0] if meta else None
    last = found[0][1] - fork_step if found and STEPS.holds(found[0]) else None
    if last is not None and (counted is None or last >= counted):
        return fork_step + int(last)
    ((count,),) = rows.query("SELECT count(*) FROM steps WHERE run = ?", (run,))
    if counted is not None and count <= counted <= 2 * count:
        return fork_step + counted
    return fork_step + int(last or count) if count else None
