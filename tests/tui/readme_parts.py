"""The parts of the README that are made from the code: its tables of commands and keys.

`python tests/tui/readme_parts.py` writes them.
"""

from __future__ import annotations

import re
from pathlib import Path

from agent_tt_tui.cli.root import COMMANDS
from agent_tt_tui.commands import Context, display_key
from agent_tt_tui.contexts import ABOUT, COMPARE, DEBUGGER, EDIT, FORK, REPLAY, REPLAYED, RESUME, RUNS
from agent_tt_tui.glyphs import UNICODE

README = Path(__file__).parents[2] / "README.md"
_SHOWN: tuple[tuple[str, Context, frozenset[str]], ...] = (
    ("Everywhere", DEBUGGER, frozenset({"Everywhere", "Panes"})),
    ("Debugger", DEBUGGER, frozenset({"Time", "Timeline", "Structure", "Ask and act", "While it runs"})),
    ("Runs", RUNS, frozenset({"Runs"})),
    ("About", ABOUT, frozenset({"About"})),
    ("Edit", EDIT, frozenset({"Edit"})),
    ("Fork", FORK, frozenset({"Fork"})),
    ("Replay", REPLAY, frozenset({"Replay"})),
    ("Replayed", REPLAYED, frozenset({"Replayed"})),
    ("Resume", RESUME, frozenset({"Resume"})),
    ("Compare", COMPARE, frozenset({"Compare"})),
)


def key_table() -> str:
    """Every command with its keys, as Markdown."""
    lines = ["| where | keys | what they do |", "|---|---|---|"]
    for where, context, groups in _SHOWN:
        for group in context.groups:
            if group.title not in groups:
                continue
            for command in group.commands:
                keys = " ".join(f"`{_markdown(display_key(key, UNICODE))}`" for key in command.keys)
                lines.append(f"| {where} | {keys} | {command.help} |")
    return "\n".join(lines) + "\n"


def _markdown(key: str) -> str:
    return key.replace("|", "\\|")


def command_table() -> str:
    """Every command with its first line of help, as Markdown."""
    rows = [f"| `agent-tt {name}` | {what} |" for name, what in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows]) + "\n"


def with_tables(readme: str) -> str:
    """The README with its tables brought up to date."""
    for part, table in (("commands", command_table()), ("keys", key_table())):
        marked = re.compile(rf"(<!-- {part}:[^\n]*-->\n).*?(<!-- /{part} -->)", re.DOTALL)
        readme = marked.sub(lambda match, table=table: f"{match[1]}{table}{match[2]}", readme)
    return readme


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
