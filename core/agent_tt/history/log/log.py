"""The log of a state: one row of operations for each checkpoint, read along a track and through its parents.

A track's rows are gap-free from its first checkpoint on: 0, or `fork_seq` in a fork, whose first row holds the edit
against the parent's checkpoint of that number. Reading therefore walks *segments*: the oldest ancestor's rows first.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from agent_tt.errors import CorruptDelta, Damaged, StepNotFound
from agent_tt.history.log.pages import PAGE, PageCache
from agent_tt.history.payloads.blobs import Blobs
from agent_tt.history.payloads.frames import MOST_PLAIN, Frames
from agent_tt.history.payloads.parts import BlobParts, PartCache
from agent_tt.history.payloads.payload import place_part, unpack
from agent_tt.history.rows import SEQ_BITS, row_key, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.rows import LogRows, Row

__all__ = ["LogRow", "RowOps", "Segment", "StateLog", "Wanted", "no_blobs"]

Wanted: TypeAlias = "Callable[[Op, Sequence[Wire]], bool]"
"""Says whether a blob is needed: of an operation, at a place in its last item."""

_SEQ_MASK: Final = (1 << SEQ_BITS) - 1
_MOST_ANCESTORS: Final = 1024
_TEXTS: Final = frozenset({str})
_LISTS: Final = frozenset({list})
_CODE: Final = itemgetter(0)
_PATH: Final = itemgetter(1)
_FEW: Final = 256
"""Operations that can do no harm, whatever they are."""
_HINT: Final = "Run `agent-tt verify` to see what else is affected."


class Segment(NamedTuple):
    """Checkpoints `first`..`last` (both included) as rows of one track."""

    track: int
    first: int
    last: int


class LogRow(NamedTuple):
    """One row of the log, still compressed.

    Attributes:
        digest: 16 bytes, the digest of the state after it.
        chain: 16 bytes over everything up to it.
        dictionary: id of the dictionary of `frame`.
        size: bytes of the operations before compression.
        frame: the compressed operations.
        refs: the hashes of the blobs that they name, joined.
        proven: whether the row is as it was written; what else it says must not be used where it is not.
    """

    track: int
    seq: int
    digest: bytes
    chain: bytes
    dictionary: int
    size: int
    frame: bytes
    refs: bytes | None
    proven: bool

    @property
    def what(self) -> str:
        """How errors name it."""
        return _what(self.track, self.seq)


class RowOps(NamedTuple):
    """The operations of one row.

    Attributes:
        whole: False if a blob could not be read; placeholders stand for it.
        size: bytes of the operations before compression; None where there are blobs beside them.
        left: the blobs that were not wanted: each as its operation, the place in that one's last item, and its name.
    """

    seq: int
    ops: list[Op]
    whole: bool = True
    size: int | None = None
    left: Sequence[tuple[Op, list[Wire], Wire]] = ()


class StateLog:
    """Reads the rows of one backend. Safe to use from several threads.

    Attributes:
        rows: the backend.
        frames: what packs and unpacks its rows.
        blobs: its blobs.
        parts: parts of states that were read lately, shared by all who read; see `history.payloads.parts`.
    """

    def __init__(self, rows: LogRows) -> None:
        self.rows = rows
        self.frames = Frames(rows)
        self.blobs = Blobs(rows, self.frames)
        self.parts = PartCache()
        self._pages = PageCache()
        self._parents: dict[int, tuple[int | None, int | None]] = {}
        self._newest: dict[int, tuple[int, bytes]] = {}

    def segments(self, track: int, seq: int) -> list[Segment]:
        """Where checkpoints up to `seq` of a track lie, oldest first.

        Raises:
            Damaged: a track is missing, or its ancestry makes no sense.
        """
        walk: list[Segment] = []
        current: int | None = track
        while current is not None:
            parent, fork_seq = self._parent(current)
            if len(walk) > _MOST_ANCESTORS:
                raise Damaged(f"track {track} descends from itself, or from too many others", hint=_HINT)
            walk.append(Segment(current, fork_seq or 0, seq))
            if parent is not None and fork_seq is not None:
                seq = min(fork_seq, seq)
            current = parent
        return walk[::-1]

    def _parent(self, track: int) -> tuple[int | None, int | None]:
        known = self._parents.get(track)
        if known is None:
            found = self.rows.track(track)
            if found is None:
                raise Damaged(f"track {track} is missing", hint=_HINT)
            if not found[3]:
                raise Damaged(f"track {track} is damaged: its row is not as it was written", hint=_HINT)
            parent, fork_seq = (None if value is None else whole(value, f"track {track}") for value in found[:2])
            known = self._parents[track] = (parent, fork_seq)
        return known

    def begins_with(self, key: int) -> bool:
        """Whether the row of that key is the first of its track: in a fork it follows a row of the same number."""
        _, fork_seq = self._parent(key >> SEQ_BITS)
        return key & _SEQ_MASK == (fork_seq or 0)

    def head(self, track: int, seq: int) -> LogRow:
        """The row that checkpoint `seq` of a track ends with.

        Raises:
            StepNotFound: there is no such checkpoint.
            Damaged: the row is not as it was written.
        """
        for segment in reversed(self.segments(track, seq)):
            if segment.first <= seq <= segment.last:
                for row in self._fetch(segment.track, seq, seq):
                    if not row.proven:
                        raise _unproven(row.what)
                    return row
        raise StepNotFound(f"there is no checkpoint {seq} on track {track}")

    def begin(self, track: int, seq: int) -> list[Segment]:
        """Where checkpoints up to `seq` of a track lie, oldest first, for whoever reads what was kept of them.

        Rows are written anew where something is taken out of a run. Each chain hash covers all rows before it: where
        that of the newest row that was asked for is another one now, nothing that was kept is used any more.

        Raises:
            StepNotFound: there is no such checkpoint.
            Damaged: its row is not as it was written, or the track's ancestry makes no sense.
        """
        head, segments = self.head(track, seq), self.segments(track, seq)
        for segment in segments:
            if segment.first > segment.last:
                continue  # a fork's, of a checkpoint before it began
            known = self._newest.get(segment.track)
            if known is not None and not self._is_as_known(segment.track, known, head):
                self.parts, self._pages = PartCache(), PageCache()
                self._newest.clear()
                known = None
            if known is None or known[0] < segment.last:
                rows = [head] if segment.track == head.track else self._fetch(segment.track, segment.last, segment.last)
                self._newest.update((segment.track, (row.seq, row.chain)) for row in rows)
        return segments

    def _is_as_known(self, track: int, known: tuple[int, bytes], head: LogRow) -> bool:
        if (track, known[0]) == (head.track, head.seq):
            return known[1] == head.chain
        return [row.chain for row in self._fetch(track, known[0], known[0])] == [known[1]]

    def last_seq(self, track: int) -> int | None:
        """The number of a track's last own checkpoint, None while it has none."""
        found = self.rows.deltas(row_key(track, 0), row_key(track, _SEQ_MASK), newest=True)
        return int(found[0][0]) & _SEQ_MASK if found else None

    def indexed_to(self, track: int) -> int:
        """The last checkpoint of a track that the index of changes covers, -1 for none."""
        found = self.rows.track(track)
        return found[2] if found is not None and type(found[2]) is int else -1

    def scan(self, track: int, first: int, last: int) -> Iterator[LogRow]:
        """Rows first..last of one track, in order.

        Raises:
            Damaged: one is missing.
        """
        for start in range(first, last + 1, PAGE):
            end = min(last, start + PAGE - 1)
            page = {row.seq: row for row in self._fetch(track, start, end)}
            for seq in range(start, end + 1):
                if seq not in page:
                    raise _missing(track, seq)
                yield page[seq]

    def _fetch(self, track: int, first: int, last: int) -> list[LogRow]:
        return [_log_row(track, columns) for columns in self.rows.deltas(row_key(track, first), row_key(track, last))]

    def plain(self, row: LogRow) -> bytes:
        """The operations of a row exactly as they were stored, before compression: what the chain covers.

        Raises:
            Damaged: they cannot be read, or the row is not as it was written.
        """
        if not row.proven:
            raise _unproven(row.what)
        return self.frames.decompress(row.frame, row.size, row.what, row.dictionary)

    def ops(self, row: LogRow, wanted: Wanted | None = None) -> RowOps:
        """The operations of a row, with their blobs in place.

        Args:
            row: the row.
            wanted: says which blobs are needed; null stands in the place of the others. None means all.

        Raises:
            Damaged: the row cannot be read (a blob that cannot be is a placeholder instead).
        """
        return self.parse(row, self.plain(row), wanted)

    def parse(self, row: LogRow, plain: bytes, wanted: Wanted | None = None) -> RowOps:
        """What `ops` gives, where `plain` was read already."""
        return self._decode(plain, row.seq, row.what, wanted)

    def decode(self, columns: Row) -> RowOps:
        """The operations of a row as `LogRows.deltas` gives it, with their blobs in place.

        Raises:
            Damaged: the row cannot be read (a blob that cannot be is a placeholder instead).
        """
        _prove(columns)
        key, _, _, dictionary, size, _, _, frame, _ = columns
        seq = key & _SEQ_MASK
        what = _what(key >> SEQ_BITS, seq)
        return self._decode(self.frames.decompress(frame, size, what, dictionary), seq, what, None)

    def operations(self, track: int, first: int, last: int, wanted: Wanted | None = None) -> Iterator[RowOps]:
        """The operations of rows first..last of one track, in order: `scan` and `ops` in one, for long stretches.

        Raises:
            Damaged: a row is missing or cannot be read.
        """
        for page in range(first // PAGE, last // PAGE + 1):
            start, end = max(first, page * PAGE), min(last, page * PAGE + PAGE - 1)
            cached = self._pages.get(track, page)
            if cached is not None:
                for seq in range(start, end + 1):
                    yield self._decode(cached[seq - page * PAGE], seq, _what(track, seq), wanted)
                continue
            rows: list[bytes] = []
            for seq, plain in _one_by_one(self.frames, self._between(track, start, end), track, start, end):
                rows.append(plain)
                yield self._decode(plain, seq, _what(track, seq), wanted)
            if len(rows) == PAGE:
                self._pages.put(track, page, rows)

    def near(self, track: int, first: int, last: int, wanted: Wanted | None = None) -> Iterator[RowOps]:
        """What `operations` gives, for stretches that will be read again soon: parts of pages are kept too.

        Raises:
            Damaged: a row is missing or cannot be read.
        """
        for page in range(first // PAGE, last // PAGE + 1):
            start, end = max(first, page * PAGE), min(last, page * PAGE + PAGE - 1)
            if start > end:  # nothing of a track is seen by a checkpoint before its first one
                return
            for seq, plain in enumerate(self.near_plain(track, start, end), start):
                yield self._decode(plain, seq, _what(track, seq), wanted)

    def near_plain(self, track: int, first: int, last: int) -> list[bytes]:
        """What `plain` gives of rows first..last, which lie on one page and will be read again soon.

        Raises:
            Damaged: a row is missing or cannot be read.
        """
        page = first // PAGE
        begin = page * PAGE
        known = self._pages.get(track, page)
        if known is None:
            key = ("rows", track, page)
            kept: tuple[int, list[bytes]] | None = self.parts.get(key)
            if kept is not None and kept[0] <= first <= kept[0] + len(kept[1]):
                begin, known = kept
            else:
                begin, known = first, []
            if begin + len(known) <= last:
                known = [*known, *self._plain_rows(track, begin + len(known), last)]
                if len(known) == PAGE:
                    self._pages.put(track, page, known)
                else:
                    self.parts.put(key, (begin, known), sum(map(len, known)))
        return known[first - begin : last + 1 - begin]

    def _between(self, track: int, first: int, last: int) -> list[Row]:
        return self.rows.deltas(row_key(track, first), row_key(track, last))

    def _plain_rows(self, track: int, first: int, last: int) -> list[bytes]:
        """Rows first..last of one track, decompressed; many at once take half of the time."""
        found = self._between(track, first, last)
        if [row[0] for row in found] == [*range(row_key(track, first), row_key(track, last) + 1)]:
            _, _, _, dictionaries, sizes, _, _, frames, proven = zip(*found, strict=True)
            plain = self.frames.decompress_all(frames, sizes, dictionaries) if all(proven) else None
            if plain is not None:
                return plain
        return [plain for _, plain in _one_by_one(self.frames, found, track, first, last)]

    def decode_plain(self, track: int, seq: int, plain: bytes, wanted: Wanted | None = None) -> RowOps:
        """The operations of a row of which `plain` was read: what `parse` gives.

        Raises:
            Damaged: it does not hold operations.
        """
        return self._decode(plain, seq, _what(track, seq), wanted)

    def _decode(self, plain: bytes, seq: int, what: str, wanted: Wanted | None) -> RowOps:
        payload = unpack(plain, what)
        if isinstance(payload, list):
            return RowOps(seq, _checked(payload, what), size=len(plain))
        if not isinstance(payload, dict) or payload.keys() != {"o", "r"} or not isinstance(payload["r"], list):
            raise _malformed(what)
        checked = _checked(payload["o"], what)
        refs = [_reference(ref, checked, what) for ref in payload["r"]]
        return self.with_blobs(RowOps(seq, checked, left=refs), wanted)

    def with_blobs(self, row: RowOps, wanted: Wanted | None) -> RowOps:
        """A row with those of its blobs in place that were left and are wanted; its operations are changed.

        Raises:
            Damaged: a place is none.
        """
        whole, parts = row.whole, BlobParts(self.blobs, self.parts)
        left: list[tuple[Op, list[Wire], Wire]] = []
        for each in row.left:
            op, at, name = each
            if wanted is None or wanted(op, at):
                part, readable = parts.value(name)
                op[-1] = place_part(op[-1], at, part)
                whole &= readable
            else:
                left.append(each)
        return row._replace(whole=whole, left=left)


def no_blobs(op: Op, at: Sequence[Wire]) -> bool:  # noqa: ARG001
    """None is needed: a `Wanted`."""
    return False


def _one_by_one(frames: Frames, found: Sequence[Row], track: int, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """The rows first..last that were found, decompressed, each with its number.

    Raises:
        Damaged: says which one is missing or cannot be read.
    """
    seq = first
    for columns in found:
        if columns[0] & _SEQ_MASK != seq:
            break
        _prove(columns)
        yield seq, frames.decompress(columns[7], columns[4], _what(track, seq), columns[3])
        seq += 1
    if seq <= last:
        raise _missing(track, seq)


def _reference(ref: Wire, ops: list[Op], what: str) -> tuple[Op, list[Wire], Wire]:
    """The operation that a reference belongs to, the place in its value, and the blob's name."""
    if isinstance(ref, list) and len(ref) == 3 and ref[1] == "b":
        at = ref[0]
        if isinstance(at, list) and at:
            number = at[0]
            if isinstance(number, int) and 0 <= number < len(ops):
                return ops[number], at[1:], ref[2]
    raise _malformed(what)


def _checked(payload: Wire, what: str) -> list[Op]:
    """A payload as operations: lists that begin with a word and a path. Written for speed: it sees every row."""
    try:
        ops = cast("list[Op]", payload)
        if _TEXTS.issuperset(map(type, map(_CODE, ops))) and _LISTS.issuperset(map(type, map(_PATH, ops))):
            if len(ops) > _FEW and _copied_text(ops) > MOST_PLAIN:
                raise _malformed(what)
            return ops
    except (TypeError, LookupError):
        pass
    raise _malformed(what)


def _copied_text(ops: list[Op]) -> int:
    """Characters that are copied when operations grow texts: each of them copies the whole text."""
    return sum(op[2] for op in ops if op[0] == "t" and type(op[2]) is int)


def _log_row(track: int, columns: Row) -> LogRow:
    key, digest, chain, dictionary, size, _, refs, frame, proven = columns
    return LogRow(track, key & _SEQ_MASK, digest, chain, dictionary, size, frame, refs, proven)


def _prove(columns: Row) -> None:
    """Refuse a row of the log that is not as it was written.

    Raises:
        CorruptDelta: it is not.
    """
    if not columns[-1]:
        raise _unproven(_what(columns[0] >> SEQ_BITS, columns[0] & _SEQ_MASK))


def _unproven(what: str) -> CorruptDelta:
    return CorruptDelta(f"{what} is damaged: its row is not as it was written", hint=_HINT)


def _what(track: int, seq: int) -> str:
    return f"checkpoint {seq} of track {track}"


def _missing(track: int, seq: int) -> Damaged:
    return Damaged(f"{_what(track, seq)} is missing", hint=_HINT)


def _malformed(what: str) -> CorruptDelta:
    return CorruptDelta(f"{what} is damaged: it does not hold operations", hint=_HINT)
