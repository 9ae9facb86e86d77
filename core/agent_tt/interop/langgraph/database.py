"""What the reader needs of a database that LangGraph keeps checkpoints in, wherever it lies.

A kind of database is an adapter of its own: it knows its tables and its SQL, and nothing else. All that rows and values
mean stands above it, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged
from agent_tt.interop.langgraph.decode import read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from agent_tt.interop.langgraph.rows import CheckpointKey, CheckpointRow, ThreadRows, WriteRow
    from agent_tt.interop.langgraph.sieve import Sieve
    from agent_tt.model.space import Space

__all__ = ["MOST_AHEAD", "Database", "Document", "Fetched", "Stored"]

MOST_AHEAD: Final = 32 * 1024 * 1024
"""Bytes that are fetched at once."""

_NAMED: Final = ("channel_versions", "versions_seen")
"""What else of a checkpoint is a table by channel or node."""

Stored: TypeAlias = "tuple[str, bytes | None]"
"""How bytes are written (`msgpack`, `json`, …), and the bytes; None where there are none."""


Fetched: TypeAlias = "tuple[Mapping[tuple[str, CheckpointKey], Document], Mapping[WriteRow, bytes | None]]"
"""Checkpoints by thread and key, and the bytes of values."""


@dataclass(frozen=True, slots=True)
class Document:
    """A checkpoint as it is stored.

    Attributes:
        body: the checkpoint.
        channels: the values that do not lie in it but beside it, by channel; they come before those in it. None where
            all lie in it.
    """

    body: Stored
    channels: Mapping[str, Stored] | None = None

    @property
    def encodings(self) -> frozenset[str]:
        """How its values are written."""
        return frozenset(encoding for encoding, _ in ([self.body] if self.channels is None else self.channels.values()))

    @property
    def size(self) -> int:
        """How many bytes it takes, with the values beside it."""
        return sum(len(data) for _, data in (self.body, *(self.channels or {}).values()) if data is not None)

    def unpacked(self) -> object:
        """The checkpoint as plain data with `Extension`s and `Constructor`s in it, or one `Sealed`.

        Where values lie beside it, nothing tells in which order the graph had its channels and nodes: then they are in
        that of their names.

        Raises:
            Damaged: the bytes of it, or of a value beside it, are not what the database calls them.
        """
        body = read_value(*self.body)
        if not isinstance(body, dict) or self.channels is None:
            return body
        inside = body.get("channel_values")
        values = dict(inside) if isinstance(inside, dict) else {}
        for channel, stored in self.channels.items():
            try:
                values[channel] = read_value(*stored)
            except Damaged as error:
                raise Damaged(f"channel {channel}: {error.message}") from error
        named = {"channel_values": values} | {name: body[name] for name in _NAMED if isinstance(body.get(name), dict)}
        return {**body, **{name: dict(sorted(each.items())) for name, each in named.items()}}


class Database(ABC):
    """A database that is only read. Safe to use from several threads; every method raises `AgentTTError`s alone."""

    @property
    @abstractmethod
    def path(self) -> Path:
        """Where it is."""

    @property
    @abstractmethod
    def is_current(self) -> bool:
        """Whether a LangGraph of now writes such tables, and goes on from what is in them."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def version(self) -> int:
        """A number that differs after somebody changed the database; cheap enough to ask ten times a second."""

    def size(self) -> int:
        """How many bytes it takes, as far as that is told at once: 0 where it is not."""
        return 0

    def fingerprint(self) -> str | None:
        """What it looks like from outside, equal in every process until it changes; None where that is unknown."""
        return None

    @abstractmethod
    def threads(self, only: str | None = None) -> dict[str, ThreadRows]:
        """The rows of all threads as they are now, or of one, the one with the newest checkpoint first."""

    @abstractmethod
    def documents(self, rows: Sequence[CheckpointRow]) -> list[Document]:
        """The checkpoints of some rows, in their order; one that is gone has no bytes."""

    @abstractmethod
    def values(self, rows: Sequence[WriteRow]) -> list[bytes | None]:
        """Give the stored bytes of values that tasks wrote, in the order of their rows; None where a row has none."""

    def outlines(self, rows: Collection[CheckpointRow]) -> Mapping[tuple[str, CheckpointKey], Document]:  # noqa: ARG002
        """Checkpoints that are looked at for the nodes that come next alone, by thread and key: fetched at once.

        They may lack channels of the user. A database whose values are close by has no need of it, and gives none.
        """
        return {}

    def ahead(
        self,
        checkpoints: Sequence[CheckpointRow],  # noqa: ARG002  # of what overrides it
        writes: Sequence[WriteRow],  # noqa: ARG002
    ) -> Fetched:
        """Some checkpoints and values that are asked for soon, fetched at once; not all where they are large."""
        return {}, {}

    @abstractmethod
    def sift(self, sieve: Sieve) -> None:
        """Have a sieve take in all values."""

    @abstractmethod
    def space(self, report: Callable[[int, int], None]) -> Space:
        """What fills it.

        Args:
            report: told (rows looked at, in all).
        """
