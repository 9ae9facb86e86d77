"""Opening a file by what is in it: a store of agent-tt, or a file of another system whose runs can be read.

So is a folder in which such a system keeps one session. The address of a server's database is opened as such a file is.

Readers of such files are entry points in the group `agent_tt.sources`, LangGraph's among them. What is installed is
looked at only for a file that neither our store nor a reader of ours knows.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Final, Protocol, cast

from agent_tt.addresses import Address, located
from agent_tt.errors import AgentTTError, NotAStore, StoreNotFound, StoreUnreadable
from agent_tt.plugins import PluginFailed, Plugins

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.model.space import Space
    from agent_tt.protocols import MarkedRuns, RunSource

__all__ = ["SOURCES", "Detector", "is_store", "marks_of", "open_source", "register", "space_in"]

_SQLITE_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_ID: Final = slice(68, 72)
"""Where the header of an SQLite file names the program that it belongs to."""

_JSON: Final = "a JSON file"
_KINDS: Final = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"PAR1", "a Parquet file"),
    (b"{", _JSON),
    (b"[", _JSON),
)


class Detector(Protocol):
    """Opens a file if it is of the kind that it knows: what an entry point of the group `agent_tt.sources` names.

    It is called for files that are no stores of agent-tt, must not change the file or its folder, imports and calls
    nothing that the file names, and gives None for what it does not know. The address of a database is a path too
    (`agent_tt.addresses.Address`), with nothing as its first bytes.
    """

    def __call__(self, path: Path, head: bytes) -> RunSource | None:
        """A source for `path`, whose first bytes (at most 512) are `head`, or None.

        Raises:
            AgentTTError: the file is of this kind and cannot be read; the message says why.
        """


def _accepted(found: object) -> Detector:
    if not callable(found):
        raise PluginFailed(f"is a {type(found).__name__}, not a function (path, head) that opens a file")
    return cast("Detector", found)


SOURCES: Final = Plugins[Detector](
    "agent_tt.sources",
    {
        "bundle": "agent_tt.interop.bundle.source:detect_bundle",
        "langgraph": "agent_tt.interop.langgraph.source:LangGraphSource.detect",
        "databases": "agent_tt.interop.databases.source:DatabaseSource.detect",
        "transcripts": "agent_tt.interop.transcripts.source:TranscriptSource.detect",
    },
    _accepted,
)
"""The entry point group of sources."""


def register(detector: Detector) -> None:
    """Let `open_source` of this process open one more kind of file. Detectors are asked in the order of registering."""
    SOURCES.add(f"{detector.__module__}:{getattr(detector, '__qualname__', id(detector))}", detector)


def open_source(path: str | Path, *, read_only: bool = False) -> RunSource:
    """Open whatever recorded runs a file holds. Its name does not matter.

    ```python
    with contextlib.closing(agent_tt.open_source("runs.db")) as source:
        run = source.run("refund-loop")
        print(run.status, source.step_count(run.id), source.state(run.id, 1))
    ```

    What is written down about runs of a file that is only read is kept in the user's own store (`agent_tt.marking`).

    Args:
        path: a store of agent-tt, a LangGraph SQLite database (also one whose tables are still in its `-wal` file), the
            address of a database in PostgreSQL (`postgresql://user@host/database`): of a store, or of LangGraph's
            tables (which `postgresql+langgraph://…` names where both are there), a file of messages
            (`agent_tt.interop.transcripts`), or one that an installed package reads (`agent-tt plugins` lists them).
        read_only: open a store for reading only, as one that is write-protected always is. Files of other systems are
            never written to.

    Raises:
        StoreNotFound: there is no such file or database.
        NotAStore: the file holds no runs that can be read; the message says what it looks like.
        NewerFormat, OlderFormat: another agent-tt wrote it, or a newer LangGraph.
        StoreUnreadable: it cannot be read, or its server not be reached.
        UsageError: what speaks with the server is not installed here.
    """
    path = _session_of(located(path))
    if isinstance(path, Address) and not path.is_langgraphs:
        from agent_tt.store.postgres.opening import tables_of

        tables = tables_of(path)
        if tables == "ours":
            return _open_store(path, read_only=read_only)
        if tables == "none":
            return _nobodys(path)
    head = _head(path)
    if head.startswith(_SQLITE_MAGIC) and _is_store(head):
        return _open_store(path, read_only=read_only or not os.access(path, os.W_OK))
    return _of_others(path, head)


def _nobodys(address: Address) -> RunSource:
    """What a detector makes of a database that we have recorded nothing into."""
    try:
        return _of_others(address, b"")
    except NotAStore as error:
        raise NotAStore(
            f"nothing was recorded into {address}: {error.message}",
            hint="Record a run into it first, or name another database.",
        ) from error


def _of_others(path: Path, head: bytes) -> RunSource:
    """The source of a file or a database of another system."""
    for name, detector in SOURCES.all():
        source = _detected(name, detector, path, head)
        if source is not None:
            return _marked(source) if source.read_only else source
    known = "".join(f", or what {name} reads" for name, _ in SOURCES.all())
    raise NotAStore(
        f"{path} is {_looks_like(path, head)}, not a store of runs",
        hint=f"Name a store of agent-tt{known}.",
    )


def _detected(name: str, detector: Detector, path: Path, head: bytes) -> RunSource | None:
    """What a detector makes of a file.

    Raises:
        StoreUnreadable: it raised something that nobody raises on purpose, or gave something that is not a source.
    """
    from agent_tt.protocols import RunSource

    try:
        source = detector(path, head)
    except AgentTTError:
        raise
    except Exception as error:
        raise StoreUnreadable(
            f"{path} cannot be read: the source {name} raised {type(error).__name__}: {error}",
            hint="`agent-tt plugins` says which package brings it.",
        ) from error
    if source is None or isinstance(source, RunSource):
        return source
    raise StoreUnreadable(
        f"{path} cannot be read: the source {name} gave a {type(source).__name__}, not a source of runs",
        hint="`agent-tt plugins` says which package brings it.",
    )


def _session_of(path: Path) -> Path:
    """The file that stands for a folder which is a session as a whole; any other path as it is."""
    if isinstance(path, Address) or not path.is_dir():
        return path
    from agent_tt.interop.transcripts.beside import session_in

    return session_in(path) or path


def _head(path: Path) -> bytes:
    from agent_tt.store.file.heads import read_head
    from agent_tt.store.file.locate import refuse_special

    if isinstance(path, Address):
        return b""
    if path.is_dir():
        inside = [candidate for candidate in (path / "runs.db", path / ".agent-tt" / "runs.db") if candidate.is_file()]
        hint = f"Did you mean {inside[0]}?" if inside else "Name the file in it."
        raise NotAStore(f"{path} is a folder, not a store", hint=hint)
    refuse_special(path)
    try:
        return read_head(path, 512)
    except FileNotFoundError:
        raise StoreNotFound(f"there is no file {path}", hint="Record a run first, or check --store.") from None
    except OSError as error:
        raise NotAStore(f"{path} cannot be read: {error.strerror}", hint="Check its permissions.") from error


def _open_store(path: Path, *, read_only: bool) -> RunSource:
    from agent_tt.interop.threads.source import StoreWithThreads
    from agent_tt.store.file.opening import open_database
    from agent_tt.store.spill.taking_in import take_in

    database = open_database(path, read_only=read_only)
    source = StoreWithThreads(database)
    read_only = database.read_only
    if not read_only:
        take_in(path)
    return _marked(source) if read_only else source


def _marked(source: RunSource) -> RunSource:
    from agent_tt.marking import marked

    return marked(source)


def space_in(path: Path, report: Callable[[int, int], None] = lambda _done, _total: None) -> Space:
    """What fills a store of agent-tt or a LangGraph database. Values are not read but for a few.

    Args:
        path: the file, or the address of a database.
        report: told (rows looked at, in all).

    Raises:
        NotAStore: it is neither.
        StoreNotFound, StoreUnreadable: it is not there, or cannot be read.
    """
    head = _head(path)
    if is_store(path):
        from agent_tt.store.space import read_space as space_of_store

        return space_of_store(path, report)
    if head and not head.startswith(_SQLITE_MAGIC):
        raise NotAStore(f"{path} is {_looks_like(path, head)}, not a store of runs", hint="Name an SQLite file.")
    from agent_tt.interop.langgraph.opening import open_database

    with closing(open_database(path)) as database:
        return database.space(report)


def is_store(path: Path) -> bool:
    """Whether a file is a store of ours, by its header; a database, by its tables.

    Raises:
        NotAStore, StoreNotFound: it cannot be read, or is not there.
    """
    if isinstance(path, Address):
        from agent_tt.store.postgres.opening import tables_of

        return not path.is_langgraphs and tables_of(path) == "ours"
    head = _head(path)
    return head.startswith(_SQLITE_MAGIC) and _is_store(head)


def marks_of(source: RunSource) -> MarkedRuns | None:
    """Where something can be written down about the runs of a source; None where nothing can."""
    from agent_tt.protocols import Store

    if isinstance(source, Store) and not source.read_only:
        return source
    from agent_tt.marking import MarkedSource

    return source if isinstance(source, MarkedSource) else None


def _is_store(head: bytes) -> bool:
    from agent_tt.store.file.schema import APPLICATION_ID

    return int.from_bytes(head[_APPLICATION_ID], "big") == APPLICATION_ID


def _looks_like(path: Path, head: bytes) -> str:
    """What a file is, in words."""
    if not head:
        return "an empty file"
    if head.startswith(_SQLITE_MAGIC):
        return f"an SQLite database with {_tables(path)}"
    for magic, words in _KINDS:
        if head.lstrip().startswith(magic):
            return words if words != _JSON else _json(path)
    return "a binary file" if b"\0" in head else "a text file"


def _json(path: Path) -> str:
    from agent_tt.interop.transcripts.document import flaw_of

    flaw = flaw_of(path)
    return f"a damaged JSON file ({flaw})" if flaw else _JSON


def _tables(path: Path) -> str:
    from agent_tt.interop.langgraph.connection import DatabaseFile
    from agent_tt.interop.langgraph.detect import table_names

    file = DatabaseFile(path)
    try:
        names = file.read(table_names)
    finally:
        file.close()
    shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")  # enough to recognise it by
    return f"the tables {shown}" if names else "no tables"
