"""A filter for FTS5: a text can hold what is searched for only if it has all of its trigrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

    from agent_tt.protocols import Needed

__all__ = ["grams_of"]

_GRAM: Final = 3
_MOST_GRAMS: Final = 24
"""Grams that are asked for; more would find hardly fewer texts."""

_MOST_ALTERNATIVES: Final = 64
"""Grams that a term of one or two characters may begin; of one that begins more, texts are found by reading on."""

_NOWHERE: Final = "\3\3\3"
"""A gram that stands in no text, or in hardly any."""

_SURROGATES: Final = 0xD800
_AFTER_SURROGATES: Final = 0xE000
_LAST_CODE: Final = 0x10FFFF
"""Code points: the first of those that no text has, the first after them, and the last one."""


def grams_of(connection: sqlite3.Connection, needed: Needed) -> str | None:
    """Write the FTS5 query that all texts which may match fulfil; None where nothing is known of them."""
    if isinstance(needed, list):
        sign, *parts = needed
        built = [grams_of(connection, part) for part in parts]
        known = [each for each in built if each is not None]
        if sign == "OR":
            return f"({' OR '.join(known)})" if known and len(known) == len(built) else None
        return " AND ".join(known) or None
    if not needed:
        return None
    if len(needed) < _GRAM:
        return _beginning_with(connection, needed)
    grams = dict.fromkeys(needed[at : at + _GRAM] for at in range(len(needed) - _GRAM + 1))
    return " AND ".join(map(_quoted, list(grams)[:_MOST_GRAMS]))


def _beginning_with(connection: sqlite3.Connection, term: str) -> str | None:
    """The grams that a short term begins, as alternatives; None where they are many: then it stands everywhere."""
    found: list[str] = []
    at, end = term, _after(term)
    while len(found) <= _MOST_ALTERNATIVES:
        row = connection.execute(
            "SELECT term FROM gram_rows WHERE term >= ? AND term < ? LIMIT 1", (at, end)
        ).fetchone()
        if row is None:
            return f"({' OR '.join(map(_quoted, found))})" if found else _quoted(_NOWHERE)
        found.append(row[0])
        at = row[0] + "\1"
    return None


def _after(term: str) -> str:
    """What comes after all that begins with a term."""
    code = ord(term[-1]) + 1
    if code > _LAST_CODE:
        return term + chr(_LAST_CODE) * _GRAM
    return term[:-1] + chr(_AFTER_SURROGATES if code == _SURROGATES else code)


def _quoted(gram: str) -> str:
    return '"{}"'.format(gram.replace('"', '""'))
