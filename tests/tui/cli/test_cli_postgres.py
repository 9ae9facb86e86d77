"""Commands on a database in PostgreSQL: what each does there, and that none shows the password."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.core.interop import graphs
from tests.postgres_server import SECRET, postgres_saver

if TYPE_CHECKING:
    from pathlib import Path

    from tests.postgres_server import TestDatabase
    from tests.tui.cli.conftest import Command, Finished


@pytest.fixture
def ask(command: Command) -> Command:
    """Run a command, which may show no password."""

    def call(*arguments: str) -> Finished:
        done = command(*arguments)
        assert SECRET not in done.out + done.err
        return done

    return call


def test_every_command_that_reads_takes_an_address(
    ask: Command, postgres: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_saver(postgres) as saver:
        graphs.react(saver)
        graphs.chain("one", "two").compile(checkpointer=saver).invoke({"log": ["in"]}, graphs.thread("other"))
    before, url = postgres.rows(), postgres.url
    assert [run["name"] for run in ask("--store", url, "runs", "--json").json] == ["other", "t"]
    monkeypatch.setenv("AGENT_TT_STORE", url)
    assert "agent      looking" in ask("show", "t").out
    assert "card declined" in ask("find", "declined", "--all").out
    assert "written at step 5" in ask("blame", "t", "messages").out
    assert ask("diff", "t@2", f"{url}:t@3").code == 1
    assert "parted at 1" in ask("compare", "t", "other").out
    assert "nothing is damaged" in ask("verify").out
    assert ask("du", url, "--json").json["free_bytes"] is None
    assert ask("open", "refund-loop").code == 3, "no sample is copied into it"
    assert ask("note", "t", "odd").code == 0
    assert "odd" in ask("show", "t").out, "the note is in the own store"
    assert "9 steps added" in ask("import", url, "--into", "threads.db").out
    assert "9 steps added" in ask("import", url).out, "what is written goes beside what is only read"
    assert postgres.rows() == before
    kept = [
        path
        for path in tmp_path.rglob("*")
        if SECRET in path.name or (path.is_file() and SECRET.encode() in path.read_bytes())
    ]
    assert not kept, "nowhere on the disk"


def test_what_would_write_says_that_it_cannot(ask: Command, postgres: TestDatabase, tmp_path: Path) -> None:
    with postgres_saver(postgres) as saver:
        graphs.react(saver)
    before, url = postgres.rows(), postgres.url
    for code, *words in (
        (2, "prune", "--keep-last", "1", "--in-place", "--yes"),
        (2, "delete", "t", "--yes"),
        (2, "import", url),
        (2, "record", "--", sys.executable, "-c", "raise SystemExit('it ran')"),
        (4, "sql", "select 1"),
    ):
        done = ask(*words, "--store", url) if words[0] != "record" else ask("record", "--store", url, *words[1:])
        assert done.code == code, words
        assert "only read" in done.err or "no views" in done.err
        assert "Traceback" not in done.err
    assert postgres.rows() == before
    assert not [*tmp_path.iterdir()]


def test_an_error_of_the_server_has_an_exit_code_and_a_hint(ask: Command, postgres: TestDatabase) -> None:
    server = postgres.url.rpartition("/")[0]
    assert ask("runs", "--store", f"{server}/nobody_made_this").code == 3
    done = ask("runs", "--store", postgres.url, "--json")
    assert (done.code, done.error["kind"]) == (4, "not_a_store")
    done = ask("runs", "--store", f"postgresql://user:{SECRET}@%2Fnowhere/x", "--json")
    assert (done.code, "cannot be reached" in done.error["message"]) == (4, True)
    assert ask("runs", "--store", f"{postgres.url}?nonsense={SECRET}").code == 2


def test_without_its_client_the_command_says_how_to_install_it(ask: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [each for each in sys.modules if each.startswith("agent_tt.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    done = ask("runs", "--store", f"postgresql://user:{SECRET}@host/x")
    assert done.code == 2
    assert "pip install 'agent-tt[postgres]'" in done.err


def test_the_list_of_a_configured_database_is_opened_and_no_empty_one(
    ask: Command, postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TT_STORE", postgres.url)
    done = ask()
    assert (done.code, "no tables of PostgresSaver" in done.err) == (4, True)
