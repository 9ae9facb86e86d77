"""Checking a store: every row and seal, chain and digest at every checkpoint, the index, blobs, what refers to what.

Nothing is sampled. The log is read once from its beginning, with a digest that follows the operations; each keyframe is
compared with the state that the log has come to, and the index of changes is made once more and compared. This finds
damage and careless edits. Whoever computes the proofs again can change anything: against that only a signature helps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.errors import AgentTTError, Damaged, StepNotFound
from agent_tt.history.changes.append_only import Births
from agent_tt.history.digest import chain
from agent_tt.history.hashing import HASH_SIZE, blob_names
from agent_tt.history.log import keyframes
from agent_tt.history.log.incremental_digest import TalliedState
from agent_tt.history.log.index import BLOCK, PendingMarks
from agent_tt.history.payloads.frames import dictionary_content
from agent_tt.history.rows import SEQ_BITS
from agent_tt.model import Problem
from agent_tt.store.checking.verify_rows import verify_rows
from agent_tt.store.file.schema_check import schema_problems
from agent_tt.store.rows import columns, deliveries
from agent_tt.store.tables.definitions import UNCLEAN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.history.log.keyframes import StoredKeyframe
    from agent_tt.history.log.log import LogRow, StateLog
    from agent_tt.history.rows import Row
    from agent_tt.store.rows.lineage import Lineage, Stretch
    from agent_tt.store.tables.asking import Rows

__all__ = ["verify_file", "verify_run"]

_NO_LIMIT: Final = 1 << 62
_ALL_BITS: Final = (1 << BLOCK) - 1
_MOST_INTEGRITY_LINES: Final = 20
_UNCLEAN: Final = (
    "free pages, the log or the index of searches may still hold what was taken out:"
    " say `agent-tt redact`, or `agent-tt drop`, again"
)


def verify_file(log: StateLog, lineage: Lineage, path: Path) -> list[Problem]:
    """Everything that is wrong with a store; `path` is its file."""
    rows = lineage.rows
    problems: list[Problem] = []
    try:
        for (line,) in rows.query(f"PRAGMA integrity_check({_MOST_INTEGRITY_LINES})"):
            if line != "ok":
                problems.append(Problem(None, None, f"SQLite: {line}"))
        problems += [Problem(None, None, what) for what in _schema_problems(path)]
        problems += verify_rows(path)
        if rows.query("SELECT 1 FROM meta WHERE key = ?", (UNCLEAN,)):
            problems.append(Problem(None, None, _UNCLEAN))
        for (run,) in rows.query("SELECT run FROM runs ORDER BY run"):
            problems += _contents(log, lineage, run)
        problems += [Problem(None, None, what) for what in (*_ownerless(rows), *_unused_damage(rows, log))]
    except AgentTTError as error:  # what cannot be asked at all: a table that is missing or malformed
        problems.append(Problem(None, None, error.message))
    return problems


def _schema_problems(path: Path) -> list[str]:
    if isinstance(path, Address):
        from agent_tt.store.postgres.moment import schema_problems as problems_of_server

        return problems_of_server(path)
    return schema_problems(path)


_OWNERS: Final = (
    ("tracks", "run", "SELECT run FROM runs"),
    ("steps", "run", "SELECT run FROM runs"),
    ("calls", "run", "SELECT run FROM runs"),
    ("tags", "run", "SELECT run FROM runs"),
    ("notes", "run", "SELECT run FROM runs"),
    ("sweeps", "run", "SELECT run FROM runs"),
    ("deliveries", f"id >> {SEQ_BITS}", "SELECT run FROM runs"),
    ("deltas", f"id >> {SEQ_BITS}", "SELECT track FROM tracks"),
    ("keyframes", f"id >> {SEQ_BITS}", "SELECT track FROM tracks"),
    ("changes", "track", "SELECT track FROM tracks"),
)
"""Tables, the column that says whose a row is, and who there is."""


def _ownerless(rows: Rows) -> Iterator[str]:
    """Rows of runs that are not there, which a deletion takes along."""
    for table, column, owners in _OWNERS:
        statement = f"SELECT count(*) FROM {table} WHERE {column} NOT IN ({owners})"  # noqa: S608  # our own
        try:
            ((count,),) = rows.query(statement)
        except AgentTTError:  # a table is missing, as was said already
            continue
        if count:
            yield f"{count} row{'' if count == 1 else 's'} of {table} belong{'s' if count == 1 else ''} to no run"


def _unused_damage(rows: Rows, log: StateLog) -> Iterator[str]:
    """Blobs and dictionaries that cannot be read, whether or not a run names them."""
    for (stored,) in rows.query("SELECT hash FROM blobs ORDER BY id"):
        if not isinstance(stored, bytes) or len(stored) != HASH_SIZE:
            yield f"a blob is damaged: {str(stored)[:40]!r} is not a hash"
            continue
        try:
            log.blobs.get(stored)
        except AgentTTError as error:
            yield error.message
    for number, copy, data in rows.query("SELECT id, copy, data FROM dicts ORDER BY id, copy"):
        if dictionary_content(data, number) is None:
            yield f"copy {copy} of dictionary {number} is damaged"


def verify_run(log: StateLog, lineage: Lineage, run_id: str, path: Path) -> list[Problem]:
    """Everything that is wrong with one run; what it shares with its ancestors counts as its own."""
    try:
        run = lineage.number(run_id)
        runs = [stretch.run for stretch in lineage.stretches(run)]
        return [*verify_rows(path, runs), *_contents(log, lineage, run)]
    except AgentTTError as error:
        return [Problem(run_id, None, error.message)]


def _contents(log: StateLog, lineage: Lineage, run: int) -> list[Problem]:
    """What is wrong with what a run's rows hold, and with what they name."""
    problems: list[Problem] = []
    ((found,),) = lineage.rows.query("SELECT id FROM runs WHERE run = ?", (run,)) or [(None,)]
    run_id = found if isinstance(found, str) else None
    try:
        stretches = lineage.stretches(run)
        for stretch in stretches:
            problems += [Problem(run_id, step, what) for step, what in _rows_of_steps(lineage.rows, log, stretch)]
        for track, last in _tracks(lineage, run, stretches):
            for seq, what in _Checks(lineage.rows, log, track, last, whole=last == log.last_seq(track)).run():
                problems.append(Problem(run_id, lineage.step_of(track, seq), what))
    except AgentTTError as error:
        problems.append(Problem(run_id, None, error.message))
    return problems


def _tracks(lineage: Lineage, run: int, stretches: list[Stretch]) -> Iterator[tuple[int, int]]:
    """The tracks that a run goes through, each with its last checkpoint; those it continues count as its own."""
    for stretch in reversed(stretches):
        for (track,) in lineage.rows.query("SELECT track FROM tracks WHERE run = ? ORDER BY track", (stretch.run,)):
            if lineage.continuation(run, track) == track:
                yield track, lineage.last_seq(run, track)


def _rows_of_steps(rows: Rows, log: StateLog, stretch: Stretch) -> Iterator[tuple[int | None, str]]:
    """Steps that name checkpoints that are missing, and calls that name blobs which cannot be read."""
    last = _NO_LIMIT if stretch.last is None else stretch.last
    found = rows.query(
        "SELECT s.step, s.seq, d.id FROM steps s LEFT JOIN deltas d ON d.id = (s.track << 32) + s.seq"
        " WHERE s.run = ? AND s.step <= ? ORDER BY s.step",
        (stretch.run, last),
    )
    for step, seq, key in found:
        if seq is not None and key is None:
            yield columns.integer(step), f"step {step} names checkpoint {seq}, which is missing"
    for step, call, refs in rows.query(
        "SELECT step, call, refs FROM calls WHERE run = ? AND step <= ? AND refs IS NOT NULL"
        " UNION ALL SELECT step, call, refs FROM deliveries WHERE id BETWEEN ? AND ? AND step <= ?"
        " AND refs IS NOT NULL ORDER BY 1, 2",
        (stretch.run, last, *deliveries.keys_of(stretch.run), last),
    ):
        try:
            for name in blob_names(refs):
                log.blobs.get(name)
        except Damaged as error:
            yield step if type(step) is int else None, f"call {call} of step {step}: {error.message}"
    yield from deliveries.unreadable(rows, stretch.run, last)


class _Checks:
    """The checks of one track."""

    def __init__(self, rows: Rows, log: StateLog, track: int, last: int, *, whole: bool) -> None:
        self._rows = rows
        self._log = log
        self._track = track
        self._marks: PendingMarks | None = PendingMarks() if whole else None
        self._reach = log.indexed_to(track)
        self._segments = log.segments(track, last)
        self._state: TalliedState | None = TalliedState()
        self._births = Births({})
        self._chain: bytes | None = b""

    def run(self) -> Iterator[tuple[int, str]]:
        """Each problem with the checkpoint that it concerns."""
        for segment in self._segments:
            stored = keyframes.within(self._log, segment)
            try:
                for row in self._log.scan(segment.track, segment.first, segment.last):
                    yield from self._row(row)
                    if row.seq in stored:
                        yield from self._keyframe(stored.pop(row.seq))
            except Damaged as error:  # a row is missing, and so is what follows of this segment
                self._state = self._chain = self._marks = None
                yield segment.last, error.message
            for keyframe in stored.values():
                yield from self._keyframe(keyframe)
        if self._marks is not None:
            yield from self._index(self._marks)

    def _index(self, marks: PendingMarks) -> Iterator[tuple[int, str]]:
        """Whether the index of the track is what its checkpoints make it."""
        columns = "track, path, block, touched, struct, grown, len0"
        found = self._rows.query(
            # Blocks above what is complete are being written, or were when the run broke off.
            f"SELECT {columns} FROM changes WHERE track = ? AND block <= ? ORDER BY path, block",  # noqa: S608  # our own
            (self._track, self._reach // BLOCK),
        )
        if self._log.indexed_to(self._track) != self._reach:
            return  # it was written just now, by who records the run
        found = [row for row in map(self._within_reach, found) if row is not None]
        made = marks.rows(self._track)
        if found != made:
            first = next((row for row in sorted({*found} ^ {*made}, key=str)), None)
            block = first[2] if first is not None and type(first[2]) is int else 0
            seq = min(max(block * BLOCK, self._segments[-1].first), self._segments[-1].last)
            yield seq, f"the index of changes of track {self._track} is not what its checkpoints say"
        named: dict[object, object] = dict(
            self._rows.query(
                "SELECT id, path FROM paths WHERE id IN (SELECT path FROM changes WHERE track = ?)", (self._track,)
            )
        )
        wrong = [number for number, text in marks.paths().items() if named.get(number) != text]
        if wrong:
            what = f"{len(wrong)} of the paths that the index of track {self._track} names are missing or damaged"
            yield self._segments[-1].last, what

    def _within_reach(self, row: Row) -> Row | None:
        """A row of the index without what is said of checkpoints above its reach; None where nothing is left.

        It is there while the rest of a block is being written, in a run that goes on.
        """
        *key, touched, struct, grown, length = row
        begin, last = self._reach // BLOCK * BLOCK, self._segments[-1].last
        if row[2] != self._reach // BLOCK or last <= self._reach:
            return row
        if not all(type(bits) is int for bits in (touched, struct, grown)):
            return row
        known = (1 << self._reach - begin + 1) - 1
        written = (1 << min(last - begin + 1, BLOCK)) - 1
        more = (touched | struct | grown) & _ALL_BITS & ~known
        if not more or more & ~written:
            return row
        is_later = bool(grown & ~known) and not grown & known
        touched, struct, grown = touched & known, struct & known, grown & known
        return (*key, touched, struct, grown, None if is_later else length) if touched else None

    def _row(self, row: LogRow) -> Iterator[tuple[int, str]]:
        try:
            plain = self._log.plain(row)
        except Damaged as error:
            self._state = self._chain = self._marks = None
            yield row.seq, error.message
            return
        if self._chain is not None and chain(self._chain, row.seq, row.digest, plain) != row.chain:
            yield row.seq, f"{row.what} was altered: its chain does not follow from the one before"
        self._chain = row.chain
        if self._state is None:
            return
        try:
            ops = self._log.parse(row, plain)
            if self._marks is not None and row.track == self._track and row.seq <= self._reach:
                self._marks.add(row.seq, ops.ops)
            self._births.follow(ops.ops, row.seq)
            self._state.apply(ops)
        except Damaged as error:
            self._state = self._marks = None
            yield row.seq, error.message
            return
        if not ops.whole:
            yield row.seq, f"{row.what} holds a blob that cannot be read"
        if self._state.whole and self._state.digest != row.digest:
            yield row.seq, f"{row.what} is not the state that its digest says"

    def _keyframe(self, keyframe: StoredKeyframe) -> Iterator[tuple[int, str]]:
        known = (self._state.value,) if self._state is not None and self._state.whole else None
        try:
            keyframes.check(self._log, keyframe, known, self._births.known())
        except (Damaged, StepNotFound) as error:
            yield keyframe.seq, f"{error.message} (an older keyframe is used instead)"
