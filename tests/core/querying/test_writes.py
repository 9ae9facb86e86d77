"""Every write of a value, told in full: what it was, what it became, where it stood, who did it or may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did
from tests.core.querying.trails import Past

from agent_tt.errors import RunNotFound
from agent_tt.model import Edit, Run, Step
from agent_tt.querying.provenance.blaming import Blame, blame_value
from agent_tt.querying.provenance.edits import edited_calls, edited_states, is_updated
from agent_tt.querying.provenance.links import Trail
from agent_tt.querying.provenance.open_steps import OpenSteps
from agent_tt.querying.provenance.writes import Write

if TYPE_CHECKING:
    from collections.abc import Sequence

A = {"id": "a", "t": "first text here"}
B = {"id": "b", "t": "second text here"}


def blamed(path: str, states: Sequence[Any], at: int | None = None, *, past: Past | None = None, **how: Any) -> Blame:
    """Who wrote a value, in a run of such states, the input first."""
    source = past or Past()
    source.add("run", [Did(f"s{n}", state=state) for n, state in enumerate(states) if n], state=states[0])
    return blame_value(source, "run", path, len(states) - 1 if at is None else at, **how)


def told(found: Blame) -> list[tuple[int, str, str | None, str, Any, Any]]:
    return [(write.step, write.what, write.old_path, write.path, write.old, write.new) for write in found.writes]


HISTORIES: dict[str, tuple[str, list[Any], list[tuple[int, str, str | None, str, Any, Any]]]] = {
    "a value that changed": (
        "x",
        [{"x": 1, "y": 0}, {"x": 2, "y": 0}, {"x": 2, "y": 1}, {"x": 3, "y": 1}],
        [(3, "changed", "x", "x", 2, 3), (1, "changed", "x", "x", 1, 2), (0, "added", None, "x", None, 1)],
    ),
    "a value that came, went and came again": (
        "x",
        [{}, {"x": 1}, {}, {"y": 1}, {"y": 1, "x": 2}],
        [
            (4, "added", None, "x", None, 2),
            (2, "removed", "x", "x", 1, None),
            (1, "added", None, "x", None, 1),
        ],
    ),
    "a value whose surroundings were written anew": (
        "p.x",
        [{"p": {"x": 1, "y": 1}}, {"p": {"x": 1, "y": 2}}, {"p": {"x": 5, "y": 2}}, {"q": 1, "p": {"x": 5, "y": 2}}],
        [(2, "changed", "p.x", "p.x", 1, 5), (0, "added", None, "p.x", None, 1)],
    ),
    "all of a mapping": (
        "p",
        [{"p": {"x": 1}}, {"p": {"x": 2}}, {"p": {"x": 2, "y": 1}}],
        [
            (2, "changed", "p", "p", {"x": 2}, {"x": 2, "y": 1}),
            (1, "changed", "p", "p", {"x": 1}, {"x": 2}),
            (0, "added", None, "p", None, {"x": 1}),
        ],
    ),
    "an element before which another was put in": (
        "l[1].t",
        [{"l": [A]}, {"l": [{**A, "t": "edited"}]}, {"l": [B, {**A, "t": "edited"}]}],
        [
            (1, "changed", "l[0].t", "l[0].t", "first text here", "edited"),
            (0, "added", None, "l[0].t", None, "first text here"),
        ],
    ),
    "an element of a list that was turned round": (
        "l[0].t",
        [{"l": [A, B]}, {"l": [B, A]}],
        [(1, "moved", "l[1].t", "l[0].t", B["t"], B["t"]), (0, "added", None, "l[1].t", None, B["t"])],
    ),
    "an element that took another's place": (
        "l[0]",
        [{"l": ["one long text", "x"]}, {"l": ["another long text", "x"]}],
        [
            (1, "changed", "l[0]", "l[0]", "one long text", "another long text"),
            (0, "added", None, "l[0]", None, "one long text"),
        ],
    ),
    "an element that was put in where another was replaced": (
        "l[1]",
        [{"l": ["one long text", "the tail"]}, {"l": ["two long text", "three long text", "the tail"]}],
        [(1, "added", None, "l[1]", None, "three long text")],
    ),
    "an element that was appended": (
        "l[1]",
        [{"l": [1]}, {"l": [1, 2]}, {"l": [1, 2, 3]}],
        [(1, "added", None, "l[1]", None, 2)],
    ),
    "a key that was renamed": (
        "new.x",
        [{"old": {"x": "a long text"}}, {"new": {"x": "a long text"}}],
        [
            (1, "moved", "old.x", "new.x", "a long text", "a long text"),
            (0, "added", None, "old.x", None, "a long text"),
        ],
    ),
    "null that became a value": (
        "x",
        [{"x": None}, {"x": 1}],
        [(1, "changed", "x", "x", None, 1), (0, "added", None, "x", None, None)],
    ),
}


@pytest.mark.parametrize(("path", "states", "writes"), HISTORIES.values(), ids=HISTORIES)
def test_the_writes_of(path: str, states: list[Any], writes: list[tuple[int, str, str | None, str, Any, Any]]) -> None:
    found = blamed(path, states)
    assert told(found) == writes
    assert [write.began for write in found.writes] == [what == "added" for _, what, *_ in writes]
    assert (found.run_id, found.step, found.path, found.more) == ("run", len(states) - 1, path, False)
    assert found.last == found.writes[0]
    assert {(write.by, write.edited, write.beside) for write in found.writes} == {("", "", ())}


def test_so_many_are_listed_as_are_asked_for() -> None:
    states = [{"x": n} for n in range(120)]
    assert (len(blamed("x", states).writes), blamed("x", states).more) == (100, True)
    found = blamed("x", states[:5], limit=5)
    assert (len(found.writes), found.more) == (5, False)
    found = blamed("x", states[:5], limit=4)
    assert ([write.step for write in found.writes], found.more) == ([4, 3, 2, 1], True)


def test_what_is_listed_is_json() -> None:
    found = blamed("x", [{"x": 1}, {"x": 2}])
    assert found.to_json() == {
        "run": "run", "step": 1, "path": "x", "value": 2, "ends": found.trail.ends, "more": False,
        "made": {"step": 1, "call": None, "kind": "computed", "name": "", "path": ""},
        "trail": [link.to_json() for link in found.trail.links],
        "writes": [
            {"step": 1, "path": "x", "old_path": "x", "old": 1, "new": 2, "began": False, "what": "changed", "by": "",
             "beside": []},
            {"step": 0, "path": "x", "old_path": None, "old": None, "new": 1, "began": True, "what": "added", "by": "",
             "beside": []},
        ],
    }  # fmt: skip
    nothing = Blame("run", 1, "x", 2, (), Trail(()))
    assert (nothing.last, nothing.trail.made, nothing.to_json()["made"]) == (None, None, None)


# ---------------------------------------------------------------- steps that were open together


def past(*times: tuple[str, int | None, int | None], tracks: Sequence[str] = ()) -> Past:
    made = Past(steps_are={n: {"lane": lane, "started_us": began, "ended_us": ended} for n, (lane, began, ended) in
                           enumerate(times, 1)})  # fmt: skip
    for number, track in enumerate(tracks, 1):
        made.steps_are[number]["track"] = track
    made.add("run", [Did(f"s{n}", state={"x": n}) for n in range(1, len(times) + 1)], state={"x": 0})
    return made


def beside(source: Past, number: int) -> list[int]:
    return [step.number for step in OpenSteps(source, "run").beside(number)]


def test_steps_of_other_lanes_that_overlap_may_have_written_it() -> None:
    source = past(("a", 0, 10), ("b", 5, 20), ("c", 12, 30), ("a", 21, 40))
    assert [beside(source, number) for number in range(5)] == [[], [2], [3], [4], []]
    found = blame_value(source, "run", "x", 2)
    assert [(write.step, write.beside) for write in found.writes] == [(2, (3,)), (1, (2,)), (0, ())]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (("b", 10, 12), [2]),
        (("b", 0, 12), [2]),
        (("b", 0, 5), []),
        (("b", 0, 6), [2]),
        (("b", 19, 40), [2]),
        (("b", 20, 40), []),
        (("b", 10, None), [2]),
        (("b", None, 12), []),
        (("a", 10, 12), []),
    ],
)
def test_only_one_that_was_open_between_two_checkpoints_may_have(
    other: tuple[str, int | None, int | None], expected: list[int]
) -> None:
    assert beside(past(("a", 5, 20), other), 1) == expected


def test_one_that_ended_with_the_checkpoint_before_has_not() -> None:
    assert beside(past(("a", 0, 10), ("a", 12, 20), ("b", 2, 10)), 2) == []
    assert beside(past(("a", 0, 10), ("a", 12, 20), ("b", 2, 11)), 2) == [3]
    assert beside(past(("a", 0, None), ("a", 12, 20), ("b", 2, 12)), 2) == []
    assert beside(past(("a", 0, None), ("a", 12, 20), ("b", 2, 13)), 2) == [3]


def test_one_with_a_state_of_its_own_has_not_and_where_no_times_are_known_nobody_is_named() -> None:
    assert beside(past(("a", 0, 10), ("b", 0, 10), tracks=["main", "web"]), 1) == []
    assert beside(past(("a", 0, 10), ("b", 0, 10), tracks=["web", "web"]), 1) == [2]
    assert beside(past(("a", None, 10), ("b", 0, 10)), 1) == []
    assert beside(past(("a", 0, None), ("b", 0, 10)), 1) == []
    assert OpenSteps(past(("a", 0, 1)), "run").step(0) is None
    assert OpenSteps(past(("a", 0, 1)), "run").step(2) is None


def test_steps_are_read_a_page_at_a_time_and_those_of_the_pages_beside_are_looked_at() -> None:
    count = 3_100
    source = past(*(("a", 10 * n, 10 * n + 5) for n in range(1, count + 1)))
    for number in (1, 950, 1_050, 2_500):
        source.steps_are[number] = {"lane": "b", "started_us": 10_001, "ended_us": 10_004}
    reads: list[tuple[int, int | None]] = []
    whole = source.steps

    def steps(run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        reads.append((start, stop))
        return whole(run_id, start, stop)

    source.steps = steps  # type: ignore[method-assign]
    opened = OpenSteps(source, "run")
    assert [step.number for step in opened.beside(1_000)] == [1, 950, 1_050, 2_500]
    opened.beside(1_001)
    pages = [
        (start, stop) for start, stop in reads if stop is None or stop - start > 64
    ]  # the source itself asks for fewer
    assert pages == [(1_000, 2_000), (1, 1_000), (2_000, 3_000)]
    assert [step.number for step in OpenSteps(source, "run").beside(3_000)] == []


# ---------------------------------------------------------------- what people edited


def forks(*edits: tuple[int, tuple[Edit, ...]], steps: int = 6) -> Past:
    """A run, and forks of forks at these steps: `run`, `fork1`, `fork2`."""
    source = Past()
    source.add("run", [Did(f"s{n}", state={"x": n}) for n in range(1, steps + 1)], state={"x": 0})
    parent = "run"
    for number, (at, made) in enumerate(edits, 1):
        source.add(
            f"fork{number}", [Did("more", state={"x": -1})], state={"x": 0}, parent=parent, fork_step=at, edits=made
        )
        parent = f"fork{number}"
    return source


def state_edit(path: str, step: int | None = None) -> Edit:
    return Edit("set", path, 1, 0, step=step)


def test_the_changes_of_a_fork_and_of_those_before_it_are_known_as_far_as_they_are_part_of_it() -> None:
    first, second, late = state_edit("a"), state_edit("b"), state_edit("c", 5)
    source = forks((5, (first, late)), (3, (second,)))
    assert edited_states(source, "run") == {}
    assert edited_states(source, "fork1") == {5: [(first, "fork1"), (late, "fork1")]}
    assert edited_states(source, "fork2") == {3: [(second, "fork2")]}  # it begins before the other's edit
    source = forks((3, (first,)), (4, (second,)), (3, ()))
    assert edited_states(source, "fork2") == {4: [(second, "fork2")], 3: [(first, "fork1")]}
    assert edited_states(source, "fork3") == {3: [(first, "fork1")]}
    source = forks((5, (state_edit("a", 4),)), (5, ()), (2, ()))
    assert edited_states(source, "fork2") == {4: [(state_edit("a", 4), "fork1")]}
    assert edited_states(source, "fork3") == {}


def test_changes_of_what_came_back_of_calls_are_known_by_their_call() -> None:
    edits = tuple(
        Edit("set", "", 1, 0, target=target, step=step, call=call)  # type: ignore[arg-type]
        for target, step, call in [
            ("result", 1, 2),
            ("error", 2, 1),
            ("answer", 3, 1),
            ("result", 1, None),
            ("args", 1, 5),
        ]
    )
    source = forks((4, edits))
    assert edited_calls(source, "fork1") == {(1, 2): (edits[0], "fork1"), (2, 1): (edits[1], "fork1"), (3, 1): (edits[2], "fork1")}  # fmt: skip  # noqa: E501
    assert edited_states(source, "fork1") == {}


def test_of_a_parent_that_was_deleted_nothing_more_is_known() -> None:
    edit = state_edit("a")
    source = forks((3, (edit,)), (3, ()))
    whole = source.run

    def run(ref: str) -> Run:
        if ref == "fork1":
            raise RunNotFound("it is gone", nearest=())
        return whole(ref)

    source.run = run  # type: ignore[method-assign]
    assert edited_states(source, "fork2") == {}


def test_a_step_of_a_graph_that_was_made_from_outside_is_known() -> None:
    source = forks()
    source.steps_are = {
        2: {"extra": {"source": "update"}},
        3: {"extra": {"source": "fork"}},
        4: {"extra": {"source": "x"}},
    }
    assert [is_updated(source, "run", number) for number in (1, 2, 3, 4)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("edited", "asked", "is_theirs"),
    [
        ("x", "x", True),
        ("x", "x.y", True),
        ("x.y", "x", True),
        ("x", "z", False),
        ("", "x.y", True),
        ("x.z", "x.y", False),
    ],
)
def test_a_write_that_touches_what_a_person_edited_is_theirs(edited: str, asked: str, *, is_theirs: bool) -> None:
    source = Past()
    states = [{"x": {"y": n, "z": 0}, "z": n} for n in (0, 1)]
    source.add("base", [Did("s1", state=states[1])], state=states[0])
    source.add("fork", [], state=states[0], parent="base", fork_step=1, edits=(state_edit(edited),))
    write = blame_value(source, "fork", asked, 1).writes[0]
    expected = ("edited", "fork", "edited for fork", ()) if is_theirs else ("changed", "", "", ())
    assert (write.what, write.by, write.edited, write.beside) == expected
    assert Write(1, "x", None, None, 1, began=True, by="update_state").edited == "edited by update_state"
