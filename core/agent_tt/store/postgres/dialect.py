"""Our SQL in PostgreSQL's words. The statements of the store are written for SQLite, and differ in few places.

What differs by a name alone is a function of ours in the database (`schema`). What differs in form is changed here,
once for each statement: places for parameters, `INSERT OR IGNORE`, `IS ?`, numbers that the database gives, lists as
JSON.

PostgreSQL has no text that holds a zero character. In place of it two others are kept, of which the first is written
twice over where a text holds it: so every text comes back as it was, and different texts stay different.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.history.rows import Row
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["OF_A_FILE", "bound", "in_words_of_postgres", "loaded"]

OF_A_FILE: Final[Mapping[str, Sequence[Row]]] = {
    "PRAGMA page_size": [(8192,)],
    "PRAGMA page_count": [(0,)],
    "PRAGMA freelist_count": [(0,)],
    "PRAGMA integrity_check(20)": [("ok",)],
}
"""Questions about an SQLite file, with answers for who has none: a server uses its room again by itself."""

_LITERAL: Final = re.compile(r"('(?:[^']|'')*')")
_NUMBERS: Final = frozenset({"run", "track", "parent", "owner", "step"})
"""Columns that hold numbers, among those that a list is asked of."""
_WHOLE_FACTS: Final = frozenset({"unpriced", "step", "call"})
"""Facts in JSON that are numbers, among those that SQL looks at."""

_LISTED: Final = re.compile(r"(\S+) IN \(SELECT value FROM json_each\(\?\)\)")
_PAIR: Final = re.compile(r"json_extract\(e\.value, ('\$\[(\d)\]')\)")
_FACT: Final = re.compile(r"json_extract\(((?:\w+\.)?\w+), '\$\.([\w.]+)'\)")
_GIVEN: Final = re.compile(r"INSERT INTO (\w+)\((\w+), (.*?)\) VALUES\(NULL, ", re.DOTALL)
_FORMER: Final = re.compile(r"json_each\(CASE WHEN typeof\(r\.meta\).*? END END,\s*'\$\.(\w+)'\)", re.DOTALL)
_ROWS: Final = re.compile(r"json_group_array\(json_array\((.*?)\)\), group_concat\(hex\(proof\), ''\)")
_PLACE: Final = re.compile(r"\?")
_DISTINCT: Final = re.compile(r" IS (NOT )?\?")

_WORDS: Final = (
    ("ifnull(", "coalesce("),
    (" NOT INDEXED", ""),
    (" main.", " "),
    (" AS INTEGER)", " AS BIGINT)"),
    ("NOT r.hidden", "r.hidden = 0"),
    ("NOT hidden", "hidden = 0"),
    (" WHERE 1 ", " WHERE true "),
)

_ZERO: Final = "\0"
_MARK: Final = "\U0010fffd"
_FOR_ZERO: Final = _MARK + "0"
_FOR_MARK: Final = _MARK + "1"


@lru_cache(maxsize=1024)
def in_words_of_postgres(sql: str) -> tuple[str, bool]:
    """A statement as PostgreSQL is asked it.

    Returns:
        The statement, and whether it gives back the number that the database gave to a row.
    """
    sql = _LISTED.sub(_in_list, sql)
    sql = _FORMER.sub(r"json_texts(r.meta, '\1')", sql)
    sql = _PAIR.sub(r"CAST(CAST(e.value AS json) ->> \2 AS BIGINT)", sql)
    sql = _FACT.sub(_fact, sql)
    sql = _ROWS.sub(
        r"coalesce(CAST(json_agg(json_build_array(\1) ORDER BY step) AS text), '[]'),"
        r" string_agg(encode(proof, 'hex'), '' ORDER BY step)",
        sql,
    )
    gives = _GIVEN.match(sql)
    if gives is not None:
        table, key, columns = gives.groups()
        sql = f"INSERT INTO {table}({key}, {columns}) VALUES(DEFAULT, {sql[gives.end() :]} RETURNING {key}"
    if sql.startswith("INSERT OR IGNORE INTO "):
        sql = sql.replace("INSERT OR IGNORE INTO ", "INSERT INTO ", 1) + " ON CONFLICT DO NOTHING"
    if sql.startswith("SELECT"):  # who may not list large parts finds one by its number
        sql = sql.replace(" FROM blobs WHERE id = ?", " FROM blob_at(?)")
    parts = _LITERAL.split(sql.removesuffix(" WHERE 1"))
    parts[::2] = [_outside(part) for part in parts[::2]]
    return "".join(parts).replace("%", "%%").replace("\0", "%s"), gives is not None


def _outside(part: str) -> str:
    """What stands outside of literals; a zero character where a parameter goes."""
    part = _DISTINCT.sub(lambda found: f" IS {'' if found[1] else 'NOT '}DISTINCT FROM ?", part)
    for ours, theirs in _WORDS:
        part = part.replace(ours, theirs)
    return _PLACE.sub("\0", part)


def _in_list(found: re.Match[str]) -> str:
    value = "CAST(value AS BIGINT)" if found[1].rpartition(".")[2] in _NUMBERS else "value"
    return f"{found[1]} IN (SELECT {value} FROM json_each(?))"  # noqa: S608  # ours


def _fact(found: re.Match[str]) -> str:
    names = found[2].split(".")
    kind = "json_whole" if names[-1] in _WHOLE_FACTS else "json_text"
    return f"{kind}({found[1]}, '{{{','.join(names)}}}')"


def bound(values: Sequence[SqlValue]) -> list[Any]:
    """Parameters as PostgreSQL can be given them."""
    return [
        value.replace(_MARK, _FOR_MARK).replace(_ZERO, _FOR_ZERO)
        if type(value) is str and (_ZERO in value or _MARK in value)
        else value
        for value in values
    ]


def loaded(rows: Iterable[Row]) -> list[Row]:
    """Rows as they were written."""
    found = list(rows)
    for at, row in enumerate(found):
        for value in row:
            if type(value) is str and _MARK in value:
                found[at] = tuple(_original(each) if type(each) is str else each for each in row)
                break
    return found


def _original(text: str) -> str:
    return text.replace(_FOR_ZERO, _ZERO).replace(_FOR_MARK, _MARK)
