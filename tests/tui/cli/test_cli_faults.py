"""`agent-tt sweep RUN --faults` for people and programs."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.warm


def test_a_dry_run_lists_the_faults_and_runs_nothing(command):
    shape = command("sweep", "refund-loop", "--faults", "--dry-run", "--json").json
    assert [(each["tool"], each["fault"], each["reaction"]) for each in shape["faults"]] == [
        ("search_docs", kind, None) for kind in ("nothing", "error", "cut", "stale", "foreign")
    ]
    assert [run["name"] for run in command("runs", "--json").json] == ["refund-loop"]
    assert "Nothing was run." in command("sweep", "refund-loop", "--faults", "--dry-run").out


def test_faults_are_tried_and_the_exit_code_says_the_worst(command):
    done = command("sweep", "refund-loop", "--faults", "--json")
    shape = done.json
    tried = [each for each in shape["faults"] if each["reaction"] is not None]
    assert len(tried) == shape["noticed"] + shape["passed_on"] + shape["unknown"]
    assert all(each["fork"] for each in tried)
    assert done.code == (1 if shape["passed_on"] else 2 if shape["unknown"] else 0)


@pytest.mark.parametrize(
    "arguments",
    [(), ("refund-loop", "--at", "1"), ("refund-loop", "--set", "a=1,2"), ("refund-loop", "--samples", "2")],
)
def test_what_means_nothing_beside_faults_is_refused(command, arguments):
    assert command("sweep", *arguments, "--faults").code == 2


def test_expect_without_faults_is_refused(command):
    assert command("sweep", "refund-loop", "--at", "1", "--set", "a=1,2", "--expect", "x").code == 2
