"""The pictures that are kept, and how one that was taken now differs from them."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final

from tests.tui.snapshots.drawn_svg import painted_rows, rows_in

FOLDER: Final = Path(__file__).parent / "svg"

_MOST_ROWS: Final = 12


def path_of(name: str, size: tuple[int, int]) -> Path:
    """Say where the picture of a screen at a size is kept."""
    return FOLDER / f"{name}-{size[0]}x{size[1]}.svg"


def difference(name: str, size: tuple[int, int], taken: str, new: Path) -> str:
    """Say how a picture differs from the one that is kept; "" where it does not.

    Args:
        name: of the screen.
        size: columns and rows.
        taken: the picture as it is now; where it differs it is written into `new`.
        new: a folder.
    """
    path = path_of(name, size)
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    if kept == taken:
        return ""
    written = new / path.name
    written.write_text(taken, encoding="utf-8")
    said = [f"{name} at {size[0]}x{size[1]}: {_how(kept, taken) if kept else 'there is no picture yet'}"]
    said += [f"  kept  {path}", f"  now   {written}"]
    return "\n".join(said)


def _how(kept: str, taken: str) -> str:
    before, after = rows_in(kept), rows_in(taken)
    if before != after:
        rows = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
        return "\n".join(["what is written differs, in both themes", *rows])
    said = []
    for theme in ("dark", "light"):
        pairs = zip(painted_rows(kept, theme), painted_rows(taken, theme), strict=True)
        rows = [number for number, (old, new) in enumerate(pairs) if old != new]
        if rows:
            said.append(f"the colours of the {theme} theme differ in {len(rows)} rows")
            said += [f"{number:>3} {after[number]}" for number in rows[:_MOST_ROWS]]
    return "\n".join(said) or "the file is written otherwise, though all looks the same"
