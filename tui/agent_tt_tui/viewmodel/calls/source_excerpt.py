"""The lines of the agent's own code around a call, as its file is now."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from agent_tt.model import Call, Run

_BEFORE, _LINES = 2, 4
_MOST_BYTES: Final = 2_000_000
_MOST_LINE: Final = 1_000


class Excerpt(NamedTuple):
    """Some lines of a file.

    Attributes:
        first: The number of the first line, from 1.
        lines: The lines, any text, without their ends.
    """

    first: int
    lines: tuple[str, ...]


def place_of(call: Call) -> tuple[str, int] | None:
    """The file and line that made a call, where the recording says so."""
    file, line = call.facts.file, call.facts.line
    return (file, line) if isinstance(file, str) and isinstance(line, int) and line > 0 else None


def read_excerpt(run: Run, call: Call) -> Excerpt | None:
    """Read four lines around a call.

    What a recording names is not trusted: only a plain `.py` file of modest size is opened, and only to be shown.

    Args:
        run: The run, whose project root a relative path is below.
        call: The call.

    Returns:
        The lines, or None where there is no such file any more.
    """
    place = place_of(call)
    if place is None:
        return None
    file, number = place
    root = run.code.root or run.code.cwd
    path = FilePath(root, file) if root else FilePath(file)
    if not path.is_absolute() or path.suffix != ".py":
        return None
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return None
    first = max(1, number - _BEFORE)
    shown = tuple(line[:_MOST_LINE] for line in lines[first - 1 : first - 1 + _LINES])
    return Excerpt(first, shown) if number <= len(lines) else None
