"""`agent-tt show RUN A..B`: a range of steps alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

from click.testing import CliRunner

from agent_tt.comparing.steps.effects import Effects
from agent_tt.errors import UsageError
from agent_tt.model.usage import Usage
from agent_tt.querying.ranges import StepRange
from agent_tt_tui.cli.root import root
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.past.ranges import range_facts

ROOT = Path(__file__).parents[3]
SAMPLES = str(ROOT / "sample_runs" / "runs.db")
PAGE = (ROOT / "docs" / "ask.md").read_text(encoding="utf-8")


def run(*command: str) -> str:
    done = CliRunner(env={"COLUMNS": "100", "LC_ALL": "C.UTF-8"}).invoke(root, ["--store", SAMPLES, *command])
    assert done.exit_code in (0, 1), done.output
    return done.output


def test_the_example_of_the_page_is_what_the_command_says():
    (shown,) = re.findall(r"<!-- range: a test compares -->\n```\n(.*?)```\n<!-- end -->", PAGE, re.DOTALL)
    assert run("show", "flaky-checkout", "7..9") == shown


def test_the_changes_are_those_of_diff_between_the_state_before_and_the_last():
    changes = json.loads(run("show", "flaky-checkout", "3..6", "--json"))["changes"]
    assert changes == json.loads(run("diff", "flaky-checkout@2", "6", "--json"))["changes"]


def test_json_says_what_the_range_alone_took():
    found = json.loads(run("show", "flaky-checkout@7..9", "--json"))
    steps = [json.loads(run("show", "flaky-checkout", str(step), "--json")) for step in (7, 8, 9)]
    assert found["tokens_in"] == sum(step["tokens_in"] for step in steps)
    assert (found["first"], found["last"], found["base"], found["errors"]) == (7, 9, 6, 3)
    assert [row["happened"] for row in found["effects"]] == ["failed"] * 3


def test_a_range_takes_no_option_of_a_step_or_a_run():
    for option in ("--effects", "--oddities", "--pending", "--links"):
        done = CliRunner().invoke(root, ["--store", SAMPLES, "show", "refund-loop", "3..7", option])
        assert isinstance(done.exception, UsageError), option


def test_unknown_is_a_dash_and_a_part_is_the_least():
    nothing = StepRange(1, 2, 0, 2, 0, Usage(), 2, None, Effects())
    assert range_facts(nothing, UNICODE) == ["2 steps", "– took", "– tok", "– cost"]
    part = StepRange(1, 2, 0, 2, 1, Usage(900, 100, 0.5, 1), 1, 45_000, Effects())
    assert range_facts(part, UNICODE) == ["2 steps", "1 error", "45 ms", "at least 1,000 tok", "at least $0.50"]
