"""Which way back in a fork takes: chosen, said, and overridden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import InvalidEdit, InvalidEntryPoint
from agent_tt.forking.editing.assignments import parse_assignment, parse_move, parse_removal
from agent_tt.forking.editing.call_edits import parse_call_edit
from agent_tt.forking.editing.request_edits import model_edit, parse_parameter, system_edit
from agent_tt.model import AgentCode, CallEnd, Edit, NewCall, NewFork, NewRun, NewStep, StepEnd

if TYPE_CHECKING:
    from conftest import Project

    from agent_tt.model import Run

AGENT = """
def main(state=None):
    pass


def other():
    pass


def needs(name):
    pass
"""


@pytest.fixture
def run(project: Project) -> Run:
    """Three steps: each asks a model (a function of the agent's) and a tool."""
    project.put("agent.py", AGENT)
    root = str(project.folder)
    code = AgentCode(entry="agent:main", root=root, cwd=root, restore="state")
    state: dict[str, object] = {"messages": [], "n": 0}
    writer = project.store.begin_run(NewRun(name="made", code=code), state)
    for n in (1, 2, 3):
        step = writer.open_step(NewStep(name=f"move {n}"))
        asked = {"messages": [{"role": "system", "content": "Be brief."}], "temperature": 1}
        facts = {"model": "rules-1"}  # known, but no argument of the function
        model = writer.begin_call(step, NewCall("llm", "ask", asked, "00" * 16, lane_seq=2 * n - 1, meta=facts))
        answer = {"message": {"role": "assistant", "content": f"look {n}"}}
        writer.end_call(step, model, CallEnd("ok", answer))
        tool = writer.begin_call(step, NewCall("tool", "look", {"n": n}, "11" * 16, "read", lane_seq=2 * n))
        writer.end_call(step, tool, CallEnd("ok", {"n": n, "rows": [1, 2]}))
        state = {"messages": [*state["messages"], {"n": n}], "n": n}  # type: ignore[misc]
        writer.close_step(step, StepEnd(status="ok"), state)
    writer.finish("succeeded")
    return project.store.run(writer.run_id)


def test_a_state_is_handed_over_where_the_entry_point_takes_one(project: Project, run: Run) -> None:
    plan = project.plan(run, 2)
    assert (plan.by, plan.answered, plan.code.way_back_in) == ("restore", 0, "main(state=…) gets the edited state")
    plan = project.plan(run, 2, by="replay")
    assert (plan.by, plan.answered, plan.step) == ("replay", 4, 2)
    assert plan.code.way_back_in.startswith("main() runs from its beginning")


def test_an_entry_point_that_takes_no_state_is_re_entered(project: Project, run: Run) -> None:
    assert project.plan(run, 2, agent="agent:other").by == "replay"
    with pytest.raises(InvalidEntryPoint, match="takes no state="):
        project.plan(run, 2, agent="agent:other", by="restore")
    with pytest.raises(InvalidEntryPoint, match="also needs name, which a fork does not have"):
        project.plan(run, 2, agent="agent:needs", by="replay")
    project.put("agent.py", AGENT.replace("main(state=None)", "main(name)"))
    with pytest.raises(InvalidEntryPoint, match="takes no state="):
        project.plan(run, 2)


def test_an_edited_call_begins_the_fork_before_its_step(project: Project, run: Run) -> None:
    plan = project.plan(run, None, edits=[parse_call_edit("2.rows[0]=9", "result")])
    assert (plan.by, plan.step, plan.step_name) == ("replay", 1, "move 1")
    assert plan.edits == (Edit("set", "rows[0]", 9, old=1, target="result", step=2, call=2),)
    assert plan.edits[0].where == "result of call 2 in step 2, rows[0]"
    (edit,) = project.plan(run, 2, edits=[parse_call_edit("2=Stop here.", "answer")]).edits
    assert (edit.call, edit.value) == (1, "Stop here.")


def test_a_state_edited_with_a_call_is_changed_when_the_step_has_ended_anew(project: Project, run: Run) -> None:
    edits = [parse_call_edit("2=9", "result"), parse_assignment("n=7")]
    plan = project.plan(run, 2, edits=edits)
    assert plan.state == {"messages": [{"n": 1}], "n": 1}
    assert [(edit.target, edit.step) for edit in plan.edits] == [("state", 2), ("result", 2)]


def test_later_requests_are_edited_with_what_they_were(project: Project, run: Run) -> None:
    edits = [
        system_edit("Be long."),
        model_edit("other"),
        parse_parameter("temperature=0"),
        parse_parameter("top_k=null"),
    ]
    plan = project.plan(run, 1, edits=edits)
    assert [(edit.target, edit.path, edit.old, edit.op) for edit in plan.edits] == [
        ("system", "", "Be brief.", "set"),
        ("model", "", "rules-1", "set"),
        ("parameter", "temperature", 1, "set"),
        ("parameter", "top_k", None, "delete"),
    ]
    assert "ask took no model when it was recorded" in plan.problems
    assert plan.by == "restore"


def test_a_muted_step_is_kept_as_what_it_is_and_as_what_it_does(project: Project, run: Run) -> None:
    plan = project.plan(run, 3, edits=[Edit("mute", "", target="step", step=2)])
    assert plan.state == {"messages": [{"n": 1}, {"n": 3}], "n": 3}
    assert [(edit.op, edit.where) for edit in plan.edits] == [("mute", "step 2"), ("delete", "messages[1]")]
    last = project.plan(run, 3, edits=[Edit("mute", "", target="step", step=3)])
    assert last.state == {"messages": [{"n": 1}, {"n": 2}], "n": 2}
    with pytest.raises(InvalidEdit, match="step 9 cannot be muted"):
        project.plan(run, 3, edits=[Edit("mute", "", target="step", step=9)])


def test_every_kind_of_edit_is_kept_with_the_fork(project: Project, run: Run) -> None:
    edits = [
        *(parse_assignment("messages[0]=1", op="insert"), parse_removal("n"), parse_move("messages[0]=messages[1]")),
        *(parse_call_edit("2.1=hello", "answer"), parse_call_edit("2.2=TimeoutError: late", "error")),
        *(system_edit("s"), model_edit("m"), parse_parameter("a.b=[1]"), Edit("mute", "", target="step", step=1)),
    ]
    fork_id = project.store.begin_fork(
        NewFork(run.id, 1, state={}, new=NewRun(""), edits=edits, policy={}, way_back_in="replay")
    )
    fork = project.store.run(fork_id)
    assert (list(fork.edits), fork.way_back_in) == (edits, "replay")
    assert project.store.run(run.id).way_back_in is None


@pytest.mark.parametrize(
    ("text", "target", "read"),
    [
        ("6=1", "result", (6, None, "", 1)),
        ("6.2=1", "result", (6, 2, "", 1)),
        ("6.2.items[0].price=1", "result", (6, 2, "items[0].price", 1)),
        ("6.items=[]", "result", (6, None, "items", [])),
        ("6[0]=null", "result", (6, None, "[0]", None)),
        ('6["a=b"]="c=d"', "result", (6, None, '["a=b"]', "c=d")),
        ("3=Book it = now", "answer", (3, None, "", "Book it = now")),
        ("3=42", "answer", (3, None, "", "42")),
        ("3.1=ValueError", "error", (3, 1, "", "ValueError")),
    ],
)
def test_edits_of_calls_are_read(text: str, target: str, read: tuple[object, ...]) -> None:
    edit = parse_call_edit(text, target)  # type: ignore[arg-type]
    assert (edit.step, edit.call, edit.path, edit.value) == read


@pytest.mark.parametrize(
    ("text", "target"), [("six=1", "result"), ("6", "result"), ("6=nope nope", "result"), ("6=no error!", "error")]
)
def test_what_is_no_edit_of_a_call_is_refused_with_an_example(text: str, target: str) -> None:
    with pytest.raises(InvalidEdit if target == "error" or "nope" not in text else Exception) as refused:
        parse_call_edit(text, target)  # type: ignore[arg-type]
    assert getattr(refused.value, "hint", "")


def test_an_edit_of_an_answer_where_no_model_was_asked_says_which_calls_there_are(project: Project) -> None:
    project.put("agent.py", AGENT)
    root = str(project.folder)
    code = AgentCode(entry="agent:main", root=root, cwd=root, restore="state")
    writer = project.store.begin_run(NewRun(name="asks-nobody", code=code), {})
    step = writer.open_step(NewStep(name="look"))
    tool = writer.begin_call(step, NewCall("tool", "look", {}, "11" * 16, "read", lane_seq=1))
    writer.end_call(step, tool, CallEnd("ok", 7))
    writer.close_step(step, StepEnd(status="ok"), {})
    writer.finish("succeeded")
    asked_nobody = project.store.run(writer.run_id)
    with pytest.raises(InvalidEdit, match="step 1 look asks no model, so it has no answer") as refused:
        project.plan(asked_nobody, None, edits=[parse_call_edit("1=Yes.", "answer")])
    assert refused.value.hint == "its calls are 1.1 look: use --result 1.CALL=VALUE"
