"""Connections to a store on a server.

A process that opens one store again and again, as who follows a run does, is given a connection that was let go a
moment ago: to make one takes a server longer than to answer. psycopg's own pool has threads, and no care for processes
that an agent forks; here a list is all there is.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt.errors import UsageError
from agent_tt.store.file.connecting import PATIENCE
from agent_tt.store.postgres.driver import Int8BinaryDumper, NumericBinaryLoader, conninfo_to_dict, psycopg
from agent_tt.store.postgres.errors import is_lost, our_error
from agent_tt.store.postgres.schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.addresses import Address

__all__ = ["Connection", "connect", "forget_connections", "lent", "let_go", "reach", "reconnect"]

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

_CONNECTION: Final = {
    "connect_timeout": "10",
    "application_name": "agent-tt",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
}
"""What holds where the address says nothing else: nobody waits for ever for a server that is gone."""

_KEPT: Final = 4
"""So many connections are kept at most, and so many seconds."""
_KEPT_S: Final = 20.0
_RETRY_S: Final = 0.1


class _Sum(NumericBinaryLoader):
    """Reads sums of whole numbers as whole numbers: the server adds them up in a type of its own."""

    def load(self, data: Any) -> Any:
        found = super().load(data)
        return int(found) if found == found.to_integral_value() else float(found)


class _Idle:
    """Connections that nobody uses now, the last one last: when each was let go, and to what address it leads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: list[tuple[float, str, Connection]] = []

    def take(self, url: str) -> Connection | None:
        """The one that was let go last, of an address."""
        with self.lock:
            for at in reversed(range(len(self.kept))):
                if self.kept[at][1] == url:
                    return self.kept.pop(at)[2]
        return None

    def put(self, url: str, connection: Connection) -> None:
        """Keep one, and close what is too much or too old."""
        now = time.monotonic()
        with self.lock:
            kept = [*self.kept, (now, url, connection)]
            self.kept = [each for each in kept[-_KEPT:] if now - each[0] < _KEPT_S]
            gone = [each for each in kept if each not in self.kept]
        for _, _, other in gone:
            other.close()

    def drop(self, url: str | None) -> None:
        """Close those of an address, or all."""
        with self.lock:
            gone = [each for each in self.kept if url in (None, each[1])]
            self.kept = [each for each in self.kept if each not in gone]
        for _, _, connection in gone:
            connection.close()


_IDLE: Final = _Idle()
_OF_A_PARENT: Final[list[object]] = []
"""What a process that was forked must not close: it is another one's."""


def connect(address: Address, *, read_only: bool = False) -> Connection:
    """A connection on which every statement is its own transaction, as long as none is begun.

    Raises:
        UsageError: the address cannot be understood.
        StoreNotFound: the server has no such database.
        StoreUnreadable: the server cannot be reached, or does not let this user in.
    """
    while (connection := _IDLE.take(address.url)) is not None:
        try:
            return _set_up(connection, read_only=read_only)
        except psycopg.Error:  # the server may have been restarted since
            connection.close()
    try:
        return _make(address, read_only=read_only)
    except psycopg.Error as error:
        raise our_error(address, error) from None


@contextmanager
def lent(address: Address) -> Iterator[Connection]:
    """A connection for a look, which is kept for who asks next.

    Raises:
        As `connect`.
    """
    connection = connect(address, read_only=True)
    try:
        yield connection
    finally:
        let_go(address, connection)


def reconnect(address: Address, *, read_only: bool, patience_s: float) -> Connection:
    """A new connection to a server that was lost; it is waited for, as it may be on its way up again.

    Raises:
        As `connect`.
    """
    forget_connections(address)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return _make(address, read_only=read_only)
        except psycopg.Error as error:
            if time.monotonic() > deadline or not is_lost(error):
                raise our_error(address, error) from None
        time.sleep(_RETRY_S)


def let_go(address: Address, connection: Connection) -> None:
    """Keep a connection for who asks next, or close it."""
    is_idle = not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    if is_idle:
        _IDLE.put(address.url, connection)
    else:
        connection.close()


def forget_connections(address: Address | None = None) -> None:
    """Close what is kept, of one address or of all."""
    _IDLE.drop(None if address is None else address.url)


def reach(address: Address, **options: Any) -> Connection:
    """A new connection to any database, whoever made its tables.

    Args:
        address: where it is.
        options: for psycopg.

    Raises:
        UsageError: the address cannot be understood.
        psycopg.Error: as the server, or the client, says; see `common_error`.
    """
    try:
        parameters = conninfo_to_dict(address.url)
    except psycopg.Error:  # its words quote the address, of which any part may be the password
        raise UsageError(
            f"{address} is not the address of a database",
            hint="postgresql://USER@HOST:PORT/DATABASE; in a name or password %40 is @, %3A is : and %2F is /",
        ) from None
    given: dict[str, Any] = {**_CONNECTION, **parameters, "client_encoding": "utf8"}
    return psycopg.connect(**given, **options)


def _make(address: Address, *, read_only: bool) -> Connection:
    connection = reach(address, autocommit=True)
    try:
        connection.adapters.register_dumper(int, Int8BinaryDumper)  # one width: a statement is prepared once
        connection.adapters.register_loader("numeric", _Sum)
        connection.prepare_threshold = 2
        return _set_up(connection, read_only=read_only)
    except BaseException:
        connection.close()
        raise


def _set_up(connection: Connection, *, read_only: bool) -> Connection:
    settings = {
        "search_path": f"{SCHEMA}, pg_catalog",
        "lock_timeout": str(int(PATIENCE.seconds * 1000)),
        "statement_timeout": "0",
        "timezone": "UTC",
        "default_transaction_read_only": "on" if read_only else "off",
        "synchronous_commit": "on",
        "jit": "off",
    }
    setting = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())
    connection.execute(f"SELECT {setting}")  # words of ours
    return connection


def _after_fork_in_child() -> None:
    _OF_A_PARENT.append(_IDLE.kept)
    _IDLE.__init__()  # type: ignore[misc]  # another thread of the parent may hold its lock


atexit.register(forget_connections)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
