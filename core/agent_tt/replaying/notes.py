"""What is worth knowing of a replay although it is no divergence."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Note", "NoteKind", "Notes"]

NoteKind: TypeAlias = Literal[
    "lane moved",
    "taken from sibling",
    "unreliable",
    "order relaxed",
    "cancelled before its answer",
    "state differs",
    "outcome differs",
    "edited",
    "not covered",
    "not reached",
    "another run",
    "no input",
]


@dataclass(frozen=True, slots=True)
class Note:
    """One note.

    Attributes:
        kind: what it is about; `unreliable` says that answers may have gone to the wrong caller.
        text: one line.
        count: how often it was noted.
    """

    kind: NoteKind
    text: str
    count: int = 1


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
