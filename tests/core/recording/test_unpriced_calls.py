"""A cost that is not the whole cost says so: model calls without a known price are counted beside it."""

from __future__ import annotations

from contextlib import closing

import pytest

import agent_tt
from agent_tt.comparing.steps.outcome import read_outcome
from agent_tt.forking.policy.boundary import expected_after
from agent_tt.history.digest import digest
from agent_tt.recording.calls.exchange import Asked, begin_exchange
from agent_tt.shapes.records import run_shape
from agent_tt.store import open_store
from agent_tt.store.rows.usage import usage_from_wire
from agent_tt_tui import format as fmt

URL = "http://127.0.0.1/v1/chat/completions"


@agent_tt.llm
def ask(usage):
    return {"content": "yes", **({} if usage is None else {"usage": usage})}


@agent_tt.llm
def ask_through(usage, inner):
    ask(inner)
    return {"content": "yes", **({} if usage is None else {"usage": usage})}


def request(status, facts):
    args = {"method": "POST", "url": URL, "headers": {}, "body": {"model": "m", "messages": []}}
    call = begin_exchange(Asked("llm", f"POST {URL}", args, digest(args).hex(), model="m"))
    call.stream_ended("end", {"status": status, "headers": {}, "body": {}}, priced={"usage": facts}, facts=facts)


PRICED, UNPRICED = {"tokens_in": 1, "tokens_out": 1, "cost_usd": 0.25}, {"tokens_in": 1, "tokens_out": 1}


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "runs.db"

    def record(*calls):
        with agent_tt.record("agent", store=path) as run:
            for number, call in enumerate(calls):
                with run.step(f"step {number}"):
                    call()
            with closing(open_store(path)) as store:
                running = store.run(run.id)
        with closing(open_store(path)) as store:
            found = store.run(run.id)
            assert (running.unpriced, running.cost_usd) == (found.unpriced, found.cost_usd)
            return found, store.steps(run.id)

    return record


@pytest.mark.parametrize(
    ("calls", "cost", "unpriced"),
    [
        ([lambda: ask(PRICED)], 0.25, 0),
        ([lambda: ask(PRICED), lambda: ask(UNPRICED)], 0.25, 1),
        ([lambda: (ask(PRICED), ask(UNPRICED), ask(None))], 0.25, 2),
        ([lambda: ask(None)], None, 1),
        ([lambda: ask_through(None, PRICED)], 0.25, 0),
        ([lambda: ask_through(None, UNPRICED), lambda: ask(PRICED)], 0.25, 1),
        ([lambda: request(429, {"answer_error": "too many"}), lambda: ask(PRICED)], 0.25, 0),
        ([lambda: request(200, UNPRICED), lambda: ask(PRICED)], 0.25, 1),
        ([], None, 0),
    ],
)
def test_calls_without_a_price_are_counted_once_wherever_costs_are_summed(recorded, calls, cost, unpriced):
    run, steps = recorded(*calls)
    assert (run.cost_usd, run.unpriced) == (cost, unpriced)
    outcome = read_outcome(run, steps, [], None)
    assert (outcome.cost_usd, outcome.unpriced, outcome.to_json()["cost_complete"]) == (cost, unpriced, not unpriced)
    assert expected_after(steps, 0).unpriced == unpriced
    assert run_shape(run)["cost_complete"] is (unpriced == 0)


def test_a_cost_that_is_not_whole_has_a_plus():
    assert [fmt.cost(0.25), fmt.cost(0.25, 2), fmt.cost(0.0001), fmt.cost(0.0001, 1)] == [
        "$0.25", "$0.25+", "<$0.001", "$0+",
    ]  # fmt: skip


@pytest.mark.parametrize("kept", [[1, 2, 0.5], [1, 2, 0.5, 3], [1, 2, 0.5, "x"]])
def test_the_sums_of_a_run_that_is_over_are_read_as_they_were_kept(kept):
    found = usage_from_wire(kept)
    assert found is not None
    assert (found.cost_usd, found.unpriced) == (0.5, 3 if kept[-1] == 3 else None)
