"""Carrying out a plan to prune: as a copy, or in the database itself."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from agent_tt.errors import StoreBusy, StoreUnreadable, UsageError
from agent_tt.interop.langgraph.detect import tables_of
from agent_tt.interop.langgraph.pruning_plan import plan_pruning

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent_tt.interop.langgraph.connection import DatabaseFile
    from agent_tt.interop.langgraph.pruning_plan import Plan, Report, ThreadPlan

__all__ = ["prune_in_place", "write_pruned"]

_SENDS: Final = "__pregel_tasks"


def write_pruned(
    file: DatabaseFile, target: Path, keep_last: int, threads: Collection[str] = (), report: Report | None = None
) -> Plan:
    """Write a pruned copy of a database. The database itself is only read.

    Args:
        file: the database.
        target: where the copy goes; nothing may be there.
        keep_last: see `plan_pruning`.
        threads: see there.
        report: told (threads done, in all).

    Returns:
        What was left out.

    Raises:
        RunNotFound: see `plan_pruning`.
        UsageError: see there; or something is where the copy is to go.
        StoreUnreadable: the copy cannot be written, or the database has tables that cannot be copied.
    """
    if target.exists():
        raise UsageError(f"there is a file {target} already", hint="Name another one with --out.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise StoreUnreadable(
            f"{target} cannot be written: {error.strerror}", hint="Name another with --out."
        ) from error
    os.close(handle)
    draft = Path(name)
    try:
        plan = file.read(lambda connection: _copied(connection, draft, keep_last, threads, report), refresh=True)
        draft.replace(target)
    finally:
        for suffix in ("", "-journal"):
            Path(name + suffix).unlink(missing_ok=True)
    return plan


def _copied(
    connection: sqlite3.Connection, draft: Path, keep_last: int, threads: Collection[str], report: Report | None
) -> Plan:
    plan = plan_pruning(connection, keep_last, threads)
    schema = connection.execute(
        "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    odd = [name for kind, name, sql in schema if kind == "trigger" or "VIRTUAL" in sql.upper().split()[:2]]
    if odd:
        raise StoreUnreadable(f"the database has {odd[0]}, which cannot be copied", hint="--in-place prunes it.")
    draft.write_bytes(b"")
    # The database was opened for reading only, whatever this pragma says: it is for the file that is attached.
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute("ATTACH ? AS pruned", (_uri(draft),))
        try:
            connection.execute("BEGIN")
            for kind in ("table", "index", "view"):
                for _, _, sql in (row for row in schema if row[0] == kind):
                    connection.execute(_into(sql, kind.upper()))
                if kind == "table":
                    _copy_rows(connection, [name for each, name, _ in schema if each == "table"], plan, report)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("DETACH pruned")
    finally:
        connection.execute("PRAGMA query_only = ON")
    return plan


def _into(sql: str, kind: str) -> str:
    """A statement that makes what another one makes, in the copy; SQLite keeps them in this form."""
    head, found, rest = sql.partition(f"{kind} ")
    return f"{head}{found}pruned.{rest}"


def _copy_rows(connection: sqlite3.Connection, names: Sequence[str], plan: Plan, report: Report | None) -> None:
    planned = {thread.thread: thread for thread in plan.threads}
    for name in names:
        table = _quoted(name)
        copy = f"INSERT INTO pruned.{table} SELECT * FROM main.{table}"  # noqa: S608  # quoted
        if name not in ("checkpoints", "writes") or not planned:
            connection.execute(copy)
            continue
        present = connection.execute(f"SELECT DISTINCT thread_id FROM main.{table}").fetchall()  # noqa: S608  # quoted
        for number, (thread,) in enumerate(present, 1):
            if thread not in planned:
                connection.execute(f"{copy} WHERE thread_id IS ?", (thread,))
            else:
                _copy_thread(connection, name, copy, planned[thread])
            if report is not None:
                report(number, len(present))


def _copy_thread(connection: sqlite3.Connection, table: str, copy: str, plan: ThreadPlan) -> None:
    keys = connection.execute(
        f"SELECT DISTINCT checkpoint_ns, checkpoint_id FROM main.{table} WHERE thread_id = ?",  # noqa: S608  # one of two
        (plan.thread,),
    ).fetchall()
    one = f"{copy} WHERE thread_id = ? AND checkpoint_ns IS ? AND checkpoint_id IS ?"
    connection.executemany(one, [(plan.thread, *key) for key in keys if key not in plan.dropped])
    if table == "writes":
        connection.executemany(f"{one} AND channel = '{_SENDS}'", [(plan.thread, *key) for key in plan.sends])


def prune_in_place(path: Path, keep_last: int, threads: Collection[str] = (), report: Report | None = None) -> Plan:
    """Prune a database itself, and give the room back to the disk.

    Raises:
        RunNotFound, UsageError: see `plan_pruning`.
        StoreBusy: somebody else writes to it, or reads it.
        StoreUnreadable: it cannot be written.
    """
    try:
        with contextlib.closing(sqlite3.connect(_uri(path), uri=True, isolation_level=None, timeout=2)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN IMMEDIATE")
            try:
                plan = plan_pruning(connection, keep_last, threads, report)
                for statement, keys in _deletions(connection, plan):
                    connection.executemany(statement, keys)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise StoreBusy(f"{path} is in use: {error}", hint="Stop what uses it, or write a copy: --out.") from error
        raise StoreUnreadable(f"{path} cannot be pruned: {error}", hint="Write a copy: --out.") from error
    return plan


def _deletions(connection: sqlite3.Connection, plan: Plan) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    tables = tables_of(connection)
    is_one = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
    gone, sent_from = f"DELETE FROM writes WHERE {is_one}", f"DELETE FROM writes WHERE {is_one} AND channel <> ?"  # noqa: S608
    for thread in plan.threads:
        name = thread.thread
        yield f"DELETE FROM checkpoints WHERE {is_one}", [(name, *key) for key in thread.dropped]  # noqa: S608
        if tables is not None and tables.has_writes:
            yield gone, [(name, *key) for key in thread.dropped - thread.sends]
            yield sent_from, [(name, *key, _SENDS) for key in thread.sends]


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _uri(path: Path) -> str:
    return f"file:{quote(os.fsencode(path.absolute()))}?mode=rw"
