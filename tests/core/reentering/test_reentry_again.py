"""What is re-entered more than once, by other programs, or not at all."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.reentering.support import LOOP, PRELUDE, Project

from agent_tt.errors import CannotReenter, InvalidEdit, InvalidEntryPoint, UsageError
from agent_tt.forking.editing.call_edits import parse_call_edit
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.replaying.tape.siblings import siblings_of

if TYPE_CHECKING:
    from agent_tt.model import Run

pytestmark = pytest.mark.warm

OTHER = LOOP.replace("found = price(n)", "found = price(n if n != 3 else 13)")


def lane_numbers(project: Project, run: Run) -> list[int]:
    return [call.lane_seq for call in project.calls(run, own=False) if "inside" not in call.meta]


def test_what_is_asked_after_an_edited_call_is_numbered_after_it(project: Project):
    project.record(
        LOOP.replace("found = price(n)", "found = price(n)\n            found['twice'] = price(100 + n)['euros']")
    )
    fork = project.forked("shop", results={"2.2.euros": 1})
    again = project.forked(fork.id, results={"3.2.euros": 1})
    for run in (fork, again):
        numbers = lane_numbers(project, run)
        assert numbers == sorted(set(numbers))
    project.check_replay(again)


def test_a_fork_whose_agent_never_ran_is_no_run_of_the_recorded_process(project: Project):
    run = project.record(LOOP)
    project.write("raise RuntimeError('broken')")
    fork = project.forked("shop", 3)
    assert (fork.status, fork.error is not None and fork.error.short) == ("failed", "RuntimeError: broken")
    with closing(project.store) as store:
        assert siblings_of(store, run) == {}


def test_another_script_runs_in_place_of_the_recorded_one(project: Project):
    project.record(LOOP)
    project.write(OTHER, "other.py")
    before = project.done()
    handle = project.fork("shop", 5, agent="other.py:__main__")
    with pytest.raises(CannotReenter, match=r"step 3 no longer asks what was recorded .* at other\.py:"):
        handle.result()
    assert project.done() == before
    fork = project.forked("shop", 5, agent="other.py:__main__", accept_changes=True)
    assert (fork.status, fork.fork_step, fork.code.entry) == ("succeeded", 2, "other.py:__main__")
    assert project.done()[len(before)] == "price-13"
    assert {call.meta["file"] for call in project.calls(fork)} == {"other.py"}


def test_a_function_of_a_script_that_runs_when_it_is_imported_is_refused_before_it_does_anything(project: Project):
    project.record(LOOP)
    project.write(OTHER + "\n\ndef main():\n    pass\n", "other.py")
    before = project.done()
    handle = project.fork("shop", 2, agent="other.py:main")
    with pytest.raises(InvalidEntryPoint, match="as soon as it is imported"):
        handle.result()
    assert project.done() == before


def test_only_the_first_of_a_scripts_runs_is_re_entered(project: Project):
    source = PRELUDE + (
        "for n in range(2):\n"
        "    with agent_tt.record('each', state={}) as run:\n"
        "        with run.step('look'):\n"
        "            price(n)\n"
    )
    second = project.record(source)
    with closing(project.store) as store:
        first = store.run("each~1")
        assert plan_fork(store, first, ForkRequest(1)).by == "replay"
        with pytest.raises(UsageError, match=r"each is run 2 of those that .* recorded one after another"):
            plan_fork(store, second, ForkRequest(1))


def test_a_call_inside_another_one_is_not_edited_because_the_outer_answers_for_it(project: Project):
    source = PRELUDE + (
        "@agent_tt.tool(effect='read')\n"
        "def twice(n):\n"
        "    return price(n)['euros'] * 2\n\n"
        "with agent_tt.record('nested', state={}) as run:\n"
        "    with run.step('look'):\n"
        "        twice(1)\n"
    )
    run = project.record(source)
    with closing(project.store) as store:
        with pytest.raises(InvalidEdit, match=r"price \(call 2 of step 1 look\) was called inside another call") as why:
            plan_fork(store, run, ForkRequest(edits=[parse_call_edit("1.2=1", "result")]))
        assert why.value.hint == "edit that one: --result 1.1=VALUE"
        assert plan_fork(store, run, ForkRequest(edits=[parse_call_edit("1=1", "result")])).edits[0].call == 1


def test_a_step_in_which_the_agent_was_stopped_goes_on_with_what_it_was_about_to_do(project: Project):
    source = PRELUDE + (
        "import pathlib\n"
        "state = {'seen': []}\n"
        "try:\n"
        "    with agent_tt.record('stopped', state=state) as run:\n"
        "        for n in range(1, 4):\n"
        "            with run.step('look', state):\n"
        "                state['seen'].append(price(n))\n"
        "                if n == 2 and not pathlib.Path('again').exists():\n"
        "                    raise KeyboardInterrupt\n"
        "                state['seen'].append(price(100 + n))\n"
        "except KeyboardInterrupt:\n"
        "    pathlib.Path('again').touch()\n"
    )
    run = project.record(source)
    assert run.status == "interrupted"
    before = project.done()
    fork = project.forked("stopped", 2)
    assert fork.status == "succeeded"
    assert project.done()[len(before) :] == ["price-102", "price-3", "price-103"]
    assert len(project.state(fork)["seen"]) == 6  # type: ignore[arg-type, index, call-overload]
