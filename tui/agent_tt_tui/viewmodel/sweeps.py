"""What the command and the screen of a sweep both say: equal answers under letters, rates, what is left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.querying.expressions.values import Missing
from agent_tt_tui import format as fmt

if TYPE_CHECKING:
    from agent_tt.sweeping.matrix import Matrix, Rate, Sample

__all__ = ["Answer", "Answers", "answers_of", "interval", "left", "percent", "place", "spent"]

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_LONGEST: Final = 400
_MORE: Final = "+"
NONE: Final = "-"
"""Stands for every answer of a run that failed, and for none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Several samples that came to the same.

    Attributes:
        letter: what stands for it in the matrix; `-` of a run that did not succeed.
        count: how many samples.
        text: what they came to.
        failed: whether it is an error.
    """

    letter: str
    count: int
    text: str
    failed: bool = False


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
    letters: dict[tuple[int, int], str]
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
    wrong: Counter[str] = Counter()
    for cell in matrix.cells:
        for sample in cell.samples:
            if not sample.is_done:
                continue
            if sample.status != "succeeded":
                wrong[_why(sample)] += 1
                continue
            texts[cell.cell.number, sample.number] = _text(sample, asked)
    counts = Counter(texts.values())
    order = [text for text, _ in counts.most_common()]
    names = {text: _LETTERS[index] if index < len(_LETTERS) else _MORE for index, text in enumerate(order)}
    groups = [Answer(names[text], counts[text], text) for text in order]
    groups += [Answer(NONE, count, text, failed=True) for text, count in wrong.most_common()]
    about = "answer" if asked is None else predicates[asked].text
    letters = {where: names[text] for where, text in texts.items()}
    return Answers(about, tuple(groups), letters, len(order), len(texts))


def _text(sample: Sample, asked: int | None) -> str:
    if asked is None:
        return sample.answer[:_LONGEST] if sample.answer else "no answer"
    if sample.holds[asked] is not None:
        return "holds" if sample.holds[asked] else "does not hold"
    found = sample.found[asked]
    return "nothing there" if isinstance(found, Missing) else summary(found, _LONGEST)


def _why(sample: Sample) -> str:
    error = sample.run.error if sample.run is not None else None
    return error.short[:_LONGEST] if error is not None else sample.status


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
    """`$0.018 of $0.05`; "" where nobody knows."""
    limit = matrix.definition.max_cost
    if matrix.spent_usd is None:
        return "" if limit is None else f"of {fmt.cost(limit)}"
    return fmt.cost(matrix.spent_usd) + ("" if limit is None else f" of {fmt.cost(limit)}")
