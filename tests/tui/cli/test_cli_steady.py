"""`agent-tt steady` says on standard error what differs, and fails only where it is to."""

from __future__ import annotations

import json
import sys

import pytest

pytestmark = pytest.mark.warm

SAME = (sys.executable, "-c", "print('the same')")
OTHER = (sys.executable, "-c", "import os; print(os.getpid())")


def test_a_steady_program_is_said_to_show_no_difference_in_two_runs(command):
    done = command("steady", "--fail", "--", *SAME)
    err = done.err
    assert done.code == 0
    assert "no difference seen in 2 runs" in err
    assert "is not seen" in err
    assert "deterministic" not in err


def test_a_difference_fails_only_where_it_is_to(command):
    assert command("steady", "--", *OTHER).code == 0
    done = command("steady", "--fail", "--json", "--", *OTHER)
    shape = json.loads(done.err.splitlines()[-1])
    assert (done.code, shape["seen"]) == (1, "differs")
    assert shape["runs"][0]["differing"][0]["place"] == "output"


def test_the_end_of_the_program_is_told_and_is_not_ours(command):
    done = command("steady", "--fail", "--", sys.executable, "-c", "print(1); raise SystemExit(3)")
    assert done.code == 0
    assert "exit code 3" in done.err


def test_a_program_that_is_not_there_is_named(command):
    done = command("steady", "no-such-program-here")
    assert done.code == 3
    assert "no-such-program-here" in done.err
