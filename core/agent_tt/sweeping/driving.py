"""Beginning a sweep, or taking one up again, and driving it to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentFailed, Interrupted
from agent_tt.store import open_store
from agent_tt.store.file.provenance import check_made_here
from agent_tt.sweeping.definition import definition_of
from agent_tt.sweeping.matrix import MatrixReader
from agent_tt.sweeping.running import SweepDriver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.sweeping.definition import Definition
    from agent_tt.sweeping.matrix import Matrix
    from agent_tt.sweeping.plan import SweepPlan

__all__ = ["Claimed", "drive", "keep_sweep", "start_sweep", "take_up"]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A sweep that this process may drive now.

    Attributes:
        store: the file that it lies in.
        sweep_id: its id.
        definition: what it is.
    """

    store: Path
    sweep_id: str
    definition: Definition


def start_sweep(plan: SweepPlan) -> Claimed:
    """Write a planned sweep into the store, for this process to drive.

    Raises:
        Untrusted: the store came from elsewhere.
        StoreUnreadable: it cannot be written.
    """
    return Claimed(plan.first.store, _written(plan, driven=True), plan.definition)


def keep_sweep(plan: SweepPlan) -> str:
    """Write a planned sweep into the store, for another process to drive; gives its id.

    Raises:
        Untrusted: the store came from elsewhere.
        StoreUnreadable: it cannot be written.
    """
    return _written(plan, driven=False)


def _written(plan: SweepPlan, *, driven: bool) -> str:
    path = plan.first.store
    check_made_here(path, plan.run)
    store = open_store(path)
    try:
        definition = plan.definition.to_mapping()
        return store.begin_sweep(plan.run.id, plan.step, definition, driven=driven).id
    finally:
        store.close()


def take_up(path: Path, name: str, *, jobs: int | None = None, max_cost: float | None = None) -> Claimed:
    """Claim a sweep that nobody drives.

    Raises:
        RunNotFound: there is no such sweep.
        IsRunning: somebody drives it.
        UsageError: it cannot be taken by so many runs at a time.
        Untrusted: the store came from elsewhere.
    """
    store = open_store(path)
    try:
        sweep = store.sweep(name)
        check_made_here(path, store.run(sweep.run))
        definition = definition_of(sweep.definition).with_jobs(jobs, max_cost)
        store.claim_sweep(sweep.id, None if jobs is None and max_cost is None else definition.to_mapping())
    finally:
        store.close()
    return Claimed(path, sweep.id, definition)


def drive(
    claimed: Claimed,
    report: Callable[[Matrix], None] | None = None,
    stopping: Callable[[], None] | None = None,
) -> Matrix:
    """Drive a claimed sweep to its end; `report` and `stopping` are as of `SweepDriver.run`.

    Raises:
        Interrupted: it was stopped, or has cost as much as it may.
        AgentFailed: some samples crashed each time that they were started.
        AgentTTError: a run could not be begun.
    """
    ending = SweepDriver(claimed.store, claimed.sweep_id, claimed.definition).run(report, stopping)
    store = open_store(claimed.store, read_only=True)
    try:
        matrix = MatrixReader(store, claimed.sweep_id, claimed.definition).read()
    finally:
        store.close()
    name, done = matrix.sweep.name, f"{matrix.total.done} of {matrix.total.samples} runs are done"
    hint = f"`agent-tt sweep --resume {name}` goes on with the rest."
    if ending == "stopped":
        raise Interrupted(f"{name} was stopped: {done}", hint=hint)
    if ending == "too dear":
        raise Interrupted(
            f"{name} has cost ${matrix.spent_usd or 0:.2f}{'+' if matrix.unpriced else ''}, as much as it may: {done}",
            hint=f"`agent-tt sweep --resume {name} --max-cost USD` goes on with the rest.",
        )
    if ending == "given up":
        raise AgentFailed(f"{name}: some runs crashed each time that they were started; {done}", hint=hint)
    return matrix
