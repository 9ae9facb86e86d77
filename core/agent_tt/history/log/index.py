"""Who wrote it: the index of changed paths, and the two questions it answers.

For each track, path and block of 64 checkpoints there is one row with three bit maps (bit = seq & 63): the path was
*touched* (it or something in it changed), changed in *structure* (set, deleted, spliced, moved), or *grown* (appended
to), and `len0`, the list's length before the block's first append. Rows are written when a block is full and when the
run ends; `tracks.indexed_to` says how far, and above it readers look at the few rows themselves. The index may name a
checkpoint too much, never one too few: every candidate is confirmed in its operations. Paths are those of people.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.paths import without_envelopes
from agent_tt.errors import Damaged
from agent_tt.history.changes.ops import touches, trace
from agent_tt.history.changes.trace import trace_forward
from agent_tt.history.hashing import path_id, path_text, text_id
from agent_tt.history.log.pages import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.ops import Op, Touch
    from agent_tt.history.log.log import StateLog
    from agent_tt.history.rows import LogTransaction, TouchKind

__all__ = ["BLOCK", "Mark", "PathIndex", "PendingMarks", "TrackMarks"]

_FIRST_BLOCKS: Final = 4
"""Blocks of the index that are read at first, of all that could hold what is looked for."""

_TOUCHED: Final = "touched"
_STRUCT: Final = "struct"
_GROWN: Final = "grown"
_TOP_BIT: Final = 1 << 63
_ALL_BITS: Final = (1 << 64) - 1


# ---------------------------------------------------------------- writing


@dataclass(slots=True)
class _Bits:
    touched: int = 0
    struct: int = 0
    grown: int = 0
    length: int | None = None


class PendingMarks:
    """Marks of one track, by block: what a writer still has to put into the index."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[Path, _Bits]] = {}

    def add(self, seq: int, ops: list[Op]) -> None:
        """Notes what checkpoint `seq` did."""
        bit = 1 << (seq % BLOCK)
        block = self._blocks.setdefault(seq // BLOCK, {})
        for path, touch in touches(ops).items():
            bits = block.get(path)
            if bits is None:
                bits = block[path] = _Bits()
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
        tx.put_marks(track, seq, {text_id(text): text for text in texts.values()}, self._rows(track, texts))
        self._blocks.clear()

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
            (track, text_id(texts[path]), block, _signed(b.touched), _signed(b.struct), _signed(b.grown), b.length)
            for block, paths in self._blocks.items()
            for path, b in paths.items()
        )


def _signed(bits: int) -> int:
    """64 bits as the signed number that SQLite keeps."""
    return bits - (1 << 64) if bits & _TOP_BIT else bits


# ---------------------------------------------------------------- reading


class Mark(NamedTuple):
    """A checkpoint that the index names; `length` is the list's length before the block's first append."""

    seq: int
    length: int | None


class PathIndex:
    """Answers who last wrote, and who next writes, a value: by its path, following it as lists shift."""

    def __init__(self, log: StateLog) -> None:
        self._log = log

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
            while segment.first <= last:
                candidate = self._newest(segment.track, path, segment.first, last)
                if candidate is None:
                    break
                before = self._before(segment.track, candidate, path)
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
            while first <= segment.last:
                candidate = self._oldest(segment.track, path, first, segment.last)
                if candidate is None:
                    break
                after = self._after(segment.track, candidate, path)
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
            marks = TrackMarks(self._log, segment.track)
            found.update(mark.seq for mark in marks.of(path, _TOUCHED, low, high))
            for depth in range(len(path)):
                found.update(mark.seq for mark in marks.of(path[:depth], _STRUCT, low, high))
                found.update(mark.seq for mark in marks.of(path[:depth], _GROWN, low, high))
        return found

    def _before(self, track: int, seq: int, path: Path) -> Path | None:
        for op in reversed(self._ops(track, seq)):
            previous = trace(op, path)
            if previous is None:
                return None
            path = previous
        return path

    def _after(self, track: int, seq: int, path: Path) -> Path | None:
        for op in self._ops(track, seq):
            following = trace_forward(op, path)
            if following is None:
                return None
            path = following
        return path

    def _ops(self, track: int, seq: int) -> list[Op]:
        for row in self._log.operations(track, seq, seq, _nothing):
            return row.ops
        return []

    def _newest(self, track: int, path: Path, first: int, last: int) -> int | None:
        """The newest checkpoint that may have written the value at `path`, or moved it."""
        best = first - 1
        marks = TrackMarks(self._log, track)
        marked = without_envelopes(path)
        for mark in marks.of(marked, _TOUCHED, first, last):
            best = mark.seq
            break
        for depth in range(len(marked)):
            for mark in marks.of(marked[:depth], _STRUCT, best + 1, last):
                best = mark.seq
                break
        for depth, step in enumerate(path):
            if not isinstance(step, int):
                continue
            appended = self._newest_append(track, marks, path[:depth], step, best + 1, last)
            if appended is not None:
                best = appended
        return best if best >= first else None

    def _newest_append(
        self, track: int, marks: TrackMarks, path: Path, position: int, first: int, last: int
    ) -> int | None:
        """The newest of checkpoints first..last that appended to a list when it had no item at that position yet."""
        found = marks.of(without_envelopes(path), _GROWN, first, last, most_length=position)
        for _, group in groupby(found, lambda mark: mark.seq // BLOCK):
            known = [*group][::-1]
            block = [mark.seq for mark in known]
            low, high, probe = 0, len(block) - 1, _likely(known, position)
            while low <= high:  # since the first of them the list only grew: where an item is tells where another is
                span = self._appended(track, block[probe], path)
                if span is None:  # the index may name a checkpoint too much
                    del block[probe]
                    low, high, probe = 0, len(block) - 1, 0
                    continue
                if span[0] <= position < span[1]:
                    return block[probe]
                if position < span[0]:
                    high = probe - 1
                else:
                    low = probe + 1
                probe += (position - span[0]) // max(span[1] - span[0], 1)
                probe = min(max(probe, low), high)
            if low:
                return block[low - 1]
        return None

    def _appended(self, track: int, seq: int, path: Path) -> tuple[int, int] | None:
        """The positions of the items that a checkpoint appended to a list: the first, and the one after the last."""
        spans = [
            (op[2], op[2] + len(op[3]))
            for op in self._ops(track, seq)
            if op[0] == "a" and op[1] == list(path) and isinstance(op[2], int) and isinstance(op[3], list)
        ]
        return (min(spans)[0], max(end for _, end in spans)) if spans else None

    def _oldest(self, track: int, path: Path, first: int, last: int) -> int | None:
        """The oldest checkpoint that may have changed the value at `path`, or moved it."""
        marks = TrackMarks(self._log, track)
        marked = without_envelopes(path)
        best: int | None = None
        # What touched the value itself is mostly near, and then all that is above it is looked at up to there alone.
        for depth in range(len(marked), -1, -1):
            kind: TouchKind = _TOUCHED if depth == len(marked) else _STRUCT
            for mark in marks.of(marked[:depth], kind, first, last, newest_first=False):
                best, last = mark.seq, mark.seq - 1
                break
        return best


class TrackMarks:
    """What is marked of one track: by the index as far as it covers, above that by the operations themselves."""

    def __init__(self, log: StateLog, track: int) -> None:
        self._log = log
        self._track = track
        self._reach = log.indexed_to(track)

    def of(
        self,
        path: Path,
        kind: TouchKind,
        first: int,
        last: int,
        *,
        newest_first: bool = True,
        most_length: int | None = None,
    ) -> Iterator[Mark]:
        """List the checkpoints first..last that changed a path in the way that `kind` names.

        Args:
            path: the path.
            kind: the way.
            first: the first checkpoint.
            last: the last one.
            newest_first: in which order.
            most_length: leave out those of a list that was longer before all of them that lie in their block.
        """
        tail = (self._tail, max(first, self._reach + 1), last)
        indexed = (self._indexed, first, min(last, self._reach))
        for source, low, high in (tail, indexed) if newest_first else (indexed, tail):
            if low <= high:
                yield from source(path, kind, low, high, newest_first=newest_first, most_length=most_length)

    def _tail(
        self,
        path: Path,
        kind: TouchKind,
        first: int,
        last: int,
        *,
        newest_first: bool,
        most_length: int | None,  # noqa: ARG002  # these are few, and each knows its own
    ) -> Iterator[Mark]:
        rows = list(self._log.operations(self._track, first, last, _nothing))
        for row in reversed(rows) if newest_first else rows:
            touch = touches(row.ops).get(path)
            if touch is not None and _says(touch, kind):
                yield Mark(row.seq, touch.length)

    def _indexed(
        self, path: Path, kind: TouchKind, first: int, last: int, *, newest_first: bool, most_length: int | None
    ) -> Iterator[Mark]:
        low, high, few = first // BLOCK, last // BLOCK, _FIRST_BLOCKS
        # Who asks mostly wants the nearest alone: blocks are read from there on, each time more of them.
        while low <= high:
            near, far = (max(low, high - few + 1), high) if newest_first else (low, min(high, low + few - 1))
            marks = self._blocks(path, kind, near, far, newest_first=newest_first, most_length=most_length, first=first)
            for mark in marks:
                if first <= mark.seq <= last:
                    yield mark
            low, high, few = (low, near - 1, few * 4) if newest_first else (far + 1, high, few * 4)

    def _blocks(
        self,
        path: Path,
        kind: TouchKind,
        near: int,
        far: int,
        *,
        newest_first: bool,
        most_length: int | None,
        first: int,
    ) -> Iterator[Mark]:
        """The marks of some blocks; of the first and the last of them those beyond what was asked for too."""
        rows = self._log.rows.marks(self._track, path_id(path), kind, near, far)
        for block, bits, length in reversed(rows) if newest_first else rows:
            if type(block) is not int or type(bits) is not int:
                raise Damaged(
                    f"the index of changes of track {self._track} is damaged",
                    hint="Run `agent-tt verify` on the store.",
                )
            began_longer = most_length is not None and length is not None and length > most_length
            if began_longer and block * BLOCK >= first:
                continue
            for bit in _set_bits(bits & _ALL_BITS, newest_first=newest_first):
                yield Mark(block * BLOCK + bit, length)


def _likely(marks: Sequence[Mark], position: int) -> int:
    """Which of the marks of one block appended the item at a position, if the list grows as it did before it."""
    first = marks[0]
    if not first.length or position < first.length:
        return 0
    return min((position - first.length) * first.seq // first.length, len(marks) - 1)


def _says(touch: Touch, kind: TouchKind) -> bool:
    return kind == _TOUCHED or (touch.struct if kind == _STRUCT else touch.grown)


def _set_bits(bits: int, *, newest_first: bool) -> Iterator[int]:
    while bits:
        bit = (bits if newest_first else bits & -bits).bit_length() - 1
        yield bit
        bits ^= 1 << bit


def _nothing(op: Op) -> bool:  # noqa: ARG001  # blobs do not matter here
    return False
