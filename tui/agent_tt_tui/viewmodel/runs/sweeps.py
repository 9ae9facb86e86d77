"""What is said of a sweep: equal answers under letters, rates, what is left; and one of its runs at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import summary
from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.comparing.runs.equal_answers import group_answers, why_not
from agent_tt.comparing.steps.outcome import NO_ANSWER
from agent_tt.errors import AgentTTError, Interrupted
from agent_tt.querying.expressions.values import Missing
from agent_tt_tui import format as fmt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.comparing.runs.equal_answers import Answer
    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.sweeping.matrix import Matrix, Rate, Sample

__all__ = [
    "Answers",
    "Chosen",
    "answers_of",
    "chosen_sample",
    "interval",
    "left",
    "neighbour",
    "place",
    "read_chosen",
    "spent",
]

_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class Answers:
    """All that came out, grouped.

    Attributes:
        about: the path that was asked for, or `answer`.
        groups: answers, most frequent first, then what went wrong.
        letters: the letter of each sample, by cell and sample.
        different: how many different answers there are.
        succeeded: among how many.
    """

    about: str
    groups: tuple[Answer, ...]
    letters: Mapping[tuple[int, int], str]
    different: int
    succeeded: int


def answers_of(matrix: Matrix, outcome: int | None = None) -> Answers:
    """Group what the samples came to.

    Args:
        matrix: The sweep.
        outcome: The outcome that they are grouped by, from 0; None for the first path that was asked for, else their
            last words.
    """
    predicates = matrix.definition.predicates
    paths = [index for index, each in enumerate(predicates) if not each.compares]
    asked = outcome if outcome is not None else paths[0] if paths else None
    texts: dict[tuple[int, int], str | None] = {}
    wrong: list[str] = []
    for cell in matrix.cells:
        for sample in cell.samples:
            if not sample.is_done:
                continue
            if sample.status != "succeeded":
                wrong.append(why_not(sample.run, sample.status)[:_LONGEST])
                continue
            compares = asked is not None and predicates[asked].compares
            texts[cell.cell.number, sample.number] = _text(sample, asked, compares=compares)
    found = group_answers(texts, wrong)
    about = "answer" if asked is None else predicates[asked].text
    return Answers(about, found.groups, found.letters, found.different, found.succeeded)


def _text(sample: Sample, asked: int | None, *, compares: bool) -> str | None:
    """What a sample came to, in words; None where nobody knows."""
    if asked is not None and compares:
        return {True: "holds", False: "does not hold", None: None}[sample.holds[asked]]
    if not sample.knows_end:
        return None
    if asked is None:
        return sample.answer[:_LONGEST] if sample.answer else NO_ANSWER
    found = sample.found[asked]
    return "nothing there" if isinstance(found, Missing) else summary(found, _LONGEST)


def interval(rate: Rate) -> str:
    """`23-88 %`: where the true rate lies."""
    low, high = rate.interval
    return f"{round(100 * low)}-{round(100 * high)} %"


def place(matrix: Matrix, cell: int, sample: int) -> str:
    """`0.4 / 4`: the values of a cell and the sample."""
    return f"{', '.join(matrix.cells[cell].labels) or 'all'} / {sample + 1}"


def left(matrix: Matrix) -> str:
    """`12 s left`; "" where that cannot be told, or nothing is."""
    if matrix.left_us is None or matrix.total.done == matrix.total.samples:
        return ""
    return f"{fmt.duration(matrix.left_us / 1e6)} left"


def spent(matrix: Matrix) -> str:
    """`$0.018 of $0.05`, `$0.018+` where calls without a known price are to be added; "" where nobody knows."""
    limit = matrix.definition.max_cost
    if matrix.spent_usd is None and not matrix.unpriced:
        return "" if limit is None else f"of {fmt.cost(limit)}"
    return fmt.cost(matrix.spent_usd or 0.0, matrix.unpriced) + ("" if limit is None else f" of {fmt.cost(limit)}")


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
