"""Writing a source file that is run anew, however soon after the last time."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_source"]


def write_source(file: Path, text: str) -> None:
    """Write a source file, and take away what Python compiled of the one before.

    It would take that for the new file's where this is as long, and was written in the same second.
    """
    file.write_text(text)
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
