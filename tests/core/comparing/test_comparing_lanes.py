"""Which lanes belong together, and the order of the rows of several."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource
from tests.effort import Effort

from agent_tt.comparing.runs.comparison import Comparison, compare_runs
from agent_tt.comparing.steps.alignment import align_moves, alignment_cost
from agent_tt.comparing.steps.costs import Costs
from agent_tt.comparing.steps.lane_alignment import Lane, match_lanes
from agent_tt.comparing.steps.moves import Move, describe_move
from agent_tt.model import Call, Step


def did(tool: str, query: object = "", lane: str = "main", **rest: object) -> Did:
    return Did(name="work", tool=tool, args={"query": query}, result="ok", lane=lane, **rest)


def comparison(a: list[Did], b: list[Did], **rest: object) -> Comparison:
    source = MemorySource()
    return compare_runs(source, source.add("a", a), source, source.add("b", b, **rest))


def worker(item: str, lane: str, steps: int = 3) -> list[Did]:
    return [did(f"tool{number}", f"{item} {number}", lane) for number in range(steps)]


def taking_turns(*lanes: list[Did]) -> list[Did]:
    return [each for turn in itertools.zip_longest(*lanes) for each in turn if each is not None]


def matched(found: Comparison) -> set[tuple[str | None, str | None]]:
    return {(lane.a, lane.b) for lane in found.lanes}


def move(lane: str, query: str) -> Move:
    return describe_move(Step(1, "work", "ok", lane=lane), [Call(1, 1, "tool", "look", "ok", args={"q": query})])


workers = st.lists(st.lists(st.sampled_from(["a", "b", "a b", "c"]), min_size=1, max_size=3), max_size=3).map(
    lambda lanes: [move(f"main/worker.{number}", query) for number, lane in enumerate(lanes) for query in lane]
)


@given(workers, workers)
@settings(max_examples=80, deadline=None)
def test_lanes_whose_names_were_counted_are_matched_at_the_least_cost_either_way(a: list[Move], b: list[Move]) -> None:
    def by_lane(moves: list[Move]) -> list[list[Move]]:
        return [list(lane) for _, lane in itertools.groupby(moves, key=lambda each: each.step.lane)]

    def cost(ours: list[list[Move]], theirs: list[list[Move]]) -> int:
        return sum(alignment_cost(x, y, align_moves(x, y, Costs()), Costs()) for x, y in zip(ours, theirs, strict=True))

    ours, theirs = by_lane(a), by_lane(b)
    size = max(len(ours), len(theirs))
    ours += [[]] * (size - len(ours))
    best = min(cost(ours, list(order)) for order in itertools.permutations(theirs + [[]] * (size - len(theirs))))
    found = match_lanes(a, b, Costs())
    moves = [([] if x is None else list(x.moves), [] if y is None else list(y.moves)) for x, y in found]
    assert sum(alignment_cost(x, y, align_moves(x, y, Costs()), Costs()) for x, y in moves) == best
    names = {(x and x.name, y and y.name) for x, y in found}
    assert {(y and y.name, x and x.name) for x, y in match_lanes(b, a, Costs())} == names


renamed = st.lists(
    st.tuples(st.sampled_from(["main", "web.0", "web.1", "x-1", "papers"]), st.sampled_from(["a", "b", "a b"])),
    max_size=8,
).map(lambda taken: [move(lane, query) for lane, query in taken])


@given(renamed, renamed)
@settings(max_examples=80, deadline=None)
def test_lanes_of_any_names_are_matched_alike_whichever_side_comes_first(a: list[Move], b: list[Move]) -> None:
    def names(found: list[tuple[Lane | None, Lane | None]]) -> list[tuple[str | None, str | None]]:
        return [(None if x is None else x.name, None if y is None else y.name) for x, y in found]

    one, other = names(match_lanes(a, b, Costs())), names(match_lanes(b, a, Costs()))
    assert set(one) == {(y, x) for x, y in other}
    for side, moves in enumerate((a, b)):
        lanes = [couple[side] for couple in one if couple[side] is not None]
        assert sorted(lanes) == sorted({each.step.lane for each in moves})


def test_workers_that_took_each_others_work_are_matched_by_what_they_did() -> None:
    a = taking_turns(worker("oslo", "main/w.0"), worker("rome", "main/w.1"), worker("bern", "main/w.2"))
    b = taking_turns(worker("bern", "main/w.0"), worker("oslo", "main/w.1"), worker("rome", "main/w.2"))
    found = comparison(a, b)
    assert found.diverged_at is None
    assert matched(found) == {("main/w.0", "main/w.1"), ("main/w.1", "main/w.2"), ("main/w.2", "main/w.0")}


def test_a_worker_that_was_left_out_does_not_shift_the_others() -> None:
    lanes = [worker(item, f"main/w.{number}") for number, item in enumerate(["oslo", "rome", "bern"])]
    shifted = [
        [replace(each, lane="main/w.0") for each in lanes[1]],
        [replace(each, lane="main/w.1") for each in lanes[2]],
    ]
    found = comparison([did("plan"), *taking_turns(*lanes)], [did("plan"), *taking_turns(*shifted)])
    assert found.only_a == [2, 5, 8]
    assert (found.only_b, found.diverged_at) == ([], 2)
    lane = next(lane for lane in found.lanes if lane.a == "main/w.0")
    assert (lane.b, lane.only_a, lane.same, lane.diverged_at) == (None, 3, 0, 2)
    assert [lane.diverged_at for lane in found.lanes if lane.a != "main/w.0"] == [None, None, None]


def test_lanes_that_a_fork_shares_with_its_parent_are_the_same_whatever_they_did_since() -> None:
    source = MemorySource()
    start = [did("begin", "", f"main/w.{number}") for number in range(2)]
    parent = source.add("a", [*start, did("look", "x", "main/w.0"), did("read", "y", "main/w.1")])
    fork = source.add("b", [did("read", "y", "main/w.0"), did("note", "z", "main/w.0")], parent="a", fork_step=2)
    found = compare_runs(source, parent, source, fork)
    assert [(lane.a, lane.b, lane.same, lane.only_a) for lane in found.lanes] == [
        ("main/w.0", "main/w.0", 1, 0),
        ("main/w.1", "main/w.1", 1, 1),
    ]


def test_lanes_of_one_name_belong_together_whatever_they_did() -> None:
    a = [did("look", "x", "main/web"), did("read", "y", "main/papers")]
    b = [did("read", "y", "main/web"), did("look", "x", "main/papers")]
    assert matched(comparison(a, b)) == {("main/web", "main/web"), ("main/papers", "main/papers")}


def test_lanes_under_other_names_are_matched_at_the_least_cost_and_strangers_stand_alone() -> None:
    a = [did("plan"), *worker("oslo", "main/web.0"), *worker("rome", "main/papers.0"), did("sing", "x", "main/choir")]
    b = [did("plan"), *worker("rome", "main/x-1"), *worker("oslo", "main/y-1"), did("dance", "x", "main/ballet")]
    found = comparison(a, b)
    assert ("main/web.0", "main/y-1") in matched(found)
    assert ("main/papers.0", "main/x-1") in matched(found)
    assert {("main/choir", None), (None, "main/ballet")} <= matched(found)


def test_the_earliest_parting_is_named_and_each_lane_says_its_own() -> None:
    web, papers = worker("oslo", "main/web"), worker("rome", "main/papers")
    a = [did("plan"), *taking_turns(web, papers), did("gather")]
    changed = [*papers[:1], did("tool1", "other", "main/papers"), papers[2]]
    b = [did("plan"), *changed, *web, did("tool9", "", "main/web"), did("gather")]
    found = comparison(a, b)
    assert found.diverged_at == 5
    assert {(lane.a, lane.diverged_at, lane.same, lane.different, lane.only_b) for lane in found.lanes} == {
        ("main", None, 2, 0, 0),
        ("main/web", 8, 3, 0, 1),
        ("main/papers", 5, 2, 1, 0),
    }
    assert found.because == "tool1 was asked with another query"


def test_a_lane_that_only_b_has_stands_where_b_had_come_to() -> None:
    a = [did("plan"), did("look"), did("answer")]
    b = [did("plan"), did("look"), *worker("oslo", "main/extra"), did("answer")]
    found = comparison(a, b)
    assert [(row.a, row.b) for row in found.rows] == [(1, 1), (2, 2), (None, 3), (None, 4), (None, 5), (3, 6)]
    assert (found.diverged_at, found.because) == (3, "only B took step 3, tool0")


def test_a_parted_lane_is_not_taken_for_rejoined_because_another_goes_on() -> None:
    web, papers = worker("oslo", "main/web", 6), worker("rome", "main/papers", 6)
    changed = [*papers[:1], *(did("else", number, "main/papers") for number in range(4)), papers[5]]
    found = comparison(taking_turns(web, papers), taking_turns(web, changed))
    assert found.diverged_at == 4
    assert found.rejoined == (11, 11)


def test_two_hundred_lanes_are_matched_with_bounded_work() -> None:
    lanes = [worker(f"item {number}", f"main/w.{number}", 3) for number in range(200)]
    others = [worker(f"item {number + 3} again", f"main/w.{number}", 3) for number in range(200)]
    for changed in (lanes[::-1], others):
        renamed = [[replace(each, lane=f"main/w.{n}") for each in lane] for n, lane in enumerate(changed)]
        with Effort() as effort:
            found = comparison(taking_turns(*lanes), taking_turns(*renamed))
        assert effort.lines < 6_000_000
        assert len(found.pairs) == 600
        assert (found.diverged_at is None) == (changed is not others)


def test_even_more_lanes_are_matched_by_name_and_beginning() -> None:
    a = [move(f"main/w.{number}", f"item {number}") for number in range(300)]
    b = [move(f"main/w.{number + 100}", f"other {number}") for number in range(300)]
    found = match_lanes(a, b, Costs())
    assert all(x is not None and y is not None for x, y in found)
    assert sum(x.name == y.name for x, y in found if x and y) == 200
