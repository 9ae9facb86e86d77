"""`agent-tt show RUN STEP`: which steps fed it, and which it fed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent_tt.context import reading
from agent_tt.context.causes import Causes, Fed, StepCauses
from agent_tt.errors import StoreUnreadable, UsageError
from agent_tt_tui.cli.looking import show as module
from agent_tt_tui.cli.root import root
from agent_tt_tui.viewmodel.debugger.causes import fed_words

ROOT = Path(__file__).parents[3]
SAMPLES = str(ROOT / "sample_runs" / "runs.db")
PAGE = (ROOT / "docs" / "context.md").read_text(encoding="utf-8")


def run(*command: str) -> str:
    done = CliRunner(env={"COLUMNS": "100", "LC_ALL": "C.UTF-8"}).invoke(root, ["--store", SAMPLES, "show", *command])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("step", "sources", "fed"),
    [
        ("2", "–", "→ 3–6, 10–13"),
        ("7", "← 6  ←~ 3", "→~ 12"),
        ("12", "← 2  ←~ 3, 7, 9", "–"),
        ("0", "–", "→~ 1, 14, 15"),
    ],
)
def test_a_step_says_what_fed_it_and_what_it_fed(step, sources, fed):
    lines = run("research-team", step).splitlines()
    assert f"fed by  {sources}" in lines
    assert f"fed     {fed}" in lines


def test_the_example_of_the_page_is_what_the_command_says():
    (shown,) = re.findall(r"<!-- links: a test compares -->\n```\n(.*?)```\n<!-- end -->", PAGE, re.DOTALL)
    assert shown in run("research-team", "7")


def test_what_is_wrong_elsewhere_in_the_run_does_not_hide_the_step(monkeypatch):
    def unreadable(*_args: object, **_names: object) -> None:
        raise StoreUnreadable("step 9 is damaged", hint="")

    monkeypatch.setattr(reading, "read_contexts", unreadable)
    shown = run("research-team", "7")
    assert "fed by  –  not all of the run can be read: step 9 is damaged" in shown
    assert "STATE" in shown


def test_json_has_each_link_and_how_it_is_known():
    links = json.loads(run("research-team", "7", "--json"))["links"]
    assert (links["from"]["recorded"], links["from"]["inferred"], links["to"]["inferred"]) == ([6], [3], [12])
    assert links["from"]["joins"] == [
        {"step": 3, "call": 2, "fed": 7, "fed_call": 1, "kind": "argument", "recorded": False, "one_of": 1},
        {"step": 6, "call": None, "fed": 7, "fed_call": None, "kind": "nested", "recorded": True, "one_of": 1},
    ]


def test_a_long_run_is_looked_at_only_when_that_is_asked_for(monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 3)
    assert "fed by  –  not looked for in a run of 15 steps; --links does" in run("research-team", "7")
    assert json.loads(run("research-team", "7", "--json"))["links"] is None
    assert "fed by  ← 6  ←~ 3" in run("research-team", "7", "--links")


def test_many_steps_take_several_rows_and_none_is_cut(monkeypatch):
    many = StepCauses(Fed(tuple(range(0, 200, 2)), (1,)), Fed())
    monkeypatch.setattr(Causes, "of", lambda _self, _step: many)
    rows = run("research-team", "7").splitlines()
    at = next(number for number, row in enumerate(rows) if row.startswith("fed by"))
    until = next(number for number, row in enumerate(rows) if row.startswith("fed     "))
    said = " ".join(row[8:] for row in rows[at:until])
    assert until - at > 3
    assert max(map(len, rows[at:until])) <= 100
    assert said.split() == fed_words(many.sources, ("←", "←~"), "–").split()


@pytest.mark.parametrize("words", [("--links",), ("7", "--links", "--oddities")])
def test_links_are_those_of_one_step(words):
    done = CliRunner().invoke(root, ["--store", SAMPLES, "show", "research-team", *words])
    assert isinstance(done.exception, UsageError)


def test_one_of_several_is_never_said_to_be_the_one():
    fed = Fed((1, 2, 3, 7), (0,), (4, 5, 6, 9))
    assert fed_words(fed, ("←", "←~"), "–") == "← 1–3, 7  ←~ 0, 4–6?, 9?"
    assert fed_words(Fed(), ("←", "←~"), "–") == "–"
