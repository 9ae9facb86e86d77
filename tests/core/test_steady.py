"""A program is run twice with the same answers: each value that differs is named with its line, and no more is said."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest
from tests.fresh_source import write_source

from agent_tt.errors import Interrupted
from agent_tt.launching.command import record_command
from agent_tt.rerunning.replay import run_replay
from agent_tt.steady import SteadyRun, check_steady
from agent_tt.store import open_store

pytestmark = pytest.mark.warm

AGENT = """
import os, pathlib, random, time, uuid
import agent_tt

@agent_tt.tool(effect="write")
def say(what):
    with open("said", "a") as file:
        file.write("x")
    return {"said": what}

state = {"count": 0}
with agent_tt.record("agent", state=state) as run:
    with run.step("talk", state):
        VALUES
    with run.step("end", state):
        print("the end")
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)

    def made(*values: str) -> list[str]:
        write_source(tmp_path / "agent.py", AGENT.replace("VALUES", "\n        ".join(values)))
        return [sys.executable, "agent.py"]

    return made


def only(command, **options) -> SteadyRun:
    (run,) = check_steady(command, **options).runs
    return run


def test_each_value_that_differs_is_named_with_its_line_and_tools_ran_once(program, tmp_path):
    run = only(
        program(
            'say({"at": time.time(), "fix": 1})',
            "say(str(uuid.uuid4()))",
            "say(random.random())",
            'say("-".join({"a", "b", "c", "d", "e", "f", "g", "h"}))',
            'state["pid"] = os.getpid()',
            'say("always the same")',
        )
    )
    first = 1 + (tmp_path / "agent.py").read_text().splitlines().index('        say({"at": time.time(), "fix": 1})')
    calls = [each for each in run.differing if each.place == "call"]
    assert [(each.file, each.line, each.path) for each in calls] == [
        ("agent.py", first, "what.at"),
        ("agent.py", first + 1, "what"),
        ("agent.py", first + 2, "what"),
        ("agent.py", first + 3, "what"),
    ]
    assert [each.looks for each in calls][:3] == ["looks like an id or a time"] * 2 + [""]
    assert "PYTHONHASHSEED" in calls[3].looks
    assert [(each.place, each.path, each.step) for each in run.differing[4:]] == [("state", "pid", 1)]
    assert (run.seen, run.unknown) == ("differs", ())
    assert (tmp_path / "said").read_text() == "xxxxx"


def test_what_is_patched_is_answered_and_what_is_not_still_differs(program):
    values = ('say({"at": time.time()})', "say(str(uuid.uuid4()))", "say(random.random())")
    assert only(program(*values), patch=("clock", "random", "ids")).seen == "no difference seen"
    left = only(program(*values), patch=("clock", "ids"))
    assert [(each.name, each.path) for each in left.differing] == [("say", "what")]


def test_a_program_that_does_the_same_shows_no_difference_and_says_what_was_compared(program):
    run = only(program('say("hello")', 'state["count"] += 1'))
    assert (run.seen, run.calls, run.states, run.output) == ("no difference seen", 1, 3, True)


def test_a_file_that_changes_and_what_follows_it_is_named_once(program):
    run = only(
        program(
            'n = pathlib.Path("n"); n.write_text(str(int(n.read_text() if n.exists() else 0) + 1))',
            'state["runs"] = n.read_text()',
            "print(n.read_text())",
        )
    )
    assert [(each.place, each.path, each.then, each.now) for each in run.differing] == [
        ("state", "runs", "1", "2"),
        ("output", "line 1", "1", "2"),
    ]


def test_where_the_second_run_is_halted_what_follows_is_not_known(program):
    values = ('for _ in range(2 + pathlib.Path("there").exists()): say("x")', 'pathlib.Path("there").touch()')
    run = only(program(*values, 'state["after"] = True'))
    assert ["extra call" in each.said for each in run.differing] == [True]
    assert (run.states, run.output) == (1, False)
    assert "what follows it is not known" in run.unknown[0]


def test_a_program_that_cannot_begin_again_is_unknown_and_not_steady(program, tmp_path):
    command = program('say("x")', 'os.remove("agent.py")')
    run = only(command)
    assert run.seen == "unknown"
    assert "could not be run again" in run.unknown[0]


def test_a_program_that_was_stopped_has_no_second_run():
    with pytest.raises(Interrupted):
        check_steady([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"])


def test_runs_of_the_programs_own_keep_the_order_of_sets_and_what_was_patched(program, tmp_path):
    command = program('say("-".join({"a", "b", "c", "d", "e", "f", "g", "h"}))', "say(time.time())")
    recorded = record_command(command, store=tmp_path / "runs.db", patch=("clock",))
    with closing(open_store(tmp_path / "runs.db")) as store:
        assert run_replay(store, recorded.runs[0]).verdict == "as_recorded"


COUNTER = 'p = pathlib.Path("n"); n = int(p.read_text()) if p.exists() else 0; p.write_text(str(n + 1))'


def test_other_steps_are_a_difference_also_where_nothing_was_asked(program):
    more = only(program(COUNTER, "for _ in range(n):", '    with run.step("more", state): state["count"] += 1'))
    assert next((each.place, each.said) for each in more.differing) == (
        "step",
        "the first run took 2 steps, the second 3 steps",
    )
    assert more.seen == "differs"


def test_a_step_of_another_name_is_a_difference(program):
    run = only(program(COUNTER, 'with run.step(f"s{n}", state): pass'))
    assert [(each.place, each.said) for each in run.differing] == [
        ("step", "step 2 is s0 in the first run, s1 in the second")
    ]


def test_nothing_is_gone_with_the_seed_behind_the_place_where_a_run_was_halted(program):
    run = only(
        program(
            COUNTER,
            "def other(): return 1",
            'if n == 2: agent_tt.tool(effect="read")(other)()',
            "say(random.random())",
        )
    )
    assert [(each.name, each.looks) for each in run.differing] == [("say", "")]
