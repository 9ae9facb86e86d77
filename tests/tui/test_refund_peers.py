"""The table of who pays a refund again says what the benchmark finds, here of agent-tt and of made-up tools."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.benchmarks.refund_peers import tables, trial
from tests.benchmarks.refund_peers.bank import open_bank
from tests.benchmarks.refund_peers.tools import TOOLS, Tool, Way
from tests.patience import PATIENCE_SECONDS
from tests.tui.readme_parts import README, marked

FOUND = tables.load()


def test_agent_tt_does_what_the_table_says_of_it():
    outcomes = trial.try_tool(TOOLS[0], Path(sys.executable))
    assert tuple(outcomes) == FOUND.results[0].outcomes
    assert [(o.result, o.amounts) for o in outcomes] == [(trial.HELD, ()), (trial.HELD, ()), (trial.PAID, (90,))]


def test_the_table_names_the_tools_and_versions_that_the_benchmark_installs():
    others = [(tool.name, tool.version, tool.docs, [way.name for way in tool.ways]) for tool in TOOLS[1:]]
    assert others == [(r.name, r.version, r.docs, [o.way for o in r.outcomes]) for r in FOUND.results[1:]]
    assert all(tool.requirements[0].endswith(f"=={tool.version}") for tool in TOOLS[1:])


def test_the_readme_shows_each_tool_with_its_version_and_the_date():
    table = marked("peers").search(README.read_text(encoding="utf-8"))[0]
    assert all(table.count(f"{result.name} {result.version}") == 1 for result in FOUND.results)
    assert re.search(r"Found on \d{4}-\d\d-\d\d by `python -m tests\.benchmarks\.refund_peers`", table)


def test_markdown_is_printed_from_what_was_written():
    command = [sys.executable, "-m", "tests.benchmarks.refund_peers", "--markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout
    assert printed == tables.markdown(FOUND)


AGENT = """
import sys, desk
def agent(pay):
    desk.comes_to_the_refund()
    desk.reply(pay(desk.ORDER, desk.AMOUNT))
if sys.argv[1] == "record":
    agent(desk.refund)
"""
MADE_UP = {
    "else:\n    agent(desk.refund)": (trial.PAID, (120,)),
    "else:\n    agent(lambda order, amount: desk.said('no'))": (trial.HELD, ()),
    "else:\n    desk.comes_to_the_refund()": (trial.ENDED, ()),
    "": (trial.STOPPED, ()),
    "else:\n    desk.comes_to_the_refund()\n    sys.exit('broken')": (trial.FAILED, ()),
    "else:\n    agent(desk.refund)\n    sys.exit('broken')": (trial.PAID, (120,)),
    "    agent(desk.refund)": (trial.FAILED, ()),
}


@pytest.mark.parametrize("fork", MADE_UP)
def test_what_a_tool_does_is_what_is_said_of_it(fork, tmp_path, monkeypatch):
    (tmp_path / "desk.py").write_text((trial.AGENTS / "desk.py").read_text())
    (tmp_path / "with_made_up.py").write_text(AGENT + fork)
    monkeypatch.setattr(trial, "AGENTS", tmp_path)
    tool = Tool("made_up", "Made up", "1", "docs", (Way("fork"),))
    (outcome,) = trial.try_tool(tool, Path(sys.executable))
    assert (outcome.result, outcome.amounts) == MADE_UP[fork]


def test_a_tool_that_failed_or_was_not_installed_is_not_counted():
    failed = trial.Outcome("fork", trial.FAILED, (), "why")
    paid = trial.Outcome("fork", trial.PAID, (90,), "")
    held = trial.Outcome("fork", trial.HELD, (), "no")
    report = tables.Report(
        "2026-01-31",
        "3.11.7",
        (
            tables.Result("A", "1", "", True, (failed,)),
            tables.Result("B", "2", "", True, (), "no such version"),
            tables.Result("C", "3", "", True, (paid, held)),
            tables.Result("D", "4", "", True, (paid,)),
            tables.Result("E", "5", "", False, (held,)),
            tables.Result("F", "6", "", False, (paid,)),
        ),
    )
    rows = tables.markdown(report).splitlines()
    assert rows[2:4] == [
        "| paid again | C 3, D 4, F 6 |",
        "| not paid: they replay, and do not go on from a step | E 5 |",
    ]
    assert "not installed" in tables.details(report)


def test_a_tool_that_pip_does_not_find_is_not_installed(tmp_path):
    tool = Tool("none", "None", "1", "", (Way("fork"),), ("none==1",), python="0.0")
    with pytest.raises(trial.NotInstalledError, match=r"needs Python 0\.0"):
        trial.environment_of(tool, tmp_path)


def test_a_tried_tool_reaches_this_machine_only():
    ask = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2]))); print('reached')"
    environment = os.environ | {"PYTHONPATH": str(trial.AGENTS)}
    with open_bank() as bank:
        told = [
            subprocess.run(
                [sys.executable, "-c", ask, host, bank.port], env=environment, capture_output=True, text=True
            )
            for host in ("127.0.0.1", "192.0.2.1", "bank.example")
        ]
    assert told[0].stdout == "reached\n"
    assert all("this benchmark speaks to this machine only" in one.stderr for one in told[1:])
