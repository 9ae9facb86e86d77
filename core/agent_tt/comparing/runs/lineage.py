"""How many steps two runs share because one was forked from the other, or both from a third."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import NotFound

if TYPE_CHECKING:
    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource


def shared_by_lineage(source: RunSource, a: Run, b: Run) -> int:
    """Count the leading steps that two runs of one source have in common as a fork has them in common with its parent.

    Returns:
        The number of the last shared step; 0 when the runs are not related.
    """
    upto_a = _ancestors(source, a)
    upto_b = _ancestors(source, b)
    return max((min(upto, upto_b[run_id]) for run_id, upto in upto_a.items() if run_id in upto_b), default=0)


def _ancestors(source: RunSource, run: Run) -> dict[str, int]:
    """A run and those it was forked from, each with the last of its steps that this run holds."""
    upto = run.steps
    found = {run.id: upto}
    while run.parent is not None and run.fork_step is not None and run.parent not in found:
        upto = min(upto, run.fork_step)
        found[run.parent] = upto
        try:
            run = source.run(run.parent)
        except NotFound:  # the parent was deleted: what it shared with others is still known by number
            break
    return found


def shared_by_checkpoint(steps_a: list[Step], steps_b: list[Step]) -> int:
    """Count the leading steps that are the same checkpoints of another system's file: branches of one thread."""
    shared = 0
    for step_a, step_b in zip(steps_a, steps_b, strict=False):
        checkpoint = step_a.facts.checkpoint_id
        if checkpoint is None or checkpoint != step_b.facts.checkpoint_id:
            break
        shared += 1
    return shared
