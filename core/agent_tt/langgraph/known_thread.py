"""What this process knows of a thread: where its checkpoints lie, and what is kept with each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged
from agent_tt.interop.threads.entries import Entry, facts_of
from agent_tt.interop.threads.thread_steps import is_inside
from agent_tt.interop.threads.writes import Write, read_writes
from agent_tt.langgraph.reading import Reader, Remembered
from agent_tt.langgraph.stops import Stops
from agent_tt.langgraph.thread_runs import ThreadRuns
from agent_tt.model.facts import RunFacts, StepFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.tasks import Task
    from agent_tt.store.threads import ThreadStore

__all__ = ["EARLY", "KnownThread"]

EARLY: Final = RunFacts.langgraph_early_writes


class KnownThread:
    """One thread, as it is read. Whoever uses it holds the lock of its `Threads`.

    Attributes:
        id: LangGraph's id of it.
        runs: its runs.
        entries: where its checkpoints lie, by namespace and id.
        stops: its tasks that stopped.
        read: what is remembered of checkpoints that were read.
        early: what was written on top of checkpoints that are not there yet.
    """

    def __init__(self, store: ThreadStore, thread_id: str) -> None:
        self.id = thread_id
        self._store = store
        self._forget()

    def _forget(self) -> None:
        self._version: int | None = None
        self._rows: dict[tuple[int, str], list[Entry]] = {}
        self._facts: dict[tuple[int, int], dict[str, Wire]] = {}
        self._stored: dict[tuple[int, int], Mapping[str, Wire]] = {}
        self._written: dict[tuple[int, int], list[Write]] = {}
        self._unreadable: list[tuple[int, int]] = []
        self.runs = ThreadRuns(self._store, self.id)
        self.entries: dict[str, dict[str, Entry]] = {}
        self.stops = Stops()
        self.read = Remembered()
        self.early: list[Wire] = []

    @property
    def run_id(self) -> str:
        """The id of its first run, which may not be there yet."""
        return self.runs.first_id

    def refresh(self) -> None:
        """Read the steps that other processes have written to the thread since the last time."""
        version = self._store.version()
        if version == self._version:
            return
        numbers = self.runs.stored()
        if not set(self.runs) <= set(numbers):  # somebody deleted or pruned the thread, which may begin anew
            self._store.forget_runs((run.id for run in self.runs.values()), self.runs)
            self._forget()
        self._facts.clear()
        self._stored.clear()
        self._written.clear()
        self.read.writes.clear()
        self.early = list(EARLY.of(self._store.thread_facts(self.run_id))) if numbers else []
        self.runs.learn(numbers)
        for number in numbers:
            self._follow(number)
        self._version = version

    def _follow(self, number: int) -> None:
        """Learn of the steps of a run that are new."""
        run = self.runs[number]
        for step in self._store.steps(run.id, run.seen + 1):
            run.seen = step.number
            if step.damaged is not None:
                self._unreadable.append((number, step.number))
            entry = run.chain.follow(step, number)
            self.stops.follow(step, number)
            if entry is not None:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        self.entries.setdefault(entry.namespace, {})[entry.id] = entry
        self._rows.setdefault((entry.run, entry.namespace), []).append(entry)

    def learn(self, entry: Entry, facts: dict[str, Wire], stored: Mapping[str, Wire], writes: list[Write]) -> None:
        """Learn of a checkpoint that was stored just now.

        Args:
            entry: where it lies.
            facts: the facts of its step.
            stored: these as they are stored.
            writes: what tasks wrote on top of it.
        """
        key = entry.run, entry.step
        run = self.runs[entry.run]
        run.chain.add(entry)
        run.seen = entry.step
        self._add(entry)
        self._facts[key], self._stored[key], self._written[key] = facts, stored, writes

    # ---------------------------------------------------------------- finding

    def find(self, namespace: str, checkpoint_id: str | None) -> Entry | None:
        """The checkpoint of that id; without one the latest of the namespace; None where there is none."""
        entries = self.entries.get(namespace, {})
        if checkpoint_id:
            return entries.get(checkpoint_id)
        return entries[max(entries)] if entries else None

    def asked(self, namespace: str, checkpoint_id: str | None) -> Entry | None:
        """As `find`, for whoever goes on from there.

        Raises:
            Damaged: it is not found, or is not the latest for sure, because a step of the thread cannot be read.
        """
        entry = self.find(namespace, checkpoint_id)
        for run, step in self._unreadable:
            if entry is None or (not checkpoint_id and (run, step) > (entry.run, entry.step)):
                what = checkpoint_id or "the latest checkpoint"
                raise Damaged(
                    f"thread {self.id!r}: {what} may be in step {step} of run {self.runs[run].id}, which is damaged",
                    hint="Go on from an earlier checkpoint by its id. `agent-tt verify` says what else is damaged.",
                )
        return entry

    def at(self, checkpoint_id: str, run: int, step: int) -> Entry | None:
        """The checkpoint of that id which lies in that step of that run; None where another one took its place."""
        found = (of_namespace.get(checkpoint_id) for of_namespace in self.entries.values())
        return next((entry for entry in found if entry is not None and (entry.run, entry.step) == (run, step)), None)

    def place_of(self, checkpoint_id: str) -> tuple[str, int]:
        """The id of the run that has a checkpoint of the graph itself, and the number of its step.

        Raises:
            KeyError: the thread has no such checkpoint.
        """
        entry = self.entries[""][checkpoint_id]
        return self.runs[entry.run].id, entry.step

    def last(self, run: int, namespace: str) -> Entry | None:
        """The last checkpoint of a namespace in a run; None where it has none."""
        rows = self._rows.get((run, namespace))
        return rows[-1] if rows else None

    def is_last(self, entry: Entry) -> bool:
        """Whether no later checkpoint of its namespace is in its run."""
        return self.last(entry.run, entry.namespace) is entry

    def inside(self, entry: Entry, task: Task, node: str) -> Iterator[Entry]:
        """The checkpoints of the subgraphs that a task ran from a checkpoint."""
        for namespace, entries in self.entries.items():
            for inner in entries.values() if is_inside(namespace, entry.namespace, task.id, node) else ():
                if StepFacts(self.facts_of(inner)).host_checkpoint_ids.get(entry.namespace) == entry.id:
                    yield inner

    # ---------------------------------------------------------------- reading

    def rows(self, entry: Entry) -> tuple[str, list[Entry]]:
        """The id of the run that a checkpoint is in, and the checkpoints of its namespace there, in order."""
        return self.runs[entry.run].id, self._rows[entry.run, entry.namespace]

    def reader(self) -> Reader:
        """Give one checkpoint after another."""
        return Reader(self, self._store)

    def facts_of(self, entry: Entry) -> dict[str, Wire]:
        """Give the facts of the step in which a checkpoint is stored. The caller must not change them."""
        key = entry.run, entry.step
        known = self._facts.get(key)
        if known is None:
            (step,) = self._store.steps(self.runs[entry.run].id, entry.step, entry.step + 1)
            self._stored[key] = dict(step.extra)
            known = self._facts[key] = facts_of(step, entry)
        return known

    def with_fact(self, entry: Entry, fact: dict[str, Wire]) -> dict[str, Wire]:
        """Change a fact of a checkpoint's step; give all of them as they are to be stored."""
        key = entry.run, entry.step
        self._facts[key] = {**self.facts_of(entry), **fact}
        stored = self._stored[key] = {**self._stored[key], **fact}
        return stored

    def writes(self, entry: Entry) -> list[Write]:
        """What tasks wrote on top of a checkpoint, as it is kept. The caller must not change it.

        Raises:
            Damaged: it is nothing that `TaskWrites` keeps.
        """
        key = entry.run, entry.step
        known = self._written.get(key)
        if known is None:
            try:
                known = self._written[key] = read_writes(StepFacts(self.facts_of(entry)).writes)
            except Damaged as error:
                raise self.damaged(entry, error) from error
        return known

    def change_writes(self, entry: Entry, writes: list[Write]) -> None:
        """Put other writes in the place of those of a checkpoint."""
        key = entry.run, entry.step
        self._written[key] = writes
        self.read.writes.forget(key)

    def damaged(self, entry: Entry, error: Damaged) -> Damaged:
        """The error that names a checkpoint whose facts are nothing that `TaskWrites` keeps."""
        where = f"step {entry.step} of run {self.runs[entry.run].id}"
        return Damaged(f"thread {self.id!r}, checkpoint {entry.id} ({where}): {error.message}", hint=error.hint)
