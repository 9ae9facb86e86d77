"""Writing to a thread in a store: adding a checkpoint and what tasks wrote on top of it, and taking them away."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from agent_tt.errors import Damaged
from agent_tt.interop.langgraph.checkpoint import INPUT_CHANNEL
from agent_tt.interop.langgraph.tasks import Nodes, tasks_of
from agent_tt.interop.threads import shown
from agent_tt.interop.threads.entries import Entry, Saved, track_of
from agent_tt.interop.threads.writes import Write, in_order, kept_writes, merged, rows_of
from agent_tt.langgraph.known_thread import KnownThread
from agent_tt.langgraph.outcomes import Outcomes
from agent_tt.langgraph.task_writes import TaskWrites
from agent_tt.langgraph.values import compared
from agent_tt.model.facts import StepFacts
from agent_tt.store.liveness import as_if, now_us
from agent_tt.store.threads import ThreadStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.tasks import Task
    from agent_tt.store.threads import ThreadStore

__all__ = ["Thread"]


class Thread(KnownThread):
    """One thread, as it is written. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, store: ThreadStore, thread_id: str) -> None:
        self._is_open = False
        self._left_at: int | None = None  # the version of the file that its next transaction finds if nobody else wrote
        super().__init__(store, thread_id)

    def _forget(self) -> None:
        super()._forget()
        self._left_at = None
        self._task_writes = TaskWrites(self._store, self)
        self._outcomes = Outcomes(self._store, self, self._task_writes)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """One transaction that begins with what others have written; within another one, a part of it."""
        if self._is_open:
            yield
            return
        self._is_open = True
        try:
            with self._store.database.as_one() as tx:
                version, self.runs.has_written = tx.version(), False
                if version is None or version != self._left_at:
                    self.refresh()
                    self.runs.ask_again()
                yield
                self._task_writes.store_changed()
        except BaseException:
            self._forget()  # it may be ahead of the file
            raise
        finally:
            self._is_open = self._outcomes.are_over = False
        # A transaction without a change is no commit: the next number may then be somebody else's.
        self._left_at = version + 1 if version is not None and self.runs.has_written else None
        self._version = None

    def put(self, saved: Saved) -> None:
        """Add a checkpoint, or put it in the place of the one of its id; one transaction."""
        with self.whole():
            self._put(saved)
            self._outcomes.note_stops()

    def _put(self, saved: Saved) -> None:
        replaced = self.find(saved.namespace, saved.id)
        writes = self.reader()(replaced).writes if replaced is not None else []
        early = self._task_writes.take_early(saved.namespace, saved.id)
        writes = in_order(merged(merged(writes, saved.writes), early))
        run, parent = self._place(saved)
        facts = dict(saved.extra)
        StepFacts.writes.put(facts, kept_writes(writes))
        if parent is not None:
            self._outcomes.goes_on_from(parent)
        step = self._step(saved, facts, run, parent)
        state = saved.state
        if parent is not None and parent.run == run and self.is_last(parent):
            state = self._task_writes.shorten(parent, state)
        self._task_writes.store_changed()
        number = self.runs.writer(run).add(step, compared(state))
        self.runs.has_written = True
        entry = Entry(saved.namespace, saved.id, saved.parent, run, number)
        self.learn(entry, facts, step.extra, writes)
        self._outcomes.stored_with(entry, writes)
        if not saved.namespace:
            self._outcomes.stand(entry, is_known=shown.tells_next(saved.state))

    def _step(self, saved: Saved, facts: dict[str, Wire], run: int, parent: Entry | None) -> ThreadStep:
        """The step that a checkpoint is stored as.

        Args:
            saved: the checkpoint.
            facts: the facts of its step.
            run: the run that it goes into.
            parent: the checkpoint before it.
        """
        before = StepFacts(self.facts_of(parent) if parent is not None else {})
        written = self.writes(parent) if parent is not None else []
        is_made = facts.get(StepFacts.source.key) == "loop"
        ended_us = max(shown.time_us(StepFacts(facts).checkpoint_ts) or 0, 0) or now_us()
        since_us = shown.time_us(before.checkpoint_ts)
        read, wrote = self._used(parent, written) if parent is not None and is_made else (None, None)
        recorded_in = StepFacts(facts).recorded_in
        if read is not None and recorded_in and self._store.asked_models(recorded_in, since_us or 0, ended_us):
            read = wrote = None  # they are counted there
        at = self.runs[run]
        return ThreadStep(
            name=shown.step_name(facts.get(StepFacts.source.key), _ran(before.next, written)),
            track=track_of(saved.namespace),
            extra=at.chain.stored(facts, saved.namespace, at.seen + 1, ended_us),
            agent=shown.agent_of(saved.namespace),
            started_us=(since_us if is_made else None) or ended_us,
            ended_us=ended_us,
            tokens_in=read,
            tokens_out=wrote,
        )

    def put_writes(self, namespace: str, checkpoint_id: str, writes: Sequence[Write]) -> None:
        """Add what a task wrote on top of a checkpoint, which may not be there yet; one transaction."""
        with self.whole():
            entry = self.entries.get(namespace, {}).get(checkpoint_id)
            if entry is None:
                self._task_writes.keep_early(namespace, checkpoint_id, writes)
                return
            before = self.writes(entry)
            after = in_order(merged(before, writes))
            if after != before:
                self._task_writes.change(entry, after)
                self._count_again(entry)
            if any(write.number < 0 for write in writes):
                self._outcomes.note_stopped(entry, after, {write.channel for write in writes})
            if not namespace and self.is_last(entry):
                self._outcomes.stand(entry, brought={write.channel for write in writes})

    def _count_again(self, entry: Entry) -> None:
        """Count tokens of writes that came after the checkpoint that they led to, as LangGraph's threads may do."""
        try:
            given = [] if self.is_last(entry) else self.reader().writes(entry)
        except Damaged:  # what cannot be read is not counted; the writes themselves are kept all the same
            return
        for after in self.entries[entry.namespace].values() if not self.is_last(entry) else ():
            if after.parent == entry.id and after.run == entry.run and self._is_made(after):
                self.runs.writer(after.run).change_tokens(after.step, *self._used(entry, given))

    def _used(self, entry: Entry, writes: Sequence[Write]) -> tuple[int | None, int | None]:
        """The tokens that the models used which ran from a checkpoint, by what tasks wrote, every value given."""

        def inside(task: Task, node: str) -> Iterator[Wire]:
            for inner in self.inside(entry, task, node):
                yield from (write.value for write in self.reader()(inner).writes if write.number >= 0)

        nodes = Nodes(tuple(map(str, StepFacts(self.facts_of(entry)).next)))
        rows = rows_of(writes, entry.namespace, entry.id)
        return shown.tokens(rows, nodes, lambda: shown.joined(self.reader()(entry).state)[0], inside)

    def _is_made(self, entry: Entry) -> bool:
        """Whether tasks of the graph made a checkpoint."""
        return StepFacts(self.facts_of(entry)).source == "loop"

    def rewrite(self, kept: Callable[[Entry], bool]) -> None:
        """Keep some of the checkpoints, and take the others away; one transaction."""
        with self.whole():
            left = [saved for entry, saved in self.everything() if kept(entry)]
            if len(left) < sum(map(len, self.entries.values())):
                self._remove()
                for saved in left:
                    self._put(saved)
                self._outcomes.note_stops()

    def everything(self) -> Iterator[tuple[Entry, Saved]]:
        """All checkpoints, in the order in which they were stored, each its own."""
        read = self.reader()
        entries = [entry for of_namespace in self.entries.values() for entry in of_namespace.values()]
        for entry in sorted(entries, key=lambda entry: (entry.run, entry.step)):
            saved = read(entry)
            state = orjson.loads(orjson.dumps(saved.state))
            yield entry, replace(saved, state=shown.with_written(state, []))

    def take_in(self, others: Iterable[Saved], *, are_over: bool = False) -> None:
        """Add checkpoints of another thread, at the times that they name; one transaction.

        Args:
            others: the checkpoints, each after the one that it went on from.
            are_over: whoever made them is gone: none of them runs.
        """
        with self.whole():
            self._outcomes.are_over = are_over
            at_us: int | None = None
            for saved in others:
                at_us = shown.time_us(StepFacts(saved.extra).checkpoint_ts) or at_us
                with as_if(at_us, None) if at_us is not None else nullcontext():
                    self._put(saved)
            with as_if(at_us, None) if at_us is not None else nullcontext():
                self._outcomes.note_stops()
                if are_over:
                    self.interrupt()
            self._outcomes.are_over = False

    def remove(self) -> None:
        """Take the thread away."""
        with self.whole():
            self._remove()

    def _remove(self) -> None:
        self._store.remove_runs([self.run_id])
        self._forget()

    def interrupt(self) -> None:
        """Say that no node runs any more in this process."""
        self._outcomes.interrupt()

    def _place(self, saved: Saved) -> tuple[int, Entry | None]:
        """The run that a checkpoint goes into, and the checkpoint before it, where that is known."""
        parent = self.entries.get(saved.namespace, {}).get(saved.parent or "")
        graph = self.entries.get("", {})
        if saved.namespace:
            host = graph.get(saved.host or "")
            return (host.run if host is not None else self.runs.latest()), parent
        if parent is not None:
            return (parent.run if self.is_last(parent) else self.runs.branch(parent.run, parent.step)), parent
        root = self.runs.ensure()
        return (self.runs.branch(root, 0) if self.last(root, "") is not None else root), None


def _ran(following: Sequence[Wire], writes: Sequence[Write]) -> Sequence[Wire]:
    """The nodes that ran: those that were to; a functional workflow's name only what it wrote tells."""
    if list(following) == [INPUT_CHANNEL]:
        return [task.node for task in tasks_of(rows_of(writes, "", "")) if task.node] or following
    return following
