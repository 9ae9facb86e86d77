"""The least costly alignment of two lanes, beside the best that there is; what a couple costs."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import Effort

from agent_tt.comparing.steps.alignment import align_moves, alignment_cost
from agent_tt.comparing.steps.costs import ALONE, Costs
from agent_tt.comparing.steps.moves import Move, describe_move, value_key
from agent_tt.model import Call, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire


def asked(tool: str, args: Wire, result: Wire = "ok", name: str = "work") -> Move:
    return describe_move(Step(1, name, "ok"), [Call(1, 1, "tool", tool, "ok", args=args, result=result)])


def answered(result: Wire, name: str = "think", decision: str | None = None) -> Move:
    return describe_move(Step(1, name, "ok", decision=decision), [Call(1, 1, "llm", "m", "ok", result=result)])


values = st.sampled_from([1, 1.0, True, "1", "refund policy", "refund terms", [], None])
moves = st.one_of(
    st.builds(
        asked,
        st.sampled_from(["look", "ask"]),
        st.fixed_dictionaries({"query": values}, optional={"limit": values}),
        st.sampled_from(["some", "none"]),
    ),
    st.builds(answered, st.sampled_from(["yes", "yes but", "no"])),
)
pool = [
    *(asked("look", {"query": query}, result) for query in ("a b c", "a b d", "x") for result in ("some", "none")),
    asked("ask", {}),
]
lanes = st.lists(moves, max_size=6) | st.lists(st.sampled_from(pool), max_size=6)
"""The latter have more near matches, and more that are as near as others."""


def move_cost(a: Move | None, b: Move | None) -> int:
    return Costs().of(a, b)


def least_cost(a: Sequence[Move], b: Sequence[Move]) -> tuple[int, int]:
    """The best of all alignments that keep the order: cost, and equal moves with other results; every one is tried."""

    @cache
    def best(i: int, j: int) -> tuple[int, int]:
        if i == len(a) or j == len(b):
            return ALONE * (len(a) - i + len(b) - j), 0
        alone = [(cost + ALONE, others) for cost, others in (best(i + 1, j), best(i, j + 1))]
        cost, others = best(i + 1, j + 1)
        beside = (cost + move_cost(a[i], b[j]), others + other_result(a[i], b[j]))
        return min(*alone, beside)

    return best(0, 0)


def other_result(a: Move, b: Move) -> int:
    return a.did == b.did and a.came_back != b.came_back


@given(lanes, lanes)
@settings(max_examples=150, deadline=None)
def test_no_alignment_of_small_lanes_costs_less_and_each_keeps_the_order(a: list[Move], b: list[Move]) -> None:
    pairs = align_moves(a, b, Costs())
    assert all(one[0] < next_[0] and one[1] < next_[1] for one, next_ in itertools.pairwise(pairs))
    others = sum(other_result(a[i], b[j]) for i, j in pairs)
    assert (alignment_cost(a, b, pairs, Costs()), others) == least_cost(a, b)


@given(lanes, lanes)
@settings(max_examples=80, deadline=None)
def test_it_is_the_mirror_image_when_the_sides_are_swapped(a: list[Move], b: list[Move]) -> None:
    assert [(i, j) for j, i in align_moves(b, a, Costs())] == align_moves(a, b, Costs())
    assert all(move_cost(x, y) == move_cost(y, x) for x in a for y in b)


@pytest.mark.parametrize("kinds", [2, 40])
def test_long_lanes_are_ordered_and_mirrored_as_well_and_with_bounded_work(kinds: int) -> None:
    chance = random.Random(kinds)
    a, b = (
        [asked(f"tool{chance.randrange(kinds)}", {"query": chance.randrange(kinds * 5)}) for _ in range(1_500)]
        for _ in range(2)
    )
    with Effort() as effort:
        pairs = align_moves(a, b, Costs())
    assert effort.lines < 3_000_000
    assert all(one[0] < next_[0] and one[1] < next_[1] for one, next_ in itertools.pairwise(pairs))
    assert all(a[i].alike == b[j].alike for i, j in pairs)
    assert [(i, j) for j, i in align_moves(b, a, Costs())] == pairs


def test_lanes_of_more_than_ten_thousand_moves_are_aligned_too() -> None:
    kinds = [asked(f"tool{number}", {}) for number in range(40)]
    base = [kinds[number * number % 37] for number in range(10_100)]
    a, b = [asked("first", {}), *base, asked("last", {})], [asked("begin", {}), *base[:5_000], kinds[39], *base[5_000:]]
    with Effort() as effort:
        assert align_moves(a, b, Costs()) == [(n, n + (n > 5_000)) for n in range(1, 10_101)]
    assert effort.lines < 5_000_000


def test_a_few_differences_in_long_lanes_are_aligned_at_the_least_cost() -> None:
    a = [asked("look", {"query": number % 40}) for number in range(3_000)]
    b = [*a[:1_000], asked("new", {}), *a[1_000:2_000], asked("look", {"query": "else"}), *a[2_001:]]
    assert alignment_cost(a, b, align_moves(a, b, Costs()), Costs()) == ALONE + 999


def test_the_cost_of_a_near_match_is_how_much_of_its_arguments_differs() -> None:
    base = asked("search", {"query": "refund policy", "limit": 5})
    assert move_cost(base, base) == 0
    assert move_cost(base, None) == move_cost(None, base) == 1_000
    assert move_cost(base, asked("search", {"query": "refund policy", "limit": 6})) == 500
    assert move_cost(base, asked("search", {"query": "refund terms", "limit": 5})) == 250
    assert move_cost(base, asked("search", {"query": "refund policy"})) == 500
    assert move_cost(base, asked("search", {"query": "how long", "limit": 6})) == 999
    # The name of the step counts for little where tools were called.
    assert move_cost(base, asked("search", {"query": "refund policy", "limit": 5}, name="other")) == 1
    assert move_cost(base, asked("search", {"query": "refund policy", "limit": 6}, name="other")) == 500
    assert move_cost(base, asked("read", {"query": "refund policy", "limit": 5})) == 2_000
    assert move_cost(base, answered("refund policy")) == 2_000


leaves = st.sampled_from([0, 1, 1.0, True, None, "", "a", "a b", "a a b", "b\nc", {}, []])
arguments = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["k", "l"]), inner, max_size=2),
    max_leaves=6,
)


def pieces(value: Wire, keys: tuple[str, ...] = ()) -> Counter[object]:
    """Each number, truth value, null, empty container and word, with the keys that lead to it."""
    if isinstance(value, dict) and value:
        return sum((pieces(inner, (*keys, key)) for key, inner in value.items()), Counter())
    if isinstance(value, list) and value:
        return sum((pieces(inner, keys) for inner in value), Counter())
    texts = value.split() or [""] if isinstance(value, str) else [value]
    return Counter((keys, type(each).__name__, repr(each)) for each in texts)


def differing(a: Wire, b: Wire) -> Fraction:
    p, q = pieces(a), pieces(b)
    return 1 - Fraction(2 * (p & q).total(), p.total() + q.total())


def share(parts: Sequence[Fraction | int]) -> int:
    """The mean in thousandths, at least one and not all of them."""
    return min(max(int(1_000 * sum(parts) / len(parts)), 1), 999)


asked_for = st.dictionaries(st.sampled_from(["x", "y", "z"]), arguments, min_size=1, max_size=3)


@given(asked_for, asked_for)
@settings(max_examples=100, deadline=None)
def test_a_near_match_costs_the_mean_of_how_much_each_argument_differs(a: Wire, b: Wire) -> None:
    parts = [differing(a[name], b[name]) if name in a and name in b else 1 for name in {*a, *b}]
    cost = move_cost(asked("set", a), asked("set", b))
    assert cost == 0 if value_key(a) == value_key(b) else abs(cost - share(parts)) <= 1
    # What is not a dict is one argument; so is the answer of a model.
    whole = move_cost(asked("set", [a]), asked("set", [b]))
    assert whole == 0 if value_key(a) == value_key(b) else abs(whole - share([differing(a, b)])) <= 1
    answer = move_cost(answered(a), answered(b))
    assert answer == 0 if value_key(a) == value_key(b) else abs(answer - share([differing(a, b)])) <= 1


def test_each_tool_of_a_step_has_arguments_of_its_own() -> None:
    def both(*args: Wire) -> Move:
        return describe_move(
            Step(1, "work", "ok"), [Call(1, n, "tool", "look", "ok", args=each) for n, each in enumerate(args)]
        )

    assert move_cost(both({"q": "a"}, {"q": "b"}), both({"q": "b"}, {"q": "a"})) == 999
    assert move_cost(both({"q": "a"}, {"q": "b"}), both({"q": "a"}, {"q": "c"})) == 500


def test_a_long_text_is_compared_by_its_lines() -> None:
    def text(length: int, end: str) -> Move:
        # Of as many lines as there are words in a line.
        return asked("write", {"text": ("w " * 9 + "\n") * 200 + "x" * (length - 3_800 - len(end)) + end})

    short = ["a " * 999 + end for end in ("b", "c")]
    assert move_cost(*(asked("write", {"text": each + "!"}) for each in short)) == 1
    assert move_cost(*(asked("write", {"text": each + "!!"}) for each in short)) == 999
    assert move_cost(text(4_000, "a"), text(4_000, "b")) == 5


def test_of_a_huge_argument_the_beginning_counts() -> None:
    most = 4_000
    base = list(range(most))
    assert move_cost(asked("set", {"x": [*base, 1]}), asked("set", {"x": [*base, 2]})) == 1
    assert move_cost(asked("set", {"x": [*base[1:], -1, 5]}), asked("set", {"x": [*base[1:], -2, 5]})) == 1
    halves = [[*base[: most // 2], *range(sign * most, sign * most * 2, sign)] for sign in (1, -1)]
    assert move_cost(*(asked("set", {"x": half}) for half in halves)) == 500


def test_types_count_and_places_in_lists_do_not() -> None:
    one, real, true, text = (asked("set", {"x": value, "y": "same"}) for value in (1, 1.0, True, "1"))
    assert {move_cost(x, y) for x, y in itertools.combinations((one, real, true, text), 2)} == {500}
    assert move_cost(asked("set", {"x": [1, 2, 3]}), asked("set", {"x": [3, 1, 2]})) == 1
    assert move_cost(asked("set", {"x": [1, 1]}), asked("set", {"x": [1]})) == 334
    assert move_cost(asked("set", {"x": {"a": 1, "b": 2}}), asked("set", {"x": {"b": 2, "a": 1}})) == 0
    nan: Wire = {"$type": "float", "$v": "nan"}
    assert move_cost(asked("set", {"x": nan}), asked("set", {"x": nan})) == 0


def test_answers_of_models_are_compared_without_what_changes_each_time() -> None:
    assert move_cost(answered({"id": "1", "content": "yes"}), answered({"id": "2", "content": "yes"})) == 0
    assert move_cost(answered({"content": "a b c d"}), answered({"content": "a b c e"})) == 250
    assert move_cost(answered("yes"), answered("yes", decision="stop")) == 1
    assert move_cost(answered("yes", name="plan"), answered("yes", name="act")) == 2_000


def test_long_texts_and_odd_values_cost_something_too() -> None:
    text = "\n".join(f"line {number}" for number in range(20_000))
    assert 0 < move_cost(asked("write", {"text": text}), asked("write", {"text": f"{text}!"})) < 1_000
    deep: Wire = []
    for _ in range(300):
        deep = [deep]
    assert move_cost(asked("write", {"x": deep}), asked("write", {"x": deep})) == 0
    assert move_cost(asked("write", {"x": deep}), asked("write", {"x": [deep]})) == 999
    pairs: Wire = {"$type": "dict", "$v": [[1, "a"], [2, "b"]]}
    turned: Wire = {"$type": "dict", "$v": [[2, "b"], [1, "a"]]}
    assert move_cost(asked("write", {"x": pairs}), asked("write", {"x": turned})) == 0


def test_costs_that_were_found_are_kept() -> None:
    costs = Costs()
    a, b = asked("look", {"q": 1}), asked("look", {"q": 2})
    assert costs.of(a, b) == costs.of(a, b) == costs.of(b, a) == 999
