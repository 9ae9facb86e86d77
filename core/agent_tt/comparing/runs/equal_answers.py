"""The answers of several runs, equal ones under one letter."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from agent_tt._dataclass import dataclass
from agent_tt.comparing.values.made_anew import with_one_form

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from agent_tt.model import Run

__all__ = ["NONE", "UNKNOWN", "Answer", "AnswerGroups", "group_answers", "why_not"]

K = TypeVar("K", bound="Hashable")

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_MORE: Final = "+"
"""Stands for every answer beyond as many as there are letters."""

NONE: Final = "-"
"""Stands for every answer of a run that failed, and for none."""

UNKNOWN: Final = "?"
"""Stands for the answers of runs that ended well, and of which nobody knows what they said: equal or not."""

_NOT_KNOWN: Final = "not known, as the state after the last step is not"


@dataclass(frozen=True, slots=True)
class Answer:
    """Several runs that ended with the same answer.

    Attributes:
        letter: what stands for it; `-` of runs that did not succeed, `?` of those whose answer is not known.
        count: how many runs.
        text: what they came to.
        failed: whether it is an error.
    """

    letter: str
    count: int
    text: str
    failed: bool = False

    @property
    def is_known(self) -> bool:
        """Whether it is an answer, and the same of all these runs."""
        return not self.failed and self.letter != UNKNOWN


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
        return sum(group.is_known for group in self.groups)

    @property
    def succeeded(self) -> int:
        """Among how many."""
        return sum(group.count for group in self.groups if group.is_known)


def group_answers(said: Mapping[K, str | None], wrong: Iterable[str] = ()) -> AnswerGroups[K]:
    """Put equal answers under letters, the most frequent first; of equally frequent ones the earlier.

    Answers that differ in ids, times or marks of redaction alone count as one (see `comparing.values.made_anew`), and
    the first of them stands for all.

    Args:
        said: the answers of the runs that ended well, by what each run is known by; None where that is not known.
        wrong: for each run that did not, why.
    """
    texts = [text for text in said.values() if text is not None]
    forms = {which: with_one_form(text) for which, text in said.items() if text is not None}
    counts = Counter(forms.values())
    names: dict[str, str] = {}
    for index, (form, _) in enumerate(counts.most_common()):
        names[form] = _LETTERS[index] if index < len(_LETTERS) else _MORE
    groups = [Answer(names[form], counts[form], text) for form, text in _first_texts(texts, names)]
    if len(texts) < len(said):
        groups.append(Answer(UNKNOWN, len(said) - len(texts), _NOT_KNOWN))
    errors = list(wrong)
    failures = Counter(map(with_one_form, errors))
    failed = _first_texts(errors, dict(failures.most_common()))
    groups += [Answer(NONE, failures[form], text, failed=True) for form, text in failed]
    letters = {which: names[forms[which]] if which in forms else UNKNOWN for which in said}
    return AnswerGroups(tuple(groups), letters)


def _first_texts(texts: Iterable[str], order: Iterable[str]) -> list[tuple[str, str]]:
    """For each form, in their order, the first of the texts that has it."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(with_one_form(text), text)
    return [(form, first[form]) for form in order]


def why_not(run: Run | None, status: str) -> str:
    """Why a run came to no answer: its error in one line, else the word for how it ended."""
    error = run.error if run is not None else None
    return error.short if error is not None else status
