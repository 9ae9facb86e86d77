"""Who wrote it: the index of changed paths, and the two questions it answers.

For each track, path and block of 64 checkpoints there is one row with three bit maps (bit = seq & 63): the path was
*touched* (it or something in it changed), changed in *structure* (set, deleted, spliced, moved), or *grown* (appended
to), and `len0`, the list's length before the block's first append. Rows are written bit by bit after a block is full,
and when the run ends; `tracks.indexed_to` says how far they are complete, and above it readers look at the few rows of
the log themselves. The index may name a checkpoint too much, never one too few: every candidate is confirmed in its
operations. Paths are those of people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import without_envelopes
from agent_tt.codec.wire import VALUE
from agent_tt.history.changes.ops import MAX_TOUCHES, touches, trace
from agent_tt.history.changes.trace import trace_forward
from agent_tt.history.hashing import path_text, text_id
from agent_tt.history.log.pages import BLOCK
from agent_tt.history.log.track_marks import IndexRows, TrackMarks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import StateLog
    from agent_tt.history.rows import LogTransaction, TouchKind

__all__ = ["BLOCK", "PathIndex", "PendingMarks"]

_PIECE: Final = 16
"""Marks that are written with one step, at least, until those of a block are all there."""

_TOUCHED: Final = "touched"
_STRUCT: Final = "struct"
_GROWN: Final = "grown"
_TOP_BIT: Final = 1 << 63
_MOST_TRACKS: Final = 64
"""Tracks of whose index something is remembered."""


# ---------------------------------------------------------------- writing


@dataclass(slots=True)
class _Bits:
    touched: int = 0
    struct: int = 0
    grown: int = 0
    length: int | None = None


def _bits(block: dict[Path, _Bits], path: Path) -> _Bits:
    found = block.get(path)
    if found is None:
        found = block[path] = _Bits()
    return found


def _field_set_by(op: Op) -> str | None:
    """Name the top-level field that an operation sets; None for any other operation."""
    if len(op) != 3 or op[0] != "s":
        return None
    steps = op[1]
    name = steps[0] if type(steps) is list and len(steps) == 1 else None
    return name if type(name) is str and name != VALUE else None


class PendingMarks:
    """Marks of one track, by block: what a writer still has to put into the index."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[Path, _Bits]] = {}
        self._full: list[tuple[int, Path, _Bits]] = []
        self._at_once = 0
        self._end = self._reach = -1

    def add(self, seq: int, ops: list[Op]) -> None:
        """Notes what checkpoint `seq` did."""
        bit = 1 << (seq % BLOCK)
        block = self._blocks.setdefault(seq // BLOCK, {})
        fields = [_field_set_by(op) for op in ops]  # most steps set some fields of the state
        found = touches([op for op, field in zip(ops, fields, strict=True) if field is None])
        if len(found) + len(fields) > MAX_TOUCHES:
            fields, found = [], touches(ops)
        for field in fields:
            if field is not None:
                bits = _bits(block, (field,))
                bits.touched |= bit
                bits.struct |= bit
        if fields:
            _bits(block, ()).touched |= bit
        for path, touch in found.items():
            bits = _bits(block, path)
            bits.touched |= bit
            if touch.struct:
                bits.struct |= bit
            if touch.grown:
                bits.grown |= bit
                if bits.length is None:
                    bits.length = touch.length

    def flush(self, tx: LogTransaction, track: int, seq: int) -> None:
        """Write the marks; from now on the index reaches to `seq`."""
        texts = self._texts()
        rows = self._rows(track, texts)
        texts.update((path, path_text(path)) for _, path, _ in self._full)
        rows += [_row(track, block, text_id(texts[path]), bits) for block, path, bits in self._full]
        tx.put_marks(track, seq, {text_id(text): text for text in texts.values()}, rows)
        self._blocks.clear()
        self._full.clear()
        self._reach = seq

    def flush_in_pieces(self, tx: LogTransaction, track: int, seq: int) -> None:
        """Write some marks of blocks that are full, after checkpoint `seq`: so no step waits for those of 64.

        The index reaches to the end of a block when all of it is written; what is there of it before is not asked.
        """
        if seq % BLOCK == BLOCK - 1:
            if self._full:
                self._write_piece(tx, track, len(self._full))
            self._full = [(block, path, bits) for block, paths in self._blocks.items() for path, bits in paths.items()]
            self._blocks.clear()
            self._at_once = max(_PIECE, -(-len(self._full) // (BLOCK // 4)))
            self._end = seq
        if self._full:
            self._write_piece(tx, track, self._at_once)

    def _write_piece(self, tx: LogTransaction, track: int, most: int) -> None:
        piece, self._full = self._full[-most:], self._full[:-most]
        if not self._full:
            self._reach = self._end
        texts = {path: path_text(path) for _, path, _ in piece}
        rows = [_row(track, block, text_id(texts[path]), bits) for block, path, bits in piece]
        tx.put_marks(track, self._reach, {text_id(text): text for text in texts.values()}, rows)

    def paths(self) -> dict[int, str]:
        """The paths that are marked, as rows of `paths`."""
        return {text_id(text): text for text in self._texts().values()}

    def rows(self, track: int) -> list[tuple[int, int, int, int, int, int, int | None]]:
        """The marks as rows of `changes`, in the order of their key."""
        return self._rows(track, self._texts())

    def _texts(self) -> dict[Path, str]:
        return {path: path_text(path) for paths in self._blocks.values() for path in paths}

    def _rows(self, track: int, texts: Mapping[Path, str]) -> list[tuple[int, int, int, int, int, int, int | None]]:
        return sorted(
            _row(track, block, text_id(texts[path]), bits)
            for block, paths in self._blocks.items()
            for path, bits in paths.items()
        )


def _row(track: int, block: int, path: int, bits: _Bits) -> tuple[int, int, int, int, int, int, int | None]:
    """One mark as a row of `changes`, of a path that has that number."""
    return track, path, block, _signed(bits.touched), _signed(bits.struct), _signed(bits.grown), bits.length


def _signed(bits: int) -> int:
    """64 bits as the signed number that SQLite keeps."""
    return bits - (1 << 64) if bits & _TOP_BIT else bits


# ---------------------------------------------------------------- reading


class PathIndex:
    """Answers who last wrote, and who next writes, a value: by its path, following it as lists shift.

    Args:
        log: the log.
        stays: whether nothing is written as long as this is used: what was read of the index is remembered.
    """

    def __init__(self, log: StateLog, *, stays: bool = False) -> None:
        self._log = log
        self._stays = stays
        self._known: dict[int, IndexRows] = {}

    def last_write(self, track: int, seq: int, path: Path) -> tuple[int, int] | None:
        """Track and checkpoint that wrote the value now at `path` in checkpoint `seq`; None when none did.

        Raises:
            Damaged: a row that has to be asked cannot be read.
        """
        found = self.written_at(track, seq, path)
        return None if found is None else found[:2]

    def written_at(self, track: int, seq: int, path: Path) -> tuple[int, int, Path] | None:
        """What `last_write` gives, and where the value was just after it was written.

        Raises:
            Damaged: a row that has to be asked cannot be read.
        """
        for segment in reversed(self._log.segments(track, seq)):
            last = segment.last
            marks = self._marks(segment.track) if segment.first <= last else None
            while marks is not None and segment.first <= last:
                candidate = _newest(marks, path, segment.first, last)
                if candidate is None:
                    break
                before = _before(marks.ops(candidate), path)
                if before is None:
                    return segment.track, candidate, path
                path = before
                last = candidate - 1
        return None

    def next_write(self, track: int, seq: int, last: int, path: Path) -> int | None:
        """The first checkpoint after `seq`, up to `last`, that changed the value at `path`; None when none did.

        Rows of the track's parents count as its own, as far as they are before its fork.

        Raises:
            Damaged: a row that has to be asked cannot be read.
        """
        for segment in self._log.segments(track, last):
            first = max(segment.first, seq + 1)
            marks = self._marks(segment.track) if first <= segment.last else None
            while marks is not None and first <= segment.last:
                candidate = _oldest(marks, path, first, segment.last)
                if candidate is None:
                    break
                after = _after(marks.ops(candidate), path)
                if after is None:
                    return candidate
                path = after
                first = candidate + 1
        return None

    def touching(self, track: int, first: int, last: int, path: Path) -> set[int]:
        """Checkpoints first..last of a track at which what lies at `path` may have become something else.

        It is the place that is asked about here, not the value that was there: an insertion before it counts. There may
        be too many, never too few. Rows of the track's parents count as its own, as far as they are before its fork.

        Args:
            track: the track.
            first: the first checkpoint.
            last: the last one.
            path: the place as people write it, up to the first position in a list that is not known.

        Raises:
            Damaged: the index, or a row above it, cannot be read.
        """
        found: set[int] = set()
        for segment in self._log.segments(track, last):
            low, high = max(first, segment.first), min(last, segment.last)
            marks = self._marks(segment.track)
            found.update(mark.seq for mark in marks.of(path, _TOUCHED, low, high))
            for depth in range(len(path)):
                found.update(mark.seq for mark in marks.of(path[:depth], _STRUCT, low, high))
                found.update(mark.seq for mark in marks.of(path[:depth], _GROWN, low, high))
        return found

    def _marks(self, track: int) -> TrackMarks:
        if not self._stays:
            return TrackMarks(self._log, track)
        known = self._known.get(track)
        if known is None:
            if len(self._known) >= _MOST_TRACKS:
                self._known.clear()
            known = self._known[track] = IndexRows(self._log, track)
        return TrackMarks(self._log, track, known)


def _before(ops: list[Op], path: Path) -> Path | None:
    """Where the value now at a path was before these operations; None if they wrote it."""
    for op in reversed(ops):
        if _is_elsewhere(op, path):
            continue
        previous = trace(op, path)
        if previous is None:
            return None
        path = previous
    return path


def _after(ops: list[Op], path: Path) -> Path | None:
    """Where the value that was at a path is after these operations; None if they changed it."""
    for op in ops:
        following = trace_forward(op, path)
        if following is None:
            return None
        path = following
    return path


def _is_elsewhere(op: Op, path: Path) -> bool:
    """Whether an operation names another entry of the state than a path does, and moves none. Most do."""
    own = op[1]
    return bool(path) and type(own) is list and bool(own) and own[0] != path[0] and op[0] != "m"


def _newest(marks: TrackMarks, path: Path, first: int, last: int) -> int | None:
    """The newest checkpoint that may have written the value at `path`, or moved it."""
    marked = without_envelopes(path)
    best = marks.newest(marked, _TOUCHED, first, last)
    for depth in range(len(marked)):
        best = max(best, marks.newest(marked[:depth], _STRUCT, max(best + 1, first), last))
    for depth, step in enumerate(path):
        if not isinstance(step, int):
            continue
        appended = marks.newest_append(path[:depth], step, max(best + 1, first), last)
        if appended is not None:
            best = appended
    return best if best >= first else None


def _oldest(marks: TrackMarks, path: Path, first: int, last: int) -> int | None:
    """The oldest checkpoint that may have changed the value at `path`, or moved it."""
    marked = without_envelopes(path)
    best: int | None = None
    # What touched the value itself is mostly near, and then all that is above it is looked at up to there alone.
    for depth in range(len(marked), -1, -1):
        kind: TouchKind = _TOUCHED if depth == len(marked) else _STRUCT
        for mark in marks.of(marked[:depth], kind, first, last, newest_first=False):
            best, last = mark.seq, mark.seq - 1
            break
    return best
