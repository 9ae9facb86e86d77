"""Recordings in a real file: what the recorder wrote is what a reader finds."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import StoreUnreadable, ToolDenied
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.intercepting.run_handoff import RunHandoff
from agent_tt.model import NewFork, NewRun
from agent_tt.recording.session import SESSION
from agent_tt.store import open_store


@agent_tt.tool(effect="read")
def search(query):
    return {"docs": [], "count": 0}


@agent_tt.tool(effect="write")
def charge(amount):
    raise ConnectionError(111, "gateway refused")


@agent_tt.llm(model="rules-1")
def policy(messages):
    return {"action": "search", "usage": {"tokens_in": len(messages), "tokens_out": 1, "cost_usd": 0.25}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def reader(path):
    """Opens the file to read; closed at the end."""
    opened = []

    def read():
        opened.append(open_store(path, read_only=True))
        return opened[-1]

    yield read
    for store in opened:
        store.close()


def main(path, state=None):
    state = state or {"messages": [], "paid": False}
    with agent_tt.record("refund", state=state, model="rules-1", version="1", tags=["demo"], store=path) as run:
        run.note("watch this")
        for turn in range(3):
            with run.step("plan", state, agent="support") as step:
                step.decision = policy(state["messages"])["action"]
                state["messages"].append({"turn": turn, "found": search("refund")})
        with run.step("pay"):
            charge(5)


def test_a_recorded_run_reads_back_whole(path, reader):
    with pytest.raises(ConnectionError):
        main(path)
    source = reader()
    run = source.run("refund")
    assert (run.status, run.steps, run.tags, run.code.version) == ("failed", 4, ("demo",), "1")
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (0 + 1 + 2, 3, 0.75)
    assert (
        run.error.class_name == "builtins:ConnectionError" or run.error.class_name == "builtins:ConnectionRefusedError"
    )
    assert run.agent.endswith(":main")
    assert run.code.restore == "state"
    steps = source.steps(run.id)
    assert [(step.name, step.kind, step.agent, step.status) for step in steps] == [
        ("plan", "read", "support", "ok"),
        ("plan", "read", "support", "ok"),
        ("plan", "read", "support", "ok"),
        ("pay", "write", None, "error"),
    ]
    assert [len(source.state(run.id, step)["messages"]) for step in range(5)] == [0, 1, 2, 3, 3]
    llm, tool = source.calls(run.id, 2)
    assert (llm.kind, llm.meta["model"], llm.meta["tokens_in"], llm.args) == (
        "llm",
        "rules-1",
        1,
        {"messages": source.state(run.id, 1)["messages"]},
    )
    assert (tool.name, tool.effect, tool.args, tool.result) == (
        "search",
        "read",
        {"query": "refund"},
        {"docs": [], "count": 0},
    )
    assert tool.signature == source.calls(run.id, 1)[1].signature
    (failed,) = source.calls(run.id, 4)
    assert failed.error.value["extra"]["errno"] == 111
    assert [note.body for note in source.notes(run.id)] == ["watch this"]
    assert source.verify(run.id) == []


@dataclass
class Item:
    name: str
    tags: set[str] = field(default_factory=set)


def test_concurrent_steps_are_all_there_and_the_chain_holds(path, reader):
    state = {"items": [], "counts": {}}

    async def worker(run, who):
        for turn in range(5):
            async with run.step(who, state):
                await asyncio.to_thread(search, f"{who} {turn}")
                state["items"].append(Item(who, {str(turn)}))

    async def agents():
        async with agent_tt.record("team", state=state, store=path) as run, asyncio.TaskGroup() as group:
            for i in range(4):
                group.create_task(worker(run, f"w{i}"))

    asyncio.run(agents())
    source = reader()
    run = source.run("team")
    steps = source.steps(run.id)
    assert (run.status, len(steps)) == ("succeeded", 20)
    assert sorted(step.seq for step in steps) == list(range(1, 21))
    assert {len(source.calls(run.id, step.number)) for step in steps} == {1}
    last = max(steps, key=lambda step: step.seq)
    assert len(source.state(run.id, last.number)["items"]) == 20
    assert source.verify(run.id) == []


def test_threads_may_change_a_state_while_it_is_read(path, reader):
    state = {"log": {}}

    def work(run, who):
        for turn in range(25):
            with run.step("add", state):
                state["log"][f"{who}-{turn}"] = [turn]

    with agent_tt.record("busy", state=state, store=path, durability="normal") as run, ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(work, run, i) for i in range(4)]:
            job.result(PATIENCE_SECONDS)
    source = reader()
    found = source.run("busy")
    steps = source.steps(found.id)
    assert len(steps) == 100
    assert len(source.state(found.id, max(steps, key=lambda step: step.seq).number)["log"]) == 100
    assert source.verify(found.id) == []


def test_an_adopted_run_goes_on_after_its_fork_step(path, reader):
    with pytest.raises(ConnectionError):
        main(path)
    with contextlib.closing(open_store(path)) as store:
        parent = store.run("refund")
        edited = {"messages": ["edited"], "paid": False}
        fork_id = store.begin_fork(NewFork(parent.id, 1, state=edited, new=NewRun(name="")))
        SESSION.start(RunHandoff(store, fork_id), PolicyEnforcement(ToolPolicy()))
        with pytest.raises(ToolDenied):
            main(path, state=edited)
    source = reader()
    fork = source.run("refund/fork-1")
    assert (fork.id, fork.parent, fork.fork_step, fork.status) == (fork_id, parent.id, 1, "failed")
    assert fork.error.class_name == "agent_tt.errors:ToolDenied"
    steps = source.steps(fork.id)
    assert [(step.number, step.inherited) for step in steps] == [(1, True), *[(n, False) for n in range(2, 6)]]
    assert source.calls(fork.id, 5)[0].status == "denied"
    assert source.state(fork.id, 2)["messages"][0] == "edited"


def test_a_process_that_dies_leaves_a_crashed_run_and_a_call_without_an_answer(path, reader):
    script = f"""
import agent_tt, os
@agent_tt.tool
def vanish(): os._exit(9)
with agent_tt.record("gone", state={{"a": 1}}, store={str(path)!r}) as run, run.step("s"):
    vanish()
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=PATIENCE_SECONDS).returncode == 9
    source = reader()
    run = source.run("gone")
    assert run.status == "crashed"
    assert source.calls(run.id, 1)[0].status == "pending"


def test_a_process_that_the_agent_forks_does_not_end_its_parents_run(path, reader):
    script = f"""
import agent_tt, os, sys
with agent_tt.record("parent", state={{"a": 1}}, store={str(path)!r}) as run:
    with run.step("s"):
        if os.fork() == 0:
            raise SystemExit(3)
        _, status = os.wait()
        assert os.waitstatus_to_exitcode(status) == 3
    with run.step("after"):
        pass
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=PATIENCE_SECONDS)
    source = reader()
    run = source.run("parent")
    assert (run.status, [step.status for step in source.steps(run.id)]) == ("succeeded", ["ok", "ok"])


def test_facts_that_no_file_can_hold_as_they_are_do_not_stop_the_agent(path, reader):
    with agent_tt.record(
        "odd \ud800", store=path, user_id="\ud800", tags=["\ud800"], metadata={"\ud800": "\ud800", 2: 3}
    ):
        pass
    (run,) = reader().runs()
    assert (run.name, run.user_id, run.tags) == ("odd \\ud800", "\\ud800", ("\\ud800",))
    assert run.metadata.keys() == {"\\ud800", "2"}


def test_the_project_of_the_agent_is_where_it_records_unless_it_says_otherwise(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_TT_STORE", raising=False)
    with agent_tt.record("here"):
        pass
    assert (tmp_path / ".agent-tt" / "runs.db").is_file()
    assert (tmp_path / ".agent-tt" / ".gitignore").is_file()
    monkeypatch.setenv("AGENT_TT_STORE", "elsewhere.db")
    with agent_tt.record("there"):
        pass
    assert (tmp_path / "elsewhere.db").is_file()


def test_a_file_of_another_kind_is_refused_before_the_agent_runs(path):
    text = "not a database, but long enough to be taken for one " * 50
    path.write_text(text)
    ran = []
    with pytest.raises(StoreUnreadable), agent_tt.record("x", store=path, on_store_error="stop"):
        ran.append(1)
    assert ran == []
    assert threading.Thread.start.__module__ == "threading"
    assert path.stat().st_size == len(text)
