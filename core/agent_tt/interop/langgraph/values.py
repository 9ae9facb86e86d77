"""The values of one database, fetched when they are asked for and kept while they are likely to be asked for again."""

from __future__ import annotations

from contextlib import contextmanager
from copy import deepcopy
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged
from agent_tt.history.payloads.damage import placeholder
from agent_tt.interop.kept import Kept
from agent_tt.interop.langgraph.checkpoint import (
    INPUT_CHANNEL,
    Checkpoint,
    Edges,
    is_internal,
    open_checkpoint,
    visible_state,
)
from agent_tt.interop.langgraph.decode import Sealed, read_value
from agent_tt.interop.langgraph.envelopes import SharedConverter, to_wire
from agent_tt.interop.langgraph.naming import nodes_by_task
from agent_tt.interop.langgraph.rebuilding import Rebuilder
from agent_tt.interop.langgraph.tasks import NO_TASK, Nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.database import Database, Document, Fetched
    from agent_tt.interop.langgraph.layout import ThreadMap
    from agent_tt.interop.langgraph.rows import CheckpointKey, CheckpointRow, WriteRow
    from agent_tt.interop.langgraph.tasks import Task

__all__ = ["Facts", "Values"]

_STATES_KEPT: Final = 8
_CHECKPOINTS_KEPT: Final = 4
_FACTS_KEPT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What is worth keeping of a checkpoint once it was read.

    Attributes:
        next: the nodes that run next; None where that is not known.
        nodes: those of the tasks that ran from it.
    """

    next: tuple[str, ...] | None = None
    nodes: Nodes = field(default_factory=Nodes)


class Values:
    """Reads the values of the checkpoints and writes of a database, as one version of it has them.

    Attributes:
        damaged: thread, namespace and id of the checkpoints that turned out to be unreadable.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ahead: Mapping[tuple[str, CheckpointKey], Document] = {}
        self._fetched: Fetched = ({}, {})
        self._states: Kept[Wire] = Kept(_STATES_KEPT)
        self._checkpoints: Kept[Checkpoint | Sealed] = Kept(_CHECKPOINTS_KEPT)
        self._facts: Kept[Facts] = Kept(_FACTS_KEPT)
        self._shared = SharedConverter()
        self._rebuilder = Rebuilder(self._readable, self.written, self._shared.to_wire)
        self._edges: dict[tuple[str, str], Edges] = {}
        self.damaged: set[tuple[str, str, str]] = set()

    @contextmanager
    def ahead(self, rows: Sequence[CheckpointRow]) -> Iterator[None]:
        """Fetch at once what `facts` of some checkpoints reads. Nothing else may be asked meanwhile: see `outlines`."""
        self._ahead = self._database.outlines(rows)
        try:
            yield
        finally:
            self._ahead = {}

    def fetch(self, checkpoints: Sequence[CheckpointRow], writes: Sequence[WriteRow]) -> None:
        """Have at hand what is asked for soon, and nothing else that was fetched before."""
        self._fetched = self._database.ahead(checkpoints, writes) if checkpoints or writes else ({}, {})

    def state(self, thread: ThreadMap, row: CheckpointRow) -> Wire:
        """The state that a checkpoint shows. It is shared: never change it. What cannot be read is a placeholder."""
        return self._states.get((row.thread, row.key), lambda: self._state(thread, row, self._shared.to_wire))

    def fresh_state(self, thread: ThreadMap, row: CheckpointRow) -> Wire:
        """The state that a checkpoint shows, the caller's own."""
        return self._state(thread, row, to_wire)

    def applied(self, thread: ThreadMap, row: CheckpointRow, state: Wire, tasks: Sequence[Task]) -> Wire:
        """A checkpoint's state with what some tasks wrote that ran from it, as far as it is known how."""
        return self._rebuilder.applied(thread, row, state, tasks)

    def facts(self, thread: ThreadMap, row: CheckpointRow) -> Facts:
        """What a checkpoint says about nodes."""
        return self._facts.get((row.thread, row.key), lambda: self._read_facts(thread, row))

    def nodes_run(self, thread: ThreadMap, row: CheckpointRow) -> list[str]:
        """The nodes that worked since the checkpoint before, where no writes tell."""
        checkpoint = self._readable(row)
        parent = thread.trees[row.namespace].parent(row)
        before = self._readable(parent) if parent is not None else None
        return checkpoint.nodes_run_since(before) if checkpoint is not None else []

    def input(self, row: CheckpointRow) -> Wire:
        """What was given to the graph at an input checkpoint; None if that is not known."""
        checkpoint = self._readable(row)
        return to_wire(checkpoint.values.get(INPUT_CHANNEL)) if checkpoint is not None else None

    def written(self, row: WriteRow) -> Wire:
        """A value that a task wrote; a placeholder if it cannot be read."""
        try:
            at_hand = self._fetched[1]
            blob = at_hand[row] if row in at_hand else self._database.values([row])[0]
            return to_wire(read_value(row.encoding, blob))
        except Damaged as error:
            return placeholder(error.message)

    def _state(self, thread: ThreadMap, row: CheckpointRow, convert: Callable[[object], Wire]) -> Wire:
        try:
            checkpoint = self._checkpoint(row)
        except Damaged as error:
            self.damaged.add((row.thread, *row.key))
            return placeholder(error.message)
        if isinstance(checkpoint, Sealed):
            return to_wire(checkpoint)
        commanded = self._commanded(thread, row)
        if commanded:
            checkpoint = replace(checkpoint, values={**checkpoint.values, **commanded})
        deltas = self._rebuilder.deltas(thread, row)
        return visible_state(checkpoint, deltas if convert == self._shared.to_wire else deepcopy(deltas), convert)

    def _checkpoint(self, row: CheckpointRow) -> Checkpoint | Sealed:
        """A checkpoint, shared: who looks at a step asks for it, for its state and for that of the next step."""
        outline = self._ahead.get((row.thread, row.key))
        if outline is not None:  # it may lack channels
            return open_checkpoint(outline.unpacked())
        return self._checkpoints.get((row.thread, row.key), lambda: open_checkpoint(self._document(row).unpacked()))

    def _document(self, row: CheckpointRow) -> Document:
        return self._fetched[0].get((row.thread, row.key)) or self._database.documents([row])[0]

    def _read_facts(self, thread: ThreadMap, row: CheckpointRow) -> Facts:
        checkpoint = self._readable(row)
        if checkpoint is None:
            return Facts()
        tasks = thread.tasks(row)
        following = checkpoint.next_nodes(tasks, lambda: self._edges_of(thread, row.namespace))
        candidates = following
        if any(task.is_nameless for task in tasks) and candidates is None:
            after = self._superstep_after(thread, row)
            candidates = after.nodes_run_since(checkpoint) if after is not None else []
        names = nodes_by_task(checkpoint, row, tasks, candidates or (), thread.guests(row))
        return Facts(None if following is None else tuple(following), Nodes(tuple(checkpoint.packets()), names))

    def _superstep_after(self, thread: ThreadMap, row: CheckpointRow) -> Checkpoint | None:
        """The checkpoint that the tasks which ran from one led to."""
        after = next((child for child in thread.trees[row.namespace].children(row) if child.source == "loop"), None)
        return self._readable(after) if after is not None else None

    def _edges_of(self, thread: ThreadMap, namespace: str) -> Edges:
        """What the checkpoints of a namespace show of the graph's edges: needed for old ones, and read once."""
        key = (thread.rows.thread, namespace)
        if key not in self._edges:
            found: dict[str, frozenset[str]] = {}
            tree = thread.trees[namespace]
            for row in tree.rows.values():
                parent = tree.parent(row)
                one = self._readable(row) if parent is not None and row.source == "loop" else None
                before = self._readable(parent) if parent is not None and one is not None else None
                for node, following in one.edges_shown(before).items() if one and before else ():
                    found[node] = found.get(node, frozenset()) | following
            self._edges[key] = found
        return self._edges[key]

    def _readable(self, row: CheckpointRow) -> Checkpoint | None:
        """A checkpoint, or None if it is sealed or damaged."""
        try:
            checkpoint = self._checkpoint(row)
        except Damaged:
            return None
        return checkpoint if isinstance(checkpoint, Checkpoint) else None

    def _commanded(self, thread: ThreadMap, row: CheckpointRow) -> dict[str, object]:
        """Channels that the update of a `Command` changed before the next nodes ran.

        LangGraph's history shows such an update as part of the checkpoint that the command was given at. How it was
        combined with the value before is the graph's own affair; what came of it stands in the next checkpoint, if no
        node wrote there.
        """
        writes = thread.rows.writes.get(row.key, ())
        given = {write.channel for write in writes if write.task_id == NO_TASK and not is_internal(write.channel)}
        given -= {write.channel for write in writes if write.task_id != NO_TASK}
        after = self._superstep_after(thread, row) if given else None
        values = after.values if after is not None else {}
        return {channel: values[channel] for channel in given if channel in values}
