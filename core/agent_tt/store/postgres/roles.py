"""Who may do what in a store that many use: three roles, as SQL for the owner of the tables to run once.

    python -m agent_tt.store.postgres.roles | psql postgresql://owner@host/database

| role | may |
|---|---|
| `agent_tt_viewer` | read everything, and write nothing |
| `agent_tt_recorder` | begin runs, write and end its own, and read those; delete none, and see none of others |
| `agent_tt_owner` | everything but change the tables: also delete, prune, drop and redact |

A login is made a member (`GRANT agent_tt_recorder TO ci`). Whose a run is says `runs.recorded_by`, which no recorder
can set to another.

Large parts are kept once for all. A recorder finds one by its number, which is made from its content, and cannot list
them: who knows the number has the content, or was given it. Of what says which rows a table has (`seals`) it can change
what stands for all runs together; `verify` shows it.
"""

from __future__ import annotations

import sys
from typing import Final

from agent_tt.store.postgres.purging import LETS_OTHERS
from agent_tt.store.postgres.schema import SCHEMA

__all__ = ["ROLES"]

_ROLES: Final = ("agent_tt_viewer", "agent_tt_recorder", "agent_tt_owner")

_OF_RUNS: Final = {
    "tracks": "run",
    "steps": "run",
    "calls": "run",
    "tags": "run",
    "notes": "run",
    "sweeps": "run",
    "writes": "run",
    "stamps": "run",
    "deliveries": "id >> 32",
}
"""Tables whose rows are a run's, and what says whose."""

_OF_TRACKS: Final = {"deltas": "id >> 32", "keyframes": "id >> 32", "changes": "track"}

_OWN: Final = {
    "runs": "recorded_by = current_user",
    "dicts": "recorded_by = current_user",
    "meta": "true",
    "paths": "true",
    "seals": "owner = 0 OR EXISTS (SELECT 1 FROM runs r WHERE r.run = seals.owner)",
    **{
        table: f"EXISTS (SELECT 1 FROM runs r WHERE r.run = {table}.{column})"  # noqa: S608  # ours
        for table, column in _OF_RUNS.items()
    },
    **{
        table: f"EXISTS (SELECT 1 FROM tracks t WHERE t.track = {table}.{column})"  # noqa: S608  # ours
        for table, column in _OF_TRACKS.items()
    },
}
"""Which rows of each table a recorder sees and writes. Of runs and tracks it sees none but its own."""

_ALL: Final = (*_OWN, "blobs", "foreign_marks", "layout")
_ADDED_ONLY: Final = ("blobs", "paths")
_REPLACED: Final = ("tags",)
"""Tables whose rows are taken away and written anew while a run is recorded."""


def _made() -> list[str]:
    lines = [f"SET search_path = {SCHEMA}, pg_catalog;"]
    lines += [
        f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;" for role in _ROLES
    ]
    everybody = ", ".join(_ROLES)
    lines += [
        f"REVOKE ALL ON ALL TABLES IN SCHEMA {SCHEMA} FROM {everybody};",
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {everybody};",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO agent_tt_viewer, agent_tt_owner;",
        f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO agent_tt_owner;",
        "REVOKE INSERT, UPDATE, DELETE ON layout FROM agent_tt_owner;",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO agent_tt_recorder, agent_tt_owner;",
    ]
    lines += [
        LETS_OTHERS,
        f"REVOKE ALL ON FUNCTION {SCHEMA}.write_anew(text) FROM PUBLIC;",
        f"GRANT EXECUTE ON FUNCTION {SCHEMA}.write_anew(text) TO agent_tt_owner;",
    ]
    for table in _OWN:
        if table not in _ADDED_ONLY:
            lines.append(f"GRANT SELECT, INSERT, UPDATE ON {table} TO agent_tt_recorder;")
    lines += [f"GRANT INSERT ON {table} TO agent_tt_recorder;" for table in _ADDED_ONLY]
    lines += [f"GRANT DELETE ON {table} TO agent_tt_recorder;" for table in _REPLACED]
    lines.append("GRANT SELECT ON layout TO agent_tt_recorder;")
    for table in _ALL:
        own = _OWN.get(table, "true")
        lines.append(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;")
        lines += [f"DROP POLICY IF EXISTS {name} ON {table};" for name in ("viewer", "recorder", "owner")]
        lines += [
            f"CREATE POLICY viewer ON {table} FOR SELECT TO agent_tt_viewer USING (true);",
            f"CREATE POLICY owner ON {table} TO agent_tt_owner USING (true) WITH CHECK (true);",
            f"CREATE POLICY recorder ON {table} TO agent_tt_recorder USING ({own}) WITH CHECK ({own});",
        ]
    return ["BEGIN;", *lines, "COMMIT;"]


ROLES: Final = "\n".join(_made()) + "\n"
"""Makes the roles, and says it all of the tables that are there. It can be run again, as after an upgrade."""

if __name__ == "__main__":
    sys.stdout.write(ROLES)
