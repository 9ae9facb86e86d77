"""Laws of matching and of turns, over any lanes, questions and orders."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE_SECONDS

from agent_tt.model import Call, Run
from agent_tt.recording.calls.answers import Question
from agent_tt.replaying.answers.turns import Turns
from agent_tt.replaying.answers.waiters import TaskWaiter, no_context
from agent_tt.replaying.divergence import Divergence
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.tape.tape import Tape, lay_out

LANES = ["main", "main/ask.0", "main/ask.1", "main/ask.10", "main/work.0/ask.0"]


def run() -> Run:
    return Run("R", "law", "succeeded", 0)


def tape_of(lanes: dict[str, list[str]], order: list[str] | None = None) -> Tape:
    """A tape of lanes with their questions, answered in the order in which `order` names the lanes."""
    calls = []
    taken = dict.fromkeys(lanes, 0)
    for number, lane in enumerate(order or [name for name in lanes for _ in lanes[name]], 1):
        index = taken[lane]
        taken[lane] += 1
        text = lanes[lane][index]
        calls.append(
            Call(
                step=number,
                number=1,
                kind="llm",
                name="ask",
                status="ok",
                lane=lane,
                lane_seq=index + 1,
                args={"text": text},
                result=f"{lane} {index}",
                signature=text,
                delivered=number,
            )
        )
    return lay_out(run(), [(call, ()) for call in calls])


def ask(replay: Replay, lane: str, text: str) -> str:
    served = replay.ask(Question("llm", "ask", {"text": text}, text, None, lane, 0))
    return served.call.result


@st.composite
def recordings(draw):
    """Lanes with questions (equal ones among them), and an order in which they may be asked."""
    names = draw(st.lists(st.sampled_from(LANES), min_size=1, unique=True))
    lanes = {name: draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=4)) for name in names}
    places = [name for name, texts in lanes.items() for _ in texts]
    return lanes, draw(st.permutations(places)), draw(st.permutations(places))


@given(recordings())
def test_whatever_the_order_between_lanes_each_gets_its_own_answers(case):
    lanes, answered, asked = case
    replay = Replay(tape_of(lanes, answered))
    taken = dict.fromkeys(lanes, 0)
    for lane in asked:
        index = taken[lane]
        taken[lane] += 1
        assert ask(replay, lane, lanes[lane][index]) == f"{lane} {index}"
    replay.finish()
    assert replay.findings == ()
    assert replay.notes.all() == ()


@given(st.lists(st.integers(0, 99), min_size=2, max_size=8, unique=True), st.data())
def test_one_call_left_out_is_one_missing_call_at_its_place(numbers, data):
    texts = [f"question {number}" for number in numbers]
    left_out = data.draw(st.integers(0, len(texts) - 1))
    replay = Replay(tape_of({"main": texts}))
    for index, text in enumerate(texts):
        if index != left_out:
            assert ask(replay, "main", text) == f"main {index}"
    replay.finish()
    assert [(finding.kind, finding.step) for finding in replay.findings] == [("missing call", left_out + 1)]


@given(st.lists(st.integers(0, 99), min_size=2, max_size=8, unique=True), st.data())
def test_one_call_moved_back_is_one_changed_order_at_its_place(numbers, data):
    texts = [f"question {number}" for number in numbers]
    moved = data.draw(st.integers(0, len(texts) - 2))
    to = data.draw(st.integers(moved + 1, len(texts) - 1))
    order = [*texts[:moved], *texts[moved + 1 : to + 1], texts[moved], *texts[to + 1 :]]
    replay = Replay(tape_of({"main": texts}), observe=True)
    for text in order:
        assert ask(replay, "main", text) == f"main {texts.index(text)}"
    replay.finish()
    assert [(finding.kind, finding.step) for finding in replay.findings] == [("changed order", moved + 1)]


@given(recordings(), st.data())
def test_a_question_that_nobody_recorded_is_never_answered(case, data):
    lanes, answered, asked = case
    replay = Replay(tape_of(lanes, answered))
    stop = data.draw(st.integers(0, len(asked) - 1))
    taken = dict.fromkeys(lanes, 0)
    for lane in asked[:stop]:
        ask(replay, lane, lanes[lane][taken[lane]])
        taken[lane] += 1
    lane = data.draw(st.sampled_from(list(lanes)))
    with pytest.raises(Divergence) as caught:
        ask(replay, lane, "something that is in no recording at all and very long indeed: 1 2 3 4 5")
    assert caught.value.finding is replay.failure


# ---------------------------------------------------------------- turns


@given(st.permutations(range(1, 9)), st.sets(st.integers(1, 8)), st.dictionaries(st.integers(1, 8), st.integers(0, 4)))
@settings(deadline=None)
def test_coroutines_get_their_turns_in_order(waiting, dropped, passes):
    given_out = []

    async def one(turns, number):
        await turns.turn(number)
        given_out.append(number)

    async def everyone():
        turns = Turns([(number, passes.get(number)) for number in range(1, 9)], lambda number: None)
        turns.drop(*dropped)
        await asyncio.gather(*(one(turns, number) for number in waiting if number not in dropped))

    asyncio.run(everyone())
    assert given_out == sorted(given_out)
    assert len(given_out) == 8 - len(dropped)


@given(st.permutations(range(1, 7)))
@settings(deadline=None, max_examples=20)
def test_threads_and_coroutines_share_one_order(waiting):
    given_out = []
    turns = Turns([(number, None) for number in range(1, 7)], lambda number: None)

    def plain(number):
        turns.wait(number)
        given_out.append(number)

    async def later(number):
        await turns.turn(number)
        given_out.append(number)

    async def everyone():
        await asyncio.gather(*(asyncio.to_thread(plain, number) if number % 2 else later(number) for number in waiting))

    asyncio.run(everyone())
    assert sorted(given_out) == list(range(1, 7))
    # A thread has its number before the next is given out, but may be slow to say so.
    assert all(abs(place - number) <= 2 for place, number in enumerate(given_out, 1))


def test_a_waiter_that_is_cancelled_holds_nobody_up():
    async def everyone():
        turns = Turns([(1, None), (2, None), (3, None)], lambda number: None)
        second, third = (asyncio.create_task(turns.turn(number)) for number in (2, 3))
        await asyncio.sleep(0)
        second.cancel()
        await turns.turn(1)
        await third

    asyncio.run(everyone())


def test_what_is_dropped_in_a_finalizer_holds_nobody_up():
    turns = Turns([(1, None), (2, None)], lambda number: None)

    class Stream:
        def __init__(self):
            self.me = self

        def __del__(self):
            turns.drop(1)

    with turns._locked():  # the garbage collector may run while the turns themselves are being counted
        Stream()
        gc.collect()
    turns.wait(2)


def test_threads_relax_the_order_after_a_while_and_say_so():
    relaxed = []
    turns = Turns([(1, None), (2, None), (3, None)], relaxed.append)
    turns.wait(3)
    assert relaxed == [3]
    turns.wait(2)
    assert relaxed == [3], "who comes late is not waited for"


def test_the_end_releases_everybody():
    turns = Turns([(1, None), (2, None)], lambda number: None)
    threads = [threading.Thread(target=wait) for wait in (lambda: turns.wait(2), turns.hang_thread)]
    for thread in threads:
        thread.start()
    turns.end()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_a_thousand_answers_are_laid_out_and_given_out_in_no_time():
    texts = [f"question {number % 100}" for number in range(1000)]
    replay = Replay(tape_of({"main": texts}))
    for index, text in enumerate(texts):
        served = replay.ask(Question("llm", "ask", {"text": text}, text, None, "main", 0))
        served.wait()
        assert served.call.result == f"main {index}"
    replay.finish()
    assert replay.failure is None


def test_a_thread_releases_who_waits_in_the_loop_of_another():
    """Callbacks of two loops at the same time, one of which sets the other's going, are in no context together."""
    released, waiting = threading.Event(), threading.Event()
    waiter: list[TaskWaiter] = []

    async def waits():
        loop = asyncio.get_running_loop()
        waiter.append(TaskWaiter(loop, at_once=False))
        waiting.set()
        await waiter[0].wait()
        released.set()

    thread = threading.Thread(target=lambda: asyncio.run(asyncio.wait_for(waits(), 60)))
    thread.start()
    waiting.wait()
    seen: list[bool] = []

    def gives():
        waiter[0].release()
        seen.append(released.wait(PATIENCE_SECONDS))

    async def other():
        asyncio.get_running_loop().call_soon(gives, context=no_context())
        await asyncio.sleep(0)

    asyncio.run(other())
    thread.join()
    assert seen == [True]
