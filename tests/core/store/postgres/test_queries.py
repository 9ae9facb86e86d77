"""Queries in SQL over a store on a server: the same views, with the same rows, as over a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import agent_tt
from agent_tt.errors import ReadOnlySource, StoreBusy, UsageError
from agent_tt.store import copy_runs, open_store
from agent_tt.store.postgres import queried
from agent_tt.store.sql import query_store
from agent_tt.store.views import VIEWS

if TYPE_CHECKING:
    from tests.postgres_server import TestDatabase

    from agent_tt.addresses import Address

SAMPLES = Path(__file__).parents[4] / "sample_runs" / "runs.db"
LONG = "all work and no play " * 2_000


@agent_tt.tool
def look(text: str) -> dict[str, str]:
    return {"seen": text}


@pytest.fixture
def both(tmp_path: Path, postgres: TestDatabase) -> tuple[Path, Address]:
    """The same runs in a file and on a server: two samples, and one with a large argument and a zero character."""
    path = tmp_path / "runs.db"
    state = {"left": 2}
    with agent_tt.record("looker", state=state, store=path, tags=["b", "a"]) as run:
        for number, text in enumerate((LONG, "a\0b")):
            with run.step(f"look {number}", state):
                look(text)
                state["left"] -= 1
    with (
        closing(open_store(path)) as store,
        closing(open_store(SAMPLES, read_only=True)) as samples,
        closing(open_store(postgres.address, create=True)) as server,
    ):
        copy_runs(samples, store, [samples.run(name).id for name in ("flaky-checkout", "trip-planner")])
        store.add_note(run.id, 2, "note", "odd")
        copy_runs(store, server, [each.id for each in reversed(store.runs())])
    return path, postgres.address


def ask(path: Path, sql: str, **parameters: Any) -> list[dict[str, Any]]:
    with query_store(path) as queries:
        found = list(queries.rows(sql, parameters))
        assert queries.damaged == set()
    return found


def test_each_view_has_the_same_rows_over_a_file_and_over_a_server(both: tuple[Path, Address]) -> None:
    for view in VIEWS:
        names = ", ".join(column.name for column in view.columns)
        file, server = (ask(each, f"select {names} from {view.name} order by {names}") for each in both)
        assert file == server, view.name
        assert file or view.name in ("questions", "replays", "edits"), view.name
    for query in (
        "select run, step, state(run, step, 'left') l from steps where run_name = :name order by step",
        "select json_extract(args, '$.text') t from calls where run_name = :name order by step",
        "select name, count(*) n, sum(tokens_in) t from calls group by name order by name",
        "with r as (select run from runs where name = :name) select step from steps join r using (run) order by step",
    ):
        file, server = (ask(each, query, name="looker") for each in both)
        assert file == server != [], query


@pytest.mark.parametrize(
    "statement", ["delete from runs", "select * from main.runs", "begin", "select name from pg_class; drop table runs"]
)
def test_what_does_more_than_read_is_refused(both: tuple[Path, Address], statement: str) -> None:
    with query_store(both[1]) as queries, pytest.raises((ReadOnlySource, UsageError)):
        list(queries.rows(statement))


def test_what_is_damaged_on_a_server_is_left_out_and_named(both: tuple[Path, Address], postgres: TestDatabase) -> None:
    postgres.execute(
        "UPDATE agent_tt.steps SET name = 'other' WHERE name = 'look 1'",
        "UPDATE agent_tt.calls SET result = '1' WHERE name = 'look' AND step = 2",
    )
    with query_store(both[1]) as queries:
        assert [row["name"] for row in queries.rows("select name from steps where run_name = 'looker'")] == ["look 0"]
        found = [row["r"] for row in queries.rows("select result is null r from calls where run_name = 'looker'")]
        assert found == [0, 1]
        assert len(queries.damaged) == 2, queries.damaged


def test_only_what_a_query_needs_is_read_and_not_for_longer_than_a_while(
    both: tuple[Path, Address], postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queried, "_TIMEOUT_S", 0.2)
    with psycopg.connect(postgres.url) as other:
        other.execute("LOCK TABLE agent_tt.calls")
        assert len(ask(both[1], "select name, status from runs")) == 3
        assert len(ask(both[1], "select name from steps where run_name = 'looker'")) == 2
        with query_store(both[1]) as queries, pytest.raises(StoreBusy, match="did not answer in time"):
            list(queries.rows("select name from calls"))
