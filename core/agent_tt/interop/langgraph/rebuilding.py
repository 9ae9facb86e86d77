"""Values that no checkpoint holds: of channels that store changes alone, and of steps that never ended.

A delta channel is in a checkpoint only now and then, as a snapshot; between two of them its value is the last snapshot
and what was written since. What tasks wrote whose superstep has not ended is in no checkpoint yet. Both take the way in
which the graph combines writes, which `reducers` reads off the thread: where it cannot, the value is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.interop.kept import Kept
from agent_tt.interop.langgraph.checkpoint import is_internal
from agent_tt.interop.langgraph.envelopes import made, opaque
from agent_tt.interop.langgraph.reducers import Example, combined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.branches import Tree
    from agent_tt.interop.langgraph.checkpoint import Checkpoint
    from agent_tt.interop.langgraph.layout import ThreadMap
    from agent_tt.interop.langgraph.rows import CheckpointRow, WriteRow
    from agent_tt.interop.langgraph.tasks import Task

__all__ = ["Rebuilder"]

_DELTA_CHANNEL: Final = "langgraph.channels.delta:DeltaChannel"
_MOST_EXAMPLES: Final = 12
_VALUES_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class _Past:
    """What led to a checkpoint's value of a channel.

    Attributes:
        seed: the last value that is known; None where there was none.
        writes: what was written since, in order.
        updates: in how many supersteps.
        is_whole: every checkpoint on the way could be read.
    """

    seed: Wire
    writes: Sequence[Wire]
    updates: int
    is_whole: bool = True


class Rebuilder:
    """Puts values together that a thread's checkpoints do not hold. The owner's lock guards it.

    Args:
        readable: gives a checkpoint, None where it cannot be read.
        written: gives a value that a task wrote.
        convert: makes wire values of channel values, shared.
    """

    def __init__(
        self,
        readable: Callable[[CheckpointRow], Checkpoint | None],
        written: Callable[[WriteRow], Wire],
        convert: Callable[[object], Wire],
    ) -> None:
        self._readable, self._written, self._convert = readable, written, convert
        self._values: Kept[tuple[Wire, int] | None] = Kept(_VALUES_KEPT)
        self._examples: dict[tuple[str, str, str, bool], list[Example]] = {}

    def deltas(self, thread: ThreadMap, row: CheckpointRow) -> dict[str, Wire]:
        """The values of the delta channels that a checkpoint does not hold; what was last written where unknown.

        A channel that nothing was written to is missing.
        """
        found: dict[str, Wire] = {}
        for channel in row.delta_counts:
            known = self._delta(thread, row, channel)
            if known is None:
                last = [self._written(write) for write in _writes(thread, row.parent, row.namespace, channel)]
                found[channel] = made(_DELTA_CHANNEL, [*last], {}, "update")
            elif known[0] is not None:
                found[channel] = known[0]
        return found

    def applied(self, thread: ThreadMap, row: CheckpointRow, state: Wire, tasks: Sequence[Task]) -> Wire:
        """A state with what some tasks wrote, whose superstep has not ended; opaque where it is unknown.

        Args:
            thread: the thread.
            row: the checkpoint that they ran from.
            state: its state.
            tasks: the tasks.
        """
        if not isinstance(state, dict):
            return state
        writes: dict[str, list[Wire]] = {}
        for task in tasks:
            for write in task.results:
                if not is_internal(write.channel):
                    writes.setdefault(write.channel, []).append(self._written(write))
        state = dict(state)
        for channel, values in writes.items():
            is_delta = channel in row.delta_counts
            examples = self._examples_of(thread, row.namespace, channel, is_delta=is_delta)
            value = combined(state.get(channel), values, examples)
            state[channel] = opaque("langgraph:pending", "how it is combined is not in the database", "reducer")
            if value is not None:
                (state[channel],) = value
        return state

    def _delta(self, thread: ThreadMap, row: CheckpointRow, channel: str) -> tuple[Wire, int] | None:
        """The value of a delta channel, None where it has none yet, and how often it was written since a snapshot."""

        def rebuilt() -> tuple[Wire, int] | None:
            past = self._past(thread, row, channel)
            if not past.is_whole or past.updates != row.delta_counts[channel]:
                return None
            value = combined(past.seed, past.writes, self._examples_of(thread, row.namespace, channel, is_delta=True))
            return None if value is None else (value[0], past.updates)

        return self._values.get((row.thread, row.key, channel), rebuilt)

    def _past(self, thread: ThreadMap, row: CheckpointRow, channel: str) -> _Past:
        tree = thread.trees[row.namespace]
        pieces: list[list[WriteRow]] = []
        updates = 0
        for at in _ancestors(tree, row):
            if at is None:
                return _Past(None, (), 0, is_whole=False)
            pieces.append(_writes(thread, at.id, at.namespace, channel))
            updates += bool(pieces[-1])
            if channel in at.delta_counts:
                known = self._values.peek((at.thread, at.key, channel))
                if known is None:
                    continue
                seed, more = known
            else:
                checkpoint = self._readable(at)
                if checkpoint is None:
                    return _Past(None, (), 0, is_whole=False)
                if channel not in checkpoint.values:
                    continue
                seed, more = self._convert(checkpoint.values[channel]), 0
            return _Past(seed, self._all_written(pieces), updates + more)
        return _Past(None, self._all_written(pieces), updates)

    def _all_written(self, pieces: list[list[WriteRow]]) -> list[Wire]:
        return [self._written(write) for piece in reversed(pieces) for write in piece]

    def _examples_of(self, thread: ThreadMap, namespace: str, channel: str, *, is_delta: bool) -> list[Example]:
        key = (thread.rows.thread, namespace, channel, is_delta)
        if key not in self._examples:
            make = self._snapshots if is_delta else self._supersteps
            examples = make(thread, thread.trees[namespace], channel)
            self._examples[key] = [example for _, example in zip(range(_MOST_EXAMPLES), examples, strict=False)]
        return self._examples[key]

    def _snapshots(self, thread: ThreadMap, tree: Tree, channel: str) -> Iterator[Example]:
        """What became of a delta channel from one snapshot to the next, the newest first."""
        for row in reversed(tree.rows.values()):
            parent = tree.parent(row)
            if parent is None or channel in row.delta_counts or channel not in parent.delta_counts:
                continue
            if len(tree.children(parent)) > 1:
                continue  # its writes are those of one child, and which it is nobody knows
            checkpoint, past = self._readable(row), self._past(thread, row, channel)
            if checkpoint is not None and channel in checkpoint.values and past.is_whole:
                yield Example(past.seed, past.writes, self._convert(checkpoint.values[channel]))

    def _supersteps(self, thread: ThreadMap, tree: Tree, channel: str) -> Iterator[Example]:
        """What became of a channel from one checkpoint to the next, the newest first."""
        for row in reversed(tree.rows.values()):
            after = [child for child in tree.children(row) if child.source == "loop"]
            writes = [write for task in thread.tasks(row) for write in task.results if write.channel == channel]
            if len(after) != 1 or not writes:
                continue
            checkpoint, following = self._readable(row), self._readable(after[0])
            if checkpoint is not None and following is not None and channel in following.values:
                yield Example(
                    self._convert(checkpoint.values.get(channel)),
                    [self._written(write) for write in writes],
                    self._convert(following.values[channel]),
                )


def _writes(thread: ThreadMap, checkpoint: str | None, namespace: str, channel: str) -> list[WriteRow]:
    rows = thread.rows.writes.get((namespace, checkpoint or ""), ())
    return [write for write in rows if write.channel == channel]


def _ancestors(tree: Tree, row: CheckpointRow) -> Iterator[CheckpointRow | None]:
    """The checkpoints before one, the nearest first; None at the end where one is missing, or comes again."""
    while (parent := tree.parent(row)) is not None:
        yield parent
        row = parent
    if row.parent is not None:
        yield None
