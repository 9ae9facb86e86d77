"""The store: one SQLite file, or a database of a server, with runs, their steps and calls, and their states' history.

| folder or module | does |
|---|---|
| `store`, `reader`, `writer`, `call_writer` | the store as it is used: runs are read, one run is written |
| `seen` | what a reader keeps of what it read |
| `open_step`, `numbers` | what the writer of a run remembers between its transactions |
| `file` | the file: where it is, how it is opened and asked, its format |
| `tables` | its tables in SQL, with proofs of their rows; those of state histories |
| `rows` | rows as the model's objects, and back |
| `ingest_filter` | what passes before anything is compared or stored |
| `keeper`, `keeping`, `deleting` | keeping order: notes, names, pins, archives, sweeps; deleting |
| `transfer`, `copying` | copying runs by their rows; between stores of any kind, checked |
| `postgres` | the store in a database of a PostgreSQL server |
| `threads`, `imported` | runs whose steps are written whole: threads of checkpoints, runs of other programs' files |
| `done_keys` | which call has the key of an effect that is done once |
| `sampling` | runs that are not kept when they are over, and how many they were |
| `own_pruning` | whose turn it is to prune a store that prunes itself |
| `anew`, `dropping` | writing states of recorded runs anew; dropping some of them |
| `redacting` | writing recorded runs anew without what rules find in them |
| `foreign_marks` | marks on runs in files that are only read |
| `sql`, `views` | queries in SQL, and the views that they are over |
| `space`, `statistics` | which runs and kinds of rows fill a file; counting over all runs |
| `liveness` | whether a run's process is there |
| `unnoticed` | writes into tracked states that were not noticed at once |
| `checking` | what is damaged, and what is missing |
| `spill` | what was recorded while the store could not be written |
| `records` | the base class of other stores: a backend keeps records, the rest follows |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily
from agent_tt.store.file.locate import project_root, resolve_store_path
from agent_tt.store.store import SqliteStore, open_patiently, open_store

if TYPE_CHECKING:
    from agent_tt.store.transfer import copy_run, copy_runs

__all__ = ["SqliteStore", "copy_run", "copy_runs", "open_patiently", "open_store", "project_root", "resolve_store_path"]

__getattr__ = lazily(__name__, dict.fromkeys(("copy_run", "copy_runs"), "agent_tt.store.transfer"))
