"""Dropping states of steps of a recorded run; the steps stay, and every other state is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import Refused
from agent_tt.redacting.beside import check_taken_in, remove_index
from agent_tt.store.dropping import drop_states
from agent_tt.store.liveness import now_us

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.model import Run

__all__ = ["drop_checkpoints"]


def drop_checkpoints(path: Path, run: Run, steps: Sequence[int], *, is_tried: bool = False) -> tuple[list[int], bool]:
    """Drop the states of some steps of a run, all of them or none; what goes is gone from free pages and log, too.

    Args:
        path: the store; nobody records into it.
        run: the run.
        steps: the steps; those that were dropped before are left as they are.
        is_tried: whether it is only tried, and nothing kept.

    Returns:
        The steps whose states went, or would; and whether what the file has let go is overwritten: False where somebody
        has the store open, and where it was only tried.

    Raises:
        Refused: the run is pinned, forks begin there, a run is being recorded, or a spill file waits.
        UsageError, StepNotFound: a step has no state of its own, or one that stays.
        Damaged: something cannot be read, so that it cannot be written anew.
    """
    check_taken_in(path)
    if run.pinned:
        raise Refused(f"{run.name} is pinned", runs=(run.name,), hint=f"`agent-tt unpin {run.name}` first.")
    return drop_states(path, run.id, steps, at=now_us(), is_tried=is_tried, besides=lambda: remove_index(path))
