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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from agent_tt.interop.langgraph.branches import Tree
from agent_tt.interop.langgraph.tasks import Task, tasks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.interop.langgraph.rows import CheckpointKey, CheckpointRow, ThreadRows

__all__ = ["Layout", "Row", "ThreadMap", "node_of"]

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
    """The rows of one branch, from number 1, and the numbers of the rows of its checkpoints."""

    rows: tuple[Row, ...]
    numbers: Mapping[CheckpointKey, int]


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

    def newest_stray(self) -> CheckpointRow | None:
        """The newest checkpoint of those whose host is not in the file; None if there are none."""
        return max((row for rows in self.strays.values() for row in rows), key=lambda row: row.id, default=None)

    def layout(self, tip: CheckpointRow | None) -> Layout:
        """The rows of the branch that ends at `tip`; None for a thread of which only subgraphs are left."""
        builder = _Builder(self)
        builder.add_graph(self.root.path(tip) if tip is not None else [], "", None)
        builder.add_strays(after=None)
        return Layout(tuple(builder.rows), builder.numbers)

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


class _Builder:
    """Numbers rows in the order in which they began."""

    def __init__(self, thread: ThreadMap) -> None:
        self.rows: list[Row] = []
        self.numbers: dict[CheckpointKey, int] = {}
        self._thread = thread
        self._strays = sorted(thread.strays.items(), key=lambda item: item[1][-1].id)
        self._lengths: dict[str, int] = {}

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
        while self._strays and (after is None or self._strays[0][1][-1].id < after.id):
            namespace, checkpoints = self._strays.pop(0)
            number = self.numbers[after.key] if after is not None else None
            self.add_graph(checkpoints, namespace, number)

    def _add_what_ran(self, before: CheckpointRow, number: int) -> None:
        """What belongs inside a finished superstep: its subgraphs, and attempts that failed or waited."""
        groups = self._thread.guests(before)
        for namespace, checkpoints in groups.items():
            self.add_graph(checkpoints, namespace, number)
        for task in self._thread.tasks(before):
            if any(made.stopped for made in (task, *task.called)) and not self._stopped_inside(before, task, groups):
                self._add_task(before, task, number, attempt=True)

    def _add_unfinished(self, checkpoint: CheckpointRow, parent: int | None) -> None:
        """The tasks of a superstep that never ended, each with its subgraphs."""
        groups = dict(self._thread.guests(checkpoint))
        for task in self._thread.tasks(checkpoint):
            asked_inside = self._stopped_inside(checkpoint, task, groups)
            number = self._add_task(checkpoint, replace(task, interrupts=None) if asked_inside else task, parent)
            for namespace in [ns for ns in groups if _ran_in(ns, checkpoint.namespace, task)]:
                self.add_graph(groups.pop(namespace), namespace, number)
        for namespace, checkpoints in groups.items():
            number = self._add_task(checkpoint, Task("", node_of(namespace)), parent)
            self.add_graph(checkpoints, namespace, number)

    def _stopped_inside(self, before: CheckpointRow, task: Task, groups: Mapping[str, list[CheckpointRow]]) -> bool:
        """Whether a task only passed on what stopped a node of its subgraph, which has a row itself."""
        return any(
            inner.stopped
            for namespace, checkpoints in groups.items()
            if _ran_in(namespace, before.namespace, task)
            for checkpoint in checkpoints
            for inner in self._thread.tasks(checkpoint)
        )

    def _add_checkpoint(
        self, checkpoint: CheckpointRow, before: CheckpointRow | None, tasks: tuple[Task, ...], parent: int | None
    ) -> int:
        number = len(self.rows) + 1
        seq = self._lengths.get(checkpoint.namespace, 0) + 1
        self._lengths[checkpoint.namespace] = seq
        base = self.numbers.get(before.key) if before is not None else None
        if base is None and not checkpoint.namespace:
            base = 0
        self.rows.append(
            Row(number, checkpoint.namespace, checkpoint, before, tasks, parent, state=number, base=base, seq=seq)
        )
        self.numbers[checkpoint.key] = number
        return number

    def _add_task(self, before: CheckpointRow, task: Task, parent: int | None, *, attempt: bool = False) -> int:
        number = len(self.rows) + 1
        state = self.numbers.get(before.key, 0)
        self.rows.append(
            Row(number, before.namespace, None, before, (task,), parent, state, base=state, seq=None, attempt=attempt)
        )
        return number


def node_of(namespace: str) -> str:
    """The node in which a subgraph ran: `b` of `a:1|b:2`; a number at the end only counts the graphs that it ran."""
    parts = [part for part in namespace.split("|") if not part.isdigit()]
    return parts[-1].rpartition(":")[0] or parts[-1] if parts else namespace


def _ran_in(namespace: str, host: str, task: Task) -> bool:
    """Whether a task ran a namespace: its id is in the name, or the name is its node (a subgraph that remembers)."""
    own = namespace.removeprefix(f"{host}|" if host else "").split("|")[0]
    return own.endswith(f":{task.id}") if task.id and ":" in own else own == task.node
