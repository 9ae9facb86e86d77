"""The base class of a store: a backend keeps records, and everything that a store does follows from that.

A backend implements `path`, `version`, `transaction`, `find`, `save`, `remove` and `new_number`; it overrides what its
database can do faster. The store of one SQLite file (`agent_tt.store.store`) overrides everything.

| module | does |
|---|---|
| `kinds` | the kinds of records, and what tells those of one kind apart |
| `reader` | runs, steps, calls and states out of records |
| `store` | beginning and forking runs, and deciding of calls that wait |
| `keeper` | keeping order: notes, names, pins, archives, deleting; sweeps |
| `writer` | the open end of one run |
"""

from __future__ import annotations

from agent_tt.store.records.kinds import Asked, Checkpoint, Driven, Piece, Record, Recorder, key_of
from agent_tt.store.records.store import RecordStore

__all__ = ["Asked", "Checkpoint", "Driven", "Piece", "Record", "RecordStore", "Recorder", "key_of"]
