"""Reading a PostgreSQL database that belongs to someone else.

Every read is one transaction that is declared read-only, so the server itself refuses to change anything; it sees one
state of the database, locks nothing that a writer waits for, and is over when the read is. Nothing is left open between
two reads but the connection.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from agent_tt.errors import AgentTTError, Damaged, NotAStore, StoreBusy, StoreNotFound, StoreUnreadable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    from agent_tt.addresses import Address

__all__ = ["Reader", "Server"]

Result = TypeVar("Result")
Reader: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

_CONNECTION: Final = {
    "connect_timeout": "10",
    "application_name": "agent-tt",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
}
"""What holds where the address says nothing else: nobody waits for ever for a server that is gone."""

_SESSION: Final = (
    "SET default_transaction_read_only = on",
    "SET lock_timeout = '5s'",
    "SET statement_timeout = '120s'",
    "SET timezone = 'UTC'",
)

_NO_DATABASE: Final = "3D000"
_NO_TABLE: Final = ("42P01", "42703")
_NO_RIGHT: Final = "42501"
_NO_LOGIN: Final = "28"
_DAMAGED: Final = "XX"
_TOO_SLOW: Final = ("57014", "55P03")
_CANNOT_CONNECT: Final = "08"
_SHUTTING_DOWN: Final = "57P"


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
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:  # also where psycopg finds no client library of PostgreSQL
            raise UsageError(
                f"psycopg, which reads {self.address}, is not installed here",
                hint="pip install 'agent-tt[postgres]'",
            ) from error
        try:
            parameters = conninfo_to_dict(self.address.url)
        except psycopg.Error:  # its words quote the address, of which any part may be the password
            raise UsageError(
                f"{self.address} is not the address of a database",
                hint="postgresql://USER@HOST:PORT/DATABASE; in a name or password %40 is @, %3A is : and %2F is /",
            ) from None
        given: dict[str, Any] = {**_CONNECTION, **parameters, "client_encoding": "utf8"}
        try:
            connection = psycopg.connect(**given, prepare_threshold=None)
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
        code, words = error.sqlstate or "", self._words(error)
        # What is said while a connection is made has no code.
        if code == _NO_DATABASE or (not code and "database" in words and "does not exist" in words):
            return StoreNotFound(f"{self.address} is not there: {words}", hint="Check the database's name.")
        if code.startswith(_NO_LOGIN) or "authentication failed" in words or "no password supplied" in words:
            hint = "Check user and password; a password may also stand in PGPASSWORD or in ~/.pgpass."
            return StoreUnreadable(f"{self.address} lets nobody in so: {words}", hint=hint)
        if code in _NO_TABLE:
            return NotAStore(f"{self.address} has other tables than LangGraph makes: {words}")
        if code == _NO_RIGHT:
            hint = "Let this user read them: GRANT SELECT ON checkpoints, checkpoint_blobs, checkpoint_writes,"
            return StoreUnreadable(f"{self.address}: {words}", hint=f"{hint} checkpoint_migrations TO …")
        if code in _TOO_SLOW:
            return StoreBusy(f"{self.address} did not answer in time: {words}", hint="Try again when it does less.")
        if code.startswith(_DAMAGED):
            return Damaged(f"{self.address} is damaged: {words}")
        if not code or code.startswith((_CANNOT_CONNECT, _SHUTTING_DOWN)):
            hint = "Check host and port, and that the server runs."
            return StoreUnreadable(f"{self.address} cannot be reached: {words}", hint=hint)
        return StoreUnreadable(f"{self.address} cannot be read: {words} ({code})")

    def _words(self, error: psycopg.Error) -> str:
        """What went wrong, on one line and without the password."""
        words = " ".join(str(error).split()) or type(error).__name__
        for secret in self.address.secrets:
            words = words.replace(secret, "***")
        return words
