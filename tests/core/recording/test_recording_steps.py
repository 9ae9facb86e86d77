"""Runs and steps: what is written about them, and when."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import threading

import pytest

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.model import ModelConfig


def test_five_lines_record_an_agent(store):
    @agent_tt.tool(effect="read")
    def search_docs(query):
        return {"docs": [], "count": 0}

    state = {"messages": []}
    with agent_tt.record("refund-loop", state=state) as run:
        for _ in range(3):
            with run.step("plan", state):
                state["messages"].append(search_docs("refund policy"))

    recorded = store.only
    assert recorded.status == "succeeded"
    assert recorded.initial == {"messages": []}
    assert [len(step.state["messages"]) for step in recorded.steps] == [1, 2, 3]
    assert [call.end.result for call in recorded.calls] == [{"docs": [], "count": 0}] * 3
    assert store.closed == 1


def test_a_run_says_who_ran_what_for_whom(store):
    with agent_tt.record(
        "trip",
        version="2",
        user_id="ann",
        model={"model": "rules-1", "temperature": 0.0, "top_p": 0.5},
        tags=("a", "b"),
        metadata={"ticket": 7, "when": {1, 2}},
    ) as run:
        assert run.id == store.only.run_id
    new = store.only.new
    assert (new.name, new.user_id, new.tags, new.code.version) == ("trip", "ann", ("a", "b"), "2")
    assert new.model == ModelConfig(model="rules-1", temperature=0.0)
    assert new.metadata["ticket"] == 7
    assert new.metadata["when"]["$type"] == "set"
    assert new.metadata["model_parameters"] == {"top_p": 0.5}


@pytest.mark.parametrize("model", ["m", ModelConfig(model="m"), {"model": "m"}])
def test_a_model_may_be_a_name_a_mapping_or_a_configuration(store, model):
    with agent_tt.record("x", model=model):
        pass
    assert store.only.new.model == ModelConfig(model="m")


def test_nested_steps_know_their_parent_and_end_in_order(store):
    state = {"n": 0}
    with agent_tt.record("x", state=state) as run, run.step("outer") as outer:
        with run.step("inner") as inner:
            state["n"] = 1
            assert (outer.number, inner.number) == (1, 2)
        with run.step("inner again"):
            state["n"] = 2
    recorded = store.only
    assert [step.new.parent for step in recorded.steps] == [None, 1, 1]
    assert recorded.commits == [2, 3, 1]
    assert [step.state for step in recorded.steps] == [{"n": 2}, {"n": 1}, {"n": 2}]
    assert not any(step.end.shared_track for step in recorded.steps)


def test_a_step_keeps_its_decision_and_what_it_cost(store):
    with agent_tt.record("x") as run, run.step("plan") as step:
        step.decision = "search first"
        step.add_usage(tokens_in=10, cost_usd=0.5)
        step.add_usage(tokens_in=1, tokens_out=2)
    end = store.only.steps[0].end
    assert (end.decision, end.tokens_in, end.tokens_out, end.cost_usd) == ("search first", 11, 2, 0.5)


def test_a_run_without_state_has_no_checkpoints(store):
    with agent_tt.record("x") as run, run.step("plan"):
        pass
    assert store.only.steps[0].has_state is False


def test_assigning_a_state_makes_it_the_runs(store):
    with agent_tt.record("x", state={"v": 1}) as run:
        with run.step("replace") as step:
            step.state = {"v": 2}
        with run.step("after") as step:
            assert step.state == {"v": 2}
    assert [step.state for step in store.only.steps] == [{"v": 2}, {"v": 2}]


def test_a_state_replaced_in_a_nested_step_is_the_outer_steps_too(store):
    state = {"v": 1}
    with agent_tt.record("x", state=state) as run, run.step("outer", state), run.step("inner", state) as inner:
        inner.state = {"v": 2}
    assert [step.state for step in store.only.steps] == [{"v": 2}, {"v": 2}]


def test_equal_states_are_told_apart_by_identity(store):
    mine, theirs = {"v": 1}, {"v": 1}
    with agent_tt.record("x", state=mine) as run, run.step("web", theirs, agent="web"):
        pass
    assert store.only.steps[0].track == "web"


def test_an_agent_with_its_own_state_has_its_own_track(store):
    shared, own = {"plan": []}, {"pages": []}
    with agent_tt.record("x", state=shared) as run:
        with run.step("lead", shared, agent="lead"):
            shared["plan"].append("search")
        with run.step("search", own, agent="web"):
            own["pages"].append("p")
        with run.step("named", track="papers", state={"x": 1}):
            pass
        with run.step("again"):
            pass
    assert [step.track for step in store.only.steps] == ["main", "web", "papers", "main"]
    assert store.only.steps[1].state == {"pages": ["p"]}
    assert store.only.steps[3].state == {"plan": ["search"]}


def test_an_exception_leaves_step_and_run_with_its_facts(store):
    with pytest.raises(TimeoutError, match="too slow"), agent_tt.record("x") as run, run.step("act"):
        raise TimeoutError("too slow")
    recorded = store.only
    step_error, run_error = recorded.steps[0].end.error, recorded.error
    assert (recorded.steps[0].end.status, recorded.status) == ("error", "failed")
    assert step_error.class_name == run_error.class_name == "builtins:TimeoutError"
    assert step_error.message == "too slow"
    assert 'raise TimeoutError("too slow")' in run_error.traceback
    assert "agent_tt/recording" not in run_error.traceback


def test_a_caught_exception_does_not_fail_the_run(store):
    with agent_tt.record("x") as run:
        with pytest.raises(ValueError, match="no"), run.step("act"):
            raise ValueError("no")
        with run.step("recover"):
            pass
    assert [step.end.status for step in store.only.steps] == ["error", "ok"]
    assert store.only.status == "succeeded"


@pytest.mark.parametrize(
    ("error", "run_status", "step_status"),
    [
        (KeyboardInterrupt(), "interrupted", "interrupted"),
        (BaseExceptionGroup("two", [KeyboardInterrupt(), asyncio.CancelledError()]), "interrupted", "interrupted"),
        (BaseExceptionGroup("two", [KeyboardInterrupt(), ValueError()]), "failed", "error"),
        (SystemExit(3), "failed", "error"),
        (SystemExit("no"), "failed", "error"),
        (asyncio.CancelledError(), "interrupted", "interrupted"),
        (SystemExit(0), "succeeded", "ok"),
        (SystemExit(None), "succeeded", "ok"),
    ],
)
def test_an_agent_that_somebody_stops_is_interrupted_and_one_that_says_so_has_failed(
    store, error, run_status, step_status
):
    with pytest.raises(type(error)), agent_tt.record("x") as run, run.step("act"):
        raise error
    assert (store.only.status, store.only.steps[0].end.status) == (run_status, step_status)
    assert (store.only.error is None) == (run_status == "succeeded")


def test_a_cancelled_task_is_an_interrupted_run(store):
    async def agent(started):
        async with agent_tt.record("x") as run, run.step("wait"):
            started.set()
            await asyncio.Event().wait()

    async def main():
        started = asyncio.Event()
        task = asyncio.create_task(agent(started))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (store.only.status, store.only.steps[0].end.status) == ("interrupted", "interrupted")


def test_steps_left_open_end_with_the_run_and_ending_them_later_does_nothing(store):
    with agent_tt.record("x", state={}) as run:
        outer, inner = run.step("outer"), run.step("inner")
        outer.__enter__()
        inner.__enter__()
    inner.__exit__(None, None, None)
    assert [step.end.status for step in store.only.steps] == ["interrupted", "interrupted"]
    assert not any(step.has_state for step in store.only.steps)


def test_steps_closed_out_of_order_leave_no_step_current(store):
    with agent_tt.record("x") as run:
        first, second = run.step("first"), run.step("second")
        first.open()
        second.open()
        first.close(None)
        second.close(None)
        with run.step("third"):
            pass
    assert store.only.step("third").new.parent is None


def test_misuse_is_said_plainly(store):
    run = agent_tt.record("x")
    with pytest.raises(UsageError, match="'plan' cannot begin: its recording is not running"):
        run.step("plan").open()
    with pytest.raises(UsageError, match="no id"):
        _ = run.id
    with run:
        step = run.step("once")
        with pytest.raises(UsageError, match="has not begun"):
            _ = step.number
        with step:
            pass
        with pytest.raises(UsageError, match="used twice"):
            step.open()
    with pytest.raises(UsageError, match="used twice"), run:
        pass
    with pytest.raises(UsageError, match="not running"):
        run.note("late")
    with pytest.raises(UsageError, match="needs a name"):
        agent_tt.record(" ")


def test_notes_belong_to_the_step_they_are_written_in_and_tags_add_up(store):
    with agent_tt.record("x", tags=("a",)) as run:
        run.note("before")
        with run.step("plan"):
            run.note("inside")
        run.tag("b", "a")
        run.tag("c")
    assert [(step, body) for _, step, _, body in store.notes] == [(None, "before"), (1, "inside")]
    assert store.tags[run.id] == ("a", "b", "c")


class Counter:
    def __init__(self):
        self.n = 0
        self.lock = threading.Lock()
        self.log = ["start"]


class Thrifty(Counter):
    def get_state(self):
        return {"count": self.n}


class Slotted:
    __slots__ = ("client", "n")

    def __init__(self):
        self.n, self.client = 1, threading.Lock()


def test_objects_are_kept_by_get_state_or_by_their_plain_attributes(store):
    plain, thrifty, slotted = Counter(), Thrifty(), Slotted()
    for state in (plain, thrifty, slotted):
        with agent_tt.record("x", state=state) as run, run.step("count"):
            state.n += 1
    kept = [recorded.steps[0].state for recorded in store.runs]
    assert kept == [{"n": 1, "log": ["start"]}, {"count": 1}, {"n": 2}]
    assert store.runs[0].initial == {"n": 0, "log": ["start"]}


@dataclasses.dataclass
class Planner:
    city: str
    done: list[str] = dataclasses.field(default_factory=list)

    def run(self):
        with agent_tt.record("x", state=self) as run, run.step("go"):
            self.done.append(self.city)


def test_an_agent_that_is_a_dataclass_is_kept_as_attributes_and_a_state_that_is_one_as_itself(store):
    Planner("Lyon").run()
    with agent_tt.record("x", state=Planner("Bonn")):
        pass
    assert store.runs[0].steps[0].state == {"city": "Lyon", "done": ["Lyon"]}
    assert store.runs[0].new.code.restore == "attributes"
    assert store.runs[1].initial["$type"] == "dataclass"


def test_a_failing_get_state_costs_the_checkpoint_not_the_run(store, caplog):
    class Broken:
        def get_state(self):
            raise LookupError("no state")

    with agent_tt.record("x", state=Broken()) as run, run.step("go"):
        pass
    step = store.only.steps[0]
    assert (store.only.status, step.end.status, step.has_state) == ("succeeded", "ok", False)
    assert step.end.extra == {"state_error": "LookupError: no state"}
    assert "could not be read" in caplog.text


def test_a_state_that_cannot_be_encoded_is_opaque(store):
    class Rude:
        def __repr__(self):
            raise RuntimeError

    with agent_tt.record("x", state={"rude": Rude(), "ok": 1}) as run, run.step("go"):
        pass
    assert store.only.steps[0].state["rude"]["$type"] == "opaque"
    assert store.only.steps[0].state["ok"] == 1


def test_two_recordings_at_once_keep_apart(store):
    @agent_tt.tool
    def act(x):
        return x

    async def agent(name):
        with agent_tt.record(name) as run, run.step("s"):
            await asyncio.sleep(0)
            act(name)

    async def main():
        await asyncio.gather(agent("a"), agent("b"))

    asyncio.run(main())
    assert [[call.new.args for call in run.calls] for run in store.runs] == [[{"x": "a"}], [{"x": "b"}]]
    assert {call.new.lane for run in store.runs for call in run.calls} == {"main"}


def test_an_inner_recording_ends_back_in_the_outer_one(store):
    @agent_tt.tool
    def act():
        return sys.maxsize

    with agent_tt.record("outer") as outer, outer.step("o"):
        with agent_tt.record("inner") as inner, inner.step("i"), outer.step("o2"):
            act()
        act()
    first, second = store.runs
    assert [(step.name, step.new.parent, len(step.calls)) for step in first.steps] == [("o", None, 1), ("o2", 1, 1)]
    assert [(step.name, len(step.calls)) for step in second.steps] == [("i", 0)]
