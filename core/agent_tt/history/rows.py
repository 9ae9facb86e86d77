"""What state histories need of the backend that keeps them: rows in, rows out, by key. No SQL is spoken here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from agent_tt.errors import Damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["MOST_RUNS", "SEQ_BITS", "LogRows", "LogTransaction", "Row", "TouchKind", "row_key", "whole"]

Row: TypeAlias = tuple[Any, ...]
"""One row as a backend gives it: nothing about its types may be taken for granted, any file can be opened."""

TouchKind: TypeAlias = Literal["touched", "struct", "grown"]
"""How a step touched a path: in any way, in its structure, or by growing it."""

SEQ_BITS: Final = 32
MOST_RUNS: Final = 1 << (63 - SEQ_BITS)
"""Numbers of runs and tracks are below this: a key that holds one is a 64-bit number."""
_LARGEST: Final = (1 << SEQ_BITS) - 1


class LogRows(Protocol):
    """Reads what state histories keep. No lock or transaction is held once a method has returned.

    A backend that implements this and `LogTransaction` gets compressed histories, forks that share their beginning,
    cursors and the index of changes from this package. Keys are those of `row_key`. Rows of tracks, deltas and
    keyframes end with whether they are as they were written.
    """

    def track(self, track: int, /) -> Row | None:
        """A track: its parent, its `fork_seq`, the last checkpoint that the index covers, whether it is as written.

        Parent and `fork_seq` are None in a track that continues none. The index of one that has none covers -1.
        """

    def deltas(self, first: int, last: int, /, *, newest: bool = False) -> list[Row]:
        """Checkpoints with keys first..last, in order; with `newest` only the last of them.

        Each is: key, digest, chain, dictionary, size, flags, refs, frame, whether it is as written.
        """

    def keyframes(self, first: int, last: int, /, *, newest: bool = False) -> list[Row]:
        """Keyframes with keys first..last, in order; with `newest` only the last of them.

        Each is: key, size, refs, frame, whether it is as written.
        """

    def blob(self, digest: bytes, /) -> Row | None:
        """The blob of a hash: its form, size and frame."""

    def dictionary(self, of: int | str, /) -> list[Row]:
        """The copies of a dictionary, each as its number and frame.

        Args:
            of: its number, or the agent whose runs share it.
        """

    def marks(self, track: int, path: int, kind: TouchKind, first: int, last: int, /) -> list[Row]:
        """What the index says of a path in blocks that have any: block, bits of that kind, length before."""


class LogTransaction(LogRows, Protocol):
    """Writes them, in a transaction that is open."""

    def add_track(self, run: int, name: str, parent: int | None, fork_seq: int | None, /) -> int:
        """Make a track; give its number, which no other ever had."""

    def add_delta(self, row: Row, /) -> None:
        """Write a checkpoint: what `deltas` gives but for the last.

        Raises:
            Exception: there is one with its key: another process went on with the track. The transaction must fail.
        """

    def put_keyframe(self, row: Row, /) -> None:
        """Write a keyframe, in place of one with its key: what `keyframes` gives but for the last."""

    def put_blob(self, digest: bytes, row: Callable[[], Row], /) -> None:
        """Write a blob, unless there is one of that hash; `row` gives what `blob` does, and is called only then."""

    def put_dictionary(self, number: int, agent: str, frame: bytes, /) -> None:
        """Write a dictionary for the runs of an agent, unless there is one of that number."""

    def put_marks(self, track: int, seq: int, paths: Mapping[int, str], marks: Sequence[Row], /) -> None:
        """Add marks to the index, which covers the track up to `seq` from now on, or further where it did already.

        Args:
            track: the track.
            seq: its last checkpoint that is marked.
            paths: the texts of paths, by their numbers; most are known already.
            marks: track, path, block, bits of each kind, length before. Bits are added to those of the same block.
        """


def row_key(track: int, seq: int) -> int:
    """The key of checkpoint `seq` of a track, and of its keyframe."""
    return track << SEQ_BITS | seq


def whole(found: object, what: str) -> int:
    """A number that counts something (runs, tracks, steps, checkpoints), from a column that may hold anything.

    Raises:
        Damaged: it is none; `what` says where.
    """
    if type(found) is not int or not 0 <= found <= _LARGEST:
        raise Damaged(f"{what} is damaged: {str(found)[:40]!r} stands where a number should", hint=_HINT)
    return found


_HINT: Final = "Run `agent-tt verify` to see what else is affected."
