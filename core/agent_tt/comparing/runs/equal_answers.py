"""The answers of several runs, equal ones under one letter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from agent_tt.model import Run

__all__ = ["NONE", "NO_ANSWER", "Answer", "AnswerGroups", "group_answers", "why_not"]

K = TypeVar("K", bound="Hashable")

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_MORE: Final = "+"
"""Stands for every answer beyond as many as there are letters."""

NONE: Final = "-"
"""Stands for every answer of a run that failed, and for none."""

NO_ANSWER: Final = "no answer"
"""The words for a run that ended well and said nothing."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Several runs that ended with the same answer.

    Attributes:
        letter: what stands for it; `-` of runs that did not succeed.
        count: how many runs.
        text: what they came to.
        failed: whether it is an error.
    """

    letter: str
    count: int
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class AnswerGroups(Generic[K]):
    """All that came out, grouped.

    Attributes:
        groups: answers, most frequent first, then what went wrong.
        letters: the letter of each run that came to an answer, by what it is known by.
    """

    groups: tuple[Answer, ...]
    letters: Mapping[K, str]

    @property
    def different(self) -> int:
        """How many different answers there are."""
        return sum(not group.failed for group in self.groups)

    @property
    def succeeded(self) -> int:
        """Among how many."""
        return len(self.letters)


def group_answers(said: Mapping[K, str], wrong: Iterable[str] = ()) -> AnswerGroups[K]:
    """Put equal answers under letters, the most frequent first; of equally frequent ones the earlier.

    Args:
        said: the answers of the runs that ended well, by what each run is known by.
        wrong: for each run that did not, why.
    """
    counts = Counter(said.values())
    order = [text for text, _ in counts.most_common()]
    names = {text: _LETTERS[index] if index < len(_LETTERS) else _MORE for index, text in enumerate(order)}
    groups = [Answer(names[text], counts[text], text) for text in order]
    groups += [Answer(NONE, count, text, failed=True) for text, count in Counter(wrong).most_common()]
    return AnswerGroups(tuple(groups), {which: names[text] for which, text in said.items()})


def why_not(run: Run | None, status: str) -> str:
    """Why a run came to no answer: its error in one line, else the word for how it ended."""
    error = run.error if run is not None else None
    return error.short if error is not None else status
