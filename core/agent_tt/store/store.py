"""The store: runs in one SQLite file, read and written."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from agent_tt.errors import StepNotFound, StoreUnreadable, UsageError
from agent_tt.history.log.append import fork_track
from agent_tt.history.payloads.training import DictionaryTrainer
from agent_tt.model import Note
from agent_tt.model.facts.stored import RunMeta
from agent_tt.protocols import NO_STATE, Store
from agent_tt.store import ingest_filter, keeping
from agent_tt.store.checking.counts import meta_with_counts
from agent_tt.store.file.connection import waiting_at_most
from agent_tt.store.file.opening import open_database
from agent_tt.store.liveness import Heart, current_owner, now_us
from agent_tt.store.reader import StoreReader
from agent_tt.store.rows import columns, ids, outputs, questions, sweeps
from agent_tt.store.rows.run_rows import shown_status
from agent_tt.store.tables.definitions import NOTES, RUNS, TAGS
from agent_tt.store.writer import JoinedRunWriter, SqliteRunWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from agent_tt.codec.wire import Wire
    from agent_tt.model import (
        Deletion,
        Edit,
        ErrorInfo,
        NewRun,
        NoteKind,
        Output,
        Owner,
        Run,
        RunStatus,
        Sweep,
        WayBackIn,
    )
    from agent_tt.questions import Decision
    from agent_tt.store.file.connection import Database, Durability
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["SqliteStore", "open_patiently", "open_store"]

_LONG_WAIT_S: Final = 60.0
"""Seconds to wait for the lock where many processes begin to write at once, each behind all the others."""

W = TypeVar("W", bound=SqliteRunWriter)

_DRAWS: Final = 8
"""Run ids drawn before a clash counts as an error of its own."""


def open_store(
    path: str | Path, *, create: bool = False, read_only: bool = False, durability: Durability = "full"
) -> SqliteStore:
    """Open a store file.

    Args:
        path: the file.
        create: make it, and its folder, where it is missing. Any number of processes may do this at once.
        read_only: write nothing, not even where the file could be brought up to date.
        durability: `full` forces every commit to the disk; `normal` is several times faster and may lose the last
            commits in a power cut (never in a crash of the process).

    Raises:
        StoreNotFound: there is none, and `create` is False.
        NotAStore: it is a folder, or a file of another kind.
        NewerFormat, OlderFormat: another agent-tt wrote it.
    """
    return SqliteStore(open_database(Path(path), create=create, read_only=read_only, durability=durability))


def open_patiently(path: str | Path) -> SqliteStore:
    """Open a store for a fork or a resumption, which ends where it cannot write: it waits a minute for the lock.

    SQLite's lock has no queue. Where many forks of one checkpoint begin and end at once, on a busy machine, one of them
    may see all the others come first.

    Raises:
        As `open_store`.
    """
    with waiting_at_most(_LONG_WAIT_S):
        return open_store(path)


class SqliteStore(StoreReader, Store):
    """One store file. Safe to use from several threads; each writing method is one durable commit."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._heart = Heart(database)

    def begin_run(
        self, new: NewRun, state: Wire | object, *, run_id: str | None = None, beats: bool = True
    ) -> SqliteRunWriter:
        """Start a run: its row is committed before this returns, with `state` as checkpoint 0.

        `NO_STATE` is kept as null until a step brings a state.

        Args:
            new: what is said of it.
            state: what its agent begins with.
            run_id: its id, where it was drawn before; no run of the store may have it.
            beats: whether this process records it, and says again and again that it is there.
        """
        with self.database.transaction() as tx:
            run, run_id = self._insert_run(tx, new, ingest_filter.admit_text(new.name), run_id=run_id)
            writer = self._writer(run, run_id, new, first_step=1)
            writer.start_track(tx, None if state is NO_STATE else state)
        if beats:
            self._heart.add(run)
        return writer

    def begin_fork(
        self,
        parent_id: str,
        step: int,
        *,
        state: Wire,
        new: NewRun,
        edits: Sequence[Edit] = (),
        policy: Mapping[str, Wire] | None = None,
        way_back_in: WayBackIn = "restore",
    ) -> str:
        """Make the row of a fork with its edited checkpoint; give its id. This process owns it until it is adopted.

        Raises:
            RunNotFound: no such parent.
            StepNotFound: the parent has no such step.
            Damaged: the parent's checkpoint cannot be read in full.
        """
        parent = self.lineage.number(parent_id)
        if not 0 <= step <= self.lineage.count(parent):
            raise StepNotFound(f"there is no step {step} to fork at: the run has {self.lineage.count(parent)}")
        position = self.lineage.position(parent, step)
        facts: dict[str, Wire] = {
            RunMeta.edits.key: ingest_filter.admit(RunMeta.edits.shape.write(tuple(edits))),
            RunMeta.policy.key: {name: ingest_filter.admit(rule) for name, rule in policy.items()} if policy else None,
            RunMeta.way_back_in.key: way_back_in,
        }
        with self.database.transaction() as tx:
            keeping.row_number(tx, parent_id)  # nobody deleted it since
            ((parent_name, track_name),) = tx.query(
                "SELECT (SELECT name FROM runs WHERE run = ?), (SELECT name FROM tracks WHERE track = ?)",
                (parent, position.track),
            )
            name = ingest_filter.admit_text(new.name) or ids.fork_name(tx, parent_name)
            run, run_id = self._insert_run(tx, new, name, parent=parent, fork_step=step, facts=facts)
            fork_track(
                tx,
                self.log,
                run,
                track_name,
                parent=position.track,
                seq=position.seq,
                edited=ingest_filter.admit(state),
            )
        return run_id

    def adopt_run(self, run_id: str, new: NewRun, state: Wire | object) -> SqliteRunWriter:  # noqa: ARG002  # the first step's checkpoint holds what `state` has become by then
        """Take over a fork's row, or that of a run that goes on, in the process that runs its agent.

        Raises:
            RunNotFound: no such run.
            StoreUnreadable: the run is over already.
        """
        with self.database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            ((status, meta),) = tx.query("SELECT status, meta FROM runs WHERE run = ?", (run,))
            if status != "running":
                raise StoreUnreadable(f"run {run_id} is over ({status}) and cannot be resumed", hint="Fork it again.")
            now, before = now_us(), columns.mapping_from_text(meta)
            facts = {**before, **_facts(new)}
            facts[RunMeta.metadata.key] = {
                **RunMeta.metadata.of(before).raw,
                **ingest_filter.admit_mapping(new.metadata),
            }
            changes: dict[str, SqlValue] = {
                "owner": current_owner().to_json(),
                "beat_us": now,
                "meta": columns.mapping_to_text(facts) or "{}",
            }
            ((is_fork, has_begun),) = tx.query(
                "SELECT parent IS NOT NULL, EXISTS(SELECT 1 FROM steps WHERE steps.run = runs.run)"
                " FROM runs WHERE run = ?",
                (run,),
            )
            if is_fork and not has_begun:  # a fork begins when its agent does, not its process
                changes["started_us"] = now
            said = {"agent": _text(new.code.entry), "agent_version": _text(new.code.version)}
            RUNS.update(tx, (run,), changes | {name: text for name, text in said.items() if text is not None})
            _add_tags(tx, run, new.tags)
        parent, fork_step = self.lineage.origin(run)
        writer = self._writer(run, run_id, new, first_step=1 if parent is None else fork_step + 1)
        writer.resume()
        self._heart.add(run)
        return writer

    def join_run(self, run_id: str) -> SqliteRunWriter:
        """Write into a run that another process began and will end.

        Raises:
            RunNotFound: no such run.
        """
        return self._open_end(run_id, JoinedRunWriter)

    def _open_end(self, run_id: str, kind: type[W]) -> W:
        run = self.lineage.number(run_id)
        ((entry, name),) = self.database.query("SELECT agent, name FROM runs WHERE run = ?", (run,))
        parent, fork_step = self.lineage.origin(run)
        first_step = 1 if parent is None else fork_step + 1
        trainer = DictionaryTrainer(self.database, entry or name)
        return kind(self.database, self.log, self.lineage, self._heart, run, run_id, first_step, trainer)

    def go_on(self, run_id: str) -> SqliteRunWriter:
        """The open end of a run that was begun before, for what else is known of it; nobody beats for it.

        Raises:
            RunNotFound: no such run.
            Damaged: the checkpoint that it goes on from cannot be read in full.
        """
        writer = self._open_end(run_id, SqliteRunWriter)
        writer.resume()
        return writer

    def reopen_run(self, run_id: str) -> None:
        """Let a run that broke off go on: it is running again, and this process owns it until it is adopted.

        Raises:
            RunNotFound: no such run.
            UsageError: it runs, or has ended by itself; somebody else may have been faster.
        """
        with self.database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            ((status, owner, beat_us, meta),) = tx.query(
                "SELECT status, owner, beat_us, meta FROM runs WHERE run = ?", (run,)
            )
            shown = shown_status(status, owner, beat_us)
            if shown not in ("crashed", "interrupted"):
                raise UsageError(f"run {run_id} did not break off: it is {shown}", hint="`agent-tt runs` shows it.")
            facts = columns.mapping_from_text(meta)
            facts.pop(RunMeta.usage.key, None)  # of the steps so far; there will be more
            RUNS.update(
                tx,
                (run,),
                {
                    "status": "running",
                    "owner": current_owner().to_json(),
                    "beat_us": now_us(),
                    "ended_us": None,
                    "error": None,
                    "meta": columns.mapping_to_text(facts) or "{}",
                },
            )

    def _writer(self, run: int, run_id: str, new: NewRun, *, first_step: int) -> SqliteRunWriter:
        trainer = DictionaryTrainer(self.database, _text(new.code.entry) or ingest_filter.admit_text(new.name))
        return SqliteRunWriter(self.database, self.log, self.lineage, self._heart, run, run_id, first_step, trainer)

    def _insert_run(
        self,
        tx: Transaction,
        new: NewRun,
        name: str,
        *,
        parent: int | None = None,
        fork_step: int | None = None,
        facts: Mapping[str, Wire] | None = None,
        run_id: str | None = None,
    ) -> tuple[int, str]:
        """Make a run's row, owned by this process; give its number and its id."""
        meta = columns.mapping_to_text({**_facts(new), **(facts or {})}) or "{}"
        now = now_us()
        drawn = itertools.repeat(run_id, 1) if run_id else (ids.new_run_id() for _ in range(_DRAWS))
        for run_id in drawn:
            try:
                run = RUNS.insert(
                    tx,
                    (
                        *(None, run_id, name, "running", _text(new.code.entry), _text(new.code.version)),
                        *(parent, fork_step, now, None, None, current_owner().to_json(), now, 0, meta),
                    ),
                )
            except sqlite3.IntegrityError:
                continue
            _add_tags(tx, run, new.tags)
            return run, run_id
        raise StoreUnreadable(f"{self.path} has no free run id", hint="Run `agent-tt verify` on the store.")

    def set_run_status(self, run_id: str, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Write down how a run ended that cannot say it itself."""
        with self.database.transaction() as tx:
            run = self.lineage.number(run_id)
            changes: dict[str, SqlValue] = {"status": status}
            if status != "running":
                changes["meta"] = meta_with_counts(tx, run)
                if tx.query("SELECT 1 FROM runs WHERE run = ? AND ended_us IS NULL", (run,)):
                    changes["ended_us"] = now_us()
            if error is not None:
                changes["error"] = columns.error_to_text(ingest_filter.admit_error(error))
            RUNS.update(tx, (run,), changes)

    def answer_question(self, question: int, decision: Decision) -> None:
        """Write down what somebody decides of a call that waits.

        Raises:
            QuestionNotFound: there is no such question.
            QuestionClosed: it was answered already, or the process that asked is gone.
        """
        with self.database.transaction() as tx:
            questions.decide(tx, question, decision)

    def stop_questions(self, run_id: str) -> None:
        """Let the calls of a run that wait know that it is stopped."""
        with self.database.transaction() as tx:
            questions.stop_questions(tx, keeping.row_number(tx, run_id))

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note:
        """Write a `note`, a `bookmark` or a `watch`."""
        now, words = now_us(), ingest_filter.admit_text(body)
        with self.database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            note = NOTES.insert(tx, (None, run, step, kind, words, now))
        return Note(note, cast("NoteKind", kind), step, words, now)

    def keep_output(self, run_id: str, output: Output) -> None:
        """Write down what a run printed."""
        with self.database.transaction() as tx:
            outputs.keep(tx, keeping.row_number(tx, run_id), output, now_us())

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
            _add_tags(tx, run, tags)

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

    def begin_sweep(self, run_id: str, step: int, definition: Mapping[str, Wire], *, driven: bool = True) -> Sweep:
        """Write a new sweep of a run.

        Raises:
            RunNotFound: the run is not there any more.
        """
        return sweeps.begin(self.database, run_id, step, definition, driven=driven)

    def claim_sweep(self, sweep_id: str, definition: Mapping[str, Wire] | None = None) -> None:
        """Let this process drive a sweep that nobody drives.

        Raises:
            IsRunning: somebody drives it.
            RunNotFound: it is not there any more.
        """
        sweeps.claim(self.database, sweep_id, definition)

    def beat_sweep(self, sweep_id: str) -> None:
        """Write down that this process still drives a sweep."""
        sweeps.beat(self.database, sweep_id)

    def release_sweep(self, sweep_id: str) -> None:
        """Let others drive a sweep that this process drove."""
        sweeps.release(self.database, sweep_id)

    def settle_run(self, run_id: str) -> Owner | None:
        """Give the process that records a run; a run whose process is gone is written down as crashed."""
        return sweeps.settle(self.database, run_id)

    def restore_file(self, run_id: str) -> None:
        """Make the file again where it was removed and its folder is there, with one run that is still seen here.

        The file is let go before another one of its name is made: SQLite would take what lies beside the two for one.
        """
        if self.path.exists() or not self.path.parent.is_dir():
            return
        from agent_tt.store.transfer import copy_run

        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=f"{self.path.name}.") as folder:
            between = open_store(Path(folder) / self.path.name, create=True)
            with closing(between):
                copy_run(self, between, run_id)
                self.close()
                with closing(open_store(self.path, create=True)) as target:
                    copy_run(between, target, run_id)

    def as_one(self) -> AbstractContextManager[object]:
        """Make one transaction of all that this thread writes inside."""
        return self.database.as_one()

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


def _facts(new: NewRun) -> dict[str, Wire]:
    """What a recorder says about a run, as `runs.meta` keeps it."""
    facts: dict[str, Wire] = {
        **RunMeta.code.entry(new.code),
        **RunMeta.model.entry(new.model),
        RunMeta.user_id.key: None if new.user_id is None else ingest_filter.admit_text(new.user_id),
        RunMeta.metadata.key: ingest_filter.admit_mapping(new.metadata) or None,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _text(words: str | None) -> str | None:
    """A text that is agent-tt's own: a path in it may hold bytes that are not UTF-8."""
    return None if words is None else columns.sound(words)


def _add_tags(tx: Transaction, run: int, tags: Sequence[str]) -> None:
    known = {tag for (tag,) in tx.query("SELECT tag FROM tags WHERE run = ?", (run,))}
    for tag in dict.fromkeys(map(ingest_filter.admit_text, tags)):
        if tag not in known:
            TAGS.insert(tx, (run, tag))
