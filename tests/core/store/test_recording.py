"""What a recorder writes is what a reader finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.core.store.recordings import AGENT, begin, call, chat, fork, new_store, step
from tests.core.store.rows import insert
from tests.core.strategies import values

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.errors import RunNotFound, StepNotFound
from agent_tt.model import AgentCode, CallEnd, Edit, ErrorInfo, ModelConfig, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.protocols import NO_STATE


def test_a_run_keeps_all_that_was_said_about_it(tmp_path):
    store = new_store(tmp_path)
    new = NewRun(
        "demo",
        code=AgentCode("mod:main", "2", "ab12", "/project", "/project/sub", "/usr/bin/python", "state"),
        model=ModelConfig("rules-1", 0.5, 100, 7, "p3"),
        user_id="u1",
        tags=("b", "a", "a"),
        metadata={"k": [1, {"x": None}]},
    )
    writer = store.begin_run(new, {})
    run = store.run(writer.run_id)
    assert run.status == "running"
    assert (run.code, run.model, run.user_id, run.tags, run.metadata) == (
        new.code,
        new.model,
        "u1",
        ("a", "b"),
        new.metadata,
    )
    assert run.agent == "mod:main"
    error = ErrorInfo("mod:Boom", "it broke \ud800", "Traceback…", {"$type": "exception", "$v": 1})
    writer.finish("failed", error)
    run = store.run(writer.run_id)
    assert run.status == "failed"
    assert run.ended_us is not None
    assert run.error == ErrorInfo("mod:Boom", "it broke \\ud800", "Traceback…", {"$type": "exception", "$v": 1})
    store.set_metadata(run.id, {"more": 1})
    store.set_tags(run.id, ["c"])
    run = store.run(run.id)
    assert run.metadata == {"k": [1, {"x": None}], "more": 1}
    assert run.tags == ("c",)


def test_a_step_keeps_all_that_was_said_about_it(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    outer = writer.open_step(NewStep("outer", agent="boss"))
    running = store.steps(writer.run_id)[0]
    assert (running.status, running.ended_us, running.seq) == ("running", None, None)
    inner = writer.open_step(NewStep("inner", agent="web", lane="main/1", parent=outer))
    error = ErrorInfo("builtins:ValueError", "no")
    end = StepEnd("error", error, 1, 2, 0.25, "gave up", shared_track=True, extra={"x": 1})
    writer.close_step(inner, end, {"a": 1})
    found = store.steps(writer.run_id, inner, inner + 1)[0]
    assert (found.name, found.agent, found.lane, found.parent) == ("inner", "web", "main/1", outer)
    assert (found.status, found.error, found.tokens_in, found.tokens_out) == ("error", error, 1, 2)
    assert (found.cost_usd, found.decision, found.extra) == (0.25, "gave up", {"x": 1})
    assert store.step_number(store.run(writer.run_id), "@error") == inner
    writer.finish("interrupted")
    assert store.steps(writer.run_id)[0].status == "interrupted"


def test_a_call_is_pending_until_its_result_is_there(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    number = writer.open_step(NewStep("s"))
    intent = NewCall("tool", "charge", {"order": 7}, "ab" * 16, "write", "main/2", 4, {"file": "a.py", "line": 3})
    made = writer.begin_call(number, intent)
    (pending,) = store.calls(writer.run_id, number)
    assert (pending.status, pending.result, pending.delivered, pending.duration_us) == ("pending", None, None, None)
    assert store.steps(writer.run_id)[0].calls == 1
    writer.end_call(number, made, CallEnd("ok", {"paid": True}, meta={"model": "m"}))
    (done,) = store.calls(writer.run_id, number)
    assert (done.kind, done.name, done.effect, done.lane, done.lane_seq) == ("tool", "charge", "write", "main/2", 4)
    assert (done.args, done.result, done.signature) == ({"order": 7}, {"paid": True}, "ab" * 16)
    assert done.meta == {"file": "a.py", "line": 3, "model": "m"}
    assert done.delivered == 1
    call(writer, number, {}, None, status="denied", error=ErrorInfo("agent_tt.errors:ToolDenied", "denied"))
    assert store.calls(writer.run_id, number)[1].status == "denied"
    writer.close_step(number, StepEnd("ok"), NO_STATE)
    late = writer.begin_call(number, intent)
    writer.end_call(number, late, CallEnd("ok", 1, meta={"model": "late"}))
    assert store.calls(writer.run_id, number)[2].meta == {"file": "a.py", "line": 3, "model": "late"}
    with pytest.raises(StepNotFound):
        writer.end_call(number, 99, CallEnd("ok", 1))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(values, values)
def test_arguments_and_results_of_any_type_come_back(tmp_path_factory, args, result):
    store = new_store(tmp_path_factory.mktemp("calls"))
    writer = begin(store, {})
    number = writer.open_step(NewStep("s"))
    for sent, came in ((args, result), ({"v": args, "r": result}, {"v": 1, "r": []}), ("y" * 5000, {"v": "z" * 9000})):
        call(writer, number, encode(sent), encode(came))
        found = store.calls(writer.run_id, number)[-1]
        assert tlv(found.args) == tlv(encode(sent))
        assert tlv(found.result) == tlv(encode(came))
    store.close()


def test_the_kind_of_a_step_is_that_of_its_strongest_call(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    cases = [
        ([], None),
        ([("clock", None)], "other"),
        ([("clock", None), ("llm", None)], "llm"),
        ([("llm", None), ("http", None)], "http"),
        ([("tool", "read"), ("llm", None), ("human", None)], "read"),
        ([("tool", "read"), ("tool", None)], "write"),
        ([("human", None)], "human"),
    ]
    for calls, _ in cases:
        number = writer.open_step(NewStep("s"))
        for kind, effect in calls:
            made = writer.begin_call(number, NewCall(kind, "x", None, "00", effect))
            writer.end_call(number, made, CallEnd("ok"))
        writer.close_step(number, StepEnd("ok"), NO_STATE)
    assert [found.kind for found in store.steps(writer.run_id)] == [kind for _, kind in cases]


def test_a_step_that_asks_and_hears_the_same_again_names_the_first(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})

    def ask(writer: Any, query: str, answer: Any) -> int:
        number = writer.open_step(NewStep("s"))
        call(writer, number, {"q": query}, answer)
        made = writer.begin_call(number, NewCall("clock", "now", None, "00"))
        writer.end_call(number, made, CallEnd("ok", number))
        writer.close_step(number, StepEnd("ok"), NO_STATE)
        return number

    for query, answer in (("a", 0), ("a", 0), ("b", 0), ("a", 1), ("a", 0)):
        ask(writer, query, answer)
    step(writer, NO_STATE)
    step(writer, NO_STATE)
    assert [found.repeat_of for found in store.steps(writer.run_id)] == [None, 1, None, None, 1, None, None]
    fork_id, writer = fork(store, writer.run_id, 3, {})
    number = ask(writer, "b", 0)
    assert store.steps(fork_id, number)[0].repeat_of == 3
    assert store.calls(fork_id, number)[0].delivered == 7


def test_steps_without_state_show_the_newest_earlier_one(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, NO_STATE)
    for state in (NO_STATE, {"n": 2}, NO_STATE, {"n": 4}):
        step(writer, state)
    run_id = writer.run_id
    assert [store.state(run_id, number) for number in range(5)] == [None, None, {"n": 2}, {"n": 2}, {"n": 4}]
    assert [found.seq for found in store.steps(run_id)] == [None, 1, None, 2]
    assert store.changes(run_id, 3) == []
    assert store.base_step(run_id, 3) == 2
    assert store.base_step(run_id, 4) == 2
    assert store.last_write(run_id, 4, ("n",)) == 4
    assert store.next_write(run_id, 2, ("n",)) == 4
    fork_id, writer = fork(store, run_id, 3, {"n": "edited"})
    assert [store.state(fork_id, number) for number in range(4)] == [None, None, {"n": 2}, {"n": "edited"}]
    assert store.last_write(fork_id, 3, ("n",)) == 3
    step(writer, NO_STATE)
    assert store.state(fork_id, 4) == {"n": "edited"}


def test_a_fork_keeps_its_edits_and_policy_and_shares_its_parents_totals(tmp_path):
    store = new_store(tmp_path)
    parent = chat(store, 4)
    edits = (Edit("set", "n", 5, 2), Edit("move", "a", to="b"))
    new = NewRun("named", code=AGENT, metadata={"why": "test"})
    fork_id = store.begin_fork(NewFork(parent, 2, state={"n": 5}, new=new, edits=edits, policy={"*write": "deny"}))
    run = store.run(fork_id)
    assert (run.name, run.parent, run.fork_step, run.status) == ("named", parent, 2, "running")
    assert (run.edits, run.policy, run.steps) == (edits, {"*write": "deny"}, 2)
    assert (run.tokens_in, run.cost_usd) == (4, 1.0)
    writer = store.adopt_run(fork_id, NewRun("demo", code=AGENT, metadata={"more": 1}), {"n": 5})
    assert writer.first_step == 3
    step(writer, {"n": 6}, tokens_in=10)
    writer.finish("succeeded")
    run = store.run(fork_id)
    assert (run.steps, run.tokens_in, run.name) == (3, 14, "named")
    assert run.edits == edits
    assert run.metadata == {"why": "test", "more": 1}
    assert [found.inherited for found in store.steps(fork_id)] == [True, True, False]
    assert store.run(parent).tokens_in == 8
    for absent in (-1, 5):
        with pytest.raises(StepNotFound):
            store.begin_fork(NewFork(parent, absent, state={}, new=NewRun("")))
    with pytest.raises(RunNotFound):
        store.begin_fork(NewFork("nothing", 1, state={}, new=NewRun("")))


def test_notes_and_bookmarks_are_kept_and_removed(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 2)
    first = store.add_note(run_id, 1, "note", "why?")
    second = store.add_note(run_id, None, "bookmark", "a")
    assert store.notes(run_id) == [first, second]
    store.delete_note(first.id)
    store.delete_note(first.id)
    assert store.notes(run_id) == [second]


def test_reading_a_page_of_steps_costs_what_it_returns(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 3)
    with store.database.transaction() as tx:
        ((run,),) = tx.query("SELECT run FROM runs")
        for number in range(4, 30_001):
            insert(tx, "steps", run=run, step=number, name="many", lane="main", status="ok")
    plan = store.database.query("EXPLAIN QUERY PLAN SELECT * FROM steps WHERE run = 1 AND step BETWEEN 20000 AND 20050")
    assert "SEARCH" in plan[0][3]
    assert [found.number for found in store.steps(run_id, 29_990, 29_995)] == list(range(29_990, 29_995))
    assert store.step_count(run_id) == 30_000


def test_a_loop_is_seen_although_the_model_is_shown_a_longer_conversation_each_time(tmp_path):
    store = new_store(tmp_path)
    writer = store.begin_run(NewRun(name="loop"), {})
    for turn in range(3):
        step = writer.open_step(NewStep("search"))
        asked = writer.begin_call(step, NewCall("llm", "model", {"messages": turn}, signature=f"{turn:032x}"))
        writer.end_call(step, asked, CallEnd("ok", "search again"))
        searched = writer.begin_call(step, NewCall("tool", "search", {"q": "refund"}, signature="ab" * 16))
        writer.end_call(step, searched, CallEnd("ok", []))
        writer.close_step(step, StepEnd("ok"), {"turn": turn})
    writer.finish("succeeded")
    assert [step.repeat_of for step in store.steps(writer.run_id)] == [None, 1, 1]
