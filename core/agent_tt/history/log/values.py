"""One value of a state, without the rest of it: found from the end of the log, in the row that last wrote it.

Only what is proven is used: rows, a keyframe and blobs, as for a whole state, and never the index of changes, which has
no proofs. Where that does not tell (the value lies in a list that shifted, a text grew, something is damaged), the
state is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.paths import get
from agent_tt.errors import Damaged, PathNotFound
from agent_tt.history.changes.ops import op_path
from agent_tt.history.log import keyframes
from agent_tt.history.log.pages import PAGE
from agent_tt.history.log.states import load
from agent_tt.history.payloads.parts import copied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import Segment, StateLog

__all__ = ["value_at"]

_CONTAINERS: Final = (dict, list)


class _Unknown(Exception):  # never leaves this module
    """The rows do not tell: the state has to be loaded."""


class _Touch(NamedTuple):
    """An operation of a row: its checkpoint, its code, and of one that appends the list's length before it."""

    seq: int
    code: Wire
    length: Wire


def value_at(log: StateLog, track: int, seq: int, path: Path) -> Wire:
    """The value at a place of the state at a checkpoint, the caller's own copy.

    Args:
        log: the log.
        track: the track.
        seq: the checkpoint.
        path: the place, in wire coordinates.

    Raises:
        StepNotFound: there is no such checkpoint.
        PathNotFound: the state has nothing there.
        Damaged: the state cannot be rebuilt at all.
    """
    segments = log.begin(track, seq)
    if path:
        try:
            found = _in_log(log, segments, path)
        except (_Unknown, Damaged, PathNotFound):  # a load says what is damaged, or missing, and why
            pass
        else:
            if not isinstance(found, _CONTAINERS):  # what happened in one since is not looked for
                return found
    return copied(get(load(log, track, seq, shared=True).value, path))


def _in_log(log: StateLog, segments: Sequence[Segment], path: Path) -> Wire:
    keyframe = keyframes.newest(log, segments)
    oldest = 0 if keyframe is None else keyframe.segment
    for position in range(len(segments) - 1, oldest - 1, -1):
        segment = segments[position]
        first = segment.first
        if keyframe is not None and position == oldest:
            first = keyframe.seq + 1
        wrote = _newest_write(log, segment.track, first, segment.last, path)
        if wrote is not None:
            return _written(log, segment.track, wrote, path)
    if keyframe is None:
        raise _Unknown
    return keyframes.value_in(log, segments[: oldest + 1], keyframe, path)


# -------------------------------------------------------------------- rows since the keyframe


def _newest_write(log: StateLog, track: int, first: int, last: int, path: Path) -> int | None:
    """The newest of some rows that wrote the value at a place; None if none did.

    Raises:
        _Unknown: one did something to it that has to be followed.
    """
    for page in range(last // PAGE, first // PAGE - 1, -1):
        start, end = max(first, page * PAGE), min(last, page * PAGE + PAGE - 1)
        if start > end:
            continue
        known: _Touches | None = log.parts.get(("touches", track, page))
        if known is None or not known.first <= start <= end <= known.last:
            for row in log.operations(track, end, end, _nothing):  # much changes at every step
                if _writes(row.ops, path) is not None:
                    return end
            known = _Touches.of(log, track, start, end, known)
            log.parts.put(("touches", track, page), known, known.size)
        wrote = known.newest_write(start, end, path)
        if wrote is not None:
            return wrote
    return None


def _written(log: StateLog, track: int, seq: int, path: Path) -> Wire:
    """The value at a place that a row wrote."""
    for row in log.near(track, seq, seq, lambda op: path[: len(op_path(op))] == op_path(op)):
        op = _writes(row.ops, path)
        if op is not None:
            own = len(op_path(op))
            if op[0] == "s":
                return get(op[2], path[own:])
            return get(op[3], (path[own] - op[2], *path[own + 1 :]))  # type: ignore[operator, arg-type]  # numbers, see `_is_write`
    raise _Unknown


def _writes(ops: list[Op], path: Path) -> Op | None:
    """The last of a row's operations that wrote the value at a place; None if none did."""
    for op in reversed(ops):
        own = op_path(op)
        if op[0] == "m" or (own[: len(path)] == path and len(own) > len(path)):
            raise _Unknown
        if own == path[: len(own)] and _is_write(op[0], op[2] if op[0] == "a" else None, path, len(own)):
            return op
    return None


def _is_write(code: Wire, length: Wire, path: Path, own: int) -> bool:
    """Whether an operation at the first `own` steps of a path wrote the value there.

    Raises:
        _Unknown: it did something to it that has to be followed.
    """
    if code == "s":
        return True
    if code == "a" and own < len(path) and type(length) is int:
        position = path[own]
        return type(position) is int and position >= length
    if code == "o":
        return False
    raise _Unknown


class _Touches:
    """What the rows of a part of a page did at which places, to be asked often.

    Attributes:
        first: the first of the rows.
        last: the last one.
        size: about how many bytes all this takes.
    """

    __slots__ = ("_at", "_has_moves", "first", "last", "size")

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self.size = 0
        self._at: dict[Path, list[_Touch]] = {}
        self._has_moves = False

    @classmethod
    def of(cls, log: StateLog, track: int, first: int, last: int, known: _Touches | None) -> _Touches:
        """Of rows first..last of one page, and of those that are known already."""
        if known is not None:
            first, last = min(first, known.first), max(last, known.last)
        self = cls(first, last)
        for row in log.near(track, first, last, _nothing):
            for op in row.ops:
                if op[0] == "m":
                    self._has_moves = True
                touch = _Touch(row.seq, op[0], op[2] if op[0] == "a" else None)
                self._at.setdefault(op_path(op), []).append(touch)
                self.size += _TOUCH_SIZE
        return self

    def newest_write(self, first: int, last: int, path: Path) -> int | None:
        """The newest of rows first..last that wrote the value at a place; None if none did.

        Raises:
            _Unknown: one did something to it that has to be followed.
        """
        if self._has_moves:
            raise _Unknown
        newest: int | None = None
        for own in range(len(path) + 1):
            for seq, code, length in reversed(self._at.get(path[:own], ())):
                if seq < first or (newest is not None and seq < newest):
                    break
                if seq <= last and _is_write(code, length, path, own):
                    newest = seq
                    break
        return newest


_TOUCH_SIZE: Final = 160


def _nothing(op: Op) -> bool:  # noqa: ARG001  # blobs do not matter here
    return False
