"""`agent-tt test --recorded`: a table of who is better, equal, worse, for people and for programs."""

from __future__ import annotations

import pytest

from agent_tt.suite.running import Suite

pytestmark = pytest.mark.warm

FIXED = ("test", "--recorded", "refund-loop", "--fork", "--agent", "refund_loop.py:main_v2")


def test_a_fix_is_tried_on_recorded_runs(command):
    done = command(*FIXED, "--expect", "attempts <= 1", "--json")
    (row,) = done.json["runs"]
    assert (done.code, done.json["mode"], done.json["better"], row["verdict"]) == (0, "fork", 1, "better")
    assert (row["then"]["expect"]["came"], row["now"]["expect"]["came"]) == (False, True)
    assert done.json["answers"][0]["letter"] == "a"
    shown = command(*FIXED).out
    assert "✓ better" in shown
    assert "failed → succeeded" in shown
    assert "1 better; forked, for real" in shown


def test_a_replay_of_what_was_not_recorded_is_unknown_and_of_the_same_code_equal(command):
    assert command("test", "--recorded", "refund-loop").code == 0
    changed = command("test", "--recorded", "refund-loop", "--agent", "refund_loop.py:main_v2")
    assert changed.code == 2
    assert "asks what was not recorded" in changed.out


def test_ctrl_c_says_what_came_so_far(command, monkeypatch):
    whole = Suite.results

    def stopped(suite):
        yield from whole(suite)
        raise KeyboardInterrupt

    monkeypatch.setattr(Suite, "results", stopped)
    done = command("test", "--recorded", "refund-loop")
    assert done.code == 130
    assert "≡ equal" in done.out
    assert "1 of 1 run" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("test", "--expect", "paid"),
        ("test", "--fork"),
        ("test", "--allow", "x"),
        ("test", "--recorded", "--agent", "a.py:main"),
        ("test", "--recorded", "--policy", "x=live"),
        ("test", "--recorded", "refund-loop", "--expect", "paid =="),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_runs(command, monkeypatch, arguments):
    monkeypatch.setattr(Suite, "results", lambda _: pytest.fail("it ran"))
    assert command(*arguments).code == 2
