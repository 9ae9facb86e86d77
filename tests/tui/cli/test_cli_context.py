"""`agent-tt context`: what models were sent, for people and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent_tt.errors import UsageError
from agent_tt_tui.cli.root import root

ROOT = Path(__file__).parents[3]
SAMPLES = str(ROOT / "sample_runs" / "runs.db")
PAGE = (ROOT / "docs" / "context.md").read_text(encoding="utf-8")


def run(*command: str) -> str:
    done = CliRunner(env={"COLUMNS": "100", "LC_ALL": "C.UTF-8"}).invoke(
        root, ["--store", SAMPLES, "context", *command]
    )
    assert done.exit_code == 0, done.output
    return done.output


def test_the_example_of_the_page_is_what_the_command_says():
    (shown,) = re.findall(r"<!-- context: a test compares -->\n```\n(.*?)```\n<!-- end -->", PAGE, re.DOTALL)
    assert run("refund-loop", "3") == shown


def test_a_run_lists_its_model_calls_with_their_sizes():
    rows = run("refund-loop").splitlines()
    assert rows[0].split() == ["refund-loop", "21", "model", "calls"]
    assert len(rows) == 23
    assert rows[-1].split()[:3] == ["21", "rules-1", "1,727"]


def test_json_has_every_tile_and_they_partition_each_item():
    found = json.loads(run("flaky-checkout", "8", "--json"))
    assert sum(share["tokens"] for share in found["shares"]) == found["tokens"]
    for item in found["items"]:
        assert "".join(item["text"][tile["start"] : tile["end"]] for tile in item["tiles"]) == item["text"]
    assert found["items"][3]["tiles"][0]["from"] == [
        {"kind": "result", "step": 1, "call": 2, "name": "load_cart", "first": False}
    ]
    whole = json.loads(run("flaky-checkout", "--json"))
    assert [call["step"] for call in whole["calls"]] == list(range(1, 11))


def test_a_call_without_its_step_is_refused():
    done = CliRunner().invoke(root, ["--store", SAMPLES, "context", "refund-loop", "--call", "2"])
    assert isinstance(done.exception, UsageError)
    assert "context refund-loop STEP --call 2" in done.exception.hint


@pytest.mark.parametrize(
    ("place", "says"), [(("refund-loop", "0"), "asked no model"), (("no-such-run",), "no-such-run")]
)
def test_what_is_not_there_is_said_with_what_is(place, says):
    done = CliRunner().invoke(root, ["--store", SAMPLES, "context", *place])
    assert done.exit_code != 0
    assert says in str(done.exception)


def test_a_call_is_compared_with_any_other():
    shown = run("refund-loop", "5", "--against", "3")
    assert "+151 -0 against step 3" in shown
    rows = [row for row in shown.splitlines() if row.startswith("+")]
    assert len(rows) == 6
    found = json.loads(run("refund-loop", "3", "--against", "5#1", "--json"))
    assert found["before"] == {"step": 5, "call": 1}
    assert len(found["cuts"]) == 6
    assert "6 items of step 5 that step 3 lacks" in run("refund-loop", "3", "--against", "5")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("refund-loop", "--against", "3"), "--against is of one step"),
        (("refund-loop", "5", "--against", "3#x"), "is not STEP or STEP#CALL"),
        (("refund-loop", "5", "--against", "99"), "there is no step 99"),
        (("refund-loop", "5", "--against", "0"), "asked no model"),
        (("refund-loop", "5", "--against", "3#9"), "it has no call 9"),
    ],
)
def test_what_cannot_be_compared_with_is_refused(words, says):
    done = CliRunner().invoke(root, ["--store", SAMPLES, "context", *words])
    assert says in str(done.exception)
