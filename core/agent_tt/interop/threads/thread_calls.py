"""The calls of a step of a thread, out of what its tasks wrote: as the reader of LangGraph's own databases makes them.

They are worked out where somebody asks for them. In the rows they would take more room than all the rest of a thread.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import orjson

from agent_tt.config import load
from agent_tt.errors import AgentTTError, Damaged, RunNotFound, StoreBusy
from agent_tt.history.payloads.damage import placeholder
from agent_tt.interop.kept import Kept
from agent_tt.interop.langgraph.calls import CallMaker, decision, lane_of, lanes_of, strongest
from agent_tt.interop.langgraph.checkpoint import INPUT_CHANNEL
from agent_tt.interop.langgraph.tasks import Nodes, tasks_of
from agent_tt.interop.threads.shown import joined, where_writes_lie
from agent_tt.interop.threads.thread_steps import ThreadSteps, stopped_at
from agent_tt.interop.threads.thread_values import ThreadValues, delta_channels
from agent_tt.interop.threads.writes import read_writes, rows_of
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.config import ToolEffect
    from agent_tt.interop.langgraph.rows import WriteRow
    from agent_tt.interop.langgraph.tasks import Task
    from agent_tt.interop.threads.entries import Entry
    from agent_tt.model import Call, Step
    from agent_tt.protocols import Cursor
    from agent_tt.store.store import SqliteStore

__all__ = ["ThreadCalls"]

_RUNS_KEPT: Final = 32
_LOOKS_KEPT: Final = 20_000


_Found = TypeVar("_Found")


class _Moved(StoreBusy):
    """A checkpoint does not lie any more where it did: the thread was pruned."""

    def __init__(self) -> None:
        super().__init__("the thread was pruned just now", hint="Ask again.")


class _Look(NamedTuple):
    """What the calls of a step tell of it, and what they were made of."""

    written: Wire
    kind: str | None
    decision: str | None
    calls: int


class ThreadCalls:
    """Reads the calls of the threads of a store. Whoever uses it holds a lock.

    Args:
        store: the store.
        stored: gives steps of a run as they are stored: of the run of that id, from one number to before another.
        is_thread: whether a run, by its row number, is one that a checkpointer writes.
    """

    def __init__(
        self,
        store: SqliteStore,
        stored: Callable[[str, int, int | None], Sequence[Step]],
        is_thread: Callable[[int], bool],
    ) -> None:
        self._store = store
        self._stored = stored
        self._is_thread = is_thread
        self._said_effects: Mapping[str, ToolEffect] | None = None
        self._version = -1
        self._at_hand: dict[tuple[int, int], Step] = {}
        self._forget()

    def _forget(self) -> None:
        self._runs: Kept[ThreadSteps] = Kept(_RUNS_KEPT)
        self._cursors: Kept[Cursor] = Kept(_RUNS_KEPT)
        self._put_together: Kept[ThreadValues] = Kept(_RUNS_KEPT)
        self._recorded: Kept[list[Step]] = Kept(_RUNS_KEPT)
        self._looks: Kept[_Look] = Kept(_LOOKS_KEPT)

    @property
    def _effects(self) -> Mapping[str, ToolEffect]:
        """What the settings say that tools do."""
        if self._said_effects is None:
            self._said_effects = load().effects
        return self._said_effects

    def steps(self, run: int, steps: Sequence[Step]) -> list[Step]:
        """Steps of a run, with what their calls tell of them."""
        held = list(self._held(run, steps))
        self._at_hand = {(holder, step.number): step for holder, step in held if holder}
        try:
            return self._as_now(lambda: [self._looked_at(holder, step) if holder else step for holder, step in held])
        finally:
            self._at_hand = {}

    def calls(self, run: int, step: int, *, with_args: bool = True) -> list[Call] | None:
        """The calls of a step of a run, the caller's own; None of a step whose calls are recorded."""

        def made() -> list[Call] | None:
            for holder, each in self._held(run, self._stored(self._store.run_id(run), step, step + 1)):
                return self._made(holder, each, with_args=with_args) if holder else None
            return None

        return self._as_now(made)

    def pending_state(self, run: int, step: int, state: Wire) -> Wire:
        """The state after a step with its delta channels, and with what was written since by tasks that did not end.

        Args:
            run: the row number of the run.
            step: the step.
            state: its state as it is kept, which may be changed.
        """

        def made() -> Wire:
            for holder, each in self._held(run, self._stored(self._store.run_id(run), step, step + 1)):
                if holder:
                    known, stopped = self._known(holder), stopped_at(each)
                    entry = known.found(*stopped) if stopped is not None else self._entry(known, each)
                    return state if entry is None else self._values(holder, entry.namespace).whole(entry, state)
            return state

        return self._as_now(made)

    def _values(self, run: int, namespace: str) -> ThreadValues:
        """What puts values of a namespace together, in a run of a thread."""

        def made() -> ThreadValues:
            known = self._known(run)
            steps = {step.number: step for step in self._stored(self._store.run_id(run), 1, None)}
            placed = {(each.namespace, each.id): (each, steps[each.step]) for each in known.beside(namespace)}

            def writes_on(entry: Entry, step: Step) -> Iterable[WriteRow]:
                return rows_of(read_writes(step.facts.writes), entry.namespace, entry.id)

            def written(row: WriteRow) -> Wire:
                entry, step = placed[row.checkpoint]
                return values.get(row.checkpoint, lambda: self._rows(step, entry))[row]

            values: Kept[dict[WriteRow, Wire]] = Kept(_RUNS_KEPT)
            return ThreadValues(placed, self._state, writes_on, written)

        return self._put_together.get((run, namespace), made)

    def _as_now(self, read: Callable[[], _Found]) -> _Found:
        """What is read, with nothing taken for granted of rows that were taken away, whose numbers others have then."""
        version = self._store.version()
        if version != self._version:
            self._version, self._cursors, self._put_together = version, Kept(_RUNS_KEPT), Kept(_RUNS_KEPT)
            self._recorded = Kept(_RUNS_KEPT)
        try:
            return read()
        except _Moved:
            self._forget()
            return read()

    # ---------------------------------------------------------------- where things lie

    def _held(self, run: int, steps: Sequence[Step]) -> Iterator[tuple[int, Step]]:
        """Steps, each with the row number of the thread's run that it lies in; 0 for one whose calls are recorded."""
        stretches = self._store.lineage.stretches(run)
        for step in steps:
            holder = next((each.run for each in stretches if each.last is None or step.number <= each.last), run)
            is_told = step.damaged is None and step.calls == 0 and is_of_thread(step)
            yield (holder if is_told and self._is_thread(holder) else 0), step

    def _known(self, run: int) -> ThreadSteps:
        """The checkpoints of a run of a thread, as they are now."""
        known = self._runs.get(run, lambda: ThreadSteps(run))
        for stretch in self._store.lineage.stretches(run):
            first = max(stretch.first, known.seen + 1)
            if stretch.last is None or first <= stretch.last:
                holder = self._store.run_id(stretch.run)
                end = None if stretch.last is None else stretch.last + 1
                known.follow(self._stored(holder, first, end), stretch.run)
        return known

    def _state(self, entry: Entry) -> Mapping[str, Wire]:
        """The channels of a checkpoint: they are shared, and change with the next one that is asked for."""
        return joined(self._whole_state(entry))[0]

    def _whole_state(self, entry: Entry) -> Mapping[str, Wire]:
        run_id = self._store.run_id(entry.run)
        cursor = self._cursors.get((entry.run, entry.namespace), lambda: self._store.cursor(run_id, entry.step))
        state = cursor.seek(entry.step)
        return state if isinstance(state, dict) else {}

    def _step(self, entry: Entry) -> Step:
        """The step of a checkpoint.

        Raises:
            _Moved: it lies there no more.
        """
        known = self._at_hand.get((entry.run, entry.step))
        found = [known] if known else self._stored(self._store.run_id(entry.run), entry.step, entry.step + 1)
        if not found or (found[0].damaged is None and found[0].facts.checkpoint_id != entry.id):
            raise _Moved
        return found[0]

    def _entry(self, known: ThreadSteps, step: Step) -> Entry | None:
        """The checkpoint of a step; None where its parent is lost.

        Raises:
            _Moved: another one lay there.
        """
        entry = known.by_step.get(step.number)
        if entry is not None and entry.id != step.facts.checkpoint_id:
            raise _Moved
        return entry

    # ---------------------------------------------------------------- calls

    def _looked_at(self, run: int, step: Step) -> Step:
        """A step with the kind, the number and the words of its calls, as long as nothing else was written for it."""
        known = self._known(run)
        parent = self._parent(known, step)
        written: Wire = None
        if parent is not None:
            written = [
                self._step(parent).extra.get(StepFacts.writes.key),
                (parent.namespace, parent.id) in known.gone_on,
            ]
        key = run, step.number, step.facts.checkpoint_id
        look = self._looks.peek(key)
        if look is None or look.written != written or step.facts.recorded_in:  # the recording may be deleted
            calls = self._made(run, step, with_args=False)
            look = _Look(written, strongest(calls), decision(calls), len(calls))
            self._looks.put(key, look)
        lane, stopped, extra = lane_of(step.facts.checkpoint_ns or ""), stopped_at(step), step.extra
        if stopped is not None:
            extra = {**extra, **StepFacts.attempt.entry(stopped in known.gone_on)}
        if channels := delta_channels(step):
            extra = {**extra, **StepFacts.not_held.entry(channels)}
        return replace(step, kind=look.kind, lane=lane, decision=look.decision, calls=look.calls, extra=extra)

    def _parent(self, known: ThreadSteps, step: Step) -> Entry | None:
        """The checkpoint from which a step ran; None where none is known.

        Raises:
            _Moved: another one lay there.
        """
        stopped = stopped_at(step)
        if stopped is not None:
            return known.found(*stopped)
        entry = self._entry(known, step)
        return None if entry is None else known.parent(entry)

    def _made(self, run: int, step: Step, *, with_args: bool) -> list[Call]:
        known = self._known(run)
        try:
            calls = self._of_step(known, step, with_args=with_args)
            return [replace(call, args=_own(call.args)) for call in calls] if with_args else calls
        except (StoreBusy, RunNotFound):
            raise
        except AgentTTError as error:  # its state, or what was written, is damaged, and `verify` says it
            why = placeholder(error.message)
            return CallMaker(step.number, lambda _: why, dict).of_unreadable(why)

    def _of_step(self, known: ThreadSteps, step: Step, *, with_args: bool) -> list[Call]:
        entry, stopped = self._entry(known, step), stopped_at(step)
        source = step.facts.source if StepFacts.source.is_in(step.extra) else "loop"
        if entry is not None and source == "input" and not entry.namespace:
            value = self._state(entry).get(INPUT_CHANNEL)
            return CallMaker(step.number, lambda _: None, dict).of_input(deepcopy(value))
        parent = self._parent(known, step) if stopped or source == "loop" else None
        if parent is None:
            return []
        before = self._step(parent)
        rows = self._rows(before, parent)
        tasks = tasks_of(rows)
        nodes = Nodes(tuple(map(str, before.facts.next)))

        def inside(task: Task) -> Iterator[Wire]:
            for each in known.inside(parent, task.id, task.name(nodes)):
                inner = self._rows(self._step(each), each)
                for of_task in tasks_of(inner):
                    yield from (inner[write] for write in of_task.results)

        seen = partial(self._seen, parent, before)
        maker = CallMaker(step.number, rows.__getitem__, seen, inside, with_args, self._effects, nodes)
        lane = lane_of(parent.namespace)
        lanes = lanes_of(tasks, nodes, lane)
        if stopped is None:
            return self._unrecorded(step, before, maker.of_results(tasks, lanes))
        own = [task for task in tasks if task.id == step.facts.task_id]
        lanes |= {task.id: lane for task in own}
        if stopped in known.gone_on:
            return maker.of_questions(own, lanes)  # a person is asked by no recorded call
        is_last = known.stops[stopped][-1] == step.number  # what ran beside it, until a checkpoint takes that in
        others = [task for task in tasks if not task.stopped] if is_last else []
        return self._unrecorded(before, before, maker.of_everything([*own, *others], lanes))

    def _unrecorded(self, step: Step, before: Step, calls: list[Call]) -> list[Call]:
        """Calls without those that the run has which recorded the graph meanwhile: nothing is shown twice.

        Args:
            step: the step that says which run recorded it.
            before: the step of the checkpoint that its tasks ran from.
            calls: the calls.
        """
        run_id = step.facts.recorded_in
        if run_id is None or not calls:
            return calls
        try:
            steps = self._recorded.get(run_id, lambda: self._store.steps(run_id))
            beside = [each for each in steps if each.calls and not _is_apart(each, before, step)]
            recorded = [call for each in beside for call in self._store.calls(run_id, each.number)]
        except RunNotFound:  # then they are nowhere else
            return calls
        left: list[Call] = []
        for call in calls:
            same = next((each for each in recorded if is_same_call(each, call, before.ended_us)), None)
            if same is None:
                left.append(replace(call, number=len(left) + 1))
            else:
                recorded.remove(same)
        return left

    def _seen(self, entry: Entry, step: Step) -> Wire:
        """The channels of a checkpoint, with its delta channels."""
        channels = dict(self._state(entry))
        if delta_channels(step):
            channels |= self._values(entry.run, entry.namespace).deltas(entry)
        return channels

    def _rows(self, step: Step, entry: Entry) -> dict[WriteRow, Wire]:
        """What tasks wrote on top of a checkpoint, by row, in LangGraph's order; a placeholder for what is damaged."""
        found: dict[WriteRow, Wire] = {}
        channels: Mapping[str, Wire] | None = None
        for row, write in rows_of(read_writes(step.facts.writes), entry.namespace, entry.id).items():
            if write.found is None:
                found[row] = write.value
                continue
            if channels is None:
                after = self._known(entry.run).first_after(entry)
                channels = where_writes_lie(self._whole_state(after)) if after is not None else {}
            try:
                found[row] = write.given(channels)
            except Damaged as error:
                found[row] = placeholder(error.message)
        return found


def is_same_call(recorded: Call, told: Call, since_us: int | None) -> bool:
    """Whether a recorded call, begun since a time, is the one that a message tells of.

    A tool's call has the id under which a model asked for it. Of models nothing but time and tokens tells.
    """
    if recorded.kind != told.kind or (recorded.started_us or 0) < (since_us or 0):
        return False
    if told.kind == "tool":
        one, other = recorded.facts.answers, told.facts.answers
        return one == other if one is not None and other is not None else recorded.name == told.name
    used = [(call.facts.tokens_in, call.facts.tokens_out) for call in (recorded, told)]
    return told.kind == "llm" and (used[0] == used[1] or (None, None) in used)


def _is_apart(step: Step, before: Step, after: Step) -> bool:
    """Whether a step of another run lies before, or after, the time between the ends of two steps."""
    if before is not after and step.started_us and after.ended_us and step.started_us > after.ended_us:
        return True
    return bool(step.ended_us and before.ended_us and step.ended_us < before.ended_us)


def is_of_thread(step: Step) -> bool:
    """Whether a checkpointer wrote a step: it has a checkpoint, or was stopped on the way to one."""
    return StepFacts.checkpoint_id.is_in(step.extra) or stopped_at(step) is not None


def _own(value: Wire) -> Wire:
    """A copy: what a model was shown is a whole conversation, which is copied ten times faster as JSON."""
    try:
        found: Wire = orjson.loads(orjson.dumps(value))
    except (TypeError, ValueError):  # a number of more than 64 bits
        return deepcopy(value)
    return found
