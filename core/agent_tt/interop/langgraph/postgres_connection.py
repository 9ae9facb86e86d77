"""Reading a PostgreSQL database that belongs to someone else.

Every read is one transaction that is declared read-only, so the server itself refuses to change anything; it sees one
state of the database, locks nothing that a writer waits for, and is over when the read is. Nothing is left open between
two reads but the connection.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from agent_tt.errors import AgentTTError, Damaged, NotAStore, StoreUnreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    from agent_tt.addresses import Address

__all__ = ["Reader", "Server"]

Result = TypeVar("Result")
Reader: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

_SESSION: Final = (
    "SET default_transaction_read_only = on",
    "SET lock_timeout = '5s'",
    "SET statement_timeout = '120s'",
    "SET timezone = 'UTC'",
)


class Server:
    """A connection to one database, which is only read. Safe to use from several threads.

    Raises:
        UsageError: psycopg is not installed, or the address cannot be understood.
        StoreNotFound: the server has no such database.
        StoreUnreadable: the server cannot be reached, or does not let this user in.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.RLock()
        self._is_closed = False
        self._known: Reader | None = None
        self._connected()

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._is_closed = True
            self._disconnect()

    def read(self, work: Callable[[Reader], Result]) -> Result:
        """The result of `work` on one state of the database; it is called again where the connection was lost.

        Raises:
            StoreUnreadable, StoreNotFound, NotAStore, StoreBusy, Damaged: as the server says.
        """
        import psycopg

        with self._lock:
            for is_last in (self._known is None, True):
                connection = self._connected()
                try:
                    with connection.transaction():
                        return work(connection)
                except UnicodeDecodeError as error:
                    raise Damaged(f"{self.address} holds a text that is not UTF-8") from error
                except psycopg.Error as error:
                    lost = connection.broken or connection.closed
                    if lost:
                        self._disconnect()
                    if is_last or not lost:
                        raise self._named(error) from None
            raise AssertionError

    def glance(self, work: Callable[[Reader], Result]) -> Result | None:
        """The result of `work`, or None: where another thread is reading, and where the connection is lost.

        It waits for nobody, and connects to nothing.
        """
        import psycopg

        if not self._lock.acquire(blocking=False):
            return None
        try:
            connection = self._known
            if connection is None:
                return None
            try:
                with connection.transaction():
                    return work(connection)
            except (psycopg.Error, UnicodeDecodeError):  # `read` says which
                self._disconnect()
                return None
        finally:
            self._lock.release()

    @property
    def is_connected(self) -> bool:
        """Whether the connection stood when it was last used."""
        return self._known is not None

    def _connected(self) -> Reader:
        if self._known is None:
            if self._is_closed:
                raise StoreUnreadable(f"{self.address} was closed")
            self._known = self._connect()
        return self._known

    def _disconnect(self) -> None:
        if self._known is not None:
            self._known.close()
            self._known = None

    def _connect(self) -> Reader:
        from agent_tt.store.postgres.connecting import reach
        from agent_tt.store.postgres.driver import psycopg

        try:
            connection = reach(self.address, prepare_threshold=None)
        except psycopg.Error as error:
            raise self._named(error) from None
        try:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                for statement in _SESSION:
                    connection.execute(statement)
        except psycopg.Error as error:
            connection.close()
            raise self._named(error) from None
        return connection

    def _named(self, error: psycopg.Error) -> AgentTTError:
        """The error that says what the server, or its client, said."""
        from agent_tt.store.postgres.errors import NO_RIGHT, NO_TABLE, common_error, words_of

        common = common_error(self.address, error)
        if common is not None:
            return common
        code, words = error.sqlstate or "", words_of(self.address, error)
        if code in NO_TABLE:
            return NotAStore(f"{self.address} has other tables than LangGraph makes: {words}")
        if code == NO_RIGHT:
            hint = "Let this user read them: GRANT SELECT ON checkpoints, checkpoint_blobs, checkpoint_writes,"
            return StoreUnreadable(f"{self.address}: {words}", hint=f"{hint} checkpoint_migrations TO …")
        return StoreUnreadable(f"{self.address} cannot be read: {words} ({code})")
