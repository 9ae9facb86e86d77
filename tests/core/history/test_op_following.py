"""A value is followed through operations, back and onwards: to where it is, and not past where it was written."""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.paths import get
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.ops import Touch, apply, op_path, touches, trace
from agent_tt.history.changes.trace import trace_forward

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.ops import Op


def containers(value: Any, path: Path = ()) -> list[Path]:
    found = [path] if isinstance(value, dict | list) else []
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if found else ():
        found += containers(item, (*path, step))
    return found


def leaves(value: Any, path: Path = ()) -> dict[int, Path]:
    """Where each number is; every number is in a state once."""
    if isinstance(value, int):
        return {value: path}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {number: at for step, item in items for number, at in leaves(item, (*path, step)).items()}


@st.composite
def states(draw: st.DrawFn) -> Any:
    numbers = itertools.count()
    shape = draw(
        st.recursive(
            st.just(None),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
            max_leaves=9,
        )
    )

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(item) for item in value]
        return {key: filled(item) for key, item in value.items()} if isinstance(value, dict) else next(numbers)

    return {"list": [filled(shape), next(numbers)], "dict": {"x": filled(shape), "y": next(numbers)}}


@st.composite
def steps(draw: st.DrawFn) -> tuple[Any, Op]:
    """A state, and an operation that fits it; what it writes is numbered from 1000."""
    state = draw(states())
    numbers = itertools.count(1000)
    at = draw(st.sampled_from(containers(state)))
    parent = get(state, at)
    keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    new = draw(st.sampled_from([lambda: next(numbers), lambda: [next(numbers)], lambda: {"n": next(numbers)}]))
    if isinstance(parent, list):
        length = len(parent)
        start = draw(st.integers(0, length))
        removed = draw(st.integers(0, length - start))
        items = [new() for _ in range(draw(st.integers(0, 2)))]
        choices: list[Op] = [["a", [*at], length, items], ["x", [*at], start, removed, items]]
        choices += [["s", [*at, draw(st.sampled_from(keys))], new()]] if keys else []
        return state, draw(st.sampled_from(choices))
    choices = [["s", [*at, draw(st.sampled_from([*keys, "new"]))], new()], ["o", [*at], draw(st.permutations(keys))]]
    if keys:
        key = draw(st.sampled_from(keys))
        outside = [each for each in containers(state) if each[: len(at) + 1] != (*at, key)]
        target = draw(st.sampled_from([each for each in outside if isinstance(get(state, each), dict)]))
        choices += [["d", [*at, key]], ["m", [*at, key], [*target, draw(st.sampled_from(["new", "x", "y"]))]]]
    return state, draw(st.sampled_from(choices))


@given(steps())
def test_what_was_there_before_is_found_after_and_the_other_way_round(step: tuple[Any, Op]) -> None:
    state, op = step
    before = leaves(state)
    after = leaves(apply(copy.deepcopy(state), copy.deepcopy([op])))
    marked = touches([op])
    for number, path in before.items():
        follows = trace_forward(op, path)
        assert follows == after.get(number) or (follows is None and op[0] == "m"), (op, path)
        if follows is None:
            assert path in marked or any(marked[path[:n]].struct for n in range(len(path)) if path[:n] in marked)
    for number, path in after.items():
        came = trace(op, path)
        assert came == before.get(number) or (came is None and op[0] == "m"), (op, path)


@given(steps())
def test_a_container_is_the_same_after_an_operation_only_if_nothing_in_it_was_changed(step: tuple[Any, Op]) -> None:
    state, op = step
    after = apply(copy.deepcopy(state), copy.deepcopy([op]))
    for path in containers(state):
        follows = trace_forward(op, path)
        if follows is not None:
            assert get(after, follows) == get(state, path)
            assert trace(op, follows) == path
        marked = touches([op])
        if follows is None:
            touched = [op_path(op), *([tuple(op[2])] if op[0] == "m" else [])]
            assert any(path == each[: len(path)] or each == path[: len(each)] for each in touched)
            assert path in marked or any(marked[path[:n]].struct for n in range(len(path)) if path[:n] in marked)


@pytest.mark.parametrize(
    ("op", "path", "after"),
    [
        (["m", ["a"], ["b", "c"]], ("a",), ("b", "c")),
        (["m", ["a"], ["b", "c"]], ("a", 0, "x"), ("b", "c", 0, "x")),
        (["m", ["a"], ["b", "c"]], ("b",), None),
        (["m", ["a"], ["b", "c"]], ("b", "c"), None),
        (["m", ["a"], ["b", "c"]], ("b", "c", 0), None),
        (["m", ["a"], ["b", "c"]], ("b", "d"), ("b", "d")),
        (["m", ["a"], ["b", "c"]], ("z",), ("z",)),
        (["m", ["a", "b"], ["c"]], ("a",), None),
        (["m", ["a", "b"], ["c"]], ("a", "d"), ("a", "d")),
        (["s", ["a"], 1], ("a", "b"), None),
        (["s", ["a", "b"], 1], ("a",), None),
        (["d", ["a"]], ("a", "b"), None),
        (["o", ["a"], []], ("a", "b"), ("a", "b")),
        (["o", ["a"], []], ("a",), None),
        (["t", ["a"], 0, "x"], ("a",), None),
        (["a", ["a"], 2, [1]], ("a", 1), ("a", 1)),
        (["x", ["a"], 1, 2, ["n"]], ("a", 0), ("a", 0)),
        (["x", ["a"], 1, 2, ["n"]], ("a", 1), None),
        (["x", ["a"], 1, 2, ["n"]], ("a", 2, "b"), None),
        (["x", ["a"], 1, 2, ["n"]], ("a", 3, "b"), ("a", 2, "b")),
        (["x", ["a"], 1, 2, ["n"]], ("b", 3), ("b", 3)),
    ],
)
def test_a_value_is_followed_onwards_through_an_operation(op: Any, path: Path, after: Path | None) -> None:
    assert trace_forward(op, path) == after


@pytest.mark.parametrize(
    ("op", "path", "why"),
    [
        (["x", ["a"], "1", 0, []], ("a", 1), "it is not a splice"),
        (["x", ["a"], 1, None, []], ("a", 1), "it is not a splice"),
        (["x", ["a"], 1, 0, {}], ("a", 1), "it is not a splice"),
        (["m", ["a"], "b"], ("a", 1), "it is not a move"),
        (["s"], ("a", 1), "it names no path"),
        (["s", "a"], ("a", 1), "its path is not a list"),
        (["s", [-1]], ("a", 1), "neither key nor position"),
        (["s", [0.5]], ("a", 1), "neither key nor position"),
    ],
)
def test_what_is_no_operation_is_followed_nowhere(op: Any, path: Path, why: str) -> None:
    with pytest.raises(CorruptDelta) as caught:
        trace_forward(op, path)
    assert why in caught.value.message
    assert caught.value.hint == "Run `agent-tt verify` on the store."
    if op[0] != "m":
        with pytest.raises(CorruptDelta, match=why):
            trace(op, path)


WHYS: list[tuple[Any, str]] = [
    (["s", ["m", 3, "x"], 1], "it does not fit the state (IndexError: list index out of range)"),
    (["s", ["t", "x"], 1], "there is nothing to set it in"),
    (["s", ["d", 0], 1], "there is nothing to set it in"),
    (["s", ["t", "x", "y"], 1], "its path leads nowhere"),
    (["s", ["m"]], "it does not fit the state (ValueError: not enough values to unpack (expected 3, got 2))"),
    (["s", [None], 1], "its path holds something that is neither key nor position"),
    (["d", ["m", 0]], "there is no such entry"),
    (["d", []], "there is no such entry"),
    (["a", ["m"], 2, [4]], "there is no list of length 2"),
    (["x", ["d"], 0, 0, []], "there is no list"),
    (["x", ["m"], 0, -1, []], "the list has 3 elements"),
    (["t", ["t"], 3, "!"], "there is no text of 3 characters"),
    (["t", ["t", "x"], 3, "!"], "its path leads nowhere"),
    (["a", ["t", "x"], 3, []], "its path leads nowhere"),
    (["x", ["t", "x"], 0, 0, []], "its path leads nowhere"),
    (["o", ["t", "x"], []], "its path leads nowhere"),
    (["d", ["t", "x", "y"]], "its path leads nowhere"),
    (["m", ["t"], ["m", "x", "y"]], "its path leads nowhere"),
    (["o", ["d"], ["a"]], "these are not the keys of a dict"),
    (["o", ["d"], ["a", "c"]], "it does not fit the state (KeyError: 'c')"),
    (["o", ["d"], ["a", "a"]], "these are not the keys of a dict"),
    (["m", ["nowhere"], ["x"]], "it does not fit the state (KeyError: 'nowhere')"),
    (["m", ["m", 0], ["x"]], "there is no such entry"),
    (["m", ["t"], ["m", "x"]], "there is no dict to move it to"),
    (["m", ["t"], "x"], "its path is not a list"),
    (["z", ["m"]], "this version does not know it"),
    ([1, ["m"]], "it is not an operation"),
]


@pytest.mark.parametrize(("op", "why"), WHYS)
def test_an_operation_that_does_not_fit_is_shown_with_the_reason(op: Any, why: str) -> None:
    with pytest.raises(CorruptDelta) as caught:
        apply({"m": [1, 2, 3], "t": "text", "d": {"a": 1, "b": {}}}, [op])
    assert caught.value.message == f"operation {op[:2]!r} is damaged: {why}"
    assert caught.value.hint == "Run `agent-tt verify` on the store."


def test_what_is_no_operation_at_all_is_shown_and_no_more_of_it_than_a_line() -> None:
    for op in ({"s": 1}, [], "x" * 300):
        with pytest.raises(CorruptDelta) as caught:
            apply({}, [op])  # type: ignore[list-item]
        assert caught.value.message == f"operation {repr(op)[:120]} is damaged: it is not an operation"


@pytest.mark.parametrize("op", [["s", ["a"], 1], ["d", ["a"]], ["x", ["a"], 0, 0, []], ["m", ["a"], ["b"]]])
def test_what_may_change_all_below_a_path_is_marked_so(op: Any) -> None:
    assert touches([op])[("a",)].struct


def test_a_move_touches_where_it_came_from_and_where_it_went() -> None:
    assert touches([["m", ["a", "b"], ["c", "$v", 1, "d"]], ["a", ["a"], 3, [1]], ["a", ["a"], 4, [1]]]) == {
        (): Touch(),
        ("a",): Touch(grown=True, length=3),
        ("a", "b"): Touch(struct=True),
        ("c",): Touch(),
        ("c", 1): Touch(),
        ("c", 1, "d"): Touch(struct=True),
    }
    assert touches([["a", ["a"], 3, [1]], ["s", ["a"], []], ["a", ["a"], 0, [1]]])[("a",)] == Touch(
        struct=True, grown=True, length=3
    )
    assert touches([["s", ["a"], []], ["a", ["a"], 0, [1]]])[("a",)] == Touch(struct=True, grown=True, length=0)
    assert touches([["a", ["a"], "x", [1]]])[("a",)] == Touch(grown=True, length=None)
