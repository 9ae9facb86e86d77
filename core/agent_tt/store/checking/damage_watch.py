"""Which steps of a run hold, or need, something damaged: found by reading every row and blob once, then remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, StepNotFound
from agent_tt.history.hashing import blob_names
from agent_tt.history.log.states import RollingState, load
from agent_tt.history.payloads.damage import find_placeholder, is_placeholder
from agent_tt.history.rows import SEQ_BITS, row_key

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.log.log import Segment, StateLog
    from agent_tt.store.rows.lineage import Lineage
    from agent_tt.store.tables.asking import Rows

__all__ = ["DamageWatch"]

_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class DamageWatch:
    """Looks for damage; what was found whole is not read again. Safe to use from several threads."""

    def __init__(self, log: StateLog, lineage: Lineage) -> None:
        self._log = log
        self._lineage = lineage
        self._whole: dict[int, int] = {}
        self._good_blobs: set[bytes] = set()

    def steps(self, run: int) -> list[int]:
        """The damaged steps of a run, in order."""
        places: dict[int, dict[int, list[int]]] = {}
        for step, track, seq in self._checkpoints(run):
            places.setdefault(track, {}).setdefault(seq, []).append(step)
        damaged: set[int] = set()
        for track, steps_at in places.items():
            last = self._last(track)
            missing = [seq for seq in steps_at if not 0 <= seq <= last]
            damaged.update(step for seq in missing for step in steps_at.pop(seq))
            for seq in self._damaged_seqs(track, max(steps_at)) if steps_at else ():
                damaged.update(steps_at.get(seq, ()))
        return sorted(damaged)

    def _last(self, track: int) -> int:
        """The last checkpoint that a track can show; -1 for a track that is missing."""
        try:
            segments = self._log.segments(track, _SEQ_MASK)
        except Damaged:
            return -1
        ends = (self._log.last_seq(segment.track) for segment in reversed(segments))
        return next((end for end in ends if end is not None), -1)

    def _checkpoints(self, run: int) -> list[tuple[int, int, int]]:
        """Step, track and checkpoint of everything in the run that has a state of its own."""
        found: list[tuple[int, int, int]] = []
        parent, fork_step = self._lineage.origin(run)
        for special in {0, fork_step if parent is not None else 0}:
            try:
                position = self._lineage.position(run, special)
            except StepNotFound:
                continue
            found.append((special, position.track, position.seq))
        for stretch in self._lineage.stretches(run):
            rows = self._lineage.rows.query(
                "SELECT step, track, seq FROM steps WHERE run = ? AND step <= ? AND seq IS NOT NULL",
                (stretch.run, (1 << 62) if stretch.last is None else stretch.last),
            )
            found += [
                (step, track if type(track) is int else -1, seq if type(seq) is int else -1)
                for step, track, seq in rows
                if type(step) is int and (parent is None or step != fork_step)
            ]
        return found

    def _damaged_seqs(self, track: int, last: int) -> list[int]:
        first_bad = self._first_bad(self._log.segments(track, last))
        if first_bad is None:
            return []
        return _Walk(self._lineage.rows, self._log, track, first_bad, last).damaged()

    def _first_bad(self, segments: list[Segment]) -> int | None:
        for segment in segments:
            first = max(segment.first, self._whole.get(segment.track, -1) + 1)
            if first > segment.last:
                continue
            try:
                for row in self._log.scan(segment.track, first, segment.last):
                    first = row.seq
                    self._log.plain(row)
                first = segment.first
                for key, refs in self._lineage.rows.query(
                    "SELECT id, refs FROM deltas WHERE refs IS NOT NULL AND id BETWEEN ? AND ? ORDER BY id",
                    (row_key(segment.track, segment.first), row_key(segment.track, segment.last)),
                ):
                    first = key & _SEQ_MASK
                    self._check_blobs(refs)
            except Damaged:
                return first
            self._whole[segment.track] = segment.last
        return None

    def _check_blobs(self, refs: object) -> None:
        for name in blob_names(refs):
            if name not in self._good_blobs:
                self._log.blobs.get(name)
                self._good_blobs.add(name)


class _Walk:
    """Rolls a state from the first damage on, and notes at which checkpoints something is missing."""

    def __init__(self, rows: Rows, log: StateLog, track: int, first: int, last: int) -> None:
        self._rows = rows
        self._log = log
        self._track = track
        self._seqs = range(first, last + 1)
        self._where: Path | None = None

    def damaged(self) -> list[int]:
        """The damaged checkpoints, in order."""
        found: list[int] = []
        restarts = self._keyframed()
        state: RollingState | None = None
        for seq in self._seqs:
            if state is None:
                state = self._load(seq) if not found or seq in restarts else None
            else:
                state = self._next(state, seq)
            if state is None or not self._is_whole(state):
                found.append(seq)
        return found

    def _keyframed(self) -> set[int]:
        """Checkpoints at which a state that was lost may be found again."""
        return {
            key & _SEQ_MASK
            for segment in self._log.segments(self._track, self._seqs[-1])
            for (key,) in self._rows.query(
                "SELECT id FROM keyframes WHERE id BETWEEN ? AND ?",
                (row_key(segment.track, segment.first), row_key(segment.track, segment.last)),
            )
        }

    def _load(self, seq: int) -> RollingState | None:
        try:
            return load(self._log, self._track, seq)
        except (Damaged, StepNotFound):
            return None

    def _next(self, state: RollingState, seq: int) -> RollingState | None:
        try:
            for segment in self._log.segments(self._track, seq):
                if segment.first <= seq <= segment.last:
                    for row in self._log.operations(segment.track, seq, seq):
                        state.apply(row)
        except Damaged:
            return self._load(seq)
        return state

    def _is_whole(self, state: RollingState) -> bool:
        if state.whole:
            return True
        if self._where is None or not is_placeholder(_at(state.value, self._where)):
            self._where = find_placeholder(state.value)
            state.whole = self._where is None
        return state.whole


def _at(value: Wire, path: Path) -> Wire:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
