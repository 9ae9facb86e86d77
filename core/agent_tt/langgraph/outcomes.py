"""How a thread stands: the status of its runs, and a step for each task that a question or an error ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.interop.langgraph.runs import standing
from agent_tt.langgraph.stops import outcome_of
from agent_tt.model.facts import RunFacts, StepFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.threads.entries import Entry
    from agent_tt.interop.threads.writes import Write
    from agent_tt.langgraph.known_thread import KnownThread
    from agent_tt.langgraph.task_writes import TaskWrites
    from agent_tt.langgraph.thread_runs import KnownRun
    from agent_tt.store.threads import ThreadStore

__all__ = ["Outcomes"]

_STANDING: Final = (RunFacts.asks_in.key, RunFacts.stopped_before.key)


class Outcomes:
    """Writes down how a thread stands, in the transaction of its `Thread`.

    Attributes:
        are_over: whether whoever makes the checkpoints is gone: no run is said to run.
    """

    def __init__(self, store: ThreadStore, thread: KnownThread, writes: TaskWrites) -> None:
        self._store = store
        self._thread = thread
        self._writes = writes
        self._stopping: list[Entry] = []
        self.are_over = False

    def interrupt(self) -> None:
        """Say that no node runs any more in this process."""
        for number in self._thread.runs:
            run = self._thread.runs[number]
            if run.status == "running" and run.writer is not None:
                last = self._thread.last(number, "")
                following = () if last is None else StepFacts(self._thread.facts_of(last)).next
                with self._store.database.as_one():
                    run.writer.set_status("interrupted")
                    self._say_standing(run, standing((), tuple(map(str, following))))
                run.status = "interrupted"

    def stand(self, entry: Entry, *, is_known: bool = True, brought: Collection[str] = ()) -> None:
        """Write down how the thread stands after a checkpoint, what was written on top of it, and what comes next.

        Args:
            entry: the checkpoint.
            is_known: whether what comes next is.
            brought: the channels of what was written just now.
        """
        facts, run = StepFacts(self._thread.facts_of(entry)), self._thread.runs[entry.run]
        status, error, stands = outcome_of(
            entry, facts, self._thread.writes(entry), brought, was_running=run.status == "running"
        )
        if status == "succeeded" and not is_known:
            status = "unknown"
        if run.status != status or run.error != error:
            if not (status == "running" and self.are_over):  # a later one changes that, or `take_in`
                self._thread.runs.writer(entry.run).set_status(status, error)
                self._say_standing(run, stands if status == "interrupted" else {})
            run.status, run.error = status, error

    def _say_standing(self, run: KnownRun, facts: dict[str, Wire]) -> None:
        """Write down where a thread stands that is interrupted; nothing of another one."""
        known = {key: value for key, value in self._store.thread_facts(run.id).items() if key in _STANDING}
        if known != facts:
            self._store.set_thread_facts(run.id, facts, [key for key in _STANDING if key not in facts])

    # ---------------------------------------------------------------- tasks that stopped

    def stored_with(self, entry: Entry, writes: Sequence[Write]) -> None:
        """Hear of a checkpoint that was stored with what tasks wrote: some may have stopped on the way from it."""
        if any(write.number < 0 for write in writes):
            self._stopping.append(entry)

    def goes_on_from(self, entry: Entry) -> None:
        """Hear that another checkpoint is about to be stored which goes on from this one."""
        if entry in self._stopping:
            self.note_stopped(entry, self._thread.writes(entry))

    def note_stops(self) -> None:
        """Give a step to each task that stopped on the way from a checkpoint that was stored with what tasks wrote."""
        for entry in self._stopping:
            self.note_stopped(entry, self._thread.writes(entry))
        self._stopping.clear()

    def note_stopped(self, entry: Entry, writes: Sequence[Write], brought: Collection[str] = ()) -> None:
        """Write down which tasks stopped that ran from the last checkpoint of its namespace; see `Stops.new`."""
        if not self._thread.is_last(entry):
            return
        stops, runs = self._thread.stops, self._thread.runs
        facts = StepFacts(self._thread.facts_of(entry))
        for stop, step in stops.new(entry, facts, writes, brought, self._thread.inside):
            known = stops.known(entry, stop.task)
            run, number = (entry.run, None) if known is None or known.run is None else (known.run, known.step)
            if number is None:
                self._writes.store_changed()
                runs[run].seen = number = runs.writer(run).add_stopped(step)
            else:
                runs.writer(run).change_end(number, stop.status, stop.error)
            runs.has_written = True
            stops.note(entry, replace(stop, run=run, step=number))
