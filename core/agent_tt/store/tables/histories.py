"""The tables of state histories: tracks, deltas, keyframes, blobs, dictionaries and the index of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.history.hashing import row_id
from agent_tt.store.tables.asking import Rows, Statements
from agent_tt.store.tables.definitions import BLOBS, DELTAS, DICTS, KEYFRAMES, TRACKS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.history.rows import Row, TouchKind

__all__ = ["HistoryRows", "HistoryWrites"]

_COPIES: Final = 2
"""A dictionary is kept twice, because many rows need it."""

_DELTAS: Final = f"SELECT {DELTAS.selected} FROM deltas WHERE id BETWEEN ? AND ? ORDER BY id"  # noqa: S608  # our own
_KEYFRAMES: Final = f"SELECT {KEYFRAMES.selected} FROM keyframes WHERE id BETWEEN ? AND ? ORDER BY id"  # noqa: S608  # our own
_DICTIONARY: Final = "SELECT id, data FROM dicts WHERE id = ? ORDER BY copy"
_DICTIONARY_OF_AGENT: Final = (
    "SELECT id, data FROM dicts WHERE id = (SELECT id FROM dicts WHERE agent = ? AND copy = 0 ORDER BY id LIMIT 1)"
    " ORDER BY copy"
)
_MARK: Final = (
    "INSERT INTO changes(track, path, block, touched, struct, grown, len0) VALUES(?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT(track, path, block) DO UPDATE SET touched = changes.touched | excluded.touched,"
    " struct = changes.struct | excluded.struct, grown = changes.grown | excluded.grown,"
    " len0 = ifnull(changes.len0, excluded.len0)"
)


class HistoryRows(Rows):
    """Reads them: a `LogRows` over whatever answers queries."""

    __slots__ = ()

    def track(self, track: int, /) -> Row | None:
        """A track: its parent, its `fork_seq`, the last checkpoint that the index covers, whether it is as written."""
        for row in TRACKS.read(self, "track = ?", (track,)):
            return (*row[3:6], TRACKS.holds(row))
        return None

    def deltas(self, first: int, last: int, /, *, newest: bool = False) -> list[Row]:
        """Checkpoints with keys first..last, in order; with `newest` only the last of them."""
        found = self.query(f"{_DELTAS} DESC LIMIT 1" if newest else _DELTAS, (first, last))
        return DELTAS.judged_all(found)

    def keyframes(self, first: int, last: int, /, *, newest: bool = False) -> list[Row]:
        """Keyframes with keys first..last, in order; with `newest` only the last of them."""
        found = self.query(f"{_KEYFRAMES} DESC LIMIT 1" if newest else _KEYFRAMES, (first, last))
        return [KEYFRAMES.judged(row) for row in found]

    def blob(self, digest: bytes, /) -> Row | None:
        """The blob of a hash: its form, size and frame."""
        number = row_id(digest)
        while found := self.query("SELECT hash, form, size, data FROM blobs WHERE id = ?", (number,)):
            if found[0][0] == digest:
                return found[0][1:]
            number += 1
        return None

    def dictionary(self, of: int | str, /) -> list[Row]:
        """The copies of a dictionary, or of the one that an agent's runs share, each as its number and frame."""
        return self.query(_DICTIONARY if isinstance(of, int) else _DICTIONARY_OF_AGENT, (of,))

    def marks(self, track: int, path: int, kind: TouchKind, first: int, last: int, /) -> list[Row]:
        """What the index says of a path in blocks that have any: block, bits of that kind, length before."""
        return self.query(
            f"SELECT block, {kind}, len0 FROM changes"  # noqa: S608  # one of three words of ours
            f" WHERE track = ? AND path = ? AND block BETWEEN ? AND ? AND {kind} <> 0 ORDER BY block",
            (track, path, first, last),
        )


class HistoryWrites(HistoryRows, Statements):
    """Writes them: a `LogTransaction`."""

    __slots__ = ()

    def add_track(self, run: int, name: str, parent: int | None, fork_seq: int | None, /) -> int:
        """Make a track; give its number. A fork's track still lacks its first checkpoint."""
        return TRACKS.insert(self, (None, run, name, parent, fork_seq, -1 if fork_seq is None else fork_seq - 1, 0))

    def add_delta(self, row: Row, /) -> None:
        """Write a checkpoint; what SQLite says where there is one with its key becomes a `Conflict`."""
        DELTAS.write(self, row)

    def put_keyframe(self, row: Row, /) -> None:
        """Write a keyframe, in place of one with its key."""
        KEYFRAMES.delete(self, "id = ?", row[:1])
        KEYFRAMES.write(self, row)

    def put_blob(self, digest: bytes, row: Callable[[], Row], /) -> None:
        """Write a blob, unless there is one of that hash. Its number comes from its hash, or is the next free one."""
        number = row_id(digest)
        while found := self.query("SELECT hash FROM blobs WHERE id = ?", (number,)):
            if found[0][0] == digest:
                return
            number += 1
        BLOBS.write(self, (number, digest, *row()))

    def put_dictionary(self, number: int, agent: str, frame: bytes, /) -> None:
        """Write the copies of a dictionary, unless there is one of that number."""
        if not self.query("SELECT 1 FROM dicts WHERE id = ?", (number,)):
            for copy in range(_COPIES):
                DICTS.insert(self, (number, copy, agent, frame))

    def put_marks(self, track: int, seq: int, paths: Mapping[int, str], marks: Sequence[Row], /) -> None:
        """Add marks to the index, which covers the track up to `seq` from now on."""
        self.execute_many("INSERT OR IGNORE INTO paths(id, path) VALUES(?, ?)", list(paths.items()))
        self.execute_many(_MARK, marks)
        ((reach,),) = self.query("SELECT indexed_to FROM tracks WHERE track = ?", (track,))
        if reach < seq:  # another process may have come further
            TRACKS.update(self, (track,), {"indexed_to": seq})
