"""`agent-tt sql` as people and programs read it, and docs/sql.md, whose examples run."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.core.interop.support import database_of
from tests.patience import PATIENCE_SECONDS
from tests.tui.cli.conftest import HOSTILE
from tests.tui.readme_parts import DOCS, with_tables

import agent_tt
from agent_tt.store.views import VIEWS

if TYPE_CHECKING:
    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"
TEXT = (DOCS / "sql.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^agent-tt (sql .*)$", TEXT, re.MULTILINE)


@pytest.fixture
def store(tmp_path: Path, command: Command) -> Path:
    """A store of the samples."""
    del command  # it is asked for because it sets up the folder
    path = tmp_path / "runs.db"
    shutil.copy(SAMPLES, path)
    return path


def test_a_table_is_for_people(command: Command, store: Path) -> None:
    query = "select name, status, steps from runs order by name"
    done = command("sql", query, "--store", str(store))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "name            status     steps",
        "flaky-checkout  succeeded     10",
        "refund-loop     failed        21",
        "research-team   succeeded     15",
        "trip-planner    succeeded     11",
    ]
    assert command("sql", "select 1 where 0", "--store", str(store)).out == "no rows\n"


def test_programs_get_csv_lines_or_a_list(command: Command, store: Path) -> None:
    query = (
        "select step, name, null as no_value, x'00ff' as raw, 9e999 as much from steps where run_name = 'refund-loop'"
    )
    expected = {"step": 1, "name": "search", "no_value": None, "raw": {"$type": "bytes", "$v": "AP8="}}
    expected["much"] = {"$type": "float", "$v": "inf"}
    where = ("--store", str(store))
    for shape in (("--json",), ("--format", "json")):
        rows = command("sql", query, *shape, *where).json
        assert (len(rows), {**rows[0], "name": "search"}) == (21, expected)
    lines = command("sql", query, "--format", "nl", *where).out.splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = list(csv.DictReader(io.StringIO(command("sql", query, "--format", "csv", *where).out)))
    assert [(row["step"], row["no_value"]) for row in table] == [(str(row["step"]), "") for row in rows]
    for shape, empty in (("json", "[]\n"), ("nl", ""), ("csv", "")):
        assert command("sql", "select 1 where 0", "--format", shape, *where).out == empty


def test_the_columns_of_a_long_table_grow_and_no_number_is_cut(command: Command, store: Path) -> None:
    query = "with recursive r(x) as (values (1) union all select x + 1 from r limit 12000) select x, 'y' y from r"
    lines = command("sql", query, "--store", str(store)).out.splitlines()
    assert [line.split() for line in lines[1:]] == [[str(number), "y"] for number in range(1, 12_001)]


@pytest.mark.parametrize("layout", ["table", "csv", "nl", "json"])
def test_what_an_agent_wrote_is_text(command: Command, tmp_path: Path, layout: str) -> None:
    path = tmp_path / "runs.db"
    with agent_tt.record(HOSTILE, state={}, store=path) as run, run.step(HOSTILE, {"a": HOSTILE}):
        pass
    done = command("sql", "select name, state(run, step) s from steps", "--format", layout, "--store", str(path))
    assert done.code == 0
    assert not set(done.out) & {"\x1b", "\u202e", "\r"}
    if layout == "nl":
        assert json.loads(done.out)["name"] == HOSTILE


def test_parameters_are_numbers_or_text(command: Command, store: Path) -> None:
    query = "select typeof(:a) a, typeof(:b) b, typeof(:c) c, typeof(:d) d, :e e, :f f"
    given = ["a=7", "b=0.5", "c=refund-loop", "d=null", 'e="7"', 'f={"x": [1]}']
    done = command("sql", query, *(part for one in given for part in ("-p", one)), "--json", "--store", str(store))
    assert done.json == [{"a": "integer", "b": "real", "c": "text", "d": "null", "e": "7", "f": '{"x": [1]}'}]
    assert command("sql", "select :x", "-p", "x", "--store", str(store)).code == 2
    assert command("sql", "-p", "x=1", "--store", str(store)).code == 2
    missing = command("sql", "select :x", "--store", str(store))
    assert (missing.code, ":x has no value: give it with -p" in missing.err) == (2, True)


def test_without_a_query_the_views_and_their_columns_are_listed(command: Command) -> None:
    out = command("sql").out
    for view in VIEWS:
        assert f"{view.name}  {view.what}" in out
        assert all(re.search(rf"^  {column.name}\b", out, re.MULTILINE) for column in view.columns)
    assert "state(run, step, path)" in out
    assert [view["view"] for view in command("sql", "--json").json] == [view.name for view in VIEWS]
    rows = list(csv.DictReader(io.StringIO(command("sql", "--format", "csv").out)))
    assert [(row["view"], row["column"]) for row in rows] == [(v.name, c.name) for v in VIEWS for c in v.columns]


@pytest.mark.parametrize(
    ("query", "code", "kind"),
    [
        ("delete from runs", 2, "read_only"),
        ("attach 'x' as y", 2, "read_only"),
        ("pragma user_version = 3", 2, "read_only"),
        ("select nothing from runs", 2, "usage"),
    ],
)
def test_what_is_no_query_is_refused(command: Command, store: Path, query: str, code: int, kind: str) -> None:
    before = store.read_bytes()
    done = command("sql", query, "--json", "--store", str(store))
    assert (done.code, done.error["kind"]) == (code, kind)
    assert store.read_bytes() == before


def test_what_is_damaged_is_not_in_the_answer_and_is_told(command: Command, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE steps SET tokens_out = 1 WHERE step IN (1, 2)")
    done = command("sql", "select count(*) n from steps", "--json", "--store", str(store))
    assert (done.code, done.json) == (0, [{"n": 57 - 8}])
    assert "left out, because it is not what was recorded: row" in done.err
    assert "and 5 more" in done.err
    assert "agent-tt verify" in done.err


def test_other_files_have_no_such_views(command: Command, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE t(a)")
    assert command("sql", "select 1", "--store", str(tmp_path / "other.db")).code == 4
    refused = command("sql", "select 1", "--store", str(database_of("react", tmp_path)))
    assert (refused.code, "has no views to ask" in refused.err) == (4, True)
    assert command("sql", "select 1", "--store", str(tmp_path / "none.db")).code == 3


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
@pytest.mark.parametrize(
    "query",
    [
        "with recursive r(x) as (values (1) union all select x + 1 from r) select max(x) from r",
        "select max(length(a.args) + length(b.args)) from calls a, calls b, calls c, calls d, calls e",
    ],
)
def test_a_query_that_takes_too_long_ends_at_ctrl_c(store: Path, query: str) -> None:
    """The first row comes before the endless part begins: then it is under way."""
    script = (
        "import sys; from agent_tt.store.sql import Queries\n"
        "rows = Queries.rows\n"
        "def said(self, *given):\n    print('asked', flush=True)\n    yield from rows(self, *given)\n"
        "Queries.rows = said\n"
        "from agent_tt_tui.cli.root import run; sys.exit(run(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, "sql", query, "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, "interrupted" in err, "Traceback" in err) == (130, "", True, False)


def test_the_tables_of_views_are_made_from_the_code() -> None:
    assert with_tables(TEXT) == TEXT, "run: python -m tests.tui.readme_parts"


@pytest.mark.parametrize("line", EXAMPLES)
def test_the_examples_of_the_page_give_rows(command: Command, store: Path, line: str) -> None:
    done = command(*shlex.split(line), "--store", str(store))
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) > 1


def test_the_example_in_python_runs(store: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=store.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("refund-loop 21\nleft out: set()\n", "")
    assert EXAMPLES
