"""One value of a state, without the rest of it: found from the end of the log, in the row that last wrote it.

Only what is proven is used: rows, a keyframe and blobs, as for a whole state, and never the index of changes, which has
no proofs. Where that does not tell (the value lies in a list that shifted, a text grew, something is damaged), the
state is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.codec.paths import get
from agent_tt.errors import Damaged, PathNotFound
from agent_tt.history.changes.ops import op_path
from agent_tt.history.log import keyframes
from agent_tt.history.log.log import no_blobs
from agent_tt.history.log.pages import PAGE
from agent_tt.history.log.states import load
from agent_tt.history.payloads.parts import copied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import Segment, StateLog

__all__ = ["is_there", "value_at"]

_CONTAINERS: Final = (dict, list)
_KEYS: Final = frozenset({str, int})


class _Unknown(Exception):  # never leaves this module
    """The rows do not tell: the state has to be loaded."""


_Touch: TypeAlias = "tuple[Wire, Wire, Wire]"
"""An operation of a row: its code, its place, and of one that appends the list's length before it."""


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


def is_there(log: StateLog, track: int, seq: int, path: Path) -> bool:
    """Whether the state at a checkpoint has a value at a place, which is not read.

    Raises:
        StepNotFound: there is no such checkpoint.
        Damaged: the state cannot be rebuilt at all.
    """
    segments = log.begin(track, seq)
    try:
        try:
            if path:
                _in_log(log, segments, path, read=False)
                return True
        except (_Unknown, Damaged):
            pass
        get(load(log, track, seq, shared=True).value, path)
    except PathNotFound:
        return False
    return True


def _in_log(log: StateLog, segments: Sequence[Segment], path: Path, *, read: bool = True) -> Wire:
    """The value at a place, or something in its place where it need not be read.

    Raises:
        PathNotFound: there is none.
        _Unknown, Damaged: the rows do not tell.
    """
    if int in map(type, path) and segments[-1].first <= segments[-1].last:
        try:
            grown = keyframes.in_grown_list(log, segments, path)
        except Damaged:  # the rows may tell all the same
            grown = None
        if grown is not None:
            return grown[0]
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
    return keyframes.value_in(log, segments[: oldest + 1], keyframe, path, read=read)


# -------------------------------------------------------------------- rows since the keyframe


def _newest_write(log: StateLog, track: int, first: int, last: int, path: Path) -> int | None:
    """Find the newest row from `first` to `last` that wrote the value at a path; None if none did.

    Raises:
        _Unknown: one did something to it that has to be followed.
    """
    for page in range(last // PAGE, first // PAGE - 1, -1):
        start, end = max(first, page * PAGE), min(last, page * PAGE + PAGE - 1)
        if start > end:
            continue
        known: _Touches = log.parts.get(("touches", track, page)) or _Touches()
        if not known.covers(start, end):
            for row in log.operations(track, end, end, no_blobs):  # much changes at every step
                if _writes(row.ops, path) is not None:
                    return end
            known = known.and_those_of(log, track, start, end)
            log.parts.put(("touches", track, page), known, known.size)
        wrote = known.newest_write(start, end, path)
        if wrote is not None:
            return wrote
    return None


def _written(log: StateLog, track: int, seq: int, path: Path) -> Wire:
    """The value at a place that a row wrote."""
    for row in log.near(track, seq, seq, lambda op, _: path[: len(op_path(op))] == op_path(op)):
        op = _writes(row.ops, path)
        if op is not None:
            own = len(op_path(op))
            if op[0] == "s":
                return get(op[2], path[own:])
            position, length = path[own], op[2]
            if isinstance(position, int) and isinstance(length, int):
                return get(op[3], (position - length, *path[own + 1 :]))
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
    """What the rows of a page did at which places, as far as that was asked; it never changes.

    Attributes:
        size: about how many bytes all this takes.
    """

    __slots__ = ("_rows", "size")

    def __init__(self) -> None:
        self.size = 0
        self._rows: dict[int, dict[Wire, list[_Touch]]] = {}

    def covers(self, first: int, last: int) -> bool:
        """Whether rows first..last are among them."""
        return all(seq in self._rows for seq in range(first, last + 1))

    def and_those_of(self, log: StateLog, track: int, first: int, last: int) -> _Touches:
        """These, and rows first..last of the same page."""
        more = _Touches()
        more._rows = dict(self._rows)
        more.size = self.size
        for row in log.near(track, first, last, no_blobs):
            if row.seq not in more._rows:
                more._rows[row.seq] = _touched(row.ops)
                more.size += _TOUCH_SIZE * len(row.ops)
        return more

    def newest_write(self, first: int, last: int, path: Path) -> int | None:
        """The newest of rows first..last that wrote the value at a place; None if none did.

        Raises:
            _Unknown: one did something to it that has to be followed.
        """
        above = [[*path[:own]] for own in range(len(path) + 1)]
        for seq in range(last, first - 1, -1):
            touched = self._rows[seq]
            wrote = False
            seen: set[int] = set()
            for key in (path[0], None):
                for code, place, length in touched.get(key, ()):
                    own = len(place) if isinstance(place, list) else 0
                    if code == _MOVES or (own < len(above) and place == above[own]):
                        wrote |= _is_write(code if own not in seen else _MOVES, length, path, own)
                        seen.add(own)
            if wrote:
                return seq
        return None


def _touched(ops: list[Op]) -> dict[Wire, list[_Touch]]:
    """What the operations of a row did, by the entry of the state that they name; None stands for all of it.

    Written for speed: a look at one value goes through all rows since a keyframe.
    """
    touched: dict[Wire, list[_Touch]] = {}
    for op in ops:
        code, place = op[0], op[1]
        key = place[0] if type(place) is list and place else None
        if type(key) not in _KEYS:
            op_path(op)  # refuses what is none
            key = None
        elif code == _MOVES:
            key = None
        touch = (code, place, op[2] if code == "a" else None)
        if key in touched:
            touched[key].append(touch)
        else:
            touched[key] = [touch]
    return touched


_MOVES: Final = "m"
"""The code of an operation that takes a value elsewhere, which has to be followed as several at one place have."""
_TOUCH_SIZE: Final = 160
