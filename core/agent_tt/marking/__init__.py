"""Marks on runs that lie where nothing may be written: they are kept in the user's own store.

A `MarkedSource` stands before a file of another system, or a store that is only read, and shows its runs with what
people wrote down about them: names, notes, bookmarks, tags, facts, pins, the archive. Nothing is written into the file.

| module | what it does |
|---|---|
| `book` | finds the own store, opens it when there is something to read, makes it when the first mark is made |
| `overlay` | what marks mean: which run and step they are about now, and what it looks like with them |
| `reading` | hands on what marks have no part in |
| `source` | reads and writes through both |
"""

from __future__ import annotations

from agent_tt.marking.source import MarkedSource, marked

__all__ = ["MarkedSource", "marked"]
