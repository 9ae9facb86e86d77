"""Writing one run: each method is one transaction, so that whatever was returned is in the file.

A step's row is committed when it opens, a call's intent before the call is made, its result before the agent sees it,
and a step's end together with its checkpoint. Numbers are taken inside the transaction, so that a process that the
agent forked can go on recording beside its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.history.log.append import TrackWriter, create_track, fork_track
from agent_tt.model.facts.stored import RunMeta, StepMeta
from agent_tt.protocols import NO_STATE
from agent_tt.store import done_keys, ingest_filter
from agent_tt.store.call_writer import CallWriter
from agent_tt.store.checking.counts import meta_with_counts
from agent_tt.store.file.sqlite_errors import Conflict
from agent_tt.store.liveness import Clock
from agent_tt.store.numbers import NextNumbers
from agent_tt.store.open_step import OpenStep, answer_fingerprint
from agent_tt.store.rows import columns, holds, questions
from agent_tt.store.rows.usage import usage_of_steps, usage_to_wire
from agent_tt.store.tables.definitions import RUNS, STEPS
from agent_tt.store.unnoticed import say_unnoticed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.change_detector import Admit
    from agent_tt.history.log.log import StateLog
    from agent_tt.history.payloads.training import DictionaryTrainer
    from agent_tt.model import CallEnd, DeliveryKind, ErrorInfo, Hold, Judged, NewCall, NewStep, RunStatus, StepEnd
    from agent_tt.model.once import Holder
    from agent_tt.questions import NewQuestion
    from agent_tt.store.file.connection import Database
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.liveness import Heart
    from agent_tt.store.rows.lineage import Lineage
    from agent_tt.store.rows.questions import AskedQuestion
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["JoinedRunWriter", "SqliteRunWriter"]

_TRIES: Final = 20
"""How often a track that others go on with is followed, before that counts as an error."""

_CALLS: Final = StepMeta.calls.key
_REPEAT_OF: Final = StepMeta.repeat_of.key
_DECISION: Final = StepMeta.decision.key
_EXTRA: Final = StepMeta.extra.key


class SqliteRunWriter:
    """The open end of one run. Safe to use from several threads; their commits follow one another."""

    _admit: Admit | None = staticmethod(ingest_filter.admit)
    _keeps = False
    """Whether the states that it is given are wire values that nobody changes."""

    def __init__(
        self,
        database: Database,
        log: StateLog,
        lineage: Lineage,
        heart: Heart[Database, int],
        run: int,
        run_id: str,
        first_step: int,
        trainer: DictionaryTrainer,
    ) -> None:
        self._database = database
        self._log = log
        self._lineage = lineage
        self._heart = heart
        self._run = run
        self._run_id = run_id
        self._trainer = trainer
        self._tracks: dict[str, TrackWriter] = {}
        self._open: dict[int, OpenStep] = {}
        self._seen: dict[bytes, int] = {}
        self._sure: dict[str, int] = {}
        self._clock = Clock()
        self._numbers = NextNumbers()
        self._calls = CallWriter(database, log.blobs, run, run_id, self._open, self._clock, self._numbers)
        self._first_step = first_step
        self._lookout = holds.Lookout(database, run)

    @property
    def run_id(self) -> str:
        """The run that it writes."""
        return self._run_id

    @property
    def first_step(self) -> int:
        """The number of the run's own first step: 1, or `fork_step + 1`."""
        return self._first_step

    # ---------------------------------------------------------------- steps

    def open_step(self, new: NewStep) -> int:
        """Commit a step as running; give its number.

        Its commit is not forced to the disk by itself: nothing has happened yet, and the next commit covers it.
        """
        name, lane = ingest_filter.admit_text(new.name), ingest_filter.admit_text(new.lane)
        agent = None if new.agent is None else ingest_filter.admit_text(new.agent)
        numbers = self._numbers
        with self._database.lock:
            with self._database.transaction(durable=False) as tx:
                numbers.check(tx)
                if numbers.step is None:
                    ((last,),) = tx.query("SELECT max(step) FROM steps WHERE run = ?", (self._run,))
                    numbers.step = self._first_step - 1 if last is None else int(last)
                number = numbers.step = numbers.step + 1
                begun: tuple[SqlValue, ...] = (
                    *(self._run, number, new.parent, None, name, agent, lane, "running", self._clock.now_us()),
                    *(None, None, None, None, None, None, None, None),
                )
                row, _ = STEPS.write(tx, begun)
            numbers.keep()
            self._open[number] = OpenStep(row=row, breaks=numbers.breaks)
        return number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Commit a step's end and, unless `state` is `NO_STATE`, a checkpoint of `state`.

        Raises:
            StoreBusy: another process held the lock for too long; the step is as it was.
        """
        with self._database.lock:
            self._following(lambda: self._close_step(number, end, state, track))

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """Commit a checkpoint of a step that has ended without one.

        Raises:
            StoreBusy: another process held the lock for too long.
        """
        with self._database.lock:
            self._following(lambda: self._take_checkpoint(number, state, track))

    def _following(self, write: Callable[[], None]) -> None:
        """Write a checkpoint; where another process went on with the track meanwhile, follow it, and try again."""
        for left in reversed(range(_TRIES)):
            try:
                write()
            except Conflict:
                if not left:
                    raise
            else:
                return

    def _take_checkpoint(self, number: int, state: object, track: str) -> None:
        try:
            writer = self._track(track)
            checkpoint = writer.compare(state)
            with self._database.transaction() as tx:
                if tx.query("SELECT 1 FROM steps WHERE run = ? AND step = ? AND seq IS NULL", (self._run, number)):
                    writer.store(tx, checkpoint, shared=False)
                    if checkpoint.unnoticed is not None:
                        self._say_unnoticed(tx, checkpoint.unnoticed, track, number)
                    STEPS.update(tx, (self._run, number), {"track": writer.track, "seq": checkpoint.seq})
                else:
                    self._tracks.pop(track, None)  # it remembers a state that was not written
        except BaseException:
            # As in `_close_step`.
            self._tracks.pop(track, None)
            self._trainer.restart()
            raise

    def _close_step(self, number: int, end: StepEnd, state: object, track: str) -> None:
        try:
            if state is NO_STATE:
                with self._database.transaction() as tx:
                    self._numbers.check(tx)
                    self._end_step(tx, number, end, self._track_number(track), None)
            else:
                writer = self._track(track)
                checkpoint = writer.compare(state)
                with self._database.transaction() as tx:
                    self._numbers.check(tx)
                    writer.store(tx, checkpoint, shared=end.shared_track)
                    if checkpoint.unnoticed is not None:
                        self._say_unnoticed(tx, checkpoint.unnoticed, track, number)
                    self._end_step(tx, number, end, writer.track, checkpoint.seq)
                if checkpoint.is_certain:
                    self._sure[track] = number
            self._numbers.keep()
        except BaseException:
            # What they remember may be ahead of the file: start again from the file.
            self._tracks.pop(track, None)
            self._trainer.restart()
            raise
        calls = self._open.pop(number, None)
        fingerprint = None if calls is None else calls.fingerprint
        if fingerprint is not None:
            self._seen.setdefault(fingerprint, number)

    def _say_unnoticed(self, tx: Transaction, path: Path, track: str, step: int | None) -> None:
        say_unnoticed(tx, self._run, path, track, sure=self._sure.get(track, 0), step=step)

    def _end_step(self, tx: Transaction, number: int, end: StepEnd, track: int | None, seq: int | None) -> None:
        calls = self._calls_of(tx, number)
        fingerprint = calls.fingerprint
        repeat_of = None if fingerprint is None else self._seen.get(fingerprint)
        facts: dict[str, Wire] = {
            _CALLS: len(calls.kinds) or None,
            _REPEAT_OF: repeat_of,
            _DECISION: None if end.decision is None else ingest_filter.admit_text(end.decision),
            _EXTRA: ingest_filter.admit_mapping(end.extra) or None,
        }
        changes: dict[str, SqlValue] = {
            "kind": calls.kind,
            "status": end.status,
            "ended_us": self._clock.now_us(),
            "tokens_in": end.tokens_in,
            "tokens_out": end.tokens_out,
            "cost_usd": end.cost_usd,
            "error": columns.error_to_text(ingest_filter.admit_error(end.error)),
            "track": track,
            "seq": seq,
            "meta": columns.mapping_to_text(facts),
        }
        known = self._open.get(number)
        if known is None or known.row is None:  # begun by another process
            STEPS.update(tx, (self._run, number), changes)
        else:
            STEPS.rewrite(tx, known.row, changes)

    def _calls_of(self, tx: Transaction, number: int) -> OpenStep:
        """What this process knows of a step's calls; with the kinds of all, where others have written some of them."""
        known = self._open.get(number) or OpenStep()
        if known.breaks == self._numbers.breaks:
            return known
        ((count,),) = tx.query("SELECT count(*) FROM calls WHERE run = ? AND step = ?", (self._run, number))
        if count == len(known.kinds):
            return known
        kinds = tx.query("SELECT kind, effect FROM calls WHERE run = ? AND step = ?", (self._run, number))
        return OpenStep(kinds=[(kind, effect) for kind, effect in kinds])  # whether it repeats a step nobody knows

    # ---------------------------------------------------------------- tracks

    def start_track(self, tx: Transaction, state: object) -> None:
        """Write checkpoint 0 of a new run, in the transaction of the run's row."""
        writer = TrackWriter(
            *(self._log, create_track(tx, self._run, "main"), self._trainer), admit=self._admit, keeps=self._keeps
        )
        writer.store(tx, writer.compare(state))
        self._tracks["main"] = writer

    def resume(self) -> None:
        """Read what a run that is taken over needs to know of the steps before.

        Raises:
            Damaged: the checkpoint that it goes on from cannot be read in full.
        """
        for (name,) in self._database.query("SELECT name FROM tracks WHERE run = ?", (self._run,)):
            self._track(name)
        for stretch in self._lineage.stretches(self._run):
            last = (1 << 62) if stretch.last is None else stretch.last
            self._remember(stretch.run, last)

    def _remember(self, run: int, last: int) -> None:
        steps: dict[int, OpenStep] = {}
        for step, call, kind, effect, status, signature, result, error in self._database.query(
            "SELECT step, call, kind, effect, status, lower(hex(signature)), result, error FROM calls"
            " WHERE run = ? AND step <= ? ORDER BY step, call",
            (run, last),
        ):
            known = steps.setdefault(step, OpenStep())
            known.kinds.append((kind, effect))
            known.ask(call, kind, signature)
            if call in known.asked and status != "pending":
                known.answers[call] = answer_fingerprint(status, result, error)
        if run == self._run:  # steps that had not ended when the run broke off go on
            running = "SELECT step FROM steps WHERE run = ? AND status = 'running'"
            for (number,) in self._database.query(running, (run,)):
                self._open[number] = steps.pop(number, OpenStep())
        for number, known in steps.items():
            if known.fingerprint is not None:
                self._seen.setdefault(known.fingerprint, number)

    def _track(self, name: str) -> TrackWriter:
        """The open end of a track, made where the run has none of that name yet."""
        writer = self._tracks.get(name)
        if writer is None:
            number = self._track_number(name)
            if number is None:
                with self._database.transaction() as tx:
                    number = self._new_track(tx, ingest_filter.admit_text(name))
            writer = self._tracks[name] = TrackWriter.resume(
                self._log, number, self._trainer, admit=self._admit, keeps=self._keeps
            )
        return writer

    def _track_number(self, name: str) -> int | None:
        known = self._tracks.get(name)
        if known is not None:
            return known.track
        found = self._database.query(
            "SELECT track FROM tracks WHERE run = ? AND name = ?", (self._run, ingest_filter.admit_text(name))
        )
        return int(found[0][0]) if found else None

    def _new_track(self, tx: Transaction, name: str) -> int:
        """A track that goes on from the ancestors' track of that name, where they have one before the fork."""
        for stretch in reversed(self._lineage.stretches(self._run)[:-1]):
            found = tx.query(
                "SELECT t.track, (SELECT max(s.seq) FROM steps s WHERE s.run = t.run AND s.step <= ?"
                " AND s.track = t.track), t.fork_seq FROM tracks t WHERE t.run = ? AND t.name = ?",
                (stretch.last, stretch.run, name),
            )
            if found:
                parent, seq, fork_seq = found[0]
                start = seq if seq is not None else fork_seq if fork_seq is not None else 0 if name == "main" else None
                if start is not None:
                    return fork_track(tx, self._log, self._run, name, parent=parent, seq=start)
        return create_track(tx, self._run, name)

    # ---------------------------------------------------------------- calls

    def begin_call(self, step: int, new: NewCall) -> int:
        """Commit the intent of a call, before it is made; give its number within the step."""
        return self._calls.begin(step, new)

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """Commit what has been decided of a call that is pending: facts, and other arguments where it has them.

        Raises:
            StepNotFound: there is no such call.
        """
        self._calls.amend(step, number, meta, args)

    def ask(self, step: int, call: int, new: NewQuestion) -> AskedQuestion:
        """Commit that a call waits for somebody's decision."""
        return questions.ask(self._database, self._run, step, call, new)

    def holds(self) -> Sequence[Hold]:
        """List the holds of the run that stand."""
        return self._lookout.holds()

    def last_answer(self) -> int:
        """The number of the last answer, or piece of one, that was committed."""
        return self._calls.last_answer()

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> Holder | None:
        """Let a call have a key, unless another one has it: see `RunWriter`."""
        return done_keys.claim(
            *(self._database.of_store(), self._lineage, self._log.blobs, self._run, self._run_id),
            (step, call),
            (tool, key),
            is_decided=is_decided,
        )

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """Commit a piece of an answer that comes in several, before the agent sees it; give its run-wide number.

        Raises:
            StepNotFound: there is no such call.
        """
        return self._calls.deliver(step, call, kind, data)

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """Commit what came back, before the agent sees it.

        Raises:
            StepNotFound: there is no such call.
        """
        self._calls.end(step, number, end)

    # ---------------------------------------------------------------- the end

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """End the run: flush indexes, write status and end time. Steps left open count as interrupted."""
        unnoticed = {track: writer.look_again() for track, writer in self._tracks.items()}
        with self._database.transaction() as tx:
            self._numbers.check(tx)
            for name, track in self._tracks.items():
                track.flush(tx)
                path = unnoticed[name]
                if path is not None:
                    self._say_unnoticed(tx, path, name, None)
            now = self._clock.now_us()
            for (number,) in tx.query("SELECT step FROM steps WHERE run = ? AND status = 'running'", (self._run,)):
                counted = StepMeta.calls.entry(len(self._calls_of(tx, number).kinds) or None)
                broken: dict[str, SqlValue] = {"status": "interrupted", "ended_us": now}
                STEPS.update(tx, (self._run, number), {**broken, "meta": columns.mapping_to_text(counted)})
            usage = usage_to_wire(usage_of_steps(tx, self._run))
            RUNS.update(
                tx,
                (self._run,),
                {
                    "status": status,
                    "ended_us": now,
                    "error": columns.error_to_text(ingest_filter.admit_error(error)),
                    "meta": meta_with_counts(tx, self._run, RunMeta.usage.entry(usage)),
                },
            )
        self._tracks.clear()
        self._open.clear()
        self._heart.remove(self._run)
        self._database.checkpoint("TRUNCATE")


class JoinedRunWriter(SqliteRunWriter):
    """Writes into a run of another process, which ends it."""

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:  # noqa: ARG002  they are the other's to say
        """Flushes indexes. The run goes on."""
        with self._database.transaction() as tx:
            for track in self._tracks.values():
                track.flush(tx)
        self._tracks.clear()
        self._open.clear()
