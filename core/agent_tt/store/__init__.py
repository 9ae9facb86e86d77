"""The store: one SQLite file that holds runs, their steps and calls, and the history of their states.

| module | does |
|---|---|
| `store`, `reader`, `writer`, `call_writer` | the store as it is used: runs are read, one run is written |
| `opening`, `connection`, `in_place`, `tables`, `sqlite_errors` | the file: how it is asked, whether it is the same |
| `locate`, `heads` | where it is, and what its first bytes say |
| `schema`, `schema_check` | its format |
| `columns` | the model's objects in columns |
| `run_rows`, `step_rows`, `call_rows`, `deliveries`, `questions`, `outputs`, `sweeps` | rows as the model's objects |
| `lineage`, `usage` | what a fork shares with its ancestors: steps, checkpoints, tokens and dollars |
| `open_step`, `numbers` | what the writer of a run remembers between its transactions |
| `records` | the base class of other stores: a backend keeps records, the rest follows |
| `sql`, `views` | queries in SQL, and the views that they are over |
| `ids`, `naming` | what names a run or a checkpoint, and what may |
| `keeping`, `deleting`, `transfer` | keeping order: names, pins, archives; deleting; copying |
| `foreign_marks` | marks on runs in files that are only read |
| `door` | what passes before anything is compared or stored |
| `spill` | what was recorded while the store could not be written |
| `liveness`, `provenance` | whether a run's process is there, and whether the store was made here |
| `verify`, `verify_rows`, `counts`, `damage_watch` | what is damaged, and what is missing |
"""

from __future__ import annotations

from agent_tt.store.locate import project_root, resolve_store_path
from agent_tt.store.store import SqliteStore, open_patiently, open_store
from agent_tt.store.transfer import copy_run

__all__ = ["SqliteStore", "copy_run", "open_patiently", "open_store", "project_root", "resolve_store_path"]
