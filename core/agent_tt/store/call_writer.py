"""Writing the calls of one run: the intent before a call is made, each answer before the agent sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import StepNotFound
from agent_tt.history.payload import pack_call_value
from agent_tt.model import Delivery
from agent_tt.store import columns, deliveries, door
from agent_tt.store.liveness import now_us
from agent_tt.store.open_step import answer_fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.history.blobs import Blobs
    from agent_tt.history.large_parts import PutBlob
    from agent_tt.history.rows import Transaction
    from agent_tt.model import CallEnd, DeliveryKind, NewCall
    from agent_tt.store.connection import Database
    from agent_tt.store.open_step import OpenStep

__all__ = ["CallWriter"]


class CallWriter:
    """Writes the calls of one run, from any thread; its commits follow one another, and so do the answers' numbers.

    Attributes:
        delivered_before: the last number that an answer of the run's ancestors took.
    """

    def __init__(
        self, database: Database, blobs: Blobs, run: int, run_id: str, open_steps: dict[int, OpenStep]
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._run = run
        self._run_id = run_id
        self._open = open_steps
        self.delivered_before = 0

    def begin(self, step: int, new: NewCall) -> int:
        """Commits the intent of a call; gives its number within the step."""
        refs: list[bytes] = []
        meta = door.admit_mapping(new.meta)
        with self._database.lock:
            with self._database.transaction() as tx:
                args = pack_call_value(door.admit(new.args), self._blob_sink(tx, refs))
                ((last,),) = tx.query("SELECT max(call) FROM calls WHERE run = ? AND step = ?", (self._run, step))
                number = 1 if last is None else int(last) + 1
                tx.execute(
                    "INSERT INTO calls(run, step, call, lane, lane_seq, kind, name, effect, status, signature, args,"
                    " refs, started_us, meta) VALUES(?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)",
                    (
                        self._run,
                        step,
                        number,
                        door.admit_text(new.lane),
                        new.lane_seq,
                        new.kind,
                        door.admit_text(new.name),
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

    def amend(self, step: int, call: int, meta: Mapping[str, Wire], args: Wire) -> None:
        """Commits what has been decided of a call before it goes out; other arguments unless they are None.

        Raises:
            StepNotFound: there is no such call.
        """
        refs: list[bytes] = []
        with self._database.lock:
            with self._database.transaction() as tx:
                facts = {**self._facts(tx, step, call), **door.admit_mapping(meta)}
                packed = None if args is None else pack_call_value(door.admit(args), self._blob_sink(tx, refs))
                tx.execute(
                    "UPDATE calls SET meta = ?, args = ifnull(?, args),"
                    " refs = nullif(CAST(ifnull(refs, x'') || ? AS BLOB), x'') WHERE run = ? AND step = ? AND call = ?",
                    (columns.mapping_to_text(facts), packed, b"".join(refs), self._run, step, call),
                )
            open_step = self._open.get(step)
            if open_step is not None:
                open_step.meta[call] = facts

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire) -> int:
        """Commits a piece of an answer; gives its run-wide number.

        Raises:
            StepNotFound: there is no such call.
        """
        with self._database.transaction() as tx:
            self._facts(tx, step, call)
            number = self._next_number(tx)
            delivery = Delivery(number, kind, now_us(), door.admit_answer(data))
            deliveries.insert(tx, self._blobs, delivery, run=self._run, step=step, call=call)
        return number

    def end(self, step: int, call: int, end: CallEnd) -> None:
        """Commits what came back; the end of a stream is a delivery of its own.

        Raises:
            StepNotFound: there is no such call.
        """
        refs: list[bytes] = []
        result = None
        error = columns.error_to_text(door.admit_error(end.error))
        with self._database.lock:
            with self._database.transaction() as tx:
                if end.status == "ok":
                    result = pack_call_value(door.admit_answer(end.result), self._blob_sink(tx, refs))
                facts = {**self._facts(tx, step, call), **door.admit_mapping(end.meta)}
                number, now = self._next_number(tx), now_us()
                if end.stream is not None:
                    delivery = Delivery(number, end.stream, now, door.admit_answer(end.returned))
                    deliveries.insert(tx, self._blobs, delivery, run=self._run, step=step, call=call)
                tx.execute(
                    "UPDATE calls SET status = ?, result = ?, error = ?,"
                    " refs = nullif(CAST(ifnull(refs, x'') || ? AS BLOB), x''), ended_us = ?, delivered = ?, meta = ?"
                    " WHERE run = ? AND step = ? AND call = ?",
                    (
                        end.status,
                        result,
                        error,
                        b"".join(refs),
                        now,
                        number if end.stream is None else None,
                        columns.mapping_to_text(facts),
                        self._run,
                        step,
                        call,
                    ),
                )
            open_step = self._open.get(step)
            if open_step is not None:
                open_step.meta.pop(call, None)
                if call in open_step.asked:
                    open_step.answers[call] = answer_fingerprint(end.status, result, error)

    def _next_number(self, tx: Transaction) -> int:
        """Asked of the file, because a process that the agent forked may deliver too."""
        return 1 + max(self.delivered_before, deliveries.last_number(tx, self._run))

    def _facts(self, tx: Transaction, step: int, call: int) -> dict[str, Wire]:
        """What was said of a call when it began."""
        open_step = self._open.get(step)
        known = open_step.meta.get(call) if open_step is not None else None
        if known is not None:
            return known
        found = tx.query("SELECT meta FROM calls WHERE run = ? AND step = ? AND call = ?", (self._run, step, call))
        if not found:
            raise StepNotFound(f"step {step} of run {self._run_id} has no call {call}")
        return columns.mapping_from_text(found[0][0])

    def _blob_sink(self, tx: Transaction, refs: list[bytes]) -> PutBlob:
        def put(plain: bytes) -> str:
            digest = self._blobs.put(tx, plain)
            refs.append(digest)
            return digest.hex()

        return put


def _signature(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None
