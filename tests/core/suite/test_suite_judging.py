"""Better, equal and worse are said only where it is known: every other case is unknown, with its reason."""

from __future__ import annotations

import pytest

from agent_tt.comparing.steps.outcome import Outcome
from agent_tt.model import ErrorInfo
from agent_tt.querying.expecting import Hoped
from agent_tt.suite.judging import Ending, judge_endings

SLOW = ErrorInfo("builtins:TimeoutError", "slow after 10:20:30")


def ending(status="succeeded", answer="Done", *, came=None, state=None, **figures) -> Ending:
    figures = {"steps": 3, "tokens": 10, "cost_usd": 0.1, **figures}
    return Ending(
        Outcome(status, answer=answer, **figures), state, None if came is None else Hoped("paid", came, "why")
    )


CASES = [
    (ending(), ending(), "equal"),
    (ending(answer="At 2026-01-02T03:04:05"), ending(answer="At 2026-02-02T03:04:06"), "equal"),
    (ending("failed"), ending(), "better"),
    (ending(), ending("failed"), "worse"),
    (ending(steps=5), ending(), "better"),
    (ending(), ending(tokens=11), "worse"),
    (ending(steps=5), ending(tokens=11), "unknown"),
    (ending(tokens=None), ending(tokens=11), "equal"),
    (ending(cost_usd=9.0, unpriced=1), ending(cost_usd=0.1), "equal"),
    (ending(), ending(answer="Not done"), "unknown"),
    (ending(), ending(answer=None), "unknown"),
    (ending(answer=None), ending(answer=None), "unknown"),
    (ending(answer=None, state={"a": 1}), ending(answer=None, state={"a": 1}), "equal"),
    (ending(answer=None, state={"a": 1}), ending(answer=None, state={"a": 2}), "unknown"),
    (ending("interrupted"), ending(), "unknown"),
    (ending(), ending("crashed"), "unknown"),
    (ending("failed", error=SLOW), ending("failed", error=SLOW), "equal"),
    (ending("failed", error=SLOW), ending("failed", error=ErrorInfo("builtins:KeyError", "x")), "unknown"),
    (ending("failed", error=SLOW), ending("failed", error=ErrorInfo(SLOW.class_name, "slow after 11:20:30")), "equal"),
    (ending(came="did not come"), ending(came="came", answer="Other", steps=9), "better"),
    (ending(came="came"), ending("failed", came="did not come"), "worse"),
    (ending(came="came"), ending(came="came", answer="Other"), "equal"),
    (ending(came="came"), ending("failed", came="came"), "worse"),
    (ending(came="unknown"), ending(came="came"), "unknown"),
    (ending(came="came"), ending(came="unknown"), "unknown"),
]


@pytest.mark.parametrize(("then", "now", "verdict"), CASES)
def test_a_run_is_judged_beside_its_recording(then, now, verdict):
    judged = judge_endings(then, now)
    assert judged.verdict == verdict
    assert judged.because


@pytest.mark.parametrize(("then", "now", "verdict"), CASES)
def test_the_other_way_round_the_opposite_is_said(then, now, verdict):
    opposite = {"better": "worse", "worse": "better"}.get(verdict, verdict)
    assert judge_endings(now, then).verdict == opposite
