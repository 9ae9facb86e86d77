"""Which checkpoints of a track changed a path: by the index as far as it covers, above that by the operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import without_envelopes
from agent_tt.errors import Damaged
from agent_tt.history.changes.ops import touches
from agent_tt.history.hashing import path_id
from agent_tt.history.log.log import no_blobs
from agent_tt.history.log.pages import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.ops import Op, Touch
    from agent_tt.history.log.log import RowOps, StateLog
    from agent_tt.history.rows import Row, TouchKind

__all__ = ["IndexRows", "Mark", "TrackMarks"]

_FIRST_BLOCKS: Final = 16
"""Blocks of the index that are read at first, of all that could hold what is looked for."""

_GROWN: Final = "grown"
_STRUCT: Final = "struct"
_TOUCHED: Final = "touched"
_ALL_BITS: Final = (1 << 64) - 1
_MOST_KEPT: Final = 256
"""Answers of the index that are remembered."""
_INTEGERS: Final = frozenset({int})


@dataclass(frozen=True, slots=True)
class Mark:
    """A checkpoint that the index names; `length` is the list's length before the block's first append."""

    seq: int
    length: int | None


class IndexRows:
    """The index of one track as it stands at one moment: what was read of it is remembered.

    Attributes:
        reach: the last checkpoint that it covers, -1 for none.
    """

    def __init__(self, log: StateLog, track: int) -> None:
        self.reach = log.indexed_to(track)
        self._rows = log.rows
        self._track = track
        self._known: dict[tuple[int, TouchKind, int, int], list[Row]] = {}

    def blocks(self, path: int, kind: TouchKind, first: int, last: int) -> list[Row]:
        """What `LogRows.marks` gives of the track.

        Raises:
            Damaged: something else than numbers stands there.
        """
        asked = (path, kind, first, last)
        known = self._known.get(asked)
        if known is None:
            known = self._rows.marks(self._track, path, kind, first, last)
            if not _INTEGERS.issuperset([type(number) for row in known for number in row[:2]]):
                raise Damaged(
                    f"the index of changes of track {self._track} is damaged",
                    hint="Run `agent-tt verify` on the store.",
                )
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[asked] = known
        return known


class TrackMarks:
    """What is marked of one track: by the index as far as it covers, above that by the operations themselves.

    Args:
        log: the log.
        track: the track.
        index: its index, where some of it was read before.

    Attributes:
        reach: the last checkpoint that the index covers, -1 for none.
    """

    def __init__(self, log: StateLog, track: int, index: IndexRows | None = None) -> None:
        self._log = log
        self._track = track
        self._index = index or IndexRows(log, track)
        self.reach = self._index.reach
        self._rows: dict[int, RowOps] = {}
        self._touches: dict[int, dict[Path, Touch]] = {}

    def row(self, seq: int) -> RowOps:
        """A checkpoint's operations, without their blobs; nobody may change them.

        Raises:
            Damaged: its row cannot be read.
        """
        known = self._rows.get(seq)
        if known is None:
            (known,) = self._log.operations(self._track, seq, seq, no_blobs)
            self._rows[seq] = known
        return known

    def ops(self, seq: int) -> list[Op]:
        """The same operations alone."""
        return self.row(seq).ops

    def appended(self, seq: int, path: Path) -> tuple[int, int] | None:
        """The positions of the items that a checkpoint appended to a list: the first, and the one after the last."""
        spans = [
            (op[2], op[2] + len(op[3]))
            for op in self.ops(seq)
            if op[0] == "a" and op[1] == list(path) and isinstance(op[2], int) and isinstance(op[3], list)
        ]
        return (min(spans)[0], max(end for _, end in spans)) if spans else None

    def newest_append(self, path: Path, position: int, first: int, last: int) -> int | None:
        """The newest of checkpoints first..last that appended to a list when it had no item at a position yet."""
        for block, length in self.by_block(without_envelopes(path), _GROWN, first, last, most_length=position):
            low, high, probe = 0, len(block) - 1, _likely(block, length, position)
            while low <= high:  # since the first of them the list only grew: where an item is tells where another is
                span = self.appended(block[probe], path)
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

    def of(self, path: Path, kind: TouchKind, first: int, last: int, *, newest_first: bool = True) -> Iterator[Mark]:
        """List the checkpoints first..last that changed a path in the way that `kind` names.

        Args:
            path: the path.
            kind: the way.
            first: the first checkpoint.
            last: the last one.
            newest_first: in which order.
        """
        for seqs, length in self.by_block(path, kind, first, last, newest_first=newest_first):
            for seq in reversed(seqs) if newest_first else seqs:
                yield Mark(seq, length)

    def newest(self, path: Path, kind: TouchKind, first: int, last: int) -> int:
        """The newest of checkpoints first..last that changed a path in the way that `kind` names; -1 for none."""
        for seqs, _ in self.by_block(path, kind, first, last):
            return seqs[-1]
        return -1

    def by_block(
        self,
        path: Path,
        kind: TouchKind,
        first: int,
        last: int,
        *,
        newest_first: bool = True,
        most_length: int | None = None,
    ) -> Iterator[tuple[list[int], int | None]]:
        """The same checkpoints by the blocks that they lie in, those of each in order, with the length of `Mark`.

        Those that the index does not cover come each by itself.

        Args:
            path: the path.
            kind: the way.
            first: the first checkpoint.
            last: the last one.
            newest_first: in which order the blocks come.
            most_length: leave out those before which a list was longer.
        """
        tail = (self._tail, max(first, self.reach + 1), last)
        indexed = (self._indexed, first, min(last, self.reach))
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
        most_length: int | None,
    ) -> Iterator[tuple[list[int], int | None]]:
        if not all(seq in self._touches for seq in range(first, last + 1)):
            for row in self._log.operations(self._track, first, last, no_blobs):
                self._touches[row.seq] = touches(row.ops)
        seqs = range(first, last + 1)
        for seq in reversed(seqs) if newest_first else seqs:
            touch = self._touches[seq].get(path)
            if touch is not None and _says(touch, kind):
                length = touch.length  # each knows its own
                if most_length is None or length is None or length <= most_length:
                    yield [seq], length

    def _indexed(
        self, path: Path, kind: TouchKind, first: int, last: int, *, newest_first: bool, most_length: int | None
    ) -> Iterator[tuple[list[int], int | None]]:
        for rows in self._read(path, kind, first, last, newest_first=newest_first):
            for block, bits, length in reversed(rows) if newest_first else rows:
                if most_length is not None and length is not None and length > most_length and block * BLOCK >= first:
                    continue
                seqs = _marked(block * BLOCK, bits & _ALL_BITS, first, last)
                if seqs:
                    yield seqs, length

    def _read(self, path: Path, kind: TouchKind, first: int, last: int, *, newest_first: bool) -> Iterator[list[Row]]:
        """Blocks of the index: who asks mostly wants the nearest alone, so each time more of them are read."""
        low, high, few = first // BLOCK, last // BLOCK, _FIRST_BLOCKS
        number = path_id(path)
        while low <= high:
            near, far = (max(low, high - few + 1), high) if newest_first else (low, min(high, low + few - 1))
            rows = self._index.blocks(number, kind, near, far)
            if rows:
                yield rows
            low, high, few = (low, near - 1, few * 4) if newest_first else (far + 1, high, few * 4)


def _marked(start: int, bits: int, first: int, last: int) -> list[int]:
    """Those of checkpoints first..last that bits name; the lowest of them stands for `start`."""
    if bits == _ALL_BITS:
        return [*range(max(start, first), min(start + BLOCK - 1, last) + 1)]
    return [start + bit for bit in range(BLOCK) if bits >> bit & 1 and first <= start + bit <= last]


def _says(touch: Touch, kind: TouchKind) -> bool:
    return kind == _TOUCHED or (touch.struct if kind == _STRUCT else touch.grown)


def _likely(block: Sequence[int], length: int | None, position: int) -> int:
    """Which checkpoint of one block appended the item at a position, if the list grows as it did before it."""
    if not length or position < length:
        return 0
    return min((position - length) * block[0] // length, len(block) - 1)
