"""Roles on a server, tried by SQL itself: a viewer writes nothing, a recorder sees and writes its own alone."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.core.store import test_keeping
from tests.core.store.recordings import chat, many_keyframes
from tests.core.stored_bytes import all_bytes

import agent_tt
from agent_tt.addresses import Address
from agent_tt.errors import IsRunning, NotAStore, ReadOnlySource, RunNotFound
from agent_tt.history.payloads import training
from agent_tt.redacting.dropping import drop_checkpoints
from agent_tt.redacting.taking_out import take_out
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.serving.rest.desk import Desk
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt.store.postgres.moment import one_moment
from agent_tt.store.postgres.roles import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres_server import TestDatabase

TABLES = ("runs", "tracks", "steps", "calls", "deliveries", "deltas", "keyframes", "changes", "notes", "tags", "blobs",
          "dicts", "meta", "seals", "sweeps", "paths", "writes", "stamps", "foreign_marks", "layout")  # fmt: skip


class Logins:
    """Logins of a database, by role."""

    def __init__(self, database: TestDatabase) -> None:
        self._database = database

    def address(self, name: str) -> Address:
        return Address.of(self._database.url.replace("tester", self.login(name), 1))

    def login(self, name: str) -> str:
        return f"{name}_{os.getpid()}"

    def ask(self, name: str, statement: str) -> list[tuple[object, ...]]:
        """Ask as a login; what changes something gives the rows that were changed."""
        with psycopg.connect(self.address(name).url, autocommit=True) as connection:
            connection.execute("SET search_path = agent_tt")
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else [(None,)] * cursor.rowcount


@pytest.fixture
def logins(postgres: TestDatabase) -> Iterator[Logins]:
    with closing(open_store(postgres.address, create=True)):
        pass
    postgres.execute(ROLES)
    postgres.execute(ROLES)
    found = Logins(postgres)
    people = {"ann": "recorder", "ben": "recorder", "eve": "viewer", "olga": "owner"}
    for name, role in people.items():
        postgres.execute(f"CREATE ROLE {found.login(name)} LOGIN IN ROLE agent_tt_{role}")
    try:
        yield found
    finally:
        postgres.execute(*(f"DROP ROLE {found.login(name)}" for name in people))


def test_a_recorder_records_and_sees_its_own_runs_alone(
    logins: Logins, postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "DICTIONARY_SIZE", 500)
    many_keyframes(monkeypatch)
    ids = {}
    for name in ("ann", "ben"):
        with closing(open_store(logins.address(name), create=True)) as store:
            ids[name] = chat(store, 30, f"of {name}")
            test_keeping.with_blobs(store, f"large of {name}", test_keeping.LARGE)
            assert {run.name for run in store.runs()} == {f"of {name}", f"large of {name}"}
            store.set_tags(ids[name], ["mine"])
    with closing(open_store(logins.address("ben"))) as store:
        for change in (store.state, store.steps):
            with pytest.raises(RunNotFound):
                change(ids["ann"], 1)
        assert store.state(ids["ben"], 30) == {
            "messages": [{"role": "user", "content": f"message {n}"} for n in range(1, 31)],
            "n": 30,
        }
    ((number,),) = postgres.query(f"SELECT run FROM agent_tt.runs WHERE id = '{ids['ann']}'")
    ((track,),) = postgres.query(f"SELECT track FROM agent_tt.tracks WHERE run = {number}")
    for statement in (
        f"SELECT 1 FROM runs WHERE run = {number}",
        f"SELECT 1 FROM deltas WHERE id >> 32 = {track}",
        f"SELECT 1 FROM keyframes WHERE id >> 32 = {track}",
        f"SELECT 1 FROM calls WHERE run = {number}",
        f"SELECT 1 FROM steps WHERE run = {number}",
        f"UPDATE runs SET name = 'x' WHERE run = {number}",
        f"UPDATE calls SET result = result WHERE run = {number}",
    ):
        assert logins.ask("ben", statement) == [], statement
        assert logins.ask("ann", statement.replace("'x'", "'of ann'")) != [], statement
    dictionaries = "SELECT DISTINCT id FROM dicts"
    assert logins.ask("ann", dictionaries)
    assert not {*logins.ask("ann", dictionaries)} & {*logins.ask("ben", dictionaries)}
    for statement in (
        "SELECT data FROM blobs",
        "SELECT hash FROM blobs",
        "SELECT path FROM paths",
        *(f"DELETE FROM {table}" for table in TABLES if table != "tags"),
        f"INSERT INTO tags(run, tag, proof) VALUES({number}, 'mine', '')",
        "INSERT INTO runs(id, name, status, started_us, proof, recorded_by) VALUES('x', 'x', 'ok', 0, '', 'postgres')",
        "TRUNCATE runs",
        "DROP TABLE runs",
        "CREATE TABLE more(x int)",
        "UPDATE layout SET version = 99",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            logins.ask("ben", statement)
    with closing(open_store(postgres.address)) as store:
        assert store.verify() == []


def test_a_viewer_reads_everything_and_writes_nothing(logins: Logins, postgres: TestDatabase) -> None:
    with closing(open_store(logins.address("ann"), create=True)) as store:
        run = chat(store, 5)
    with closing(open_source(logins.address("eve"))) as source:
        assert source.state(run, 5)["n"] == 5
        assert source.verify() == []
        assert source.read_only
    with closing(open_store(logins.address("eve"))) as store, pytest.raises(ReadOnlySource):
        store.add_note(run, None, "note", "mine")
    for table in TABLES:
        logins.ask("eve", f"SELECT * FROM {table}")
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET {_column(postgres, table)} = DEFAULT"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                logins.ask("eve", statement)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        logins.ask("eve", "INSERT INTO tags(run, tag, proof) VALUES(1, 'x', '')")


def test_an_owner_prunes_what_others_recorded(logins: Logins) -> None:
    with closing(open_store(logins.address("ann"), create=True)) as store:
        run = test_keeping.with_blobs(store, "large", test_keeping.LARGE)
        with pytest.raises(ReadOnlySource):
            store.delete_runs([run])
    with closing(open_store(logins.address("olga"))) as store:
        store.add_note(run, None, "note", "odd")
        store.delete_runs([run])
        assert store.runs() == []
        assert store.verify() == []
        assert logins.ask("olga", "SELECT 1 FROM blobs") == []


def test_an_owner_drops_and_redacts_what_others_recorded_and_they_read_it_still(
    logins: Logins, postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "DICTIONARY_SIZE", 500)
    many_keyframes(monkeypatch)
    rules = Rules(patterns={"word": "message [7]"})
    with closing(open_store(logins.address("ann"), create=True)) as store:
        run = store.run(chat(store, 30, "of ann"))
        with pytest.raises(ReadOnlySource):
            drop_checkpoints(store.path, run, [3])
    assert logins.ask("olga", "SELECT 1 FROM dicts"), "rows of it are compressed with a dictionary of ann's"
    with pytest.raises(ReadOnlySource):
        take_out(logins.address("eve"), [run], rules)
    try:
        done = take_out(logins.address("olga"), [run], rules)
        gone = drop_checkpoints(logins.address("olga"), run, [3])
    finally:
        OWN.use(Rules())
    assert (done.is_clean, done.changed["states"], gone) == (True, 24, ([3], True))
    assert b"message 7" not in all_bytes(postgres.address)
    with closing(open_store(postgres.address)) as store:
        assert store.verify() == []
    with closing(open_store(logins.address("ann"))) as store:
        assert "message 7" not in str(store.state(run.id, 30))
        assert store.state(run.id, 30)["n"] == 30
        assert store.steps(run.id)[2].facts.state_dropped is not None


def test_what_is_taken_out_while_others_record_or_read(postgres: TestDatabase) -> None:
    """Others go on; who records an agent whose dictionaries go is in the way; who reads keeps the tables from it."""
    state: dict[str, Any] = {"n": 0}
    with agent_tt.record("other", state=state, store=postgres.url) as other:
        with closing(open_store(postgres.address)) as store:
            run = store.run(chat(store, 12, "desk"))
        with other.step("one", state):
            state["n"] = 1
        assert drop_checkpoints(postgres.address, run, [3]) == ([3], True)
        with other.step("two", state):
            state["n"] = 2
        with closing(open_store(postgres.address)) as store:
            running = store.run(other.id)
        with pytest.raises(IsRunning, match="other"):
            drop_checkpoints(postgres.address, running, [1])
    with one_moment(postgres.address) as reader:
        reader.execute("SELECT count(*) FROM deltas").fetchall()
        assert drop_checkpoints(postgres.address, run, [4]) == ([4], False)
    with closing(open_store(postgres.address)) as store:
        assert ["again" in problem.what for problem in store.verify()] == [True]
        assert [store.state(other.id, step)["n"] for step in (1, 2)] == [1, 2]
    assert drop_checkpoints(postgres.address, run, [5]) == ([5], True)
    with closing(open_store(postgres.address)) as store:
        assert store.verify() == []


def test_spans_are_taken_by_who_may_write_a_run_anew(logins: Logins, tmp_path: Path) -> None:
    takes = {name: Desk(logins.address(name), tmp_path).check_store() for name in ("ann", "eve", "olga")}
    assert takes == {"ann": False, "eve": False, "olga": True}
    assert not Desk(logins.address("olga"), tmp_path, read_only=True).check_store()


def test_a_server_that_may_write_makes_the_tables_and_one_that_only_reads_does_not(
    postgres: TestDatabase, tmp_path: Path
) -> None:
    with pytest.raises(NotAStore, match="nothing was recorded"):
        Desk(postgres.address, tmp_path, read_only=True).check_store()
    assert Desk(postgres.address, tmp_path).check_store()
    assert Desk(postgres.address, tmp_path).check_store()


def _column(database: TestDatabase, table: str) -> str:
    ((column,),) = database.query(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'agent_tt'"
        f" AND table_name = '{table}' LIMIT 1"
    )
    return str(column)
