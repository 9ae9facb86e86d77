"""The figures in which runs and lanes are compared, and how programs are told them."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agent_tt.comparing.runs.lane_ends import LaneEnd, lane_ends
from agent_tt.comparing.runs.lineage import shared_by_checkpoint
from agent_tt.comparing.runs.rows import LanePair, Row, lane_pairs, mark_pending
from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt.comparing.steps.effects import EffectRow, Effects
from agent_tt.comparing.steps.outcome import Difference, Outcome, difference_of, last_words, read_outcome
from agent_tt.model import Call, Edit, ErrorInfo, Run, Step
from agent_tt.model.facts import CallFacts, RunFacts, StepFacts

if TYPE_CHECKING:
    from agent_tt.comparing.runs.rows import RowKind

NO = ErrorInfo("builtins:ValueError", "no", "Traceback")


def call(
    name: str, kind: str = "tool", status: str = "ok", effect: str | None = "read", step: int = 1, **rest: Any
) -> Call:
    return Call(step, 1, kind, name, status, effect, **rest)


STEPS = [
    Step(1, "a", "ok", tokens_in=1, tokens_out=20, cost_usd=0.25, started_us=1_000_000, ended_us=2_000_000),
    Step(
        2,
        "b",
        "ok",
        lane="web",
        tokens_in=300,
        extra={StepFacts.unpriced.key: 2},
        started_us=3_000_000,
        ended_us=4_000_000,
    ),
    Step(
        3,
        "c",
        "error",
        cost_usd=0.5,
        extra={StepFacts.unpriced.key: 1},
        started_us=2_500_000,
        ended_us=4_500_000,
        error=NO,
    ),
]
CALLS = [
    call("look"),
    call("pay", effect="write"),
    call("pay", effect="write", step=2),
    call("pay", effect="write", status="denied", step=2),
    call("pay", effect="write", status="denied", step=2),
    call("send", effect=None, step=3),
    call("GET https://x/", "http", effect=None, step=3),
    call("GET https://x/", "http", effect=None, status="denied", step=3),
    call("sh", "subprocess", effect=None, status="denied", step=3),
    call("sh", "subprocess", effect=None, step=3),
    call("socket", "socket", effect=None, status="denied", step=3),
    call("m", "llm", effect=None, step=3),
    call("m", "llm", effect=None, status="denied", step=3),
]


def test_an_outcome_counts_what_was_called_what_was_denied_and_what_it_took() -> None:
    run = Run("r", "r", "failed", 1_000_000, ended_us=3_500_000, error=NO)
    found = read_outcome(run, STEPS, CALLS, {"answer": "done"})
    assert (found.status, found.steps, found.error, found.answer) == ("failed", 3, NO, "done")
    assert list(found.tools.items()) == [("pay", 2), ("look", 1), ("send", 1), ("GET https://x/", 1)]
    assert list(found.writes.items()) == [("pay", 2), ("send", 1)]
    assert list(found.denied.items()) == [("pay", 2), ("GET https://x/", 1), ("sh", 1), ("socket", 1)]
    assert (found.tokens, found.cost_usd, found.unpriced, found.whole_cost) == (321, 0.75, 3, None)
    assert found.duration_us == 2_500_000
    assert [row.name for row in found.effects.rows][:2] == ["pay", "pay"]
    fork = Run("f", "f", "running", 1_000_000, fork_step=2)
    forked = read_outcome(fork, STEPS, CALLS, None)
    assert (forked.duration_us, forked.answer) == (None, None)
    assert {row.step for row in forked.effects.rows} == {3}
    assert forked.tools == found.tools
    nothing = read_outcome(run, [Step(1, "a", "ok")], [], None)
    assert (nothing.tokens, nothing.cost_usd, nothing.unpriced) == (None, None, 0)


def test_a_call_that_waits_in_a_run_that_goes_on_is_sent_and_of_one_that_is_over_unknown() -> None:
    waiting = [call("pay", effect="write", status="pending")]
    ways = [
        read_outcome(Run("r", "r", status, 0), [], waiting, None).effects.rows[0].happened
        for status in ("running", "crashed")
    ]
    assert ways == ["sent", "unknown"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"answer": "a", "output": "b"}, "a"),
        ({"final_answer": "a", "result": "b"}, "a"),
        ({"output": "a", "result": "b"}, "a"),
        ({"result": "a", "messages": [{"role": "assistant", "content": "b"}]}, "a"),
        ({"answer": "", "result": "a"}, "a"),
        ({"answer": 1, "messages": [{"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]}, "b"),
        ({"messages": [{"type": "ai", "content": "a"}, 1]}, "a"),
        ({"messages": [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": ""}]}, None),
        ({"messages": [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": [1]}]}, None),
        ({"messages": [{"role": "user", "type": "ai", "content": "a"}]}, None),
        ({"messages": "text"}, None),
    ],
)
def test_the_last_words_are_the_answer_or_the_last_message_of_a_model(state: Any, words: str | None) -> None:
    assert last_words(state) == words


def test_an_outcome_as_json() -> None:
    paid = Effects((EffectRow(1, 1, "main", "tool", "pay", "write", "sent"),))
    known = Outcome("failed", 3, {"a": 1}, {"b": 2}, {"c": 3}, 4, 0.5, 1_500, NO, "done", paid)
    assert known.to_json() == {
        "status": "failed",
        "steps": 3,
        "tools": {"a": 1},
        "writes": {"b": 2},
        "denied": {"c": 3},
        "tokens": 4,
        "cost_usd": 0.5,
        "cost_complete": True,
        "duration_ms": 1.5,
        "error": {"class": "builtins:ValueError", "message": "no", "traceback": "Traceback"},
        "answer": "done",
        "effects": "went out: pay ×1",
    }
    bare = Outcome("running", 0, unpriced=1).to_json()
    assert (bare["error"], bare["duration_ms"], bare["cost_complete"]) == (None, None, False)


def test_the_difference_of_two_outcomes_is_only_of_what_both_say() -> None:
    a = Outcome("succeeded", 3, tokens=10, cost_usd=0.1, duration_us=1_000)
    b = Outcome("succeeded", 5, tokens=4, cost_usd=0.1 + 0.2, duration_us=4_500)
    assert difference_of(a, b).to_json() == {"steps": 2, "tokens": -6, "cost_usd": 0.2, "duration_ms": 3.5}
    nothing = {"tokens": None, "cost_usd": None, "duration_us": None}
    assert difference_of(a, Outcome("succeeded", 3)) == difference_of(Outcome("succeeded", 3), a)
    assert asdict(difference_of(a, Outcome("succeeded", 3))) == {"steps": 0} | nothing
    assert difference_of(a, Outcome("succeeded", 3, cost_usd=0.5, unpriced=1)).cost_usd is None
    assert Difference(1).to_json() == {"steps": 1, "tokens": None, "cost_usd": None, "duration_ms": None}


def test_a_lane_ends_with_its_last_step_and_counts_its_own_steps_and_calls() -> None:
    side = SimpleNamespace(steps=STEPS, heads=CALLS, by_number={step.number: step for step in STEPS})
    main, web = lane_ends(side).values()
    tools = {"look": 1, "pay": 1, "send": 1, "GET https://x/": 1}
    assert main == LaneEnd(2, 3, "error", tools, 21, 0.75, 1, 3_500_000, NO)
    assert web == LaneEnd(1, 2, "ok", {"pay": 1}, 300, None, 2, 1_000_000)
    (running,) = lane_ends(
        SimpleNamespace(steps=[Step(1, "a", "running", started_us=1)], heads=[call("x", step=9)] * 2, by_number={})
    ).values()
    assert running == LaneEnd(1, 1, "running", {"x": 2})


def test_the_end_of_a_lane_as_json() -> None:
    assert LaneEnd(2, 3, "error", {"look": 1}, 21, 0.75, 1, 3_500, NO).to_json() == {
        "steps": 2,
        "last": 3,
        "status": "error",
        "tools": {"look": 1},
        "tokens": 21,
        "cost_usd": 0.75,
        "cost_complete": False,
        "duration_ms": 3.5,
        "error": "ValueError: no",
    }
    bare = LaneEnd(1, 1, "ok").to_json()
    assert (bare["duration_ms"], bare["error"], bare["cost_complete"]) == (None, None, True)


def test_a_pair_of_lanes_as_json() -> None:
    end = LaneEnd(1, 1, "ok")
    assert LanePair("m", "n", 1, 2, 3, 4, 5, (6, 7), 0, (8, 9), 10, end, None, 11).to_json() == {
        "a": "m",
        "b": "n",
        "same": 1,
        "different": 2,
        "only_a": 3,
        "only_b": 4,
        "diverged_at": 5,
        "rejoined_at": 6,
        "rejoined": [6, 7],
        "rejoined_state": True,
        "rejoined_changes": 0,
        "same_moves": [8, 9],
        "parted_again_at": 10,
        "outcome_a": end.to_json(),
        "outcome_b": None,
        "final_changes": 11,
    }
    bare = LanePair("m", None, outcome_b=end, rejoined_changes=2).to_json()
    assert [bare[key] for key in ("rejoined_at", "rejoined", "same_moves", "rejoined_state")] == [
        None,
        None,
        None,
        False,
    ]
    assert (bare["outcome_a"], bare["outcome_b"]) == (None, end.to_json())


def rows(*kinds: str) -> list[Row]:
    """A row for each word: its kind, and in which of two lanes it is."""
    made = []
    for number, word in enumerate(kinds, start=1):
        kind, _, lane = word.partition("/")
        a, b = (None if kind == "only_b" else number), (None if kind == "only_a" else number + 100)
        made.append(Row(kind, a, b, (lane or "main", lane or "main")))  # type: ignore[arg-type]
    return made


def test_two_lanes_are_summed_up_in_the_order_in_which_they_begin() -> None:
    found = lane_pairs(
        rows("same", "same/w", "only_b/w", "pending", "different", "only_a", "only_a", "same", "different", "pending/w")
    )
    assert found == (
        LanePair("main", "main", same=2, different=2, only_a=2, diverged_at=5),
        LanePair("w", "w", same=1, only_b=1, diverged_at=103),
    )


@pytest.mark.parametrize(
    ("kinds", "live_a", "live_b", "marked"),
    [
        (["same", "only_a", "only_a"], False, True, ["same", "pending", "pending"]),
        (["same", "only_a", "only_a"], True, False, ["same", "only_a", "only_a"]),
        (["same", "only_b", "only_b"], True, False, ["same", "pending", "pending"]),
        (["same", "only_b", "only_b"], False, True, ["same", "only_b", "only_b"]),
        (["only_a", "same", "only_a"], False, True, ["only_a", "same", "pending"]),
        (["only_a", "only_a"], False, True, ["pending", "pending"]),
        (["only_b", "pending", "only_b"], True, False, ["pending", "pending", "pending"]),
        (["only_a", "only_b"], True, True, ["only_a", "pending"]),
        (["only_b", "only_a"], True, True, ["pending", "pending"]),
    ],
)
def test_what_a_run_that_goes_on_may_yet_come_to_is_pending(
    kinds: list[RowKind], live_a: bool, live_b: bool, marked: list[RowKind]
) -> None:
    assert [row.kind for row in mark_pending(rows(*kinds), live_a=live_a, live_b=live_b)] == marked


def test_both_ledgers_together_put_first_what_was_done_before_the_recording() -> None:
    def row(name: str, where: str = "") -> EffectRow:
        return EffectRow(1, 1, "main", "tool", name, "write", "sent", where=where)

    own = Effects((row("own"),), {"look": 1, "read": 2}, {"m": 1})
    other = Effects((row("late", "after"), row("early", "before"), row("child", "r2")), {"look": 3}, {"m": 1, "n": 3})
    found = own.plus(other)
    assert [each.name for each in found.rows] == ["early", "own", "late", "child"]
    assert list(found.reads.items()) == [("look", 4), ("read", 2)]
    assert list(found.models.items()) == [("n", 3), ("m", 2)]
    assert Effects(tuple(map(row, "abcd"))).summary() == "went out: a ×1, b ×1, c ×1, d ×1"
    assert Effects(tuple(map(row, "abcde"))).summary() == "went out: a ×1, b ×1, c ×1, d ×1, 1 more"


def test_branches_of_one_thread_share_the_checkpoints_that_both_began_with() -> None:
    def steps(*checkpoints: str | None) -> list[Step]:
        return [Step(n, "s", "ok", extra={"checkpoint_id": each}) for n, each in enumerate(checkpoints, start=1)]

    assert shared_by_checkpoint(steps("a", "b", "c"), steps("a", "b", "d", "c")) == 2
    assert shared_by_checkpoint(steps("a", "b"), steps("a", "b", "c")) == 2
    assert shared_by_checkpoint(steps("a", None, "c"), steps("a", None, "c")) == 1


def test_edits_of_which_nothing_came_are_named_with_the_reason() -> None:
    edits = (Edit("set", "goal", 1), Edit("set", "x", 2, target="result", step=3, call=4))
    run = Run(
        "f",
        "f",
        "succeeded",
        0,
        edits=edits,
        metadata={RunFacts.edits_without_effect.key: [{"edit": 1, "reason": "never reached"}]},
    )
    assert [each.to_json() for each in edits_without_effect(run)] == [
        {"target": "result", "path": "x", "step": 3, "call": 4, "reason": "never reached"}
    ]
    odd = [{"edit": 0}, {"edit": 2, "reason": "x"}, {"edit": -1}, {"edit": "1"}, 1]
    (found,) = edits_without_effect(
        Run("f", "f", "succeeded", 0, edits=edits, metadata={RunFacts.edits_without_effect.key: odd})
    )
    assert (found.edit, found.reason) == (edits[0], "")
    assert (
        edits_without_effect(
            Run("f", "f", "succeeded", 0, edits=edits, metadata={RunFacts.edits_without_effect.key: "1"})
        )
        == ()
    )


COUNTED = {CallFacts.tokens_in.key: 3}


@pytest.mark.parametrize(
    ("calls", "uncounted"),
    [
        ([call("m", "llm", meta=COUNTED)], 0),
        ([call("m", "llm", meta=COUNTED), call("n", "llm")], 1),
        ([call("n", "llm")], 0),  # the step says how many it took in all
        ([call("n", "llm", step=2)], 1),
        ([call("n", "llm", step=2, status="error")], 0),
        ([call("n", "llm", step=2, meta={CallFacts.made_up.key: "mock"})], 0),
        ([call("n", "llm", step=2), call("m", "llm", step=2, meta=COUNTED | {"inside": {"step": 2, "call": 1}})], 0),
        ([call("look", step=2)], 0),
    ],
)
def test_model_calls_that_say_nothing_of_their_tokens_are_counted(calls: list[Call], uncounted: int) -> None:
    steps = [Step(1, "a", "ok", tokens_in=3), Step(2, "b", "ok")]
    found = read_outcome(Run("r", "r", "succeeded", 0), steps, calls, {})
    assert (found.tokens, found.uncounted, found.whole_tokens) == (3, uncounted, None if uncounted else 3)
    assert difference_of(found, found).tokens == (None if uncounted else 0)
