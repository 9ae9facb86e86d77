"""Agents that cannot be handed a state run from their beginning, are given what was recorded, and go on changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing

import pytest
from tests.core.reentering.support import LOOP, PRELUDE, Project
from tests.patience import PATIENCE_SECONDS

from agent_tt.comparing.steps.effects import effects_between
from agent_tt.errors import CannotReenter, InvalidEdit, StepNotFound, UsageError
from agent_tt.forking.editing.call_edits import parse_call_edit
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest

pytestmark = pytest.mark.warm

EIGHT = [f"price-{n}" for n in range(1, 9)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The loop, recorded once; tests fork it, and count what is done from then on."""
    made = Project(tmp_path_factory.mktemp("shop"))
    made.record(LOOP)
    assert made.done() == EIGHT
    return made


def test_a_result_that_was_edited_at_step_6_lets_a_script_end_otherwise(shop: Project):
    before = shop.done()
    fork = shop.forked("shop", results={"6": {"n": 6, "euros": -100}})
    assert (fork.status, fork.fork_step, fork.way_back_in) == ("succeeded", 5, "replay")
    # the first five, and the edited one, were not asked for again
    assert shop.done() == [*before, *(f"price-{n}" for n in range(7, 11))]
    assert shop.state(fork)["total"] == 390  # type: ignore[index]
    assert [call.result["n"] for call in shop.calls(fork)] == [6, 7, 8, 9, 10]  # type: ignore[index,call-overload]
    (edit,) = fork.edits
    assert (edit.target, edit.step, edit.call, edit.old) == ("result", 6, 1, {"n": 6, "euros": 60})
    shop.check_replay(fork)


def test_a_part_of_a_result_and_an_error_can_be_given(shop: Project):
    fork = shop.forked("shop", results={"2.1.euros": 280})
    assert (fork.status, fork.steps, shop.state(fork)["total"]) == ("succeeded", 3, 320)  # type: ignore[index]
    failed = shop.forked("shop", errors={"2": "TimeoutError: no answer"})
    assert (failed.status, failed.error is not None and failed.error.short) == ("failed", "TimeoutError: no answer")
    assert failed.steps == 2
    shop.check_replay(fork)


def test_calls_that_an_edit_or_the_recording_answers_are_said_to_have_been_answered_and_cost_nothing(project: Project):
    project.record(
        PRELUDE
        + """
@agent_tt.llm(model="gpt-4o")
def ask(question):
    did("asked")
    return {"content": "pay", "usage": {"prompt_tokens": 100, "completion_tokens": 5}}


@agent_tt.tool(effect="write")
def pay(euros):
    did("paid")
    return {"euros": euros, "step": n}


state = {"paid": []}
with agent_tt.record("payer", state=state) as run:
    for n in (1, 2):
        with run.step("work"):
            ask(f"what now, {n}?")
            price(n)
            state["paid"] += [pay(7)["step"], pay(7)["euros"]]
"""
    )
    before = project.done()
    fork = project.forked("payer", results={"1.4.euros": 50}, policy={"pay": "recorded"})
    assert (fork.status, project.state(fork)) == ("succeeded", {"paid": [1, 50, 2, 7]})
    assert project.done()[len(before) :] == ["asked", "price-2"]
    with closing(project.store) as store:
        effects = effects_between(store, fork, 1)
        first, second = store.steps(fork.id)
    happened = [(row.step, row.name, row.happened, row.because) for row in effects.rows]
    assert happened == [
        (1, "ask", "recorded", ""),
        (1, "price", "recorded", ""),
        (1, "pay", "recorded", ""),
        (1, "pay", "stubbed", "you"),
        (2, "pay", "recorded", "you"),
        (2, "pay", "recorded", "you"),
    ]
    assert (effects.models, effects.reads) == ({"gpt-4o": 1}, {"price": 1})
    assert (first.tokens_in, second.tokens_in) == (None, 100)
    project.check_replay(fork)


@pytest.mark.parametrize("step", [0, 3])
def test_a_state_is_changed_in_the_agents_own_objects(shop: Project, step: int):
    before = shop.done()
    fork = shop.forked("shop", step, {"total": 250})
    assert (fork.status, fork.way_back_in, fork.edits[0].path) == ("succeeded", "replay", "total")
    first = step + 1
    assert shop.done()[len(before) :] == [f"price-{n}" for n in range(first, fork.steps + 1)]
    assert shop.state(fork)["total"] == 250 + sum(10 * n for n in range(first, fork.steps + 1))  # type: ignore[index]
    assert shop.state(fork, step)["total"] == 250  # type: ignore[index]
    shop.check_replay(fork)


def test_items_are_inserted_deleted_and_moved_where_they_are(shop: Project):
    from agent_tt.model import Edit

    edits = [
        Edit("delete", "seen[0]"),
        Edit("insert", "seen[1]", "here"),
        Edit("move", "seen[0]", to="seen[2]"),
        Edit("set", "seen[0]", {"was": "here"}),
    ]
    fork = shop.forked("shop", 3, edits)
    seen = shop.state(fork)["seen"]  # type: ignore[index]
    assert seen[:3] == [{"was": "here"}, {"n": 3, "euros": 30}, {"n": 2, "euros": 20}]
    assert [item["n"] for item in seen[3:]] == [4, 5, 6, 7, 8]
    shop.check_replay(fork)


def test_a_muted_step_is_as_if_it_had_never_happened(shop: Project):
    fork = shop.forked("shop", 4, mute=[4])
    assert [item["n"] for item in shop.state(fork)["seen"]] == [1, 2, 3, 5, 6, 7, 8]  # type: ignore[index]
    assert shop.state(fork, 4)["total"] == 60  # type: ignore[index]  put back: nobody has changed it since
    assert [edit.op for edit in fork.edits] == ["mute", "set", "delete"]
    earlier = shop.forked("shop", 4, mute=[2])
    assert [item["n"] for item in shop.state(earlier, 4)["seen"]] == [1, 3, 4]  # type: ignore[index]
    assert shop.state(earlier, 4)["total"] == 100  # type: ignore[index]  changed since: it stays


def test_typed_values_and_attributes_are_changed_as_their_classes_want_it(project: Project):
    project.record(
        PRELUDE
        + """
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple


class Place(NamedTuple):
    name: str
    km: int


@dataclass(frozen=True)
class Trip:
    place: Place
    day: date


@dataclass
class Memory:
    trips: list = field(default_factory=list)
    window: tuple = (0, 1)

    def get_state(self):
        return {"trips": self.trips, "window": self.window}


memory = Memory()
with agent_tt.record("trips", state=memory) as run:
    for n in range(3):
        with run.step("go"):
            price(n)
            memory.trips.append(Trip(Place(f"place {n}", n), date(2026, 5, 1 + n)))
print(memory.trips[0].place.name, memory.trips[1].day, memory.window)
"""
    )
    from datetime import date

    fork = project.fork("trips", 2, {"trips[0].place.name": "Oslo", "trips[1].day": date(2030, 1, 1), "window[1]": 9})
    assert fork.wait(PATIENCE_SECONDS) == 0, fork.output()
    assert fork.output().split("\n")[0] == "Oslo 2030-01-01 (0, 9)"


def test_a_state_that_is_made_for_each_step_cannot_be_changed(project: Project):
    project.record(
        PRELUDE
        + """
with agent_tt.record("fresh") as run:
    total = 0
    for n in range(4):
        with run.step("look", {"total": total, "seen": [n]}):
            total += price(n)["euros"]
"""
    )
    fork = project.forked("fresh", 2, {"total": 9})
    assert fork.status == "failed"
    assert fork.error is not None
    assert "nothing of the agent's holds total" in fork.error.message
    assert project.calls(fork) == []


def test_forks_of_forks_of_forks_hold_the_edits_of_all(shop: Project):
    first = shop.forked("shop", 2, {"total": 100})
    second = shop.forked(first.id, results={"4.euros": 1})
    done = shop.done()
    third = shop.forked(second.id, 5, {"total": 0})
    totals = [shop.state(third, step)["total"] for step in range(1, third.steps + 1)]  # type: ignore[index]
    assert totals == [10, 100, 130, 131, 0, 60, 130, 210, 300]
    assert shop.done()[len(done) :] == [f"price-{n}" for n in range(6, 10)]
    assert (third.name, third.parent, third.fork_step) == (f"{first.name}/fork-1/fork-1", second.id, 5)
    shop.check_replay(third)


def test_code_that_has_changed_in_the_prefix_halts_it_and_can_be_accepted(project: Project):
    project.record(LOOP)
    project.write(LOOP.replace("found = price(n)", "found = price(n if n != 3 else 13)"))
    before = project.done()
    handle = project.fork("shop", 5, {"total": 250})
    with pytest.raises(CannotReenter) as halted:
        handle.result()
    said = halted.value.message
    assert said.startswith(
        "cannot re-enter at step 5: step 3 no longer asks what was recorded (n: 3 is now 13) at agent.py:"
    )
    assert "The code has changed since (" in said
    assert said.endswith("Choose: fork at step 2, or --accept-changes to go live from step 3")
    assert project.done() == before
    fork = project.forked("shop", 5, {"total": 250}, accept_changes=True)
    assert (fork.status, fork.fork_step) == ("succeeded", 2)
    assert project.done()[len(before) :] == ["price-13", "price-4", "price-5", "price-6"]
    assert project.state(fork)["total"] == 310  # type: ignore[index]


def test_an_extra_call_in_the_prefix_is_not_made(project: Project):
    project.record(LOOP)
    project.write(LOOP.replace('state["total"] +=', 'n == 4 and price(77)\n            state["total"] +='))
    before = project.done()
    fork = project.forked("shop", 4, {"total": 250})
    assert fork.status == "failed"
    assert fork.error is not None
    assert "cannot re-enter at step 4: step 4" in fork.error.message
    assert project.done() == before


def test_an_agent_that_ends_before_the_step_is_named(project: Project):
    project.record(LOOP)
    project.write(LOOP.replace("n < 40", "n < 2"))
    fork = project.forked("shop", 6, {"total": 0})
    assert fork.error is not None
    assert "the agent ended before it: price of step 3 was not called" in fork.error.message
    assert fork.status == "failed"


PARALLEL = (
    PRELUDE
    + """
import asyncio


async def look(run, n):
    with run.step(f"look {n}", agent=f"worker {n}"):
        for turn in range(3):
            await ask(n, turn)


@agent_tt.tool(effect="read")
async def ask(n, turn):
    did(f"ask-{n}-{turn}")
    await asyncio.sleep(0.002 * (5 - n))
    return n * turn


async def main():
    with agent_tt.record("team", state={"n": 0}) as run:
        await asyncio.gather(*(look(run, n) for n in range(4)))
        with run.step("end"):
            price(1)

asyncio.run(main())
"""
)


def test_lanes_go_live_each_when_its_part_is_used_up(project: Project):
    project.record(PARALLEL)
    before = project.done()
    with closing(project.store) as store:
        steps = store.steps("team" and store.run("team").id)
        kept = {step.name for step in steps[:2]}
    fork = project.forked("team", 2, by="replay")
    assert fork.status == "succeeded"
    again = project.done()[len(before) :]
    live = {f"look {n}" for n in range(4)} - kept
    assert sorted(again) == sorted([f"ask-{name[-1]}-{turn}" for name in live for turn in range(3)] + ["price-1"])
    project.check_replay(fork)


NESTED = (
    PRELUDE
    + """
state = {"total": 0}
with agent_tt.record("nested", state=state) as run:
    with run.step("all"):
        price(100)
        for n in range(4):
            with run.step("one"):
                state["total"] += price(n)["euros"]
        price(200 + state["total"])
"""
)


def test_a_step_that_is_open_where_the_fork_begins_goes_on_in_a_row_of_its_own(project: Project):
    project.record(NESTED)
    fork = project.forked("nested", 3, {"total": 1000})
    assert (fork.status, fork.fork_step) == ("succeeded", 3)
    asked = [call.args["n"] for call in project.calls(fork)]  # type: ignore[index,call-overload]
    assert asked == [2, 3, 1250]
    with closing(project.store) as store:
        own = [(step.name, step.status) for step in store.steps(fork.id) if not step.inherited]
    assert own == [("one", "ok"), ("one", "ok"), ("all", "ok")]


def test_both_ways_lead_to_the_same_where_the_agent_takes_a_state(project: Project):
    project.write(
        PRELUDE
        + """
def main(state=None):
    state = state or {"n": 0, "total": 0}
    with agent_tt.record("both", state=state) as run:
        while state["n"] < 5:
            with run.step("look"):
                state["n"] += 1
                state["total"] += price(state["n"])["euros"]


if __name__ == "__main__":
    main()
"""
    )
    project.run()
    restored = project.forked("both", 2, {"total": 1000})
    replayed = project.forked("both", 2, {"total": 1000}, by="replay")
    assert (restored.way_back_in, replayed.way_back_in) == ("restore", "replay")
    assert project.state(restored) == project.state(replayed) == {"n": 5, "total": 1120}
    changed = project.forked("both", results={"2.euros": 0})
    assert (changed.way_back_in, project.state(changed)) == ("replay", {"n": 5, "total": 130})
    edit = parse_call_edit("2=1", "result")
    with closing(project.store) as store, pytest.raises(UsageError, match="only where the call is asked again"):
        plan_fork(store, "both", ForkRequest(edits=[edit], by="restore"))


def test_concurrent_forks_of_one_checkpoint_do_not_disturb_each_other(shop: Project):
    handles = [shop.fork("shop", 4, {"total": 200 + 10 * n}) for n in range(3)]
    runs = [handle.result() for handle in handles]
    assert len({run.name for run in runs}) == 3
    for n, run in enumerate(runs):
        assert shop.state(run, 4)["total"] == 200 + 10 * n  # type: ignore[index]
        assert run.status == "succeeded"


WAITING = """
import os, time
import agent_tt


def wait_for_it(n):
    while n == 6 and not os.path.exists("go on"):
        time.sleep(0.01)
"""


def test_a_run_that_is_still_recorded_is_forked_at_a_step_that_is_over(project: Project):
    waits = "found = price(n)\n            wait_for_it(n)"
    source = WAITING + LOOP.replace("found = price(n)", waits)
    project.write(source)
    environment = {**os.environ, "AGENT_TT_STORE": str(project.store_path)}
    process = subprocess.Popen([sys.executable, "agent.py"], cwd=project.folder, env=environment)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "price-6" not in project.done():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        handle = project.fork("shop", 4, {"total": 260})
        with pytest.raises(UsageError, match="step 6 look has not ended yet"):
            project.fork("shop", 6, {"total": 260})
        fork = handle.result()
        with closing(project.store) as store:
            assert store.run("shop").status == "running"
    finally:
        (project.folder / "go on").touch()
        process.wait(PATIENCE_SECONDS)
    assert (fork.status, fork.steps, project.state(fork)["total"]) == ("succeeded", 5, 310)  # type: ignore[index]
    with closing(project.store) as store:
        assert (store.run("shop").status, store.run("shop").steps) == ("succeeded", 8)


@pytest.mark.parametrize(
    ("step", "options", "kind", "said"),
    [
        (40, {}, StepNotFound, "there is no step 40: the run has 8"),
        (None, {}, UsageError, "no step to fork after was given"),
        (None, {"results": {"4.7": 1}}, InvalidEdit, "step 4 look has no call 7"),
        (None, {"results": {"44": 1}}, InvalidEdit, "there is no step 44"),
        (
            None,
            {"results": {"4.x.y": 1}},
            InvalidEdit,
            "result of price (call 1 of step 4): set x.y: the result has no x",
        ),
        (None, {"answers": {"4.1": "hello"}}, InvalidEdit, "answer of price (call 1 of step 4): it asks no model"),
        (
            None,
            {"errors": {"4": "Foo: bar"}},
            InvalidEdit,
            "error of price (call 1 of step 4): Foo is not a Python exception",
        ),
        (2, {"results": {"4": 1}}, InvalidEdit, "a call of step 4 is edited, but the fork is to begin after step 2"),
        (None, {"results": {"4": 1, "5": 1}}, InvalidEdit, "calls of several steps are edited (4, 5)"),
        (3, {"mute": [9]}, InvalidEdit, "step 9 cannot be muted: the fork begins after step 3"),
        (3, {"parameters": {"": 1}}, InvalidEdit, "'' is not a parameter name"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(
    shop: Project, step: int | None, options: dict[str, object], kind: type[Exception], said: str
):
    with pytest.raises(kind) as refused:
        shop.fork("shop", step, **options)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_an_agent_that_broke_off_is_re_entered_where_it_was(project: Project):
    project.write(
        LOOP.replace("found = price(n)", "found = price(n)\n            breaks_off(n)").replace("state = {", BREAKS, 1)
    )
    with pytest.raises(AssertionError):
        project.run()
    with closing(project.store) as store:
        assert store.run("shop").status == "crashed"
    project.write(LOOP)
    before = project.done()
    fork = project.forked("shop", 4, {"total": 200})
    assert (fork.status, fork.steps) == ("succeeded", 6)
    assert project.done()[len(before) :] == ["price-5", "price-6"]


BREAKS = """
import os, signal


def breaks_off(n):
    if n == 5:
        os.kill(os.getpid(), signal.SIGKILL)


state = {"""


def test_a_fork_from_the_input_answers_nothing_and_stops_nothing(project: Project):
    opens = 'import socket\nsocket.create_server(("127.0.0.1", 0)).close()\n\n\nstate = {'
    project.record(LOOP.replace("state = {", opens, 1))
    fork = project.forked("shop", 0, {"total": 290})
    assert (fork.status, fork.steps) == ("succeeded", 1)
