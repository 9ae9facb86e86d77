"""The branches of all threads as `Run`s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.interop.langgraph.branches import branch_names, run_id_of
from agent_tt.interop.langgraph.calls import error_info
from agent_tt.interop.langgraph.layout import ThreadMap
from agent_tt.model import Run
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.layout import Extent
    from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows
    from agent_tt.interop.langgraph.values import Values
    from agent_tt.model import ErrorInfo, RunStatus

__all__ = ["Branch", "last_checkpoints", "read_branches", "run_of", "standing"]

_OWN_METADATA: Final = frozenset(
    {
        "source",
        "step",
        "parents",
        "writes",
        "counters_since_delta_snapshot",
        "thread_id",
        "checkpoint_ns",
        "checkpoint_id",
    }
)
"""Metadata that LangGraph writes for itself; the rest is the user's."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a thread.

    Attributes:
        id: the run id.
        thread: the thread that it is a branch of.
        tip: its last checkpoint, None for a thread of which only subgraphs are left.
        started_us: when its first own checkpoint was made; 0 if the file does not say.
        parent: the id of the branch that it left, None for the oldest.
    """

    id: str
    thread: ThreadMap
    tip: CheckpointRow | None
    started_us: int
    parent: str | None = None

    @property
    def last(self) -> CheckpointRow | None:
        """The checkpoint that tells how it ended, None where there is none."""
        return self.tip or self.thread.newest_stray()


def read_branches(threads: Mapping[str, ThreadRows], before: Iterable[Branch] = ()) -> dict[str, Branch]:
    """All branches of all threads by run id, the one that began last first.

    Args:
        threads: the threads.
        before: branches of an earlier version, whose threads are taken over where no row of them differs.
    """
    known = {id(branch.thread.rows): branch.thread for branch in before}
    taken = set(threads)
    branches: list[Branch] = []
    for thread_id, rows in threads.items():
        thread = known.get(id(rows)) or ThreadMap(rows)
        ways = thread.ways
        tips = [way.tip for way in ways if way.tip is not None]
        names = {tip.id: name for name, tip in branch_names(thread_id, tips, taken).items()}
        for tip, own, _, parent in ways:
            if tip is None:
                strays = [checkpoint for checkpoints in thread.strays.values() for checkpoint in checkpoints]
                branches.append(Branch(run_id_of(thread_id, taken), thread, None, _first_made(strays)))
            else:
                left = names[parent.id] if parent is not None else None
                branches.append(Branch(names[tip.id], thread, tip, _first_made(own), left))
    branches.sort(key=lambda branch: (branch.started_us, branch.tip.id if branch.tip is not None else ""), reverse=True)
    return {branch.id: branch for branch in branches}


def _first_made(checkpoints: Iterable[CheckpointRow]) -> int:
    return min((at for checkpoint in checkpoints if (at := checkpoint.time_us) is not None), default=0)


def last_checkpoints(branches: Iterable[Branch]) -> list[CheckpointRow]:
    """The checkpoints that tell how branches ended."""
    return [last for branch in branches if (last := branch.last) is not None]


def run_of(branch: Branch, extent: Extent, values: Values, path: Path) -> Run:
    """A branch as a `Run`.

    The file does not say how a run ended; its last checkpoint tells. Nothing is left to run: it succeeded. A task
    failed: it failed. A question waits, or nothing that came next was begun: it was interrupted (`interrupt_before` and
    a process that ended between two steps look alike). Some of the tasks that came next finished and others did not:
    it crashed. What comes next cannot be read (a file older than checkpoint 4, a pickled or encrypted one): unknown.
    """
    status, error, stands = _outcome(branch, values)
    origin = {"system": "LangGraph", "file": str(path), "thread": branch.thread.rows.thread}
    tip, is_fork = branch.tip, branch.parent is not None
    return Run(
        id=branch.id,
        name=branch.id,
        status=status,
        started_us=branch.started_us,
        ended_us=extent.ended_us,
        steps=extent.steps,
        parent=branch.parent,
        fork_step=extent.fork if is_fork else None,
        error=error,
        metadata={} if tip is None else {**_user_metadata(tip), **stands},
        read_only=True,
        origin=origin if tip is None else {**origin, "checkpoint": tip.id},
    )


def _outcome(branch: Branch, values: Values) -> tuple[RunStatus, ErrorInfo | None, Mapping[str, Wire]]:
    """How a branch ended, the error that ended it, and where it stands if it was interrupted."""
    last = branch.last
    if last is None:
        return "interrupted", None, {}
    tasks = branch.thread.tasks(last)
    unfinished = [task for task in tasks if not task.results]
    for task in unfinished:
        if task.error is not None:
            return "failed", error_info(values.written(task.error)), {}
    facts = values.facts(branch.thread, last)
    asking = [task.name(facts.nodes) for task in unfinished if task.interrupts is not None]
    if asking:
        return "interrupted", None, standing(asking, facts.next or ())
    if facts.next is None and not unfinished:
        return "unknown", None, {}
    if facts.next is not None and not facts.next:
        return "succeeded", None, {}
    if tasks or branch.thread.guests(last):
        return "crashed", None, {}
    return "interrupted", None, standing((), facts.next or ())


def standing(asking: Sequence[str], following: Sequence[str]) -> dict[str, Wire]:
    """What is said of a thread that was interrupted.

    Args:
        asking: the nodes that asked a person.
        following: the nodes that run next.
    """
    return {
        **(RunFacts.asks_in.entry(tuple(asking)) if asking else {}),
        **(RunFacts.stopped_before.entry(tuple(following)) if following else {}),
    }


def _user_metadata(tip: CheckpointRow) -> Mapping[str, Wire]:
    return {key: value for key, value in tip.metadata.items() if key not in _OWN_METADATA}
