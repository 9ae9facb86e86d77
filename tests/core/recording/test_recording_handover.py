"""Threads that are recorded take their answers one after another."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import agent_tt
from agent_tt.recording.lanes import thread_ordering as handover
from agent_tt.recording.lanes.thread_ordering import Handover
from agent_tt.recording.scope import here


@pytest.fixture
def patient(monkeypatch):
    monkeypatch.setattr(handover, "_MOMENT", 60.0)


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_an_answer_waits_for_what_is_done_with_the_one_before(patient):
    turns, log, got, may_go_on = Handover(), [], threading.Event(), threading.Event()

    def first():
        with turns.answering():
            log.append("first answered")
        got.set()
        may_go_on.wait()
        log.append("first acted")
        turns.goes_on()

    def second():
        with turns.answering():
            log.append("second answered")

    one = in_thread(first)
    got.wait()
    other = in_thread(second)
    while not turns._changed._waiters:
        pass
    may_go_on.set()
    one.join()
    other.join()
    assert log == ["first answered", "first acted", "second answered"]


def test_only_who_got_the_last_answer_can_say_that_it_is_done(patient):
    turns = Handover()
    with turns.answering():
        pass
    in_thread(turns.goes_on).join()
    assert turns._holder == threading.get_ident()
    turns.goes_on()
    assert turns._holder is None


def test_nobody_waits_long_for_a_thread_that_does_something_else(monkeypatch):
    monkeypatch.setattr(handover, "_MOMENT", 0.001)
    turns, answered = Handover(), []

    def work(number):
        with turns.answering():
            answered.append(number)

    for number in range(5):
        in_thread(lambda number=number: work(number)).join()
    assert answered == list(range(5))


@pytest.mark.skipif(not handover._FUTEX, reason="only Linux tells what another thread does")
def test_nobody_waits_for_a_thread_that_waits_for_something_outside(patient):
    turns, got = Handover(), threading.Event()
    end, other_end = os.pipe()

    def first():
        with turns.answering():
            got.set()
        os.read(end, 1)

    thread = in_thread(first)
    got.wait()
    with turns.answering():  # a minute, if it were not seen
        os.write(other_end, b"x")
    thread.join()
    os.close(end)
    os.close(other_end)


@agent_tt.llm
def ask(question):
    return question


@pytest.mark.usefixtures("patient", "store")
def test_a_job_hands_over_when_it_has_been_told_what_became_of_it():
    """Its function returns before that, and its thread may be kept from going on for any time in between."""
    log, added, may_ask = [], threading.Event(), threading.Event()

    def first():
        added.wait()
        ask("first")

    def second():
        may_ask.wait()
        ask("second")
        log.append("second answered")

    with agent_tt.record("x"), ThreadPoolExecutor(2) as pool:
        turns = here().recording.journal.handover

        def told(_):
            may_ask.set()
            while not turns._changed._waiters and not log:
                pass
            log.append("first told")

        pool.submit(first).add_done_callback(told)
        added.set()
        pool.submit(second)
    assert log == ["first told", "second answered"]
