"""Writing the calls of one run: the intent before a call is made, each answer before the agent sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from orjson import JSONEncodeError

from agent_tt.errors import Damaged, StepNotFound
from agent_tt.history.hashing import blob_names
from agent_tt.history.payloads.payload import pack_call_value, unpack_call_value
from agent_tt.history.payloads.shared_lists import SharedLists
from agent_tt.history.payloads.templates import Templates
from agent_tt.model import Delivery
from agent_tt.store import ingest_filter
from agent_tt.store.open_step import answer_fingerprint
from agent_tt.store.rows import columns, deliveries
from agent_tt.store.tables.definitions import CALLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.large_parts import PutBlob
    from agent_tt.history.payloads.blobs import Blobs
    from agent_tt.model import Call, CallEnd, DeliveryKind, Judged, NewCall
    from agent_tt.store.file.connection import Database
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.liveness import Clock
    from agent_tt.store.numbers import NextNumbers
    from agent_tt.store.open_step import OpenStep
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["CallWriter"]

_REFS: Final = CALLS.columns.index("refs")


class CallWriter:
    """Writes the calls of one run. Threads may share it: commits, and the numbers of answers, stay in order."""

    def __init__(
        self,
        database: Database,
        blobs: Blobs,
        run: int,
        run_id: str,
        open_steps: dict[int, OpenStep],
        clock: Clock,
        numbers: NextNumbers,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._run = run
        self._run_id = run_id
        self._open = open_steps
        self._templates = Templates()
        self._lists = SharedLists()
        self._clock = clock
        self._numbers = numbers
        self._shared: int | None = None

    def begin(self, step: int, new: NewCall) -> int:
        """Commit the intent of a call; give its number within the step."""
        refs: list[bytes] = []
        meta = ingest_filter.admit_mapping(new.meta)
        with self._database.lock:
            open_step = self._open.get(step)
            with self._database.transaction() as tx:
                self._numbers.check(tx)
                put = self._blob_sink(tx, refs)
                args = pack_call_value(ingest_filter.admit(new.args), put)
                if open_step is not None and open_step.breaks == self._numbers.breaks:
                    number = len(open_step.kinds) + 1
                else:
                    ((last,),) = tx.query("SELECT max(call) FROM calls WHERE run = ? AND step = ?", (self._run, step))
                    number = 1 if last is None else int(last) + 1
                facts = self._pack_facts(meta, put)
                intent: tuple[SqlValue, ...] = (
                    *(self._run, step, number, ingest_filter.admit_text(new.lane), new.lane_seq, new.kind),
                    *(ingest_filter.admit_text(new.name), new.effect, "pending", _signature(new.signature)),
                    *(args, None, None, b"".join(refs) or None, self._clock.now_us(), None, None, facts),
                )
                row, _ = CALLS.write(tx, intent)
            self._numbers.keep()
            if open_step is not None:
                open_step.pending[number] = row
                open_step.kinds.append((new.kind, new.effect))
                open_step.meta[number] = meta
                open_step.ask(number, new.kind, new.signature)
        return number

    def add(self, tx: Transaction, step: int, call: Call) -> None:
        """Write a call as a whole, as it is given."""
        refs: list[bytes] = []
        put = self._blob_sink(tx, refs)
        args = self._pack_shared(call.args, put, refs)
        result = pack_call_value(call.result, put) if call.status == "ok" else None
        facts = self._pack_facts(call.meta, put)
        row: tuple[SqlValue, ...] = (
            *(self._run, step, call.number, call.lane, call.lane_seq, call.kind, call.name, call.effect, call.status),
            *(_signature(call.signature or ""), args, result, columns.error_to_text(call.error)),
            *(b"".join(dict.fromkeys(refs)) or None, call.started_us, call.ended_us, None, facts),
        )
        CALLS.write(tx, row)

    def _pack_shared(self, args: Wire, put: PutBlob, refs: list[bytes]) -> str:
        """Arguments as the text of their column; a conversation that goes on from the last one shares its blobs."""
        try:
            text = pack_call_value(args, put, lists=self._lists)
        except JSONEncodeError:  # nested too deeply for a blob
            return pack_call_value(args, put)
        refs += self._lists.named
        return text

    def amend(self, step: int, call: int, meta: Mapping[str, Wire], args: Wire) -> None:
        """Commit what has been decided of a call before it goes out; other arguments unless they are None.

        Raises:
            StepNotFound: there is no such call.
        """
        refs: list[bytes] = []
        with self._database.lock:
            with self._database.transaction() as tx:
                facts = {**self._facts(tx, step, call), **ingest_filter.admit_mapping(meta)}
                put = self._blob_sink(tx, refs)
                changes: dict[str, SqlValue] = {"meta": self._pack_facts(facts, put)}
                if args is not None:
                    changes["args"] = pack_call_value(ingest_filter.admit(args), put)
                row = self._change(tx, step, call, changes, refs)
            open_step = self._open.get(step)
            if open_step is not None:
                open_step.meta[call] = facts
                open_step.pending[call] = row

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged) -> int:
        """Commit a piece of an answer, and what it tells of those before it; give its run-wide number.

        Raises:
            StepNotFound: there is no such call.
        """
        with self._database.lock:
            with self._database.transaction() as tx:
                self._numbers.check(tx)
                self._facts(tx, step, call)
                number = self._next_number(tx)
                piece = ingest_filter.admit_piece(data)
                self._settle(tx, step, call, piece.settled)
                self._deliver(tx, step, call, Delivery(number, kind, self._clock.now_us(), piece.data))
            self._numbers.keep()
        return number

    def _deliver(self, tx: Transaction, step: int, call: int, delivery: Delivery) -> None:
        data, refs = self._pack_piece(tx, delivery.data)
        deliveries.insert(tx, delivery, data, refs, run=self._run, step=step, call=call)

    def _settle(self, tx: Transaction, step: int, call: int, settled: Sequence[tuple[int, Wire]]) -> None:
        """Write what is kept of pieces that were held back."""
        for place, piece in settled:
            data, refs = self._pack_piece(tx, piece)
            deliveries.settle(tx, place, data, refs, run=self._run, step=step, call=call)

    def _pack_piece(self, tx: Transaction, piece: Wire) -> tuple[str | None, bytes | None]:
        refs: list[bytes] = []
        data = None if piece is None else pack_call_value(piece, self._blob_sink(tx, refs), self._templates)
        return data, b"".join(refs) or None

    def end(self, step: int, call: int, end: CallEnd) -> None:
        """Commit what came back; the end of a stream is a delivery of its own.

        Raises:
            StepNotFound: there is no such call.
        """
        refs: list[bytes] = []
        result = None
        error = columns.error_to_text(ingest_filter.admit_error(end.error))
        with self._database.lock:
            with self._database.transaction() as tx:
                self._numbers.check(tx)
                put = self._blob_sink(tx, refs)
                if end.status == "ok":
                    result = pack_call_value(ingest_filter.admit_answer(end.result), put)
                facts = {**self._facts(tx, step, call), **ingest_filter.admit_mapping(end.meta)}
                number, now = self._next_number(tx), self._clock.now_us()
                self._settle(tx, step, call, end.settled)
                if end.stream is not None:
                    returned = ingest_filter.admit_answer(end.returned)
                    self._deliver(tx, step, call, Delivery(number, end.stream, now, returned))
                changes: dict[str, SqlValue] = {
                    "status": end.status,
                    "result": result,
                    "error": error,
                    "ended_us": now,
                    "delivered": number if end.stream is None else None,
                    "meta": self._pack_facts(facts, put),
                }
                self._change(tx, step, call, changes, refs)
            self._numbers.keep()
            open_step = self._open.get(step)
            if open_step is not None:
                open_step.meta.pop(call, None)
                open_step.pending.pop(call, None)
                if call in open_step.asked:
                    open_step.answers[call] = answer_fingerprint(end.status, result, error)

    def _change(
        self, tx: Transaction, step: int, call: int, changes: dict[str, SqlValue], refs: list[bytes]
    ) -> Sequence[SqlValue]:
        """Update the row of a call that is there, to whose blobs `refs` are added; give it as it is now."""
        open_step = self._open.get(step)
        row = open_step.pending.get(call) if open_step is not None else None
        if row is None:
            (found,) = CALLS.read(tx, "run = ? AND step = ? AND call = ?", (self._run, step, call))
            if not CALLS.holds(found):
                raise Damaged(f"call {call} of step {step} of run {self._run_id} is damaged, and cannot go on")
            row = CALLS.with_digests(found[:-1])
        if refs:
            changes["refs"] = b"".join(dict.fromkeys([*blob_names(row[_REFS]), *refs]))
        return CALLS.rewrite(tx, row, changes)

    def _pack_facts(self, facts: Mapping[str, Wire], put: PutBlob) -> str | None:
        kept: dict[str, Wire] = {name: fact for name, fact in facts.items() if fact is not None}
        if not kept:
            return None
        try:
            return pack_call_value(kept, put, self._templates)
        except UnicodeEncodeError:  # the name of a file may hold bytes that are not UTF-8
            return pack_call_value(columns.sound_tree(kept), put)

    def _next_number(self, tx: Transaction) -> int:
        """The number of an answer: a process that the agent forked may deliver too."""
        numbers = self._numbers
        if numbers.answer is None:
            if self._shared is None:
                self._shared = deliveries.last_before(tx, self._run)
            numbers.answer = max(self._shared, deliveries.last_number(tx, self._run))
        numbers.answer += 1
        return numbers.answer

    def last_answer(self) -> int:
        """The number of the last answer, or piece of one, that was committed."""
        return max(deliveries.last_before(self._database, self._run), deliveries.last_number(self._database, self._run))

    def _facts(self, tx: Transaction, step: int, call: int) -> dict[str, Wire]:
        """What was said of a call when it began."""
        open_step = self._open.get(step)
        known = open_step.meta.get(call) if open_step is not None else None
        if known is not None:
            return known
        found = tx.query("SELECT meta FROM calls WHERE run = ? AND step = ? AND call = ?", (self._run, step, call))
        if not found:
            raise StepNotFound(f"step {step} of run {self._run_id} has no call {call}")
        facts = unpack_call_value(found[0][0], f"call {call} of step {step}", self._blobs.get)
        return facts if isinstance(facts, dict) else {}

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
