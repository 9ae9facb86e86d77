"""The effects ledger is what a run's calls say."""

from __future__ import annotations

import pytest

from agent_tt.comparing.steps.effects import effects_in
from agent_tt.model import Call, ErrorInfo

NO = ErrorInfo("agent_tt.errors:ToolDenied", "charge was not run")


def call(number=1, name="charge", kind="tool", effect="write", status="ok", error=None, step=2, **meta):
    return Call(step, number, kind, name, status, effect, args={"n": 1}, result="paid", error=error, meta=meta)


ASK = {"word": "ask", "source": "you"}


@pytest.mark.parametrize(
    ("made", "happened", "because"),
    [
        (call(), "sent", ""),
        (call(policy={"word": "live", "source": "project", "place": "/p/pyproject.toml"}), "sent", "/p/pyproject.toml"),
        (call(policy=ASK, answered={"word": "run"}), "sent", "a person"),
        (call(policy=ASK, answered={"word": "run"}, args_asked={"n": 9}), "sent edited", "a person"),
        (call(status="error", error=NO), "failed", ""),
        (call(status="denied", error=NO, policy={"word": "deny", "source": "default"}), "denied", "default"),
        (call(status="denied", error=NO, policy=ASK, answered={"word": "refuse"}), "refused", "a person"),
        (call(status="denied", error=NO, policy=ASK, answered={"word": "refuse", "by": "nobody"}), "refused", "nobody"),
        (call(policy=ASK, answered={"word": "run", "by": "program"}), "sent", "a program"),
        (call(policy=ASK, answered={"word": "give", "by": "app"}), "stubbed", "a person"),
        (call(status="error", error=NO, policy=ASK, answered={"word": "raise"}), "stubbed", "a person"),
        (call(policy={"word": "stub", "source": "you"}), "stubbed", "you"),
        (call(policy={"word": "recorded", "source": "you", "from": {"run": "r", "step": 1}}), "recorded", "you"),
        (call(status="pending"), "unknown", ""),
        (call(status="pending", policy=ASK), "refused", "you"),
        (call(kind="http", name="POST https://shop/pay", effect=None), "sent", ""),
        (call(kind="socket", name="socket shop:25", effect=None, status="denied"), "denied", ""),
        (call(kind="llm", name="ask", effect=None, status="denied"), "denied", ""),
        (call(effect="read", policy={"word": "stub", "source": "you"}), "stubbed", "you"),
    ],
)
def test_a_call_that_did_something_or_was_decided_about_is_a_row(made, happened, because):
    (row,) = effects_in([made], is_running=False).rows
    assert (row.happened, row.because, row.name, row.step, row.call) == (happened, because, made.name, 2, 1)
    assert (row.args, row.result) == ({"n": 1}, "paid")


def test_while_the_run_goes_on_a_call_is_under_way_or_waits():
    rows = effects_in([call(status="pending"), call(2, status="pending", policy=ASK)], is_running=True).rows
    assert [row.happened for row in rows] == ["sent", "waiting"]


def test_what_only_reads_and_models_are_counted_and_what_is_no_boundary_is_not():
    effects = effects_in(
        [
            call(1, "search", effect="read"),
            call(2, "search", effect="read"),
            call(3, "GET https://shop/", "http", None),
            call(4, "POST https://model/", "llm", None, model="gpt"),
            call(5, "POST https://model/", "llm", None, model="gpt", inside={"step": 2, "call": 1}),
            call(6, "POST https://model/", "llm", None, model="gpt", made_up="mock"),
            call(7, "time", "clock", None),
        ],
        is_running=False,
    )
    assert (effects.rows, effects.reads, effects.models) == (
        (),
        {"search": 2, "GET https://shop/": 1},
        {"gpt": 1},
    )
    assert effects.summary() == ""


def test_what_a_call_does_itself_belongs_to_it_but_tools_that_it_calls_are_their_own():
    inside = {"step": 2, "call": 1}
    effects = effects_in(
        [
            call(1, "order"),
            call(2, "POST https://shop/", "http", None, inside=inside),
            call(3, "subprocess mail", "subprocess", None, inside=inside),
            call(4, "charge", inside=inside),
            call(5, "POST https://late/", "http", None, outlives=inside),
        ],
        is_running=False,
    )
    assert [(row.name, row.inside) for row in effects.rows] == [("order", 2), ("charge", 0), ("POST https://late/", 0)]


def test_what_looks_like_a_write_inside_of_what_is_said_to_read_is_listed():
    inside = {"step": 2, "call": 1}
    effects = effects_in(
        [
            call(1, "search", effect="read"),
            call(2, "GET https://shop/", "http", None, inside=inside),
            call(3, "POST https://shop/", "http", None, inside=inside),
            call(4, "gpt", "llm", None, model="gpt"),
            call(5, "POST https://model/", "http", None, inside={"step": 2, "call": 4}),
        ],
        is_running=False,
    )
    assert [(row.name, row.effect, row.happened) for row in effects.rows] == [("POST https://shop/", "read", "sent")]
    assert effects.summary("x") == "went out: POST https://shop/ x1"
    assert effects.reads == {"search": 1}


def test_copies_in_a_resumed_run_do_not_count():
    assert effects_in([call(copy_of={"step": 1, "call": 1})], is_running=False).rows == ()


def test_the_summary_counts_by_what_became_of_the_calls():
    calls = [call(1), call(2), call(3, "mail", status="denied"), call(4, "log", status="error", error=NO)]
    calls += [call(5, f"tool {n}", status="denied") for n in range(5)]
    assert effects_in(calls, is_running=False).summary("x") == (
        "went out: charge x2; failed: log x1; held back: mail x1, tool 0 x1, tool 1 x1, tool 2 x1, 2 more"
    )


def test_facts_that_are_no_facts_say_nothing():
    odd = [call(1, policy="deny", answered=[1], args_asked="x", inside={"step": "2"}), call(2, policy={"word": 3})]
    assert [row.happened for row in effects_in(odd, is_running=False).rows] == ["sent", "sent"]
