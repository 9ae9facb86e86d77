"""Writing recorded runs anew without what the rules that hold now find in them; `anew` says how that is sound."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import field
from itertools import groupby
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged, Refused
from agent_tt.history.hashing import blob_names
from agent_tt.history.payloads.payload import names_of, pack, pack_call_value, unpack_call_value
from agent_tt.history.payloads.shared_lists import SharedLists
from agent_tt.history.payloads.templates import Templates
from agent_tt.history.rows import row_key
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store import ingest_filter
from agent_tt.store.anew import StatesAnew, family_of, in_one_transaction, rows_as_written
from agent_tt.store.deleting import sweep_rows
from agent_tt.store.rows import columns
from agent_tt.store.rows.deliveries import NUMBER_MASK, keys_of
from agent_tt.store.rows.run_rows import OUTPUT
from agent_tt.store.tables.definitions import (
    CALLS,
    DELIVERIES,
    FOREIGN_MARKS,
    NOTES,
    RUNS,
    STEPS,
    SWEEPS,
    TAGS,
    TRACKS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Row
    from agent_tt.store.tables.asking import SqlValue
    from agent_tt.store.tables.table import Table

__all__ = ["Anew", "AskedAnew", "Redaction", "redact_rows"]

_OURS: Final = frozenset(
    fact.key for fact in (RunMeta.code, RunMeta.origin, RunMeta.usage, RunMeta.counts, RunMeta.way_back_in)
)
"""What agent-tt says of a run on its own account passes no filter when it is recorded, either."""
_TEXTS: Final = ("note", "bookmark")
_MOST_LISTED: Final = 10


class AskedAnew(Protocol):
    """What a call asked, without what was taken out."""

    @property
    def name(self) -> str:
        """What is called."""

    @property
    def args(self) -> Wire:
        """The arguments."""

    @property
    def signature(self) -> str:
        """Hex digest of the question; "" for none."""

    @property
    def is_sure(self) -> bool:
        """Whether a replay recognises the question by it."""


class Anew(Protocol):
    """What whoever has rows written anew says of them, because the store does not know it."""

    def question(self, kind: str, name: str, args: Wire, signature: str) -> AskedAnew:
        """What a call asked."""

    def pieces(self, pieces: Sequence[Wire], method: str) -> list[Wire]:
        """The pieces of an answer; `method` is that of a request over HTTP, else ""."""

    def said_of(self, metadata: Mapping[str, Wire], unsure: int) -> dict[str, Wire]:
        """What the metadata of a run says from now on, of which `unsure` questions may not be recognised."""


@dataclass(slots=True)
class Redaction:
    """What was written anew, or would be.

    Attributes:
        runs: names of the runs, without what goes, by id, in the order in which they were made.
        changed: how many rows changed, by what they are.
        unsure: how many questions a replay may not recognise any more.
        is_clean: whether what the file has let go is overwritten.
    """

    runs: dict[str, str] = field(default_factory=dict)
    changed: Counter[str] = field(default_factory=Counter)
    unsure: int = 0
    is_clean: bool = False


def redact_rows(
    path: Path,
    run_ids: Sequence[str],
    anew: Anew,
    *,
    is_all: bool,
    is_tried: bool,
    besides: Callable[[], None],
    report: Callable[[int, int], None],
) -> Redaction:
    """Write runs, with their families, anew.

    Args:
        path: the store.
        run_ids: the runs.
        anew: what the store does not know.
        is_all: whether they are all runs of it: then marks on runs of other files are gone through, too.
        is_tried: whether all is only tried, and nothing kept.
        besides: takes away what was made of the rows elsewhere; called when they are committed.
        report: told (runs done, in all).

    Raises:
        IsRunning: a run is being recorded that is in the way.
        Refused: runs that are not among them share a value that would have to go.
        Damaged: something cannot be read, so that nobody can say what it holds.
    """
    done = Redaction()

    def write(states: StatesAnew) -> None:
        writing = _Writing(states, anew, done)
        writing.rewrite(family_of(states.tx, run_ids), report)
        if is_all:
            writing.foreign_marks()

    done.is_clean = in_one_transaction(path, write, is_tried=is_tried, besides=besides)
    return done


class _Writing:
    """Writes runs anew in one transaction.

    Args:
        states: writes the states.
        anew: what the store does not know.
        done: is told what changed.
    """

    def __init__(self, states: StatesAnew, anew: Anew, done: Redaction) -> None:
        self._tx = states.tx
        self._before = states.before
        self._states = states
        self._log = self._states.log
        self._anew = anew
        self._done = done
        self._templates = Templates()
        self._gone: set[bytes] = set()
        self._kept: set[bytes] = set()

    def rewrite(self, numbers: Sequence[int], report: Callable[[int, int], None]) -> None:
        """Write runs anew, and let go what they named alone."""
        tx = self._tx
        agents = self._states.agents()
        self._states.without_dictionaries({agents[run] for run in numbers}, numbers)
        for count, run in enumerate(numbers):
            report(count, len(numbers))
            changed, unsure = self._done.changed.total(), self._done.unsure
            self._tags(run)
            self._notes(run)
            self._steps(run)
            self._calls(run)
            self._tracks(run, agents[run])
            self._sweeps(run)
            self._run(run, changed, unsure)
        self._check_shared(numbers)
        sweep_rows(tx, is_alone=self._states.is_alone)
        for run, run_id, name in tx.query("SELECT run, id, name FROM runs ORDER BY run"):
            if run in numbers:
                self._done.runs[str(run_id)] = str(name)
        report(len(numbers), len(numbers))

    def foreign_marks(self) -> None:
        """Write marks on runs that lie in other files anew."""
        for row in self._rows(FOREIGN_MARKS, "1", ()):
            self._change(FOREIGN_MARKS, row, {"body": _body(row[5], row[6])}, "notes")

    # ---------------------------------------------------------------- rows

    def _rows(self, table: Table, where: str, given: Sequence[SqlValue]) -> Iterator[Row]:
        return rows_as_written(self._tx, table, where, given)

    def _change(self, table: Table, row: Row, now: Mapping[str, SqlValue], what: str) -> None:
        """Write what changed of a row, and count it."""
        was = dict(zip(table.columns, row, strict=False))
        changed = {name: value for name, value in now.items() if value != was[name]}
        if changed:
            table.rewrite(self._tx, table.with_digests(row[:-1]), changed)
        if set(changed) - {"refs", "signature"}:
            self._done.changed[what] += 1

    def _run(self, run: int, changed: int, unsure: int) -> None:
        (row,) = self._rows(RUNS, "run = ?", (run,))
        facts = columns.mapping_from_text(row[14])
        now = {key: value if key in _OURS else ingest_filter.admit(value, key) for key, value in facts.items()}
        said: dict[str, SqlValue] = {"name": ingest_filter.admit_text(row[2]), "error": _error(row[10])}
        self._change(RUNS, row, {**said, "meta": columns.mapping_to_text(now) or "{}"}, "runs")
        if self._done.changed.total() > changed:
            metadata = now.get(RunMeta.metadata.key)
            now[RunMeta.metadata.key] = self._anew.said_of(
                metadata if isinstance(metadata, dict) else {}, self._done.unsure - unsure
            )
            RUNS.update(self._tx, (run,), {"meta": columns.mapping_to_text(now)})

    def _tags(self, run: int) -> None:
        tags = [str(row[1]) for row in self._rows(TAGS, "run = ?", (run,))]
        shown = list(dict.fromkeys(map(ingest_filter.admit_text, tags)))
        if shown != tags:
            TAGS.delete(self._tx, "run = ?", (run,))
            for tag in shown:
                TAGS.insert(self._tx, (run, tag))
            self._done.changed["tags"] += 1

    def _notes(self, run: int) -> None:
        for row in self._rows(NOTES, "run = ?", (run,)):
            if row[3] == OUTPUT:
                self._output(row)
            else:
                self._change(NOTES, row, {"body": _body(row[3], row[4])}, "notes")

    def _output(self, row: Row) -> None:
        """Write what a run printed anew; where a part of it was never kept, its digest cannot be, and it goes."""
        facts = columns.mapping_from_text(row[4])
        text, tail = str(facts.get("text", "")), str(facts.get("tail", ""))
        shown, end = ingest_filter.admit_text(text), ingest_filter.admit_text(tail)
        if (shown, end) == (text, tail):
            return
        if tail:
            NOTES.delete(self._tx, "note = ?", (row[0],))
            self._done.changed["output"] += 1
            return
        made = hashlib.blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        body = columns.mapping_to_text({**facts, "text": shown, "size": len(shown), "digest": made})
        self._change(NOTES, row, {"body": body}, "output")

    def _steps(self, run: int) -> None:
        for row in self._rows(STEPS, "run = ?", (run,)):
            was = dict(zip(STEPS.columns, row, strict=False))
            facts = ingest_filter.admit_mapping(columns.mapping_from_text(was["meta"]))
            now: dict[str, SqlValue] = {key: _text(was[key]) for key in ("name", "agent", "lane")}
            self._change(
                STEPS, row, {**now, "error": _error(was["error"]), "meta": columns.mapping_to_text(facts)}, "steps"
            )

    def _sweeps(self, run: int) -> None:
        for row in self._rows(SWEEPS, "run = ?", (run,)):
            self._change(SWEEPS, row, {"definition": _body("", row[5])}, "sweeps")

    # ---------------------------------------------------------------- calls

    def _calls(self, run: int) -> None:
        pieces: dict[tuple[object, object], list[Row]] = {
            key: list(rows)
            for key, rows in groupby(
                self._rows(DELIVERIES, "id BETWEEN ? AND ? ORDER BY step, call, id", keys_of(run)),
                key=lambda row: (row[1], row[2]),
            )
        }
        for row in self._rows(CALLS, "run = ? ORDER BY step, call", (run,)):
            self._call(row, pieces.get((row[1], row[2]), []))

    def _call(self, row: Row, pieces: Sequence[Row]) -> None:
        was = dict(zip(CALLS.columns, row, strict=False))
        what = f"call {was['call']} of step {was['step']}"
        args, result, meta = (self._value(was[name], what) for name in ("args", "result", "meta"))
        signature = was["signature"].hex() if isinstance(was["signature"], bytes) else ""
        asked = self._anew.question(str(was["kind"]), str(was["name"] or ""), args, signature)
        self._done.unsure += not asked.is_sure
        method = args.get("method") if isinstance(args, dict) else None
        self._pieces(pieces, what, method if isinstance(method, str) else "")
        refs: list[bytes] = []
        now: dict[str, SqlValue] = {
            "lane": _text(was["lane"]),
            "name": None if was["name"] is None else columns.sound(asked.name),
            "signature": bytes.fromhex(asked.signature) if asked.signature else None,
            "args": self._packed(was["args"], args, ingest_filter.admit(asked.args), refs),
            "result": self._packed(was["result"], result, ingest_filter.admit_answer(result), refs),
            "error": _error(was["error"]),
            "meta": self._packed(was["meta"], meta, ingest_filter.admit(meta), refs, self._templates),
        }
        self._change(CALLS, row, {**now, "refs": self._names(was["refs"], refs)}, "calls")

    def _pieces(self, rows: Sequence[Row], what: str, method: str) -> None:
        """Write the pieces of an answer anew, judged together; what a generator returned is none of them."""
        chunks = [row for row in rows if row[3] == "chunk"]
        held = [self._value(row[5], what) for row in chunks]
        shown = {row[0]: piece for row, piece in zip(chunks, self._anew.pieces(held, method), strict=True)}
        for row in rows:
            value = self._value(row[5], what)
            refs: list[bytes] = []
            now = shown[row[0]] if row[0] in shown else ingest_filter.admit_answer(value)
            data = self._packed(row[5], value, now, refs, self._templates)
            self._change(DELIVERIES, row, {"data": data, "refs": self._names(row[6], refs)}, "pieces of answers")

    def _value(self, text: object, what: str) -> Wire:
        """What a column holds.

        Raises:
            Damaged: not all of it can be read.
        """
        unread: list[str] = []
        value = unpack_call_value(text, what, self._before.blobs.get, unread)
        if unread:
            raise Damaged(unread[0], hint="`agent-tt delete` takes whole runs away.")
        return value

    def _packed(
        self, before: object, was: Wire, now: Wire, refs: list[bytes], templates: Templates | None = None
    ) -> str | None:
        """A column that holds `now`; as it is where that is what it held."""
        if before is None:
            return None
        found = orjson.loads(str(before))
        has_refs = isinstance(found, dict) and found.keys() == {"v", "r"}
        if was == now:
            if has_refs:
                refs += names_of(found["r"])
            return str(before)

        def put(plain: bytes) -> str:
            stored = self._log.blobs.put(self._tx, plain)
            refs.append(stored)
            return stored.hex()

        is_shared = has_refs and any(ref[1] == "l" for ref in found["r"])
        return pack_call_value(now, put, templates, SharedLists() if is_shared else None)

    def _names(self, before: SqlValue, refs: Sequence[bytes]) -> bytes | None:
        """What a row names from now on; what it does not name any more is remembered."""
        self._gone |= {*blob_names(before)} - {*refs}
        self._kept |= {*refs}
        return b"".join(dict.fromkeys(refs)) or None

    # ---------------------------------------------------------------- states

    def _tracks(self, run: int, agent: str) -> None:
        for row in [*self._rows(TRACKS, "run = ? ORDER BY track", (run,))]:
            track, _, name, _, fork_seq, _, _, _ = row
            keys = (row_key(track, 0), row_key(track, NUMBER_MASK))
            was: dict[int, bytes] = dict(self._tx.query("SELECT id, digest FROM deltas WHERE id BETWEEN ? AND ?", keys))
            rows, named = self._states.take(track)
            self._gone |= named
            shown = self._free_name(run, track, ingest_filter.admit_text(str(name)))
            start = -1 if fork_seq is None else int(fork_seq) - 1
            self._change(TRACKS, row, {"name": shown, "indexed_to": start, "dict": 0}, "")
            self._states.write(track, agent, self._states.states(track, rows), ingest_filter.admit)
            now: dict[int, bytes] = dict(self._tx.query("SELECT id, digest FROM deltas WHERE id BETWEEN ? AND ?", keys))
            self._done.changed["states"] += sum(now[key] != digest for key, digest in was.items())
        self._done.changed.pop("", None)

    def _free_name(self, run: int, track: int, name: str) -> str:
        """A name for a track that no other of the run has: two names may have become the same mark."""
        taken = {
            found for (found,) in self._tx.query("SELECT name FROM tracks WHERE run = ? AND track <> ?", (run, track))
        }
        return next(each for number in range(1, len(taken) + 2) if (each := _numbered(name, number)) not in taken)

    # ---------------------------------------------------------------- what others share

    def _check_shared(self, numbers: Sequence[int]) -> None:
        """Refuse where runs that stay as they are name a value that would have to go.

        Raises:
            Refused: there are such runs.
        """
        held = {name for name in self._gone - self._kept if self._holds_something(name)}
        if not held:
            return
        found: set[int] = set()
        for query in (
            "SELECT t.run, d.refs FROM deltas d JOIN tracks t ON t.track = d.id >> 32 WHERE d.refs IS NOT NULL",
            "SELECT t.run, k.refs FROM keyframes k JOIN tracks t ON t.track = k.id >> 32 WHERE k.refs IS NOT NULL",
            "SELECT run, refs FROM calls WHERE refs IS NOT NULL",
            "SELECT id >> 32, refs FROM deliveries WHERE refs IS NOT NULL",
        ):
            for run, refs in self._tx.query(query):
                if run not in numbers and not held.isdisjoint(blob_names(refs)):
                    found.add(run)
        if found:
            names = [str(self._tx.query("SELECT name FROM runs WHERE run = ?", (run,))[0][0]) for run in sorted(found)]
            listed = ", ".join(names[:_MOST_LISTED]) + (
                f" and {len(names) - _MOST_LISTED} more" * (len(names) > _MOST_LISTED)
            )
            raise Refused(
                f"{listed} hold{'s' if len(names) == 1 else ''} values that are stored once for several runs, and would"
                " have to go",
                runs=names,
                hint="Name these runs too, or --all.",
            )

    def _holds_something(self, name: bytes) -> bool:
        """Whether the rules find something in a blob that no row of these names any more."""
        plain = self._before.blobs.get(name)
        try:
            value: Wire = orjson.loads(plain)
        except orjson.JSONDecodeError:
            value = plain.decode("latin-1")
        return ingest_filter.admit(value) != value


def _body(kind: object, body: object) -> str | None:
    """What somebody wrote down, without what goes."""
    if not isinstance(body, str):
        return None
    if kind not in _TEXTS:
        try:
            found: Wire = orjson.loads(body)
        except orjson.JSONDecodeError:
            found = body
        if not isinstance(found, str):
            shown = ingest_filter.admit(found)
            return body if shown == found else pack(shown).decode()
    return ingest_filter.admit_text(body)


def _error(found: object) -> str | None:
    error = columns.error_from_text(found)
    if error is None:
        return None
    shown = ingest_filter.admit_error(error)
    return str(found) if shown == error else columns.error_to_text(shown)


def _text(found: object) -> str | None:
    return ingest_filter.admit_text(found) if isinstance(found, str) else None


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} {number}"
