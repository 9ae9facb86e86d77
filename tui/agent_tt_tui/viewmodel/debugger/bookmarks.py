"""The marks a person puts on steps: a letter each, kept in a store, or in memory where none takes them."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

from agent_tt.sources import marks_of

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource


class Bookmarks:
    """The bookmarks of one run."""

    def __init__(self, source: RunSource, run: Run) -> None:
        """Know none yet; `read` gets those that are in the store."""
        self._source = source
        self._run = run
        self._store = marks_of(source)
        self._ids: dict[int, int] = {}
        self.letters: dict[int, str] = {}
        """Step to letter."""

    @property
    def kept(self) -> bool:
        """Whether marks outlive the program."""
        return self._store is not None

    def read(self) -> None:
        """Read the marks in the store; those in memory stay."""
        if self._store is None:
            return
        found = [note for note in self._source.notes(self._run.id) if note.kind == "bookmark" and note.step is not None]
        self.letters = {note.step: note.body for note in found if note.step is not None}
        self._ids = {note.step: note.id for note in found if note.step is not None}

    def step_of(self, letter: str) -> int | None:
        """The step that a letter marks."""
        return next((step for step, mark in self.letters.items() if mark == letter), None)

    def before(self, number: int) -> int | None:
        """The nearest marked step before a step."""
        return max((step for step in self.letters if step < number), default=None)

    def toggle(self, number: int) -> str | None:
        """Mark a step with the next free letter, or take its mark away.

        Returns:
            The letter, or None where a mark was taken away or all letters are in use.
        """
        if number in self.letters:
            if self._store is not None:
                self._store.delete_note(self._ids[number])
                del self._ids[number]
            del self.letters[number]
            return None
        letter = next((letter for letter in ascii_lowercase if letter not in self.letters.values()), None)
        if letter is not None:
            if self._store is not None:
                self._ids[number] = self._store.add_note(self._run.id, number, "bookmark", letter).id
            self.letters = {**self.letters, number: letter}
        return letter
