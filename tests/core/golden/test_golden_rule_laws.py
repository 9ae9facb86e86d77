"""More laws of rules: what was counted and what nobody counted, what writes, and values with DeepDiff's tolerances."""

from __future__ import annotations

import json
from dataclasses import replace

from deepdiff import DeepDiff
from hypothesis import given
from hypothesis import strategies as st
from tests.core.comparing.test_tolerance import TOLERANCES, VALUES
from tests.core.golden.test_golden_rules import evidence, using, word
from tests.core.memory_store import Did

from agent_tt.codec.sameness import identical
from agent_tt.golden.evidence import ToolUse
from agent_tt.golden.run_rules import AtMost
from agent_tt.golden.tool_rules import Never
from agent_tt.golden.value_rules import State
from agent_tt.model.facts import StepFacts

COUNTED = st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3)), min_size=1, max_size=4)
COSTS = st.lists(st.none() | st.sampled_from([0.0, 0.25, 0.5]), min_size=1, max_size=4)


@given(COUNTED, st.integers(0, 12), st.booleans())
def test_tokens_are_counted_as_the_oracle_says(counted, limit, is_whole):
    run = evidence(using(["look"] * len(counted)), is_whole=is_whole)
    run.steps = [
        replace(step, tokens_in=read, tokens_out=wrote) for step, (read, wrote) in zip(run.steps, counted, strict=True)
    ]
    judged = AtMost("tokens", limit).judge(run)
    said = [number for pair in counted for number in pair if number is not None]
    if not said:
        assert judged.verdict == "unknown"
    elif sum(said) <= limit:
        assert judged.verdict == ("passed" if is_whole else "unknown")
    else:
        so_far = [sum(number or 0 for pair in counted[:at] for number in pair) for at in range(1, len(counted) + 1)]
        first = next(at for at, total in enumerate(so_far, 1) if total > limit)
        assert (judged.verdict, judged.step) == ("failed", first)


@given(COSTS, st.sampled_from([0, 0.5, 1]), st.integers(0, 1))
def test_dollars_are_counted_as_the_oracle_says_and_what_has_no_price_is_not_free(costs, limit, unpriced):
    run = evidence(using(["look"] * len(costs)))
    run.steps = [replace(step, cost_usd=cost) for step, cost in zip(run.steps, costs, strict=True)]
    run.steps[0] = replace(run.steps[0], extra=StepFacts.unpriced.entry(unpriced))
    known = [cost for cost in costs if cost is not None]
    expected = word(sum(known) <= limit) if known else "unknown"
    if unpriced and expected == "passed":
        expected = "unknown"
    assert AtMost("dollars", limit).judge(run).verdict == expected


USES = st.lists(st.tuples(st.sampled_from(["look", "send"]), st.sampled_from(["read", "write", None])), max_size=4)


@given(USES, st.sampled_from([(), ("send",)]), st.booleans())
def test_what_writes_is_judged_as_the_oracle_says(uses, but, is_whole):
    run = evidence(using(["look"] * len(uses)), is_whole=is_whole)
    run.__dict__["tools"] = tuple(ToolUse(name, step, effect) for step, (name, effect) in enumerate(uses, 1))
    counted = [(step, effect) for step, (name, effect) in enumerate(uses, 1) if name not in but]
    writes = [step for step, effect in counted if effect == "write"]
    judged = Never(writes=True, but=but).judge(run)
    if writes:
        assert (judged.verdict, judged.step) == ("failed", writes[0])
    else:
        is_known = is_whole and all(effect == "read" for _, effect in counted)
        assert judged.verdict == ("passed" if is_known else "unknown")


@given(VALUES, VALUES, TOLERANCES)
def test_a_value_with_tolerances_is_judged_as_deepdiff_judges_it(wanted, came, tolerance):
    options = {name: getattr(tolerance, name) for name in tolerance.__slots__}
    rule = State("a", equals=json.dumps(wanted), **options)
    judged = rule.judge(evidence([Did(name="write", state={"a": came})]))
    is_same = not DeepDiff(wanted, came, **tolerance.options()) if tolerance else identical(wanted, came)
    assert judged.verdict == word(is_same)
    assert bool(judged.differences) == (not is_same)
