"""`agent-tt copy`: what it says, and what it refuses."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.store.recordings import begin, chat
from tests.postgres_server import SECRET

from agent_tt.store import open_store
from agent_tt.store.tables.definitions import RUNS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.postgres_server import TestDatabase
    from tests.tui.cli.conftest import Command


def test_runs_go_to_a_server_and_back(command: Command, postgres: TestDatabase, tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "here.db", create=True, durability="normal")) as store:
        first, second = chat(store, 2, "first"), chat(store, 3, "second")
    done = command("copy", "--all", "here.db", postgres.url, "--json")
    assert (done.code, done.json["copied"]) == (0, [{"run": each, "copy": each} for each in (first, second)])
    assert SECRET not in done.out + done.err
    again = command("copy", "--all", "here.db", postgres.url)
    assert (again.code, "2 runs there already" in again.out) == (0, True)
    back = command("copy", "second", postgres.url, "back.db")
    assert (back.code, "copied 1 run" in back.out) == (0, True)
    with closing(open_store(tmp_path / "back.db")) as store:
        assert store.state(second, 3)["n"] == 3


def test_a_copy_of_a_run_whose_id_is_another_ones_says_its_new_one(command: Command, tmp_path: Path) -> None:
    for name in ("here.db", "there.db"):
        with closing(open_store(tmp_path / name, create=True, durability="normal")) as store:
            chat(store, 2, name)
    with closing(open_store(tmp_path / "here.db")) as here, closing(open_store(tmp_path / "there.db")) as there:
        other = there.runs()[0].id
        with here.database.transaction() as tx:
            tx.execute("UPDATE runs SET id = ?", (other,))
            (row,) = RUNS.read(tx, "1")
            tx.execute("UPDATE runs SET proof = ?", (RUNS.proof(row[:-1]),))
    done = command("copy", "here.db", "here.db", "there.db")
    assert done.code == 0, done.err
    assert f"{other} is " in done.out


def test_what_makes_no_sense_is_said(command: Command, tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "here.db", create=True, durability="normal")) as store:
        chat(store, 1, "over")
        begin(store, {}, "running")
    for words, said in (
        (("--all", "here.db"), "from where to where"),
        (("here.db", "there.db"), "from where to where"),
        (("over", "--all", "here.db", "there.db"), "from where to where"),
        (("--all", "here.db", "./here.db"), "both the store"),
    ):
        done = command("copy", *words)
        assert (done.code, said in done.err) == (2, True), words
    assert command("copy", "running", "here.db", "there.db").code == 1
    assert "left out, as they still run: running" in command("copy", "--all", "here.db", "there.db").out
    assert command("copy", "nobody", "here.db", "there.db").code == 3
