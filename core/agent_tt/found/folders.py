"""The files of a folder, and which of them hold runs."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, NotAStore
from agent_tt.interop.transcripts.beside import is_beside, session_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.protocols import RunSource

__all__ = ["MOST_FILES", "Unread", "files_in", "open_all"]

MOST_FILES: Final = 2_000
"""So many files of a folder are looked at."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that does not open.

    Attributes:
        path: the file, or the folder.
        why: one line.
        is_other: whether it is merely something else than runs.
    """

    path: Path
    why: str
    is_other: bool = False


def files_in(folder: Path) -> tuple[list[Path], list[Unread]]:
    """List the files of a folder and of those below it, in the order of their names, and what could not be listed.

    A session that a program keeps in several files is listed once.

    Links are not followed; what begins with a dot, and what SQLite keeps beside a database, is left out. Of more than
    `MOST_FILES` the others are counted as unread, in one entry.
    """
    files: list[Path] = []
    unread: list[Unread] = []
    more = 0

    def note(error: OSError) -> None:
        unread.append(Unread(Path(error.filename or folder), error.strerror or type(error).__name__))

    for at, folders, names in os.walk(folder, onerror=note):
        whole = session_in(Path(at))  # other files of it are parts of that
        folders[:] = [] if whole else sorted(name for name in folders if not name.startswith("."))
        for name in [str(whole.relative_to(at))] if whole else sorted(names):
            path = Path(at, name)
            if name.startswith(".") or name.endswith(("-wal", "-shm", "-journal")) or not _is_file(path):
                continue
            if name.startswith("agent-") and is_beside(path):  # a sub-agent, which its session shows
                continue
            if len(files) < MOST_FILES:
                files.append(path)
            else:
                more += 1
    if more:
        unread.append(Unread(folder, f"{more:,} more files were not looked at: {MOST_FILES:,} are the most"))
    return files, unread


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def open_all(
    folder: Path, unread: list[Unread], report: Callable[[int, int], None] = lambda _done, _total: None
) -> Iterator[RunSource]:
    """Open one file of a folder after another; each is closed before the next one.

    Args:
        folder: the folder.
        unread: receives the files that do not open.
        report: told (files done, in all).
    """
    from agent_tt.sources import open_source

    files, unlisted = files_in(folder)
    unread += unlisted
    for number, path in enumerate(files):
        report(number, len(files))
        try:
            source = open_source(path, read_only=True)
        except AgentTTError as error:
            unread.append(Unread(path, error.message, isinstance(error, NotAStore)))
            continue
        try:
            yield source
        finally:
            source.close()
