"""Dropping states of steps: the steps stay, as steps that took no checkpoint, and every other state is as it was.

What a dropped checkpoint changed is part of the one after it. The state histories that it is in, and those that go on
from them in forks, are written anew under new numbers: a reader that has the file open mixes no old row with a new one.
The first and the last checkpoint of a history stay, as they do where `checkpoints=` leaves some out: with them a run
begins, and with them it ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, Refused, StepNotFound, UsageError
from agent_tt.history.rows import row_key
from agent_tt.model.facts import RunFacts, StepFacts
from agent_tt.model.facts.runs import DroppedFacts
from agent_tt.model.facts.stored import RunMeta, StepMeta
from agent_tt.store.anew import StatesAnew, in_one_transaction, rows_as_written
from agent_tt.store.deleting import sweep_rows
from agent_tt.store.keeping import row_number
from agent_tt.store.rows import columns
from agent_tt.store.tables.definitions import RUNS, STEPS, TRACKS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Row

__all__ = ["drop_states"]

_MOST_LISTED: Final = 10


def drop_states(
    path: Path, run_id: str, steps: Sequence[int], *, at: int, is_tried: bool, besides: Callable[[], None]
) -> tuple[list[int], bool]:
    """Drop the states of some steps of a run, all of them or none.

    Args:
        path: the store.
        run_id: the run.
        steps: the steps; those that were dropped before are left as they are.
        at: when, in microseconds since the epoch.
        is_tried: whether it is only tried.
        besides: takes away what was made of the states elsewhere; called when it is committed.

    Returns:
        The steps whose states went, or would; and whether what the file has let go is overwritten.

    Raises:
        RunNotFound, StepNotFound: there is no such run or step.
        UsageError: the step took no checkpoint, or its checkpoint is one that stays.
        Refused: forks begin there, or a run of the store is being recorded; `runs` names them.
        Damaged: something cannot be read, so that it cannot be written anew.
    """
    gone: list[int] = []

    def write(states: StatesAnew) -> None:
        gone.extend(_Dropping(states, row_number(states.tx, run_id)).drop(sorted(set(steps)), at))

    is_clean = in_one_transaction(path, write, is_tried=is_tried, besides=besides)
    return gone, is_clean


class _Dropping:
    """Drops states of one run in one transaction."""

    def __init__(self, states: StatesAnew, run: int) -> None:
        self._tx = states.tx
        self._run = run
        self._before = states.before
        self._states = states

    def drop(self, steps: Sequence[int], at: int) -> list[int]:
        tx = self._tx
        gone: dict[int, dict[int, int]] = {}  # of each track the steps by their checkpoints
        for step in steps:
            place = self._place(step)
            if place is not None:
                gone.setdefault(place[0], {})[place[1]] = step
        self._check_forks(gone)
        dropped = sorted(step for each in gone.values() for step in each.values())
        if not dropped:
            return []
        tracks = {track: self._with_forks(track) for track in gone}
        agents = self._states.agents()
        runs = [*dict.fromkeys(int(row[1]) for rows in tracks.values() for row in rows)]
        self._states.without_dictionaries({agents[run] for run in runs}, runs)
        for track, rows in tracks.items():
            self._write_anew(rows, gone[track].keys(), agents)
        for step in dropped:
            self._say(step, at)
        (row,) = rows_as_written(tx, RUNS, "run = ?", (self._run,))
        facts = columns.mapping_from_text(row[14])
        metadata = dict(RunMeta.metadata.of(facts).raw)
        before = metadata.get(RunFacts.dropped.key)
        said: Wire = [*(before if isinstance(before, list) else ()), DroppedFacts.once(at, dropped)]
        facts = {**facts, RunMeta.metadata.key: {**metadata, RunFacts.dropped.key: said}}
        RUNS.update(tx, (self._run,), {"meta": columns.mapping_to_text(facts)})
        sweep_rows(tx, is_alone=self._states.is_alone)
        return dropped

    def _place(self, step: int) -> tuple[int, int] | None:
        """Track and number of the checkpoint of a step; None where it was dropped before."""
        found = [*rows_as_written(self._tx, STEPS, "run = ? AND step = ?", (self._run, step))]
        if not found:
            what = "the input, which the run begins with" if step == 0 else "no step of this run's own"
            hint = "Name a later step." if step == 0 else "The first steps of a fork are those of the run it is from."
            raise (UsageError if step == 0 else StepNotFound)(f"step {step} is {what}", hint=hint)
        track, seq = found[0][14:16]
        facts = StepMeta(columns.mapping_from_text(found[0][16])).extra
        if seq is None and facts.state_dropped is not None:
            return None
        if seq is None:
            raise UsageError(f"step {step} took no checkpoint: there is nothing to drop")
        if facts.checkpoint_id is not None:
            hint = "Its own checkpointer takes them away."
            raise UsageError(f"the checkpoint of step {step} is one that LangGraph goes on from", hint=hint)
        if self._before.begins_with(row_key(track, seq)):
            raise UsageError(f"the checkpoint of step {step} is the first of its state: it stays")
        if seq == self._before.last_seq(track):
            raise UsageError(f"the checkpoint of step {step} is the last of its state, how it ended: it stays")
        return int(track), int(seq)

    def _check_forks(self, gone: Mapping[int, Mapping[int, int]]) -> None:
        """Refuse where a fork begins with a state that would go.

        Raises:
            Refused: there are such forks.
        """
        found: dict[str, None] = {}
        for track, steps in gone.items():
            for seq, step in steps.items():
                found |= dict.fromkeys(
                    str(name)
                    for (name,) in self._tx.query(
                        "SELECT name FROM runs WHERE (parent = ? AND fork_step = ?)"
                        " OR run IN (SELECT run FROM tracks WHERE parent = ? AND fork_seq = ?) ORDER BY run",
                        (self._run, step, track, seq),
                    )
                )
        names = [*found]
        if names:
            more = f" and {len(names) - _MOST_LISTED} more" * (len(names) > _MOST_LISTED)
            raise Refused(
                f"{', '.join(names[:_MOST_LISTED])}{more} begin{'s' * (len(names) == 1)} with a state that would go",
                runs=names,
                hint="Delete the forks first, or leave the step out.",
            )

    def _with_forks(self, track: int) -> list[Row]:
        """The row of a track and those of all that go on from it, whoever is gone on from first.

        Raises:
            Damaged: one goes on from itself.
        """
        rows = [*rows_as_written(self._tx, TRACKS, "track = ?", (track,))]
        for row in rows:  # it grows: those that go on from these follow
            rows += rows_as_written(self._tx, TRACKS, "parent = ? ORDER BY track", (row[0],))
            if len({each[0] for each in rows}) < len(rows):
                raise Damaged(f"track {row[0]} descends from itself", hint="`agent-tt verify` says more.")
        return rows

    def _write_anew(self, rows: Sequence[Row], gone: Collection[int], agents: Mapping[int, str]) -> None:
        """Write a track without some of its checkpoints, and those that go on from it."""
        tx = self._tx
        tracks: dict[int, int] = {}
        numbers: dict[int, dict[int, int]] = {}  # of each track what checkpoints were called, and are
        for row in rows:
            track, run, name, parent, fork_seq, *_ = row
            above = numbers.get(parent, {})
            began = above.get(fork_seq, fork_seq)
            states, _ = self._states.take(track)
            kept = [seq for seq, _ in states if tracks or seq not in gone]  # of the first track alone some go
            own = {seq: number for number, seq in enumerate(kept, began or 0)}
            numbers[track] = {seq: number for seq, number in above.items() if seq < fork_seq} | own
            TRACKS.delete(tx, "track = ?", (track,))
            new = tx.add_track(run, name, tracks.get(parent, parent), began)
            tracks[track] = new
            self._states.write(new, agents[run], _without(self._states.states(track, states), own), _as_it_is)
            for step in [*rows_as_written(tx, STEPS, "run = ? AND track = ?", (run, track))]:
                now = {"track": new, "seq": None if step[15] is None else own.get(step[15])}
                STEPS.rewrite(tx, STEPS.with_digests(step[:-1]), now)

    def _say(self, step: int, at: int) -> None:
        """Say of a step that its state was dropped, and when."""
        (row,) = rows_as_written(self._tx, STEPS, "run = ? AND step = ?", (self._run, step))
        facts = columns.mapping_from_text(row[16])
        extra = {**StepMeta(facts).extra.raw, **StepFacts.state_dropped.entry(at)}
        changes = {"meta": columns.mapping_to_text({**facts, StepMeta.extra.key: extra})}
        STEPS.rewrite(self._tx, STEPS.with_digests(row[:-1]), changes)


def _without(states: Iterator[Row], numbers: Mapping[int, int]) -> Iterator[Row]:
    """The states that stay, by their new numbers; where one goes that others may have written to, so may they here."""
    carried = 0
    for seq, state, flags in states:
        if seq in numbers:
            yield numbers[seq], state, flags | carried
            carried = 0
        else:
            carried |= flags


def _as_it_is(value: Wire, _name: str) -> Wire:
    """What may be kept of a part of a state that is kept already."""
    return value
