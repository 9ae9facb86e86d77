"""The formats that there are, found by their entry points, and which one a file's name asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError
from agent_tt.exporting.export import Export
from agent_tt.plugins import PluginFailed, Plugins

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["EXPORTS", "format_for", "named_format"]


def _accepted(found: object) -> Export:
    export = found() if isinstance(found, type) and issubclass(found, Export) else found
    if not isinstance(export, Export):
        raise PluginFailed(f"is a {type(found).__name__}, not a class derived from agent_tt.exporting.export.Export")
    suffixes, words = getattr(export, "SUFFIXES", None), getattr(export, "HELP", None)
    if not isinstance(words, str) or not isinstance(suffixes, tuple):
        raise PluginFailed("has no SUFFIXES, a tuple of ends of file names, or no HELP, a line of help")
    return export


EXPORTS: Final = Plugins[Export](
    "agent_tt.exports",
    {
        "markdown": "agent_tt.exporting.markdown:Markdown",
        "html": "agent_tt.exporting.html.page:Html",
        "bundle": "agent_tt.exporting.bundle:Bundle",
        "db": "agent_tt.exporting.database:FlatDatabase",
        "openai": "agent_tt.exporting.openai:OpenAIExamples",
        "atif": "agent_tt.exporting.atif:Atif",
        "jsonl": "agent_tt.exporting.jsonl:JsonLines",
    },
    _accepted,
)
"""The entry point group of formats that runs are exported in; the name of each is its option."""


def named_format(name: str) -> Export:
    """Find a format by its name.

    Raises:
        UsageError: there is none of that name.
    """
    known = dict(EXPORTS.all())
    if name not in known:
        raise UsageError(f"there is no format {name!r}", hint=f"There are {', '.join(known)}.")
    return known[name]


def format_for(path: Path) -> Export:
    """Find the format for a file by the suffix of its name.

    Raises:
        UsageError: no format has such files.
    """
    for _, export in EXPORTS.all():
        if path.name.lower().endswith(export.SUFFIXES):
            return export
    ends = ", ".join(f"--{name} ({' '.join(export.SUFFIXES)})" for name, export in EXPORTS.all())
    raise UsageError(f"nothing says in which format {path.name} is to be written", hint=f"There are {ends}.")
