"""The flat database: its totals are those of the store, its rows are each there once, and Datasette opens it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from tests.core.interop.format_samples import SAMPLES, as_bytes
from tests.core.memory_store import Did, MemorySource
from tests.patience import PATIENCE_SECONDS
from tests.recordings import MISSING, recordings

from agent_tt import samples
from agent_tt.exporting.database import FlatDatabase
from agent_tt.exporting.database_tables import COLUMNS, VIEWS
from agent_tt.exporting.redacted import exported
from agent_tt.model.statistics import Chosen
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import RunSource


def flat(source: RunSource, path: Path, *runs: str) -> sqlite3.Connection:
    chosen = [source.run(run) for run in runs] if runs else source.runs(archived=True)
    assert FlatDatabase().write(exported(source, [(run, None) for run in chosen]), path) is None
    found = sqlite3.connect(path)
    assert found.execute("pragma foreign_key_check").fetchall() == []
    assert found.execute("pragma integrity_check").fetchall() == [("ok",)]
    return found


def check_totals(source: RunSource, found: sqlite3.Connection) -> None:
    whole = source.statistics(Chosen()).whole
    of_steps = "sum(tokens_in), sum(tokens_out), sum(cost_usd), count(*)"
    told = found.execute(f"select {of_steps} from steps where not inherited").fetchone()
    assert told[:2] == (whole.usage.tokens_in, whole.usage.tokens_out)
    assert told[2] == (None if whole.usage.cost_usd is None else pytest.approx(whole.usage.cost_usd))
    assert told[3] == whole.steps
    models = {name: (calls, *usage) for name, calls, *usage in found.execute(
        "select model, calls, errors, tokens_in, tokens_out from cost_by_model")}  # fmt: skip
    groups = source.call_groups(Chosen(), "model")
    assert models == {
        group.name: (group.calls, group.errors, group.usage.tokens_in, group.usage.tokens_out) for group in groups
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("flat")
    samples.ensure("flaky-checkout", folder / "runs.db")
    with closing(open_store(folder / "runs.db")) as source, closing(flat(source, folder / "out.db")) as found:
        check_totals(source, found)
    return folder / "out.db"


def test_values_tell_who_wrote_them_and_the_search_finds_them(checkout: Path) -> None:
    with closing(sqlite3.connect(checkout)) as found:
        wrote = "select value, from_step, to_step, step_name from writes where path = 'payment.refusals[0]'"
        assert found.execute(wrote).fetchall() == [("insufficient_funds", 7, 10, "charge card")]
        search = "select count(*) from calls where id in (select rowid from calls_fts where calls_fts match ?)"
        assert found.execute(search, ["Weber"]).fetchone() == (1,)
        shown = found.execute("select position, said, role from messages order by id").fetchall()
        assert [place for place, _, _ in shown] == [*range(1, 22)]
        assert {role for _, said, role in shown if said} == {"assistant"}


@pytest.mark.parametrize("name", SAMPLES)
def test_totals_of_a_file_of_another_program_that_was_opened_are_those_that_it_shows(tmp_path: Path, name: str) -> None:
    path = tmp_path / "sample"
    path.write_bytes(as_bytes(SAMPLES[name]))
    with closing(open_source(path)) as source, closing(flat(source, tmp_path / "out.db")) as found:
        check_totals(source, found)
        assert found.execute("select count(*) from runs").fetchone() == (len(source.runs(archived=True)),)


def test_datasette_opens_it_and_says_what_is_in_it(checkout: Path, tmp_path: Path) -> None:
    """In a process of its own, as it is started: its threads and its loop are none of this one's."""
    pytest.importorskip("datasette")
    session = tmp_path / "session.jsonl"
    session.write_bytes(as_bytes(SAMPLES["claude_code"]))
    opened = tmp_path / "opened.db"  # of a file that was opened, not imported
    with closing(open_source(session)) as source, closing(flat(source, opened)):
        runs = source.runs(archived=True)

    def read(address: str) -> Any:
        command = [sys.executable, "-m", "datasette", str(checkout), str(opened), "--crossdb", "--get", address]
        return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_SECONDS).stdout)

    whole = read("/out.json")
    shown = {table["name"]: table for table in whole["tables"] if not table["hidden"]}
    assert shown.keys() == COLUMNS.keys()
    assert {view["name"] for view in whole["views"]} == VIEWS.keys()
    assert shown["messages"]["fts_table"] == "messages_fts"
    assert {key["other_table"] for key in shown["calls"]["foreign_keys"]["outgoing"]} == {"steps", "runs", "calls"}
    searched = "select rowid from opened.messages_fts where messages_fts match 'green'"
    asked = (
        "select 'recorded', name, status, tags, steps from out.runs",
        "select 'opened', name, status, tags, steps from opened.runs",
        f"select type, name, null, null, null from opened.sqlite_master where name in {(*COLUMNS, *VIEWS)}",
        "select 'failed', name, status, error, null from opened.calls where status = 'error'",
        f"select 'found', text, role, null, null from opened.messages where id in ({searched}) group by text",
    )
    query = {"sql": " union all ".join(asked), "_shape": "arrays"}
    rows = sorted(tuple(row) for row in read(f"/_memory.json?{urlencode(query)}")["rows"])
    assert rows == sorted(
        [
            ("recorded", "flaky-checkout", "succeeded", "[]", 10),
            *(("opened", run.name, run.status, "[]", run.steps) for run in runs),
            *(("table", name, None, None, None) for name in COLUMNS),
            *(("view", name, None, None, None) for name in VIEWS),
            ("failed", "Task", "error", "3 failed", None),
            ("found", "Are the tests green?", "user", None, None),
        ]
    )
    refused = read("/out/calls.json?_shape=array&_search=insufficient_funds&status=error")
    assert [each["step"] for each in refused] == [7, 8, 9]


HOSTILE = "\x1b]0;gone\x07\u202e\x00\x9b31m <script> '; drop table runs; --\tx\ny"


def test_what_a_run_says_does_nothing_in_it(tmp_path: Path) -> None:
    source = MemorySource()
    did = Did(HOSTILE, tool=HOSTILE, args={HOSTILE: 1 << 80}, result=HOSTILE, agent=HOSTILE, state={HOSTILE: HOSTILE})
    source.add(
        "desk", [did, Did("b", asked=[{"role": HOSTILE, "content": HOSTILE}], answer={"role": "x", "content": 1})]
    )
    with closing(flat(source, tmp_path / "out.db")) as found:
        for (statement,) in [*found.execute("select sql from sqlite_master where sql is not null")]:
            assert "gone" not in statement
        for table in COLUMNS:
            for row in found.execute(f"select * from {table}"):
                texts = [cell for cell in row if isinstance(cell, str)]
                assert all(character.isprintable() or character in "\n\t" for cell in texts for character in cell)
        assert json.loads(found.execute("select result from calls").fetchone()[0]) == HOSTILE


def test_a_run_named_twice_is_there_once_and_half_a_character_harms_nothing(tmp_path: Path) -> None:
    source = MemorySource()
    source.add("desk", [Did("a", tool="look", result="\ud800", state={"x": "\ud800", "y": {"$type": "set", "$v": []}})])
    with closing(flat(source, tmp_path / "out.db", "desk", "desk")) as found:
        assert found.execute("select count(*) from runs").fetchone() == (1,)
        held = "select value, type from state_values where from_step = 1 order by path"
        assert found.execute(held).fetchall() == [("\\ud800", "text"), ('{"$type":"set","$v":[]}', "typed")]


def test_a_fork_beside_its_parent_has_its_own_rows_and_alone_those_before_it_too(tmp_path: Path) -> None:
    source = MemorySource()
    source.add("desk", [Did("a", state={"n": 1}), Did("b", state={"n": 2})], state={"n": 0})
    source.add("desk/fork-1", [Did("c", state={"n": 3})], parent="desk", fork_step=1)
    values = "select run, value, from_step, to_step from state_values order by run, from_step"
    steps = "select run, step from steps order by run, step"
    forks = "select run, parent_run from runs order by run"
    with closing(flat(source, tmp_path / "both.db")) as found:
        assert found.execute(steps).fetchall() == [
            ("desk", 1),
            ("desk", 2),
            ("desk/fork-1", 2),
        ]
        assert found.execute(forks).fetchall() == [
            ("desk", None),
            ("desk/fork-1", "desk"),
        ]
        own = [("desk", "0", 0, 0), ("desk", "1", 1, 1), ("desk", "2", 2, 2)]
        assert found.execute(values).fetchall() == [*own, ("desk/fork-1", "1", 1, 1), ("desk/fork-1", "3", 2, 2)]
    with closing(flat(source, tmp_path / "one.db", "desk/fork-1")) as found:
        assert found.execute("select step from steps").fetchall() == [(1,), (2,)]
        assert found.execute("select parent, parent_run from runs").fetchall() == [("desk", None)]


def test_a_conversation_that_parts_shares_what_was_before(tmp_path: Path) -> None:
    def said(role: str, content: str) -> Any:
        return {"role": role, "content": content}

    first, second = said("user", "one"), said("assistant", "two")
    source = MemorySource()
    asked = [([first], second), ([first, second, said("user", "three")], said("assistant", "four")),
             ([first, said("user", "other")], said("assistant", "five"))]  # fmt: skip
    source.add("desk", [Did("a", asked={"messages": shown}, answer=answer) for shown, answer in asked])
    with closing(flat(source, tmp_path / "out.db")) as found:
        rows = found.execute("select text, conversation, position, previous, call_id, said from messages").fetchall()
    assert rows == [
        ("one", 1, 1, None, 1, 0), ("two", 1, 2, 1, 1, 1), ("three", 1, 3, 2, 2, 0), ("four", 1, 4, 3, 2, 1),
        ("other", 2, 2, 1, 3, 0), ("five", 2, 3, 5, 3, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["atif", "claude_code", "langfuse", "pi_session"])
def test_totals_of_recorded_files_are_those_of_their_source(kind: str, tmp_path: Path) -> None:
    paths = sorted(path for path in recordings(kind).glob("*.json*") if path.stat().st_size < 1_000_000)
    if not paths:
        pytest.skip(MISSING)
    for number, path in enumerate(paths):
        with closing(open_source(path)) as source, closing(flat(source, tmp_path / f"{number}.db")) as found:
            check_totals(source, found)
