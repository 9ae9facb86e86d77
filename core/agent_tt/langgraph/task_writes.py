"""What tasks wrote on top of checkpoints of a thread, as it is kept: whole, until the state that it led to is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.interop.threads import shown
from agent_tt.interop.threads.writes import Write, grown, kept_writes, read_writes, shortened
from agent_tt.langgraph.known_thread import EARLY
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.threads.entries import Entry
    from agent_tt.langgraph.known_thread import KnownThread
    from agent_tt.store.threads import ThreadStore

__all__ = ["TaskWrites"]


class TaskWrites:
    """Changes what is kept of them, in the transaction of its `Thread`."""

    def __init__(self, store: ThreadStore, thread: KnownThread) -> None:
        self._store = store
        self._thread = thread
        self._changed: dict[tuple[int, int], Entry] = {}

    def change(self, entry: Entry, writes: list[Write]) -> None:
        """Put other writes, in the order in which LangGraph applies them, in the place of those of a checkpoint."""
        self._changed[entry.run, entry.step] = entry
        self._thread.change_writes(entry, writes)

    def store_changed(self) -> None:
        """Store those that have changed, each once, however often it has."""
        for entry in self._changed.values():
            fact = StepFacts.writes.entry(kept_writes(self._thread.writes(entry)))
            self._thread.runs.writer(entry.run).change_extra(entry.step, self._thread.with_fact(entry, fact))
            self._thread.runs.has_written = True
        self._changed.clear()

    def shorten(self, parent: Entry, state: dict[str, Wire]) -> dict[str, Wire]:
        """Leave of writes only where they lie in the state they led to; give that, with what is in no channel of it."""
        before = self._thread.writes(parent)
        if all(write.found is not None for write in before):
            return state
        channels, _ = shown.joined(state)
        lengths = {name: len(value) - grown(name, before) for name, value in channels.items() if type(value) is list}
        after, apart = shortened(before, lengths, channels)
        if after != before:
            self.change(parent, after)
        return shown.with_written(state, apart) if apart else state

    # ---------------------------------------------------------------- before their checkpoint

    def keep_early(self, namespace: str, checkpoint_id: str, writes: Sequence[Write]) -> None:
        """Keep what was written on top of a checkpoint that is not there yet, with the first run."""
        self._thread.runs.ensure()
        self._thread.early += [[namespace, checkpoint_id, of_task] for of_task in kept_writes(writes)]
        self._store.set_thread_facts(self._thread.run_id, EARLY.entry(self._thread.early))

    def take_early(self, namespace: str, checkpoint_id: str) -> list[Write]:
        """Give what was written on top of a checkpoint before that was here, and keep it so no longer."""
        early = self._thread.early
        key = [namespace, checkpoint_id]
        mine = [part for row in early if isinstance(row, list) and row[:2] == key for part in row[2:3]]
        if mine:
            left = self._thread.early = [row for row in early if not (isinstance(row, list) and row[:2] == key)]
            gone = () if left else (EARLY.key,)
            self._store.set_thread_facts(self._thread.run_id, EARLY.entry(left) if left else {}, gone)
        return read_writes(mine)
