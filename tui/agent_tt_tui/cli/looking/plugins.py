"""`agent-tt plugins`: what reads files, providers and frameworks, and runs agents, and which package brings it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.terminal import Cell, Column

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.plugins import Plugin


@click.command()
@common_options
def command(options: Options) -> None:
    """List installed sources, formats, providers, adapters, executors and exports.

    A source opens files of another system, a format reads a JSON file of conversations, a provider reads requests and
    answers of models, an adapter records the tools of a framework (its name is the module that it is for), an executor
    runs agents of a framework. Packages bring them by entry points in the groups agent_tt.sources, agent_tt.formats,
    agent_tt.providers, agent_tt.frameworks, agent_tt.executors and agent_tt.exports.
    All of them are loaded to see whether they can be used.

    \b
    --json: [{group, name, value, package, version, problem}]; problem is null where it can be used
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    found = _looked_at()
    if options.as_json:
        write_json([_shape(plugin, problem) for plugin, problem in found])
        return

    terminal = options.terminal()
    columns = [Column("kind"), Column("name"), Column("package"), Column("where", flexible=True)]
    rows = [
        [
            Cell(plugin.group.rpartition(".")[2].removesuffix("s"), "muted"),
            Cell(plugin.name, "strong"),
            Cell(f"{plugin.package} {plugin.version}".rstrip()),
            Cell(plugin.value, "muted"),
        ]
        for plugin, _ in found
    ]
    below = [
        [[Cell(f"  {terminal.glyphs.failed} {terminal.safe(problem)}: it is left out", "failed")]] if problem else []
        for _, problem in found
    ]
    terminal.table(columns, rows, below)


def _looked_at() -> list[tuple[Plugin, str]]:
    from agent_tt.exporting.formats import EXPORTS
    from agent_tt.forking.entry.executors import EXECUTORS
    from agent_tt.frameworks.adapters import ADAPTERS
    from agent_tt.interop.transcripts.formats import FORMATS
    from agent_tt.providers.reading import PROVIDERS
    from agent_tt.sources import SOURCES

    return [row for group in (SOURCES, FORMATS, PROVIDERS, ADAPTERS, EXECUTORS, EXPORTS) for row in group.look()]


def _shape(plugin: Plugin, problem: str) -> Wire:
    return {
        "group": plugin.group,
        "name": plugin.name,
        "value": plugin.value,
        "package": plugin.package,
        "version": plugin.version,
        "problem": problem or None,
    }
