"""What a store does beside recording, on a server: sampling, pruning, threads of LangGraph, keys done once."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.interop import graphs
from tests.core.store.recordings import chat
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.langgraph import Checkpointer
from agent_tt.model.statistics import Chosen
from agent_tt.recording.runs.own_pruning import prune_beside
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from tests.postgres_server import TestDatabase

    from agent_tt.store import SqliteStore


def test_runs_that_are_not_kept_are_counted(postgres: TestDatabase) -> None:
    for name in ("first", "second"):
        with agent_tt.record(name, store=postgres.url, sampling={"successes": 0}, state={}):
            pass
    with closing(open_source(postgres.url)) as source:
        assert source.runs() == []
        counted = source.statistics(Chosen())
        assert (counted.whole.sampled_out, counted.whole.success_rate) == (2, 1.0)
        (day,) = source.run_groups(Chosen(), "day")
        assert (day.runs, day.sampled_out) == (0, 2)
        assert counted.bytes > 0


def test_a_store_on_a_server_is_pruned_by_itself_without_its_password_on_a_command_line(
    store: SqliteStore, postgres: TestDatabase
) -> None:
    chat(store, 2, "old")
    prune_beside(postgres.address, {"max_size": "1KB"})
    deadline = time.monotonic() + PATIENCE_SECONDS
    while store.runs():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert store.verify() == []


def test_a_thread_of_langgraph_is_kept_on_a_server(postgres: TestDatabase) -> None:
    with Checkpointer(postgres.url) as saver:
        graph = graphs.chain("one", "two").compile(checkpointer=saver)
        graph.invoke({"log": ["in"]}, graphs.thread("t"))
        assert len(list(saver.list(graphs.thread("t")))) == 4
    with closing(open_source(postgres.url)) as source:
        assert source.value(source.run("t").id, 4, ("log",)) == ["in", "one", "two"]
        assert source.verify() == []


def test_what_is_done_once_is_done_once_by_all_who_record_on_a_server(postgres: TestDatabase) -> None:
    done = []

    @agent_tt.tool(effect="write", once="{order}")
    def pay(order: str) -> str:
        done.append(order)
        return f"paid {order}"

    for name in ("first", "second"):
        with agent_tt.record(name, store=postgres.url, state={}) as run, run.step("pay"):
            assert pay("order 7") == "paid order 7"
    assert done == ["order 7"]


@pytest.mark.parametrize("text", ["\0", "a\0b", "\U0010fffd", "\U0010fffd0\U0010fffd1\0", "plain"])
def test_every_text_comes_back_as_it_was(store: SqliteStore, text: str) -> None:
    run = chat(store, 1)
    store.add_note(run, None, "note", text)
    store.set_tags(run, [f"x{text}"])
    assert [note.body for note in store.notes(run)] == [text]
    assert store.run(run).tags == (f"x{text}",)
    assert store.verify() == []
    with closing(open_store(store.path)) as again:
        assert again.run(run).tags == (f"x{text}",)
