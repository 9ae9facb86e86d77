"""The numbered rows of one branch.

Row 0 is the thread before anything happened: an empty state. Every checkpoint on the way to the tip is a row, so an
input, an edit (`update`) and a fork have rows as well as what nodes did. After its row come, nested in it, the
subgraphs that ran meanwhile and the attempts that failed or waited for a person. Where the tasks of a checkpoint never
came to an end, each of them is a row of its own after the checkpoint, without a checkpoint: a failed task at the tip, a
question that waits, results that were never put together.

| row | its checkpoint | its tasks |
|---|---|---|
| input, update, fork | the one that was made | none |
| superstep | the one that its tasks' writes produced | all that ran from the parent |
| task | none: its state is that of the row before, on its track | the one |
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt._dataclass import dataclass
from agent_tt.interop.langgraph.branches import Tree, Way
from agent_tt.interop.langgraph.tasks import STOPS, Task, tasks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_tt.interop.langgraph.rows import CheckpointKey, CheckpointRow, ThreadRows

__all__ = ["Extent", "Layout", "Row", "ThreadMap", "node_of"]

_DEEPEST: Final = 32
"""Subgraphs inside each other that are nested; deeper ones count as strays, which bounds the builder's recursion."""


@dataclass(frozen=True, slots=True)
class Row:
    """One numbered row.

    Attributes:
        number: from 1.
        namespace: of the graph or subgraph it belongs to.
        checkpoint: the checkpoint that it ended with, None for a task that has none.
        before: the checkpoint that it went on from.
        tasks: what ran.
        parent: number of the row it is nested in.
        state: number of the row whose checkpoint is its state, 0 for the empty state.
        base: number of the row whose state it changed (a task changes nothing), None for the first of a subgraph.
        seq: which checkpoint of its track it ended with (from 1), None for a task.
        attempt: a task that failed, or waited for a person, within a superstep that came to its end later.
    """

    number: int
    namespace: str
    checkpoint: CheckpointRow | None
    before: CheckpointRow | None
    tasks: tuple[Task, ...]
    parent: int | None
    state: int
    base: int | None
    seq: int | None
    attempt: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of one branch, numbered from 1: those that it shares with the branch that it left, and its own.

    Attributes:
        own: its own rows.
        numbers: the numbers of the rows of its own checkpoints.
        ended_us: when its newest checkpoint was made; None if no checkpoint says.
        before: the rows of the branch that it left.
        shared: how many of those it has as well.
        fork: the number of the checkpoint where it left it, 0 for the oldest branch.
    """

    own: tuple[Row, ...]
    numbers: Mapping[CheckpointKey, int]
    ended_us: int | None
    before: Layout | None = None
    shared: int = 0
    fork: int = 0

    def __len__(self) -> int:
        return self.shared + len(self.own)

    @property
    def extent(self) -> Extent:
        """How long it is."""
        return Extent(len(self), self.ended_us, self.fork)

    def rows(self, start: int = 1, stop: int | None = None) -> list[Row]:
        """The rows start..stop-1; it costs what it returns, and a look at each branch that they are of."""
        parts: list[tuple[Row, ...]] = []
        layout: Layout | None = self
        start = max(start, 1)
        end = len(self) + 1 if stop is None else min(stop, len(self) + 1)
        while layout is not None and start < end:
            first = layout.shared + 1
            parts.append(layout.own[max(start - first, 0) : max(end - first, 0)])
            end = min(end, first)
            layout = layout.before
        return [row for part in reversed(parts) for row in part]

    def number_of(self, key: CheckpointKey) -> int | None:
        """The number of the row of a checkpoint; None where it is none of the branch."""
        layout: Layout | None = self
        last = len(self)
        while layout is not None:
            number = layout.numbers.get(key)
            if number is not None and number <= last:
                return number
            last = min(last, layout.shared)
            layout = layout.before
        return None


class Extent(NamedTuple):
    """How long a branch is.

    Attributes:
        steps: how many rows it has.
        ended_us: when its newest checkpoint was made; None if no checkpoint says.
        fork: the number of the checkpoint where it left another one, 0 for the oldest branch.
    """

    steps: int
    ended_us: int | None
    fork: int = 0


class ThreadMap:
    """The structure of one thread: a tree for each namespace, and what ran from each checkpoint."""

    def __init__(self, rows: ThreadRows) -> None:
        self.rows = rows
        spaces: dict[str, list[CheckpointRow]] = {}
        for checkpoint in rows.checkpoints.values():
            spaces.setdefault(checkpoint.namespace, []).append(checkpoint)
        self.trees = {namespace: Tree(members) for namespace, members in spaces.items()}
        self.trees.setdefault("", Tree(()))
        self._tasks: dict[CheckpointKey, tuple[Task, ...]] = {}
        self._guests: dict[CheckpointKey, dict[str, list[CheckpointRow]]] = {}
        self.strays: dict[str, list[CheckpointRow]] = {}
        for namespace, members in spaces.items():
            if namespace:
                for checkpoint in members:
                    host = self._host(checkpoint)
                    groups = self.strays if host is None else self._guests.setdefault(host, {})
                    groups.setdefault(namespace, []).append(checkpoint)

    @property
    def root(self) -> Tree:
        """The tree of the graph itself."""
        return self.trees[""]

    def tasks(self, checkpoint: CheckpointRow) -> tuple[Task, ...]:
        """The tasks that ran from a checkpoint."""
        key = checkpoint.key
        if key not in self._tasks:
            self._tasks[key] = tasks_of(self.rows.writes.get(key, ()))
        return self._tasks[key]

    def guests(self, checkpoint: CheckpointRow) -> Mapping[str, list[CheckpointRow]]:
        """The checkpoints of subgraphs that ran from a checkpoint, by namespace, in order."""
        return self._guests.get(checkpoint.key, {})

    def tasks_inside(self, checkpoint: CheckpointRow, task: Task) -> Iterator[Task]:
        """The tasks of the subgraphs that a task ran, which ran from a checkpoint."""
        groups = self.guests(checkpoint)
        for namespace in _Guests(self, checkpoint).of(task) if groups else ():
            for inner in groups[namespace]:
                yield from self.tasks(inner)

    def newest_stray(self) -> CheckpointRow | None:
        """The newest checkpoint of those whose host is not in the file; None if there are none."""
        return max((row for rows in self.strays.values() for row in rows), key=lambda row: row.id, default=None)

    @cached_property
    def ways(self) -> list[Way]:
        """The ways to the tips of all branches, the newest first."""
        return self.root.ways() or [Way(None, [])]

    def plain_extent(self) -> Extent | None:
        """How long its only branch is, counted; None where it has to be laid out for that.

        A list of very many threads would take a third longer if each was laid out.
        """
        writes = self.rows.writes
        if len(self.ways) > 1 or len(self.trees) > 1 or any(w.channel in STOPS for of in writes.values() for w in of):
            return None
        own = self.ways[0].own
        ended = max((made for checkpoint in own if (made := checkpoint.time_us) is not None), default=None)
        unfinished = (self.tasks(checkpoint) for checkpoint in own if not self.root.ran_on(checkpoint))
        return Extent(len(own) + sum(map(len, unfinished)), ended)

    def layouts(self) -> dict[str, Layout]:
        """The rows of all branches by the ids of their tips ("" where there is none), laid out in one walk."""
        builder = _Builder(self)
        found: dict[str, Layout] = {}
        ways = self.ways
        leaving: dict[str, list[Way]] = {}
        for way in ways:
            if way.fork is not None:
                leaving.setdefault(way.fork.id, []).append(way)
        begin = builder.mark()
        todo: list[tuple[_Mark, Way, Layout | None]] = [(begin, way, None) for way in ways if way.fork is None]
        while todo:
            mark, way, before = todo.pop()
            builder.go_back(mark)
            ahead: list[tuple[_Mark, Way]] = []
            for checkpoint in way.own:
                builder.add_graph([checkpoint], "", None)
                ahead += ((builder.mark(), each) for each in leaving.get(checkpoint.id, ()))
            builder.add_strays(after=None)
            fork = builder.numbers[way.fork.key] if way.fork is not None else 0
            found[way.tip.id if way.tip is not None else ""] = layout = builder.layout(before, mark, fork)
            todo += ((at, each, layout) for at, each in ahead)
        return found

    def _host(self, checkpoint: CheckpointRow) -> CheckpointKey | None:
        """The checkpoint from which the subgraph of a checkpoint was run: in the nearest enclosing namespace known."""
        hosts = checkpoint.hosts
        parts = checkpoint.namespace.split("|")
        if len(parts) > _DEEPEST:
            return None
        for length in range(len(parts) - 1, -1, -1):
            namespace = "|".join(parts[:length])
            key = (namespace, hosts.get(namespace, ""))
            if key in self.rows.checkpoints:
                return key
        return None


class _Mark(NamedTuple):
    """How far a numbering is: its rows, and how many groups of strays it has."""

    rows: int
    strays: int


class _Builder:
    """Numbers rows in the order in which they began."""

    def __init__(self, thread: ThreadMap) -> None:
        self.rows: list[Row] = []
        self.numbers: dict[CheckpointKey, int] = {}
        self._thread = thread
        self._strays = sorted(thread.strays.items(), key=lambda item: item[1][-1].id)
        self._strays_added = 0
        self._lengths: dict[str, int] = {}
        self._ends: list[int | None] = []

    def mark(self) -> _Mark:
        """Where the numbering is now."""
        return _Mark(len(self.rows), self._strays_added)

    def go_back(self, mark: _Mark) -> None:
        """Forget the rows that were added since."""
        for row in self.rows[mark.rows :]:
            if row.checkpoint is not None:
                del self.numbers[row.checkpoint.key]
                self._lengths[row.namespace] -= 1
        del self.rows[mark.rows :], self._ends[mark.rows :]
        self._strays_added = mark.strays

    def layout(self, before: Layout | None, mark: _Mark, fork: int) -> Layout:
        """The rows, of which those before `mark` are those of `before`."""
        own = tuple(self.rows[mark.rows :])
        numbers = {row.checkpoint.key: row.number for row in own if row.checkpoint is not None}
        return Layout(own, numbers, self._ends[-1] if self._ends else None, before, mark.rows, fork)

    def add_graph(self, checkpoints: Iterable[CheckpointRow], namespace: str, parent: int | None) -> None:
        """The rows of some checkpoints of one namespace and of everything that ran between them."""
        tree = self._thread.trees[namespace]
        for checkpoint in checkpoints:
            if checkpoint.key in self.numbers:
                continue
            before = tree.parent(checkpoint)
            ran = before is not None and checkpoint.source == "loop"
            tasks = self._thread.tasks(before) if before is not None and ran else ()
            number = self._add_checkpoint(checkpoint, before, tasks, parent)
            if before is not None and ran:
                self._add_what_ran(before, number)
            if not namespace:
                self.add_strays(after=checkpoint)
            if not tree.ran_on(checkpoint):
                self._add_unfinished(checkpoint, parent)

    def add_strays(self, after: CheckpointRow | None) -> None:
        """Subgraphs whose host is not in the file, by time: up to `after`, or all that are left.

        Graphs that save only when they end leave them.
        """
        while self._strays_added < len(self._strays):
            namespace, checkpoints = self._strays[self._strays_added]
            if after is not None and checkpoints[-1].id >= after.id:
                return
            self._strays_added += 1
            number = self.numbers[after.key] if after is not None else None
            self.add_graph(checkpoints, namespace, number)

    def _add_what_ran(self, before: CheckpointRow, number: int) -> None:
        """What belongs inside a finished superstep: its subgraphs, and attempts that failed or waited."""
        for namespace, checkpoints in self._thread.guests(before).items():
            self.add_graph(checkpoints, namespace, number)
        for task in self._thread.tasks(before):
            stopped = task.stopped or any(made.stopped for made in task.called)
            if stopped and not _Guests(self._thread, before).stopped_in(task):
                self._add_task(before, task, number, attempt=True)

    def _add_unfinished(self, checkpoint: CheckpointRow, parent: int | None) -> None:
        """The tasks of a superstep that never ended, each with its subgraphs."""
        guests = _Guests(self._thread, checkpoint)
        groups = dict(self._thread.guests(checkpoint))
        for task in self._thread.tasks(checkpoint):
            asked_inside = guests.stopped_in(task)
            number = self._add_task(checkpoint, replace(task, interrupts=None) if asked_inside else task, parent)
            for namespace in guests.of(task):
                if namespace in groups:
                    self.add_graph(groups.pop(namespace), namespace, number)
        for namespace, checkpoints in groups.items():
            number = self._add_task(checkpoint, Task("", node_of(namespace)), parent)
            self.add_graph(checkpoints, namespace, number)

    def _add_checkpoint(
        self, checkpoint: CheckpointRow, before: CheckpointRow | None, tasks: tuple[Task, ...], parent: int | None
    ) -> int:
        number = len(self.rows) + 1
        seq = self._lengths.get(checkpoint.namespace, 0) + 1
        self._lengths[checkpoint.namespace] = seq
        base = self.numbers.get(before.key) if before is not None else None
        if base is None and not checkpoint.namespace:
            base = 0
        namespace = checkpoint.namespace
        self._add(Row(number, namespace, checkpoint, before, tasks, parent, state=number, base=base, seq=seq))
        self.numbers[checkpoint.key] = number
        return number

    def _add_task(self, before: CheckpointRow, task: Task, parent: int | None, *, attempt: bool = False) -> int:
        number = len(self.rows) + 1
        state = self.numbers.get(before.key, 0)
        self._add(
            Row(number, before.namespace, None, before, (task,), parent, state, base=state, seq=None, attempt=attempt)
        )
        return number

    def _add(self, row: Row) -> None:
        made = row.checkpoint.time_us if row.checkpoint is not None else None
        latest = self._ends[-1] if self._ends else None
        self._ends.append(latest if made is None or (latest is not None and latest > made) else made)
        self.rows.append(row)


def node_of(namespace: str) -> str:
    """The node in which a subgraph ran: `b` of `a:1|b:2`; a number at the end only counts the graphs that it ran."""
    parts = [part for part in namespace.split("|") if not part.isdigit()]
    return parts[-1].rpartition(":")[0] or parts[-1] if parts else namespace


class _Guests:
    """The subgraphs that ran from a checkpoint, by the task that ran them.

    A task's id is in the name, or the name is its node (a subgraph that remembers).
    """

    def __init__(self, thread: ThreadMap, host: CheckpointRow) -> None:
        self._thread, self._groups = thread, thread.guests(host)
        self._by_task: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        enclosing = f"{host.namespace}|" if host.namespace else ""
        for namespace in self._groups:
            own = namespace.removeprefix(enclosing).split("|")[0]
            _, colon, task_id = own.rpartition(":")
            if colon:
                self._by_task.setdefault(task_id, []).append(namespace)
            self._by_name.setdefault(own, []).append(namespace)

    def of(self, task: Task) -> list[str]:
        """The namespaces of a task."""
        if not task.id:
            return self._by_name.get(task.node or "", [])
        remembering = self._by_name.get(task.node, []) if task.node and ":" not in task.node else []
        return [*remembering, *self._by_task.get(task.id, ())]

    def stopped_in(self, task: Task) -> bool:
        """Whether a task only passed on what stopped a node of its subgraph, which has a row itself."""
        return any(
            inner.stopped
            for namespace in self.of(task)
            for checkpoint in self._groups[namespace]
            for inner in self._thread.tasks(checkpoint)
        )
