"""A store that cannot be written is said to be the store, and never hides what the agent did."""

from __future__ import annotations

import gc

import pytest

import agent_tt
from agent_tt.errors import ReadOnlySource, StoreBusy, StoreUnreadable


@agent_tt.tool
def act(x=1):
    if x == 0:
        raise ValueError("agent's own")
    return x


@pytest.mark.parametrize("error", [StoreBusy("locked"), ReadOnlySource("read-only"), OSError(28, "no space left")])
def test_a_store_error_is_raised_as_one_and_the_agent_is_not_blamed(store, error):
    def agent():
        with agent_tt.record("x", on_store_error="stop") as run, run.step("s"):
            store.only.fail_with = error
            try:
                act()
            finally:
                store.only.fail_with = None

    with pytest.raises((StoreUnreadable, ReadOnlySource)) as raised:
        agent()
    assert raised.value.message
    if isinstance(error, OSError):
        assert raised.value.__cause__ is error
        assert "no space left" in str(raised.value)
    recorded = store.only
    assert (recorded.status, recorded.steps[0].end.status) == ("interrupted", "interrupted")
    assert recorded.calls == []
    assert store.closed == 1


def test_an_intent_that_cannot_be_written_keeps_the_tool_from_running(store):
    ran = []

    @agent_tt.tool
    def send():
        ran.append(1)

    def agent():
        with agent_tt.record("x", on_store_error="stop") as run, run.step("s"):
            store.only.fail_with = StoreBusy("locked")
            send()

    with pytest.raises(StoreBusy):
        agent()
    assert ran == []


def test_the_agents_own_exception_is_not_replaced_by_the_stores(store, caplog):
    @agent_tt.tool
    def fail():
        store.only.fail_with = StoreBusy("locked")
        raise ValueError("agent's own")

    with (
        pytest.raises(ValueError, match="agent's own"),
        agent_tt.record("x", on_store_error="stop") as run,
        run.step("s"),
    ):
        fail()
    assert "could not be recorded" in caplog.text


def test_an_end_that_cannot_be_written_is_raised_when_nothing_else_is(store):
    with pytest.raises(StoreBusy), agent_tt.record("x", on_store_error="stop"):
        store.only.fail_with = StoreBusy("locked")
    assert store.closed == 1


def test_a_store_that_fails_again_and_again_interrupts_the_run_and_is_told_once(store, caplog):
    first = StoreBusy("locked")

    def agent():
        with agent_tt.record("x", on_store_error="stop") as run:
            try:
                with run.step("s"):
                    store.only.fail_with = first
                    agent_tt.tool(lambda: None)()
            finally:
                store.only.fail_with = StoreBusy("locked")
                with pytest.raises(StoreBusy):
                    run.step("t").open()
                store.only.fail_with = None

    with pytest.raises(StoreBusy) as caught:
        agent()
    assert caught.value is first
    assert store.only.status == "interrupted"
    told = [entry.message for entry in caplog.records if "run " in entry.message and "locked" in entry.message]
    assert len(told) == 1


def test_what_the_collector_ends_inside_the_store_is_written_after_it(store, monkeypatch):
    @agent_tt.tool
    def endless():
        while True:
            yield 1

    class Cycle:
        pass

    gc.disable()
    try:
        with agent_tt.record("x", on_store_error="stop") as run, run.step("s"):
            holder = Cycle()
            holder.me, holder.stream = holder, endless()
            next(holder.stream)
            del holder
            recorded, inside = store.only, []

            def open_step(new, original=recorded.open_step):
                inside.append(recorded.calls[0].end)
                gc.collect()
                inside.append(recorded.calls[0].end)
                return original(new)

            monkeypatch.setattr(recorded, "open_step", open_step)
            with run.step("t"):
                assert inside == [None, None]
                assert recorded.calls[0].end.result == {"yielded": [1], "closed": True}
    finally:
        gc.enable()
