"""Moving a state along a track: forward by applying rows, back by undoing them.

Undoing needs what was there before, so going back to rows that were never applied loads the nearest keyframe before
them, once, and rolls forward: one load for a stretch of rows, not one for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged
from agent_tt.history.changes.undo import apply_with_undo
from agent_tt.history.log import keyframes
from agent_tt.history.log.states import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import RowOps, StateLog

__all__ = ["TrackCursor"]

_MOST_UNDO: Final = 4096
"""Rows that can be undone without loading."""

_LONGEST_ROLL: Final = 256
"""Rows ahead up to which rolling forward is cheaper than loading."""


class TrackCursor:
    """A state that stands at one checkpoint of a track. Not safe to use from several threads at once."""

    def __init__(self, log: StateLog, track: int, seq: int) -> None:
        self._log = log
        self._track = track
        self._seq = seq
        self._undo: list[list[Op]] = []
        self._state = load(log, track, seq)

    @property
    def value(self) -> Wire:
        """The state. It changes in place with the next `seek`."""
        return self._state.value

    def seek(self, seq: int) -> Wire:
        """Move to a checkpoint and give its state.

        Raises:
            StepNotFound: there is no such checkpoint.
            Damaged: it cannot be rebuilt at all.
        """
        if seq == self._seq:
            return self.value
        self._log.head(self._track, seq)
        try:
            self._move(seq)
        except Damaged:  # a row on the way there; a keyframe behind it may give the state all the same
            self._load(seq)
        return self.value

    def _move(self, seq: int) -> None:
        if seq > self._seq:
            if seq - self._seq > _LONGEST_ROLL or not self._state.whole:
                self._load(seq)
            else:
                self._roll(seq)
        else:
            if self._seq - seq > len(self._undo):
                self._load_before(seq)
            self._rewind(seq)

    def _rewind(self, seq: int) -> None:
        while self._seq > seq:
            self._state.value, _ = apply_with_undo(self._state.value, self._undo.pop())
            self._seq -= 1

    def _roll(self, seq: int) -> None:
        """Apply the rows up to `seq`, noting how to undo each."""
        for row in self._rows(self._seq + 1, seq):
            if not row.whole:
                self._load(seq)
                return
            seq_before = self._seq
            try:
                self._state.value, undo = apply_with_undo(self._state.value, row.ops)
            except BaseException:
                self._load(seq_before)
                raise
            if row.seq == self._seq:  # a fork's edit, on top of its parent's checkpoint of the same number
                self._undo[-1] = [*undo, *self._undo[-1]]
            else:
                self._undo.append(undo)
            self._seq = row.seq
        del self._undo[:-_MOST_UNDO]

    def _rows(self, first: int, last: int) -> Iterator[RowOps]:
        for segment in self._log.segments(self._track, last):
            yield from self._log.operations(segment.track, max(first, segment.first), segment.last)

    def _load(self, seq: int) -> None:
        self._state = load(self._log, self._track, seq)
        self._seq = seq
        self._undo.clear()

    def _load_before(self, seq: int) -> None:
        """Stand at `seq`, with everything since the keyframe before it ready to be undone."""
        keyframe = keyframes.newest(self._log, self._log.segments(self._track, max(seq - 1, 0)))
        base = keyframe.seq if keyframe is not None else 0
        if seq - base > _LONGEST_ROLL:
            base = seq
        self._load(base)
        if self._state.whole:
            self._roll(seq)
        elif base != seq:
            self._load(seq)
