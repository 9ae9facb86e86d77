"""What is opened as a store, what is refused and how, and that reading writes nothing."""

from __future__ import annotations

import sqlite3
import stat

import pytest
from tests.core.store.recordings import begin, chat, new_store, step

from agent_tt.errors import (
    NewerFormat,
    NotAStore,
    OlderFormat,
    ReadOnlySource,
    StoreBusy,
    StoreNotFound,
    StoreUnreadable,
)
from agent_tt.model import NewFork, NewRun
from agent_tt.protocols import RunSource, Store
from agent_tt.store import open_store
from agent_tt.store.file import connection
from agent_tt.store.file.connecting import waiting_at_most


def test_a_store_speaks_both_protocols_and_says_what_it_is(tmp_path):
    store = new_store(tmp_path)
    assert isinstance(store, RunSource)
    assert isinstance(store, Store)
    query = store.database.query
    assert query("PRAGMA application_id") == [(0x41545431,)]
    assert query("PRAGMA user_version") == [(2,)]
    assert query("PRAGMA journal_mode") == [("wal",)]
    assert query("PRAGMA page_size") == [(4096,)]
    assert dict(query("SELECT key, value FROM meta"))["format"] == "2"


def test_everything_is_readable_in_a_plain_sqlite_browser(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 3)
    store.close()
    with sqlite3.connect(store.path) as plain:
        rows = plain.execute("SELECT run, step, name, status, tokens_in FROM timeline").fetchall()
        paths = plain.execute("SELECT path FROM changed_paths WHERE run = ?", (run_id,)).fetchall()
        args = plain.execute("SELECT args, result FROM calls WHERE step = 2").fetchone()
    plain.close()
    assert rows == [(run_id, number, "chat", "ok", 2) for number in (1, 2, 3)]
    assert ('["messages"]',) in paths
    assert args == ('{"n":2}', '{"found":2}')


def test_what_is_no_store_is_refused_with_a_hint(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look like something" * 40)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE checkpoints(x)")
    other.close()
    folder = tmp_path / "folder"
    folder.mkdir()
    before = foreign.read_bytes()
    for path in (text, foreign, folder):
        for options in ({}, {"read_only": True}, {"create": True}):
            with pytest.raises(NotAStore, match=path.name) as caught:
                open_store(path, **options)
            assert caught.value.hint
            assert "\n" not in caught.value.message
    assert foreign.read_bytes() == before
    assert not foreign.with_name("foreign.db-wal").exists()


def test_a_missing_file_is_not_created_by_reading(tmp_path):
    for options in ({}, {"read_only": True}, {"create": True, "read_only": True}):
        with pytest.raises(StoreNotFound):
            open_store(tmp_path / "deep" / "runs.db", **options)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreNotFound):
        connection.connect(tmp_path / "no.db", mode="ro")


@pytest.mark.parametrize(
    ("number", "error", "says"), [(3, NewerFormat, "format 3, newer"), (1, OlderFormat, "format 1, older")]
)
def test_another_format_is_refused_by_name_and_number_and_left_alone(tmp_path, number, error, says):
    store = new_store(tmp_path)
    with store.database.transaction() as tx:
        tx.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(number),))
    store.close()
    before = store.path.read_bytes()
    for options in ({"read_only": True}, {}, {"create": True}):
        with pytest.raises(error, match=says) as caught:
            open_store(store.path, **options)
        assert (caught.value.found, caught.value.supported, caught.value.exit_code) == (number, 2, 4)
        assert str(store.path) in caught.value.message
    assert store.path.read_bytes() == before


def test_a_store_opened_to_read_changes_no_byte_and_refuses_to_write(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 5)
    store.close()
    before = store.path.read_bytes()
    reader = open_store(store.path, read_only=True)
    assert reader.read_only
    assert reader.state(run_id, 5)["n"] == 5
    assert reader.verify() == []
    for write in (
        lambda: reader.begin_run(NewRun("x"), {}),
        lambda: reader.add_note(run_id, 1, "note", "x"),
        lambda: reader.set_tags(run_id, ["x"]),
        lambda: reader.begin_fork(NewFork(run_id, 1, state={}, new=NewRun("x"))),
    ):
        with pytest.raises(ReadOnlySource):
            write()
    reader.close()
    assert store.path.read_bytes() == before


def test_a_file_in_a_folder_that_cannot_be_written_is_read_where_that_is_safe(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 2)
    store.close()
    mode = stat.S_IRUSR | stat.S_IXUSR
    tmp_path.chmod(mode)
    try:
        reader = open_store(store.path, read_only=True)
        assert reader.step_count(run_id) == 2
        reader.close()
    finally:
        tmp_path.chmod(0o700)


def test_a_lock_that_is_held_too_long_is_an_error_that_says_so(tmp_path):
    with waiting_at_most(0.05):
        store = new_store(tmp_path)
    writer = begin(store, {})
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="locked"):
        step(writer, {"n": 1})
    other.execute("ROLLBACK")
    other.close()
    step(writer, {"n": 1})
    writer.finish("succeeded")


def test_a_closed_store_says_so(tmp_path):
    store = new_store(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreUnreadable, match="closed"):
        store.runs()


def test_the_version_differs_after_anyone_wrote(tmp_path):
    store = new_store(tmp_path)
    other = open_store(store.path)
    seen = {store.version()}
    assert store.version() in seen
    run_id = chat(other, 1)
    assert store.version() not in seen
    seen.add(store.version())
    store.add_note(run_id, 1, "note", "mine")
    assert store.version() not in seen


def test_hostile_columns_open_as_something_and_never_as_an_accident(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 3)
    with store.database.transaction() as tx:
        tx.execute("UPDATE runs SET meta = '[1', error = '{', owner = x'ff', status = 'nonsense'")
        tx.execute("UPDATE steps SET meta = '7', status = 'odd', error = 'not json' WHERE step = 1")
        tx.execute("UPDATE calls SET args = '{', result = x'00', error = '[]', meta = 'x', status = '?' WHERE step = 2")
        tx.execute("UPDATE steps SET name = CAST(x'fffe' AS TEXT) WHERE step = 3")
    run = store.run(run_id)
    assert (run.id, run.name, run.status) == (run_id, "chat (damaged)", "interrupted")
    assert run.damaged is not None
    steps = store.steps(run_id)
    assert [s.status for s in steps] == ["interrupted", "ok", "interrupted"]
    assert [s.damaged is None for s in steps] == [False, True, False]
    (call,) = store.calls(run_id, 2)
    assert call.status == "pending"
    assert call.damaged is not None
    assert call.args["$type"] == call.result["$type"] == "damaged"
