"""Temporary files and folders, with an error that says what to do where none can be made."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["kept_folder", "temporary_file", "temporary_folder"]

_HINT = "set TMPDIR to a folder that you may write to, and that has room"


def temporary_file() -> BinaryIO:
    """Make a file without a name, gone when it is closed.

    Raises:
        UsageError: there is no folder for it.
    """
    try:
        return tempfile.TemporaryFile()  # whoever asked closes it
    except OSError as error:
        raise _refused(error) from error


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """Make a folder that lasts as long as the block; gives its path.

    Raises:
        UsageError: there is no place for it.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise _refused(error) from error
    with folder as path:
        yield path


def kept_folder(prefix: str) -> str:
    """Make a folder that whoever asked removes; gives its path.

    Raises:
        UsageError: there is no place for it.
    """
    try:
        return tempfile.mkdtemp(prefix=prefix)
    except OSError as error:
        raise _refused(error) from error


def _refused(error: OSError) -> UsageError:
    return UsageError(f"no temporary file can be made: {error.strerror or error}", hint=_HINT)
