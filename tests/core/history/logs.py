"""A log in memory: the tables of a store with nothing around them, for tests of what reads and writes its rows."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from agent_tt.history.log.append import UNEDITED, TrackWriter, create_track, fork_track
from agent_tt.history.log.index import PathIndex
from agent_tt.history.log.keyframes import KeyframePolicy
from agent_tt.history.log.log import StateLog
from agent_tt.history.payloads.training import DictionaryTrainer
from agent_tt.store.file.schema import STATEMENTS
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.tables.histories import HistoryRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.history.changes.ops import Op
    from agent_tt.history.rows import Row
    from agent_tt.store.tables.asking import SqlValue


class MemoryRows(HistoryRows):
    """An open transaction on a database in memory.

    Attributes:
        asked: the statements that were queried, for tests of how little is read.
    """

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for statement in STATEMENTS:
            self.connection.execute(statement)
        self.tx = Transaction(self.connection).__enter__()
        self.asked: list[str] = []

    def commit(self) -> None:
        """Write the seals, as the end of a transaction does; another one begins."""
        self.tx.__exit__(None, None, None)
        self.tx = Transaction(self.connection).__enter__()

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        self.asked.append(sql)
        return self.connection.execute(sql, parameters).fetchall()


class MemoryLog:
    """Tracks, as a run writes them and as forks of it do.

    Args:
        rows: rows after which a keyframe follows.
        weight: bytes of rows after which one does.
        backend: keeps the rows, and writes them by its `tx`; the tables of a store where none is given.
        keeps: whether the states are wire values that nobody changes.
    """

    def __init__(self, *, rows: int = 128, weight: int = 1 << 40, backend: Any = None, keeps: bool = False) -> None:
        self._keeps = keeps
        self.rows = MemoryRows() if backend is None else backend
        self.tx = self.rows.tx
        self.log = StateLog(self.rows)
        self.trainer = DictionaryTrainer(self.rows, "agent")
        self._policy = (rows, weight)
        self._runs = 0

    @property
    def index(self) -> PathIndex:
        return PathIndex(self.log)

    def fresh(self) -> StateLog:
        """Another reader of the same rows, which remembers nothing."""
        return StateLog(self.rows)

    def policy(self) -> KeyframePolicy:
        return KeyframePolicy(most_rows=self._policy[0], least_weight=self._policy[1])

    def begin(self, state: Any) -> TrackWriter:
        """A new track with its first checkpoint."""
        track = create_track(self.tx, self._next_run(), "main")
        writer = TrackWriter(self.log, track, self.trainer, self.policy(), keeps=self._keeps)
        self.step(writer, state)
        return writer

    def step(self, writer: TrackWriter, state: Any) -> int:
        writer.store(self.tx, writer.compare(state))
        return writer.seq

    def fork(self, parent: int, seq: int, edited: Any = UNEDITED) -> TrackWriter:
        track = fork_track(self.tx, self.log, self._next_run(), "main", parent=parent, seq=seq, edited=edited)
        return self.resume(track)

    def _next_run(self) -> int:
        self._runs += 1
        return self._runs

    def resume(self, track: int) -> TrackWriter:
        return TrackWriter.resume(self.fresh(), track, self.trainer, self.policy(), keeps=self._keeps)

    def track_of(self, states: Iterable[Any]) -> int:
        """A track with these checkpoints, none of them in the index yet."""
        first, *others = states
        writer = self.begin(first)
        for state in others:
            self.step(writer, state)
        return writer.track

    def own_ops(self, track: int, seq: int) -> list[Op]:
        (row,) = self.fresh().operations(track, seq, seq)
        return row.ops
