"""A store in PostgreSQL at the command line: the samples are recorded, replayed, forked, compared and kept as tests."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.core.interop import graphs
from tests.postgres_server import SECRET, postgres_saver

from agent_tt import samples
from agent_tt.addresses import Address
from agent_tt.sources import open_source
from agent_tt_tui.cli.options import StorePath

if TYPE_CHECKING:
    from tests.postgres_server import TestDatabase
    from tests.tui.cli.conftest import Command, Finished

pytestmark = pytest.mark.warm

SAMPLE_RUNS = Path(__file__).resolve().parents[3] / "sample_runs"
SHORT = {"long-haul": ("12",)}
"""Arguments of samples that would else take very many steps."""

AGENT = """
import agent_tt

@agent_tt.tool
def search(word):
    return {"hits": [word, word * 2]}

def main(state=None):
    state = state or {"n": 0, "log": []}
    with agent_tt.record("walk", state=state) as run:
        while state["n"] < 4:
            with run.step("think", state=state):
                state["log"].append(search(str(state["n"])))
                state["n"] += 1

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def ask(command: Command, postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command on the database, which may show no password."""
    monkeypatch.setenv("AGENT_TT_STORE", postgres.url)

    def call(*arguments: str) -> Finished:
        done = command(*arguments)
        assert SECRET not in done.out + done.err
        return done

    return call


def recorded(sample: samples.Sample, url: str) -> str:
    """Run a sample's agent in a process of its own, as its user does; give the id of its run."""
    command = [sys.executable, sample.file, *SHORT.get(sample.name, ())]
    done = subprocess.run(command, cwd=SAMPLE_RUNS, env=os.environ, check=False, capture_output=True, text=True)
    with closing(open_source(url)) as source:
        (run,) = source.runs()
        assert run.steps == (12 if sample.any_length else sample.steps), done.stderr
        assert source.verify() == []
    return run.id


@pytest.mark.parametrize("sample", samples.names(), ids=lambda each: each.name)
def test_a_sample_is_recorded_replayed_forked_compared_and_kept_as_a_test_on_a_server(
    ask: Command, postgres: TestDatabase, sample: samples.Sample
) -> None:
    run = recorded(sample, postgres.url)
    replayed = ask("replay", run, "--json")
    assert replayed.code == 0, replayed.err
    assert replayed.json["verdict"] == "as_recorded", "that the store is on a server is no reservation"
    fork = ask("fork", run, "--at", "1", "--name", "other way")
    assert "other way" in fork.out
    assert ask("compare", run, "other way", "--json").code in (0, 1)
    assert ask("golden", "save", run, "--name", "kept").code == 0
    assert ask("test").code == 0
    assert "nothing is damaged" in ask("verify").out
    assert {each["name"] for each in ask("runs", "--json").json} == {sample.name, "other way"}


def test_every_command_that_keeps_order_works_on_a_server(ask: Command, postgres: TestDatabase) -> None:
    done = ask("runs")
    assert (done.code, "nothing was recorded into" in done.err) == (4, True)
    assert postgres.query("SELECT 1 FROM pg_namespace WHERE nspname = 'agent_tt'") == [], "looking makes nothing"
    Path("agent.py").write_text(AGENT)
    assert ask("record", "--", sys.executable, "agent.py").code == 0
    assert "4 steps" in ask("show", "walk").out
    assert ask("diff", "walk@1", "walk@3").code == 1
    assert "written at step 2" in ask("blame", "walk", "log[1]").out
    assert "hits" in ask("find", "hits", "--all").out
    assert "100 %" in ask("stats").out
    assert (
        ask("sql", "select step, state(run, step, 'n') n from steps where step = 3", "--format", "nl").json["step"] == 3
    )
    assert ask("note", "walk@2", "odd").code == 0
    assert ask("tag", "walk", "red").code == 0
    assert ask("rename", "walk", "talk").code == 0
    assert ask("pin", "talk").code == 0
    (run,) = ask("runs", "--json").json
    assert (run["name"], run["tags"]) == ("talk", ["red"])
    assert "states" in ask("du").out
    assert ask("delete", "talk", "--yes").code == 1, "it is pinned"
    assert ask("unpin", "talk").code == 0
    fork = ask("fork", "talk", "--at", "2", "--set", "n=3", "--allow", "search")
    assert "succeeded" in fork.out, fork.out + fork.err
    dropped = ask("drop", "talk@1", "--yes", "--json").json
    assert (dropped["steps"], dropped["clean"], "backups" in dropped["left"]) == ([1], True, True)
    redacted = ask("redact", "talk", "--profile", "personal", "--yes")
    assert (redacted.code, "The tables hold none of it" in redacted.out) == (0, True), redacted.err
    assert ask("prune", "--max-size", "1KB", "--yes").code == 0
    assert ask("runs", "--json").json == []


def test_an_address_as_it_is_shown_is_that_of_the_environment(
    ask: Command, postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("agent.py").write_text(AGENT)
    assert ask("record", "--", sys.executable, "agent.py").code == 0
    shown = str(Address.of(postgres.url))
    assert "***" in shown
    assert "4 steps" in ask("show", "walk", "--store", shown).out
    assert ask("diff", "walk@1", f"{shown}:walk@1").code == 0
    monkeypatch.setenv("AGENT_TT_STORE", postgres.url.replace(SECRET, "another-4711"))
    assert StorePath().convert(shown, None, None).url.count("another-4711") == 1
    monkeypatch.delenv("AGENT_TT_STORE")
    assert StorePath().convert(shown, None, None).url == shown


def test_of_a_database_with_both_our_tables_are_used_and_langgraphs_are_named(
    ask: Command, postgres: TestDatabase
) -> None:
    with postgres_saver(postgres) as saver:
        graphs.react(saver)
    before = postgres.rows()
    Path("agent.py").write_text(AGENT)
    assert [run["name"] for run in ask("runs", "--json").json] == ["t"], "the database has LangGraph's alone"
    refused = ask("record", "--store", postgres.url, "--", sys.executable, "agent.py")
    assert (refused.code, "CREATE SCHEMA agent_tt" in refused.err) == (2, True)
    postgres.execute("CREATE SCHEMA agent_tt")
    assert ask("record", "--", sys.executable, "agent.py").code == 0
    assert [run["name"] for run in ask("runs", "--json").json] == ["walk"]
    theirs = postgres.url.replace("postgresql://", "postgresql+langgraph://")
    assert [run["name"] for run in ask("runs", "--json", "--store", theirs).json] == ["t"]
    assert postgres.rows() == before
