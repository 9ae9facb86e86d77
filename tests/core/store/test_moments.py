"""Questions of several queries are answered as of one moment, and what was read once is not used after a change."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.store.recordings import begin, chat, new_store, step

from agent_tt.errors import StoreUnreadable
from agent_tt.store import open_store
from agent_tt.store.rows import step_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.history.rows import Row
    from agent_tt.store.tables.asking import SqlValue


def test_queries_of_one_moment_do_not_see_what_another_process_writes_meanwhile(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    chat(store, 2)
    count = "SELECT count(*) FROM steps"
    with store.database.moment() as version, closing(sqlite3.connect(store.path)) as other:
        before = store.database.query(count)
        with other:
            other.execute("DELETE FROM steps")
        assert store.database.query(count) == before
        assert store.database.version() == version
    assert store.database.query(count) == [(0,)]
    assert store.database.version() != version
    store.close()


def test_a_moment_within_a_transaction_is_that_transaction_and_ends_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store.database.transaction() as tx:
        tx.execute("INSERT INTO paths(id, path) VALUES(1, 'one')")
        with store.database.moment() as version:
            assert version is None
            assert store.database.query("SELECT path FROM paths") == [("one",)]
        tx.execute("INSERT INTO paths(id, path) VALUES(2, 'two')")
    assert store.database.query("SELECT path FROM paths ORDER BY id") == [("one",), ("two",)]
    store.close()


def test_a_question_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with pytest.raises(ZeroDivisionError), store.database.moment():
        1 / 0  # noqa: B018
    with pytest.raises(StoreUnreadable), store.database.moment():
        store.database.query("SELECT no FROM steps")
    writer = begin(store, {"n": 0})
    step(writer, {"n": 1})
    writer.finish("succeeded")
    store.close()
    with pytest.raises(StoreUnreadable), store.database.moment():
        pass


def test_who_wrote_a_value_is_known_of_a_run_that_another_process_goes_on_with(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0, "items": []})
    reading = open_store(store.path, read_only=True)
    items: list[int] = []
    for number in range(1, 140):  # the index is written twice meanwhile
        items.append(number)
        step(writer, {"n": number // 10, "items": [*items]})
        wrote = max(number // 10 * 10, 0)
        assert reading.last_write(writer.run_id, number, ("n",)) == wrote
        assert reading.last_write(writer.run_id, number, ("items", number // 2)) == number // 2 + 1
        assert reading.last_write(writer.run_id, number, ("items", 0)) == 1
    writer.finish("succeeded")
    assert reading.last_write(writer.run_id, 139, ("items", 70)) == 71
    reading.close()
    store.close()


def test_the_input_is_named_as_what_wrote_a_value_without_a_search_of_the_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {"goal": "none", "n": 0})
    for number in range(1, 4):
        step(writer, {"goal": "none", "n": number})
    asked, query = [], store.database.query

    def told(sql: str, parameters: Sequence[SqlValue] = ()) -> list[Row]:
        asked.append(sql)
        return query(sql, parameters)

    monkeypatch.setattr(store.database, "query", told)
    assert store.last_write(writer.run_id, 3, ("goal",)) == 0
    assert asked
    assert not [sql for sql in asked if "seq = ?" in sql and "step = ?" not in sql]
    writer.finish("succeeded")
    store.close()


def test_steps_are_made_once_but_of_a_run_that_is_too_long_to_be_kept_none_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store(tmp_path)
    run = chat(store, 12)
    kept, again = store.steps(run, 1, 5), store.steps(run, 1, 5)
    assert [one is other for one, other in zip(kept, again, strict=True)] == [True] * 4
    monkeypatch.setattr(step_rows, "_MOST_KEPT", 6 * 1_000)  # bytes of six steps, and not of twelve
    new, newer = store.steps(run, 5, 9), store.steps(run, 5, 9)
    assert new == newer
    assert not [one for one, other in zip(new, newer, strict=True) if one is other]
    store.close()
