"""SQL of our store is spoken in its folder alone; a few other places speak SQL over files that are not our store."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import agent_tt
import agent_tt_tui

if TYPE_CHECKING:
    from collections.abc import Iterator

CORE, TUI = Path(agent_tt.__file__).parent, Path(agent_tt_tui.__file__).parent

SPEAK_SQL = {
    CORE / "store": "the store",
    CORE / "interop" / "langgraph": "reads LangGraph's files",
    CORE / "interop" / "databases": "reads files of other programs",
    CORE / "exporting" / "database_tables.py": "views of a database that runs are exported to",
    CORE / "querying" / "search": "the index of searches: a file of its own, made anew where it is missing",
}

SQL = re.compile(
    r"\b(SELECT\b[\s\S]*\bFROM|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|CREATE (TABLE|INDEX|VIEW)|PRAGMA \w)"
    r"|\b(WHERE|VALUES ?\(|ORDER BY|ON CONFLICT)"
)


def words(source: str) -> Iterator[str]:
    """The texts of a module but for docstrings; what an f-string fills in is `x`."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone | parts:
            yield node.value


def speaks(source: str) -> bool:
    return any(SQL.search(text) for text in words(source))


def test_no_module_outside_these_folders_speaks_sql() -> None:
    spoken = {
        path: speaks(path.read_text(encoding="utf-8")) for root in (CORE, TUI) for path in sorted(root.rglob("*.py"))
    }
    outside = [path for path, does in spoken.items() if does and not any(map(path.is_relative_to, SPEAK_SQL))]
    assert outside == []
    for folder in SPEAK_SQL:
        assert any(does for path, does in spoken.items() if path.is_relative_to(folder)), folder


def test_sql_is_recognised_however_it_is_put_together() -> None:
    for source in (
        'rows.query("SELECT 1 FROM runs")',
        'rows.query(f"SELECT {names} FROM {table}")',
        'table.read(rows, f"1 ORDER BY {name}")',
        'x = "DELETE FROM runs"',
        'x = f"UPDATE {table} SET a = 1"',
        'PRAGMA = "PRAGMA data_version"',
    ):
        assert speaks(source), source
    for source in ('"""SELECT 1 FROM runs"""', 'help = "Select where to look"', 'x = "select from the list"'):
        assert not speaks(source), source
