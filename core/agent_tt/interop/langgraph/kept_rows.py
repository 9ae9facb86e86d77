"""The rows of the checkpoints of a large file, kept in the user's cache folder for the next time that it is opened.

What is said about a checkpoint stands behind its value in the file, so that SQLite goes through all values to get at
it. Kept are the rows without values. They are believed only as long as the file is the very one that they were read
from, and are not kept where a secret would have to be taken out of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from agent_tt._version import __version__
from agent_tt.cache_files import cache_folder, cache_path, keep_in, kept_in
from agent_tt.redaction.values import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["keep_rows", "kept_rows"]

LEAST_BYTES: Final = 16 << 20
"""A smaller file is read as fast."""

_MOST_ROWS: Final = 200_000
_COLUMNS: Final = 6
_TEXTS: Final = frozenset({str, type(None)})


def kept_rows(path: Path, size: int, fingerprint: str | None) -> list[list[str | None]] | None:
    """The rows of all checkpoints in their order; None where they are not known, or not of the file as it is.

    Args:
        path: the file.
        size: how many bytes it takes.
        fingerprint: what it looks like; None while it may still be written to.
    """
    if fingerprint is None or size < LEAST_BYTES:
        return None
    return kept_in(_place(path), _identity(fingerprint), list)


def keep_rows(path: Path, size: int, fingerprint: str | None, rows: Sequence[Sequence[object]]) -> None:
    """Keep the rows of all checkpoints, if nothing is in the way: those that are texts alone."""
    if fingerprint is None or size < LEAST_BYTES or len(rows) > _MOST_ROWS or not hasattr(os, "getuid"):
        return
    try:
        texts: Any = [row if _TEXTS.issuperset(map(type, row)) else [*map(_text, row)] for row in rows]
        each: Any = [*{text for row in texts for text in row if text is not None}]  # threads and parents come again
        if any(len(row) != _COLUMNS for row in texts) or redact(each) != each:
            return
    except (TypeError, ValueError):  # no texts
        return
    keep_in(_place(path), _identity(fingerprint), texts)


def _place(path: Path) -> Path:
    return cache_path(path, cache_folder("lists"), ".rows")


def _identity(fingerprint: str) -> str:
    return repr((__version__, fingerprint))


def _text(value: object) -> str | None:
    """A column's value as a text.

    Raises:
        TypeError: it is none.
        ValueError: it is none that can be written.
    """
    if isinstance(value, bytes):
        return value.decode()
    if value is None or isinstance(value, str):
        return value
    raise TypeError
