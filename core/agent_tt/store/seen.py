"""What a reader keeps of what it read: where checkpoints lie, what the index says, and the states that it stands on."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from agent_tt.history.log.cursor import TrackCursor
from agent_tt.history.log.index import PathIndex

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.history.log.log import StateLog
    from agent_tt.store.rows.lineage import Lineage, Position

__all__ = ["Seen", "TrackStates"]

_POSITIONS_KEPT: Final = 1024

_CURSORS_KEPT: Final = 4
"""Tracks whose state a cursor keeps while it stands on another."""


class Seen:
    """Where checkpoints lie and what the index of changes says, for as long as nothing is written: each is read once.

    Attributes:
        index: the index.
    """

    def __init__(self, log: StateLog, lineage: Lineage) -> None:
        self.index = PathIndex(log, stays=True)
        self._lineage = lineage
        self._positions: dict[tuple[int, int], Position] = {}

    def position(self, run: int, step: int) -> Position:
        """The checkpoint that shows the state after a step.

        Raises:
            StepNotFound: the run has no such step.
        """
        known = self._positions.get((run, step))
        if known is None:
            if len(self._positions) >= _POSITIONS_KEPT:
                self._positions.clear()
            known = self._positions[run, step] = self._lineage.position(run, step)
        return known


class TrackStates:
    """States of one run, each reached from the one before on its track. A state that was given changes with the next.

    The store's cursor reads them.
    """

    def __init__(self, log: StateLog, lineage: Lineage, run: int) -> None:
        self._log = log
        self._lineage = lineage
        self._run = run
        self._tracks: OrderedDict[int, TrackCursor] = OrderedDict()

    def at(self, step: int) -> Wire:
        """The state after a step.

        Raises:
            StepNotFound: the run has no such checkpoint.
            Damaged: it cannot be rebuilt at all.
        """
        position = self._lineage.position(self._run, step)
        track = self._lineage.continuation(self._run, position.track)
        if not self._reaches(track, position):
            track = position.track
        cursor = self._tracks.get(track)
        if cursor is None:
            cursor = self._tracks[track] = TrackCursor(self._log, track, position.seq)
            if len(self._tracks) > _CURSORS_KEPT:
                self._tracks.popitem(last=False)
        else:
            self._tracks.move_to_end(track)
        return cursor.seek(position.seq)

    def _reaches(self, track: int, position: Position) -> bool:
        """Whether a checkpoint is one that a track goes through; an ancestor's later ones are not."""
        for segment in reversed(self._log.segments(track, position.seq)):
            if segment.first <= position.seq <= segment.last:
                return segment.track == position.track
        return False
