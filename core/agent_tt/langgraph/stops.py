"""Tasks of a thread that a question or an error ended: each has a step without a checkpoint; how the thread stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.interop.langgraph.calls import error_info
from agent_tt.interop.langgraph.runs import standing
from agent_tt.interop.langgraph.tasks import Nodes, tasks_of
from agent_tt.interop.threads import shown
from agent_tt.interop.threads.entries import track_of
from agent_tt.interop.threads.thread_steps import stopped_at
from agent_tt.interop.threads.writes import rows_of
from agent_tt.model.facts import StepFacts
from agent_tt.store.liveness import now_us
from agent_tt.store.threads import ThreadStep

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.tasks import Task
    from agent_tt.interop.threads.entries import Entry
    from agent_tt.interop.threads.writes import Write
    from agent_tt.model import ErrorInfo, RunStatus, Step, StepStatus

__all__ = ["Stop", "Stops", "outcome_of"]

ERROR: Final = "__error__"
QUESTION: Final = "__interrupt__"


@dataclass(frozen=True, slots=True)
class Stop:
    """How a task ended.

    Attributes:
        task: its id.
        status, error: as its step has them.
        run, step: the row number of the run with its step, and that one's number; None where it has none yet.
    """

    task: str
    status: StepStatus
    error: ErrorInfo | None
    run: int | None = None
    step: int | None = None


class Stops:
    """The stops of one thread, as far as they have steps."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, Stop]] = {}

    def follow(self, step: Step, run: int) -> None:
        """Learn of a step that is stored in the run of that row number."""
        stopped = stopped_at(step)
        if stopped is not None:
            stop = Stop(step.facts.task_id or "", step.status, step.error, run, step.number)
            self._known.setdefault(stopped, {})[stop.task] = stop

    def note(self, entry: Entry, stop: Stop) -> None:
        """Learn how a task ended that ran from a checkpoint."""
        self._known.setdefault((entry.namespace, entry.id), {})[stop.task] = stop

    def has(self, entry: Entry) -> bool:
        """Whether a task stopped that ran from a checkpoint."""
        return (entry.namespace, entry.id) in self._known

    def known(self, entry: Entry, task: str) -> Stop | None:
        """How a task ended that ran from a checkpoint, as its step says; None where it has none."""
        return self._known.get((entry.namespace, entry.id), {}).get(task)

    def new(
        self,
        entry: Entry,
        facts: StepFacts,
        writes: Sequence[Write],
        brought: Collection[str],
        inside: Callable[[Entry, Task, str], Iterator[Entry]],
    ) -> Iterator[tuple[Stop, ThreadStep]]:
        """Give the tasks that stopped otherwise than is known, with the step that each has, or is to have.

        A task that passed on what stopped a node of its subgraph has none: that has one itself.

        Args:
            entry: the checkpoint that they ran from.
            facts: its facts.
            writes: what they wrote.
            brought: the channels of what was written just now; nothing where all of it was.
            inside: gives the checkpoints of the subgraphs that a task ran from there.
        """
        rows = rows_of(writes, entry.namespace, entry.id)
        nodes = Nodes(tuple(map(str, facts.next)))
        for task in tasks_of(rows):
            name = task.name(nodes)
            if not task.stopped or (self._known and any(self.has(inner) for inner in inside(entry, task, name))):
                continue
            asks = task.error is None or (QUESTION in brought and ERROR not in brought)
            error = None if asks or task.error is None else error_info(rows[task.error].value)
            stop = Stop(task.id, "interrupted" if asks else "error", error)
            known = self.known(entry, task.id)
            if known is None or (known.status, known.error) != (stop.status, error):
                yield stop, _step(entry, facts, name, stop)


def outcome_of(
    entry: Entry, facts: StepFacts, writes: Sequence[Write], brought: Collection[str], *, was_running: bool
) -> tuple[RunStatus, ErrorInfo | None, dict[str, Wire]]:
    """How a thread stands at its latest checkpoint, the error that ended it, and where it stands if it is interrupted.

    Args:
        entry: the checkpoint.
        facts: its facts.
        writes: what tasks wrote on top of it.
        brought: the channels of what was written just now; nothing where all of it was.
        was_running: whether it was running until then.
    """
    if not any(write.number < 0 for write in writes):
        return ("running" if facts.next else "succeeded"), None, {}
    rows = rows_of(writes, entry.namespace, entry.id)
    following = tuple(map(str, facts.next))
    tasks, nodes = tasks_of(rows), Nodes(following)
    asking = [task.name(nodes) for task in tasks if not task.results and task.interrupts is not None]
    status, error = shown.run_status(
        tasks, lambda task: error_info(rows[task.error].value) if task.error else None, following
    )
    goes_on = "__resume__" in brought or (was_running and bool(brought))
    if following and goes_on and not {ERROR, QUESTION} & set(brought):
        return "running", None, {}  # what stopped it before is answered, or runs again
    return status, error, standing(asking, following)


def _step(entry: Entry, facts: StepFacts, name: str, stop: Stop) -> ThreadStep:
    extra: dict[str, Wire] = {
        StepFacts.source.key: "task",
        StepFacts.parent_checkpoint_id.key: entry.id,
        StepFacts.task_id.key: stop.task,
    }
    if entry.namespace:
        extra |= StepFacts.checkpoint_ns.entry(entry.namespace)
    return ThreadStep(
        name=name,
        track=track_of(entry.namespace),
        extra=extra,
        agent=shown.agent_of(entry.namespace),
        status=stop.status,
        started_us=shown.time_us(facts.checkpoint_ts),
        ended_us=now_us(),
        error=stop.error,
    )
