"""Branches and threads of a LangGraph database side by side; its nodes often call nothing that was written down."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from langgraph.graph import START, StateGraph
from tests.core.interop import graphs

import agent_tt
from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.langgraph import Checkpointer

if TYPE_CHECKING:
    from pathlib import Path


def repeat_topic(state: graphs.Log) -> dict[str, str]:
    return {"topic": state["log"][0]}


def test_nodes_that_call_nothing_are_told_apart_by_what_they_wrote(tmp_path: Path) -> None:
    builder = StateGraph(graphs.Log)
    builder.add_node("repeat", repeat_topic)
    builder.add_node("end", graphs.says("end"))
    builder.add_edge(START, "repeat")
    builder.add_edge("repeat", "end")
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graph = builder.compile(checkpointer=checkpointer)
        for name, word in (("a", "heat"), ("b", "cold"), ("again", "heat")):
            graph.invoke({"log": [word]}, graphs.thread(name))
    found = agent_tt.compare("a", "b", store=path)
    kinds = {row.a: row.kind for row in found.rows}
    assert (kinds[3], kinds[4]) == ("different", "same")
    assert agent_tt.compare("a", "again", store=path).diverged_at is None


def test_branches_of_a_thread_share_their_first_steps_and_part_at_the_edit(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graphs.forks(checkpointer)
    with closing(agent_tt.open_source(path)) as source:
        _, _, edited, oldest = source.runs()
    found = agent_tt.compare(oldest.id, edited.id, store=path)
    assert (found.shared, found.diverged_at) == (3, 4)
    assert found.pairs == [(1, 1, True), (2, 2, True), (3, 3, True), (4, 4, False), (5, 5, True)]


def test_all_branches_of_a_thread_stand_in_one_table(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graphs.forks(checkpointer)
    with closing(agent_tt.open_source(path)) as source:
        oldest = source.runs()[-1]
    table = agent_tt.compare_many(oldest.id, store=path)
    assert len(table.rows) == 3
    for row in table.rows:
        two = agent_tt.compare(oldest.id, row.run.id, store=path)
        assert (row.shared, row.diverged_at, row.because) == (two.shared, two.diverged_at, two.because)
        assert (row.only_base, row.only_run) == (len(two.only_a), len(two.only_b))


def test_an_edit_of_the_state_stands_alone_and_the_nodes_that_follow_beside_each_other(tmp_path: Path) -> None:
    builder = StateGraph(graphs.Log)
    for name in ("decide", "left", "right"):
        builder.add_node(name, graphs.says(name))
    builder.add_edge(START, "decide")
    builder.add_conditional_edges("decide", lambda state: state["topic"], ["left", "right"])
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graph = builder.compile(checkpointer=checkpointer)
        graph.invoke({"log": [], "topic": "left"}, graphs.thread("a"))
        before = next(each for each in graph.get_state_history(graphs.thread("a")) if each.next == ("left",))
        edited = graph.update_state(before.config, {"topic": "right"}, as_node="decide")
        graph.invoke(None, edited)
    with closing(agent_tt.open_source(path)) as source:
        fork, first = source.runs()
        names = {run.id: {step.number: step.name for step in source.steps(run.id)} for run in (first, fork)}
    for one, other, kind, told in (
        (first.id, fork.id, "only_b", "it went to left in A, to right in B"),
        (fork.id, first.id, "only_a", "it went to right in A, to left in B"),
    ):
        found = agent_tt.compare(one, other, store=path)
        edit, parted = (row for row in found.rows if row.kind != "same")
        assert (edit.kind, parted.kind) == (kind, "different")
        assert names[fork.id][edit.a or edit.b or 0] == "update"
        assert {names[one][parted.a or 0], names[other][parted.b or 0]} == {"left", "right"}
        assert (found.diverged_at, found.because) == (edit.a or edit.b, told)


def test_one_graph_kept_by_both_savers_shows_no_difference(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    with Checkpointer(ours) as checkpointer:
        graphs.react(checkpointer)
    with graphs.saver(theirs) as checkpointer:
        graphs.react(checkpointer)
    with closing(agent_tt.open_source(ours)) as one, closing(agent_tt.open_source(theirs)) as other:
        found = compare_runs(one, one.run("t"), other, other.run("t"))
        assert (found.diverged_at, len(found.rows)) == (None, 5)
