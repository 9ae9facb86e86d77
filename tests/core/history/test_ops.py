"""Operations fit the state they are applied to or are refused; and they tell where a value came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.ops import MAX_TOUCHES, Touch, apply, touches, trace

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path


def state() -> Any:
    return {"m": [1, 2, 3], "t": "text", "d": {"a": 1, "b": {}}}


@pytest.mark.parametrize(
    "op",
    [
        ["z", ["m"]],
        ["s"],
        ["s", "m", 1],
        ["s", ["m", 3], 1],
        ["s", ["m", -1], 1],
        ["s", ["m", True], 1],
        ["s", ["nowhere", "x"], 1],
        ["s", ["t", "x"], 1],
        ["s", ["d", 0], 1],
        ["d", ["nowhere"]],
        ["d", ["m", 0]],
        ["d", []],
        ["a", ["m"], 2, [4]],
        ["a", ["t"], 4, ["x"]],
        ["a", ["m"], 3, "items"],
        ["x", ["m"], 2, 2, []],
        ["x", ["m"], -1, 1, []],
        ["x", ["m"], 0, -1, []],
        ["x", ["d"], 0, 0, []],
        ["t", ["t"], 3, "!"],
        ["t", ["m"], 3, "!"],
        ["o", ["d"], ["a"]],
        ["o", ["d"], ["a", "a"]],
        ["o", ["d"], ["a", "c"]],
        ["m", ["nowhere"], ["x"]],
        ["m", ["t"], ["m", "x"]],
        ["m", ["t"], []],
        [],
        [1, ["m"]],
        {"s": 1},
    ],
)
def test_an_operation_that_does_not_fit_is_refused(op: Any) -> None:
    with pytest.raises(CorruptDelta, match=r"operation .* is damaged"):
        apply(state(), [op])


def test_every_operation_does_what_its_name_says() -> None:
    ops: list[Any] = [
        ["s", ["d", "a"], 2],
        ["a", ["m"], 3, [4]],
        ["x", ["m"], 0, 2, [0]],
        ["t", ["t"], 4, "!"],
        ["o", ["d"], ["b", "a"]],
        ["m", ["t"], ["d", "b", "text"]],
        ["d", ["d", "a"]],
    ]
    assert apply(state(), ops) == {"m": [0, 3, 4], "d": {"b": {"text": "text!"}}}
    assert apply(state(), [["s", [], 7]]) == 7


@pytest.mark.parametrize(
    ("op", "path", "before"),
    [
        (["x", ["m"], 0, 1, []], ("m", 3, "c"), ("m", 4, "c")),
        (["x", ["m"], 0, 0, [1]], ("m", 0), None),
        (["x", ["m"], 2, 1, [5, 6]], ("m", 1), ("m", 1)),
        (["x", ["m"], 2, 1, [5, 6]], ("m", 3), None),
        (["x", ["m"], 2, 1, [5, 6]], ("m", 4), ("m", 3)),
        (["a", ["m"], 4, [1]], ("m", 3), ("m", 3)),
        (["a", ["m"], 4, [1]], ("m", 4, "x"), None),
        (["a", ["m"], 4, [1]], ("m",), None),
        (["m", ["a"], ["b", "c"]], ("b", "c", 0), ("a", 0)),
        (["m", ["a"], ["b", "c"]], ("b",), None),
        (["m", ["a"], ["b", "c"]], ("z",), ("z",)),
        (["s", ["a"], 1], ("a", "b"), None),
        (["s", ["a", "b"], 1], ("a",), None),
        (["s", ["a", "b"], 1], ("a", "c"), ("a", "c")),
        (["o", ["a"], ["x"]], ("a", "x"), ("a", "x")),
        (["o", ["a"], ["x"]], ("a",), None),
        (["t", ["a"], 1, "x"], ("a",), None),
        (["s", [], 1], ("a",), None),
    ],
)
def test_a_value_is_followed_back_through_an_operation(op: Any, path: Path, before: Path | None) -> None:
    assert trace(op, path) == before


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_an_element_that_was_not_written_is_found_where_it_was(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 8))
    start = data.draw(st.integers(0, length))
    removed = data.draw(st.integers(0, length - start))
    items: Any = data.draw(st.lists(st.just("new"), max_size=3))
    old: Any = [f"old {index}" for index in range(length)]
    op: Any = ["x", [], start, removed, items]
    new: Any = apply(list(old), [op])
    for index, item in enumerate(new):
        before = trace(op, (index,))
        assert (before is None) == (item == "new")
        assert before is None or old[before[0]] == item


def test_a_step_touches_its_paths_and_their_ancestors_without_envelopes() -> None:
    ops: list[Any] = [["a", ["m"], 2, [1]], ["s", ["p", "$v", "x"], 1], ["t", ["s"], 1, "x"]]
    assert touches(ops) == {
        (): Touch(),
        ("m",): Touch(grown=True, length=2),
        ("p",): Touch(),
        ("p", "x"): Touch(struct=True),
        ("s",): Touch(),
    }


@pytest.mark.parametrize("wide", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_a_wide_step_is_marked_higher_up_and_never_loses_a_path(wide: list[str]) -> None:
    ops: list[Any] = [["s", [*wide[:-1], f"k{number}"], 1] for number in range(5000)] + [["s", ["z"], 1]]
    found = touches(ops)
    assert len(found) <= MAX_TOUCHES
    for op in ops:
        path = tuple(op[1])
        assert any(path[:depth] in found and found[path[:depth]].struct for depth in range(len(path) + 1))


@pytest.mark.parametrize("more", [0, 1])
def test_a_step_is_marked_higher_up_from_the_first_path_that_is_too_many(more: int) -> None:
    count = MAX_TOUCHES - 2 + more  # beside the root and `m`
    ops: list[Any] = [["s", ["m", f"k{number}"], 1] for number in range(count)]
    found = touches(ops)
    assert found == ({(): Touch(), ("m",): Touch(struct=True)} if more else touches(ops[:1]) | found)
    assert len(found) == (2 if more else MAX_TOUCHES)


def test_a_step_without_operations_touches_nothing() -> None:
    assert touches([]) == {}


@pytest.mark.parametrize(
    ("op", "why"),
    [
        (["z", ["m"]], None),
        (["a", ["m"], 2, [4]], "there is no list of length 2"),
        (["x", ["m"], 2, 2, []], "the list has 3 elements"),
        (["s", "m", 1], "its path is not a list"),
        (["d", ["nowhere", "x"]], "it does not fit the state (KeyError: 'nowhere')"),
    ],
)
def test_a_damaged_operation_is_shown_with_what_is_wrong_about_it(op: Any, why: str | None) -> None:
    with pytest.raises(CorruptDelta) as caught:
        apply(state(), [op])
    assert str(op[0]) in caught.value.message
    assert f"is damaged: {why or ''}" in caught.value.message
    assert caught.value.hint == "Run `agent-tt verify` on the store."
