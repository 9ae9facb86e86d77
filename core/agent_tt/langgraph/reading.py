"""Reading the checkpoints of a thread one after another, and what is remembered of those that were read."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field, replace
from typing import TYPE_CHECKING

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged
from agent_tt.interop.threads import shown
from agent_tt.interop.threads.entries import Saved
from agent_tt.langgraph.memory import Memory
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.threads.entries import Entry
    from agent_tt.interop.threads.writes import Write
    from agent_tt.protocols.derived import StateCursor
    from agent_tt.store.threads import ThreadStore

    class Known(Protocol):
        """What is known of a thread."""

        @property
        def read(self) -> Remembered:
            """What is remembered of checkpoints that were read."""

        def facts_of(self, entry: Entry) -> dict[str, Wire]:
            """The facts of a checkpoint's step."""

        def writes(self, entry: Entry) -> list[Write]:
            """What tasks wrote on top of it, as it is kept."""

        def rows(self, entry: Entry) -> tuple[str, list[Entry]]:
            """The id of its run, and the checkpoints of its namespace there."""

        def damaged(self, entry: Entry, error: Damaged) -> Damaged:
            """The error that names it."""


__all__ = ["Reader", "Remembered"]


@dataclass(slots=True)
class Remembered:
    """What is remembered of checkpoints that were read, by run and step.

    Attributes:
        channels: the names of the channels that each has a value of.
        writes: what tasks wrote on top of it, every value given; to be forgotten where that changes.
        values: those of channels that were asked for by name.
    """

    channels: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict)
    writes: Memory[tuple[int, int], list[Write]] = field(default_factory=Memory)
    values: Memory[tuple[int, int, str], tuple[Wire]] = field(default_factory=Memory)


class Reader:
    """Gives one checkpoint after another. The state of the last one changes with the next: never change it."""

    def __init__(self, thread: Known, store: ThreadStore) -> None:
        self._thread = thread
        self._store = store
        self._cursors: dict[tuple[int, str], StateCursor] = {}

    def __call__(self, entry: Entry) -> Saved:
        """A checkpoint as it is stored, with what tasks wrote on top of it.

        Raises:
            Damaged: it cannot be read.
        """
        extra = self._thread.facts_of(entry)
        writes = self.writes(entry)
        host = StepFacts(extra).graph_checkpoint_id
        return Saved(entry.namespace, entry.id, entry.parent, self._state(entry, entry.step), extra, writes, host)

    def channels(self, entry: Entry) -> frozenset[str]:
        """Name the channels that a checkpoint has a value of.

        Raises:
            Damaged: it cannot be read.
        """
        key = entry.run, entry.step
        known = self._thread.read.channels.get(key)
        if known is None:
            known = self._thread.read.channels[key] = frozenset(shown.joined(self._state(entry, entry.step))[0])
        return known

    def value(self, entry: Entry, channel: str) -> Wire:
        """The value of a channel that a checkpoint has. Never change it.

        Raises:
            Damaged: it cannot be read.
        """
        key = entry.run, entry.step, channel
        known = self._thread.read.values.get(key)
        if known is None:
            raw = orjson.dumps(shown.joined(self._state(entry, entry.step))[0][channel])
            known = (orjson.loads(raw),)
            self._thread.read.values.put(key, known, len(raw))
        return known[0]

    def writes(self, entry: Entry) -> list[Write]:
        """What tasks wrote on top of a checkpoint, in the order in which LangGraph applies it. Never change it.

        Raises:
            Damaged: it cannot be read.
        """
        writes = self._thread.writes(entry)
        if all(write.found is None for write in writes):
            return writes
        key = entry.run, entry.step
        known = self._thread.read.writes.get(key)
        if known is None:
            after = self._after(entry)
            try:
                known = [replace(write, value=write.given(after), found=None) for write in writes]
            except Damaged as error:
                raise self._thread.damaged(entry, error) from error
            self._thread.read.writes.put(key, known, sum(len(orjson.dumps(write.value)) for write in known))
        return known

    def _after(self, entry: Entry) -> Mapping[str, Wire]:
        """Where writes lie that led to the next checkpoint; nothing where that is not there, or damaged."""
        _, rows = self._thread.rows(entry)
        at = bisect_right(rows, entry.step, key=lambda row: row.step)
        after = next((row for row in rows[at : at + 1] if row.parent == entry.id), None)
        return {} if after is None else shown.where_writes_lie(self._state(entry, after.step))

    def _state(self, entry: Entry, step: int) -> dict[str, Wire]:
        key = entry.run, entry.namespace
        cursor = self._cursors.get(key)
        if cursor is None:
            run_id, _ = self._thread.rows(entry)
            cursor = self._cursors[key] = self._store.cursor(run_id, step)
        state = cursor.seek(step)
        return state if isinstance(state, dict) else {}
