"""The list of runs of a large file, kept in the user's cache folder for the next time that it is opened.

It holds what the list shows, no states and no calls, and is believed only as long as the file is the one that it was
made of. A list in which a secret would have to be taken out is not kept.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_tt._version import __version__
from agent_tt.cache_files import cache_folder, cache_path, keep_in, kept_in
from agent_tt.model import ErrorInfo, ModelConfig, Run
from agent_tt.redaction.values import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["beginning_of", "identity_of", "keep_list", "kept_list"]

LEAST_BYTES: Final = 4 << 20
"""A smaller file is read as fast as its list would be."""

_ENDS: Final = 64 << 10
_DIGEST: Final = 16
_PLAIN: Final = (
    "id", "status", "started_us", "ended_us", "parent", "fork_step", "steps", "tokens_in", "tokens_out", "cost_usd",
    "unpriced", "metadata", "origin",
)  # fmt: skip


def beginning_of(path: Path, size: int | None = None) -> tuple[int, int, int, str] | None:
    """What tells the first bytes of a file from those that it, or another of its name, had; None where it is shorter.

    Args:
        path: the file.
        size: how many bytes; by default all that it has.

    Returns:
        Device, inode, size, and a digest of the first and the last of these bytes.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            size = found.st_size if size is None else size
            ends = file.read(min(_ENDS, size))
            file.seek(max(size - _ENDS, 0))
            ends += file.read(min(_ENDS, size))
    except OSError:
        return None
    if found.st_size < size:
        return None
    return found.st_dev, found.st_ino, size, hashlib.blake2b(ends, digest_size=_DIGEST).hexdigest()


def identity_of(path: Path) -> str | None:
    """What tells a file, and how it is read here, from what they were before; None where no list of it is kept."""
    try:
        found = path.stat()
        reading = max(each.stat().st_mtime_ns for each in Path(__file__).parent.glob("*.py"))
    except (OSError, ValueError):
        return None
    if found.st_size < LEAST_BYTES or not hasattr(os, "getuid"):
        return None
    return repr((__version__, reading, os.path.realpath(path), found.st_mtime_ns, beginning_of(path)))


def kept_list(path: Path, identity: str | None) -> list[Run] | None:
    """The runs of a file in their order; None where they are not known, or not of the file as it is."""
    return None if identity is None else kept_in(_place(path), identity, lambda said: [_run(row) for row in said])


def keep_list(path: Path, identity: str | None, runs: Sequence[Run]) -> None:
    """Keep the runs of a file, if nothing is in the way."""
    rows: Any = [_row(run) for run in runs]
    if identity is not None and redact(rows) == rows:
        keep_in(_place(path), identity, rows)


def _place(path: Path) -> Path:
    return cache_path(path, cache_folder("lists"), ".list")


def _row(run: Run) -> dict[str, Any]:
    error = run.error and [run.error.class_name, run.error.message]
    return {name: getattr(run, name) for name in _PLAIN} | {"model": run.model and run.model.model, "error": error}


def _run(row: dict[str, Any]) -> Run:
    plain = {name: row[name] for name in _PLAIN}
    error, model = row["error"], row["model"]
    return Run(
        **plain,
        name=row["id"],
        error=ErrorInfo(*error) if error else None,
        model=ModelConfig(model) if model else None,
        read_only=True,
    )
