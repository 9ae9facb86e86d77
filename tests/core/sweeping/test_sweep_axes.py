"""What a sweep varies, as people write it, and what of that is refused in one line."""

from __future__ import annotations

import pytest

from agent_tt.errors import AgentTTError, Damaged, UsageError
from agent_tt.forking.request import ForkRequest
from agent_tt.forking.terms import Terms
from agent_tt.sweeping.axes import Axis, axes_of, axis_of, edit_of, split_values
from agent_tt.sweeping.definition import Definition, definition_of, with_executors


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("0,0.5,1", ["0", "0.5", "1"]),
        ('"a,b","c"', ['"a,b"', '"c"']),
        ('[1,2],{"x":[3,4]}', ["[1,2]", '{"x":[3,4]}']),
        (r'"say \"a,b\"",1', [r'"say \"a,b\""', "1"]),
        ("1", ["1"]),
    ],
)
def test_values_are_separated_by_commas_outside_of_json(text: str, pieces: list[str]) -> None:
    assert split_values(text) == pieces


def test_each_option_of_fork_is_an_axis_of_edits() -> None:
    written = [
        ("set", "a.b=1,2"),
        ("insert", "list[0]=1,2"),
        ("delete", "old"),
        ("move", "x=y"),
        ("result", "6.1.items[0].price=10,20"),
        ("param", "temperature=0,null"),
        ("model", "m-1,m-2"),
        ("mute", "2,3"),
        ("system", "Be brief, please."),
        ("answer", "3=Yes, book it."),
        ("error", '6="TimeoutError: no answer, again"'),
    ]
    edits = {}
    for kind, text in written:
        axis = axis_of(kind, text)  # type: ignore[arg-type]
        edits[axis.name] = [edit_of(axis, value) for value in axis.values]
    assert {name: [(edit.target, edit.op, edit.path, edit.value) for edit in each] for name, each in edits.items()} == {
        "a.b": [("state", "set", "a.b", 1), ("state", "set", "a.b", 2)],
        "insert list[0]": [("state", "insert", "list[0]", 1), ("state", "insert", "list[0]", 2)],
        "delete old": [("state", "delete", "old", None)],
        "move x": [("state", "move", "x", None)],
        "result 6.1.items[0].price": [("result", "set", "items[0].price", 10), ("result", "set", "items[0].price", 20)],
        "param temperature": [("parameter", "set", "temperature", 0), ("parameter", "delete", "temperature", None)],
        "model": [("model", "set", "", "m-1"), ("model", "set", "", "m-2")],
        "mute": [("step", "mute", "", None), ("step", "mute", "", None)],
        "system": [("system", "set", "", "Be brief, please.")],
        "answer 3": [("answer", "set", "", "Yes, book it.")],
        "error 6": [("error", "set", "", "TimeoutError: no answer, again")],
    }
    assert [edit.step for edit in edits["mute"]] == [2, 3]


def test_free_texts_are_given_one_by_one_and_become_one_axis() -> None:
    axes = axes_of([axis_of("system", "Be brief, please."), axis_of("set", "a=1"), axis_of("system", "Be long.")])
    assert [axis.values for axis in axes] == [("Be brief, please.", "Be long."), (1,)]


@pytest.mark.parametrize(
    ("axes", "why"),
    [
        ([("set", "temperature=0,1"), ("set", "temperature=2")], "temperature is varied twice"),
        ([("set", "a=1"), ("delete", "a")], "varied twice"),
        ([("set", "temperature=0,,1")], "a value is missing in '0,,1'"),
        ([("set", "temperature=")], "there is no value"),
        ([("set", "temperature")], "which values"),
        ([("set", "a=1,1")], "a takes 1 twice"),
        ([("set", "a=1,x")], "--set a: 'x' cannot be read: .*not JSON"),
        ([("model", "m,,n")], "a value is missing"),
        ([("mute", "one")], "not the number of a step"),
        ([("policy", "pay=live,ask")], "pay cannot ask in a sweep: nobody is there to answer"),
        ([("policy", "pay=perhaps")], "perhaps"),
        ([("result", "price=1,2")], "is not STEP"),
        ([("system", "a"), ("system", "a")], "twice"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(axes: list[tuple[str, str]], why: str) -> None:
    with pytest.raises(AgentTTError, match=why) as caught:
        axes_of([axis_of(kind, text) for kind, text in axes])  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.message


NESTED: list[object] = []
for _ in range(100_000):
    NESTED = [NESTED]

TEMPERATURES = Axis("set", "temperature", (0, 0.5, 1))
CITIES = Axis("set", "city", ("Oslo", "Rome"))


def test_cells_are_the_product_and_the_last_axis_changes_first() -> None:
    definition = Definition((TEMPERATURES, Axis("set", "fixed", (7,)), CITIES), samples=5)
    labels = [definition.labels(cell) for cell in definition.cells()]
    assert labels[:3] == [("0", '"Oslo"'), ("0", '"Rome"'), ("0.5", '"Oslo"')]
    assert (definition.cell_count, definition.run_count) == (6, 30)


def test_a_definition_comes_back_from_what_is_kept_of_it() -> None:
    definition = Definition(
        (TEMPERATURES, Axis("policy", "pay", ("live", "deny"))),
        fork=ForkRequest(
            3,
            allow=("book",),
            effects={"look": "read", "pay": "write"},
            by="replay",
            accept_changes=True,
            terms=Terms(executor="mock", seed=7),
        ),
        samples=2,
        jobs=4,
        outcomes=("budget < 0", "answer"),
        max_cost=1.5,
        new_keys=True,
    )
    assert definition_of(definition.to_mapping()) == definition


@pytest.mark.parametrize(
    "kept",
    [
        {},
        {"axes": 3},
        {"axes": [{"kind": "eval", "place": "a", "values": [1, 2]}]},
        {"axes": [{"kind": "set", "place": "a[", "values": [1, 2]}]},
        {"axes": [{"kind": "set", "place": "a", "values": [1, 2]}], "outcomes": ["budget <"]},
        {"axes": [{"kind": "set", "place": "a", "values": [1, 2]}], "effects": {"pay": "reads"}},
        {"axes": [{"kind": "set", "place": "a", "values": [1, 2]}], "effects": {"pay": ["read"]}},
        {"axes": [{"kind": "set", "place": str(n), "values": list(range(99))} for n in range(99)]},
        {"axes": [{"kind": "set", "place": "a", "values": [1, 2]}], "samples": 10**12},
        {"axes": [{"kind": "set", "place": "a", "values": [NESTED, 2]}]},
    ],
)
def test_a_file_that_keeps_something_else_is_damaged(kept: dict[str, object]) -> None:
    with pytest.raises(Damaged, match="cannot be read"):
        definition_of(kept)  # type: ignore[arg-type]


def test_a_sweep_that_varies_nothing_or_far_too_much_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing is varied"):
        Definition((Axis("set", "a", (1,)),)).checked()
    Definition((Axis("set", "a", (1,)),), samples=2).checked()
    with pytest.raises(UsageError, match="at most 10,000"):
        Definition((TEMPERATURES,), samples=5_000).checked()


def test_a_seed_needs_answers_that_are_made_up() -> None:
    terms, axis = with_executors(Terms(), ["python", "mock"], 3)
    assert (terms.seed, axis[0].values) == (3, ("python", "mock"))
    assert with_executors(Terms(), ["mock"], 3) == (Terms(executor="mock", seed=3), ())
    with pytest.raises(UsageError, match="seed"):
        with_executors(Terms(), ["python"], 3)


def test_several_steps_are_muted_and_a_list_is_edited_in_one_place_several_times() -> None:
    written = [("mute", "2"), ("mute", "3"), ("insert", "a[0]=1"), ("insert", "a[0]=1"), ("delete", "a[3]")]
    axes = [axis_of(kind, text) for kind, text in (*written, ("delete", "a[3]"))]
    assert axes_of(axes) == tuple(axes)
    for twice in ([("mute", "2"), ("mute", "2,3")], [("delete", "a"), ("delete", "a")]):
        with pytest.raises(UsageError, match="varied twice"):
            axes_of([axis_of(kind, text) for kind, text in twice])
