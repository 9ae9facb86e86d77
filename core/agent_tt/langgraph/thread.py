"""One thread in a store: where its checkpoints lie, and how one is added, read, or taken away."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

import orjson

from agent_tt.errors import Damaged
from agent_tt.interop.langgraph.checkpoint import INPUT_CHANNEL
from agent_tt.interop.langgraph.runs import standing
from agent_tt.interop.langgraph.tasks import Nodes, tasks_of
from agent_tt.interop.threads import shown
from agent_tt.interop.threads.entries import Chain, Entry, Saved, facts_of, track_of
from agent_tt.interop.threads.thread_steps import is_inside
from agent_tt.interop.threads.writes import Write, grown, in_order, kept_writes, merged, read_writes, rows_of, shortened
from agent_tt.langgraph.reading import Reader, Remembered
from agent_tt.langgraph.stops import Stops, outcome_of
from agent_tt.langgraph.values import compared
from agent_tt.model import NewRun
from agent_tt.model.facts import RunFacts, StepFacts
from agent_tt.protocols.references import id_of
from agent_tt.store.liveness import as_if, now_us
from agent_tt.store.threads import ThreadStep

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.tasks import Task
    from agent_tt.model import ErrorInfo, RunStatus
    from agent_tt.store.threads import ThreadStore, ThreadWriter

__all__ = ["Thread"]

_EARLY: Final = RunFacts.langgraph_early_writes
_STANDING: Final = (RunFacts.asks_in.key, RunFacts.stopped_before.key)


@dataclass(slots=True)
class _Run:
    """A run of a thread as this process knows it: its steps up to one, and its open end."""

    id: str
    seen: int
    chain: Chain = field(default_factory=Chain)
    writer: ThreadWriter | None = None
    status: RunStatus | None = None
    error: ErrorInfo | None = None


class Thread:
    """One thread. Whoever uses it holds the lock of its `Threads`.

    Attributes:
        id: LangGraph's id of it.
        run_id: the id of its first run, which may not be there yet.
        entries: where its checkpoints lie, by namespace and id.
    """

    def __init__(self, store: ThreadStore, thread_id: str) -> None:
        self.id = thread_id
        self._store = store
        self.run_id = id_of("langgraph thread", thread_id)
        self._is_open = self._are_over = False
        self._forget()

    def _forget(self) -> None:
        self._version: int | None = None
        self._left_at: int | None = None  # the version of the file that its next transaction finds if nobody else wrote
        self._has_written = False
        self._runs: dict[int, _Run] = {}
        self._rows: dict[tuple[int, str], list[Entry]] = {}
        self._facts: dict[tuple[int, int], dict[str, Wire]] = {}
        self._stored: dict[tuple[int, int], dict[str, Wire]] = {}
        self._written: dict[tuple[int, int], list[Write]] = {}
        self._changed: dict[tuple[int, int], Entry] = {}
        self.read = Remembered()
        self._early: list[Wire] = []
        self._unreadable: list[tuple[int, int]] = []
        self._stops = Stops()
        self._stopping: list[Entry] = []
        self.entries: dict[str, dict[str, Entry]] = {}

    # ---------------------------------------------------------------- knowing

    def refresh(self) -> None:
        """Learn what others have written."""
        version = self._store.version()
        if version == self._version:
            return
        numbers = self._store.thread_runs(self.run_id, self.id)
        if not self._runs.keys() <= set(numbers):  # somebody deleted or pruned the thread, which may begin anew
            self._store.forget_runs((run.id for run in self._runs.values()), self._runs)
            self._forget()
        self._facts.clear()
        self._stored.clear()
        self._written.clear()
        self.read.writes.clear()
        self._early = list(_EARLY.of(self._store.thread_facts(self.run_id))) if numbers else []
        names = self._store.run_ids(number for number in numbers if number not in self._runs)
        for number in numbers:
            if number not in self._runs:
                self._add_run(number, names[number])
            run = self._runs[number]
            for step in self._store.steps(run.id, run.seen + 1):
                run.seen = step.number
                if step.damaged is not None:
                    self._unreadable.append((number, step.number))
                entry = run.chain.follow(step, number)
                self._stops.follow(step, number)
                if entry is not None:
                    self._add(entry)
        self._version = version

    def _add_run(self, number: int, run_id: str) -> None:
        _, fork_step = self._store.lineage.origin(number)
        self._runs[number] = _Run(run_id, fork_step)

    def _add(self, entry: Entry) -> None:
        self.entries.setdefault(entry.namespace, {})[entry.id] = entry
        self._rows.setdefault((entry.run, entry.namespace), []).append(entry)

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
                    f"thread {self.id!r}: {what} may be in step {step} of run {self._runs[run].id}, which is damaged",
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
        return self._runs[entry.run].id, entry.step

    def _is_last(self, entry: Entry) -> bool:
        """Whether no later checkpoint of its namespace is in its run."""
        return self._rows[entry.run, entry.namespace][-1] is entry

    # ---------------------------------------------------------------- reading

    def facts_of(self, entry: Entry) -> dict[str, Wire]:
        """Give the facts of the step in which a checkpoint is stored. The caller must not change them."""
        key = entry.run, entry.step
        known = self._facts.get(key)
        if known is None:
            (step,) = self._store.steps(self._runs[entry.run].id, entry.step, entry.step + 1)
            self._stored[key] = dict(step.extra)
            known = self._facts[key] = facts_of(step, entry)
        return known

    def reader(self) -> Reader:
        """Give one checkpoint after another."""
        return Reader(self, self._store)

    def rows(self, entry: Entry) -> tuple[str, list[Entry]]:
        """The id of the run that a checkpoint is in, and the checkpoints of its namespace there, in order."""
        return self._runs[entry.run].id, self._rows[entry.run, entry.namespace]

    # ---------------------------------------------------------------- writing

    @contextmanager
    def whole(self) -> Iterator[None]:
        """One transaction that begins with what others have written; within another one, a part of it."""
        if self._is_open:
            yield
            return
        self._is_open = True
        try:
            with self._store.database.as_one() as tx:
                version, self._has_written = tx.version(), False
                if version is None or version != self._left_at:
                    self.refresh()
                    for run in self._runs.values():
                        if run.writer is not None:
                            run.writer.ask_again()
                yield
                self._write_changed()
        except BaseException:
            self._forget()  # it may be ahead of the file
            raise
        finally:
            self._is_open = self._are_over = False
        # A transaction without a change is no commit: the next number may then be somebody else's.
        self._left_at = version + 1 if version is not None and self._has_written else None
        self._version = None

    def put(self, saved: Saved) -> None:
        """Add a checkpoint, or put it in the place of the one of its id; one transaction."""
        with self.whole():
            self._put(saved)
            self._note_stops()

    def _put(self, saved: Saved) -> None:
        replaced = self.find(saved.namespace, saved.id)
        writes = self.reader()(replaced).writes if replaced is not None else []
        writes = in_order(merged(merged(writes, saved.writes), self._take_early(saved.namespace, saved.id)))
        run, parent = self._place(saved)
        facts = dict(saved.extra)
        StepFacts.writes.put(facts, kept_writes(writes))
        if parent is not None and parent in self._stopping:
            self._note_stopped(parent, self.writes(parent))
        before = self.facts_of(parent) if parent is not None else {}
        written = self.writes(parent) if parent is not None else []
        source = facts.get(StepFacts.source.key)
        chain, stamp = self._runs[run].chain, StepFacts(facts).checkpoint_ts
        ended_us = max(shown.time_us(stamp) or 0, 0) or now_us()
        stored = chain.stored(facts, saved.namespace, self._runs[run].seen + 1, ended_us)
        read, wrote = self._used(parent, written) if parent is not None and source == "loop" else (None, None)
        recorded_in = StepFacts(facts).recorded_in
        since_us = shown.time_us(StepFacts(before).checkpoint_ts)
        if read is not None and recorded_in and self._store.asked_models(recorded_in, since_us or 0, ended_us):
            read = wrote = None  # they are counted there
        step = ThreadStep(
            name=shown.step_name(source, _ran(StepFacts(before).next, written)),
            track=track_of(saved.namespace),
            extra=stored,
            agent=shown.agent_of(saved.namespace),
            started_us=(since_us if source == "loop" else None) or ended_us,
            ended_us=ended_us,
            tokens_in=read,
            tokens_out=wrote,
        )
        state = saved.state
        if parent is not None and parent.run == run and self._is_last(parent):
            state = self._shorten(parent, state)
        self._write_changed()
        number = self._writer(run).add(step, compared(state))
        self._has_written = True
        entry = Entry(saved.namespace, saved.id, saved.parent, run, number)
        chain.add(entry)
        self._add(entry)
        self._runs[run].seen = number
        self._facts[run, number], self._stored[run, number] = facts, stored
        self._written[run, number] = writes
        if any(write.number < 0 for write in writes):
            self._stopping.append(entry)
        if not saved.namespace:
            self._stand(entry, is_known=shown.tells_next(saved.state))

    def put_writes(self, namespace: str, checkpoint_id: str, writes: Sequence[Write]) -> None:
        """Add what a task wrote on top of a checkpoint, which may not be there yet; one transaction."""
        with self.whole():
            entry = self.entries.get(namespace, {}).get(checkpoint_id)
            if entry is None:
                self._ensure_run()
                self._early += [[namespace, checkpoint_id, of_task] for of_task in kept_writes(writes)]
                self._store.set_thread_facts(self.run_id, _EARLY.entry(self._early))
                return
            before = self.writes(entry)
            after = in_order(merged(before, writes))
            if after != before:
                self._change_writes(entry, after)
                self._count_again(entry)
            if any(write.number < 0 for write in writes):
                self._note_stopped(entry, after, {write.channel for write in writes})
            if not namespace and self._is_last(entry):
                self._stand(entry, brought={write.channel for write in writes})

    def _note_stops(self) -> None:
        """Give a step to each task that stopped on the way from a checkpoint that was stored with what tasks wrote."""
        for entry in self._stopping:
            self._note_stopped(entry, self.writes(entry))
        self._stopping.clear()

    def _note_stopped(self, entry: Entry, writes: Sequence[Write], brought: Collection[str] = ()) -> None:
        """Write down which tasks stopped that ran from the last checkpoint of its namespace; see `Stops.new`."""
        facts = StepFacts(self.facts_of(entry))
        for stop, step in self._stops.new(entry, facts, writes, brought, self._inside) if self._is_last(entry) else ():
            known = self._stops.known(entry, stop.task)
            run, number = (entry.run, None) if known is None or known.run is None else (known.run, known.step)
            if number is None:
                self._write_changed()
                self._runs[run].seen = number = self._writer(run).add_stopped(step)
            else:
                self._writer(run).change_end(number, stop.status, stop.error)
            self._has_written = True
            self._stops.note(entry, replace(stop, run=run, step=number))

    def _inside(self, entry: Entry, task: Task, node: str) -> Iterator[Entry]:
        """The checkpoints of the subgraphs that a task ran from a checkpoint."""
        for namespace, entries in self.entries.items():
            for inner in entries.values() if is_inside(namespace, entry.namespace, task.id, node) else ():
                if StepFacts(self.facts_of(inner)).host_checkpoint_ids.get(entry.namespace) == entry.id:
                    yield inner

    def _count_again(self, entry: Entry) -> None:
        """Count tokens of writes that came after the checkpoint that they led to, as LangGraph's threads may do."""
        try:
            given = [] if self._is_last(entry) else self.reader().writes(entry)
        except Damaged:  # what cannot be read is not counted; the writes themselves are kept all the same
            return
        for after in self.entries[entry.namespace].values() if not self._is_last(entry) else ():
            if after.parent == entry.id and after.run == entry.run and self._is_made(after):
                self._writer(after.run).change_tokens(after.step, *self._used(entry, given))

    def _used(self, entry: Entry, writes: Sequence[Write]) -> tuple[int | None, int | None]:
        """The tokens that the models used which ran from a checkpoint, by what tasks wrote, every value given."""

        def inside(task: Task, node: str) -> Iterator[Wire]:
            for inner in self._inside(entry, task, node):
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
                self._note_stops()

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
            self._are_over = are_over
            at_us: int | None = None
            for saved in others:
                at_us = shown.time_us(StepFacts(saved.extra).checkpoint_ts) or at_us
                with as_if(at_us, None) if at_us is not None else nullcontext():
                    self._put(saved)
            with as_if(at_us, None) if at_us is not None else nullcontext():
                self._note_stops()
                if are_over:
                    self.interrupt()
            self._are_over = False

    def remove(self) -> None:
        """Take the thread away."""
        with self.whole():
            self._remove()

    def _remove(self) -> None:
        self._store.remove_runs([self.run_id])
        self._forget()

    def interrupt(self) -> None:
        """Say that no node runs any more in this process."""
        for number, run in self._runs.items():
            if run.status == "running" and run.writer is not None:
                rows = self._rows.get((number, ""))
                following = StepFacts(self.facts_of(rows[-1])).next if rows else ()
                with self._store.database.as_one():
                    run.writer.set_status("interrupted")
                    self._say_standing(run, standing((), tuple(map(str, following))))
                run.status = "interrupted"

    # ---------------------------------------------------------------- parts of it

    def _place(self, saved: Saved) -> tuple[int, Entry | None]:
        """The run that a checkpoint goes into, and the checkpoint before it, where that is known."""
        parent = self.entries.get(saved.namespace, {}).get(saved.parent or "")
        graph = self.entries.get("", {})
        if saved.namespace:
            host = graph.get(saved.host or "")
            return (host.run if host is not None else max(self._runs, default=None) or self._ensure_run()), parent
        if parent is not None:
            return (parent.run if self._is_last(parent) else self._branch(parent.run, parent.step)), parent
        root = self._ensure_run()
        return (self._branch(root, 0) if (root, "") in self._rows else root), None

    def _branch(self, run: int, step: int) -> int:
        run_id = self._store.begin_branch(self._runs[run].id, step, self._new_run())
        return self._begun(run_id)

    def _ensure_run(self) -> int:
        """The first run of the thread, made where it is missing."""
        if self._runs:
            return min(self._runs)
        writer = self._store.begin_run(self._new_run(), {}, run_id=self.run_id, beats=False)
        number = self._begun(self.run_id)
        self._runs[number].writer = cast("ThreadWriter", writer)  # which knows its end: nothing has to be read again
        return number

    def _begun(self, run_id: str) -> int:
        number = self._store.lineage.number(run_id)
        self._add_run(number, run_id)
        return number

    def _new_run(self) -> NewRun:
        return NewRun(name=self.id or "(no name)", metadata=RunFacts.langgraph_thread.entry(self.id))

    def _writer(self, run: int) -> ThreadWriter:
        known = self._runs[run]
        if known.writer is None:
            known.writer = self._store.write_run(known.id)
        return known.writer

    def _change_writes(self, entry: Entry, writes: list[Write]) -> None:
        """Put other writes, in the order in which LangGraph applies them, in the place of those of a checkpoint."""
        key = entry.run, entry.step
        self._changed[key] = entry
        self._written[key] = writes
        self.read.writes.forget(key)

    def _write_changed(self) -> None:
        """Write what was written on top of checkpoints, each once, however often it has changed."""
        for key, entry in self._changed.items():
            fact = StepFacts.writes.entry(kept_writes(self._written[key]))
            self._facts[key] = {**self.facts_of(entry), **fact}
            self._stored[key] = {**self._stored[key], **fact}
            self._writer(entry.run).change_extra(entry.step, self._stored[key])
            self._has_written = True
        self._changed.clear()

    def _shorten(self, parent: Entry, state: dict[str, Wire]) -> dict[str, Wire]:
        """Leave of writes only where they lie in the state they led to; give that, with what is in no channel of it."""
        before = self.writes(parent)
        if all(write.found is not None for write in before):
            return state
        channels, _ = shown.joined(state)
        lengths = {name: len(value) - grown(name, before) for name, value in channels.items() if type(value) is list}
        after, apart = shortened(before, lengths, channels)
        if after != before:
            self._change_writes(parent, after)
        return shown.with_written(state, apart) if apart else state

    def _take_early(self, namespace: str, checkpoint_id: str) -> list[Write]:
        """What was written on top of a checkpoint before that was here."""
        if not self._early:
            return []
        key = [namespace, checkpoint_id]
        mine = [part for row in self._early if isinstance(row, list) and row[:2] == key for part in row[2:3]]
        if mine:
            self._early = [row for row in self._early if not (isinstance(row, list) and row[:2] == key)]
            gone = () if self._early else (_EARLY.key,)
            self._store.set_thread_facts(self.run_id, _EARLY.entry(self._early) if self._early else {}, gone)
        return read_writes(mine)

    def writes(self, entry: Entry) -> list[Write]:
        """What tasks wrote on top of a checkpoint, as it is kept. The caller must not change it.

        Raises:
            Damaged: it is nothing that this class writes.
        """
        key = entry.run, entry.step
        known = self._written.get(key)
        if known is None:
            try:
                known = self._written[key] = read_writes(StepFacts(self.facts_of(entry)).writes)
            except Damaged as error:
                raise self.damaged(entry, error) from error
        return known

    def damaged(self, entry: Entry, error: Damaged) -> Damaged:
        """The error that names a checkpoint whose facts are nothing that this class writes."""
        where = f"step {entry.step} of run {self._runs[entry.run].id}"
        return Damaged(f"thread {self.id!r}, checkpoint {entry.id} ({where}): {error.message}", hint=error.hint)

    def _stand(self, entry: Entry, *, is_known: bool = True, brought: Collection[str] = ()) -> None:
        """Write down how the thread stands after a checkpoint, what was written on top of it, and what comes next.

        Args:
            entry: the checkpoint.
            is_known: whether what comes next is.
            brought: the channels of what was written just now.
        """
        facts, run = StepFacts(self.facts_of(entry)), self._runs[entry.run]
        status, error, stands = outcome_of(
            entry, facts, self.writes(entry), brought, was_running=run.status == "running"
        )
        if status == "succeeded" and not is_known:
            status = "unknown"
        if run.status != status or run.error != error:
            if not (status == "running" and self._are_over):  # a later one changes that, or `take_in`
                self._writer(entry.run).set_status(status, error)
                self._say_standing(run, stands if status == "interrupted" else {})
            run.status, run.error = status, error

    def _say_standing(self, run: _Run, facts: dict[str, Wire]) -> None:
        """Write down where a thread stands that is interrupted; nothing of another one."""
        known = {key: value for key, value in self._store.thread_facts(run.id).items() if key in _STANDING}
        if known != facts:
            self._store.set_thread_facts(run.id, facts, [key for key in _STANDING if key not in facts])


def _ran(following: Sequence[Wire], writes: Sequence[Write]) -> Sequence[Wire]:
    """The nodes that ran: those that were to; a functional workflow's name only what it wrote tells."""
    if list(following) == [INPUT_CHANNEL]:
        return [task.node for task in tasks_of(rows_of(writes, "", "")) if task.node] or following
    return following


def _by_name(state: Wire) -> dict[str, Wire]:
    return state if isinstance(state, dict) else {}
