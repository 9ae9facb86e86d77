"""The first line of a golden's file, by which it is told from other TOML files; light, for those who look at many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["HEADER", "is_golden"]

HEADER: Final = "# agent-tt golden 1"
"""The first line of every golden. The number is that of the format."""


def is_golden(path: Path) -> bool:
    """Whether a file begins as a golden does, of whatever format."""
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)).startswith(HEADER.rpartition(" ")[0].encode())
    except OSError:
        return False
