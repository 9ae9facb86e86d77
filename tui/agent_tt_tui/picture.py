"""The screen of a running app as a picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Any

    from textual.app import App

_WEB_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""A font that whoever looks at the picture would have to fetch."""

_FONT: Final = "DejaVu Sans Mono"


def svg_of(app: App[Any]) -> str:
    """Draw what the app shows now, as SVG that loads nothing."""
    return _WEB_FONT.sub("", app.export_screenshot(title="agent-tt")).replace("Fira Code", _FONT)
