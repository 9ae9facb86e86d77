"""The pre-flight of a fork: what it says, and what it refuses before anything runs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import InvalidEdit, InvalidEntryPoint, NotRebuildable, ReadOnlySource, StepNotFound, UsageError
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.policy.policies import Rule, ToolPolicy, read_rule
from agent_tt.forking.request import ForkRequest
from agent_tt.model import AgentCode, CallEnd, Edit, NewCall, NewFork, NewRun, NewStep, Run, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from conftest import Project

    from agent_tt.protocols import RunWriter

AGENT = """\
def main(state=None): ...
def other(state=None): ...
def stateless(): ...
class Loop:
    def run(self): ...
"""


def code_of(project: Project, **facts: object) -> AgentCode:
    known = {"entry": "agent:main", "root": str(project.folder), "cwd": str(project.folder), "restore": "state"}
    return AgentCode(**{**known, **facts})


def begin(project: Project, state: object = None, **facts: object) -> RunWriter:
    project.put("agent.py", AGENT)
    return project.store.begin_run(
        NewRun(name="trip", code=code_of(project, **facts)), {"n": 0} if state is None else state
    )


def end(writer: RunWriter, number: int, state: object, *, track: str = "main", **facts: object) -> None:
    writer.close_step(number, StepEnd(status="ok", **facts), state, track=track)


def finished(project: Project, writer: RunWriter) -> Run:
    writer.finish("succeeded")
    return project.store.run(writer.run_id)


def call(writer: RunWriter, step: int, kind: str, name: str, effect: str | None) -> None:
    number = writer.begin_call(step, NewCall(kind=kind, name=name, args={}, signature="00" * 16, effect=effect))
    writer.end_call(step, number, CallEnd(status="ok", result=None))


@pytest.fixture
def busy(project: Project) -> Run:
    writer = begin(project)
    for number, tool in enumerate(("look", "book", "look"), 1):
        assert writer.open_step(NewStep(name=f"move {number}")) == number
        call(writer, number, "llm", "rules-1", None)
        call(writer, number, "tool", tool, "write" if tool == "book" else "read")
        end(writer, number, {"n": number}, tokens_in=100, tokens_out=10, cost_usd=0.5)
    return finished(project, writer)


def test_a_plan_shows_what_was_called_what_is_to_come_and_what_is_allowed(project: Project, busy: Run) -> None:
    plan = project.plan(busy, 1)
    rows = [(row.name, row.kind, row.effect, row.seen, row.expected, row.policy) for row in plan.boundary]
    assert rows == [
        ("book", "tool", "write", 1, 1, "deny"),
        ("rules-1", "llm", None, 3, 2, "live"),
        ("look", "tool", "read", 2, 1, "live"),
    ]
    expected = plan.expected
    assert (expected.steps, expected.tokens_in, expected.tokens_out, expected.cost_usd) == (2, 200, 20, 1.0)
    assert [row.name for row in plan.writers] == ["book"]
    assert plan.policy == {"*write": "deny"}


def test_a_plan_can_allow_and_deny_again(project: Project, busy: Run) -> None:
    plan = project.plan(busy, 1).with_rule("book", Rule("live"))
    assert plan.writers[0].policy == "live"
    assert plan.policy == project.plan(busy, 1, allow=["book"]).policy == {"*write": "deny", "book": "live"}
    assert plan.without_rule("book").policy == project.plan(busy, 1).policy


def test_a_plan_shows_the_rule_of_every_row_and_whose_it_is(project: Project) -> None:
    writer = begin(project)
    writer.open_step(NewStep(name="all"))
    for kind, name, effect in (
        ("tool", "pay", "write"),
        ("http", "POST https://a/pay", None),
        ("http", "GET https://a", None),
        ("subprocess", "subprocess make", None),
        ("socket", "socket a:25", "write"),
        ("clock", "time.time", None),
    ):
        call(writer, 1, kind, name, effect)
    args = {"method": "POST", "url": "https://a/in"}
    inside = NewCall("http", "POST https://a/in", args, "00" * 16, meta={"inside": {"step": 1, "call": 1}})
    writer.end_call(1, writer.begin_call(1, inside), CallEnd(status="ok"))
    end(writer, 1, {"n": 1})
    run = finished(project, writer)
    config = Rule("ask", source="project", place="/p/pyproject.toml")
    plan = project.plan(run, 0, policy=ToolPolicy((("*http", config),))).with_rule("pay", read_rule('stub:{"ok": 1}'))
    shown = {row.name: (row.rule.text, row.rule.where, row.is_inside) for row in plan.boundary}
    assert shown == {
        "pay": ('stub:{"ok": 1}', "you", False),
        "POST https://a/pay": ("ask", "/p/pyproject.toml", False),
        "subprocess make": ("deny", "default", False),
        "socket a:25": ("deny", "default", False),
        "GET https://a": ("ask", "/p/pyproject.toml", False),
        "POST https://a/in": ("live", "default", True),
    }
    assert [row.name for row in plan.writers] == ["pay", "POST https://a/pay", "subprocess make", "socket a:25"]
    assert plan.without_rule("pay").boundary[0].rule == Rule("deny", source="default")
    assert ToolPolicy.from_mapping(plan.policy) == plan.rules


def test_a_plan_refuses_rules_that_cannot_be_carried_out_and_notes_those_for_nothing(
    project: Project, busy: Run
) -> None:
    writer = begin(project)
    writer.open_step(NewStep(name="all"))
    call(writer, 1, "subprocess", "subprocess make", None)
    request = NewCall("http", "POST https://a", {"method": "POST", "url": "https://a"}, "00" * 16)
    writer.end_call(1, writer.begin_call(1, request), CallEnd(status="ok", result={"status": 200}))
    end(writer, 1, {"n": 1})
    plan = project.plan(finished(project, writer), 0, policy=ToolPolicy())
    with pytest.raises(UsageError, match=r"subprocess make cannot be stub:1: .* process or a connection"):
        plan.with_rule("*subprocess", read_rule("stub:1"))
    with pytest.raises(UsageError, match="Foo is not a Python exception"):
        plan.with_rule("POST https://a", read_rule("error:Foo: bar"))
    configured = Rule("stub", 1, source="project", place="/p/pyproject.toml")
    kept = plan.with_policy(ToolPolicy((("*subprocess", configured),)))  # only what a person gave now is refused
    assert [row.rule.source for row in kept.boundary if row.kind == "subprocess"] == ["project"]
    said = plan_fork(
        project.store, busy, ForkRequest(1, policy=ToolPolicy((("boook", Rule("ask")), ("*http", Rule("deny")))))
    )
    assert said.problems == ("boook has the policy ask, but nothing by that name is known of trip; did you mean book?",)


def test_a_dotted_path_holds_for_nothing_and_that_is_said(project: Project, busy: Run) -> None:
    """`shop.look` would leave `look` as it is: live, where somebody has said deny."""
    with pytest.raises(UsageError, match=r"no call named shop\.look") as refused:
        project.plan(busy, 1, policy=ToolPolicy((("shop.look", Rule("deny")),)))
    assert refused.value.hint == "it is recorded as look: look=deny"
    of_file = Rule("deny", source="project", place="pyproject.toml")
    rules = ToolPolicy((("shop.look", of_file), ("other.agents", of_file)))
    assert plan_fork(project.store, busy, ForkRequest(1, policy=rules)).problems == (
        "shop.look names nothing, it is recorded as look: pyproject.toml",
    )


def test_what_a_started_program_did_is_ruled_as_the_program(project: Project) -> None:
    """A fork does not reach into it: to call its tools denied would promise what nobody keeps."""
    writer = begin(project)
    writer.open_step(NewStep(name="all"))
    call(writer, 1, "subprocess", "subprocess python", None)
    facts = {"inside": {"step": 1, "call": 1}}
    asked = NewCall("tool", "pay", {}, "00" * 16, effect="write", lane="main/proc.0", meta=facts)
    writer.end_call(1, writer.begin_call(1, asked), CallEnd(status="ok"))
    end(writer, 1, {"n": 1})
    plan = project.plan(finished(project, writer), 0)
    rows = [(row.name, row.policy, row.is_inside) for row in plan.boundary]
    assert rows == [("subprocess python", "deny", False), ("pay", "live", True)]


def test_a_fork_of_a_fork_begins_with_the_defaults_again(project: Project, busy: Run) -> None:
    allowed = project.plan(busy, 1, allow=["book"])
    fork_id = project.store.begin_fork(NewFork(busy.id, 1, state={}, new=NewRun(name=""), policy=allowed.policy))
    project.store.set_run_status(fork_id, "failed")
    fork = project.store.run(fork_id)
    assert fork.policy == {"*write": "deny", "book": "live"}
    assert project.plan(replace(fork, code=busy.code), 1).policy == {"*write": "deny"}


def test_a_plan_says_what_will_run_and_how_it_gets_the_state(project: Project, busy: Run) -> None:
    plan = project.plan(busy, 2, edits=[Edit("set", "n", 9)])
    assert (plan.step_name, plan.state, plan.edits) == ("move 2", {"n": 9}, (Edit("set", "n", 9, old=2),))
    assert (plan.code.file, plan.code.line) == (project.folder / "agent.py", 1)
    assert plan.code.way_back_in == "main(state=…) gets the edited state"
    other = project.plan(busy, 2, agent="agent.py:other").code
    assert (other.entry, other.line) == ("agent.py:other", 2)


def test_a_plan_changes_nothing_in_the_store(project: Project, busy: Run) -> None:
    before = project.store.version()
    project.plan(busy, 2)
    assert project.store.version() == before
    assert len(project.store.runs()) == 1


def test_allowing_a_tool_that_was_never_called_is_pointed_out(project: Project, busy: Run) -> None:
    assert "pay is allowed, but nothing by that name is known of trip" in project.plan(busy, 1, allow=["pay"]).problems


def test_a_plan_can_be_made_while_only_reading(project: Project, busy: Run) -> None:
    with closing(open_store(project.store_path, read_only=True)) as source:
        assert plan_fork(source, busy, ForkRequest(1)) == project.plan(busy, 1)


def test_a_run_of_another_system_cannot_be_forked(project: Project, busy: Run) -> None:
    with pytest.raises(ReadOnlySource, match="no program that could run"):
        project.plan(replace(busy, read_only=True), 1)


def test_a_step_that_is_not_there_is_refused(project: Project, busy: Run) -> None:
    with pytest.raises(StepNotFound):
        project.plan(busy, 4)


def test_an_edit_that_does_not_fit_is_refused(project: Project, busy: Run) -> None:
    with pytest.raises(InvalidEdit):
        project.plan(busy, 1, edits=[Edit("delete", "nothing")])


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"entry": None}, "did not record which function"),
        ({"restore": None, "entry": "agent:Loop.run"}, "takes no state"),
        ({"restore": None, "entry": "agent:stateless"}, "takes no state="),
        ({"entry": "agent:gone"}, "has no gone"),
        ({"entry": "gone.py:main"}, "there is no file gone.py any more"),
        ({"entry": "agent:main.<locals>.run"}, "inside another function"),
    ],
)
def test_a_run_without_a_way_back_in_says_why_and_what_to_do(
    project: Project, facts: dict[str, object], says: str
) -> None:
    run = finished(project, begin(project, **facts))
    with pytest.raises(InvalidEntryPoint, match=says) as caught:
        project.plan(run, 0, by="restore")
    assert caught.value.hint


def test_a_file_whose_folders_are_gone_too_is_not_looked_for_nowhere(project: Project) -> None:
    gone = str(project.folder / "gone")
    run = finished(project, begin(project, entry="gone.py:main", root=gone, cwd=gone))
    with pytest.raises(InvalidEntryPoint, match=r"there is no file gone\.py any more") as caught:
        project.plan(run, 0, by="restore")
    assert caught.value.hint == (
        "no folder that was recorded is on this machine; name where it is now with --agent path/file.py:callable"
    )


def test_an_entry_point_that_takes_a_state_by_now_is_a_way_back_in(project: Project) -> None:
    run = finished(project, begin(project, restore=None))
    assert project.plan(run, 0).code.restore == "state"


def test_another_entry_point_is_a_way_back_into_any_run(project: Project) -> None:
    run = finished(project, begin(project, entry=None, restore=None))
    assert project.plan(run, 0, agent="agent:main").code.entry == "agent:main"


def test_a_file_typed_by_a_person_is_looked_for_where_they_are(
    project: Project, busy: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.put("elsewhere/mine.py", AGENT)
    monkeypatch.chdir(project.folder / "elsewhere")
    assert project.plan(busy, 1, agent="mine.py:main").code.entry == "elsewhere/mine.py:main"


def test_places_that_are_gone_are_replaced_and_said(project: Project) -> None:
    gone = str(project.folder / "gone")
    plan = project.plan(finished(project, begin(project, interpreter=f"{gone}/python", cwd=gone)), 0)
    assert [problem for problem in plan.problems if gone in problem] == list(plan.problems)
    assert len(plan.problems) == 2
    assert plan.code.cwd == str(project.folder)


def test_a_value_that_cannot_be_rebuilt_is_refused_by_its_path_until_it_is_edited(project: Project) -> None:
    run = finished(project, begin(project, {"tools": [1, object()]}))
    with pytest.raises(NotRebuildable, match=r"tools\[1\]") as caught:
        project.plan(run, 0)
    assert caught.value.path == "tools[1]"
    assert project.plan(run, 0, edits=[Edit("set", "tools[1]", None)]).state == {"tools": [1, None]}


def test_a_class_inside_a_function_is_refused_by_its_path(project: Project) -> None:
    from dataclasses import make_dataclass

    local = make_dataclass("Local", ["x"])
    local.__qualname__ = "f.<locals>.Local"
    run = finished(project, begin(project, {"a": local(1)}))
    with pytest.raises(NotRebuildable, match=r"a is a .*inside a function"):
        project.plan(run, 0)


def test_a_step_that_still_runs_cannot_be_forked(project: Project) -> None:
    writer = begin(project)
    writer.open_step(NewStep(name="slow"))
    with pytest.raises(UsageError, match="not ended yet"):
        project.plan(writer.run_id, 1)
    assert project.plan(writer.run_id, 0).step == 0
    end(writer, 1, {"n": 1})
    finished(project, writer)


def test_steps_that_were_open_on_one_state_cannot_be_forked(project: Project) -> None:
    writer = begin(project)
    for name in ("first", "left", "right"):
        writer.open_step(NewStep(name=name))
        if name == "first":
            end(writer, 1, {"n": 1})
    end(writer, 2, {"n": 2})
    end(writer, 3, {"n": 3})
    writer.open_step(NewStep(name="last"))
    end(writer, 4, {"n": 4})
    run = finished(project, writer)
    with pytest.raises(UsageError, match="right was open on the same state") as caught:
        project.plan(run, 2, by="restore")
    assert "step 1 first" in caught.value.hint
    assert [project.plan(run, step).step for step in (1, 3, 4)] == [1, 3, 4]  # nothing was left open when these ended


def test_a_step_that_others_outlived_or_ended_inside_cannot_be_forked(project: Project) -> None:
    writer = begin(project)
    for name in ("long", "short", "other"):
        writer.open_step(NewStep(name=name))
    for number in (2, 1, 3):
        end(writer, number, {"n": number})
    run = finished(project, writer)
    with pytest.raises(UsageError, match="short was open"):
        project.plan(run, 1, by="restore")
    with pytest.raises(UsageError, match="was open on the same state"):
        project.plan(run, 2, by="restore")
    assert project.plan(run, 3).step == 3


def test_a_step_that_contains_others_is_forked_with_them_and_one_of_these_is_not(project: Project) -> None:
    writer = begin(project)
    outer = writer.open_step(NewStep(name="outer"))
    inner = writer.open_step(NewStep(name="inner", parent=outer))
    end(writer, inner, {"n": 1})
    end(writer, outer, {"n": 2})
    after = writer.open_step(NewStep(name="after"))
    end(writer, after, {"n": 3})
    run = finished(project, writer)
    plan = project.plan(run, outer)
    assert (plan.step, plan.step_name, plan.state) == (inner, "outer", {"n": 2})
    assert plan.expected.steps == 1
    with pytest.raises(UsageError, match="part of step 1"):
        project.plan(run, inner, by="restore")
    assert project.plan(run, after).step == after


def test_a_step_around_one_that_has_a_state_of_its_own_or_outlives_it_cannot_be_forked(project: Project) -> None:
    writer = begin(project)
    for name in ("around", "late"):
        outer = writer.open_step(NewStep(name=name))
        inner = writer.open_step(NewStep(name="search", parent=outer))
        first, second = (inner, outer) if name == "around" else (outer, inner)
        end(writer, first, {"n": first}, track="web" if name == "around" else "main")
        end(writer, second, {"n": second})
    run = finished(project, writer)
    with pytest.raises(UsageError, match="inside it has a state of its own"):
        project.plan(run, 1, by="restore")
    with pytest.raises(UsageError, match="inside it was not over then"):
        project.plan(run, 3, by="restore")


def test_a_state_that_is_one_agents_own_cannot_be_forked(project: Project) -> None:
    writer = begin(project)
    number = writer.open_step(NewStep(name="search", agent="web"))
    end(writer, number, {"pages": []}, track="web")
    run = finished(project, writer)
    with pytest.raises(UsageError, match="that of web alone"):
        project.plan(run, number, by="restore")


def test_an_edit_of_a_key_that_the_state_does_not_have_is_said_with_what_may_be_meant(project: Project) -> None:
    state = {"trip": {"destination": "Rome", "nights": 4}, "where": [{"destination": "x"}]}
    project.put("agent.py", "def main(state=None): ...")
    run = project.made("agent:main", state)

    def told(path: str) -> tuple[str, ...]:
        return project.plan(run, 0, edits=[Edit("set", path, "Oslo")]).problems

    assert told("destination") == (
        "destination is a new key of the state: did you mean trip.destination or where[0].destination?",
    )
    assert told("trip.night") == ("trip.night is a new key of the state: did you mean trip.nights?",)
    assert told("extra") == ("extra is a new key of the state",)
    assert told("trip.destination") == ()
