"""Which runs are threads of LangGraph, kept by us or by another system."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.model.runs import Run
    from agent_tt.model.steps import Step

__all__ = ["is_in_database", "is_thread"]


def is_thread(steps: Iterable[Step]) -> bool:
    """Whether a run is a LangGraph thread: its steps end with checkpoints of a graph."""
    return any(step.facts.checkpoint_id is not None for step in steps)


def is_in_database(run: Run) -> bool:
    """Whether a run is a thread of a LangGraph database: it is copied before it is forked."""
    return run.read_only and run.origin.get("system") == "LangGraph"
