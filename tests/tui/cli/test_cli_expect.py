"""`fork --expect`: what was hoped is kept with the fork, and everywhere the same is said of it."""

from __future__ import annotations

import pytest

import agent_tt

pytestmark = pytest.mark.warm


def test_a_fork_says_whether_what_was_hoped_came_and_so_do_runs_show_and_compare(command):
    arguments = ("fork", "refund-loop", "--at", "1", "--agent", "refund_loop.py:main_v2", "--expect")
    done = command(*arguments, "attempts <= 1", "--json")
    hoped = {"expression": "attempts <= 1", "came": True, "why": None}
    assert (done.code, done.json["expect"]) == (0, hoped)
    assert done.json["metadata"]["fork_expect"] == "attempts <= 1"
    other = command(*arguments, "attempts > 1")
    assert other.code == 1
    assert "✗ did not come: attempts > 1" in other.out
    measured = command("fork", "refund-loop", "--at", "1", "--agent", "refund_loop.py:main_v2", "--expect", "ms < 1e9")
    assert measured.code == 0
    assert [run.get("expect", {}).get("came") for run in command("runs", "--json").json] == [True, False, True, None]
    assert "HOPED FOR" in command("runs").out
    assert "✓ came: attempts <= 1" in command("show", "refund-loop/fork-1").out
    assert command("show", "refund-loop/fork-1", "--json").json["expect"] == hoped
    compared = command("compare", "refund-loop", "refund-loop/fork-2", "--json").json
    assert "expect_a" not in compared
    assert compared["expect_b"]["came"] is False
    assert "✗ did not come" in command("compare", "refund-loop", "refund-loop/fork-2").out


def test_an_expectation_that_cannot_be_read_starts_nothing(command):
    done = command("fork", "refund-loop", "--at", "1", "--expect", "attempts <", "--json")
    assert (done.code, done.out) == (2, "")
    assert "attempts <" in done.error["message"]
    assert [run["name"] for run in command("runs", "--json").json] == ["refund-loop"]


def test_a_dry_run_says_what_is_hoped_for_and_a_fork_of_the_fork_hopes_nothing(command):
    plan = command("fork", "refund-loop", "--at", "1", "--expect", "attempts < 9", "--dry-run", "--json").json
    assert plan["expect"] == "attempts < 9"
    handle = agent_tt.fork("refund-loop", 1, agent="refund_loop.py:main_v2", expect="cost < 1")
    hoped = handle.hoped()
    assert hoped is not None
    assert hoped.text == "cost < 1"
    again = agent_tt.fork(handle.result().name, 1, agent="refund_loop.py:main_v2")
    assert again.hoped() is None
