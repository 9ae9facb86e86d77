"""Forks of LangGraph threads: where each goes on, what it is given, and that the thread itself stays as it was."""

from __future__ import annotations

import contextlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graph_agents
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from tests.postgres_server import postgres_saver

import agent_tt
from agent_tt.comparing import compare
from agent_tt.errors import InvalidEdit, InvalidEntryPoint, UsageError
from agent_tt.forking.graphs import beginning_of
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.forking.terms import terms_from
from agent_tt.langgraph import Checkpointer
from agent_tt.model import Edit, Run, Step
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.routing import next_after_edit
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fork_here import Listener
    from tests.postgres_server import TestDatabase

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.model import Call

pytestmark = pytest.mark.warm(
    "agent_tt.langgraph",
    "langchain_core.language_models.fake_chat_models",
    "langchain_core.tools",
    "langgraph.checkpoint.sqlite",
    "langgraph.prebuilt",
)

THREAD: dict[str, Any] = {"configurable": {"thread_id": "desk"}}
AGENTS = Path(__file__).with_name("graph_agents.py")


class Desk:
    """A thread that was recorded, and forks of it.

    Attributes:
        file: where the thread is.
        store: where forks are written.
    """

    def __init__(
        self, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch, server: TestDatabase | None = None
    ) -> None:
        self.kind = kind
        self.server = server
        self.store = folder / "runs.db"
        self.file: Path = self.store if kind == "ours" else folder / "checkpoints.db"
        if server is not None:
            self.file = server.address
        self.ran_file = folder / "ran"
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("AGENT_TT_STORE", str(self.store))
        monkeypatch.setenv("RAN", str(self.ran_file))
        monkeypatch.chdir(folder)

    def record(self, graph: str, *given: object, fails: bool = False) -> list[Step]:
        """Run a graph on each of what it is given; give the steps of the thread."""
        builder = getattr(graph_agents, graph)()
        with self._saver() as saver:
            compiled = builder.compile(checkpointer=saver)
            for each in given:
                with pytest.raises(ValueError, match="no answer") if fails else contextlib.nullcontext():
                    compiled.invoke(each, THREAD)
        self.ran_file.write_text("")
        return self.steps("desk", self.file)

    @contextlib.contextmanager
    def _saver(self) -> Iterator[Any]:
        if self.kind == "ours":
            with Checkpointer(self.store) as saver:
                yield saver
        elif self.server is not None:
            with postgres_saver(self.server) as saver:
                yield saver
        else:
            with closing(sqlite3.connect(self.file, check_same_thread=False)) as connection:
                yield SqliteSaver(connection)

    def plan(
        self, step: int, graph: str | None, *, run: str = "desk", file: Path | None = None, **said: Any
    ) -> ForkPlan:
        terms = terms_from(overrides=said.pop("told", {}))
        agent = None if graph is None else f"{AGENTS}:{graph}"
        with closing(open_source(file or self.file)) as source:
            return plan_fork(source, run, ForkRequest(step, agent=agent, terms=terms, **said))

    def fork(self, step: int, graph: str | None, **said: Any) -> Run:
        """Fork, and give the run when it is over."""
        with start_fork(self.plan(step, graph, **said)) as handle:
            handle.wait()
            self.output = handle.output()
        with closing(open_store(self.store, read_only=True)) as store:
            return store.run(handle.run_id)

    def steps(self, run: str, file: Path | None = None) -> list[Step]:
        with closing(open_source(file or self.store)) as source:
            return list(source.steps(source.run(run).id))

    def state(self, run: Run, step: int | None = None) -> dict[str, Any]:
        with closing(open_source(self.store)) as source:
            found: Any = source.state(run.id, run.steps if step is None else step)
        return {name: value for name, value in found.items() if name != "__langgraph__"}

    def ran(self) -> list[str]:
        """The nodes that ran in forks so far; those that ran at once in the order of the alphabet."""
        return sorted(self.ran_file.read_text().split())

    def has_pending(self, channel: str) -> bool:
        """Whether a task wrote to a channel in a superstep that never ended."""
        with self._saver() as saver:
            return any(write[1] == channel for write in saver.get_tuple(THREAD).pending_writes)

    def history(self) -> list[Any]:
        """What LangGraph itself knows of the thread, and every byte of a file that is not ours."""
        with self._saver() as saver:
            history = [(each.config, each.checkpoint["channel_values"]) for each in saver.list(THREAD)]
        if self.server is not None:
            return [history, self.server.rows()]
        return history if self.kind == "ours" else [history, self.file.read_bytes()]


ANYWHERE = pytest.mark.parametrize("desk", ["ours", "sqlite", "postgres"], indirect=True)
"""A database on a server is copied by the same code as a file: these tests show that it is as good a beginning."""


@pytest.fixture(params=["ours", "sqlite"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    server = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return Desk(tmp_path, request.param, monkeypatch, server)


def after(steps: list[Step], name: str) -> int:
    """The number of the step of a node."""
    return next(step.number for step in steps if step.name == name)


def names(desk: Desk, run: Run) -> list[str]:
    """The fork's own steps."""
    return [step.name for step in desk.steps(run.id)[run.fork_step :]]


def calls_of(desk: Desk, run: Run) -> list[Call]:
    """The calls of the fork's own steps."""
    with closing(open_source(desk.store)) as source:
        steps = source.steps(run.id)[run.fork_step or 0 :]
        return [call for step in steps for call in source.calls(run.id, step.number)]


def setting(path: str, value: Any, op: Any = "set") -> list[Edit]:
    return [Edit(op, path, value)]


@ANYWHERE
def test_a_fork_goes_on_where_the_pre_flight_says_and_leaves_the_thread_as_it_was(desk: Desk):
    steps = desk.record("chain", {"log": ["in"], "topic": "x"})
    before = desk.history()
    plan = desk.plan(after(steps, "a"), "chain", edits=setting("topic", "y"))
    assert plan.goes_on_with == ("b",)
    assert plan.problems == ("topic: overwritten; where the graph has a reducer for it, that is passed by",)
    assert plan.copied_from == (None if desk.kind == "ours" else desk.file)
    run = desk.fork(after(steps, "a"), "chain", edits=setting("topic", "y"))
    assert (run.status, names(desk, run)) == ("succeeded", ["update", "b", "c"])
    assert desk.state(run) == {"log": ["in", "a x", "b y", "c y"], "topic": "y"}
    assert desk.ran() == ["b", "c"]
    assert desk.history() == before


def test_what_only_langgraph_uses_is_no_difference_between_a_run_and_its_fork(desk: Desk):
    steps = desk.record("chain", {"log": ["in"], "topic": "x"})
    fork = desk.fork(after(steps, "a"), "chain")
    copied = desk.steps(fork.parent)
    assert [step.name for step in copied] == [step.name for step in steps]
    assert [step.ended_us - step.started_us for step in copied[1:]] == pytest.approx(
        [step.ended_us - step.started_us for step in steps[1:]], abs=1000 if desk.kind == "sqlite" else 0
    )
    with closing(open_source(desk.store)) as source:
        states = [source.state(each, fork.steps) for each in (fork.parent, fork.id)]
        assert states[0] != states[1]
        found = compare(fork.parent, fork.id)
        assert (found.diverged_at, found.final_equal) == (None, True)
        edited = desk.fork(after(steps, "a"), "chain", edits=setting("topic", "y"))
        found = compare(fork.parent, edited.id)
        assert {change.path for change in found.final_changes} == {"log[2]", "log[3]", "topic"}


@ANYWHERE
def test_a_fork_and_its_thread_are_in_one_store_and_can_be_compared(desk: Desk):
    steps = desk.record("chain", {"log": ["in"]})
    run = desk.fork(after(steps, "b"), "compiled")
    with closing(open_source(desk.store)) as source:
        parent = source.run(run.parent or "")
        diff = source.state(parent.id, run.fork_step or 0)
        assert source.state(run.id, run.fork_step or 0) == diff
        assert parent.name == ("desk" if desk.kind == "ours" else f"{desk.file.stem}/desk")
    assert names(desk, run) == ["c"]
    again = desk.fork(after(steps, "a"), "compiled")
    assert again.parent == run.parent, "the thread was copied once"


def test_what_is_added_to_a_list_goes_through_the_reducer_and_any_other_change_around_it(desk: Desk):
    at = after(desk.record("chain", {"log": ["in"]}), "a")
    added = desk.fork(at, "chain", edits=setting("log[2]", "more", "insert"))
    assert desk.state(added)["log"] == ["in", "a", "more", "b", "c"]
    put = desk.fork(at, "chain", edits=setting("log", ["new"]))
    assert desk.state(put)["log"] == ["new", "b", "c"]


def test_as_node_decides_which_nodes_run_next(desk: Desk):
    steps = desk.record("chain", {"log": ["in"]})
    run = desk.fork(after(steps, "c"), "chain", told={"as_node": "a"})
    assert names(desk, run) == ["update", "b", "c"]
    assert desk.ran() == ["b", "c"]
    wrong = desk.fork(after(steps, "c"), "chain", told={"as_node": "d"})
    assert wrong.status == "failed"
    assert "the graph has no node d" in str(wrong.error)


def test_an_edit_whose_node_cannot_be_told_asks_for_it_and_runs_nothing(desk: Desk):
    steps = desk.record("ambiguous", {"log": ["in"]})
    at = after(steps, "left, right")
    run = desk.fork(at, "ambiguous", edits=setting("topic", "y"))
    assert (run.status, desk.ran()) == ("failed", [])
    assert "--as-node" in desk.output
    run = desk.fork(at, "ambiguous", edits=setting("topic", "y"), told={"as_node": "first"})
    assert names(desk, run) == ["update", next_by_langgraph(), "join"]


def next_by_langgraph() -> str:
    """Which nodes LangGraph itself runs after the same edit as that node, as the name of a step."""
    graph = graph_agents.ambiguous().compile(checkpointer=InMemorySaver())
    graph.invoke({"log": ["in"]}, THREAD)
    then = next(each for each in graph.get_state_history(THREAD) if each.next == ("join",))
    return ", ".join(graph.get_state(graph.update_state(then.config, {"topic": "y"}, as_node="first")).next)


@ANYWHERE
def test_a_fork_after_a_fan_out_runs_each_send_once(desk: Desk):
    steps = desk.record("fan_out", {"log": ["in"], "topic": "ab"})
    at = after(steps, "plan")
    plan = desk.plan(at, "fan_out")
    assert sorted(plan.goes_on_with or ()) == ["worker", "worker"]
    run = desk.fork(at, "fan_out")
    assert names(desk, run) == ["worker ×2", "join"]
    assert desk.state(run)["log"] == ["in", "plan ab", "worker a", "worker b", "join ab"]
    assert desk.ran() == ["join", "worker", "worker"]
    edited = desk.fork(at, "fan_out", edits=setting("topic", "xyz"))
    assert desk.state(edited)["log"] == ["in", "plan ab", "worker x", "worker y", "worker z", "join xyz"]
    joined = desk.fork(after(steps, "worker ×2"), "fan_out")
    assert names(desk, joined) == ["join"]


def test_a_fork_inside_a_subgraph_says_that_the_subgraph_begins_anew(desk: Desk):
    steps = desk.record("nested", {"log": ["in"]})
    at = after(steps, "inner1")
    plan = desk.plan(at, "nested")
    begins = steps[plan.step - 1]
    assert begins.name == "first"
    assert f"the fork goes on from step {begins.number}" in plan.problems[0]
    assert "inside the subgraph middle, which LangGraph runs from its beginning" in plan.problems[0]
    assert plan.goes_on_with == ("middle",)
    run = desk.fork(at, "nested")
    assert names(desk, run) == ["middle", "last"]
    assert desk.ran() == ["inner1", "inner2", "last"]
    with pytest.raises(UsageError, match="inside the subgraph"):
        desk.plan(at, "nested", edits=setting("topic", "y"))


def test_a_question_is_asked_again_answered_as_it_was_or_otherwise(desk: Desk):
    steps = desk.record("asking", {"log": ["in"]}, Command(resume="red"))
    at = after(steps, "first")
    again = desk.fork(at, "asking")
    assert names(desk, again) == ["ask"]
    assert desk.state(again)["log"] == ["in", "first"]
    assert desk.ran() == ["ask"]
    reused = desk.fork(at, "asking", told={"reuse_answers": True})
    assert desk.state(reused)["log"] == ["in", "first", "told red", "last"]
    other = desk.fork(at, "asking", told={"resume": "blue"})
    assert desk.state(other)["log"] == ["in", "first", "told blue", "last"]


def test_a_thread_that_waits_is_answered_in_its_fork(desk: Desk):
    steps = desk.record("asking", {"log": ["in"]})
    before = desk.history()
    at = steps[-1].number
    other = desk.fork(at, "asking", told={"resume": {"shade": "blue"}})
    assert desk.state(other)["log"] == ["in", "first", "told {'shade': 'blue'}", "last"]
    missing = desk.fork(at, "asking", told={"reuse_answers": True})
    assert missing.status == "failed"
    assert "no answer to a question was recorded" in desk.output
    assert desk.history() == before


def test_a_fork_that_asked_is_forked_with_the_answer(desk: Desk):
    steps = desk.record("asking", {"log": ["in"]}, Command(resume="red"))
    asked = desk.fork(after(steps, "first"), "asking")
    answered = desk.fork(asked.steps, None, run=asked.id, file=desk.store, told={"resume": "green"})
    assert answered.parent == asked.id
    assert desk.state(answered)["log"] == ["in", "first", "told green", "last"]


@ANYWHERE
def test_a_question_inside_a_subgraph_is_answered_where_it_was_asked(desk: Desk):
    steps = desk.record("asking_inside", {"log": ["in"]})
    at = max(step.number for step in steps if step.name == "first")
    run = desk.fork(at, "asking_inside", told={"resume": "red"})
    assert desk.state(run)["log"][-1] == "told red"
    assert desk.ran() == ["ask"], "what had ended inside the subgraph stays"


def test_after_an_error_only_what_failed_runs_again(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BROKEN", "1")
    steps = desk.record("failing", {"log": ["in"]}, fails=True)
    at = max(step.number for step in steps if step.name == "first")
    was_stored = desk.has_pending("log")
    failed = desk.fork(at, "failing")
    assert failed.status == "failed"
    monkeypatch.delenv("BROKEN")
    desk.ran_file.write_text("")
    run = desk.fork(at, "failing")
    assert run.status == "succeeded"
    assert desk.state(run)["log"] == ["in", "first", "bad mended", "good"]
    assert desk.ran() == (["bad"] if was_stored else ["bad", "good"])


def test_a_fork_of_a_fork_goes_on_from_the_edited_state(desk: Desk):
    steps = desk.record("chain", {"log": ["in"], "topic": "x"})
    first = desk.fork(after(steps, "a"), "chain", edits=setting("topic", "y"))
    mine = desk.steps(first.id)
    second = desk.fork(after(mine, "b"), None, run=first.id, file=desk.store, edits=setting("topic", "z"))
    assert desk.state(second)["log"] == ["in", "a x", "b y", "c z"]
    third = desk.fork(first.fork_step or 0, None, run=first.id, file=desk.store)
    assert desk.state(third)["log"] == ["in", "a x", "b y", "c y"], "its first edit is made there, too"


def test_nodes_that_can_only_be_awaited_run(desk: Desk):
    steps = desk.record("chain", {"log": ["in"]})
    run = desk.fork(after(steps, "a"), "awaited", told={"as_node": "first"})
    assert desk.state(run)["log"][-1] == "waited"


def test_under_deny_no_tool_writes_and_nothing_leaves(desk: Desk, listener: Listener, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SERVER", f"http://127.0.0.1:{listener.port}")
    steps = desk.record("paying", {"messages": [("user", "pay")]})
    assert listener.heard() == 1
    at = after(steps, "__start__")
    denied = desk.fork(at, "paying")
    assert desk.ran() == []
    assert listener.heard() == 0
    assert [call.status for call in calls_of(desk, denied) if call.name == "charge"] == ["denied"]
    allowed = desk.fork(at, "paying", allow=("charge",))
    assert desk.ran() == ["charge"]
    assert listener.heard() == 0
    assert allowed.status == "succeeded"


def test_forks_of_graphs_are_replayed_offline_as_recorded(
    desk: Desk, listener: Listener, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SERVER", f"http://127.0.0.1:{listener.port}")
    steps = desk.record("paying", {"messages": [("user", "pay")]})
    at = after(steps, "__start__")
    denied, allowed = desk.fork(at, "paying"), desk.fork(at, "paying", allow=("charge",))
    paid = desk.ran()
    listener.heard()
    for run in (denied, allowed, allowed, allowed, allowed, allowed):
        report = agent_tt.replay(run.id, store=desk.store)
        assert (report.verdict, report.divergences) == ("as_recorded", ())
        assert report.served == len(calls_of(desk, run))
    assert (desk.ran(), listener.heard()) == (paid, 0)


@pytest.mark.parametrize(
    ("recorded", "graph", "node", "said"),
    [
        ("chain", "chain", "b", {"edits": setting("topic", "y"), "told": {"as_node": "a"}}),
        ("asking", "asking", "first", {"told": {"resume": "blue"}}),
        ("chain", "awaited", "a", {"told": {"as_node": "first"}}),
    ],
)
def test_the_replay_of_a_fork_gives_its_graph_the_edit_and_the_answer_again(
    desk: Desk, recorded: str, graph: str, node: str, said: dict[str, Any]
):
    steps = desk.record(recorded, {"log": ["in"], "topic": "x"})
    run = desk.fork(after(steps, node), graph, **said)
    report = agent_tt.replay(run.id, store=desk.store)
    assert [note.kind for note in report.reservations] == ["nothing recorded"]
    assert report.divergences == ()


def test_the_pre_flight_says_which_nodes_an_edit_leads_to_and_runs_none(desk: Desk):
    steps = desk.record("chain", {"log": ["in"], "topic": "x"})
    before = desk.history()
    plan = desk.plan(after(steps, "b"), "chain", edits=setting("topic", "y"), told={"as_node": "a"})
    assert (plan.goes_on_with, next_after_edit(plan)) == (("c",), ("b",))
    assert next_after_edit(desk.plan(after(steps, "b"), "chain", edits=setting("topic", "y"))) == ("c",)
    assert next_after_edit(desk.plan(after(steps, "b"), "chain")) is None
    with pytest.raises(InvalidEntryPoint, match="the graph has no node d"):
        next_after_edit(desk.plan(after(steps, "b"), "chain", told={"as_node": "d"}))
    assert (desk.ran(), desk.history()) == ([], before)
    assert [run.name for run in runs(desk)] == (["desk"] if desk.kind == "ours" else [])


def runs(desk: Desk) -> list[Run]:
    if not desk.store.exists():
        return []
    with closing(open_source(desk.store)) as source:
        return list(source.runs())


@pytest.mark.parametrize(
    ("step", "graph", "said", "error", "words"),
    [
        (3, None, {}, InvalidEntryPoint, "names no code"),
        (0, "chain", {}, UsageError, "no checkpoint at step 0"),
        (3, "chain", {"by": "replay"}, UsageError, "not re-entered by replay"),
        (3, "chain", {"edits": [Edit("delete", "topic")]}, InvalidEdit, "cannot unset the channel topic"),
    ],
)
def test_what_cannot_be_forked_is_refused_before_anything_runs(
    desk: Desk, step: int, graph: str | None, said: Any, error: type[Exception], words: str
):
    desk.record("chain", {"log": ["in"], "topic": "x"})
    with pytest.raises(error, match=words):
        desk.plan(step, graph, **said)


def test_what_is_no_graph_is_said(desk: Desk):
    steps = desk.record("chain", {"log": ["in"]})
    run = desk.fork(after(steps, "a"), "not_a_graph")
    assert run.status == "failed"
    assert "not_a_graph is a int, not a graph" in desk.output


def test_a_subgraph_begins_at_the_checkpoint_that_it_names_in_whatever_order_they_were_written():
    told: dict[str, Any] = {"checkpoint_ns": "middle:1", "checkpoint_metadata": {"parents": {"": "c2"}}}
    steps = [
        Step(1, "__start__", "ok", extra={"checkpoint_id": "c1"}),
        Step(2, "input", "ok", extra={"checkpoint_id": "s1", **told}),
        Step(3, "inner1", "ok", extra={"checkpoint_id": "s2", **told}),
        Step(4, "first", "ok", extra={"checkpoint_id": "c2"}),
    ]
    run = Run("r", "r", "succeeded", 0)
    assert beginning_of(run, steps, 3, [])[0] == 4
    del told["checkpoint_metadata"]
    steps[2] = replace(steps[2], extra={"checkpoint_id": "s2", **told})
    assert beginning_of(run, steps, 3, [])[0] == 1
