"""Which tables a database has; making ours, and bringing them up to date."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final, Literal

from agent_tt import _version
from agent_tt.errors import NewerFormat, NotAStore, OlderFormat, ReadOnlySource, StoreNotFound
from agent_tt.store.file import schema
from agent_tt.store.liveness import now_us
from agent_tt.store.postgres.connecting import connect, forget_connections, lent
from agent_tt.store.postgres.database import PostgresDatabase
from agent_tt.store.postgres.driver import psycopg
from agent_tt.store.postgres.errors import Translation
from agent_tt.store.postgres.schema import CHANGES, LAYOUT, SCHEMA
from agent_tt.store.postgres.transaction import LOCK
from agent_tt.store.tables.definitions import META

if TYPE_CHECKING:
    from agent_tt.addresses import Address
    from agent_tt.store.file.connection import Durability
    from agent_tt.store.postgres.connecting import Connection

__all__ = ["Tables", "may_delete", "open_address", "tables_of"]

Tables = Literal["ours", "langgraph", "none"]

_WHOSE: Final = f"""SELECT to_regclass('{SCHEMA}.layout') IS NOT NULL, to_regnamespace('{SCHEMA}') IS NOT NULL,
  EXISTS(SELECT 1 FROM pg_class WHERE relname = 'checkpoints' AND relkind IN ('r', 'p'))"""  # noqa: S608  # ours
_MAKES: Final = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}",
    "CREATE TABLE IF NOT EXISTS layout(version BIGINT PRIMARY KEY, made_us BIGINT NOT NULL, made_by TEXT NOT NULL)",
)
_MAY_WRITE: Final = "SELECT has_table_privilege('runs', 'INSERT')"
_MAY_DELETE: Final = "SELECT has_table_privilege('runs', 'DELETE')"
_LAST: Final = "SELECT max(version) FROM layout"


def tables_of(address: Address) -> Tables:
    """Whose tables a database has: ours, where both are there.

    Raises:
        As `connect`.
    """
    with lent(address) as connection, Translation(address):
        return _tables_of(connection)


def may_delete(address: Address) -> bool:
    """Whether this user may take runs away, and so write one anew: a recorder may not.

    Raises:
        As `connect`.
    """
    with lent(address) as connection, Translation(address):
        return connection.execute(_MAY_DELETE).fetchone() == (True,)


def _tables_of(connection: Connection) -> Tables:
    row = connection.execute(_WHOSE).fetchone()
    has_layout, has_schema, has_theirs = row if row is not None else (False, False, False)
    if has_layout:
        return "ours"
    return "langgraph" if has_theirs and not has_schema else "none"


def open_address(
    address: Address, *, create: bool = False, read_only: bool = False, durability: Durability = "full"
) -> PostgresDatabase:
    """Open a store in a database, after making our tables in it where that is allowed.

    Raises:
        StoreNotFound: there is no such database, or nothing was recorded into it, and `create` is False.
        NotAStore: it has LangGraph's tables, and nobody has said that ours may stand beside them.
        NewerFormat, OlderFormat: another agent-tt made it.
        UsageError, StoreUnreadable: as `connect`.
    """
    with Translation(address):
        with lent(address) as connection:
            tables = _tables_of(connection)
            found = _layout(connection) if tables == "ours" else 0
        if found < LAYOUT:
            if tables == "langgraph":
                raise NotAStore(
                    f"{address} has LangGraph's tables, which are only read",
                    hint=f"To record beside them say CREATE SCHEMA {SCHEMA}; in it, else name another database.",
                )
            if not create or read_only:
                if found:
                    raise OlderFormat(
                        f"{address} has tables of version {found}, older than the {LAYOUT} that this agent-tt reads",
                        found=found,
                        supported=LAYOUT,
                        hint="They are brought up to date when something is recorded.",
                    )
                raise StoreNotFound(
                    f"nothing was recorded into {address}", hint="Record a run first, or name another store."
                )
            _make(address)
        elif found > LAYOUT:
            raise NewerFormat(
                f"{address} has tables of version {found}, newer than the {LAYOUT} that this agent-tt reads",
                found=found,
                supported=LAYOUT,
                hint="Upgrade agent-tt.",
            )
    database = PostgresDatabase(address, read_only=read_only, durability=durability)
    if not create and not read_only:  # who may only look marks runs in a store of their own, as those of other files
        database.read_only = not database.query(_MAY_WRITE)[0][0]
    return database


def _layout(connection: Connection) -> int:
    row = connection.execute(_LAST).fetchone()
    return int(row[0] or 0) if row is not None else 0


def _make(address: Address) -> None:
    """Make the tables, or bring them up to date. Any number of processes may do this at once; one does."""
    with closing(connect(address)) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        for statement in _MAKES:
            try:
                with connection.transaction():
                    connection.execute(statement)
            except psycopg.errors.InsufficientPrivilege as error:
                raise ReadOnlySource(
                    f"{address} does not let this user make tables: {error.diag.message_primary}",
                    hint="Let its owner record first, or GRANT CREATE ON DATABASE … TO this user.",
                ) from None
        found = _layout(connection)
        for version, statements in enumerate(CHANGES[found:], found + 1):
            for statement in statements:
                connection.execute(statement)
            made = (version, now_us(), f"agent-tt {_version.__version__}")
            connection.execute("INSERT INTO layout(version, made_us, made_by) VALUES(%s, %s, %s)", made)
    forget_connections(address)  # they know nothing of the schema
    if not found:
        with closing(PostgresDatabase(address)) as database, database.transaction() as tx:
            if not tx.query("SELECT 1 FROM meta WHERE key = 'format'"):
                for fact in (
                    ("format", str(schema.FORMAT_VERSION)),
                    ("created_by", f"agent-tt {_version.__version__}"),
                    ("gc_epoch", "0"),
                ):
                    META.insert(tx, fact)
