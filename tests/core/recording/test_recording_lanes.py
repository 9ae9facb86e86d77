"""Lanes are named by where they were created, steps nest where they were created, and every hook is undone."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.recording.lanes.hooks import HOOKS, Hooks, Patch


@agent_tt.tool(effect="read")
def ask(who):
    return who


def lanes_of(run):
    """Which lane asked for whom."""
    return {call.new.args["who"]: call.new.lane for call in run.calls}


async def answer_in_random_order(names):
    """Everyone waits for their own event; the events are set in random order."""
    events = {name: asyncio.Event() for name in names}

    async def worker(name):
        await events[name].wait()
        ask(name)

    tasks = [asyncio.create_task(worker(name)) for name in names]
    for name in random.sample(names, len(names)):
        events[name].set()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)


def test_twenty_tasks_have_their_lanes_by_creation_whoever_is_first(store):
    names = [f"n{i}" for i in range(20)]
    for _ in range(5):
        with agent_tt.record("x") as run, run.step("s"):
            asyncio.run(answer_in_random_order(names))
    orders = {tuple(call.new.args["who"] for call in run.calls) for run in store.runs}
    assert len(orders) > 1
    assert all(lanes_of(run) == lanes_of(store.runs[0]) for run in store.runs)
    lanes = lanes_of(store.runs[0])
    assert [lanes[name].rpartition(".")[2] for name in names] == [str(i) for i in range(20)]
    assert lanes["n3"] == "main/answer_in_random_order.0/answer_in_random_order.<locals>.worker.3"


def test_the_task_that_records_is_main(store):
    async def agent():
        async with agent_tt.record("x"):
            ask("me")
            await asyncio.create_task(helper())

    async def helper():
        ask("helper")

    asyncio.run(agent())
    helper_lane = f"main/{helper.__qualname__}.0"
    assert lanes_of(store.only) == {"me": "main", "helper": helper_lane}


async def test_gather_and_task_groups_nest_steps_where_they_were_started(store):
    state = {"found": []}
    both_open = asyncio.Barrier(2) if hasattr(asyncio, "Barrier") else None

    async def search(run, who):
        async with run.step(who, state):
            await both_open.wait()
            ask(who)
            state["found"].append(who)

    async with agent_tt.record("x", state=state) as run:
        async with run.step("gather", state):
            await asyncio.gather(search(run, "a"), search(run, "b"))
        async with run.step("group", state), asyncio.TaskGroup() as group:
            group.create_task(search(run, "c"))
            group.create_task(search(run, "d"))
    recorded = store.only
    parents = {step.name: step.new.parent for step in recorded.steps}
    number = {step.name: step.number for step in recorded.steps}
    assert parents["a"] == parents["b"] == number["gather"]
    assert parents["c"] == parents["d"] == number["group"]
    assert {call.new.args["who"]: recorded.steps[call.step - 1].name for call in recorded.calls} == {
        who: who for who in "abcd"
    }


async def test_steps_side_by_side_on_one_state_share_its_track_and_commit_in_order(store):
    state = {"log": []}
    both = asyncio.Barrier(2)

    async def work(run, who, own=None, **about):
        async with run.step(who, own or state, **about):
            await both.wait()
            (own or state).setdefault("log", []).append(who)

    async with agent_tt.record("x", state=state) as run, run.step("outer"):
        await asyncio.gather(work(run, "a"), work(run, "b"))
        await asyncio.gather(work(run, "alone"), work(run, "own", {"mine": 1}, agent="web"))
    recorded = store.only
    shared = {step.name: step.end.shared_track for step in recorded.steps}
    assert shared == {"outer": False, "a": True, "b": True, "alone": False, "own": False}
    logs = [recorded.steps[number - 1].state["log"] for number in recorded.commits if number != 5]
    assert [len(log) for log in logs] == sorted(len(log) for log in logs)


def test_threads_on_one_state_commit_what_they_saw_in_order(store):
    class Tally:
        def __init__(self):
            self.n = 0
            self.lock = threading.Lock()

        def get_state(self):
            return {"n": self.n}

    tally = Tally()

    def work(run):
        for _ in range(20):
            with run.step("add", tally), tally.lock:
                tally.n += 1

    with agent_tt.record("x", state=tally) as run:
        threads = [threading.Thread(target=work, args=(run,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
    recorded = store.only
    seen = [recorded.steps[number - 1].state["n"] for number in recorded.commits]
    assert seen == sorted(seen)
    assert seen[-1] == 80
    assert {step.new.lane for step in recorded.steps} == {f"main/thread.{i}" for i in range(4)}


def test_threads_and_executor_jobs_have_lanes_and_belong_to_the_step_that_started_them(store):
    def in_thread():
        ask("thread")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(ask, "job of thread").result(PATIENCE_SECONDS)

    with agent_tt.record("x") as run, ThreadPoolExecutor(3) as pool:
        with run.step("pool"):
            list(pool.map(ask, ["p0", "p1", "p2"]))
        with run.step("contexts"):
            context = contextvars.copy_context()
            jobs = [pool.submit(contextvars.copy_context().run, ask, f"c{i}") for i in range(2)]
            [job.result(PATIENCE_SECONDS) for job in jobs]
            context.run(ask, "same thread")
        with run.step("thread"):
            thread = threading.Thread(target=in_thread)
            thread.start()
            thread.join(PATIENCE_SECONDS)
    lanes = lanes_of(store.only)
    assert lanes == {
        "p0": "main/work.0",
        "p1": "main/work.1",
        "p2": "main/work.2",
        "c0": "main/work.3",
        "c1": "main/work.4",
        "same thread": "main",
        "thread": "main/thread.0",
        "job of thread": "main/thread.0/work.0",
    }
    steps = {call.new.args["who"]: store.only.steps[call.step - 1].name for call in store.only.calls}
    assert (steps["p1"], steps["c1"], steps["thread"], steps["job of thread"]) == (
        "pool",
        "contexts",
        "thread",
        "thread",
    )


async def test_to_thread_and_run_in_executor_are_jobs_of_the_task_that_asked(store):
    async def delegate(who):
        await asyncio.to_thread(ask, who)
        await asyncio.get_running_loop().run_in_executor(None, ask, who + "2")

    async with agent_tt.record("x") as run, run.step("s"):
        await asyncio.gather(delegate("a"), delegate("b"))
    label = delegate.__qualname__
    assert lanes_of(store.only) == {
        "a": f"main/{label}.0/work.0",
        "a2": f"main/{label}.0/work.1",
        "b": f"main/{label}.1/work.0",
        "b2": f"main/{label}.1/work.1",
    }
    assert {call.step for call in store.only.calls} == {1}


def test_a_thread_of_its_own_class_runs_its_own_run(store):
    class Worker(threading.Thread):
        def run(self):
            ask("subclass")

    with agent_tt.record("x"):
        worker = Worker()
        worker.start()
        worker.join(PATIENCE_SECONDS)
        with pytest.raises(RuntimeError):
            worker.start()
    assert "run" not in vars(worker)
    assert lanes_of(store.only) == {"subclass": "main/thread.0"}


def test_work_items_may_name_their_lane_so_that_any_worker_may_take_them(store):
    items = [f"item{i}" for i in range(12)]

    def work(todo, run):
        while True:
            try:
                item = todo.get_nowait()
            except queue.Empty:
                return
            with agent_tt.lane(item), run.step("handle"):
                ask(item)

    for _ in range(2):
        todo = queue.Queue()
        for item in items:
            todo.put(item)
        with agent_tt.record("x") as run:
            workers = [threading.Thread(target=work, args=(todo, run)) for _ in range(3)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join(PATIENCE_SECONDS)
            ask("after")
    expected = {item: f"main/@{item}" for item in items} | {"after": "main"}
    assert [lanes_of(run) for run in store.runs] == [expected, expected]


def test_a_named_lane_goes_on_where_it_was_and_its_children_lie_below_it(store):
    async def inside():
        ask("task")

    with agent_tt.record("x"):
        with agent_tt.lane("a"):
            ask("first")
            with agent_tt.lane("b"):
                ask("deeper")
            asyncio.run(inside())
        with agent_tt.lane("a"):
            ask("second")
    recorded = store.only
    assert lanes_of(recorded) == {
        "first": "main/@a",
        "deeper": "main/@a/@b",
        "task": f"main/@a/{inside.__qualname__}.0",
        "second": "main/@a",
    }
    assert [call.new.lane_seq for call in recorded.calls] == [1, 1, 1, 2]


def test_a_task_given_a_context_of_its_own_is_recorded_too(store):
    async def inside():
        ask("inside")

    async def main():
        await asyncio.create_task(inside(), context=contextvars.Context())

    with agent_tt.record("x") as run, run.step("s"):
        asyncio.run(main())
    assert lanes_of(store.only)["inside"].endswith(f"/{inside.__qualname__}.0")
    assert store.only.calls[0].step == 1


def test_a_task_older_than_the_recording_is_numbered_when_it_first_calls(store):
    async def late(run, start):
        await start.wait()
        with run[0].step("s"):
            ask("late")

    async def main():
        start, run = asyncio.Event(), []
        task = asyncio.create_task(late(run, start))
        with agent_tt.record("x") as recording:
            run.append(recording)
            start.set()
            await task

    asyncio.run(main())
    assert lanes_of(store.only) == {"late": "main/task?.0"}


def test_a_task_that_outlives_its_step_makes_steps_of_its_own_below_it(store):
    async def main():
        go = asyncio.Event()

        async def linger():
            await go.wait()
            ask("late")

        with agent_tt.record("x") as run:
            with run.step("s"):
                task = asyncio.create_task(linger())
            go.set()
            await task
        return task

    asyncio.run(main())
    own = store.only.step("ask")
    assert (own.new.parent, len(own.calls)) == (1, 1)


def test_code_that_outlives_its_run_simply_runs(store):
    go = threading.Event()
    results = []

    def linger():
        go.wait(PATIENCE_SECONDS)
        results.append(ask("late"))

    with agent_tt.record("x") as run, run.step("s"):
        thread = threading.Thread(target=linger)
        thread.start()
    go.set()
    thread.join(PATIENCE_SECONDS)
    assert results == ["late"]
    assert store.only.calls == []


def test_threads_of_the_store_are_nobodys_lane(store, monkeypatch):
    started = []

    def open_step(new, original=None):
        thread = threading.Thread(target=lambda: started.append(1))
        thread.start()
        thread.join(PATIENCE_SECONDS)
        return original(new)

    with agent_tt.record("x") as run:
        original = store.only.open_step
        monkeypatch.setattr(store.only, "open_step", lambda new: open_step(new, original))
        with run.step("s"):
            thread = threading.Thread(target=ask, args=("mine",))
            thread.start()
            thread.join(PATIENCE_SECONDS)
    assert started == [1]
    assert lanes_of(store.only) == {"mine": "main/thread.0"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_eager_tasks_find_their_lane_before_they_are_returned(store):
    async def leaf(i):
        ask(f"before{i}")
        await asyncio.sleep(0)
        ask(f"after{i}")

    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        await asyncio.gather(*[leaf(i) for i in range(3)])

    with agent_tt.record("x") as run, run.step("s"):
        asyncio.run(main())
    lanes = lanes_of(store.only)
    assert [lanes[f"before{i}"] for i in range(3)] == [lanes[f"after{i}"] for i in range(3)]
    assert len(set(lanes.values())) == 3


def test_hooks_are_there_while_any_recording_runs_and_gone_after_the_last(store):
    names = [
        (asyncio.BaseEventLoop, "create_task"),
        (ThreadPoolExecutor, "submit"),
        (threading.Thread, "start"),
    ]
    before = [vars(owner)[name] for owner, name in names]
    outer, inner = agent_tt.record("outer"), agent_tt.record("inner")
    with outer:
        with inner:
            pass
        during = [vars(owner)[name] for owner, name in names]
        assert all(now is not then for now, then in zip(during, before, strict=True))
    assert all(vars(owner)[name] is then for (owner, name), then in zip(names, before, strict=True))


def test_a_failing_begin_leaves_no_hooks(store, monkeypatch):
    def refuse(new, state):
        raise OSError("disk")

    monkeypatch.setattr(store, "begin_run", refuse)
    with pytest.raises(OSError, match="disk"), agent_tt.record("x", on_store_error="stop"):
        pass
    assert store.closed == 1
    assert HOOKS.is_idle


def test_a_patch_beneath_somebody_elses_is_not_put_twice_and_an_inherited_method_is_not_left():
    class Base:
        def go(self):
            return ["base"]

    class Loop(Base):
        pass

    def make(original):
        return lambda self: [*original(self), "ours"]

    patch = Patch(Loop, "go", make)
    patch.apply()
    assert Loop().go() == ["base", "ours"]
    ours = Loop.go
    Loop.go = lambda self: [*ours(self), "theirs"]
    patch.undo()
    patch.apply()
    assert Loop().go() == ["base", "ours", "theirs"]
    Loop.go = ours
    patch.undo()
    assert "go" not in vars(Loop)


def test_uvloop_is_hooked_only_where_the_program_has_imported_it(monkeypatch):
    class Loop:
        def create_task(self, coro, **options):
            return coro

    untouched = Loop.create_task
    hooks = Hooks()
    hooks.acquire()
    hooks.release()
    assert Loop.create_task is untouched
    monkeypatch.setitem(sys.modules, "uvloop", SimpleNamespace(Loop=Loop))
    hooks.acquire()
    assert Loop.create_task is not untouched
    assert Loop().create_task("coroutine") == "coroutine"
    hooks.release()
    assert Loop.create_task is untouched


async def test_workers_of_anyio_are_in_the_lane_of_the_task_that_waits_for_them(store):
    to_thread = pytest.importorskip("anyio.to_thread")

    async def delegate(who):
        await to_thread.run_sync(ask, who)

    async with agent_tt.record("x") as run, run.step("s"):
        await asyncio.gather(delegate("a"), delegate("b"))
    assert lanes_of(store.only) == {f"{who}": f"main/{delegate.__qualname__}.{i}" for i, who in enumerate("ab")}
