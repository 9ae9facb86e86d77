"""States out of the log: loading any checkpoint, and rolling forward from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import Damaged
from agent_tt.history.changes.ops import apply
from agent_tt.history.log import keyframes
from agent_tt.history.payloads.damage import apply_around

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.history.log.log import RowOps, StateLog

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


def load(log: StateLog, track: int, seq: int) -> RollingState:
    """The state at a checkpoint, the caller's own copy.

    Raises:
        StepNotFound: there is no such checkpoint.
        Damaged: it cannot be rebuilt at all.
    """
    log.head(track, seq)
    segments = log.segments(track, seq)
    keyframe = keyframes.newest(log, segments)
    state = RollingState()
    while keyframe is not None:
        try:
            value, whole = keyframes.fill(log, segments, keyframe)
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
        for row in log.operations(segment.track, first, segment.last):
            state.apply(row)
    return state
