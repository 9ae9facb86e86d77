"""A thread that a fork goes on with: read from the run that is forked, and kept in memory from there on.

It stands where a `Checkpointer` has the threads of a store. The checkpoints that the graph makes are told to who
records the fork: they become the steps of its run, so the thread that was forked is not touched, and a fork can be
forked again.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from langgraph.checkpoint.base import BaseCheckpointSaver

from agent_tt.errors import Damaged
from agent_tt.interop.threads import shown
from agent_tt.interop.threads.entries import Chain, Entry, Saved, facts_of
from agent_tt.interop.threads.writes import kept_writes, merged, read_writes
from agent_tt.langgraph.saver import Checkpointer
from agent_tt.langgraph.values import Values
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.threads.writes import Write
    from agent_tt.model import Step
    from agent_tt.protocols import RunSource

__all__ = ["ForkSaver", "ForkedThread"]

_ANSWERS = "__resume__"
_QUESTIONS = ("__interrupt__", "__resume__", "__error__")


class ForkedThread:
    """One thread: what a run of a store says of it up to a step, and what is added.

    Args:
        store: the store.
        run: the id of the run that is forked.
        last: the number of the step with the checkpoint that is gone on from.
        answers: whether the questions at that checkpoint are answered as they were when the run went on from it.

    Raises:
        Damaged: a step up to there cannot be read.
    """

    id = "forked"

    def __init__(self, store: RunSource, run: str, last: int, *, answers: bool = False) -> None:
        self._store, self._run = store, run
        self._own: dict[tuple[str, str], Saved] = {}
        self.entries: dict[str, dict[str, Entry]] = {}
        self._steps: dict[int, Step] = {}
        self.latest = ""
        steps = store.steps(run)
        damaged = next((step for step in steps[:last] if step.damaged is not None), None)
        if damaged is not None:
            raise Damaged(f"step {damaged.number} of the thread is damaged", hint="`agent-tt verify` says what")
        here = steps[last - 1].facts.checkpoint_id or ""
        chain = Chain()
        found = [(step, entry) for step in steps if (entry := chain.follow(step, 0)) is not None]
        self.was_gone_on_from = any(
            entry.parent == here and not entry.namespace for step, entry in found if step.number > last
        )
        for step, entry in found:
            if step.number > last and (self.was_gone_on_from or not entry.namespace):
                continue
            if entry.namespace and StepFacts(step.extra).graph_checkpoint_id == here and self.was_gone_on_from:
                continue  # a subgraph that ran from there begins anew
            self._add(entry)
            self._steps[step.number] = step
        self.latest = here
        if self.was_gone_on_from:  # what ran from there runs again
            read = self.reader()(self.entries[""][here])
            kept = [write for write in read.writes if answers and write.channel == _ANSWERS]
            self._own["", here] = replace(read, writes=kept)

    @property
    def has_answers(self) -> bool:
        """Whether an answer to a question is there."""
        return any(write.channel == _ANSWERS for write in self.pending)

    @property
    def pending(self) -> list[Write]:
        """What tasks wrote after the latest checkpoint; no checkpoint includes it yet."""
        return self.reader()(self.entries[""][self.latest]).writes

    @property
    def saved(self) -> Saved:
        """The latest checkpoint of the graph itself."""
        return self.reader()(self.entries[""][self.latest])

    def without_questions(self) -> None:
        """Let the questions of the latest checkpoint be asked again."""
        saved = self.saved
        writes = [write for write in saved.writes if write.channel not in _QUESTIONS]
        self._own["", self.latest] = replace(saved, writes=writes)

    # ---------------------------------------------------------------- what a Checkpointer asks of a thread

    def find(self, namespace: str, checkpoint_id: str | None) -> Entry | None:
        """The checkpoint of that id; without one the latest of the namespace; None where there is none."""
        entries = self.entries.get(namespace, {})
        if checkpoint_id:
            return entries.get(checkpoint_id)
        return entries[max(entries)] if entries else None

    def facts_of(self, entry: Entry) -> dict[str, Wire]:
        """The facts of a checkpoint's step."""
        own = self._own.get((entry.namespace, entry.id))
        return own.extra if own is not None else facts_of(self._steps[entry.step], entry)

    asked = find
    """As `find`, for whoever goes on from there: steps that cannot be read were refused before."""

    def reader(self) -> Callable[[Entry], Saved]:
        """Give one checkpoint after another."""
        return self._read

    def put(self, saved: Saved) -> None:
        """Add a checkpoint."""
        key = saved.namespace, saved.id
        known = self._own.get(key)
        self._own[key] = replace(saved, writes=merged(known.writes if known else [], saved.writes))
        self._add(Entry(saved.namespace, saved.id, saved.parent, 0, 0))
        if not saved.namespace:
            self.latest = saved.id

    def put_writes(self, namespace: str, checkpoint_id: str, writes: Sequence[Write]) -> None:
        """Add what a task wrote on top of a checkpoint."""
        entry = self.entries.get(namespace, {}).get(checkpoint_id)
        known = self._read(entry) if entry is not None else Saved(namespace, checkpoint_id, None, {}, {})
        writes = sorted(merged(known.writes, writes), key=lambda write: (write.path, write.task, write.number))
        self._own[namespace, checkpoint_id] = replace(known, writes=writes)

    def _add(self, entry: Entry) -> None:
        self.entries.setdefault(entry.namespace, {})[entry.id] = entry

    def _read(self, entry: Entry) -> Saved:
        own = self._own.get((entry.namespace, entry.id))
        if own is not None:
            return own
        extra = self.facts_of(entry)
        writes = read_writes(StepFacts(extra).writes)
        if any(write.found is not None for write in writes):
            after = shown.where_writes_lie(self._state(self._after(entry)))
            writes = [replace(write, value=write.given(after), found=None) for write in writes]
        state = self._state(entry.step)
        host = StepFacts(extra).graph_checkpoint_id
        return Saved(entry.namespace, entry.id, entry.parent, state, extra, writes, host)

    def _after(self, entry: Entry) -> int:
        """The step of the checkpoint that came of what was written on top of one, in the run that is forked."""
        return next(
            step.number
            for step in self._store.steps(self._run)[entry.step :]
            if (step.facts.checkpoint_ns or "") == entry.namespace and step.facts.checkpoint_id is not None
        )

    def _state(self, step: int) -> dict[str, Wire]:
        """The state after a step as it was recorded: where a fork begins it may have been edited since."""
        run = self._store.run(self._run)
        while run.parent is not None and (run.fork_step or 0) >= step:
            run = self._store.run(run.parent)
        state = self._store.state(run.id, step)
        return state if isinstance(state, dict) else {}


class _OneThread:
    """The threads of a `Checkpointer` that has only one, whatever it is called."""

    def __init__(self, thread: ForkedThread) -> None:
        self._thread = thread
        self.lock = threading.RLock()

    @contextmanager
    def use(self, _thread_id: str) -> Iterator[ForkedThread]:
        """The thread."""
        with self.lock:
            yield self._thread

    def write(self, _thread_id: str, write: Callable[[ForkedThread], None], **_how: object) -> None:
        """Write to the thread."""
        with self.lock:
            write(self._thread)

    def newest_first(self, _thread_id: str | None, before: str | None) -> Iterator[tuple[str, Entry]]:
        """Its checkpoints, those with the greatest ids first."""
        entries = [entry for of_namespace in self._thread.entries.values() for entry in of_namespace.values()]
        for entry in sorted(entries, key=lambda entry: entry.id, reverse=True):
            if before is None or entry.id < before:
                yield self._thread.id, entry

    def ids(self) -> list[str]:
        """Its id."""
        return [self._thread.id]


class ForkSaver(Checkpointer):
    """LangGraph's interface to the thread of a fork."""

    def __init__(self, thread: ForkedThread) -> None:
        BaseCheckpointSaver.__init__(self)
        self._threads = _OneThread(thread)  # type: ignore[assignment]  # it has what is asked of it
        self._values = Values()
        self.thread = thread

    def close(self) -> None:
        """Nothing is open."""

    def _recorded_in(self) -> None:
        """Its checkpoints are in the run that is recorded."""

    def value_of(self, wire: Wire) -> object:
        """The value that is stored as `wire`."""
        return self._given(wire)

    @property
    def next_nodes(self) -> list[str]:
        """The nodes that run next."""
        return [str(node) for node in StepFacts(self.thread.saved.extra).next]

    @property
    def next_step(self) -> str:
        """What the step is called in which they run."""
        return shown.step_name("loop", self.next_nodes)

    def facts(self) -> dict[str, Wire]:
        """Give the facts of the step that ends now: those of the latest checkpoint, and what tasks wrote after it."""
        saved = self.thread.saved
        extra = dict(saved.extra)
        extra.pop(StepFacts.writes.key, None)
        if saved.writes:
            StepFacts.writes.put(extra, kept_writes(saved.writes))
        return extra
