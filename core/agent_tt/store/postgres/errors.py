"""Errors of PostgreSQL as ours: each says what is wrong with which database, and what to do; none shows a password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, NotAStore, ReadOnlySource, StoreBusy, StoreNotFound, StoreUnreadable
from agent_tt.store.file.sqlite_errors import Conflict
from agent_tt.store.postgres.driver import psycopg

if TYPE_CHECKING:
    from types import TracebackType

    from agent_tt.addresses import Address

__all__ = ["NO_RIGHT", "NO_TABLE", "Translation", "common_error", "is_lost", "our_error", "words_of"]

NO_TABLE: Final = ("42P01", "42703", "3F000", "42883")
"""SQLSTATE where tables, columns or the like are missing that a program makes."""
NO_RIGHT: Final = "42501"
"""SQLSTATE where the user may not do something."""
_NO_DATABASE: Final = "3D000"
_READ_ONLY: Final = "25006"
_NO_LOGIN: Final = "28"
_DAMAGED: Final = "XX"
_TOO_SLOW: Final = ("57014", "55P03", "40P01", "40001", "53300")
_CANNOT_CONNECT: Final = "08"
_SHUTTING_DOWN: Final = "57P"
_NO_ROOM: Final = "53100"
_BAD_VALUE: Final = "22"


class Translation:
    """While it lasts, errors of PostgreSQL become ours. Keeps nothing that changes, so that any thread may use it."""

    __slots__ = ("_address",)

    def __init__(self, address: Address) -> None:
        self._address = address

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, psycopg.Error | OverflowError | UnicodeDecodeError):
            raise our_error(self._address, error) from None


def is_lost(error: psycopg.Error) -> bool:
    """Whether an error says that the server, or the way to it, is gone: it may be there again in a moment."""
    code = error.sqlstate or ""
    is_away = not code or code.startswith((_CANNOT_CONNECT, _SHUTTING_DOWN))
    return is_away and isinstance(error, psycopg.OperationalError)


def our_error(
    address: Address, error: psycopg.Error | OverflowError | UnicodeDecodeError
) -> StoreUnreadable | ReadOnlySource | StoreNotFound:
    """The error of ours that says what PostgreSQL's says of a database."""
    words = words_of(address, error)
    if isinstance(error, UnicodeDecodeError):
        return Damaged(f"{address} holds a text that is not UTF-8")
    if isinstance(error, OverflowError):
        return StoreUnreadable(f"{address} cannot hold a value that it was given: {words}")
    code = error.sqlstate or ""
    if isinstance(error, psycopg.IntegrityError):
        return Conflict(f"{address} could not be written: {words}", hint="Run `agent-tt verify` on it.")
    common = common_error(address, error)
    if common is not None:
        return common
    if code in NO_TABLE:
        return NotAStore(f"{address} has other tables than agent-tt makes: {words}")
    if code in (NO_RIGHT, _READ_ONLY):
        return ReadOnlySource(
            f"{address} does not let this user do that: {words}",
            hint="Its owner can grant a role: docs/postgres.md names them.",
        )
    if code == _NO_ROOM:
        return StoreUnreadable(f"{address} cannot grow: {words}", hint="Free some space on the server's disk.")
    if code.startswith(_BAD_VALUE) or isinstance(error, psycopg.DataError):
        return StoreUnreadable(f"{address} cannot hold a value that it was given: {words} ({code})")
    return StoreUnreadable(f"{address} cannot be used: {words} ({code})")


def common_error(address: Address, error: psycopg.Error) -> StoreUnreadable | StoreNotFound | None:
    """The error of ours for what any database may say, whoever made its tables; None of anything else."""
    code, words = error.sqlstate or "", words_of(address, error)
    # What is said while a connection is made has no code.
    if code == _NO_DATABASE or (not code and "database" in words and "does not exist" in words):
        return StoreNotFound(f"{address} is not there: {words}", hint="Check the database's name.")
    if code.startswith(_NO_LOGIN) or "authentication failed" in words or "no password supplied" in words:
        hint = "Check user and password; a password may also stand in PGPASSWORD or in ~/.pgpass."
        return StoreUnreadable(f"{address} lets nobody in so: {words}", hint=hint)
    if code in _TOO_SLOW:
        return StoreBusy(f"{address} did not answer in time: {words}", hint="Try again when it does less.")
    if code.startswith(_DAMAGED):
        return Damaged(f"{address} is damaged: {words}")
    if is_lost(error):
        return StoreUnreadable(
            f"{address} cannot be reached: {words}", hint="Check host and port, and that the server runs."
        )
    return None


def words_of(address: Address, error: BaseException) -> str:
    """What went wrong, on one line and without the password."""
    words = " ".join(str(error).split()) or type(error).__name__
    for secret in address.secrets:
        words = words.replace(secret, "***")
    return words
