"""What is changed, missing, added or exchanged among recorded rows is found, shown as such, and never used."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.store.recordings import begin, call, new_store, step
from tests.core.store.rows import execute

from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.errors import AgentTTError, Damaged
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.model import CallEnd, NewCall, NewStep, StepEnd
from agent_tt.questions import NewQuestion
from agent_tt.replaying.tape.full_history import read_calls
from agent_tt.store import open_store
from agent_tt.store.tables.definitions import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.store import SqliteStore

RUN = "run = (SELECT run FROM runs WHERE name = 'chat')"


def record(folder: Path) -> Path:
    """Two runs with all that rows can hold: calls, pieces of streams, steps, marks, tracks, an index, a sweep."""
    store = new_store(folder)
    for name in ("chat", "other"):
        state: dict[str, Any] = {"messages": [], "n": 0, "document": "words " * 2000}
        writer = begin(store, state, name, tags=("kept",))
        for number in range(1, 7):
            made = writer.open_step(NewStep(f"step {number}"))
            call(writer, made, {"n": number}, {"found": f"{name} {number}"})
            if number == 3:
                asked = NewCall("llm", "model", {"n": 3}, "ab" * 16, meta={"headers": {"host": "h", "date": "1"}})
                streamed = writer.begin_call(made, asked)
                for piece in ("one", "two"):
                    writer.deliver(made, streamed, "chunk", {"piece": piece})
                writer.end_call(made, streamed, CallEnd("ok", "one two", stream="end"))
            state["messages"].append({"content": f"message {number}"})
            state["n"] = number
            writer.close_step(made, StepEnd("ok", tokens_in=2, tokens_out=3, cost_usd=0.5), state)
        scratch = {"notes": [1]}
        step(writer, scratch, track="researcher")
        writer.finish("succeeded")
        store.add_note(writer.run_id, 2, "note", "look")
        store.name_checkpoint(writer.run_id, 4, "here")
    store.begin_sweep(store.run("chat").id, 2, {"axes": []}, driven=False)
    assert store.verify() == []
    store.close()
    return folder / "runs.db"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return record(tmp_path)


def use(store: SqliteStore) -> list[type[Exception] | None]:
    """What a replay, a fork and a comparison of the run say."""
    found: list[type[Exception] | None] = []
    for action in (
        lambda: read_calls(store, store.run("chat")),
        lambda: plan_fork(store, store.run("chat"), ForkRequest(3, edits=[], agent="tests.agent:main")),
        lambda: compare_runs(store, store.run("chat"), store, store.run("other")),
    ):
        try:
            action()
        except AgentTTError as error:
            found.append(type(error))
        else:
            found.append(None)
    return found


CHANGES = {
    "a result": f"UPDATE calls SET result = '\"false\"' WHERE {RUN} AND step = 2",
    "an argument": f"UPDATE calls SET args = '{{\"n\":7}}' WHERE {RUN} AND step = 2",
    "a deleted call": f"DELETE FROM calls WHERE {RUN} AND step = 4",
    "the last calls": f"DELETE FROM calls WHERE {RUN} AND step > 4",
    "exchanged results": f"UPDATE calls SET result = (SELECT c.result FROM calls c WHERE c.run = calls.run"
    f" AND c.step = 3 - calls.step AND c.call = 1) WHERE {RUN} AND step IN (1, 2)",
    "a step's name": f"UPDATE steps SET name = 'another' WHERE {RUN} AND step = 2",
    "a step's checkpoint": f"UPDATE steps SET seq = 1 WHERE {RUN} AND step = 2",
    "a deleted step": f"DELETE FROM steps WHERE {RUN} AND step = 2",
    "a run's status": "UPDATE runs SET status = 'failed' WHERE name = 'chat'",
    "a delivery": 'UPDATE deliveries SET data = \'{"piece":"2"}\' WHERE id = (SELECT min(id) FROM deliveries)',
    "a deleted delivery": "DELETE FROM deliveries WHERE id = (SELECT min(id) FROM deliveries)",
}
"""What is used of a run, changed without its proof."""

MARKS = {
    "a note": "UPDATE notes SET body = 'forged' WHERE kind = 'note'",
    "an added tag": "INSERT INTO tags(run, tag, proof) SELECT run, 'more', proof FROM tags LIMIT 1",
    "a deleted tag": "DELETE FROM tags WHERE run = 1",
    "an added note": "INSERT INTO notes(run, kind, body, created_us, proof)"
    " SELECT run, 'note', body, 1, proof FROM notes",
    "a sweep": "UPDATE sweeps SET definition = '{}'",
    "the index": "UPDATE changes SET touched = touched | 1 WHERE touched & 1 = 0",
    "a missing row of the index": "DELETE FROM changes WHERE path = (SELECT min(path) FROM changes)",
    "a path": "UPDATE paths SET path = replace(path, 'n', 'm')",
    "a flag of a checkpoint": "UPDATE deltas SET flags = flags | 1",
    "the form of a blob": "UPDATE blobs SET form = 'raw'",
    "a fact of the file": "UPDATE meta SET value = '9' WHERE key = 'gc_epoch'",
}
"""What is not used by a replay."""


@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_is_found_and_never_used(recorded: Path, what: str) -> None:
    execute(recorded, CHANGES[what])
    with closing(open_store(recorded, read_only=True)) as store:
        run = store.run("chat")
        assert store.verify(), "of the file"
        assert store.verify(run.id), "of the run"
        assert store.verify(store.run("other").id) == []
        replay, fork, compare = use(store)
        assert issubclass(replay or int, Damaged)
        assert issubclass(fork or int, Damaged)
        assert compare is None if "delivery" in what else issubclass(compare or int, Damaged)
        with pytest.raises(Damaged) as caught:
            read_calls(store, run)
        assert caught.value.exit_code == 4
        assert run.id in caught.value.message


@pytest.mark.parametrize("what", MARKS)
def test_what_was_changed_beside_is_found_and_keeps_nobody_from_using_the_rest(recorded: Path, what: str) -> None:
    execute(recorded, MARKS[what])
    with closing(open_store(recorded, read_only=True)) as store:
        assert store.verify()
        assert use(store)[0] is None


@pytest.mark.parametrize("where", ["args", "result", "a piece", "facts"])
def test_a_call_of_which_a_large_part_cannot_be_read_is_not_used(tmp_path: Path, where: str) -> None:
    large = {"page": "".join(random.Random(3).choices("abcdefgh ", k=30_000))}
    headers = {"host": "h" * 60, "accept": "a" * 60, "agent": "g" * 60}
    store = new_store(tmp_path)
    writer = begin(store, {}, "chat")
    for number in (1, 2):
        made = writer.open_step(NewStep("fetch"))
        args = large if where == "args" else {"n": number}
        facts = {"headers": {**headers, "date": str(number)}} if where == "facts" else {}
        asked = writer.begin_call(made, NewCall("llm", "model", args, "ab" * 16, meta=facts))
        if where == "a piece":
            writer.deliver(made, asked, "chunk", large)
        result = large if where == "result" else "found"
        writer.end_call(made, asked, CallEnd("ok", result, stream="end" if where == "a piece" else None))
        writer.close_step(made, StepEnd("ok"), {})
    writer.finish("succeeded")
    run_id = writer.run_id
    store.close()
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        assert connection.execute("SELECT count(*) FROM blobs").fetchone()[0], "nothing was kept apart"
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as store:
        read_calls(store, store.run("chat"))
    execute(tmp_path / "runs.db", "UPDATE blobs SET data = substr(data, 1, length(data) - 3) || x'010203'")
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as store:
        assert store.verify()
        with pytest.raises(Damaged, match=r"of step (1|2)"):
            read_calls(store, store.run("chat"))
        (shown_call,) = store.calls(run_id, 2)
        (heads,) = [head for head in store.call_heads(run_id, 2) if head.step == 2]
        assert (shown_call.damaged is None) == (where == "a piece")
        assert (heads.damaged is None) == (where != "facts")


def test_a_schema_whose_fault_cannot_be_said_in_utf_8_is_a_damaged_file(recorded: Path) -> None:
    with closing(sqlite3.connect(recorded)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET name = CAST(x'6eac6f' AS TEXT), sql = 'CREATE TABLE (' WHERE name = 'notes'"
        )
        connection.commit()
    with pytest.raises(AgentTTError) as caught, closing(open_store(recorded, read_only=True)) as store:
        store.verify()
    assert caught.value.kind in ("damaged", "not_a_store")


def test_a_damaged_value_is_a_placeholder_and_the_rest_of_its_call_is_shown(recorded: Path) -> None:
    execute(recorded, CHANGES["a result"])
    execute(recorded, f"UPDATE calls SET name = 'forged' WHERE {RUN} AND step = 3 AND call = 1")
    execute(recorded, CHANGES["a step's name"].replace("step = 2", "step = 5"))
    with closing(open_store(recorded, read_only=True)) as store:
        run = store.run("chat").id
        (second,) = store.calls(run, 2)
        assert (second.name, second.args) == ("search", {"n": 2})
        assert is_placeholder(second.result)
        assert "result of call 1 of step 2" in (second.damaged or "")
        forged, streamed = store.calls(run, 3)
        assert forged.damaged is not None
        assert forged.name != "forged"
        assert streamed.damaged is None
        assert [found.number for found in store.steps(run) if found.damaged] == [5]
        assert store.damaged_steps(run) == [3, 5]
        assert store.state(run, 4)["n"] == 4
        with pytest.raises(Damaged, match="step 5"):
            store.state(run, 5)


def test_a_missing_step_is_shown_in_its_place(recorded: Path) -> None:
    execute(recorded, f"DELETE FROM steps WHERE {RUN} AND step IN (2, 3)")
    execute(recorded, f"UPDATE steps SET step = 900000 WHERE {RUN} AND step = 7")
    with closing(open_store(recorded, read_only=True)) as store:
        run = store.run("chat")
        steps = store.steps(run.id)
        assert [found.number for found in steps] == list(range(1, run.steps + 1))
        assert run.steps < 20
        assert [found.number for found in steps if found.damaged is None] == [1, 4, 5, 6]


VALUES = [None, 2**63 - 1, b"\xff\x00", "{"]


def columns_of(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return [
            (table, column)
            for table in (*TABLES, "paths", "changes", "seals")
            for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        ]


def shown(store: SqliteStore) -> None:
    """Read everything that a screen shows; errors of ours may keep a part of it away."""
    for run in store.runs(archived=True):
        for read in (
            lambda: [store.calls(run.id, found.number) for found in store.steps(run.id)],  # noqa: B023
            lambda: (store.notes(run.id), store.labels(run.id), store.questions(run.id)),  # noqa: B023
            lambda: store.damaged_steps(run.id),  # noqa: B023
            lambda: store.deliveries(run.id, 3, 2),  # noqa: B023
            lambda: store.state(run.id, 6),  # noqa: B023
            lambda: store.last_write(run.id, 6, ("n",)),  # noqa: B023
            lambda: read_calls(store, run),  # noqa: B023
        ):
            try:
                read()
            except AgentTTError:
                continue


def content(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        tables = (*TABLES, "paths", "changes", "seals")
        return repr([connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables])


@pytest.mark.parametrize("part", range(4))
def test_any_value_in_any_column_is_found_and_ends_nothing(tmp_path: Path, part: int) -> None:
    """Each column of each table with each of some wrong values, in one row: a fourth of them at a time."""
    path = record(tmp_path)
    copy = tmp_path / "changed.db"
    before = content(path)
    for table, column in columns_of(path)[part::4]:
        for value in VALUES:
            shutil.copy(path, copy)
            with closing(sqlite3.connect(copy)) as connection:
                key = ", ".join(TABLES[table].key) if table in TABLES else "*"
                row = connection.execute(f"SELECT {key} FROM {table} LIMIT 1").fetchone()
                if row is None:
                    continue
                names = (
                    key.split(", ")
                    if key != "*"
                    else [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
                )
                where = " AND ".join(f"{name} IS ?" for name in names)
                try:
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *row))
                except sqlite3.IntegrityError:
                    continue
                connection.commit()
            is_same = content(copy) == before
            try:
                with closing(open_store(copy, read_only=True)) as store:
                    assert is_same or store.verify(), (table, column, value)
                    shown(store)
            except AgentTTError:  # the file is refused as a whole
                assert table in ("meta", "seals")


def test_one_flipped_bit_is_found_or_changes_nothing(recorded: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(recorded)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    choose, original, before = random.Random(5), recorded.read_bytes(), content(recorded)
    copy = tmp_path / "flipped.db"
    found = 0
    for _ in range(60):
        at = choose.randrange(len(original))
        copy.write_bytes(original[:at] + bytes([original[at] ^ 1 << choose.randrange(8)]) + original[at + 1 :])
        try:
            with closing(open_store(copy, read_only=True)) as store:
                problems = store.verify()
                shown(store)
        except AgentTTError:
            found += 1
            continue
        found += bool(problems)
        assert problems or content(copy) == before
    assert found


def test_a_question_and_who_writes_it_in_parts(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {})
    made = writer.open_step(NewStep("pay"))
    number = writer.begin_call(made, NewCall("tool", "pay", {"n": 1}, "ab" * 16))
    assert store.verify() == []
    asked = writer.ask(made, number, NewQuestion(editable=(), can_give=True, trouble=""))
    assert store.verify() == []
    writer.amend_call(made, number, {"answered": "run"}, args={"n": 2})
    assert store.verify() == []
    asked.withdraw()
    joined = store.join_run(writer.run_id)
    joined.end_call(made, number, CallEnd("ok", {"paid": True}))
    assert store.verify() == []
    joined.close_step(made, StepEnd("ok"), {"n": 1})
    joined.finish("succeeded")
    writer.finish("succeeded")
    assert store.verify() == []
    store.close()
