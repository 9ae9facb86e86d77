"""What is said of a path at which there is nothing: when there was something, and what is like it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.errors import AgentTTError, InvalidPath, PathNotFound
from agent_tt.querying import absent
from agent_tt.querying.provenance.blaming import blame_value

SEALED = {"$type": "opaque", "why": "sealed", "class": "x:Y"}
PAIRS = {"$type": "dict", "$v": [["name", 1], [7, "seven"], [{"$type": "float", "$v": "nan"}, 2], ["odd key", 3]]}
STATE: dict[str, Any] = {
    "plan": {"goal": "fly", "steps": [{"done": False}, {"owner": "Ada"}]},
    "rows": [1, 2],
    "text": "abc",
    "odd key": {"x y": 1, "z": 2},
    "pairs": PAIRS,
    "closed": {"inside": SEALED},
    "many": {f"k{n}": n for n in range(14)},
    "twelve": {f"k{n}": n for n in range(12)},
    "empty": {},
    "many_goals": [{"goal": n} for n in range(60)],
}


def refused(path: str, states: list[Any] | None = None, at: int | None = None) -> AgentTTError:
    """Ask who wrote what is not there; the last of some states if it is not said which."""
    states = [STATE] if states is None else states
    source = MemorySource()
    source.add("run", [Did(f"name{n}", state=state) for n, state in enumerate(states[1:], 1)], state=states[0])
    with pytest.raises(AgentTTError) as caught:
        blame_value(source, "run", path, len(states) - 1 if at is None else at)
    assert isinstance(caught.value, PathNotFound | InvalidPath)
    return caught.value


@pytest.mark.parametrize(
    ("path", "hint", "nearest"),
    [
        ("goal", "Did you mean plan.goal or many_goals[0].goal?", ("plan.goal", "many_goals[0].goal")),
        ("owner", "Did you mean plan.steps[1].owner?", ("plan.steps[1].owner",)),
        ("plan.gaol", "Did you mean plan.goal?", ("goal",)),
        ("txt", "Did you mean text?", ("text",)),
        ("pairs.nam", "Did you mean pairs.name?", ("name",)),
        ("plan.zzz", "plan has goal, steps.", ()),
        ("plan.steps[0].zzz", "plan.steps[0] has done.", ()),
        ("many.zzz", "many has k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11 and 2 more.", ()),
        ("twelve.zzz", "twelve has k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11.", ()),
        ("pairs.zzz", 'pairs has name, ["odd key"].', ()),
        ("empty.zzz", "", ()),
        ("text.zzz", "", ()),
    ],
)
def test_paths_that_are_like_it_are_offered_or_what_there_is(path: str, hint: str, nearest: tuple[str, ...]) -> None:
    error = refused(path)
    assert isinstance(error, PathNotFound)
    assert error.hint == hint
    assert tuple(error.nearest) == nearest
    assert error.message.startswith(f"there is no {path}")


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        ({"t": {"$type": "tuple", "$v": [{"goal": 1}]}}, "Did you mean t[0].goal?"),
        ({"a": {"goals": 1, "goal_": 2, "goal1": 3}}, "Did you mean a.goals or a.goal_?"),
        ({"p": {"$type": "dict", "$v": [["goal", 1], [7, 2]]}}, "Did you mean p.goal?"),
        ({"p": {"$type": "dict", "$v": [[7, {"goal": 1}]]}}, "The state has p."),
        ({"l": [*[0] * 49, {"goal": 1}]}, "Did you mean l[49].goal?"),
        ({"l": [*[0] * 50, {"goal": 1}]}, "The state has l."),
    ],
)
def test_paths_in_typed_values_and_long_lists_are_offered_as_people_write_them(state: Any, hint: str) -> None:
    assert refused("goal", [state]).hint == hint


def test_of_the_whole_state_the_first_keys_are_named() -> None:
    assert refused("zzz").hint == (
        'The state has plan, rows, text, ["odd key"], pairs, closed, many, twelve, empty, many_goals.'
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("rows[7]", "there is no rows[7]: rows has 2 elements, numbered from 0"),
        ("rows[-7]", "there is no rows[-7]: rows has no such element"),
    ],
)
def test_of_a_list_its_length_is_said(path: str, message: str) -> None:
    assert refused(path).message == message


@pytest.mark.parametrize("path", ["closed.inside.x", "closed.inside.x.y", "closed.inside[0]"])
def test_behind_a_value_that_stays_closed_it_is_not_said_that_there_is_nothing(path: str) -> None:
    error = refused(path)
    assert error.message == f"whether there is {path} after step 0 is not known: values there are encrypted or pickled"
    assert error.hint == "agent-tt never decrypts or unpickles what it reads."


@pytest.mark.parametrize("state", [[SEALED], [0, SEALED]])
def test_nor_behind_one_in_a_list(state: list[Any]) -> None:
    where = f"l[{len(state) - 1}].x"
    assert refused(where, [{"l": state}]).message.startswith(f"whether there is {where} after step 0 is not known")
    assert refused("l[5].x", [{"l": state}]).message.startswith("there is no l[5]")


HISTORY = [{"a": 1, "b": 2}, {"a": 1}, {"c": {"d": 1}}, {"b": 3}, {}]


@pytest.mark.parametrize(
    ("path", "at", "message", "hint"),
    [
        ("a", 2, "step 2 (name2) took it away", "It is there up to step 1: ask about it at 1."),
        ("a", 4, "step 2 (name2) took it away", "It is there up to step 1: ask about it at 1."),
        ("b", 4, "step 4 (name4) took it away", "It is there up to step 3: ask about it at 3."),
        ("b", 2, "step 1 (name1) took it away", "It is there up to step 0: ask about it at 0."),
        ("state.b", 2, "step 1 (name1) took it away", "It is there up to step 0: ask about it at 0."),
        ("c", 0, "step 2 is the first after which it is there", "Ask about it at 2."),
        ("c.d", 1, "step 2 is the first after which it is there", "Ask about it at 2."),
    ],
)
def test_when_there_was_something_is_said(path: str, at: int, message: str, hint: str) -> None:
    error = refused(path, HISTORY, at)
    assert isinstance(error, PathNotFound)
    assert error.message == f"there is no {path} after step {at}: {message}"
    assert error.hint == hint


def test_no_step_is_said_to_have_taken_away_what_one_that_was_not_kept_may_have_taken() -> None:
    source = MemorySource()
    steps = [Did("add", state={"a": 1}), Did("lost", is_kept=False), Did("end", state={"b": 1})]
    source.add("run", steps, state={})
    with pytest.raises(PathNotFound) as caught:
        blame_value(source, "run", "a", 3)
    assert caught.value.message == "there is no a after step 3: it was there after step 1"
    assert caught.value.hint == "Ask about it at 1."
    with pytest.raises(PathNotFound) as caught:
        blame_value(source, "run", "b", 1)
    assert caught.value.message == "there is no b after step 1: it is there after step 3"


def test_in_a_run_that_is_too_long_no_other_steps_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent, "_MOST_STEPS", 4)
    assert "took it away" in refused("a", HISTORY, 2).message
    monkeypatch.setattr(absent, "_MOST_STEPS", 3)
    assert refused("a", HISTORY, 2).message == "there is no a"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("odd key.", None),
        ("plan..goal", None),
        ("rows[x", None),
    ],
)
def test_a_path_that_cannot_be_read_says_where(path: str, hint: str | None) -> None:
    error = refused(path)
    assert isinstance(error, InvalidPath)
    assert error.text == path
    assert error.hint == hint or hint is None


@pytest.mark.parametrize(
    ("path", "meant"),
    [("odd key.z", '["odd key"].z'), ("odd key.x y", '["odd key"]["x y"]'), ("odd key", '["odd key"]')],
)
def test_a_path_whose_odd_keys_lack_quotes_is_offered_with_them(path: str, meant: str) -> None:
    assert refused(path).hint == f"Did you mean {meant}?"


def test_a_text_with_dots_that_is_one_key_is_offered_in_quotes() -> None:
    error = refused("a.b c", [{"a.b c": 1}])
    assert error.hint == 'Did you mean ["a.b c"]?'
    error = refused("a..b", [{"a..b": 1}])
    assert isinstance(error, InvalidPath)
    assert (error.hint, error.text, error.position) == ('Did you mean ["a..b"]?', "a..b", 2)
