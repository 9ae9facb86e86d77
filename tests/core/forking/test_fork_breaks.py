"""A fork stops after the step with which an expression begins to hold, before its agent's next line."""

from __future__ import annotations

import random
from asyncio import CancelledError
from contextlib import ExitStack, closing, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.store.recordings import begin, fork, new_store, step

import agent_tt
from agent_tt.errors import Interrupted, InvalidExpression
from agent_tt.forking.breaking import StateBreaks
from agent_tt.forking.terms import terms_from, terms_of
from agent_tt.intercepting.limit_enforcement import LimitEnforcement
from agent_tt.intercepting.limits import LimitReached, Limits
from agent_tt.querying.watches.kept_watches import keep_watch, kept_watches
from agent_tt.recording.session import SESSION
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

pytestmark = pytest.mark.warm

TOOLS = """
import asyncio
import agent_tt

@agent_tt.llm
def model(messages):
    return {"role": "assistant", "content": "go on"}

@agent_tt.tool(effect="write")
def mail(to):
    with open("mails", "a") as file:
        file.write(to + "\\n")
    return "sent"

def work(name, state):
    if name == "think":
        model([{"role": "user", "content": "next?"}])
    elif name == "send":
        state["sent"] = mail("ann@example.com")
    else:
        state["budget"] -= 4

WORKS = ["think", "spend", "spend again", "send"]
"""

GRAPH = (
    TOOLS
    + """
import operator
from typing import Annotated, TypedDict
from langgraph.graph import START, StateGraph

class Log(TypedDict):
    log: Annotated[list[str], operator.add]

def node(name, state, run):
    def go(_given):
        with run.step(name, state):
            work(name, state)
        with open("lines", "a") as file:
            file.write(f"after {name}\\n")
        return {"log": [name]}
    return go

def main(state=None):
    with agent_tt.record("spender", state=state) as run:
        builder = StateGraph(Log)
        for before, name in zip([START, *WORKS], WORKS):
            builder.add_node(name, node(name, state, run))
            builder.add_edge(before, name)
        builder.compile().invoke({"log": []})
"""
)

PLAIN = (
    TOOLS
    + """
async def alone():
    state = {"budget": 5, "sent": None}
    async with agent_tt.record("alone", state=state) as run:
        for name in WORKS:
            async with run.step(name):
                work(name, state)

def main():
    asyncio.run(alone())
"""
)

START = {"budget": 5, "sent": None}


def written(project: Project, name: str) -> list[str]:
    file = project.folder / name
    return file.read_text().splitlines() if file.exists() else []


def test_a_graph_stops_where_it_is_so_and_the_tool_after_it_is_never_called(project: Project) -> None:
    pytest.importorskip("langgraph")
    project.put("spender.py", GRAPH)
    spender = project.made("spender:main", START)
    keep_watch(project.store, spender.id, "state.budget < 0", name="broke", breaks=True)
    plan = project.plan(spender, 0, allow=["mail"], terms=terms_from(breaks=["state.budget < 0"]))
    assert ("stops", "when state.budget < 0") in plan.terms.rows()
    handle = project.fork(spender, 0, allow=["mail"], terms=plan.terms)
    with pytest.raises(Interrupted, match=r"it was to stop when state\.budget < 0"):
        handle.result()
    run = project.store.run(handle.run_id)
    assert (run.status, run.steps) == ("interrupted", 3)
    assert run.error is not None
    assert run.error.message == "it was to stop when state.budget < 0, as after step 3 (state.budget = -3)"
    assert [each.status for each in project.store.steps(run.id)] == ["ok", "ok", "ok"]
    assert project.store.state(run.id, 3) == {"budget": -3, "sent": None}
    assert written(project, "mails") == []
    assert written(project, "lines") == ["after think", "after spend"]
    assert terms_of(run).limits == Limits(breaks=("state.budget < 0",))
    [handed] = kept_watches(project.store, run.id)
    assert (handed.letter, handed.name, handed.where, handed.breaks) == ("A", "broke", "state.budget < 0", True)


def test_one_that_is_re_entered_stops_too_and_looks_only_at_steps_of_its_own(project: Project) -> None:
    project.put("plain.py", PLAIN)
    alone = project.record("-c", "import plain; plain.main()")
    assert written(project, "mails") == ["ann@example.com"]
    terms = terms_from(breaks=['call.kind == "llm"', "changed(state.budget)"])
    handle = project.fork(alone, 1, agent="plain:main", by="replay", allow=["mail"], terms=terms)
    handle.wait()
    run = project.store.run(handle.run_id)
    assert (run.status, run.steps) == ("interrupted", 2), handle.output()
    assert run.error is not None
    assert run.error.message == "it was to stop when changed(state.budget), as after step 2 (state.budget = 1)"
    assert written(project, "mails") == ["ann@example.com"]


@pytest.fixture
def broken(tmp_path: Path):
    """Runs an agent here, in a recording with the breaks of a fork; gives what it ended with, and its run."""

    def run_it(where: str, agent, **facts):
        path = tmp_path / "runs.db"

        def recorded() -> None:
            # As in a fork, the limits outlast the run.
            with ExitStack() as stack, agent_tt.record("here", store=path, **facts) as recording:
                source = stack.enter_context(closing(open_store(path, read_only=True)))
                run = source.run(recording.id)
                keeps = LimitEnforcement(Limits(breaks=(where,)), run.id, StateBreaks(source, run, [where]))
                stack.enter_context(SESSION.joined(keeps))
                agent(recording)

        with pytest.raises(LimitReached) as stopped:
            recorded()
        with closing(open_store(path, read_only=True)) as source:
            run = source.run("latest")
            return str(stopped.value), run, source.steps(run.id)

    return run_it


def test_a_step_that_failed_stops_it_although_the_agent_would_go_on(broken) -> None:
    after = []

    def agent(run) -> None:
        try:
            with run.step("fails"):
                raise TimeoutError("no answer")
        except TimeoutError:
            after.append("went on")

    why, run, steps = broken("error", agent)
    assert why == 'it was to stop when error, as after step 1 (error = "TimeoutError: no answer")'
    assert (run.status, [each.status for each in steps], after) == ("interrupted", ["error"], [])


class Desk:
    """A state that cannot be read at its second step."""

    asked = 0

    def get_state(self) -> dict[str, int]:
        if self.asked == 2:
            raise LookupError("no state")
        return {"asked": self.asked}


def test_a_state_that_could_not_be_read_stops_one_that_asks_about_it(broken) -> None:
    desk = Desk()

    def agent(run) -> None:
        for desk.asked in (1, 2, 3):
            with run.step("ask"):
                pass

    why, _, steps = broken("state.asked > 9", agent, state=desk)
    assert why == (
        "it was to stop when state.asked > 9, and after step 2 nobody can say:"
        " its state could not be read (LookupError: no state)"
    )
    assert len(steps) == 2


def test_an_agent_that_catches_everything_gets_no_further_nor_does_what_follows_its_run(broken) -> None:
    sent = []

    @agent_tt.tool(effect="write")
    def mail(to: str) -> None:
        sent.append(to)

    def agent(run) -> None:
        state = dict(START)
        for _ in range(3):
            with suppress(BaseException), run.step("spend", state):
                state["budget"] -= 4
        with suppress(BaseException):
            mail("swallowed")

    why, run, steps = broken("state.budget < 0", agent, state=START)
    assert why == "it was to stop when state.budget < 0, as after step 2 (state.budget = -3)"
    assert (run.status, len(steps), sent) == ("interrupted", 2, [])
    assert run.error is not None
    assert run.error.message == why


def test_a_run_that_an_event_loop_cancelled_says_which_limit_was_reached() -> None:
    class Always:
        def why(self, step: int) -> str:
            return f"it was to stop after step {step}"

    keeps, cancelled = LimitEnforcement(Limits(breaks=("true",)), "run", Always()), CancelledError()
    assert keeps.run_ends(cancelled) is cancelled
    keeps.after_step(SimpleNamespace(recording=SimpleNamespace(id="run"), number=3))
    for error in (CancelledError(), ValueError("made of it"), None):
        assert str(keeps.run_ends(error)) == "it was to stop after step 3"
    as_it_is = LimitReached("as it is")
    assert keeps.run_ends(as_it_is) is as_it_is
    keeps = LimitEnforcement(Limits(tokens=0), "run")
    with pytest.raises(LimitReached):
        keeps.before_call(None, {})
    assert "tokens is reached" in str(keeps.run_ends(CancelledError()))
    failed = ValueError()
    assert (keeps.run_ends(None), keeps.run_ends(failed)) == (None, failed)


def test_a_model_is_not_asked_again_when_its_conversation_makes_it_so(broken) -> None:
    asked = []

    @agent_tt.llm
    def model(messages: list) -> dict:
        asked.append(len(messages))
        return {"role": "assistant", "content": "yes" if len(messages) < 3 else "no"}

    def agent(run) -> None:
        messages = [{"role": "user", "content": "may I?"}]
        for _ in range(4):
            messages = [*messages, model(messages), {"role": "user", "content": "and now?"}]

    why, run, _ = broken('state.messages[-1].content == "no"', agent, steps="model calls")
    assert asked == [1, 3]
    assert "as after step 2" in why
    assert run.status == "interrupted"


def test_what_holds_where_a_fork_begins_is_said_before_it_runs(project: Project) -> None:
    project.put("plain.py", "def main(state=None): pass")
    made = project.made("plain:main", {"budget": -1})
    plan = project.plan(made, 0, terms=terms_from(breaks=["state.budget < 0", "state.budget > 0", "error"]))
    assert plan.problems == ("state.budget < 0 holds already where it begins: it stops when that begins again",)


def test_an_expression_that_cannot_be_read_is_refused_before_anything_runs() -> None:
    with pytest.raises(InvalidExpression, match="cannot be asked"):
        terms_from(breaks=["state.budget <"])


def test_what_a_file_says_of_breaks_is_read_with_care() -> None:
    assert Limits.from_mapping({"breaks": ["error", 3, None]}) == Limits(breaks=("error",))
    assert Limits.from_mapping({"breaks": "error"}) == Limits()
    kept = Limits(breaks=("error", "state.x"))
    assert Limits.from_mapping(kept.to_mapping()) == kept
    assert kept


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9))
def test_the_step_is_the_first_of_its_own_at_which_it_begins_to_hold(tmp_path_factory, seed: int) -> None:
    choose = random.Random(seed)
    with_store = new_store(tmp_path_factory.mktemp("breaks"))
    state = {"n": choose.randrange(4)}
    writer = begin(with_store, state)
    kept = choose.randrange(3)
    for _ in range(kept):
        state["n"] = choose.randrange(4)
        step(writer, state)
    writer.finish("succeeded")
    run_id, writer = fork(with_store, writer.run_id, kept, {"n": choose.randrange(4)})
    values = [with_store.state(run_id, kept)["n"]]
    breaks = StateBreaks(with_store, with_store.run(run_id), ["state.n > 1"])
    stopped = None
    for number in range(1, kept + 1):
        assert breaks.why(number) is None
    for _ in range(6):
        values.append(choose.randrange(4))
        number = step(writer, {"n": values[-1]})
        if breaks.why(number) is not None:
            stopped = number
            break
    begins = [kept + at for at in range(1, len(values)) if values[at] > 1 and values[at - 1] <= 1]
    assert stopped == (begins[0] if begins else None)
    with_store.close()
