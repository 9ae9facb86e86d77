"""The pre-flight of a fork: edits of calls, requests and steps, re-entry by replay, executors; what it says of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import InvalidEdit, InvalidEntryPoint, InvalidExecutor, InvalidScript, NotRebuildable, UsageError
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.policy.policies import Rule
from agent_tt.forking.request import ForkRequest
from agent_tt.forking.terms import Terms
from agent_tt.intercepting.limits import Limits
from agent_tt.model import AgentCode, CallEnd, Edit, NewCall, NewRun, NewStep, Run, StepEnd
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from conftest import Project

AGENT = """\
import agent_tt
def main(state=None): ...
def other(state=None): ...
def stateless(): ...
def another(): ...
@agent_tt.tool(effect="write")
def refund(order): ...
"""
SAYING = {"args": {"messages": [{"role": "user", "content": "go"}]}, "kind": "llm", "name": "rules-1"}


def begin(project: Project, metadata: dict[str, object] | None = None, state: object = None, **facts: object):
    project.put("agent.py", AGENT)
    known = {"entry": "agent:main", "root": str(project.folder), "cwd": str(project.folder), "restore": "state"}
    code = AgentCode(**{**known, **facts})
    state = {"n": 0} if state is None else state
    return project.store.begin_run(NewRun(name="trip", code=code, metadata=metadata or {}), state)


def step(writer, name: str, state: object, *calls: tuple[str, str, object], track: str = "main") -> int:
    number = writer.open_step(NewStep(name=name))
    for kind, called, result in calls:
        place = writer.begin_call(number, NewCall(kind=kind, name=called, args={}, signature="00" * 16))
        writer.end_call(number, place, CallEnd(status="ok", result=result))
    writer.close_step(number, StepEnd(status="ok", tokens_in=10 * number), state, track=track)
    return number


def ended(project: Project, writer) -> Run:
    writer.finish("succeeded")
    return project.store.run(writer.run_id)


@pytest.fixture
def trip(project: Project) -> Run:
    """Three steps: `n` counts them, and each calls the tool `look`; the last calls it twice."""
    writer = begin(project)
    for number, calls in enumerate((1, 1, 2), 1):
        step(writer, f"move {number}", {"n": number}, *[("tool", "look", {"at": [number, 7]})] * calls)
    return ended(project, writer)


def result(step: int | None, path: str = "", value: object = 9, call: int | None = None) -> Edit:
    return Edit("set", path, value, target="result", step=step, call=call)


@pytest.mark.parametrize("at", [None, 1, 2])
def test_a_fork_with_an_edited_call_begins_before_the_step_of_the_call(project: Project, trip: Run, at: int | None):
    plan = project.plan(trip, at, edits=[result(2, "at[1]")])
    assert (plan.step, plan.step_name, plan.by, plan.state) == (1, "move 1", "replay", {"n": 1})
    assert plan.edits == (Edit("set", "at[1]", 9, old=7, target="result", step=2, call=1),)
    assert plan.answered == 1
    assert plan.expected.steps == 2
    assert plan.problems == ()
    first = project.plan(trip, None, edits=[result(1, "at[1]")])
    assert (first.step, first.step_name, first.answered) == (0, "input", 0)


def test_the_state_after_the_step_of_an_edited_call_is_edited_when_that_has_ended(project: Project, trip: Run):
    plan = project.plan(trip, None, edits=[result(3, call=2), Edit("set", "n", 30), Edit("set", "new", 1)])
    assert plan.edits == (
        Edit("set", "n", 30, old=3, step=3),
        Edit("set", "new", 1, step=3),
        Edit("set", "", 9, old={"at": [3, 7]}, target="result", step=3, call=2),
    )
    assert plan.state == {"n": 2}  # the state with which the step begins anew
    assert (plan.step, plan.step_name, plan.answered) == (2, "move 2", 2)
    assert plan.problems == ("new is a new key of the state",)


@pytest.mark.parametrize("at", [0, 3])
def test_a_fork_elsewhere_than_at_the_step_of_an_edited_call_is_refused(project: Project, trip: Run, at: int):
    with pytest.raises(InvalidEdit, match=f"a call of step 2 is edited, .* to begin after step {at}") as caught:
        project.plan(trip, at, edits=[result(2)])
    assert caught.value.hint == "leave out --at, or fork at 2"


def test_calls_of_several_steps_are_not_edited_at_once(project: Project, trip: Run):
    with pytest.raises(InvalidEdit, match=r"calls of several steps are edited \(1, 2\)") as caught:
        project.plan(trip, None, edits=[result(2), result(1)])
    assert caught.value.hint == "edit the calls of one step, and fork that fork"
    two = project.plan(trip, None, edits=[result(3, call=1), result(3, call=2)])
    assert [edit.call for edit in two.edits] == [1, 2]


def test_an_edited_call_without_a_step_is_refused(project: Project, trip: Run):
    with pytest.raises(InvalidEdit, match="there is no step 0"):
        project.plan(trip, None, edits=[result(None)])


def test_a_fork_needs_a_step_unless_a_call_is_edited(project: Project, trip: Run):
    with pytest.raises(UsageError, match="no step to fork after was given") as caught:
        plan_fork(project.store, trip, ForkRequest())
    assert caught.value.hint == "name it with --at; 0 is the input"


def test_an_edited_call_is_only_asked_again_by_replay(project: Project, trip: Run):
    with pytest.raises(UsageError, match="can be changed only where the call is asked again: by replay") as caught:
        project.plan(trip, None, edits=[result(1)], by="restore")
    assert caught.value.hint == "leave out --by restore"
    assert project.plan(trip, None, edits=[result(1)], by="replay").by == "replay"


def test_a_re_entered_agent_is_answered_what_was_recorded_and_may_accept_changes(project: Project, trip: Run):
    plan = project.plan(trip, 2, by="replay", accept_changes=True)
    assert (plan.by, plan.answered, plan.accepts_changes, plan.code.way) == ("replay", 2, True, "replay")
    assert not project.plan(trip, 2, by="replay").accepts_changes
    restored = project.plan(trip, 2, accept_changes=True)
    assert (restored.by, restored.answered, restored.accepts_changes) == ("restore", 0, False)


def test_an_agent_without_a_way_back_in_is_re_entered_with_the_code_that_is_named(project: Project):
    writer = begin(project, restore=None, entry="agent:stateless")
    for number in (1, 2):
        step(writer, f"move {number}", {"n": number}, ("tool", "look", 1))
    run = ended(project, writer)
    plan = project.plan(run, 2)
    assert (plan.by, plan.code.way, plan.code.function, plan.problems) == ("replay", "replay", "stateless", ())
    assert project.plan(run, 2, agent="agent:another").code.function == "another"
    with pytest.raises(InvalidEntryPoint, match="takes no state"):
        project.plan(run, 2, by="restore")


def test_an_agent_that_cannot_be_restored_at_a_step_is_re_entered_and_that_is_said(project: Project):
    writer = begin(project)
    step(writer, "search", {"pages": []}, track="web")
    run = ended(project, writer)
    plan = project.plan(run, 1)
    assert (plan.by, plan.code.way) == ("replay", "replay")
    assert len(plan.problems) == 1
    assert plan.problems[0].startswith(
        "it is re-entered by replay: trip cannot be forked after step 1 search: its state"
    )


def test_an_agent_that_took_a_state_and_is_gone_now_says_what_is_wrong(project: Project):
    run = ended(project, begin(project, entry="agent:gone"))
    with pytest.raises(InvalidEntryPoint, match="has no gone"):
        project.plan(run, 0)
    # The other entry point is the one that is looked for, and it is not there either.
    with pytest.raises(InvalidEntryPoint, match="has no missing"):
        project.plan(run, 0, agent="agent:missing")


def test_a_step_that_still_runs_is_not_re_entered_after(project: Project):
    writer = begin(project)
    step(writer, "first", {"n": 1})
    writer.open_step(NewStep(name="slow"))
    run = project.store.run(writer.run_id)
    with pytest.raises(UsageError, match="step 2 slow has not ended yet"):
        project.plan(run, 2, by="replay")
    assert project.plan(run, 1, by="replay").step == 1
    writer.finish("interrupted")


def test_a_state_at_a_re_entry_is_edited_after_the_last_step_that_is_kept(project: Project):
    writer = begin(project)
    outer = writer.open_step(NewStep(name="outer"))
    inner = writer.open_step(NewStep(name="inner", parent=outer))
    writer.close_step(inner, StepEnd(status="ok"), {"n": 1})
    writer.close_step(outer, StepEnd(status="ok"), {"n": 2})
    run = ended(project, writer)
    plan = project.plan(run, outer, by="replay", edits=[Edit("set", "n", 5)])
    assert (plan.step, plan.step_name, plan.state) == (inner, "outer", {"n": 5})
    assert plan.edits == (Edit("set", "n", 5, old=2, step=outer),)
    assert plan.problems == ("step 1 contains the steps up to 2: they are kept too",)
    plain = project.plan(run, inner, by="replay", edits=[Edit("set", "n", 5)])
    assert plain.edits == (Edit("set", "n", 5, old=1),)


def test_what_is_odd_about_the_code_and_the_step_is_said_beside_each_other(project: Project):
    gone = str(project.folder / "gone")
    writer = begin(project, metadata={RunFacts.unseen_libraries.key: ["libcurl.so", "libpq.so"]}, cwd=gone)
    outer = writer.open_step(NewStep(name="outer"))
    inner = writer.open_step(NewStep(name="inner", parent=outer))
    for number in (inner, outer):
        writer.close_step(number, StepEnd(status="ok"), {"n": 2})
    run = ended(project, writer)
    terms = Terms(limits=Limits(breaks=("state.n == 2",)))
    problems = project.plan(run, outer, edits=[Edit("set", "m", 1)], terms=terms, allow=["pay"]).problems
    assert [gone in each for each in problems] == [True, *[False] * 5]
    assert problems[1:4] == (
        "step 1 contains the steps up to 2: they are kept too",
        "m is a new key of the state",
        "pay is allowed, but nothing by that name is known of trip",
    )
    assert "state.n == 2" in problems[4]
    assert problems[5] == ("no rule holds what libcurl.so, libpq.so does: it reaches the world by itself, past Python")
    assert not any("no rule holds" in each for each in project.plan(project.made("agent:main", {}), 0).problems)


def test_a_muted_step_is_undone_in_the_state_and_said(project: Project):
    writer = begin(project)
    step(writer, "one", {"n": 0, "found": "x"})
    step(writer, "two", {"n": 0, "found": "x", "more": 1})
    step(writer, "three", {"n": 0, "found": "y", "more": 1})
    run = ended(project, writer)
    plan = project.plan(run, 3, edits=[Edit("mute", "", target="step", step=2), Edit("set", "n", 4)])
    assert plan.state == {"n": 4, "found": "y"}
    assert [(edit.target, edit.op, edit.path) for edit in plan.edits] == [
        ("step", "mute", ""),
        ("state", "delete", "more"),
        ("state", "set", "n"),
    ]
    assert plan.edits[0].value == "two"
    with pytest.raises(InvalidEdit, match="step 0 cannot be muted"):
        project.plan(run, 3, edits=[Edit("mute", "", target="step")])
    with pytest.raises(InvalidEdit, match="step 3 cannot be muted: the fork begins after step 2"):
        project.plan(run, 2, edits=[Edit("mute", "", target="step", step=3)])


def test_what_stays_of_a_muted_step_is_said(project: Project):
    writer = begin(project)
    step(writer, "one", {"n": 1, "found": "x", "extra": 0})
    step(writer, "two", {"n": 2, "found": "x", "extra": 0})
    run = ended(project, writer)
    problems = project.plan(run, 2, edits=[Edit("mute", "", target="step", step=1)]).problems
    assert problems == (
        "step 1 one is muted, but n has been changed since: what it did there stays; --set says otherwise",
    )


def test_the_first_question_of_a_program_without_a_state_is_edited_in_its_place(project: Project):
    writer = project.store.begin_run(
        NewRun(name="ask", code=AgentCode(entry="agent:stateless", root=str(project.folder), cwd=str(project.folder))),
        None,
    )
    project.put("agent.py", AGENT)
    number = writer.open_step(NewStep(name="ask"))
    body = {"model": "m", "messages": [{"role": "user", "content": "Where?"}]}
    args = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "body": body}
    place = writer.begin_call(number, NewCall(kind="llm", name="chat", args=args, signature="00" * 16))
    writer.end_call(number, place, CallEnd(status="ok", result={"status": 200}))
    writer.close_step(number, StepEnd(status="ok"), None)
    run = ended(project, writer)
    plan = project.plan(run, 0, edits=[Edit("set", "messages[0].content", "When?")])
    assert plan.by == "replay"
    assert plan.edits == (Edit("set", "messages[0].content", "When?", old="Where?"),)
    assert plan.state["messages"][0]["content"] == "When?"
    assert project.plan(run, 0).state is None  # nothing was edited: it is as it was


def test_requests_that_are_edited_are_kept_with_what_was_asked(project: Project, trip: Run):
    plan = project.plan(trip, 1, edits=[Edit("set", "", "m-2", target="model"), Edit("set", "n", 5)])
    assert [(edit.target, edit.value) for edit in plan.edits] == [("state", 5), ("model", "m-2")]
    assert any("m-2" in each or "model" in each for each in plan.problems)


def test_values_that_cannot_be_rebuilt_matter_where_they_are_handed_over(project: Project):
    writer = begin(project, state={"n": object()})
    step(writer, "one", {"n": object()}, ("tool", "look", 1))
    run = ended(project, writer)
    with pytest.raises(NotRebuildable):
        project.plan(run, 1)
    assert project.plan(run, 1, by="replay").by == "replay"  # it makes its state again by itself
    opaque = project.store.state(run.id, 1)["n"]
    with pytest.raises(NotRebuildable):
        project.plan(run, 1, by="replay", edits=[Edit("set", "m", opaque)])


def test_a_registered_executor_is_handed_the_state_and_never_re_entered(project: Project, trip: Run):
    project.put("agent.py", AGENT + "@agent_tt.executor('mine')\ndef run_it(*args, **kwargs): ...\n")
    mine = Terms(executor="mine")
    plan = project.plan(trip, 2, terms=mine)
    assert (plan.by, plan.code.executor, plan.step, plan.terms) == ("restore", "mine", 2, mine)
    assert project.plan(trip, 2, terms=mine, by="restore", agent="agent:other").code.function == "other"
    for more in ({"by": "replay"}, {"edits": [result(2)]}):
        with pytest.raises(UsageError, match="a registered executor is handed the state") as caught:
            project.plan(trip, 2, terms=mine, **more)
        assert caught.value.hint == "edit the state instead, or leave out --executor"
    with pytest.raises(InvalidExecutor):
        project.plan(trip, 2, terms=Terms(executor="minne"))


def test_terms_that_do_not_fit_what_runs_are_refused(project: Project, trip: Run):
    with pytest.raises(UsageError, match="a fork after step 2 of trip cannot stop at step 2"):
        project.plan(trip, 2, terms=Terms(limits=Limits(stop_at=2)))
    assert project.plan(trip, 1, terms=Terms(limits=Limits(stop_at=2))).step == 1
    with pytest.raises(UsageError, match="overrides are handed to an agent with its state"):
        project.plan(trip, 1, by="replay", terms=Terms(overrides={"a": 1}))


def test_a_script_is_tried_on_what_was_recorded_before_anything_runs(project: Project):
    writer = begin(project)
    step(writer, "ask", {"n": 1}, ("llm", "rules", {"words": 1}))
    run = ended(project, writer)

    good, bad = ({"error": "TimeoutError: late"},), ({"answer": "yes"},)
    assert project.plan(run, 1, terms=Terms(executor="mock", script=good)).terms.script == good
    assert project.plan(run, 1, terms=Terms(executor="mock")).terms.is_mock
    with pytest.raises((InvalidScript, InvalidEdit)):
        project.plan(run, 1, terms=Terms(executor="mock", script=bad))
    with pytest.raises(UsageError, match="a script answers for models that are not asked"):
        project.plan(run, 1, terms=Terms(script=good))


def test_a_fork_has_the_name_that_it_is_given_or_none(project: Project, trip: Run):
    plan = project.plan(trip, 1, name="mine")
    assert plan.name == "mine"
    assert (project.plan(trip, 1).name, project.plan(trip, 1, name="").name) == (None, None)
    assert (plan.named("yours").name, plan.named("").name, plan.named(None).name) == ("yours", None, None)


def test_tools_that_the_code_declares_are_rows_though_they_were_never_called(project: Project, trip: Run):
    plan = project.plan(trip, 1)
    rows = {row.name: row for row in plan.boundary}
    assert (rows["refund"].seen, rows["refund"].effect, rows["refund"].policy) == (0, "write", "deny")
    assert [row.name for row in plan.writers] == ["refund"]
    assert plan.unheld == ()
    plan.check_held()
    assert project.plan(trip, 1, allow=["refund"]).writers[0].policy == "live"
    # The state is that after the step; the file is that of the store.
    assert (plan.store, plan.run, plan.rules.decide("tool", "refund", effect="write").text) == (
        project.store.path,
        trip,
        "deny",
    )


def test_a_fork_that_may_run_what_it_cannot_hold_is_not_started(project: Project, trip: Run) -> None:
    plan = project.plan(trip, 1)
    row = next(row for row in plan.boundary if row.name == "look")
    shown = [
        replace(row, name=name, effect="write", known_by="shown", rule=Rule("deny")) for name in ("pay it", "send")
    ]
    one = replace(plan, boundary=(row, shown[0]))
    with pytest.raises(UsageError) as caught:
        one.check_held()
    assert caught.value.message == (
        "pay it: a tool that nothing records, or not all calls of, so a fork cannot hold it"
    )
    assert caught.value.hint == (
        "let it run for real with --allow 'pay it', or record it: mark the function with @agent_tt.tool, or name it "
        "with --call when you record the agent"
    )
    with pytest.raises(UsageError) as caught:
        replace(plan, boundary=tuple(shown)).check_held()
    assert caught.value.message == (
        "pay it, send: tools that nothing records, or not all calls of, so a fork cannot hold them"
    )
    assert str(caught.value.hint).startswith(
        "let them run for real with --allow 'pay it' --allow send, or record them: "
    )
    allowed = replace(one, boundary=(row, replace(shown[0], rule=Rule("live"))))
    allowed.check_held()
    assert (one.unheld, one.writers, allowed.unheld) == ((shown[0],), (), ())
    inside = replace(row, name="in", effect="write", is_inside=True)
    outside = replace(row, name="out", effect="write")
    assert replace(plan, boundary=(inside, outside, row)).writers == (outside,)
