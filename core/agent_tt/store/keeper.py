"""Keeping order among the runs of a file: notes, names, pins, archives, deleting; and sweeps."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from agent_tt.model import Note
from agent_tt.protocols import Store
from agent_tt.store import ingest_filter, keeping
from agent_tt.store.liveness import now_us
from agent_tt.store.reader import StoreReader
from agent_tt.store.tables.definitions import NOTES, TAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Deletion, NoteKind, Replay, Run, Sweep
    from agent_tt.model.facts import Place
    from agent_tt.store.file.transaction import Transaction

__all__ = ["StoreKeeper"]


class StoreKeeper(StoreReader, Store):
    """Writes what people say about runs. Each method is one durable commit."""

    def settle_key(self, run_id: str, places: Collection[Place], answer: Wire, *, happened: bool) -> None:
        """Write down whether a call happened that is done once for its key.

        Raises:
            UsageError: it has no key, or what became of it is known.
        """
        from agent_tt.store import done_keys

        with self.database.transaction() as tx:
            done_keys.settle(tx, run_id, places, ingest_filter.admit(answer), happened=happened)

    # ---------------------------------------------------------------- notes, names, pins, the archive

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note:
        """Write a `note`, a `bookmark` or a `watch`."""
        now, words = now_us(), ingest_filter.admit_text(body)
        with self.database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            note = NOTES.insert(tx, (None, run, step, kind, words, now))
        return Note(note, cast("NoteKind", kind), step, words, now)

    def change_note(self, note_id: int, body: str) -> None:
        """Replace what a note, a bookmark or a watch says.

        Raises:
            NotFound: it is gone.
        """
        words = ingest_filter.admit_text(body)
        with self.database.transaction() as tx:
            keeping.change_note(tx, note_id, words)

    def delete_note(self, note_id: int) -> None:
        """Remove a note, a bookmark or a watch; one that is gone already stays gone."""
        with self.database.transaction() as tx:
            NOTES.delete(tx, "note = ?", (note_id,))

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Replace a run's tags."""
        with self.database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            TAGS.delete(tx, "run = ?", (run,))
            keeping.add_tags(tx, run, tags)

    def set_metadata(
        self, run_id: str, metadata: Mapping[str, Wire], *, remove: Sequence[str] = (), step: int | None = None
    ) -> None:
        """Merge into the metadata of a run, or of one of its checkpoints, and take facts away.

        Raises:
            UsageError: `purpose` or `ticket` is not text.
            StepNotFound: the run has no such step.
        """
        facts = keeping.checked_metadata(metadata)
        with self._marking(run_id, step) as (tx, run):
            if step is None:
                keeping.change_metadata(tx, run, facts, remove)
            else:
                keeping.label_metadata(tx, run, step, facts, remove)

    def rename_run(self, run_id: str, name: str) -> None:
        """Rename a run, and with it the forks that are called after it.

        Raises:
            UsageError: the name would name something else too.
        """
        with self.database.transaction() as tx:
            keeping.rename(tx, run_id, name)

    def name_checkpoint(self, run_id: str, step: int, name: str | None) -> None:
        """Names a checkpoint, or takes its name away.

        Raises:
            UsageError: the name would name another step too.
            StepNotFound: the run has no such step.
        """
        with self._marking(run_id, step) as (tx, run):
            keeping.name_checkpoint(tx, run, step, name)

    @contextmanager
    def _marking(self, run_id: str, step: int | None) -> Iterator[tuple[Transaction, int]]:
        """A transaction that writes something down about a run or a checkpoint of it, which must be there."""
        if step is not None:
            self.check_step(run_id, step)
        with self.database.transaction() as tx:
            yield tx, keeping.row_number(tx, run_id)

    def set_pinned(self, run_ids: Sequence[str], *, pinned: bool) -> None:
        """Pin runs, so that they are neither archived nor deleted, or unpin them."""
        with self.database.transaction() as tx:
            keeping.set_pinned(tx, run_ids, pinned=pinned)

    def set_archived(self, run_ids: Sequence[str], *, archived: bool) -> None:
        """Hide runs from lists, or show them again.

        Raises:
            IsPinned: one that is to be archived is pinned; nothing was.
        """
        with self.database.transaction() as tx:
            keeping.set_archived(tx, run_ids, archived=archived)

    # ---------------------------------------------------------------- replays

    def keep_replay(self, replay: Replay) -> Replay:
        """Write down what came of a replay, with its run."""
        from agent_tt.store.rows import replays

        now = now_us()
        with self.database.transaction() as tx:
            number = replays.keep(tx, keeping.row_number(tx, replay.run), replay, now)
        return replace(replays.admitted(replay), id=number, at_us=now)

    # ---------------------------------------------------------------- deleting

    def plan_deletion(self, run_ids: Sequence[str], *, with_forks: bool = False) -> list[Run]:
        """What `delete_runs` would delete now; raises what it would raise, and changes nothing."""
        from agent_tt.store import deleting

        return deleting.plan_deletion(self.database, run_ids, with_forks=with_forks)

    def delete_runs(self, run_ids: Sequence[str], *, with_forks: bool = False) -> Deletion:
        """Delete runs with everything that belongs to them alone: in one transaction, all of them or none.

        Raises:
            HasForks, IsRunning, IsPinned: one of them has to stay; nothing was deleted.
        """
        from agent_tt.store import deleting

        deletion, numbers = deleting.delete_runs(self.database, run_ids, with_forks=with_forks)
        self.lineage.forget([run.id for run in deletion.runs], numbers)
        return deletion

    def prune_runs(
        self, run_ids: Sequence[str], report: Callable[[int, int], None], *, is_gentle: bool = False
    ) -> list[str]:
        """Delete runs, some in a transaction, and make the file smaller; leave those that have to stay."""
        from agent_tt.store import deleting

        gone: list[str] = []
        for ids, numbers in deleting.prune_runs(self.database, run_ids, report, is_gentle=is_gentle):
            self.lineage.forget(ids, numbers)
            gone += ids
        return gone

    def sample_out(self, run_id: str, slow_us: int | None) -> bool:
        """Delete a run that succeeded, and count it, unless there is a reason to keep it."""
        from agent_tt.store import sampling

        number = sampling.sample_out(self.database, run_id, slow_us)
        if number is not None:
            self.lineage.forget([run_id], [number])
        return number is not None

    # ---------------------------------------------------------------- sweeps

    def begin_sweep(self, run_id: str, step: int, definition: Mapping[str, Wire], *, driven: bool = True) -> Sweep:
        """Write a new sweep of a run.

        Raises:
            RunNotFound: the run is not there any more.
        """
        from agent_tt.store.rows import sweeps

        return sweeps.begin(self.database, run_id, step, definition, driven=driven)

    def claim_sweep(self, sweep_id: str, definition: Mapping[str, Wire] | None = None) -> None:
        """Let this process drive a sweep that nobody drives.

        Raises:
            IsRunning: somebody drives it.
            RunNotFound: it is not there any more.
        """
        from agent_tt.store.rows import sweeps

        sweeps.claim(self.database, sweep_id, definition)

    def beat_sweep(self, sweep_id: str) -> None:
        """Write down that this process still drives a sweep."""
        from agent_tt.store.rows import sweeps

        sweeps.beat(self.database, sweep_id)

    def release_sweep(self, sweep_id: str) -> None:
        """Let others drive a sweep that this process drove."""
        from agent_tt.store.rows import sweeps

        sweeps.release(self.database, sweep_id)
