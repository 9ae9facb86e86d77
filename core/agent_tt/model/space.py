"""What fills a file of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Share", "Space", "SpaceOwner"]


@dataclass(frozen=True, slots=True)
class Share:
    """One kind of thing among what fills a file.

    Attributes:
        what: a channel of a thread, or a kind of row.
        bytes: how much of the file.
        rows: in how many rows; None where it is a part of rows.
        estimated: it was reckoned from some of the rows.
    """

    what: str
    bytes: int
    rows: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class SpaceOwner:
    """A thread or a run, and what it fills.

    Attributes:
        name: its id; None for what belongs to several.
        shares: the largest first.
    """

    name: str | None
    shares: Sequence[Share]

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(share.bytes for share in self.shares)


@dataclass(frozen=True, slots=True)
class Space:
    """What fills a file.

    Attributes:
        bytes: of the file and its log; of a server's database, of LangGraph's tables with their indexes.
        free: bytes in it that nothing fills; None where that is not known.
        owners: the largest first. What SQLite itself takes (indexes, columns of names, the ends of pages) is no one's.
    """

    bytes: int
    free: int | None
    owners: Sequence[SpaceOwner]
