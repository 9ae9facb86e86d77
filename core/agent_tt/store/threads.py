"""Runs whose steps are written whole, one by one: threads of checkpoints, and runs that are imported.

What a thread stores is what an agent goes on from, so it is kept as it was given: nothing is taken out of it. From an
imported run secrets are taken out before it gets here; from its states, as they are compared.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.history.log.append import fork_track
from agent_tt.model.facts import RunFacts, StepFacts
from agent_tt.model.facts.stored import RunMeta, StepMeta
from agent_tt.store import deleting, keeping
from agent_tt.store.file.opening import open_database
from agent_tt.store.liveness import current_owner, now_us
from agent_tt.store.rows import columns, ids
from agent_tt.store.rows.run_rows import descendants
from agent_tt.store.store import SqliteStore
from agent_tt.store.tables.definitions import RUNS, STEPS
from agent_tt.store.writer import SqliteRunWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.change_detector import Admit
    from agent_tt.model import Call, ErrorInfo, NewRun, RunStatus, StepStatus
    from agent_tt.store.file.connection import Database, Durability
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["ThreadStep", "ThreadStore", "ThreadWriter", "open_threads"]

_PAGE: Final = 64
"""Checkpoints in the first page of a listing; each one after it has four times as many."""
_ID: Final = f"$.{StepMeta.extra.key}.{StepFacts.checkpoint_id.key}"
_THREAD: Final = f"$.{RunMeta.metadata.key}.{RunFacts.langgraph_thread.key}"
_CHECKPOINTS: Final = f"""SELECT named, run, step, thread FROM (
    SELECT CASE WHEN json_valid(s.meta) THEN json_extract(s.meta, '{_ID}') END AS named, s.run AS run, s.step AS step,
      CASE WHEN json_valid(r.meta) THEN json_extract(r.meta, '{_THREAD}') END AS thread
    FROM steps s JOIN runs r ON r.run = s.run) AS kept
  WHERE typeof(named) = 'text' AND typeof(thread) = 'text'
    AND (CAST(? AS TEXT) IS NULL OR (named, run, step) < (?, ?, ?))
  ORDER BY named DESC, run DESC, step DESC LIMIT ?"""  # noqa: S608  # our own


@dataclass(frozen=True, slots=True)
class ThreadStep:
    """A step that is written when it is over.

    Attributes:
        name: what it is called.
        track: the state history that its checkpoint belongs to.
        extra: further facts of it.
        agent: which part of the agent took it.
        parent: the step that it is nested in.
        status: how it ended.
        started_us, ended_us: when it began and ended; None where nobody knows.
        tokens_in, tokens_out, cost_usd: what its model calls read and wrote, and what they cost.
        lane: the logical thread of control that it ran in.
        kind: its strongest call.
        error: the exception that ended it.
        decision: what the agent decided, in its own words.
        calls: what it asked, and what came back.
    """

    name: str
    track: str
    extra: Mapping[str, Wire] = field(default_factory=dict)
    agent: str | None = None
    parent: int | None = None
    status: StepStatus = "ok"
    started_us: int | None = None
    ended_us: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    lane: str = "main"
    kind: str | None = None
    error: ErrorInfo | None = None
    decision: str | None = None
    calls: Sequence[Call] = ()


class ThreadWriter(SqliteRunWriter):
    """The open end of one run of a thread. Several processes may take turns; each call is one transaction.

    What it remembers of the end of the run counts until `ask_again`, to be called where others may have written.
    """

    _admit: Admit | None = None
    _keeps = True
    _last: int | None = None
    """The number of the last step, None where it has to be asked for."""
    _row: Sequence[SqlValue] | None = None
    """The row of the step that was written last, as `Table.rewrite` takes it."""
    _known_ends: frozenset[str] = frozenset()
    """Tracks whose last checkpoint is known."""

    def ask_again(self) -> None:
        """Take nothing for granted that was not read from the file."""
        self._last = self._row = None
        self._known_ends = frozenset()

    def add(self, step: ThreadStep, state: object) -> int:
        """Commit a step with the state after it; give its number."""
        with self._database.transaction() as tx:
            try:
                writer = self._track(step.track)
                if step.track not in self._known_ends and writer.seq != self._log.last_seq(writer.track):
                    del self._tracks[step.track]  # another process went on with it
                    writer = self._track(step.track)
                checkpoint = writer.compare(state)
                writer.store(tx, checkpoint)
                number = self._next_number(tx)
                facts: dict[str, Wire] = {
                    StepMeta.calls.key: len(step.calls) or None,
                    StepMeta.decision.key: step.decision,
                    StepMeta.extra.key: dict(step.extra),
                }
                row: tuple[SqlValue, ...] = (
                    *(self._run, number, step.parent, step.kind, step.name, step.agent, step.lane, step.status),
                    *(step.started_us, step.ended_us, step.tokens_in, step.tokens_out, step.cost_usd),
                    *(columns.error_to_text(step.error), writer.track, checkpoint.seq, columns.mapping_to_text(facts)),
                )
                self._row, _ = STEPS.write(tx, row)
                for call in step.calls:
                    self._calls.add(tx, number, call)
            except BaseException:
                self.forget(step.track)
                raise
            self._last = number
            self._known_ends |= {step.track}
        return number

    def add_stopped(self, step: ThreadStep) -> int:
        """Commit a step that ended without a state of its own; give its number."""
        with self._database.transaction() as tx:
            number = self._next_number(tx)
            facts: dict[str, Wire] = {StepMeta.extra.key: dict(step.extra)}
            row: tuple[SqlValue, ...] = (
                *(self._run, number, step.parent, step.kind, step.name, step.agent, step.lane, step.status),
                *(step.started_us, step.ended_us, step.tokens_in, step.tokens_out, step.cost_usd),
                *(
                    columns.error_to_text(step.error),
                    self._track(step.track).track,
                    None,
                    columns.mapping_to_text(facts),
                ),
            )
            self._row, _ = STEPS.write(tx, row)
            self._last = number
        return number

    def change_end(self, number: int, status: StepStatus, error: ErrorInfo | None) -> None:
        """Commit another end of a step, and that it was now."""
        self._change(number, {"status": status, "error": columns.error_to_text(error), "ended_us": now_us()})

    def _next_number(self, tx: Transaction) -> int:
        if self._last is None:
            ((last,),) = tx.query("SELECT max(step) FROM steps WHERE run = ?", (self._run,))
            self._last = self._first_step - 1 if last is None else int(last)
        return self._last + 1

    def forget(self, track: str) -> None:
        """Read the end of a state history from the file before it is used again."""
        self._tracks.pop(track, None)
        self._trainer.restart()
        self.ask_again()

    def change_extra(self, number: int, extra: Mapping[str, Wire]) -> None:
        """Commit other further facts of a step in the place of those that it has."""
        self._change(number, {"meta": columns.mapping_to_text({StepMeta.extra.key: dict(extra)})})

    def change_tokens(self, number: int, read: int | None, wrote: int | None) -> None:
        """Commit what the model calls of a step read and wrote."""
        self._change(number, {"tokens_in": read, "tokens_out": wrote})

    def _change(self, number: int, changes: dict[str, SqlValue]) -> None:
        with self._database.transaction() as tx:
            if self._row is not None and self._row[1] == number:
                self._row = STEPS.rewrite(tx, self._row, changes)
            else:
                STEPS.update(tx, (self._run, number), changes)

    def set_status(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Commit how the thread stands, with the error that ended it; a running one is this process's."""
        running = status == "running"
        changes: dict[str, SqlValue] = {
            "status": status,
            "ended_us": None if running else now_us(),
            "error": columns.error_to_text(error),
        }
        if running:
            changes |= {"owner": current_owner().to_json(), "beat_us": now_us()}
        with self._database.transaction() as tx:
            RUNS.update(tx, (self._run,), changes)
        if running:
            self._heart.add(self._run)
        else:
            self._heart.remove(self._run)


class ThreadStore(SqliteStore):
    """A store file in which threads are kept. Safe to use from several threads of the process."""

    def _writer_class(self) -> type[SqliteRunWriter]:
        return ThreadWriter

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._named_in: Transaction | None = None
        self._names: dict[str, str] = {}

    def run_numbers(self, run_id: str) -> list[int]:
        """The row numbers of a run and of all that descend from it, in the order in which they were made."""
        rows = self.database.query("SELECT run FROM runs WHERE id = ?", (run_id,))
        return [int(rows[0][0]), *descendants(self.database, int(rows[0][0]))] if rows else []

    def thread_runs(self, run_id: str, thread_id: str) -> list[int]:
        """The row numbers of a thread's first run and of its branches; what else was forked from it is not its own."""
        found = []
        for number in self.run_numbers(run_id):
            ((meta,),) = self.database.query("SELECT meta FROM runs WHERE run = ?", (number,))
            if RunMeta.metadata.of(columns.mapping_from_text(meta)).langgraph_thread == thread_id:
                found.append(number)
        return found

    def run_ids(self, numbers: Iterable[int]) -> dict[int, str]:
        """The ids of runs by their row numbers."""
        return {
            number: str(run_id)
            for number in numbers
            for (run_id,) in self.database.query("SELECT id FROM runs WHERE run = ?", (number,))
        }

    def asked_models(self, run_id: str, since_us: int, until_us: int) -> bool:
        """Whether a recorded run asked a model in a time."""
        statement = (
            "SELECT 1 FROM calls c JOIN runs r ON r.run = c.run"
            " WHERE r.id = ? AND c.kind = 'llm' AND c.started_us BETWEEN ? AND ? LIMIT 1"
        )
        return bool(self.database.query(statement, (run_id, since_us, until_us)))

    def all_run_facts(self) -> list[Mapping[str, Wire]]:
        """The metadata of all runs that were not forked from another, in the order in which they were made."""
        rows = self.database.query("SELECT meta FROM runs WHERE parent IS NULL ORDER BY run")
        return [RunMeta.metadata.of(columns.mapping_from_text(meta)).raw for (meta,) in rows]

    def checkpoints(self, before: str | None = None) -> Iterator[tuple[str, int, int, str]]:
        """Give the checkpoints of all threads, those with the greatest ids first: id, run, step, and the thread's id.

        They are read in pages that grow, so that the first ones cost one query and all of them a few.

        Args:
            before: only those whose ids are smaller.
        """
        last: tuple[str | None, int, int] = (before, -1, -1)  # no row has such numbers: those of that id are left out
        size = _PAGE
        while True:
            page = self.database.query(_CHECKPOINTS, (last[0], *last, size))
            yield from ((str(name), int(run), int(step), str(thread)) for name, run, step, thread in page)
            if len(page) < size:
                return
            last, size = page[-1][:3], size * 4

    def thread_facts(self, run_id: str) -> Mapping[str, Wire]:
        """The metadata of a run.

        Raises:
            RunNotFound: no such run.
        """
        run = keeping.row_number(self.database, run_id)
        ((meta,),) = self.database.query("SELECT meta FROM runs WHERE run = ?", (run,))
        return RunMeta.metadata.of(columns.mapping_from_text(meta)).raw

    def write_run(self, run_id: str) -> ThreadWriter:
        """The open end of a run of a thread.

        Raises:
            RunNotFound: no such run.
        """
        return self._open_end(run_id, ThreadWriter)

    def begin_branch(
        self,
        run_id: str,
        step: int,
        new: NewRun,
        *,
        name: str = "",
        branch_id: str | None = None,
        facts: Mapping[str, Wire] | None = None,
    ) -> str:
        """Begin a branch of a run at one of its steps, with the state unchanged; return its id.

        Args:
            run_id: the run.
            step: the step after which the branch leaves it.
            new: what is said of the branch.
            name: what it is called; else `NAME/fork-N`.
            branch_id: its id, which no run of the store may have; else one is drawn.
            facts: further facts of the branch, as `runs.meta` keeps them.

        Raises:
            RunNotFound, StepNotFound: there is no such run or step.
        """
        parent = self.lineage.number(run_id)
        position = self.lineage.position(parent, step)
        with self.database.transaction() as tx:
            ((parent_name, track),) = tx.query(
                "SELECT (SELECT name FROM runs WHERE run = ?), (SELECT name FROM tracks WHERE track = ?)",
                (parent, position.track),
            )
            named = name or self._next_name(tx, parent_name)
            run, fork_id = self._insert_run(
                tx, new, named, parent=parent, fork_step=step, run_id=branch_id, facts=facts
            )
            fork_track(tx, self.log, run, track, parent=position.track, seq=position.seq)
        return fork_id

    def _next_name(self, tx: Transaction, parent_name: str) -> str:
        """The next free `PARENT/fork-N`; within one transaction the names that there are are looked through once."""
        if tx is not self._named_in:
            self._named_in = tx
            self._names.clear()
        last = self._names.get(parent_name)
        named = ids.fork_name(tx, parent_name) if last is None else ids.name_after(last)
        self._names[parent_name] = named
        return named

    def set_thread_facts(self, run_id: str, facts: Mapping[str, Wire], remove: Iterable[str] = ()) -> None:
        """Merge into the metadata of a run, as it is given, and take facts away."""
        with self.database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            ((meta,),) = tx.query("SELECT meta FROM runs WHERE run = ?", (run,))
            before = columns.mapping_from_text(meta)
            kept = {**RunMeta.metadata.of(before).raw, **facts}
            for key in remove:
                kept.pop(key, None)
            before[RunMeta.metadata.key] = kept
            RUNS.update(tx, (run,), {"meta": columns.mapping_to_text(before) or "{}"})

    def remove_runs(self, run_ids: Iterable[str]) -> None:
        """Take away runs with all that was forked from them, pinned ones too: whoever kept them asks for it."""
        with self.database.transaction() as tx:
            for run_id in run_ids:
                numbers = self.run_numbers(run_id)
                names = self.run_ids(numbers)
                deleting.delete_rows(tx, numbers)
                self.forget_runs(names.values(), numbers)

    def forget_runs(self, run_ids: Iterable[str], numbers: Iterable[int]) -> None:
        """Forget what is remembered of runs that are gone, or may be: an id may be that of another row by now."""
        numbers = [*numbers]
        for number in numbers:
            self._heart.remove(number)
        self.lineage.forget(run_ids, numbers)

    def give_back_room(self) -> None:
        """Give back the room of what nobody needs any more."""
        deleting.sweep(self.database)


def open_threads(path: Path, *, durability: Durability = "full") -> ThreadStore:
    """Open a store file for threads; it is made, with its folder, where it is missing.

    Raises:
        NotAStore, NewerFormat, OlderFormat: as `open_store`.
    """
    return ThreadStore(open_database(path, create=True, durability=durability))
