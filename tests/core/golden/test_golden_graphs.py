"""A LangGraph agent that is named as `module:graph`: forks of its thread as goldens, and why the thread is none."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import closing

import pytest
from tests.core.golden.asking import prompts_in
from tests.core.web_server import OPENAI_ANSWER, serving
from tests.fresh_source import write_source

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.golden.evidence import Evidence
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.proposing import propose
from agent_tt.golden.running import run_golden
from agent_tt.golden.saving import save_golden, unredacted_in
from agent_tt.langgraph import Checkpointer
from agent_tt.store import open_store

pytestmark = pytest.mark.warm("langgraph.graph", "httpx")

AGENT = """
import operator, os
from typing import Annotated, TypedDict
import httpx
from langgraph.graph import START, StateGraph

PROMPTS = ["Be brief.", "Be kind."]

class State(TypedDict, total=False):
    question: str
    answers: Annotated[list[str], operator.add]

def asking(prompt):
    def node(state):
        body = {"model": "m", "messages": [{"role": "user", "content": f"{prompt} {state['question']}"}]}
        answer = httpx.post(os.environ["MODEL_SERVER"] + "/v1/chat/completions", json=body).json()
        return {"answers": [answer["choices"][0]["message"]["content"]]}
    return node

def graph():
    builder = StateGraph(State)
    for before, name, prompt in zip((START, "first"), ("first", "second"), PROMPTS):
        builder.add_node(name, asking(prompt))
        builder.add_edge(before, name)
    return builder
"""


@pytest.fixture
def thread(tmp_path, monkeypatch):
    """A server, and the store with a thread of the graph, which lies beside it."""
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "runs.db"
    monkeypatch.setenv("AGENT_TT_STORE", str(store))
    write_source(tmp_path / "desk_graph.py", AGENT)
    spec = importlib.util.spec_from_file_location("desk_graph", tmp_path / "desk_graph.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "desk_graph", module)
    spec.loader.exec_module(module)
    with serving(OPENAI_ANSWER) as server:
        monkeypatch.setenv("MODEL_SERVER", server.url)
        with Checkpointer(store) as saver:
            compiled = module.graph().compile(checkpointer=saver)
            compiled.invoke({"question": "Why?"}, {"configurable": {"thread_id": "desk"}})
        yield server, store


@pytest.mark.parametrize("changes", [None, {"question": "How?"}], ids=["as it was", "with an edit"])
def test_a_fork_of_a_graph_is_kept_passes_offline_and_a_changed_word_fails_at_the_changed_request(
    thread, tmp_path, changes
):
    server, path = thread
    server.forget()
    with agent_tt.fork("desk", 1 if changes is None else 2, changes, agent="desk_graph:graph", store=path) as handle:
        fork = handle.result()
    assert len(prompts_in(server.bodies)) == 2
    with closing(open_store(path)) as store:
        rules = propose(Evidence(store, fork))
        golden = save_golden(store, fork, tmp_path / "goldens", "desk", rules)
        assert unredacted_in(store, fork) == "desk"
    path.unlink()
    server.forget()
    golden, results = read_golden(golden.path), tmp_path / "tests.db"
    passed = run_golden(golden, store=results)
    assert (passed.outcome, passed.first, server.asked) == ("passed", "", [])
    write_source(tmp_path / "desk_graph.py", AGENT.replace("Be kind.", "Be polite."))
    failed = run_golden(golden, store=results)
    assert (failed.outcome, failed.new_request.kind, server.asked) == ("failed", "changed request", [])
    with closing(open_store(results, read_only=True)) as store:
        names = [step.name for step in store.steps(failed.now)]
    assert names[failed.new_request.step - 1] == "second"
    live = run_golden(golden, store=results, live="changed")
    assert (live.outcome, prompts_in(server.bodies)) == (
        "passed",
        [f"Be polite. {'How?' if changes else 'Why?'}"],
    ), live.first


def test_a_thread_itself_is_refused_by_name_whatever_graph_is_named(thread, tmp_path):
    _, path = thread
    with closing(open_store(path)) as store:
        for agent in (None, "desk_graph:graph"):
            with pytest.raises(UsageError, match="desk is a thread of LangGraph") as refused:
                save_golden(store, store.run("desk"), tmp_path / "goldens", "desk", (), agent=agent)
            assert "agent-tt fork desk --at 1 --agent module:graph" in (refused.value.hint or "")
    assert not (tmp_path / "goldens").exists()
