"""Queries over a store: what the views hold, what a query may not do, and what is damaged is never an answer."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import agent_tt
from agent_tt.errors import NotAStore, ReadOnlySource, StoreNotFound, UsageError
from agent_tt.model import NewFork
from agent_tt.store.sql import query_store
from agent_tt.store.views import FUNCTIONS, VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"
LONG = "all work and no play " * 2_000


@agent_tt.tool(effect="write")
def pay(amount: int, note: str = "") -> dict[str, Any]:
    if amount > 5:
        raise ValueError("too much")
    return {"paid": amount, "note": note}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A run that paid three times, and failed at the third; with tags, notes and facts."""
    path = tmp_path / "runs.db"
    state: dict[str, Any] = {"left": 9, "odd": {"it's": [1, 2.5, True]}}
    with (
        suppress(ValueError),
        agent_tt.record("payer", state=state, store=path, tags=["b", "a"], metadata={"ticket": 7}) as run,
    ):
        for amount in (1, 2, 6):
            with run.step(f"pay {amount}", state):
                pay(amount, note=LONG if amount == 2 else "")
                state["left"] -= amount
    with closing(agent_tt.open_source(path)) as source:
        source.add_note(source.run("payer").id, 2, "note", "odd")  # type: ignore[attr-defined]
    return path


def ask(path: Path, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    with query_store(path) as queries:
        return list(queries.rows(sql, parameters))


def one(path: Path, sql: str) -> Any:
    ((value,),) = [row.values() for row in ask(path, sql)]
    return value


def test_the_views_say_what_the_commands_say(store: Path) -> None:
    with closing(agent_tt.open_source(store)) as source:
        run = source.run("payer")
        steps, calls = source.steps(run.id), [call for step in (1, 2, 3) for call in source.calls(run.id, step)]
    (found,) = ask(store, "select * from runs")
    assert (found["run"], found["name"], found["status"], found["steps"]) == (run.id, "payer", "failed", 3)
    assert (json.loads(found["tags"]), json.loads(found["metadata"])["ticket"]) == (["a", "b"], 7)
    assert (found["error_type"], found["error"]) == ("builtins:ValueError", "too much")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", found["started"])
    assert found["ms"] == (run.ended_us - run.started_us) / 1000
    rows = ask(store, "select step, name, status, calls, error, ended from steps order by step")
    assert [(row["step"], row["name"], row["status"], row["calls"]) for row in rows] == [
        (step.number, step.name, step.status, step.calls) for step in steps
    ]
    rows = ask(store, "select * from calls order by step")
    assert [(row["name"], row["effect"], row["status"]) for row in rows] == [
        (call.name, call.effect, call.status) for call in calls
    ]
    assert [json.loads(row["args"]) for row in rows] == [call.args for call in calls]
    assert [json.loads(row["result"] or "null") for row in rows] == [call.result for call in calls]
    assert rows[2]["error"] == "too much"
    assert one(store, "select text from marks where kind = 'note' and step = 2") == "odd"
    assert [row["tag"] for row in ask(store, "select tag from tags order by tag")] == ["a", "b"]


def test_a_large_part_of_a_call_is_given_whole(store: Path) -> None:
    assert one(store, "select json_extract(args, '$.note') from calls where step = 2") == LONG


def test_a_state_is_asked_for_by_its_step_and_path(store: Path) -> None:
    rows = ask(store, "select step, state(run, step, 'left') l from steps order by step")
    assert [row["l"] for row in rows] == ["8", "6", "6"]
    assert json.loads(one(store, "select state(run, 0) from runs"))["odd"] == {"it's": [1, 2.5, True]}
    assert one(store, """select state(run, 0, 'odd["it''s"][2]') from runs""") == "true"
    for nothing in ("state(run, 99)", "state(run, 1, 'nowhere')", "state('nobody', 1)", "state(run, 'x')"):
        assert one(store, f"select {nothing} from runs") is None
    with pytest.raises(UsageError, match="cannot be read"):
        ask(store, "select state(run, 1, 'a[') from runs")


def test_what_a_fork_changed_is_in_the_edits(tmp_path: Path) -> None:
    import shutil

    path = tmp_path / "runs.db"
    shutil.copy(SAMPLES, path)
    with closing(agent_tt.open_source(path)) as source:
        from agent_tt.model import Edit, NewRun

        run = source.run("trip-planner")
        fork = source.begin_fork(  # type: ignore[attr-defined]
            NewFork(
                run.id, 2, state=source.state(run.id, 2), new=NewRun(name="again"), edits=[Edit("set", "a", True, "x")]
            )
        )
    rows = ask(path, "select run, op, path, old, value from edits")
    assert rows == [{"run": fork, "op": "set", "path": "a", "old": '"x"', "value": "true"}]
    assert ask(path, "select parent, fork_step, steps from runs where name = 'again'") == [
        {"parent": run.id, "fork_step": 2, "steps": 2}
    ]


WRITES = [
    *("delete from runs", "update calls set name = 'x'", "insert into steps(step) values (1)", "drop view runs"),
    *("drop table main.runs", "create table x(a)", "create temp table x(a)", "create view x as select 1", "vacuum"),
    *("attach ':memory:' as other", "attach '/etc/passwd' as other", "detach main", "begin", "commit", "savepoint x"),
    *("release sqlite_utils_query", "rollback", "reindex", "analyze", "alter table main.runs rename to x"),
    *("pragma user_version = 7", "pragma query_only = off", "pragma journal_mode = delete", "pragma user_version"),
    *("select load_extension('x')", "insert into main.tags values (1, 'x', x'00') returning tag"),
    *("select * from pragma_user_version", "select * from pragma_query_only(0)", "update sqlite_master set name = 'x'"),
    *("delete from main.notes returning note", "vacuum into '/tmp/stolen.db'", "explain delete from main.runs"),
    *("select name from main.runs", "select * from timeline", "select value from main.meta", "", "-- nothing"),
    *("with x as (delete from main.tags returning tag) select * from x", "select 1; delete from main.runs", "replace"),
]


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_that_does_more_than_read_is_refused_and_changes_nothing(store: Path, statement: str) -> None:
    before = dump(store)
    with query_store(store) as queries:
        with pytest.raises(UsageError):
            list(queries.rows(statement))
        assert [row["n"] for row in queries.rows("select count(*) n from runs")] == [1], "and the next one is answered"
        with pytest.raises(ReadOnlySource):
            list(queries.rows("delete from main.runs"))
    assert dump(store) == before


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def test_nothing_of_the_views_is_in_the_file(store: Path) -> None:
    before = dump(store)
    ask(store, "select * from runs, steps, calls")
    assert dump(store) == before


def test_parameters_are_values_and_never_sql(store: Path) -> None:
    assert ask(store, "select name from runs where name = :n", {"n": "payer"}) == [{"name": "payer"}]
    assert ask(store, "select name from runs where name = :n", {"n": "' or 1 --"}) == []
    with pytest.raises(UsageError, match=":n has no value"):
        ask(store, "select :n")


@pytest.mark.parametrize(
    "wrong", ["selec 1", "select nothing from runs", "select * from nowhere", "select 1; select 2"]
)
def test_a_query_that_cannot_be_understood_is_a_usage_error(store: Path, wrong: str) -> None:
    with pytest.raises(UsageError, match="SQL: "):
        ask(store, wrong)


def test_json_is_taken_apart_by_sqlite_s_own_functions(store: Path) -> None:
    assert [row["value"] for row in ask(store, "select value from runs, json_each(runs.tags)")] == ["a", "b"]
    found = ask(store, "select distinct t.key k from calls, json_tree(calls.args) t where t.key is not null order by k")
    assert [row["k"] for row in found] == ["amount", "note"]


def test_columns_of_one_name_are_kept_apart(store: Path) -> None:
    assert [*ask(store, "select 1 a, 2 a")[0].values()] == [1, 2]


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


@pytest.mark.parametrize(
    ("damage", "query", "expected", "named"),
    [
        (
            "UPDATE steps SET name = 'bad' WHERE step = 2",
            "select name from steps",
            ["pay 1", "pay 6"],
            "row 1, 2 of steps",
        ),
        ("UPDATE calls SET name = 'bad' WHERE step = 2", "select step from calls", [1, 3], "row 1, 2, 1 of calls"),
        ("UPDATE runs SET name = 'bad'", "select name from runs", [], "row 1 of runs"),
        ("UPDATE runs SET name = 'bad'", "select distinct run_name from calls", [], "row 1 of runs"),
        ("UPDATE notes SET body = 'bad'", "select text from marks", [], "row 2 of notes"),
        ("UPDATE tags SET tag = 'bad' WHERE tag = 'a'", "select tag from tags", ["b"], "row 1, 'bad' of tags"),
        (
            "UPDATE calls SET result = '{\"paid\":1000}' WHERE step = 1",
            "select json_extract(result, '$.paid') from calls where step < 3",
            [None, 2],
            "the result of call 1 of step 1",
        ),
        ("UPDATE calls SET error = NULL WHERE step = 3", "select error from calls", [None] * 3, "the error of call 1"),
        ("UPDATE steps SET name = x'ff' WHERE step = 2", "select step from steps", [1, 3], "row 1, 2 of steps"),
        (
            "UPDATE steps SET name = CAST(x'ff41' AS TEXT) WHERE step = 2",
            "select step from steps",
            [1, 3],
            "row 1, 2 of",
        ),
        (
            "UPDATE calls SET args = CAST(x'ff41' AS TEXT) WHERE step = 2",
            "select args like '%' from calls",
            [1, None, 1],
            "the args of call 1 of step 2",
        ),
        ("UPDATE tags SET tag = CAST(x'ff41' AS TEXT) WHERE tag = 'a'", "select tag from tags", ["b"], "of tags"),
        ("UPDATE steps SET meta = '{' WHERE step = 2", "select step, calls from steps", [1, 3], "row 1, 2 of steps"),
        ("UPDATE calls SET proof = 7 WHERE step = 2", "select step, result from calls", [1, 3], "row 1, 2, 1 of calls"),
    ],
)
def test_what_is_damaged_is_left_out_and_named(
    store: Path, damage: str, query: str, expected: list[Any], named: str
) -> None:
    change(store, damage)
    with query_store(store) as queries:
        found = [next(iter(row.values())) for row in queries.rows(query)]
        assert found == expected
        assert any(named in one for one in queries.damaged), queries.damaged


def test_a_condition_on_a_column_calls_no_sound_row_damaged(store: Path) -> None:
    """SQLite puts the constant in the place of the column in what is asked of the row's proof."""
    with query_store(store) as queries:
        assert len(list(queries.rows("select * from steps where name = 'pay 2' and status = 'ok' and step = 2"))) == 1
        assert len(list(queries.rows("select * from calls where name = 'pay' and kind = 'tool' and step = 2"))) == 1
        assert list(queries.rows("select * from calls where name = 'other'")) == []
        assert queries.damaged == set()


def test_an_answer_comes_row_by_row_and_an_endless_one_can_be_left(store: Path) -> None:
    endless = "with recursive r(x) as (values (1) union all select x + 1 from r) select x from r"
    with query_store(store) as queries:
        rows = queries.rows(endless)
        assert [next(rows)["x"] for _ in range(3)] == [1, 2, 3]
        rows.close()
        assert len(list(queries.rows("select 1"))) == 1


def test_a_run_whose_process_is_gone_is_not_shown_as_running(store: Path) -> None:
    from agent_tt.store import open_store
    from agent_tt.store.tables.definitions import RUNS, STEPS

    with closing(open_store(store)) as opened, opened.database.transaction() as tx:
        owner = json.dumps({"host": "elsewhere", "boot": "", "pid": 1, "start": 0})
        RUNS.update(tx, (1,), {"status": "running", "owner": owner, "beat_us": 0})
        STEPS.update(tx, (1, 3), {"status": "running"})
    assert one(store, "select status from runs") == "crashed"
    assert one(store, "select status from steps where step = 3") == "interrupted"


def test_only_a_store_of_ours_is_asked(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    change(other, "CREATE TABLE t(a)")
    with pytest.raises(NotAStore), query_store(other):
        pass
    with pytest.raises(StoreNotFound), query_store(tmp_path / "none.db"):
        pass


def test_every_view_and_function_can_be_asked_and_has_words_for_people(store: Path) -> None:
    for view in VIEWS:
        names = ", ".join(column.name for column in view.columns)
        ask(store, f"select {names} from {view.name}")
        assert view.what.endswith(".")
    for function in FUNCTIONS:
        call = function.replace("path", "'left'")
        assert one(store, f"select {call} from steps where step = 1") is not None
