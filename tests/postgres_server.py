"""A PostgreSQL server for tests: one for a session of tests, on a socket of its own, with a database for each test.

`AGENT_TT_TEST_POSTGRES` names another server to use: an address whose user may create databases.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from agent_tt.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "hush-4711"
"""The password of the server's user: what no output may hold. The server asks nobody on its socket for it."""


ASKED = "asked_for_a_password"
"""The one user whom a server that we start does ask for a password. Who needs it makes it."""


def _programs() -> Path | None:
    """The folder of the newest server that is installed."""
    found = shutil.which("postgres")
    folders = [Path(os.path.realpath(found)).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: int(each.parent.name), reverse=True)
    return next((each for each in folders if (each / "initdb").exists() and (each / "postgres").exists()), None)


def _user() -> str | None:
    """Whom the server runs as: it refuses to run as root."""
    if os.getuid() != 0:
        return None
    names = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


class Server:
    """A server of ours, which can be stopped, as by a crash, and started again.

    Attributes:
        address: the address of its databases, without the name at the end.
    """

    def __init__(self, programs: Path, folder: Path, *options: str) -> None:
        user = _user()
        if user is not None:
            shutil.chown(folder, user)
        self._options: dict[str, Any] = {
            "user": user,
            "cwd": folder,
            "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"},
        }
        self._folder = folder
        initdb = [programs / "initdb", "-D", folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run(initdb, check=True, capture_output=True, **self._options)
        rules = folder / "data" / "pg_hba.conf"
        rules.write_text(f"local all {ASKED} scram-sha-256\n{rules.read_text()}")
        self._command = [programs / "postgres", "-D", folder / "data", "-k", folder, "-h", "", *options]
        self.address = f"postgresql://tester:{SECRET}@%2F{str(folder)[1:].replace('/', '%2F')}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, **self._options)
        _await(f"{self.address}/postgres", self._process, self._folder / "log")

    def stop(self, *, crash: bool = False) -> None:
        """Stop it: in order, or as a crash does, so that it has to find out what was committed when it starts."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if crash else signal.SIGINT)
            self._process.wait()
            self._process = None


@contextmanager
def own_server(*options: str) -> Iterator[Server]:
    """A server that a test may stop."""
    programs = _programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server here, and AGENT_TT_TEST_POSTGRES names none")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # paths of sockets are short
    try:
        server = Server(programs, folder, *options)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running() -> Iterator[str]:
    """A server; the address of its first database, without the database's name at the end."""
    named = os.environ.get("AGENT_TT_TEST_POSTGRES")
    if named:
        yield named.rpartition("/")[0]
        return
    with own_server("-F", "-c", "max_connections=40") as server:
        yield server.address


def _await(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(log.read_text())
            time.sleep(0.05)
        else:
            return


class TestDatabase:
    """A database of a test's own.

    Attributes:
        url: its address, with a password.
        address: what the reader is given.
    """

    __test__ = False

    def __init__(self, url: str) -> None:
        self.url = url
        self.address = Address.of(url)

    def execute(self, *statements: str) -> None:
        """Change something, each statement by itself."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def query(self, statement: str) -> list[tuple[object, ...]]:
        """Ask something."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(statement).fetchall()

    def rows(self) -> list[tuple[object, ...]]:
        """Everything that LangGraph keeps in it, with what each row was last written by."""
        return [
            row
            for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")
            for row in self.query(f"SELECT '{table}', xmin::text, {table}::text FROM {table} ORDER BY 3")
        ]


@contextmanager
def postgres_saver(database: TestDatabase, kind: str = "PostgresSaver") -> Iterator[Any]:
    """LangGraph's own saver on a database."""
    with getattr(import_module("langgraph.checkpoint.postgres"), kind).from_conn_string(database.url) as saver:
        saver.setup()
        yield saver


@contextmanager
def database(server: str, name: str) -> Iterator[TestDatabase]:
    """A new database of a server."""
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield TestDatabase(f"{server}/{name}")
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
