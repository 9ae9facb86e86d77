"""The store: one SQLite file that holds runs, their steps and calls, and the history of their states."""

from __future__ import annotations

from agent_tt.store.locate import project_root, resolve_store_path
from agent_tt.store.store import SqliteStore, open_store
from agent_tt.store.transfer import copy_run

__all__ = ["SqliteStore", "copy_run", "open_store", "project_root", "resolve_store_path"]
