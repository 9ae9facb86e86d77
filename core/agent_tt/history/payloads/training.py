"""The dictionary that an agent's rows are compressed with, made from its first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.history.payloads.frames import DICTIONARY_SIZE, newest_dictionary, store_dictionary

if TYPE_CHECKING:
    from agent_tt.history.payloads.frames import Frames
    from agent_tt.history.rows import LogRows, LogTransaction

__all__ = ["DictionaryTrainer"]

_MOST_OF_A_ROW: Final = 2000
"""Bytes of one row's end that go into the dictionary, so that a single large row cannot fill it."""


class DictionaryTrainer:
    """The current dictionary of one run; collects rows until there are enough for one where its agent has none yet.

    Args:
        rows: where dictionaries are.
        agent: whose.
        is_wanted: whether there is to be one; else none is used, and none made.

    Attributes:
        dictionary: id of the dictionary for the next row, 0 for none.
    """

    def __init__(self, rows: LogRows, agent: str, *, is_wanted: bool = True) -> None:
        self.dictionary = newest_dictionary(rows, agent) if is_wanted else 0
        self._is_wanted = is_wanted
        self._rows = rows
        self._agent = agent
        self._samples: list[bytes] = []
        self._collected = 0

    def restart(self) -> None:
        """Forget a dictionary whose transaction may have failed: what counts is what the file holds."""
        self.dictionary = newest_dictionary(self._rows, self._agent) if self._is_wanted else 0
        self._samples.clear()
        self._collected = 0

    def add(self, tx: LogTransaction, frames: Frames, plain: bytes) -> None:
        """Look at the operations of a row that was stored."""
        if self.dictionary or not self._is_wanted:
            return
        sample = plain[-_MOST_OF_A_ROW:]
        self._samples.append(sample)
        self._collected += len(sample)
        if self._collected > DICTIONARY_SIZE:
            content = b"".join(self._samples)[-DICTIONARY_SIZE:]
            self.dictionary = store_dictionary(tx, frames, content, self._agent)
            self._samples.clear()
