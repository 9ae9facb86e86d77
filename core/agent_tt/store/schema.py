"""The tables of format 1. The file's `application_id` is "ATT1", its `user_version` the format.

Times are integer microseconds since the epoch, UTC. JSON columns are UTF-8 text. `deltas.id` and `keyframes.id` are
`track << 32 | seq`. Views are for people with an SQLite browser, may change at any time, and no program reads them.
Tables without row numbers are those whose rows stay small: large rows in an index b-tree make the file several times
larger.
"""

from __future__ import annotations

from typing import Final

__all__ = ["APPLICATION_ID", "FORMAT_VERSION", "PAGE_SIZE", "STATEMENTS"]

FORMAT_VERSION: Final = 1
"""Rises only when older readers would be wrong; added tables, columns, views and envelope types do not raise it."""

APPLICATION_ID: Final = 0x41545431
PAGE_SIZE: Final = 4096

STATEMENTS: Final = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE runs(run INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  status TEXT NOT NULL, agent TEXT, agent_version TEXT, parent INTEGER REFERENCES runs(run), fork_step INTEGER,
  started_us INTEGER NOT NULL, ended_us INTEGER, error TEXT, owner TEXT, beat_us INTEGER,
  hidden INTEGER NOT NULL DEFAULT 0, meta TEXT NOT NULL DEFAULT '{}')""",
    "CREATE INDEX runs_by_parent ON runs(parent) WHERE parent IS NOT NULL",
    "CREATE INDEX runs_by_name ON runs(name, started_us)",
    """CREATE TABLE tracks(track INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs(run),
  name TEXT NOT NULL, parent INTEGER REFERENCES tracks(track), fork_seq INTEGER,
  indexed_to INTEGER NOT NULL DEFAULT -1, dict INTEGER NOT NULL DEFAULT 0, UNIQUE(run, name))""",
    """CREATE TABLE steps(run INTEGER NOT NULL, step INTEGER NOT NULL, parent_step INTEGER, kind TEXT,
  name TEXT NOT NULL, agent TEXT, lane TEXT NOT NULL DEFAULT 'main', status TEXT NOT NULL, started_us INTEGER,
  ended_us INTEGER, tokens_in INTEGER, tokens_out INTEGER, cost_usd REAL, error TEXT, track INTEGER, seq INTEGER,
  meta TEXT, PRIMARY KEY(run, step)) WITHOUT ROWID""",
    """CREATE TABLE calls(run INTEGER NOT NULL, step INTEGER NOT NULL, call INTEGER NOT NULL, lane TEXT NOT NULL,
  lane_seq INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT, effect TEXT, status TEXT NOT NULL, signature BLOB,
  args TEXT, result TEXT, error TEXT, refs BLOB, started_us INTEGER, ended_us INTEGER, delivered INTEGER,
  args_track INTEGER, args_seq INTEGER, meta TEXT, PRIMARY KEY(run, step, call)) WITHOUT ROWID""",
    """CREATE TABLE deliveries(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, call INTEGER NOT NULL, kind TEXT NOT NULL,
  at_us INTEGER, data BLOB)""",
    """CREATE TABLE deltas(id INTEGER PRIMARY KEY, digest BLOB NOT NULL, chain BLOB NOT NULL, dict INTEGER NOT NULL,
  size INTEGER NOT NULL, flags INTEGER NOT NULL DEFAULT 0, refs BLOB, ops BLOB NOT NULL,
  track INTEGER GENERATED ALWAYS AS (id >> 32) VIRTUAL, seq INTEGER GENERATED ALWAYS AS (id & 4294967295) VIRTUAL)""",
    "CREATE TABLE keyframes(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, refs BLOB, state BLOB NOT NULL)",
    """CREATE TABLE blobs(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, form TEXT NOT NULL DEFAULT 'json',
  size INTEGER NOT NULL, data BLOB NOT NULL)""",
    """CREATE TABLE dicts(id INTEGER NOT NULL, copy INTEGER NOT NULL, agent TEXT, data BLOB NOT NULL,
  PRIMARY KEY(id, copy))""",
    "CREATE TABLE paths(id INTEGER PRIMARY KEY, path TEXT NOT NULL)",
    """CREATE TABLE changes(track INTEGER NOT NULL, path INTEGER NOT NULL, block INTEGER NOT NULL,
  touched INTEGER NOT NULL, struct INTEGER NOT NULL, grown INTEGER NOT NULL, len0 INTEGER,
  PRIMARY KEY(track, path, block)) WITHOUT ROWID""",
    "CREATE TABLE tags(run INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(run, tag)) WITHOUT ROWID",
    """CREATE TABLE notes(note INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, step INTEGER,
  kind TEXT NOT NULL, body TEXT, created_us INTEGER NOT NULL)""",
    """CREATE VIEW timeline AS SELECT r.id AS run, s.step, s.parent_step, s.name, s.kind, s.agent, s.lane, s.status,
  (s.ended_us - s.started_us) / 1000.0 AS ms, s.tokens_in, s.tokens_out, s.cost_usd, s.error,
  length(d.ops) AS stored_bytes, lower(hex(d.digest)) AS state_digest
  FROM steps s JOIN runs r USING(run) LEFT JOIN deltas d ON d.id = (s.track << 32) + s.seq""",
    """CREATE VIEW changed_paths AS SELECT r.id AS run, t.name AS track, p.path, c.block * 64 AS first_checkpoint,
  c.touched FROM changes c JOIN tracks t USING(track) JOIN runs r USING(run) JOIN paths p ON p.id = c.path""",
)
