"""Files that somebody made to do harm: each is an error in one line, or a value that cannot be read; never more."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import orjson
import pytest
import zstandard
from tests.core.store.recordings import begin, call, new_store, step
from tests.core.store.rows import change, insert

from agent_tt.errors import AgentTTError, Damaged, NotAStore, StoreUnreadable
from agent_tt.history.hashing import content_hash, row_id
from agent_tt.history.payloads import frames, parts, payload
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt.store.file.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.protocols import RunSource

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, str]:
    """A store with a run of four steps, and a fork of it; the run's id."""
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0, "items": []}, tags=("a",))
    state: dict[str, object] = {"n": 0, "items": []}
    for number in range(1, 5):
        state = {"n": number, "items": [*state["items"], f"item {number}"]}
        call(writer, step(writer, state), {"q": number}, {"a": number})
    writer.finish("succeeded", None)
    store.add_note(writer.run_id, 2, "note", "look")
    store.close()
    return store.path, writer.run_id


def altered(path: Path, *statements: str, rows: tuple[object, ...] = ()) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA legacy_alter_table = ON")
        for statement in statements:
            connection.execute(statement, rows if "?" in statement else ())
        connection.commit()
    return path


def put_row(path: Path, run_id: str, number: int, plain: bytes, size: int | None = None) -> None:
    """Puts these operations in the place of those of a step."""
    frame = zstandard.ZstdCompressor(3, write_checksum=True).compress(plain)
    where = (
        f"id = (SELECT (track << 32) + seq FROM steps WHERE step = {number}"
        f" AND run = (SELECT run FROM runs WHERE id = '{run_id}'))"
    )
    change(path, "deltas", where, ops=frame, size=size or len(plain), dict=0)


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (
            ["ALTER TABLE runs RENAME TO r", f"CREATE VIEW runs AS {ENDLESS} SELECT x AS run FROM c"],
            "runs is not a table",
        ),
        (
            [
                "ALTER TABLE meta RENAME TO m",
                f"CREATE VIEW META AS {ENDLESS} SELECT 'format' AS key, x AS value FROM c",
            ],
            "META is not a table",
        ),
        (
            [f"CREATE TRIGGER t AFTER INSERT ON Notes BEGIN INSERT INTO tags {ENDLESS} SELECT 1, x FROM c; END"],
            "runs t",
        ),
        (
            ["DROP TABLE tags", "CREATE TABLE tags(run, tag AS (printf('%.*c', 900000000, 'x')))"],
            "tags.tag is computed",
        ),
        (["DROP TABLE notes", "CREATE VIRTUAL TABLE notes USING fts5(run, body)"], "notes is not a table"),
    ],
)
def test_what_only_looks_like_a_table_is_not_read(recorded: tuple[Path, str], statements: list[str], says: str) -> None:
    path, _ = recorded
    try:
        altered(path, *statements)
    except sqlite3.OperationalError:
        pytest.skip("this SQLite cannot even make it")
    for read_only in (False, True):
        with pytest.raises(NotAStore, match=says):
            open_source(path, read_only=read_only)


def test_views_and_tables_beside_ours_do_not_matter(recorded: tuple[Path, str]) -> None:
    path, run_id = recorded
    altered(
        path,
        "DROP VIEW timeline",
        f"CREATE VIEW timeline AS {ENDLESS} SELECT x FROM c",
        "CREATE TABLE mine(a, b AS (a + 1))",
        "CREATE TRIGGER own AFTER INSERT ON mine BEGIN DELETE FROM mine; END",
    )
    source = open_source(path)
    assert source.verify(run_id) == []
    source.close()


def test_a_frame_of_more_than_any_holds_is_refused_before_it_is_unpacked(
    recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, run_id = recorded
    put_row(path, run_id, 2, orjson.dumps([["s", ["n"], "0" * 100_000]]))
    monkeypatch.setattr(frames, "MOST_PLAIN", 99_999)
    with pytest.raises(Damaged, match="more than any"):
        open_source(path).state(run_id, 2)


def test_a_value_that_could_not_be_read_back_is_refused_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MOST_PLAIN", 50_000)
    store = new_store(tmp_path)
    writer = begin(store, {"n": 1})
    with pytest.raises(StoreUnreadable, match="more than a store takes"):
        step(writer, {"n": "x" * 60_000})
    assert store.verify() == []


def test_a_small_row_cannot_name_a_blob_without_end(
    recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, run_id = recorded
    blob = orjson.dumps("b" * 10_000)
    digest = content_hash(blob)
    frame = zstandard.ZstdCompressor(3, write_checksum=True).compress(blob)
    altered(path, "INSERT INTO blobs VALUES(?, ?, 'json', ?, ?, x'')", rows=(row_id(digest), digest, len(blob), frame))
    refs = [[[0, at], "b", digest.hex()] for at in range(50)]
    put_row(path, run_id, 2, orjson.dumps({"o": [["s", ["n"], [None] * 50]], "r": refs}))
    monkeypatch.setattr(parts, "MOST_PLAIN", 100_000)
    shown = open_source(path).state(run_id, 2)["n"]
    assert shown[0] == "b" * 10_000
    assert [item["$type"] for item in shown[10:]] == ["damaged"] * 40


def test_json_of_far_more_values_than_bytes_is_not_parsed(
    recorded: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, run_id = recorded
    put_row(path, run_id, 2, b'[["s",["n"],[' + b"[]," * 10_000 + b"1]]]")
    monkeypatch.setattr(payload, "_SMALL", 1000)
    monkeypatch.setattr(payload, "_MOST_MEMORY", 1_000_000)
    with pytest.raises(Damaged, match="more values"):
        open_source(path).state(run_id, 2)


@pytest.mark.parametrize(
    "operations",
    [
        [["t", ["n"], 10_000_000, "x"]] * 300,
        [["s", ["items", 99], 1]],
        [["x", ["items"], 0, 9, []]],
        [["x", ["items"], -1, 0, []]],
        [["s", ["n", *["a"] * 10_000], 1]],
        [["m", ["n"], ["n", "n"]]],
        [["?", ["n"], 1]],
        [["s", {"n": 1}, 1]],
        [[["s"], ["n"], 1]],
        [["a", ["items"], True, [1]]],
    ],
    ids=lambda operations: str(operations[0])[:20],
)
def test_operations_that_do_not_fit_are_damage_wherever_they_are_read(
    recorded: tuple[Path, str], operations: list[object]
) -> None:
    path, run_id = recorded
    put_row(path, run_id, 2, orjson.dumps(operations))
    source = open_source(path)
    with pytest.raises(Damaged):
        source.state(run_id, 2)
    assert next(problem.step for problem in source.verify(run_id)) == 2
    assert source.state(run_id, 1)["n"] == 1


def test_nesting_without_end_is_damage(recorded: tuple[Path, str]) -> None:
    path, run_id = recorded
    put_row(path, run_id, 2, b'[["s",["n"],' + b"[" * 100_000 + b"]" * 100_000 + b"]]")
    change(path, "calls", "step = 3", args="[" * 100_000 + "]" * 100_000)
    source = open_source(path)
    with pytest.raises(Damaged):
        source.state(run_id, 2)
    assert source.calls(run_id, 3)[0].args["$type"] == "damaged"


def reads(source: RunSource, run_id: str) -> list[Callable[[], object]]:
    """Everything that can be asked of a run."""
    asked: list[Callable[[], object]] = [
        source.runs,
        lambda: source.run(run_id),
        lambda: source.step_count(run_id),
        lambda: [hash(found.name) for found in source.steps(run_id)],
        lambda: source.damaged_steps(run_id),
        lambda: source.notes(run_id),
        lambda: source.verify(),
    ]
    for number in (0, 3):
        asked += [
            lambda n=number: source.state(run_id, n),
            lambda n=number: source.calls(run_id, n),
            lambda n=number: source.changes(run_id, n),
            lambda n=number: source.digest(run_id, n),
            lambda n=number: source.base_step(run_id, n),
            lambda n=number: source.last_write(run_id, n, ("n",)),
            lambda n=number: source.next_write(run_id, n, ("items",)),
            lambda n=number: source.cursor(run_id, n).seek(4),
        ]
    return asked


@pytest.mark.parametrize("value", ["text", b"\x00\xff", -1, 2**40, 1.5])
def test_a_column_may_hold_anything(recorded: tuple[Path, str], tmp_path: Path, value: object) -> None:
    path, run_id = recorded
    original = path.read_bytes()
    connection = sqlite3.connect(path)
    columns = [
        (table, column)
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    ]
    connection.close()
    for table, column in columns:
        path.write_bytes(original)
        try:
            altered(path, f"UPDATE OR IGNORE {table} SET {column} = ?", rows=(value,))
        except sqlite3.IntegrityError:  # a row number is a whole number
            continue
        try:
            source = open_source(path)
        except AgentTTError:
            continue
        for read in reads(source, run_id):
            try:
                read()
            except AgentTTError:
                pass
            except Exception as error:
                raise AssertionError(f"{table}.{column} = {value!r}") from error
        source.close()


@pytest.mark.parametrize("number", ["-9223372036854775808", "0", "one", "1.0", ""])
def test_a_format_that_is_no_number_is_no_store(recorded: tuple[Path, str], number: str) -> None:
    path, _ = recorded
    altered(path, "UPDATE meta SET value = ? WHERE key = 'format'", rows=(number,))
    with pytest.raises(NotAStore):
        open_store(path)


def forks(path: Path, run_id: str, parents: int) -> list[str]:
    """Rows of forks, each of the one before; their ids."""
    ids = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, Transaction(connection) as tx:
        ((run,),) = tx.query("SELECT run FROM runs WHERE id = ?", (run_id,))
        for number in range(parents):
            ids.append(f"fork{number:08}")
            named = {"id": ids[-1], "name": "f", "status": "succeeded", "hidden": 0, "meta": "{}"}
            run = insert(tx, "runs", **named, parent=run, fork_step=2, started_us=0)
    return ids


def test_forks_of_forks_are_read_however_many_and_too_many_are_refused(recorded: tuple[Path, str]) -> None:
    path, run_id = recorded
    ids = forks(path, run_id, 2000)
    source = open_source(path)
    assert source.state(ids[199], 2)["n"] == 2
    assert source.run(ids[199]).steps == 2
    with pytest.raises(Damaged, match="ancestors"):
        source.state(ids[-1], 2)
    source.close()
    with closing(sqlite3.connect(path)) as connection:
        ((last,),) = connection.execute("SELECT max(run) FROM runs").fetchall()
    change(path, "runs", "1", parent=last)
    source = open_source(path)
    with pytest.raises(Damaged, match="descends from itself"):
        source.state(ids[0], 2)
    source.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for opened in (open_source, open_store):
        with pytest.raises(NotAStore, match="pipe"):
            opened(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%20b.db", "a b.db", "a\nb.db", "a'\"b.db", "a\udcffb.db"])
def test_a_file_may_have_any_name(recorded: tuple[Path, str], name: str) -> None:
    path, run_id = recorded
    if "\udcff" in name and sys.platform == "darwin":
        pytest.skip("names are UTF-8 here")
    other = path.with_name(name)
    other.write_bytes(path.read_bytes())
    source = open_source(other)
    assert source.run("demo").id == run_id
    source.close()


@pytest.mark.parametrize("left", [100, 5000, 20_000])
def test_a_file_that_was_cut_short_says_how_much_is_missing(recorded: tuple[Path, str], left: int) -> None:
    path, _ = recorded
    whole = path.read_bytes()
    path.write_bytes(whole[:left])
    with pytest.raises(Damaged, match=f"{len(whole) - left:,} of its {len(whole):,} bytes") as caught:
        open_source(path).runs()
    assert "again" in caught.value.hint
