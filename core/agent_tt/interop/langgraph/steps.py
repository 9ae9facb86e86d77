"""Rows of a layout as `Step`s, and what the rows' tasks did as `Call`s."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.interop.langgraph.calls import CallMaker, decision, error_info, lane_of, lanes_of, strongest, tokens
from agent_tt.interop.langgraph.checkpoint import is_internal
from agent_tt.interop.langgraph.layout import node_of
from agent_tt.interop.langgraph.tasks import Nodes, numbered
from agent_tt.model import ErrorInfo, Step
from agent_tt.model.facts import CallFacts, StepFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.config import ToolEffect
    from agent_tt.interop.langgraph.layout import Row, ThreadMap
    from agent_tt.interop.langgraph.rows import CheckpointRow
    from agent_tt.interop.langgraph.tasks import Task
    from agent_tt.interop.langgraph.values import Values
    from agent_tt.model import Call, StepStatus

__all__ = ["MAIN_TRACK", "StepMaker"]

MAIN_TRACK = "main"
"""The track of the graph itself; a subgraph's is its namespace."""


@dataclass(frozen=True, slots=True)
class StepMaker:
    """Makes the steps of one branch.

    Attributes:
        thread: the thread's structure.
        values: its values.
        branch_of: the run that a step number first belonged to.
        inherited: up to which number steps are shared with the parent run.
        effects: what the settings say that tools do.
    """

    thread: ThreadMap
    values: Values
    branch_of: Callable[[int], str]
    inherited: int
    effects: Mapping[str, ToolEffect] = field(default_factory=dict)

    def step(self, row: Row) -> Step:
        """The step of a row."""
        # Without arguments: they take the whole state before, and a list of steps shows only kinds and counts.
        calls = self._calls(row, self._maker(row, with_args=False))
        status, error = self._outcome(row)
        before, own = row.before, row.checkpoint
        ended = own.time_us if own is not None else None
        started = ended if before is None or (own is not None and own.source != "loop") else before.time_us
        return Step(
            number=row.number,
            name=self._name(row),
            status=status,
            kind=strongest(calls),
            agent=node_of(row.namespace) if row.namespace else None,
            lane=lane_of(row.namespace),
            parent=row.parent,
            started_us=started,
            ended_us=ended,
            tokens_in=tokens(calls, CallFacts.tokens_in),
            tokens_out=tokens(calls, CallFacts.tokens_out),
            error=error,
            track=row.namespace or MAIN_TRACK,
            seq=row.seq,
            inherited=row.number <= self.inherited,
            decision=decision(calls),
            calls=len(calls),
            extra=self._extra(row),
        )

    def calls(self, row: Row) -> list[Call]:
        """The calls of a row, with their arguments, which are shared with states: never change them."""
        return self._calls(row, self._maker(row))

    def _maker(self, row: Row, *, with_args: bool = True) -> CallMaker:
        before = row.before
        if before is None:
            return CallMaker(row.number, self.values.written, dict, with_args=with_args, effects=self.effects)

        def inside(task: Task) -> Iterator[Wire]:
            for inner in self.thread.tasks_inside(before, task):
                yield from map(self.values.written, inner.results)

        seen = partial(self.values.state, self.thread, before)
        return CallMaker(row.number, self.values.written, seen, inside, with_args, self.effects, self._nodes(row))

    def _calls(self, row: Row, maker: CallMaker) -> list[Call]:
        if row.checkpoint is not None and row.checkpoint.source == "input" and not row.namespace:
            return maker.of_input(self.values.input(row.checkpoint))
        nodes = self._nodes(row)
        lane = lane_of(row.namespace)
        names = lanes_of(row.tasks, nodes, lane)
        if row.checkpoint is not None:
            return maker.of_results(row.tasks, names) if row.tasks else maker.of_told(row.checkpoint.told_writes, lane)
        return maker.of_questions(row.tasks, names) if row.attempt else maker.of_everything(row.tasks, names)

    def _nodes(self, row: Row) -> Nodes:
        """What the checkpoint before says about a row's tasks; read only if their paths do not tell."""
        if row.before is None or all(task.node is not None for task in row.tasks):
            return Nodes()
        return self.values.facts(self.thread, row.before).nodes

    def _name(self, row: Row) -> str:
        own = row.checkpoint
        if own is not None and own.source != "loop":
            return own.source
        names = numbered(task.name(nodes) for nodes in (self._nodes(row),) for task in row.tasks)
        if not names and own is not None:
            names = numbered(node for node, _ in own.told_writes) or self.values.nodes_run(self.thread, own)
        return ", ".join(names) or "loop"

    def _outcome(self, row: Row) -> tuple[StepStatus, ErrorInfo | None]:
        if row.checkpoint is not None:
            return "ok", None
        (task,) = row.tasks
        if task.error is not None and (row.attempt or not task.results):
            return "error", error_info(self.values.written(task.error))
        if task.results and not row.attempt:
            return "ok", None
        return "interrupted", None

    def _extra(self, row: Row) -> dict[str, Wire]:
        own = row.checkpoint
        extra: dict[str, Wire] = {
            StepFacts.checkpoint_id.key: own.id if own is not None else None,
            StepFacts.parent_checkpoint_id.key: own.parent
            if own is not None
            else row.before.id
            if row.before is not None
            else None,
            StepFacts.source.key: own.source if own is not None else "task",
            StepFacts.next.key: self._next(own),
            StepFacts.langgraph_step.key: own.superstep if own is not None else None,
            StepFacts.checkpoint_ns.key: row.namespace,
            StepFacts.branch.key: self.branch_of(row.number),
        }
        if own is not None:
            extra |= StepFacts.rebuilt.entry([*own.delta_counts]) if own.delta_counts else {}
        else:
            (task,) = row.tasks
            StepFacts.task_id.put(extra, task.id or None)
            StepFacts.attempt.put(extra, row.attempt)
            if not row.attempt:
                StepFacts.pending_writes.put(extra, self._pending(task))
        return extra

    def _next(self, own: CheckpointRow | None) -> Wire:
        """List the nodes that run next. Empty at the end of the run; None where this is unknown."""
        following = None if own is None else self.values.facts(self.thread, own).next
        return None if following is None else [*following]

    def _pending(self, task: Task) -> list[Wire]:
        """What a task wrote that no checkpoint has taken in: pairs of channel and value."""
        visible = [write for write in task.results if not is_internal(write.channel)]
        return [[write.channel, self.values.written(write)] for write in visible]
