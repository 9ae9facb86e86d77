"""Screenshots of running screens: SVG as Textual exports it, PNG where a converter is installed."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from agent_tt_tui.picture import svg_of

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import App


def save_svg(app: App[object], path: Path) -> Path:
    """Save what the app shows now.

    Args:
        app: A running app.
        path: Where to, ending in `.svg`; its folder must exist.
    """
    path.write_text(svg_of(app), encoding="utf-8")
    return path


def svg_to_png(svg: Path) -> Path | None:
    """Turn an SVG into a PNG beside it.

    Returns:
        The picture's path, or `None` where `rsvg-convert` is not installed or fails.
    """
    converter = shutil.which("rsvg-convert")
    if converter is None:
        return None
    png = svg.with_suffix(".png")
    done = subprocess.run([converter, str(svg), "-o", str(png)], check=False, capture_output=True)
    return png if done.returncode == 0 else None
