"""Where goldens lie, and the first line by which one is told from other files; light, for those who look at many."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["FOLDER", "HEADER", "is_golden"]

FOLDER: Final = Path("tests/agents")
"""Where goldens are kept unless something else is said."""

HEADER: Final = "# agent-tt golden 1"
"""The first line of every golden. The number is that of the format."""


def is_golden(path: Path) -> bool:
    """Whether a file begins as a golden does, of whatever format."""
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)).startswith(HEADER.rpartition(" ")[0].encode())
    except OSError:
        return False
