"""Every rule of a golden against a brute-force oracle, on made-up runs, whole and halted."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

from agent_tt.errors import UsageError
from agent_tt.golden.evidence import Evidence
from agent_tt.golden.kinds import KINDS, read_rule, rule_from_text
from agent_tt.golden.outside_rules import Judged, Verify
from agent_tt.golden.proposing import propose
from agent_tt.golden.run_rules import AtMost, Ends, Expression
from agent_tt.golden.toml_text import lines_of
from agent_tt.golden.tool_rules import Calls, Never, Tools
from agent_tt.golden.value_rules import Answer, State

TOOLS = ("look", "send", "pay")
NAMES = st.lists(st.sampled_from(TOOLS), max_size=4)
ORDERS = st.sampled_from(["exactly", "in order", "only"])
COUNTS = st.lists(st.integers(-3, 3), max_size=4)


def evidence(steps: list[Did], status: str = "succeeded", *, is_whole: bool = True) -> Evidence:
    source = MemorySource()
    source.add("made", steps, status=status, state={"n": 0})
    return Evidence(source, source.run("made"), is_whole=is_whole)


def using(names: list[str]) -> list[Did]:
    return [Did(name=name, tool=name, result=1, state={"n": at}) for at, name in enumerate(names, 1)]


def counting(values: list[int], answer: str = "done") -> list[Did]:
    return [Did(name="count", state={"n": value, "answer": answer}) for value in values]


def allows(order: str, wanted: list[str], used: list[str]) -> bool:
    """Whether tools were used as a rule wants it, said another way than the rule does."""
    if order == "exactly":
        return wanted == used
    if order == "only":
        return {*used} <= {*wanted}
    at = 0
    for name in used:
        at += at < len(wanted) and wanted[at] == name
    return at == len(wanted)


def verdict_of(rule, steps, **kept) -> str:
    return rule.judge(evidence(steps, **kept)).verdict


def word(is_kept: bool) -> str:
    return "passed" if is_kept else "failed"


@given(NAMES, NAMES, ORDERS)
def test_tools_are_judged_as_the_oracle_says(wanted, used, order):
    assert verdict_of(Tools(tuple(wanted), order), using(used)) == word(allows(order, wanted, used))


@given(NAMES, NAMES, NAMES, ORDERS)
def test_what_a_halted_run_says_of_tools_stays_true_however_it_goes_on(wanted, used, more, order):
    rule = Tools(tuple(wanted), order)
    verdict = verdict_of(rule, using(used), is_whole=False)
    if verdict != "unknown":
        assert verdict == word(allows(order, wanted, used + more))


@given(NAMES, st.sampled_from(TOOLS), st.integers(0, 3), NAMES)
def test_calls_are_counted_as_the_oracle_says(used, tool, most, more):
    rule = Calls(tool, most)
    assert verdict_of(rule, using(used)) == word(used.count(tool) <= most)
    halted = verdict_of(rule, using(used), is_whole=False)
    assert halted == ("failed" if used.count(tool) > most else "unknown")
    if used.count(tool) > most:
        assert (
            rule.judge(evidence(using(used + more))).step
            == [at for at, name in enumerate(used, 1) if name == tool][most]
        )


@given(NAMES, st.lists(st.sampled_from(TOOLS), min_size=1, max_size=2))
def test_what_is_never_called_is_judged_as_the_oracle_says(used, forbidden):
    rule = Never(tuple(forbidden))
    first = next((at for at, name in enumerate(used, 1) if name in forbidden), None)
    judged = rule.judge(evidence(using(used)))
    assert (judged.verdict, judged.step) == (word(first is None), first)
    assert verdict_of(rule, using(used), is_whole=False) == ("unknown" if first is None else "failed")


@given(NAMES, st.integers(0, 5))
def test_steps_are_counted_as_the_oracle_says(used, most):
    judged = AtMost("steps", most).judge(evidence(using(used)))
    assert (judged.verdict, judged.step) == (word(len(used) <= most), most + 1 if len(used) > most else None)


@pytest.mark.parametrize("of", ["tokens", "dollars"])
def test_what_no_step_says_is_not_known(of):
    assert verdict_of(AtMost(of, 1), using(["look"])) == "unknown"


@given(COUNTS.filter(bool), st.data())
def test_states_are_judged_as_the_oracle_says(values, data):
    step = data.draw(st.none() | st.integers(0, len(values) + 1))
    limit, within = data.draw(st.integers(-3, 3)), data.draw(st.integers(0, 2))
    every = [0, *values]
    found = every[-1] if step is None else every[step] if step < len(every) else None
    for rule, is_kept in (
        (State("n", step, equals=json.dumps(limit)), found == limit),
        (State("n", step, at_most=limit), found is not None and found <= limit),
        (State("n", step, about=limit, within=within), found is not None and abs(found - limit) <= within),
    ):
        assert verdict_of(rule, counting(values)) == word(is_kept)
        halted = verdict_of(rule, counting(values), is_whole=False)
        assert halted == ("unknown" if step is None or step > len(values) else word(is_kept))


@pytest.mark.parametrize(
    ("about", "percent", "value", "is_kept"),
    [
        (100, 15, 115, True),
        (100, 15, 116, False),
        (-100, 10, -110, True),
        (0.3, 0, 0.1 + 0.2, False),
        (1.1, 10, 1.21, True),
    ],
)
def test_about_takes_both_ends_in_exactly_as_they_are_written(about, percent, value, is_kept):
    rule = State("n", about=about, within_percent=percent)
    assert verdict_of(rule, [Did(name="count", state={"n": value})]) == word(is_kept)


@given(st.text("ab c", min_size=1, max_size=4), st.text("ab c", max_size=6))
def test_answers_are_judged_as_the_oracle_says(wanted, answer):
    steps = counting([1], answer)
    assert verdict_of(Answer(equals=wanted), steps) == word(answer == wanted)
    assert verdict_of(Answer(contains=(wanted,)), steps) == word(wanted in answer and answer != "")
    assert verdict_of(Answer(matches=wanted), steps) == word(wanted in answer and answer != "")
    assert verdict_of(Answer(equals=wanted), steps, is_whole=False) == "unknown"


@given(COUNTS.filter(bool), st.integers(-2, 2), COUNTS)
def test_expressions_are_judged_as_the_oracle_says(values, limit, more):
    text = f"state.n >= {limit}"
    said = {"end": values[-1] >= limit, "always": min(values) >= limit, "once": max(values) >= limit}
    for at, is_kept in said.items():
        assert verdict_of(Expression(text, at), counting(values)) == word(is_kept)
        halted = verdict_of(Expression(text, at), counting(values), is_whole=False)
        if halted != "unknown":
            assert halted == verdict_of(Expression(text, at), counting(values + more))


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted"])
def test_a_run_ends_as_it_ends(status):
    assert verdict_of(Ends(), using(["look"]), status=status) == word(status == "succeeded")
    assert verdict_of(Ends(), using(["look"]), status=status, is_whole=False) == "unknown"


RULES = [
    Ends("failed"),
    Tools(("look", "send"), "in order"),
    Calls("look", 2),
    Never(("pay",), writes=True, but=("send",)),
    AtMost("dollars", 0.25),
    State(
        "a[0].b",
        3,
        equals=json.dumps({"x": [1, 2.5, "é\x7f\n"]}, ensure_ascii=False),
        ignore_order=True,
        exclude_paths=("root['id']",),
    ),
    State("a", equals="null"),
    State("a", about=1, within_percent=5),
    Answer(contains=('say "so"', "\t")),
    Expression('state.n > 1 and tool == "look"', "always"),
    Verify('pytest -q "a b"', 1.5),
    Judged("Is it polite?", "https://judge.example/v1/chat/completions", "m", key="JUDGE_KEY"),
]


def test_every_kind_is_tried():
    assert {rule.kind for rule in RULES} == {*KINDS}


def test_a_tool_that_is_called_again_and_again_is_named_once_with_how_often():
    assert Tools(("find", "ask", "ask", "ask", "find")).sentence == "tools, exactly: find → ask ×3 → find"
    assert Tools(("ask", "find"), "only").sentence == "tools, only: ask, find"
    assert Tools(()).sentence == "tools, exactly: none"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.sentence)
def test_a_rule_reads_again_as_it_was_written(rule):
    text = "\n".join(lines_of({"kind": rule.kind, **rule.to_table()}))
    assert read_rule(tomllib.loads(text)) == rule


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('kind = "tool"', "no kind 'tool'"),
        ('kind = "at_most", off = "steps", limit = 1', "'off' is unknown"),
        ('kind = "at_most", of = "steps"', "limit must be given"),
        ('kind = "at_most", of = "steps", limit = true', "limit: a number"),
        ('kind = "at_most", of = "steps", limit = nan', "limit: a number"),
        ('kind = "state", path = "a"', "one of equals, at_most and about"),
        ('kind = "state", path = "a", at_most = 1, ignore_order = true', "given with equals"),
        ('kind = "state", path = "a[", equals = 1', "cannot be read"),
        ('kind = "state", path = "a", equals_json = "{"', "equals: JSON has no such value"),
        ('kind = "answer", matches = "("', "matches"),
        ('kind = "never"', "tools or writes"),
        ('kind = "expression", holds = "state.n >"', "state.n >"),
        ("kind = ", "cannot be read"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_the_reason(text, why):
    with pytest.raises(UsageError) as raised:
        rule_from_text(text)
    assert why in raised.value.message


def test_a_run_passes_what_is_proposed_from_it_and_accepting_makes_another_run_pass():
    one, other = evidence(using(["look", "send"])), evidence(using(["send", "send", "look", "look"]))
    rules = propose(one)
    assert [rule.judge(one).verdict for rule in rules] == ["passed"] * len(rules)
    broken = [rule for rule in rules if rule.judge(other).verdict == "failed"]
    assert [rule.kind for rule in broken] == ["tools", "at_most", "state"]
    assert [rule.accepting(other).judge(other).verdict for rule in broken] == ["passed"] * 3


def test_a_tool_of_unknown_effect_is_not_said_to_write_nothing():
    steps = evidence(using(["look"]))
    effects = {use.effect for use in steps.tools}
    wanted = "passed" if effects == {"read"} else "unknown"
    assert Never(writes=True).judge(steps).verdict == wanted
    steps.__dict__["tools"] = tuple(replace(use, effect=None) for use in steps.tools)
    assert Never(writes=True).judge(steps).verdict == "unknown"
    assert Never(writes=True, but=("look",)).judge(steps).verdict == "passed"


LOST = [Did("first", state={"n": 1, "answer": "Oslo"}), Did("last", is_kept=False)]


@pytest.mark.parametrize(
    "rule",
    [
        Answer(equals="Oslo"),
        Answer(contains=("Rome",)),
        State("n", equals="1"),
        Expression("state.n == 1"),
        Expression("state.n == 1", at="always"),
        Expression("state.n == 2", at="once"),
        Expression("not (state.n == 1)"),
    ],
)
def test_what_a_state_would_say_that_was_not_kept_is_unknown(rule):
    judged = rule.judge(evidence(LOST))
    assert (judged.verdict, judged.said) == ("unknown", "no checkpoint is kept of step 2")


def test_what_is_known_without_the_state_that_was_not_kept_is_judged():
    assert verdict_of(Expression("state.n == 1", at="once"), LOST) == "passed"
    assert verdict_of(Expression("state.n == 2", at="always"), LOST) == "failed"
    assert verdict_of(Expression('name == "last"'), LOST) == "passed"
    assert [rule.kind for rule in propose(evidence(LOST))] == ["ends", "never", "at_most"]


@pytest.mark.parametrize("holds", ["cost < 1", "cost > 1", "not (cost > 1)", "tokens < 9", "not (tokens_in > 9)"])
def test_figures_that_nobody_measured_are_unknown(holds):
    steps = [Did("ask", answer="hi", state={"n": 1})]
    assert verdict_of(Expression(holds), steps) == "unknown"
    assert verdict_of(Expression(holds, at="always"), steps) == "unknown"
    assert verdict_of(Expression(holds, at="once"), steps) == "unknown"


def test_figures_that_were_measured_are_judged():
    steps = [Did("ask", answer="hi", tokens=(5, 5), cost_usd=0.5)]
    assert verdict_of(Expression("cost < 1 and tokens < 20"), steps) == "passed"
    assert verdict_of(Expression("cost > 1"), steps) == "failed"


def test_tokens_that_some_model_calls_do_not_say_are_not_said_to_be_all():
    told = [Did("ask", answer="hi", tokens=(5, 5)), Did("ask", answer="ho")]
    judged = AtMost("tokens", 20).judge(evidence(told))
    assert (judged.verdict, judged.said) == ("unknown", "took 10 tokens, and 1 model call says nothing of theirs")
    assert AtMost("tokens", 9).judge(evidence(told)).verdict == "failed"
    assert AtMost("tokens", 20).judge(evidence(told[:1])).verdict == "passed"
