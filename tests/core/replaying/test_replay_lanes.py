"""Programs whose tasks and threads ask one and the same question at once: each gets its own answer again."""

from __future__ import annotations

import asyncio
import itertools
import json
import queue
import random
import threading
import time

import anyio._backends._asyncio
import pytest
from tests.core.replaying import lane_programs
from tests.core.replaying.recorded import record
from tests.core.web_server import OPENAI_ANSWER, serving

import agent_tt
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.replaying.findings.notes import RESERVATIONS

REPLAYS = 2
MADE = itertools.count()


def fresh_answer(path, _):
    """Never the same, and never as fast."""
    time.sleep(0.2 if path == "/slow" else random.random() * 0.02)
    choice = {"index": 0, "message": {"role": "assistant", "content": f"answer {next(MADE)}"}, "finish_reason": "stop"}
    return json.dumps({**OPENAI_ANSWER, "choices": [choice]}).encode()


# Where sending takes longer than a task waits, httpx leaves its body to the collector: trio warns of it.
@pytest.mark.filterwarnings("ignore:.*ByteStream.__aiter__:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", lane_programs.PROGRAMS)
def test_everybody_who_asks_the_same_gets_their_own_answer_again(name, tmp_path):
    with serving(fresh_answer) as web:
        recorded = record(tmp_path, lambda: lane_programs.run(name, web.url))
    assert isinstance(recorded.result, list), recorded.result
    assert len(set(recorded.result)) == len(recorded.result) >= 4
    for _ in range(REPLAYS):
        result, replay = recorded.replay(lambda: lane_programs.run(name, web.url))
        assert result == recorded.result
        assert replay.failure is None
        assert replay.findings == ()
        assert replay.notes.all() == ()


# ---------------------------------------------------------------- whose answer cannot be told


@agent_tt.llm
async def ask(question):
    await asyncio.sleep(random.random() * 0.01)
    return next(MADE)


@agent_tt.llm
def ask_plainly(question):
    time.sleep(random.random() * 0.01)
    return next(MADE)


def notes_of(agent, tmp_path):
    recorded = record(tmp_path, agent)
    _, replay = recorded.replay(agent)
    assert replay.findings == ()
    return [note for note in replay.notes.all() if note.kind in RESERVATIONS]


@pytest.mark.parametrize("same", [True, False])
def test_tasks_that_no_hook_saw_are_a_reservation_where_they_ask_the_same(same, tmp_path):
    async def main():
        questions = ["the same"] * 3 if same else range(3)
        return await asyncio.gather(*[asyncio.Task(ask(question)) for question in questions])

    noted = notes_of(lambda: asyncio.run(main()), tmp_path)
    assert bool(noted) is same
    if same:
        assert "could not be seen" in noted[0].text
        assert "agent_tt.lane(key)" in noted[0].text


@pytest.mark.parametrize("same", [True, False])
def test_threads_that_share_a_queue_are_a_reservation_where_they_ask_the_same(same, tmp_path):
    def main():
        waiting = queue.Queue()

        def work():
            while (question := waiting.get()) is not None:
                ask_plainly(question)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(6):
            waiting.put("the same" if same else number)
        for _ in threads:
            waiting.put(None)
        for thread in threads:
            thread.join()

    assert bool(notes_of(main, tmp_path)) is same


def test_threads_that_each_have_a_queue_of_their_own_are_no_reservation(tmp_path):
    def main():
        def work(waiting):
            while (question := waiting.get()) is not None:
                ask_plainly(question)

        queues = [queue.Queue() for _ in range(3)]
        threads = [threading.Thread(target=work, args=(waiting,)) for waiting in queues]
        for thread in threads:
            thread.start()
        for waiting in queues * 2:
            waiting.put("the same")
        for waiting in queues:
            waiting.put(None)
        for thread in threads:
            thread.join()

    assert notes_of(main, tmp_path) == []


def test_a_library_that_is_not_as_we_know_it_is_a_reservation_where_equal_questions_are_asked(tmp_path, monkeypatch):
    async def main(*questions):
        return await asyncio.gather(*[ask(question) for question in questions])

    monkeypatch.delattr(anyio._backends._asyncio.TaskGroup, "_spawn")
    try:
        noted = notes_of(lambda: asyncio.run(main("the same", "the same")), tmp_path)
        assert "anyio" in noted[0].text
        assert notes_of(lambda: asyncio.run(main("one", "another")), tmp_path) == []
    finally:
        HOOKS.unfit.pop("anyio", None)


def test_a_lane_that_is_guessed_among_several_is_a_reservation_wherever_they_lie(tmp_path):
    """Of two lanes that ask the same one lies beside the new one: that it is meant is likely, and not known."""

    async def near():
        return await ask("the same")

    async def far():
        return await asyncio.create_task(near())

    async def recorded_agent():
        return await asyncio.gather(near(), far())

    async def renamed():
        return await ask("the same")

    async def replayed_agent():
        return await asyncio.gather(renamed(), far())

    recorded = record(tmp_path, lambda: asyncio.run(recorded_agent()))
    _, replay = recorded.replay(lambda: asyncio.run(replayed_agent()))
    assert {"lane moved", "unreliable"} <= {note.kind for note in replay.notes.all()}
