"""What the browser says about the run under its cursor, read once and cheaply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.comparing.steps.outcome import final_state, last_words
from agent_tt.errors import AgentTTError, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import Note, Run, Step
    from agent_tt.protocols import RunSource

MOST_COMPARED: Final = 2_000
"""Forks of more steps than this are not compared with their parent for a mere preview."""


@dataclass(frozen=True, slots=True)
class Preview:
    """One run at a glance.

    Attributes:
        run: The run.
        steps: All its steps.
        answer: Its last words, None where it has none.
        parent: The run that it was forked from, if that is still there.
        diverged_at: The step at which it parts from its parent; None where it does not, or where
            that was not worked out.
        writes: Names of the steps in which it wrote, each once, in order.
        denied: Tools that the fork's policy held back.
        notes: What was noted about the run and its states.
    """

    run: Run
    steps: tuple[Step, ...]
    answer: str | None = None
    parent: Run | None = None
    diverged_at: int | None = None
    writes: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def read_preview(source: RunSource, run: Run, *, cancelled: Callable[[], bool] = lambda: False) -> Preview:
    """Read the preview of a run.

    Raises:
        Interrupted: It was cancelled.
        AgentTTError: The run cannot be read.
    """
    steps = tuple(source.steps(run.id))
    if cancelled():
        raise Interrupted("the preview was given up")
    parent = _parent(source, run)
    diverged_at: int | None = None
    denied: tuple[str, ...] = ()
    if parent is not None and max(run.steps, parent.steps) <= MOST_COMPARED:
        comparison = compare_runs(source, parent, source, run, cancelled=cancelled)
        diverged_at = comparison.diverged_at
        denied = tuple(comparison.outcome_b.denied)
    writes = tuple(dict.fromkeys(step.name for step in steps if step.kind == "write"))
    return Preview(
        run=run,
        steps=steps,
        answer=last_words(final_state(source, run.id)),
        parent=parent,
        diverged_at=diverged_at,
        writes=tuple(name for name in writes if name not in denied),
        denied=denied,
        notes=tuple(note for note in source.notes(run.id) if note.kind == "note"),
    )


def _parent(source: RunSource, run: Run) -> Run | None:
    if run.parent is None:
        return None
    try:
        return source.run(run.parent)
    except AgentTTError:  # it may have been deleted; the fork stands on its own
        return None
