"""File paths as people know them."""

from __future__ import annotations

from pathlib import Path


def short_path(path: Path, base: Path | None = None) -> str:
    """Shorten a path: relative to the working directory, else to the home folder as `~/…`.

    Args:
        path: The path.
        base: What stands for the working directory; the process's own by default.
    """
    path = path.absolute()
    for root, prefix in ((base or Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(root):
            return prefix + str(path.relative_to(root))
    return str(path)
