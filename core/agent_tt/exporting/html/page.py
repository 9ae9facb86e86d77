"""The format: one page that holds its data, scripts and style, under a policy that lets it load nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt._version import __version__
from agent_tt.errors import UsageError
from agent_tt.exporting.export import Export
from agent_tt.exporting.html.data import page_data

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.exporting.export import Exported

__all__ = ["Html"]

_SCRIPTS: Final = ("values.js", "tree.js", "page.js")
_STYLE: Final = "page.css"
_LARGE: Final = 1 << 18
"""Characters of data from which they are compressed; before that they can be read with any editor."""


class Html(Export):
    """One page that shows runs and compares them; without a network, and without agent-tt."""

    SUFFIXES: ClassVar = (".html", ".htm")
    HELP: ClassVar = "One page for a browser: timeline, states, diffs, calls, search; of two runs also a comparison."

    def write(self, exported: Exported, path: Path) -> None:
        """Write the page."""
        try:
            data = json.dumps(page_data(exported), separators=(",", ":"))
        except RecursionError as error:
            raise UsageError("a value is nested too deeply for a browser to read it") from error
        path.write_text(_page(data), encoding="utf-8", newline="\n")


def _page(data: str) -> str:
    scripts = [_part(name) for name in _SCRIPTS]
    style = _part(_STYLE)
    policy = f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(style)}; "
    policy += "base-uri 'none'; form-action 'none'"
    form, held = "json", data.replace("<", "\\u003c")
    if len(data) > _LARGE:
        form, held = "deflate", base64.b64encode(zlib.compress(data.encode(), 9)).decode()
    return Template(_part("page.html")).substitute(
        policy=policy,
        style=style,
        version=__version__,
        form=form,
        data=held,
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(part: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
