"""The palette looks at a part of a large state with each key that is typed, not at all of it."""

from agent_tt_tui.screens.debugger.features import places
from agent_tt_tui.viewmodel.values.parts import parts_of


def test_no_more_of_a_state_is_touched_than_is_looked_at(monkeypatch) -> None:
    taken = []

    def counted(value):
        parts = parts_of(value)
        taken.append(0 if parts is None else len(parts))
        return parts

    monkeypatch.setattr(places, "parts_of", counted)
    state = {"first": {"second": 2}, **{f"key {number}": list(range(100)) for number in range(1_000)}}
    found = list(places._inside(state, 3_000))
    assert len(found) == 3_000
    assert [path for path, _ in found[:2]] == [("first",), ("key 0",)]
    assert (("first", "second"), 2) in found
    assert sum(taken) < 4_000


def test_a_small_state_is_looked_at_to_its_end() -> None:
    assert [path for path, _ in places._inside({"a": [1, {"b": 2}]}, 3_000)] == [
        ("a",),
        ("a", 0),
        ("a", 1),
        ("a", 1, "b"),
    ]
