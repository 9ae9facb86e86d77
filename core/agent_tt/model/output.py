"""What a run printed on standard output."""

from __future__ import annotations

from agent_tt._dataclass import dataclass

__all__ = ["Output"]


@dataclass(frozen=True, slots=True)
class Output:
    """The standard output of a run, with secrets redacted.

    Attributes:
        size: how many characters it printed.
        text: all of it, or of more than a million characters the first half a million.
        tail: of more than a million characters the last half a million; else empty.
        digest: hex blake2b-16 of all of it.
        columns: how wide the terminal was that it printed on; None where it was none.
        lines: how high that was.
    """

    size: int
    text: str
    tail: str
    digest: str
    columns: int | None = None
    lines: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether `text` is all of it."""
        return self.size == len(self.text)
