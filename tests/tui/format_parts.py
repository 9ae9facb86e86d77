"""The parts of `docs/format.md`: made from the schema, the proofs, the facts, and what modules say of forms."""

from __future__ import annotations

import ast
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.model.facts import CallFacts, Facts, UserFacts
from agent_tt.model.facts.replays import ReplayFacts
from agent_tt.model.facts.stored import RunMeta, StepMeta
from agent_tt.store.file import schema
from agent_tt.store.tables.definitions import TABLES as PROVEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CORE: Final = Path(schema.__file__).parents[2]
JSON_COLUMNS: Final = {
    "runs.meta": RunMeta,
    "steps.meta": StepMeta,
    "calls.meta": CallFacts,
    "notes.body of a replay": ReplayFacts,
}
FORMS: Final = {
    "Values with large parts": "history.payloads.payload",
    "Operations": "history.changes.ops",
    "Headers": "history.payloads.templates",
    "Compression": "history.payloads.frames",
    "Hashes": "history.hashing",
    "Bytes of a value": "codec.tlv",
    "Digests and the chain": "history.digest",
    "The log": "history.log.log",
    "Keyframes": "history.log.keyframes",
    "The index of changed paths": "history.log.index",
    "Proofs and seals": "store.tables.proofs",
    "Counts": "store.checking.counts",
    "The order of answers": "store.rows.deliveries",
    "Who made a file": "store.file.provenance",
    "Spill files": "store.spill",
}
"""By heading, the module whose docstring describes the form."""


def file_table() -> str:
    """What tells a store from other SQLite files."""
    text = schema.APPLICATION_ID.to_bytes(4, "big").decode()
    rows = [
        ("`PRAGMA application_id`", f'`0x{schema.APPLICATION_ID:08x}`, "{text}"'),
        (
            "`PRAGMA user_version`",
            f"`{schema.FORMAT_VERSION}`, the number of the format; `format` in `meta` is the same",
        ),
        ("`PRAGMA page_size`", f"`{schema.PAGE_SIZE}`"),
    ]
    return _table(("in the file", "is"), rows) + "\n"


def words() -> str:
    """What the schema says of runs, states, calls and the rest."""
    _, first, rest = (schema.__doc__ or "").partition("**Runs.**")
    return f"{first}{rest}"


def column_tables() -> str:
    """Every table with its columns, and what of it is proven."""
    connection = sqlite3.connect(":memory:")
    for statement in schema.STATEMENTS:
        connection.execute(statement)
    names = [
        name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    ]
    shown = [_column_table(connection, name) for name in names if not name.startswith("sqlite_")]
    connection.close()
    return "\n\n".join(shown) + "\n"


def _column_table(connection: sqlite3.Connection, name: str) -> str:
    rows = []
    for _, column, kind, is_set, _, key, _ in connection.execute(f"PRAGMA table_xinfo({name})"):
        what = "digest of the row" if column == "proof" else schema.COLUMNS[name][column]
        holds = f"{kind.lower().partition(' ')[0]}{'' if is_set or key else ' or NULL'}{', key' if key else ''}"
        rows.append((f"`{column}`", holds, what))
    return f"### {name}\n\n{_table(('column', 'holds', 'what it says'), rows)}\n\n{_proven(name)}"


def _proven(name: str) -> str:
    table = PROVEN.get(name)
    if table is None:
        return "Its rows have no proof."
    said = "Proven: every column that is stored."
    if table.parts:
        said += f" By a digest of their own: {', '.join(f'`{column}`' for column in table.parts)}."
    if table.keeps:
        said += f" Kept behind the proof: those of {', '.join(f'`{column}`' for column in table.keeps)}."
    return said + (" Its rows are sealed." if table.sealed else "")


def fact_tables() -> str:
    """Every key of the JSON columns, with those of the objects in them."""
    parts = []
    for column, record in JSON_COLUMNS.items():
        parts.append(f"### {column}\n\n{_table(('key', 'value', 'what it says'), _facts(record))}")
    users = _table(("key", "value", "what it says"), _facts(UserFacts))
    parts.append(
        f"### What people write\n\nOf all other keys in `metadata` the application knows these by name:\n\n{users}"
    )
    return "\n\n".join(parts) + "\n"


def _facts(record: type[Facts], around: str = "") -> Iterator[tuple[str, str, str]]:
    for fact in record.every():
        key = f"{around}{fact.key}"
        yield f"`{key}`", fact.shape.words, fact.what
        if fact.shape.record is not None:
            is_list = fact.shape.words.startswith("list")
            yield from _facts(fact.shape.record, f"{key}{'[]' if is_list else ''}.")


def form_sections() -> str:
    """What modules say of the forms that they read and write."""
    return "\n\n".join(f"### {title}\n\n{_said_by(module)}" for title, module in FORMS.items()) + "\n"


def _said_by(module: str) -> str:
    path = CORE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.sub(r"\| module \|.*?\n\n", "", said, flags=re.DOTALL)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)
