"""What is worth knowing of a replay although it is not a divergence, and which of it makes a reservation."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass

__all__ = ["RESERVATIONS", "Note", "NoteKind", "Notes"]

NoteKind: TypeAlias = Literal[
    "lane moved",
    "taken from sibling",
    "unreliable",
    "order relaxed",
    "cancelled before its answer",
    "state differs",
    "edited",
    "not covered",
    "not reached",
    "another run",
    "no input",
    "nothing recorded",
    "end not recorded",
    "tool not recorded",
    "incomplete recording",
    "call not matched",
    "kept elsewhere",
    "no key",
]

RESERVATIONS: Final[frozenset[NoteKind]] = frozenset(
    {
        "unreliable",  # answers may have gone to the wrong caller
        "order relaxed",  # answers reached the agent in another order than the recorded one
        "cancelled before its answer",  # the agent gave up on an answer that it waited for when it was recorded
        "state differs",  # a state on the way was another one, although the last one was not
        "not covered",  # something may have happened that the replay does not see
        "another run",  # a run that the same process recorded, and that this one may depend on, went otherwise
        "no input",  # what the agent read was not recorded, so it read something else
        "nothing recorded",  # no call was recorded, so none was compared
        "tool not recorded",  # the conversation shows that it ran, so it may have run again, and gave what it gave now
        "incomplete recording",  # nothing could be written from some step on, so what came after is not known
        "end not recorded",  # the recorded run broke off, so how it would have ended is not known
        "call not matched",  # a function was named to be recorded, and no call of it was seen
        "kept elsewhere",  # something holds a function where its calls cannot be seen
        "no key",  # whether the personal data that the program brought is the recorded one cannot be known
    }
)
"""Notes that make a replay "as recorded, with reservations": less is known than "as recorded" says.

The others take nothing away from it. `lane moved` and `taken from sibling` are exact answers to exact questions, and
are `unreliable` too where another lane asked the same; `edited` is how the fork was recorded; `not reached` is about
the debugger that was asked for.
"""


@dataclass(frozen=True, slots=True)
class Note:
    """One note.

    Attributes:
        kind: what it is about.
        text: one line.
        count: how often it was noted.
    """

    kind: NoteKind
    text: str
    count: int = 1

    @property
    def is_reservation(self) -> bool:
        """Whether less is known because of it than "as recorded" says."""
        return self.kind in RESERVATIONS


class Notes:
    """Collects notes, from any thread and under any lock."""

    def __init__(self) -> None:
        self._noted: deque[tuple[NoteKind, str]] = deque()

    def add(self, kind: NoteKind, text: str) -> None:
        """Note something; the same again is counted."""
        self._noted.append((kind, text))

    def all(self) -> tuple[Note, ...]:
        """The notes, each once, in the order in which they were first noted."""
        return tuple(Note(kind, text, count) for (kind, text), count in Counter(list(self._noted)).items())
