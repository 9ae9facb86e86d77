"""The numbers that one writer gives next, remembered from one of its transactions to the next.

Asking the file for the largest number of a run, three times a step, took a tenth of what a step costs. It is asked
again only where somebody else has written meanwhile: a process that the agent forked goes on with the same run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from agent_tt.store.file.transaction import Transaction

__all__ = ["NextNumbers"]


@dataclass(slots=True)
class NextNumbers:
    """What a writer remembers. Whoever uses it holds the lock of the file from before its transaction to `keep`.

    Attributes:
        step: the largest number of a step, None where it has to be asked for.
        answer: the largest number of an answer, None where it has to be asked for.
        breaks: how often it was found that somebody else has written.
    """

    step: int | None = None
    answer: int | None = None
    breaks: int = 0
    _version: int | None = None
    _next: int | None = None

    def check(self, tx: Transaction) -> None:
        """Forget everything unless the file is as the last transaction left it; each transaction begins so."""
        version = tx.version()
        if version is None or version != self._version:
            self.step = self.answer = None
            self.breaks += 1
        self._version = None
        self._next = None if version is None else version + 1

    def keep(self) -> None:
        """Trust what was noted since `check`: the transaction was committed."""
        self._version = self._next
