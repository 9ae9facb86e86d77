"""The pages that users read, the README and `docs/`, and what is made from the code.

That is tables of commands, keys and views, of what the benchmark of other tools found, and the reference of the file
format; and in `pyproject.toml` the entry points of our own. `python -m tests.tui.readme_parts` writes them.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.benchmarks import frameworks, store_targets
from tests.benchmarks.refund_peers import tables as peers
from tests.tui.format_parts import column_tables, fact_tables, file_table, form_sections, words

from agent_tt.exporting.formats import EXPORTS
from agent_tt.frameworks.adapters import ADAPTERS
from agent_tt.interop.transcripts.formats import FORMATS
from agent_tt.providers.reading import PROVIDERS
from agent_tt.serving.debugger import Debugger
from agent_tt.serving.running import Leave, Runner
from agent_tt.serving.tool import BUDGET, CURSOR
from agent_tt.sources import SOURCES
from agent_tt.store.views import FUNCTIONS, VIEWS
from agent_tt_tui.cli.keeping import exporting  # noqa: F401  which adds the picture to the formats
from agent_tt_tui.cli.root import COMMANDS
from agent_tt_tui.commands import Command, Context, display_key
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.keymaps import (
    ABOUT,
    AGAIN,
    ANSWERS,
    ASK,
    BLAME,
    COLUMNS_LIST,
    COMPARE,
    DEBUGGER,
    EDIT,
    EDIT_ROW,
    FIND,
    FIRST,
    FORK,
    KEEP,
    LIST,
    OUTCOME,
    REPLAY,
    REPLAYED,
    RESUME,
    RUNS,
    STATISTICS,
    SWEEP,
    SWEEP_FORM,
    TABLE,
    TESTS,
)
from agent_tt_tui.viewmodel.debugger.step_words import WORDS
from agent_tt_tui.viewmodel.debugger.timeline_columns import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT: Final = Path(__file__).parents[2]
README: Final = ROOT / "README.md"
DOCS: Final = ROOT / "docs"
PROJECT_FILE: Final = ROOT / "pyproject.toml"
PAGES: Final = (README, *sorted(DOCS.glob("*.md")))
"""Every page that users read."""

_LIVE = "While it runs"
_ELSEWHERE = ("Everywhere", "Panes", "Rows", _LIVE)
_SHOWN: tuple[tuple[str, Context], ...] = (
    ("Debugger", DEBUGGER),
    ("Find", FIND),
    ("Columns", COLUMNS_LIST),
    ("Blame", BLAME),
    ("First page", FIRST),
    ("Runs", RUNS),
    ("About", ABOUT),
    ("Edit", EDIT),
    ("Edit in the row", EDIT_ROW),
    ("Fork", FORK),
    ("Ask", ASK),
    ("Replay", REPLAY),
    ("Replayed", REPLAYED),
    ("Resume", RESUME),
    ("Ask again", AGAIN),
    ("Answers", ANSWERS),
    ("Compare", COMPARE),
    ("Table", TABLE),
    ("Sweep", SWEEP),
    ("New sweep", SWEEP_FORM),
    ("Keep as test", KEEP),
    ("Tests", TESTS),
    ("Statistics", STATISTICS),
    ("Outcome", OUTCOME),
)


def key_table() -> str:
    """Every command with its keys, as Markdown; what several screens have stands once."""
    everywhere = [c for g in DEBUGGER.groups if g.title in ("Everywhere", "Panes") for c in g.commands]
    running = [c for g in DEBUGGER.groups if g.title == _LIVE for c in g.commands]
    rows = [("Everywhere", everywhere), ("Lists", list(LIST.commands)), (_LIVE, running)]
    once = {_row(command) for command in (*everywhere, *LIST.commands)}
    for where, context in _SHOWN:
        own = [c for g in context.groups if g.title not in _ELSEWHERE for c in g.commands]
        rows.append((where, [c for c in own if _row(c) not in once]))
    lines = ["| where | keys | what they do |", "|---|---|---|"]
    lines += [f"| {where} {_row(command)}" for where, commands in rows for command in commands]
    return "\n".join(lines) + "\n"


def _row(command: Command) -> str:
    keys = " ".join(f"`{_markdown(display_key(key, UNICODE))}`" for key in command.keys)
    return f"| {keys} | {command.help} |"


def _markdown(key: str) -> str:
    return key.replace("|", "\\|")


def column_table() -> str:
    """Every column of the timeline, as Markdown."""
    rows = [f"| `{column.name}` | {column.means} |" for column in COLUMNS.values()]
    return "\n".join(["| column | what it says |", "|---|---|", *rows]) + "\n"


def command_table() -> str:
    """Every command with its first line of help, as Markdown."""
    rows = [f"| `agent-tt {name}` | {what} |" for name, what in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows]) + "\n"


def view_tables() -> str:
    """Every view with its columns, and the functions for queries, as Markdown."""
    parts = []
    for view in VIEWS:
        rows = [f"| `{column.name}` | {_markdown(column.what)} |" for column in view.columns]
        parts.append("\n".join([f"### {view.name}\n\n{view.what}\n", "| column | what it is |", "|---|---|", *rows]))
    rows = [f"| `{name}` | {_markdown(what)} |" for name, what in FUNCTIONS.items()]
    parts.append("\n".join(["### Functions\n", "| function | what it gives |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def framework_table() -> str:
    """Our adapters, by the first line of the module that each stands in."""
    modules = dict.fromkeys(
        plugin.value.partition(":")[0] for plugin, _ in ADAPTERS.look() if plugin.package == "agent-tt"
    )
    lines = [(importlib.import_module(module).__doc__ or "").partition("\n")[0].rstrip(".") for module in modules]
    rows = [f"| {framework} | {what} |\n" for framework, _, what in sorted(line.partition(": ") for line in lines)]
    return "| framework | recorded without a flag |\n|---|---|\n" + "".join(rows)


def export_table() -> str:
    """The formats of `agent-tt export`."""
    found = [(name, export) for name, export in EXPORTS.all() if type(export).__module__.startswith("agent_tt")]
    rows = [f"| `--{name}` | `{' '.join(export.SUFFIXES)}` | {export.HELP} |" for name, export in found]
    return "\n".join(["| option | files | what it writes |", "|---|---|---|", *rows]) + "\n"


def tool_table() -> str:
    """The tools of `agent-tt mcp`."""
    tools = [*Debugger(ROOT, Runner(Leave()).tools()).tools.values()]
    usual = {CURSOR.name, BUDGET.name}
    lines = ["| tool | takes | what it answers |", "|---|---|---|"]
    for tool in tools:
        takes = [
            each.name if each.is_needed else f"[{each.name}]" for each in tool.parameters if each.name not in usual
        ]
        said = tool.help.partition(" Without dry_run")[0] if tool.starts else tool.help
        lines.append(f"| `{tool.name}`{' (with leave)' if tool.starts else ''} | `{' '.join(takes)}` | {said} |")
    return "\n".join(lines) + "\n"


def step_words_table() -> str:
    """The table of what can be typed after `:` in the debugger."""
    rows = [f"| `{word.example}` | {word.help} |" for word in WORDS]
    return "\n".join(["| typed | goes |", "|---|---|", *rows]) + "\n"


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "commands": command_table,
    "keys": key_table,
    "columns": column_table,
    "step-words": step_words_table,
    "views": view_tables,
    "frameworks": framework_table,
    "exports": export_table,
    "mcp-tools": tool_table,
    "format-file": file_table,
    "format-words": words,
    "format-tables": column_tables,
    "format-facts": fact_tables,
    "format-forms": form_sections,
    "peers": lambda: peers.markdown(peers.load()),
    "store": lambda: store_targets.markdown(store_targets.load()),
    "peer-details": lambda: peers.details(peers.load()),
    "tried-frameworks": frameworks.table,
}
"""What makes the text between `<!-- NAME: … -->` and `<!-- /NAME -->`, by name."""


def with_tables(text: str) -> str:
    """A page with its tables brought up to date."""
    for name, table in TABLES.items():
        text = marked(name).sub(lambda match, table=table: f"{match[1]}{table()}{match[2]}", text)
    return text


def marked(name: str) -> re.Pattern[str]:
    """Where a table stands in a page: the mark before it, the table, and the mark after it."""
    return re.compile(rf"(<!-- {name}:[^\n]*-->\n).*?(<!-- /{name} -->)", re.DOTALL)


def with_entry_points(text: str) -> str:
    """The project file with the rows of our own brought up to date."""
    for group in (SOURCES, FORMATS, PROVIDERS, ADAPTERS, EXPORTS):
        names = {plugin.name: plugin.value for plugin, _ in group.look() if plugin.package == "agent-tt"}
        rows = [f'{json.dumps(name) if "." in name else name} = "{value}"\n' for name, value in names.items()]
        header = re.escape(f'[project.entry-points."{group.group}"]\n')
        text = re.sub(rf"(?<={header})[^\[]*(?=\n\[)", "".join(rows), text)
    return text


def code_blocks(page: Path, language: str) -> list[str]:
    """The examples of a page that are written in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def shell_lines(page: Path) -> list[str]:
    """The commands of ours that a page shows in its examples."""
    return [line for block in code_blocks(page, "sh") for line in block.splitlines() if line.startswith("agent-tt ")]


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
    PROJECT_FILE.write_text(with_entry_points(PROJECT_FILE.read_text(encoding="utf-8")), encoding="utf-8")
