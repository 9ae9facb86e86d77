"""One run of a sweep at a glance: its steps, and where it parts from the run that it stands beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.errors import AgentTTError, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.sweeping.matrix import Matrix, Sample

__all__ = ["Chosen", "chosen_sample", "neighbour", "read_chosen"]

_MOST_COMPARED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run of a sweep.

    Attributes:
        run: The run.
        steps: All its steps.
        beside: The run that it is compared with; None where there is none.
        beside_words: What that one is: `0.4 / 1`.
        diverged_at: The step at which they part; None where they do not.
        because: Why they part.
    """

    run: Run
    steps: tuple[Step, ...]
    beside: Run | None = None
    beside_words: str = ""
    diverged_at: int | None = None
    because: str = ""


def chosen_sample(matrix: Matrix, cell: int, sample: int) -> Sample | None:
    """The sample at a place of the matrix, both from 0; None where there is none."""
    if 0 <= cell < len(matrix.cells) and 0 <= sample < len(matrix.cells[cell].samples):
        return matrix.cells[cell].samples[sample]
    return None


def neighbour(matrix: Matrix, cell: int, sample: int) -> tuple[Run, str] | None:
    """The run beside it, with what it is called: another sample of the same values, else one of other values."""
    row = matrix.cells[cell]
    beside = [(row, each) for each in row.samples if each.number != sample + 1]
    beside += [
        (other, each) for other in matrix.cells if other is not row for each in other.samples[sample : sample + 1]
    ]
    for other, each in beside:
        if each.is_done and each.run is not None:
            return each.run, f"{', '.join(other.labels) or 'all'} / {each.number}"
    return None


def read_chosen(
    source: RunSource, matrix: Matrix, cell: int, sample: int, *, cancelled: Callable[[], bool] = lambda: False
) -> Chosen | None:
    """Read what is shown of the run at a place; None where none was begun.

    Raises:
        Interrupted: It was cancelled.
        AgentTTError: The run cannot be read.
    """
    chosen = chosen_sample(matrix, cell, sample)
    if chosen is None or chosen.run is None:
        return None
    run = chosen.run
    steps = tuple(source.steps(run.id))
    if cancelled():
        raise Interrupted("another cell was chosen")
    found = neighbour(matrix, cell, sample) if chosen.is_done else None
    if found is None or max(len(steps), found[0].steps) > _MOST_COMPARED:
        return Chosen(run, steps)
    beside, words = found
    try:
        comparison = compare_runs(source, beside, source, run, cancelled=cancelled)
    except Interrupted:
        raise
    except AgentTTError:  # a run beside it that cannot be read says nothing about this one
        return Chosen(run, steps)
    return Chosen(run, steps, beside, words, comparison.diverged_at, comparison.because)
