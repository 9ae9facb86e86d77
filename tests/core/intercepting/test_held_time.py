"""Clocks stand still while a call waits for a person."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE_SECONDS

from agent_tt.intercepting import held_time
from agent_tt.intercepting.asking import Asking
from agent_tt.intercepting.held_time import HeldTime
from agent_tt.intercepting.standing_still import standing_still


@pytest.mark.parametrize("clock", [time.monotonic, time.perf_counter, lambda: time.monotonic()])
def test_a_clock_says_one_thing_while_a_call_waits_and_goes_on_from_there(clock: object) -> None:
    held = HeldTime()
    before = held.without(clock)
    with held.counted():
        said = {held.without(clock) for _ in range(2000)}
        with held.counted():
            said |= {held.without(clock) for _ in range(2000)}
        said |= {held.without(clock) for _ in range(2000)}
    (still,) = said
    assert still >= before
    assert held.without(clock) - still < PATIENCE_SECONDS


@given(st.lists(st.sampled_from(["begin", "end", "read"]), max_size=40))
def test_our_own_clock_never_goes_back(events: list[str]) -> None:
    # The very clock that the time is counted by; another one is read a moment before or after it.
    clock = held_time._now
    held, waiting, last = HeldTime(), [], float("-inf")
    for event in events:
        if event == "begin":
            waiting.append(held.counted())
            waiting[-1].__enter__()
        elif event == "end" and waiting:
            waiting.pop().__exit__(None, None, None)
        reading = held.without(clock)
        assert reading >= last
        last = reading


def test_who_does_not_want_to_wait_does_not_wait_while_another_call_does() -> None:
    """A pool asks with a time-out of 0 whether one of its threads is free; that once waited for the person."""
    asking = Asking()
    semaphore, empty = threading.Semaphore(0), queue.Queue[int]()
    done = threading.Event()

    def ask_often() -> None:
        for _ in range(2000):
            assert not semaphore.acquire(timeout=0)
        with pytest.raises(queue.Empty):
            empty.get(timeout=0)
        done.set()

    with standing_still(asking), ThreadPoolExecutor(1) as pool:
        with asking.held.counted():
            asking = pool.submit(ask_often)
            assert _came(done)
        asking.result()


def _came(done: threading.Event) -> bool:
    """Wait without a time-out of the kind that stands still."""
    ends = time.perf_counter() + PATIENCE_SECONDS
    while not done.is_set() and time.perf_counter() < ends:
        time.sleep(0.001)
    return done.is_set()
