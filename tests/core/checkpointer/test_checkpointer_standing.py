"""Where an interrupted thread stands, told alike of both savers."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command
from tests.core.interop import graphs

from agent_tt.langgraph import Checkpointer
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def stops_before(checkpointer: Any, *, goes_on: bool) -> None:
    graph = graphs.chain("look", "pay").compile(checkpointer=checkpointer, interrupt_before=["pay"])
    graph.invoke({"log": ["in"]}, graphs.thread())
    if goes_on:
        graph.invoke(None, graphs.thread())


def stops_after(checkpointer: Any) -> None:
    graph = graphs.chain("look", "pay").compile(checkpointer=checkpointer, interrupt_after=["look"])
    graph.invoke({"log": ["in"]}, graphs.thread())


def asks(checkpointer: Any, *, answered: bool) -> None:
    graphs.nested_interrupt(checkpointer, resume=False)
    if answered:
        graphs.nested_interrupt(checkpointer, resume=True)


STORIES: dict[str, tuple[Callable[[Any], object], tuple[str, str | None]]] = {
    "before": (partial(stops_before, goes_on=False), ("interrupted", "before pay")),
    "before, then on": (partial(stops_before, goes_on=True), ("succeeded", None)),
    "after": (stops_after, ("interrupted", "before pay")),
    "asked inside a subgraph": (partial(asks, answered=False), ("interrupted", "in middle")),
    "answered": (partial(graphs.nested_interrupt, resume=True), ("succeeded", None)),
    "two that ask, one of them answered": (graphs.two_questions, ("interrupted", "in right")),
    "asked by a workflow": (partial(graphs.functional, resume=False), ("interrupted", "in workflow")),
    "failed": (partial(graphs.parallel_failure, mode="always"), ("failed", None)),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_thread_says_where_it_stands(story: str, tmp_path: Path):
    graph, expected = STORIES[story]
    with Checkpointer(tmp_path / "ours.db") as ours:
        graph(ours)
    with graphs.saver(tmp_path / "theirs.db") as theirs:
        graph(theirs)
    for path in (tmp_path / "ours.db", tmp_path / "theirs.db"):
        with closing(open_source(path)) as source:
            run = source.run("t")
            assert (run.status, run.standing) == expected


def test_a_thread_that_goes_on_and_asks_again_waits_again(tmp_path: Path):
    """It asked, was answered, and asks something else: it is not running, nor crashed."""
    with Checkpointer(tmp_path / "runs.db") as saver, closing(open_source(tmp_path / "runs.db")) as source:
        graph = graphs.two_questions(saver)
        graph.invoke(Command(resume="second"), graphs.thread())
        assert (source.run("t").status, source.run("t").standing) == ("succeeded", None)


def test_a_thread_whose_process_was_told_to_end_stands_before_the_node_that_was_to_run(tmp_path: Path):
    saver = Checkpointer(tmp_path / "runs.db")
    stops_before(saver, goes_on=False)
    with closing(open_source(tmp_path / "runs.db")) as source:
        assert (source.run("t").status, source.run("t").standing) == ("running", None)
        saver.close()
        assert (source.run("t").status, source.run("t").standing) == ("interrupted", "before pay")
