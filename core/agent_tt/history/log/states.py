"""States out of the log: loading any checkpoint, and rolling forward from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.collector import collector_paused
from agent_tt.errors import Damaged
from agent_tt.history.changes.ops import apply
from agent_tt.history.log import keyframes
from agent_tt.history.payloads.damage import apply_around

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.log.log import RowOps, Segment, StateLog

__all__ = ["RollingState", "load"]


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
    state = RollingState()
    lists: set[Path] = set()
    while keyframe is not None:
        try:
            value, whole = keyframes.fill(log, segments, keyframe, lists if shared else None)
            state = RollingState(value, whole=whole)
            break
        except Damaged:  # costs time, not data: an older one, or the rows alone, give the same state
            keyframe = keyframes.newest(log, segments, keyframe)
    for position, segment in enumerate(segments):
        first = segment.first
        if keyframe is not None:
            if position < keyframe.segment:
                continue
            if position == keyframe.segment:
                first = keyframe.seq + 1
        for row in log.near(segment.track, first, segment.last):
            if lists and any(op[0] == "m" or int in map(type, op[1]) for op in row.ops):  # type: ignore[arg-type]
                return _load(log, segments, shared=False)  # it reaches into what may be a part of other states
            state.apply(row)
    return state
