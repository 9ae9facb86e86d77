"""Kinds of runs that go on: model loops, forks, threads, patched clocks, runs that broke off more than once."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest
from tests.core.launching.test_launching_openai import AGENT, model
from tests.core.resuming.support import Project, happened, not_happened
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import AgentFailed
from agent_tt.store import open_store

pytestmark = pytest.mark.warm

TOOLS = """
import os, signal

def charge(order_id):
    if os.path.exists("broke off"):
        return "charged twice"
    open("broke off", "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.warm("openai")
@pytest.mark.parametrize("form", ["plain", "stream"])
def test_a_model_loop_goes_on_as_if_nothing_had_happened(project: Project, form: str):
    pytest.importorskip("openai")
    (project.folder / "tools.py").write_text(TOOLS)
    with model() as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        record = ("-m", "agent_tt_tui", "record", "--call", "tools.charge=write", "--", "python", "agent.py", url, form)
        (project.folder / "agent.py").write_text(AGENT)
        project.run(*record, exit_code=137)
        assert server.hits == 2
        handle = project.resume(happened("charged 7"))
        assert handle.result().status == "succeeded"
        assert server.hits == 3
    run, _ = project.read()
    with closing(open_store(project.store_path, read_only=True)) as store:
        steps = store.steps(run.id)
        outline = [(step.name, step.status, [call.kind for call in store.calls(run.id, step.number)]) for step in steps]
        roles = [turn["role"] for turn in store.state(run.id, 2)["messages"]]
    assert outline == [("gpt-4o", "ok", ["llm", "llm", "tool", "tool"]), ("gpt-4o", "ok", ["llm"])]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert (run.tokens_in, run.tokens_out) == (120, 10)
    assert '"content": "charged 7"' in handle.output()
    report = agent_tt.replay("latest", store=project.store_path, timeout=PATIENCE_SECONDS)
    assert report.is_faithful, report.divergences
    assert not report.notes


FORKED = """
@agent_tt.tool(effect="write")
def send(n):
    did(f"send-{n}")


@agent_tt.tool(effect="read")
def look(n):
    breaks_off("") if os.path.exists("armed") and n == 3 else None
    return n


def main(state=None):
    state = state or {"n": 0}
    with agent_tt.record("forked", state=state) as run:
        while state["n"] < 5:
            with run.step("go"):
                try:
                    send(state["n"])
                except agent_tt.AgentTTError:
                    did(f"denied-{state['n']}")
                state["n"] = look(state["n"]) + 1


if __name__ == "__main__":
    main()
"""


def test_a_fork_goes_on_after_the_step_that_it_was_forked_at_and_under_its_policy(project: Project):
    project.begin(FORKED, exit_code=0)
    (project.folder / "armed").touch()
    handle = agent_tt.fork("forked", 1, {"n": 2}, store=project.store_path)
    with pytest.raises(AgentFailed):
        handle.result()
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert store.run(handle.run_id).status == "crashed"
    resumed = agent_tt.resume(handle.run_id, store=project.store_path)
    run = resumed.result()
    assert (run.id, run.name, run.fork_step, run.steps) == (handle.run_id, "forked/fork-1", 1, 4)
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert [store.state(run.id, step)["n"] for step in (1, 2, 3, 4)] == [2, 3, 4, 5]
        assert store.verify() == []
    assert [word for word in project.done() if word.startswith("send")] == [f"send-{n}" for n in range(5)]
    assert agent_tt.replay(run.id, store=project.store_path, timeout=PATIENCE_SECONDS).is_faithful


THREADS = """
import queue, threading


@agent_tt.tool(effect="write")
def send(n):
    time.sleep(0.002 * (n % 4))
    breaks_off(f"sent-{n}") if n == 13 else did(f"sent-{n}")
    return n


def main(state=None):
    items, total = queue.Queue(), []
    for n in range(24):
        items.put(n)

    def work():
        while True:
            try:
                n = items.get_nowait()
            except queue.Empty:
                return
            total.append(send(n))

    with agent_tt.record("threads", state={}) as run:
        with run.step("all"):
            workers = [threading.Thread(target=work) for _ in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()


if __name__ == "__main__":
    main()
"""


def test_threads_that_pull_from_a_queue_do_nothing_twice(project: Project):
    project.begin(THREADS)
    known = set(project.done())
    project.resume(lambda call: happened(call.args["n"])(call) if f"sent-{call.args['n']}" in known else None).result()
    run, _ = project.read()
    assert run.status == "succeeded"
    assert sorted(project.done()) == sorted(f"sent-{n}" for n in range(24))


DRAWS = """
import uuid, random


@agent_tt.tool(effect="write")
def order(number, when):
    breaks_off(f"order-{number}") if os.path.exists("second") else (open("second", "w").close(), did(f"order-{number}"))
    return number


def main(state=None):
    state = state or {"orders": []}
    with agent_tt.record("draws", state=state) as run, agent_tt.patched():
        for n in range(3):
            with run.step("order"):
                state["orders"].append(order(str(uuid.uuid4()), round(time.time())))
                state["luck"] = random.random()
    return state


if __name__ == "__main__":
    main()
"""


def test_what_was_drawn_before_the_break_is_drawn_again_and_then_anew(project: Project):
    project.begin(DRAWS)
    project.resume(not_happened).result()
    _, calls = project.read()
    drawn = [call.result["$v"] for call in calls if call.name == "uuid.uuid4"]
    assert len(set(drawn)) == 3
    asked = [call.args["number"] for call in calls if call.name == "order"]
    assert asked == [drawn[0], drawn[1], drawn[1], drawn[2]]
    project.check(*(f"order-{number}" for number in drawn))


OFTEN = """
@agent_tt.tool(effect="read")
def look(n):
    if not os.path.exists(f"stopped-{n}"):
        open(f"stopped-{n}", "w").close()
        os.kill(os.getpid(), signal.SIGINT if n % 2 else signal.SIGKILL)
    did(f"look-{n}")
    return n


@agent_tt.tool(effect="write")
def send(n):
    did(f"send-{n}")


def main(state=None):
    state = state or {"total": 0}
    with agent_tt.record("often", state=state) as run:
        for n in range(5):
            with run.step("look"):
                send(n)
                state["total"] += look(n)


if __name__ == "__main__":
    main()
"""


def test_a_run_may_break_off_and_go_on_again_and_again(project: Project):
    project.begin(OFTEN)
    statuses = []
    for _ in range(5):
        project.resume().wait()
        statuses.append(project.read()[0].status)
    assert statuses == ["interrupted", "crashed", "interrupted", "crashed", "succeeded"]
    run = project.check(*(f"{what}-{n}" for n in range(5) for what in ("look", "send")))
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert store.state(run.id, run.steps) == {"total": 10}


CHILD = """
import os, signal


def work(n):
    with open("did", "a") as file:
        file.write(f"work-{n}\\n")
    return n


if __name__ == "__main__":
    work(0)
    if not os.path.exists("broke off"):
        open("broke off", "w").close()
        os.killpg(0, signal.SIGKILL)
    work(1)
"""

PARENT = """
os.getpgrp() == os.getpid() or os.setpgid(0, 0)
did("parent")
subprocess.run([sys.executable, "child.py"], capture_output=True)
did("parent again")
"""


def test_a_process_in_flight_is_started_from_its_beginning(project: Project):
    (project.folder / "child.py").write_text(CHILD)
    record = ("-m", "agent_tt_tui", "record", "--call", "agent.did=write", "--call", "child.work=write", "--")
    project.begin("import subprocess\n" + PARENT, *record, sys.executable, "agent.py", exit_code=137)
    assert project.done() == ["parent", "work-0"]
    asked: list[str] = []
    project.resume(lambda call: asked.append(call.kind)).result()
    assert asked == ["subprocess"]
    assert project.done() == ["parent", "work-0", "work-0", "work-1", "parent", "again"]
    assert project.read()[0].status == "succeeded"
