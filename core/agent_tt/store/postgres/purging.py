"""Writing the tables of a store anew: of rows that were deleted nothing is left in their files then.

A server keeps the bytes of such rows where they were, and `VACUUM` does too. `CLUSTER` writes a table into new files.
What a server has beside its tables (its log, replicas, backups) nobody can look at from here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.store.postgres.driver import psycopg
from agent_tt.store.postgres.schema import SCHEMA
from agent_tt.store.tables.definitions import TABLES

if TYPE_CHECKING:
    from agent_tt.store.postgres.connecting import Connection

__all__ = ["LETS_OTHERS", "write_anew"]

_NAMES: Final = (*TABLES, "changes", "paths")
"""Tables that hold what was recorded."""

_KEY: Final = """SELECT i.relname FROM pg_class t JOIN pg_index x ON x.indrelid = t.oid AND x.indisprimary
  JOIN pg_class i ON i.oid = x.indexrelid WHERE t.relname = {} AND t.relnamespace = '{}'::regnamespace"""

LETS_OTHERS: Final = f"""CREATE OR REPLACE FUNCTION {SCHEMA}.write_anew(named text) RETURNS void LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DECLARE key text;
  BEGIN
    {_KEY.format("named", SCHEMA).replace("SELECT i.relname", "SELECT i.relname INTO STRICT key")};
    EXECUTE format('CLUSTER VERBOSE {SCHEMA}.%I USING %I', named, key);
  END $$;"""
"""Lets who does not own the tables write one anew: made by their owner, together with the roles."""

_IS_OURS: Final = f"""SELECT pg_has_role(relowner, 'USAGE') FROM pg_class
  WHERE relname = 'runs' AND relnamespace = '{SCHEMA}'::regnamespace"""  # noqa: S608  # ours
_MAY: Final = (
    f"""SELECT coalesce(has_function_privilege(to_regprocedure('{SCHEMA}.write_anew(text)'), 'EXECUTE'), false)"""
)
_KEPT: Final = re.compile(r"\d+")


def write_anew(connection: Connection) -> bool:
    """Write the tables anew, each in a transaction of its own.

    Returns:
        Whether all of them are without what was deleted: not where somebody is in the way, or reads rows that were
        there before, or this user may not do it.
    """
    is_ours, may = (connection.execute(question).fetchone() == (True,) for question in (_IS_OURS, _MAY))
    if not is_ours and not may:
        return False
    left: list[int] = []

    def note(said: psycopg.errors.Diagnostic) -> None:
        """Note how many rows that were deleted had to be copied: somebody may still read them."""
        if said.message_detail:
            found = _KEPT.search(said.message_detail)
            left.append(int(found[0]) if found is not None else 1)

    connection.add_notice_handler(note)
    try:
        for name in _NAMES:
            if is_ours:
                key = connection.execute(_KEY.format("%s", SCHEMA), (name,)).fetchone()
                connection.execute(f"CLUSTER VERBOSE {SCHEMA}.{name} USING {key[0] if key else ''}")  # ours
            else:
                connection.execute(f"SELECT {SCHEMA}.write_anew(%s)", (name,))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
        return False
    finally:
        connection.remove_notice_handler(note)
    return len(left) == len(_NAMES) and not any(left)
