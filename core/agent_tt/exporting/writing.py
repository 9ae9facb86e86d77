"""Writing a file whole or not at all, and never over another one unasked."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from agent_tt.errors import UsageError
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from agent_tt.exporting.export import Export, Exported

__all__ = ["export_file", "export_stream"]


def export_file(export: Export, exported: Exported, path: Path, *, replaces: bool = False) -> str | None:
    """Write runs into a file.

    It is made in a folder beside its place and moved there when it is whole, so that nobody sees half of it.

    Args:
        export: the format.
        exported: the runs.
        path: the file.
        replaces: whether a file may be there already; it is replaced.

    Returns:
        What the format left out, in a line; None where that is nothing.

    Raises:
        UsageError: there is one already, or it cannot be written there.
        AgentTTError: the runs cannot be written in this format, or not be read.
    """
    path = path.expanduser().absolute()
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="Name a file in it.")
    if not replaces and os.path.lexists(path):
        raise _taken(path)
    try:
        with TemporaryDirectory(dir=path.parent, prefix=".agent-tt-export-") as folder:
            made = Path(folder) / path.name
            left_out = _write(export, exported, made)
            if replaces:
                made.replace(path)
            else:
                _move(made, path)
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    return left_out


def export_stream(export: Export, exported: Exported, stream: BinaryIO) -> str | None:
    """Write runs to a stream; nothing is written to it where they cannot be written as a whole.

    Args, Returns and Raises: as `export_file`; the stream's own errors are passed on.
    """
    with temporary_folder("agent-tt-export-") as folder:
        made = Path(folder) / "export"
        left_out = _write(export, exported, made)
        with made.open("rb") as file:
            shutil.copyfileobj(file, stream)
    return left_out


def _write(export: Export, exported: Exported, made: Path) -> str | None:
    with exported.source.one_moment():  # of a run that goes on, all of the file is as of then
        return export.write(exported, made)


def _move(made: Path, path: Path) -> None:
    """Give a file its name where nothing has that.

    Raises:
        FileExistsError: something has.
    """
    try:
        path.hardlink_to(made)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the name is taken first, then its empty file replaced
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        made.replace(path)


def _taken(path: Path) -> UsageError:
    return UsageError(f"{path} is there already", hint="Name another file, or replace it with --force.")
