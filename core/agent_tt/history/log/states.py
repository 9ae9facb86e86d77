"""States out of the log: loading any checkpoint, and rolling forward from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.collector import collector_paused
from agent_tt.errors import Damaged
from agent_tt.history.changes.ops import apply
from agent_tt.history.log import keyframes
from agent_tt.history.log.log import no_blobs
from agent_tt.history.log.superseded import replaced_by, unless
from agent_tt.history.payloads.damage import apply_around

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.log.keyframes import StoredKeyframe
    from agent_tt.history.log.log import RowOps, Segment, StateLog
    from agent_tt.history.log.superseded import Replaced

__all__ = ["RollingState", "load"]

_MOST_LOOKED_AT: Final = 1024
"""The longest stretch of rows that is searched for blobs which later rows replace. A keyframe mostly ends it sooner."""


class RollingState:
    """A state that rows are applied to, in order. After an error it must be thrown away.

    Attributes:
        value: the state now.
        whole: False once something in it could not be read.
    """

    __slots__ = ("value", "whole")

    def __init__(self, value: Wire = None, *, whole: bool = True) -> None:
        self.value = value
        self.whole = whole

    def apply(self, row: RowOps) -> None:
        """Apply one row's operations; they become part of the state.

        Raises:
            CorruptDelta: they do not fit.
        """
        self.whole &= row.whole
        self.value = apply(self.value, row.ops) if self.whole else apply_around(self.value, row.ops)


def load(log: StateLog, track: int, seq: int, *, shared: bool = False) -> RollingState:
    """The state at a checkpoint.

    Args:
        log: the log.
        track: the track.
        seq: the checkpoint.
        shared: whether it may have parts in common with other states, and nobody changes it; else it is the caller's
            own copy.

    Raises:
        StepNotFound: there is no such checkpoint.
        Damaged: it cannot be rebuilt at all.
    """
    segments = log.begin(track, seq)
    with collector_paused():
        return _load(log, segments, shared=shared)


def _load(log: StateLog, segments: Sequence[Segment], *, shared: bool) -> RollingState:
    keyframe = keyframes.newest(log, segments)
    while True:
        after = _after(segments, keyframe)
        rows = _looked_at(log, after)
        lists: set[Path] = set()
        try:
            replaced = replaced_by(rows, () if keyframe is None else keyframes.places(log, keyframe))
            if keyframe is None:
                state = RollingState()
            else:
                value, whole = keyframes.fill(log, segments, keyframe, lists if shared else None, replaced[0])
                state = RollingState(value, whole=whole)
            break
        except Damaged:  # costs time, not data: an older one, or the rows alone, give the same state
            if keyframe is None:
                raise
            keyframe = keyframes.newest(log, segments, keyframe)
    found = _with_blobs(log, rows, replaced) if rows else (row for each in after for row in log.near(*each))
    for row in found:
        if lists and any(op[0] == "m" or int in map(type, op[1]) for op in row.ops):  # type: ignore[arg-type]
            return _load(log, segments, shared=False)  # it reaches into what may be a part of other states
        state.apply(row)
    return state


def _after(segments: Sequence[Segment], keyframe: StoredKeyframe | None) -> list[Segment]:
    """Where the rows after a keyframe lie, in order."""
    if keyframe is None:
        return [*segments]
    own = segments[keyframe.segment]
    return [own._replace(first=keyframe.seq + 1), *segments[keyframe.segment + 1 :]]


def _looked_at(log: StateLog, segments: Sequence[Segment]) -> list[RowOps]:
    """The rows of segments without their blobs; none where they are very many."""
    if sum(max(each.last - each.first + 1, 0) for each in segments) > _MOST_LOOKED_AT:
        return []
    return [row for each in segments for row in log.near(*each, no_blobs)]


def _with_blobs(log: StateLog, rows: Sequence[RowOps], replaced: Sequence[Replaced]) -> Iterator[RowOps]:
    """The same rows, with those blobs that are not replaced by later rows."""
    for row, later in zip(rows, replaced[1:], strict=True):
        yield log.with_blobs(row, unless(later)) if row.left else row
