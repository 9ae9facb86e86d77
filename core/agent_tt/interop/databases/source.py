"""A database of another program as a source of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.addresses import Address
from agent_tt.interop.databases import agents_sessions, clearstone, opencode
from agent_tt.interop.databases.rows import read
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.transcripts.document import Document
from agent_tt.interop.transcripts.source import TranscriptSource

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent_tt.interop.transcripts.transcript import Promise

__all__ = ["DatabaseSource"]

_SQLITE_MAGIC: Final = b"SQLite format 3\0"


class _Kind(NamedTuple):
    """A kind of database: whether one has its tables, and the runs in it."""

    fits: Callable[[sqlite3.Connection], bool]
    runs: Callable[[DatabaseFile], Sequence[Promise]]


_KINDS: Final = (
    _Kind(agents_sessions.fits, agents_sessions.runs),
    _Kind(opencode.fits, opencode.runs),
    _Kind(clearstone.fits, clearstone.runs),
)


class DatabaseSource(TranscriptSource):
    """The runs in a database.

    Args:
        file: the database, which is only looked at.
        kind: what it is.
    """

    def __init__(self, file: DatabaseFile, kind: _Kind) -> None:
        self._file, self._kind = file, kind
        super().__init__(file.path, found=self._found_in)

    @classmethod
    def detect(cls, path: Path, head: bytes) -> DatabaseSource | None:
        """The source of a file if it is a database of a kind that is known, None if it is another.

        Raises:
            StoreUnreadable: it cannot be read.
        """
        if isinstance(path, Address) or not head.startswith(_SQLITE_MAGIC):
            return None
        file = DatabaseFile(path)
        kind = next((each for each in _KINDS if read(file, each.fits)), None)
        if kind is None:
            file.close()
            return None
        return cls(file, kind)

    def close(self) -> None:
        """Let go of the file, and remove the private copy of it, if there is one."""
        self._file.close()

    def version(self) -> int:
        """Give a number that differs after the file or its write-ahead log changed."""
        return self._file.version()

    def _found_in(self, path: Path) -> tuple[Document, Sequence[Promise]]:
        return Document(path), self._kind.runs(self._file)
