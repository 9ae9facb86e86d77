"""Writing one run: each method is one transaction, so that whatever was returned is in the file.

A step's row is committed when it opens, a call's intent before the call is made, its result before the agent sees it,
and a step's end together with its checkpoint. Numbers are taken inside the transaction, so that a process that the
agent forked can go on recording beside its parent.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from agent_tt.errors import StepNotFound, StoreUnreadable
from agent_tt.history.append import TrackWriter, create_track, fork_track
from agent_tt.history.payload import pack_call_value
from agent_tt.protocols import NO_STATE
from agent_tt.store import columns, door
from agent_tt.store.liveness import now_us
from agent_tt.store.open_step import OpenStep, answer_fingerprint
from agent_tt.store.run_rows import usage_of_steps

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.history.large_parts import PutBlob
    from agent_tt.history.log import StateLog
    from agent_tt.history.rows import Transaction
    from agent_tt.history.training import DictionaryTrainer
    from agent_tt.model import CallEnd, ErrorInfo, NewCall, NewStep, RunStatus, StepEnd
    from agent_tt.store.connection import Database
    from agent_tt.store.lineage import Lineage
    from agent_tt.store.liveness import Heart

__all__ = ["SqliteRunWriter"]


class SqliteRunWriter:
    """The open end of one run. Safe to use from several threads; their commits follow one another."""

    def __init__(
        self,
        database: Database,
        log: StateLog,
        lineage: Lineage,
        heart: Heart,
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
        self._delivered = 0
        self._first_step = first_step

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
        """Commits a step as running; gives its number.

        Its commit is not forced to the disk by itself: nothing has happened yet, and the next commit covers it.
        """
        with self._database.transaction(durable=False) as tx:
            ((last,),) = tx.query("SELECT max(step) FROM steps WHERE run = ?", (self._run,))
            number = self._first_step if last is None else int(last) + 1
            tx.execute(
                "INSERT INTO steps(run, step, parent_step, name, agent, lane, status, started_us)"
                " VALUES(?, ?, ?, ?, ?, ?, 'running', ?)",
                (
                    self._run,
                    number,
                    new.parent,
                    columns.sound(new.name),
                    _sound(new.agent),
                    columns.sound(new.lane),
                    now_us(),
                ),
            )
            self._open[number] = OpenStep()
        return number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Commits a step's end and, unless `state` is `NO_STATE`, a checkpoint of `state`.

        Raises:
            StoreBusy: another process held the lock for too long; the step is as it was.
        """
        with self._database.lock:
            try:
                self._close_step(number, end, state, track)
            except sqlite3.IntegrityError:
                # Another process, forked from this one, went on with the track: follow it, and try once more.
                try:
                    self._close_step(number, end, state, track)
                except sqlite3.IntegrityError as error:
                    raise StoreUnreadable(
                        f"step {number} of run {self._run_id} could not be stored: {error}"
                    ) from error

    def _close_step(self, number: int, end: StepEnd, state: object, track: str) -> None:
        try:
            if state is NO_STATE:
                with self._database.transaction() as tx:
                    self._end_step(tx, number, end, self._track_number(track), None)
                return
            writer = self._track(track)
            checkpoint = writer.compare(door.admit_state(state))
            with self._database.transaction() as tx:
                writer.store(tx, checkpoint, shared=end.shared_track)
                self._end_step(tx, number, end, writer.track, checkpoint.seq)
        except BaseException:
            # What they remember may be ahead of the file: start again from the file.
            self._tracks.pop(track, None)
            self._trainer.restart()
            raise

    def _end_step(self, tx: Transaction, number: int, end: StepEnd, track: int | None, seq: int | None) -> None:
        calls = self._open.pop(number, None) or OpenStep()
        fingerprint = calls.fingerprint
        repeat_of = None if fingerprint is None else self._seen.get(fingerprint)
        if fingerprint is not None:
            self._seen.setdefault(fingerprint, number)
        facts: dict[str, Wire] = {
            "calls": len(calls.kinds) or None,
            "repeat_of": repeat_of,
            "decision": None if end.decision is None else columns.sound(end.decision),
            "extra": door.admit(dict(end.extra)) or None,
        }
        tx.execute(
            "UPDATE steps SET kind = ?, status = ?, ended_us = ?, tokens_in = ?, tokens_out = ?, cost_usd = ?,"
            " error = ?, track = ?, seq = ?, meta = ? WHERE run = ? AND step = ?",
            (
                calls.kind,
                end.status,
                now_us(),
                end.tokens_in,
                end.tokens_out,
                end.cost_usd,
                columns.error_to_text(door.admit_error(end.error)),
                track,
                seq,
                columns.mapping_to_text(facts),
                self._run,
                number,
            ),
        )

    # ---------------------------------------------------------------- tracks

    def start_track(self, tx: Transaction, state: object) -> None:
        """Writes checkpoint 0 of a new run, in the transaction of the run's row."""
        writer = TrackWriter(self._log, create_track(tx, self._run, "main"), self._trainer)
        writer.store(tx, writer.compare(door.admit_state(state)))
        self._tracks["main"] = writer

    def resume(self) -> None:
        """Reads what a run that is taken over needs to know of the steps before.

        Raises:
            Damaged: the checkpoint that it goes on from cannot be read in full.
        """
        for (name,) in self._database.query("SELECT name FROM tracks WHERE run = ?", (self._run,)):
            self._track(name)
        for stretch in self._lineage.stretches(self._run):
            self._remember(stretch.run, (1 << 62) if stretch.last is None else stretch.last)

    def _remember(self, run: int, last: int) -> None:
        steps: dict[int, OpenStep] = {}
        for step, call, kind, status, signature, result, error, delivered in self._database.query(
            "SELECT step, call, kind, status, lower(hex(signature)), result, error, delivered FROM calls"
            " WHERE run = ? AND step <= ? ORDER BY step, call",
            (run, last),
        ):
            self._delivered = max(self._delivered, delivered or 0)
            known = steps.setdefault(step, OpenStep())
            known.ask(call, kind, signature)
            if call in known.asked and status != "pending":
                known.answers[call] = answer_fingerprint(status, result, error)
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
                    number = self._new_track(tx, columns.sound(name))
            writer = self._tracks[name] = TrackWriter.resume(self._log, number, self._trainer)
        return writer

    def _track_number(self, name: str) -> int | None:
        known = self._tracks.get(name)
        if known is not None:
            return known.track
        found = self._database.query(
            "SELECT track FROM tracks WHERE run = ? AND name = ?", (self._run, columns.sound(name))
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
        """Commits the intent of a call, before it is made; gives its number within the step."""
        refs: list[bytes] = []
        with self._database.transaction() as tx:
            args = pack_call_value(door.admit(new.args), self._blob_sink(tx, refs))
            meta = dict(new.meta)
            ((last,),) = tx.query("SELECT max(call) FROM calls WHERE run = ? AND step = ?", (self._run, step))
            number = 1 if last is None else int(last) + 1
            tx.execute(
                "INSERT INTO calls(run, step, call, lane, lane_seq, kind, name, effect, status, signature, args, refs,"
                " started_us, meta) VALUES(?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)",
                (
                    self._run,
                    step,
                    number,
                    columns.sound(new.lane),
                    new.lane_seq,
                    new.kind,
                    columns.sound(new.name),
                    new.effect,
                    _signature(new.signature),
                    args,
                    b"".join(refs) or None,
                    now_us(),
                    columns.mapping_to_text(meta),
                ),
            )
            open_step = self._open.get(step)
            if open_step is not None:
                open_step.kinds.append((new.kind, new.effect))
                open_step.meta[number] = meta
                open_step.ask(number, new.kind, new.signature)
        return number

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """Commits what came back, before the agent sees it.

        Raises:
            StepNotFound: there is no such call.
        """
        refs: list[bytes] = []
        with self._database.transaction() as tx:
            result = None
            if end.status == "ok":
                result = pack_call_value(door.admit(end.result), self._blob_sink(tx, refs))
            error = columns.error_to_text(door.admit_error(end.error))
            open_step = self._open.get(step)
            before = open_step.meta.pop(number, {}) if open_step is not None else self._stored_meta(tx, step, number)
            self._delivered += 1
            tx.execute(
                "UPDATE calls SET status = ?, result = ?, error = ?,"
                " refs = nullif(CAST(ifnull(refs, x'') || ? AS BLOB), x''), ended_us = ?, delivered = ?, meta = ?"
                " WHERE run = ? AND step = ? AND call = ?",
                (
                    end.status,
                    result,
                    error,
                    b"".join(refs),
                    now_us(),
                    self._delivered,
                    columns.mapping_to_text({**before, **end.meta}),
                    self._run,
                    step,
                    number,
                ),
            )
            if open_step is not None and number in open_step.asked:
                open_step.answers[number] = answer_fingerprint(end.status, result, error)

    def _stored_meta(self, tx: Transaction, step: int, number: int) -> dict[str, Wire]:
        found = tx.query("SELECT meta FROM calls WHERE run = ? AND step = ? AND call = ?", (self._run, step, number))
        if not found:
            raise StepNotFound(f"step {step} of run {self._run_id} has no call {number}")
        return columns.mapping_from_text(found[0][0])

    def _blob_sink(self, tx: Transaction, refs: list[bytes]) -> PutBlob:
        def put(plain: bytes) -> str:
            digest = self._log.blobs.put(tx, plain)
            refs.append(digest)
            return digest.hex()

        return put

    # ---------------------------------------------------------------- the end

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Ends the run: flushes indexes, writes status and end time. Steps left open count as interrupted."""
        with self._database.transaction() as tx:
            for track in self._tracks.values():
                track.flush(tx)
            now = now_us()
            tx.execute(
                "UPDATE steps SET status = 'interrupted', ended_us = ? WHERE run = ? AND status = 'running'",
                (now, self._run),
            )
            ((meta,),) = tx.query("SELECT meta FROM runs WHERE run = ?", (self._run,))
            facts = columns.mapping_from_text(meta)
            facts["usage"] = usage_of_steps(tx, self._run).to_wire()
            tx.execute(
                "UPDATE runs SET status = ?, ended_us = ?, error = ?, meta = ? WHERE run = ?",
                (
                    status,
                    now,
                    columns.error_to_text(door.admit_error(error)),
                    columns.mapping_to_text(facts) or "{}",
                    self._run,
                ),
            )
        self._tracks.clear()
        self._open.clear()
        self._heart.remove(self._run)
        self._database.checkpoint("TRUNCATE")


def _signature(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def _sound(text: str | None) -> str | None:
    return None if text is None else columns.sound(text)
