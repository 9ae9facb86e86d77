"""The store: runs in one SQLite file, read and written."""

from __future__ import annotations

import itertools
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from agent_tt.addresses import located
from agent_tt.errors import StepNotFound, StoreUnreadable, UsageError
from agent_tt.model.facts.stored import RunMeta
from agent_tt.protocols import NO_STATE
from agent_tt.store import ingest_filter, keeping
from agent_tt.store.file.connecting import waiting_at_most
from agent_tt.store.file.opening import open_database
from agent_tt.store.keeper import StoreKeeper
from agent_tt.store.liveness import Heart, current_owner, now_us
from agent_tt.store.rows import columns, ids
from agent_tt.store.rows.run_rows import shown_status
from agent_tt.store.tables.definitions import RUNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import (
        ErrorInfo,
        Hold,
        NewFork,
        NewRun,
        Output,
        Owner,
        RunStatus,
    )
    from agent_tt.questions import Decision
    from agent_tt.store.file.connection import Database, Durability
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import SqlValue
    from agent_tt.store.writer import SqliteRunWriter

__all__ = ["SqliteStore", "open_patiently", "open_store"]

_LONG_WAIT_S: Final = 60.0
"""Seconds to wait for the lock where many processes begin to write at once, each behind all the others."""

W = TypeVar("W", bound="SqliteRunWriter")

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
    return SqliteStore(open_database(located(path), create=create, read_only=read_only, durability=durability))


def open_patiently(path: str | Path) -> SqliteStore:
    """Open a store for a fork or a resumption, which ends where it cannot write: it waits a minute for the lock.

    SQLite's lock has no queue. Where many forks of one checkpoint begin and end at once, on a busy machine, one of them
    may see all the others come first.

    Raises:
        As `open_store`.
    """
    with waiting_at_most(_LONG_WAIT_S):
        return open_store(path)


class SqliteStore(StoreKeeper):
    """One store file. Safe to use from several threads; each writing method is one durable commit.

    What records runs is imported when one is begun: it is half of the store, and whoever only looks does without.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._heart = Heart(database, _beat)
        self._holding = Heart(database, _beat_of_holds)

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
        with self.database.adding() as tx:
            run, run_id = self._insert_run(tx, new, ingest_filter.admit_text(new.name), run_id=run_id)
            writer = self._writer(run, run_id, new, first_step=1)
            writer.start_track(tx, None if state is NO_STATE else state)
        if beats:
            self._heart.add(run)
        return writer

    def begin_fork(self, fork: NewFork) -> str:
        """Make the row of a fork with its edited checkpoint; give its id. This process owns it until it is adopted.

        Raises:
            RunNotFound: no such parent.
            StepNotFound: the parent has no such step.
            Damaged: the parent's checkpoint cannot be read in full.
        """
        from agent_tt.history.log.append import fork_track

        step, new = fork.step, fork.new
        parent = self.lineage.number(fork.parent)
        if not 0 <= step <= self.lineage.count(parent):
            raise StepNotFound(f"there is no step {step} to fork at: the run has {self.lineage.count(parent)}")
        position = self.lineage.position(parent, step)
        facts: dict[str, Wire] = {
            RunMeta.edits.key: ingest_filter.admit(RunMeta.edits.shape.write(tuple(fork.edits))),
            RunMeta.policy.key: {name: ingest_filter.admit(rule) for name, rule in (fork.policy or {}).items()} or None,
            RunMeta.way_back_in.key: fork.way_back_in,
        }
        with self.database.transaction() as tx:
            keeping.row_number(tx, fork.parent)  # nobody deleted it since
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
                edited=ingest_filter.admit(fork.state),
            )
        return run_id

    def adopt_run(self, run_id: str, new: NewRun, state: Wire | object) -> SqliteRunWriter:  # noqa: ARG002  # the first step's checkpoint holds what `state` has become by then
        """Take over a fork's row, or that of a run that goes on, in the process that runs its agent.

        Raises:
            RunNotFound: no such run.
            StoreUnreadable: the run is over already.
        """
        from agent_tt.store.file.provenance import stamp_run

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
            keeping.add_tags(tx, run, new.tags)
            stamp_run(self.database, tx, run)
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
        from agent_tt.store.writer import JoinedRunWriter

        return self._open_end(run_id, JoinedRunWriter)

    def _open_end(self, run_id: str, kind: type[W]) -> W:
        from agent_tt.history.payloads.training import DictionaryTrainer

        run = self.lineage.number(run_id)
        ((entry, name),) = self.database.query("SELECT agent, name FROM runs WHERE run = ?", (run,))
        parent, fork_step = self.lineage.origin(run)
        first_step = 1 if parent is None else fork_step + 1
        trainer = DictionaryTrainer(self.database, entry or name)
        database = self.database.of_run(run)
        return kind(database, self.log, self.lineage, self._heart, run, run_id, first_step, trainer)

    def go_on(self, run_id: str) -> SqliteRunWriter:
        """The open end of a run that was begun before, for what else is known of it; nobody beats for it.

        Raises:
            RunNotFound: no such run.
            Damaged: the checkpoint that it goes on from cannot be read in full.
        """
        from agent_tt.store.writer import SqliteRunWriter

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

    def _writer_class(self) -> type[SqliteRunWriter]:
        """What writes a run that is begun or taken over."""
        from agent_tt.store.writer import SqliteRunWriter

        return SqliteRunWriter

    def _writer(self, run: int, run_id: str, new: NewRun, *, first_step: int) -> SqliteRunWriter:
        from agent_tt.history.payloads.training import DictionaryTrainer

        trainer = DictionaryTrainer(self.database, _text(new.code.entry) or ingest_filter.admit_text(new.name))
        kind = self._writer_class()
        database = self.database.of_run(run)
        return kind(database, self.log, self.lineage, self._heart, run, run_id, first_step, trainer)

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
        from agent_tt.store.file.provenance import stamp_run

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
            keeping.add_tags(tx, run, new.tags)
            stamp_run(self.database, tx, run)
            return run, run_id
        raise StoreUnreadable(f"{self.path} has no free run id", hint="Run `agent-tt verify` on the store.")

    def set_run_status(self, run_id: str, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Write down how a run ended that cannot say it itself."""
        from agent_tt.store.checking.counts import meta_with_counts

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

    def keep_output(self, run_id: str, output: Output) -> None:
        """Write down what a run printed."""
        from agent_tt.store.rows import outputs

        with self.database.transaction() as tx:
            outputs.keep(tx, keeping.row_number(tx, run_id), output, now_us())

    def settle_run(self, run_id: str) -> Owner | None:
        """Give the process that records a run; a run whose process is gone is written down as crashed."""
        from agent_tt.store.rows import sweeps

        return sweeps.settle(self.database, run_id)

    def answer_question(self, question: int, decision: Decision) -> None:
        """Write down what somebody decides of a call that waits.

        Raises:
            QuestionNotFound: there is no such question.
            QuestionClosed: it was answered already, or the process that asked is gone.
        """
        from agent_tt.store.rows import questions

        with self.database.transaction() as tx:
            questions.decide(tx, question, decision)

    def stop_questions(self, run_id: str) -> None:
        """Let the calls of a run that wait know that it is stopped."""
        from agent_tt.store.rows import questions

        with self.database.transaction() as tx:
            questions.stop_questions(tx, keeping.row_number(tx, run_id))

    def hold_run(self, run_id: str, *, when: str = "", by: str = "program") -> Hold:
        """Let the agent of a run wait before its next calls, as long as this process and this open store are there."""
        from agent_tt.store.rows import holds

        with self.database.transaction() as tx:
            hold = holds.hold(tx, keeping.row_number(tx, run_id), run_id, when, by)
        self._holding.add(hold.id)
        return hold

    def let_go(self, run_id: str, hold: int | None = None) -> int:
        """Let an agent go on, of one hold or of all; give how many ended."""
        from agent_tt.store.rows import holds

        with self.database.transaction() as tx:
            ended = holds.let_go(tx, keeping.row_number(tx, run_id), hold)
        for number in ended:
            self._holding.remove(number)
        return len(ended)

    def as_one(self) -> AbstractContextManager[object]:
        """Make one transaction of all that this thread writes inside."""
        return self.database.as_one()

    def restore_file(self, run_id: str) -> None:
        """Make the file again where it was removed and its folder is there, with one run that is still seen here."""
        from agent_tt.store import transfer

        transfer.restore_file(self, run_id, partial(open_store, create=True))


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


def _beat_of_holds(database: Database, numbers: Sequence[int]) -> None:
    """Write down that the process of these holds is still there."""
    from agent_tt.store.rows import holds

    with database.transaction(durable=False) as tx:
        holds.beat(tx, numbers)


def _beat(database: Database, runs: Sequence[int]) -> None:
    """Write down that the process of these runs is still there."""
    now = now_us()
    for part, some in database.each_run(runs):
        with part.transaction(durable=False) as tx:
            for run in some:
                RUNS.update(tx, (run,), {"beat_us": now})
