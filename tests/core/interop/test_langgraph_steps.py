"""What the steps, runs and calls of a LangGraph database look like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from tests.core.interop import graphs
from tests.core.interop.support import database_of, only, outline

from agent_tt.errors import PathNotFound, RunNotFound, StepNotFound
from agent_tt.interop.langgraph.calls import decision
from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.model import Call
from agent_tt.protocols import RunSource
from agent_tt.protocols.references import resolve_run

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire

Opener = Callable[[str], LangGraphSource]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    sources: list[LangGraphSource] = []

    def open_graph(name: str) -> LangGraphSource:
        sources.append(LangGraphSource(database_of(name, tmp_path)))
        return sources[-1]

    yield open_graph
    for source in sources:
        source.close()


def test_it_is_a_run_source(opened: Opener) -> None:
    source = opened("react")
    assert isinstance(source, RunSource)
    assert source.read_only
    assert source.notes("t") == []


def test_steps_are_named_by_the_nodes_that_ran(opened: Opener) -> None:
    assert outline(opened("map_reduce"), "t") == [
        "input",
        "__start__",
        "plan",
        "late, worker ×4",
        "left, right",
        "join",
        "last",
    ]


def test_checkpoint_0_is_the_empty_thread_before_its_first_input(opened: Opener) -> None:
    source = opened("react")
    assert source.state("t", 0) == {}
    assert source.base_step("t", 1) == 0
    (given,) = source.calls("t", 1)
    assert (given.kind, given.name) == ("human", "input")
    assert "find it" in str(given.result)


def test_model_answers_and_tool_results_are_calls(opened: Opener) -> None:
    source = opened("react")
    agent = source.steps("t")[2]
    assert (agent.name, agent.kind, agent.tokens_in, agent.tokens_out) == ("agent", "llm", 11, 7)
    (answer,) = source.calls("t", 3)
    assert (answer.kind, answer.name, answer.meta["model"]) == ("llm", "scripted-1", "scripted-1")
    assert "find it" in str(answer.args)
    search, charge = source.calls("t", 4)
    assert (search.kind, search.name, search.args, search.status) == ("tool", "search", {"q": "x"}, "ok")
    assert search.result == "[]"
    assert (charge.name, charge.args, charge.status) == ("charge", {"cents": 5}, "error")
    assert charge.error is not None
    assert charge.error.message == "card declined"
    assert [call.facts.answers for call in (answer, search, charge)] == [None, "c1", "c2"]


def test_subgraphs_are_nested_in_the_step_whose_task_ran_them(opened: Opener) -> None:
    source = opened("nested_resumed")
    assert outline(source, "t") == [
        "input",
        "__start__",
        "begin",
        "middle",
        "  input",
        "  __start__",
        "  draft",
        "  inner",
        "    input",
        "    __start__",
        "    polish",
        "    ask",
        "      ask [interrupted]",
        "finish",
    ]
    polish = only(source.steps("t"), name="polish")
    assert (polish.agent, polish.lane) == ("inner", "middle/inner")
    assert polish.track == polish.extra["checkpoint_ns"] != "main"


def test_a_question_waits_at_the_tip_and_is_asked_once(opened: Opener) -> None:
    source = opened("nested_interrupted")
    assert source.run("t").status == "interrupted"
    questions = [
        call for step in source.steps("t") for call in source.calls("t", step.number) if call.name == "interrupt"
    ]
    (question,) = questions
    assert (question.kind, question.status, question.args) == ("human", "pending", {"question": "send it?"})
    assert outline(source, "t")[-1] == "    ask [interrupted]"


def test_an_answered_question_has_its_answer(opened: Opener) -> None:
    source = opened("nested_resumed")
    asked = only(source.steps("t"), status="interrupted")
    (question,) = source.calls("t", asked.number)
    assert (question.status, question.result) == ("ok", "yes")


def test_an_answer_is_shown_with_its_own_question_only(opened: Opener) -> None:
    source = opened("two_questions")
    left, right = source.steps("t")[2:]
    (finished,) = source.calls("t", left.number)
    assert (finished.args, finished.status) == ("left 2?", "ok")
    assert isinstance(finished.result, dict)
    assert finished.result["repr"] == "not in the database", "`first` answered the question before"
    (waiting,) = source.calls("t", right.number)
    assert (waiting.args, waiting.status, waiting.result) == ("right 2?", "pending", None)


def test_an_edit_in_the_name_of_a_waiting_node_is_not_its_work(opened: Opener) -> None:
    source = opened("answered_by_hand")
    assert outline(source, "t") == ["input", "__start__", "begin", "ask [interrupted]", "update", "finish"]
    (question,) = source.calls("t", 4)
    assert (question.args, question.status) == ("why?", "pending")
    assert source.steps("t")[3].extra["pending_writes"] == []


def test_a_model_s_decision_is_its_words_or_the_tools_that_it_asked_for(opened: Opener) -> None:
    assert [step.decision for step in opened("react").steps("t")] == [None, None, "looking", None, "done"]
    words: Wire = {"type": "ai", "content": [{"type": "text", "text": "two\n lines"}]}
    silent: Wire = {"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {}, "id": "c"}]}
    calls = [
        Call(step=1, number=number, kind="llm", name="model", status="ok", result=result)
        for number, result in enumerate([words, silent], 1)
    ]
    assert decision(calls) == "two lines; search"
    assert decision([]) is None


def test_where_a_model_only_thought_its_thoughts_are_its_decision() -> None:
    thinking: list[Wire] = [
        {"type": "thinking", "thinking": "let me see", "signature": "s"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "first"}]},
        {"type": "reasoning_content", "reasoning_content": {"text": "then"}},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "reasoning", "reasoning": "last"},
    ]
    said: Wire = {"type": "ai", "content": thinking}
    call = Call(step=1, number=1, kind="llm", name="model", status="ok", result=said)
    assert decision([call]) == "let me see first then [redacted thinking] last"


def test_tools_of_unknown_effect_count_as_writing_and_tasks_of_a_workflow_for_nothing(opened: Opener) -> None:
    source = opened("react")
    assert source.steps("t")[3].kind == "write"
    assert [call.effect for call in source.calls("t", 4)] == ["write", "write"]
    assert opened("functional_resumed").steps("t")[1].kind is None


def test_a_failed_task_at_the_tip_is_a_step_with_its_error_beside_finished_siblings(opened: Opener) -> None:
    source = opened("fails")
    run = source.run("t")
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.short == "ValueError: bad input (always)"
    bad, good = source.steps("t")[2:]
    assert (bad.name, bad.status, bad.error) == ("bad", "error", run.error)
    assert (good.name, good.status, good.extra["pending_writes"]) == ("good", "ok", [["log", ["good"]]])
    assert source.step_number(run, "@error") == bad.number
    assert source.state("t", bad.number) == source.state("t", 2) == {"log": ["in"]}
    assert source.base_step("t", bad.number) == 2
    assert source.changes("t", bad.number) == []


def test_a_failure_that_was_retried_stays_visible_inside_the_step(opened: Opener) -> None:
    assert outline(opened("resumed_after_failure"), "t") == [
        "input",
        "__start__",
        "bad, good",
        "  bad [error]",
        "post",
    ]


def test_stopping_before_a_node_leaves_an_interrupted_run(opened: Opener) -> None:
    source = opened("stops")
    assert source.run("t").status == "interrupted"
    assert source.steps("t")[-1].extra["next"] == ["three"]


def test_the_state_of_a_functional_workflow_is_its_result(opened: Opener) -> None:
    source = opened("functional_resumed")
    assert source.state("t", 2) == {"value": 12, "answer": "yes"}
    assert [call.result for call in source.calls("t", 2)] == [6, 12]


def test_runs_saved_at_exit_name_the_nodes_that_ran(opened: Opener) -> None:
    assert outline(opened("saved_at_exit"), "t") == ["begin, sub", "begin, sub"]


def test_branches_are_runs_that_fork_from_older_ones(opened: Opener) -> None:
    source = opened("forks")
    runs = source.runs()
    newest, replayed, edited, oldest = runs
    assert newest.id == "t"
    assert all(run.id == f"t@{run.origin['checkpoint'][-8:]}" for run in runs[1:])
    assert oldest.parent is None
    assert {run.parent for run in runs[:-1]} == {oldest.id}
    assert (edited.fork_step, replayed.fork_step, newest.fork_step) == (3, 3, 2)
    assert outline(source, edited.id) == ["input", "__start__", "one", "update", "three"]
    assert outline(source, replayed.id) == ["input", "__start__", "one", "fork", "two", "three"]
    steps = source.steps(edited.id)
    assert [step.inherited for step in steps] == [True, True, True, False, False]
    assert [step.extra["branch"] for step in steps] == [oldest.id] * 3 + [edited.id] * 2
    assert source.state(edited.id, 4) == {"log": ["in", "one", "edited"], "topic": "new"}


def test_runs_are_named_by_thread_branch_prefix_latest_and_age(opened: Opener) -> None:
    source = opened("forks")
    ids = [run.id for run in source.runs()]
    assert source.run("t").id == source.run("latest").id == ids[0]
    assert source.run(ids[1]).id == source.run("t~1").id == ids[1]  # a beginning of it: the next test
    with pytest.raises(RunNotFound) as missing:
        source.run("tt")
    assert "t" in missing.value.nearest
    with pytest.raises(RunNotFound):
        source.run("t~9")
    with pytest.raises(RunNotFound):
        source.run("t@")


def test_a_thread_with_a_step_behind_it_is_no_beginning_of_a_branch() -> None:
    ids = ["t", "t@12ab34cd"]
    assert resolve_run("t@12a", ids, "file") == "t@12ab34cd"
    with pytest.raises(RunNotFound):
        resolve_run("t@12", ids, "file")


def test_a_thread_without_a_name_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.chain("one").compile(checkpointer=checkpointer)
        for name in ("", "(unnamed)", "x@y", "latest"):
            graph.invoke({"log": [name]}, graphs.thread(name))
    source = LangGraphSource(path)
    assert [run.id for run in source.runs()] == ["latest", "x@y", "(unnamed)", "(unnamed)'"]
    assert [source.run(run.id).origin["thread"] for run in source.runs()] == ["latest", "x@y", "(unnamed)", ""]
    source.close()


def test_a_thread_saved_under_a_namespace_alone_ends_as_its_last_checkpoint_says(tmp_path: Path) -> None:
    path = tmp_path / "namespace.db"
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"mine": 1}
    with graphs.saver(path) as checkpointer:
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": "mine"}}
        checkpointer.put(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
    source = LangGraphSource(path)
    assert (source.run("t").status, source.state("t", 1)) == ("succeeded", {"mine": 1})
    source.close()


def test_steps_are_named_by_number_and_from_the_end(opened: Opener) -> None:
    source = opened("react")
    run = source.run("t")
    assert source.step_count("t") == run.steps == 5
    assert source.step_number(run, "0") == 0
    assert source.step_number(run, "~1") == 4
    for wrong in ("6", "~6", "@error", "x", "-1"):
        with pytest.raises(StepNotFound):
            source.step_number(run, wrong)
    with pytest.raises(StepNotFound):
        source.state("t", 6)


def test_pages_of_steps_are_parts_of_the_whole(opened: Opener) -> None:
    source = opened("forks")
    whole = source.steps("t")
    assert source.steps("t", 3, 6) == whole[2:5]
    assert source.steps("t", 7) == whole[6:]
    assert source.steps("t", 99) == []


def test_the_last_and_next_write_of_a_path_are_found(opened: Opener) -> None:
    source = opened("map_reduce")
    assert source.last_write("t", 7, ("log", 1)) == 3
    assert source.last_write("t", 7, ("topic",)) == 7
    assert source.last_write("t", 7, ("log",)) == 7
    assert source.next_write("t", 3, ("log",)) == 4
    assert source.next_write("t", 3, ("log", 0)) is None
    assert source.value("t", 7, ("log", 1)) == "plan"
    with pytest.raises(PathNotFound):
        source.value("t", 7, ("absent",))


def test_a_step_began_when_the_checkpoint_before_it_was_made(opened: Opener) -> None:
    steps = opened("react").steps("t")
    assert [step.started_us for step in steps[1:]] == [step.ended_us for step in steps[:-1]]
    assert steps[0].duration_us == 0
