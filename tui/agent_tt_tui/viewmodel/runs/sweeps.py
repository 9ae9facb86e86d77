"""What the command and the screen of a sweep both say: equal answers under letters, rates, what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.comparing.runs.equal_answers import NO_ANSWER, group_answers, why_not
from agent_tt.querying.expressions.values import Missing
from agent_tt_tui import format as fmt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.comparing.runs.equal_answers import Answer
    from agent_tt.sweeping.matrix import Matrix, Rate, Sample

__all__ = ["Answers", "answers_of", "interval", "left", "percent", "place", "spent"]

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
    texts: dict[tuple[int, int], str] = {}
    wrong: list[str] = []
    for cell in matrix.cells:
        for sample in cell.samples:
            if not sample.is_done:
                continue
            if sample.status != "succeeded":
                wrong.append(why_not(sample.run, sample.status)[:_LONGEST])
                continue
            texts[cell.cell.number, sample.number] = _text(sample, asked)
    found = group_answers(texts, wrong)
    about = "answer" if asked is None else predicates[asked].text
    return Answers(about, found.groups, found.letters, found.different, found.succeeded)


def _text(sample: Sample, asked: int | None) -> str:
    if asked is None:
        return sample.answer[:_LONGEST] if sample.answer else NO_ANSWER
    if sample.holds[asked] is not None:
        return "holds" if sample.holds[asked] else "does not hold"
    found = sample.found[asked]
    return "nothing there" if isinstance(found, Missing) else summary(found, _LONGEST)


def percent(share: float) -> str:
    """`60 %`."""
    return f"{round(100 * share)} %"


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
