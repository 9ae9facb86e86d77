"""Which lanes are matched: the least costly couples of few lanes, the nearest ones of many."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt.comparing.steps.alignment import align_moves, alignment_cost
from agent_tt.comparing.steps.costs import ALONE, Costs
from agent_tt.comparing.steps.lane_alignment import Lane, match_lanes
from agent_tt.comparing.steps.moves import Move, describe_move
from agent_tt.model import Call, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Named = tuple[str | None, str | None]


def move(lane: str, query: str, tool: str = "look") -> Move:
    return describe_move(Step(1, "work", "ok", lane=lane), [Call(1, 1, "tool", tool, "ok", args={"q": query})])


def moves(lanes: dict[str, str]) -> list[Move]:
    """The moves of a run: of each lane one for each letter, asked with it; of a capital one of another tool."""
    return [
        move(name, letter, "write" if letter.isupper() else "look") for name, own in lanes.items() for letter in own
    ]


def names(found: Sequence[tuple[Lane | None, Lane | None]]) -> set[Named]:
    return {(None if x is None else x.name, None if y is None else y.name) for x, y in found}


def matched(a: dict[str, str], b: dict[str, str], begun: Sequence[str] = ()) -> set[Named]:
    """The names of what belongs together, found alike whichever side comes first."""
    found = names(match_lanes(moves(a), moves(b), Costs(), begun))
    assert names(match_lanes(moves(b), moves(a), Costs(), begun)) == {(y, x) for x, y in found}
    return found


# ---------------------------------------------------------------- few lanes


def all_matchings(a: Sequence[Lane], b: Sequence[Lane]) -> Iterator[list[tuple[Lane | None, Lane | None]]]:
    for size in range(min(len(a), len(b)) + 1):
        for ours in itertools.combinations(a, size):
            for theirs in itertools.permutations(b, size):
                alone_a = [(lane, None) for lane in a if lane not in ours]
                alone_b = [(None, lane) for lane in b if lane not in theirs]
                yield [*zip(ours, theirs, strict=True), *alone_a, *alone_b]


def measure(couples: Sequence[tuple[Lane | None, Lane | None]], *, strangers: bool) -> tuple[int, int, int] | None:
    """What is to be least: the cost, then how many stand alone, then how far names and places are apart."""
    cost = lonely = apart = 0
    for ours, theirs in couples:
        if ours is None or theirs is None:
            lonely += 1
            cost += ALONE * len((ours or theirs).moves)
            continue
        pairs = align_moves(ours.moves, theirs.moves, Costs())
        if strangers and not pairs:
            return None
        cost += alignment_cost(ours.moves, theirs.moves, pairs, Costs())
        apart += ours.name != theirs.name and 1 + abs(ours.place - theirs.place)
    return cost, lonely, apart


def check_least(a: list[tuple[str, str]], b: list[tuple[str, str]], *, strangers: bool) -> None:
    found = match_lanes(moves(dict(a)), moves(dict(b)), Costs())
    sides = [[couple[side] for couple in found if couple[side] is not None] for side in (0, 1)]
    assert [sorted(lane.name for lane in side) for side in sides] == [sorted(dict(a)), sorted(dict(b))]
    measures = [measure(each, strangers=strangers) for each in all_matchings(*sides)]
    assert measure(found, strangers=strangers) == min(each for each in measures if each is not None)


WORK = st.text("abAB", min_size=1, max_size=2)


def lanes(*choice: str) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(st.sampled_from(choice), WORK), max_size=3, unique_by=lambda lane: lane[0])


@given(lanes("w.0", "w.1", "w.2", "w.10"), lanes("w.0", "w.1", "w.2", "w.10"))
@settings(max_examples=60, deadline=None)
def test_lanes_of_a_family_cost_least_then_the_fewest_are_alone_then_names_and_places_are_nearest(
    a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    check_least(a, b, strangers=False)


@given(lanes("web", "papers", "choir", "desk"), lanes("x", "y", "z", "v"))
@settings(max_examples=60, deadline=None)
def test_lanes_under_other_names_are_matched_so_too_but_only_where_any_moves_belong_together(
    a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    check_least(a, b, strangers=True)


@pytest.mark.parametrize(
    ("name", "other", "family"),
    [
        ("main/w.1", "main/w.27", True),
        ("task-0123456789ab", "task-ba9876543210", True),
        ("t-00000000-0000-0000-0000-00000000000a", "t-ffffffff-1111-2222-3333-444444444444", True),
        ("t-0000000000000000000000000000000A", "t-1111111111111111111111111111111b", True),
        ("main/web", "main/papers", False),
        ("main/bad", "main/fee", False),
    ],
)
def test_only_a_name_that_was_counted_or_holds_an_id_makes_a_family(name: str, other: str, family: bool) -> None:
    # They have nothing in common: so they are set beside each other only if they are of one family.
    assert matched({name: "a"}, {other: "B"}) == ({(name, other)} if family else {(name, None), (None, other)})


def test_a_lane_that_began_before_the_runs_became_two_is_the_same_one_whatever_it_did() -> None:
    a = {"w.0": "aa", "w.1": "bb"}
    b = {"w.0": "bb", "w.1": "aa"}
    assert matched(a, b) == {("w.0", "w.1"), ("w.1", "w.0")}
    assert matched(a, b, ["w.0", "w.1"]) == {("w.0", "w.0"), ("w.1", "w.1")}
    assert matched(a, b, ["w.0"]) == {("w.0", "w.0"), ("w.1", "w.1")}
    assert matched(a, {"w.1": "ab"}, ["w.0"]) == {("w.0", None), ("w.1", "w.1")}
    assert matched(a, {"w.2": "aa"}, ["w.0", "w.5"]) == {("w.0", None), ("w.1", "w.2")}


def test_what_its_family_has_no_partner_for_is_matched_with_lanes_of_other_names() -> None:
    a = {"w.0": "aa", "w.1": "bc", "desk": "A"}
    b = {"w.0": "aa", "papers": "bc", "choir": "de"}
    assert matched(a, b) == {("w.0", "w.0"), ("w.1", "papers"), ("desk", None), (None, "choir")}


# ---------------------------------------------------------------- many lanes

CROWD = 9
"""On each side: more couples than are all aligned."""


def test_of_many_lanes_the_equal_ones_are_matched_first_and_those_of_one_name_before_others() -> None:
    a = {f"w.{number}": "ab" for number in range(CROWD)}
    b = {f"w.{number}": "ab" for number in range(3, CROWD + 3)}
    found = matched(a, b)
    assert {(f"w.{number}", f"w.{number}") for number in range(3, CROWD)} <= found
    assert {x for x, _ in found} == set(a)
    # The nearest one in the greedy measure is passed over for the one that did exactly the same.
    a = {f"w.{number}": chr(ord("c") + number) for number in range(CROWD - 1)} | {"w.20": "ab"}
    b = {f"v.{number}": f"x{chr(ord('c') + number)}" for number in range(CROWD - 1)} | {"v.20": "ab"}
    assert ("w.20", "v.20") in matched(a, b)


def nearness(ours: Lane, theirs: Lane, *, strangers: bool) -> tuple[int, int, bool, int, int, int] | None:
    """How far two lanes are apart, near matches counted half; None: they have nothing to do with each other."""
    same, alike = (
        (Counter(map(of, ours.moves)) & Counter(map(of, theirs.moves))).total()
        for of in (lambda move: move.did, lambda move: move.alike)
    )
    if strangers and not alike:
        return None
    unlike = len(ours.moves) + len(theirs.moves) - same - alike
    return unlike, -same, ours.name != theirs.name, abs(ours.place - theirs.place), ours.place, theirs.place


def crowd(prefix: str) -> st.SearchStrategy[dict[str, str]]:
    return st.lists(st.text("abAB", min_size=1, max_size=4), min_size=CROWD, max_size=CROWD + 1).map(
        lambda own: {f"{prefix}{number}": letters for number, letters in enumerate(own)}
    )


def check_nearest(a: dict[str, str], b: dict[str, str], *, strangers: bool) -> None:
    """No two lanes have more in common with each other than each has with the one that it was given."""
    found = [(x, y) for x, y in match_lanes(moves(a), moves(b), Costs())]
    assert sorted(x.name for x, _ in found if x) == sorted(a)
    assert sorted(y.name for _, y in found if y) == sorted(b)
    # Those that did the same in the same order were taken out before.
    rest = [
        (x, y)
        for x, y in found
        if x is None or y is None or [move.did for move in x.moves] != [move.did for move in y.moves]
    ]
    far = (1 << 30,)
    of_a = {x.place: (y and nearness(x, y, strangers=strangers)) or far for x, y in rest if x}
    of_b = {y.place: (x and nearness(x, y, strangers=strangers)) or far for x, y in rest if y}
    for (ours, _), (_, theirs) in itertools.product(rest, rest):
        if ours is None or theirs is None:
            continue
        near = nearness(ours, theirs, strangers=strangers)
        # In ties the places of that side count first that comes first by what it did; so they are left out here.
        assert near is None or near[:4] >= min(of_a[ours.place][:4], of_b[theirs.place][:4])


@given(crowd("w."), crowd("w."))
@settings(max_examples=40, deadline=None)
def test_of_many_lanes_no_two_have_more_in_common_than_each_with_its_partner(
    a: dict[str, str], b: dict[str, str]
) -> None:
    check_nearest(a, b, strangers=False)
    matched(a, b)


@given(crowd("w."), crowd("v."))
@settings(max_examples=30, deadline=None)
def test_nor_of_many_lanes_under_other_names_of_which_some_are_strangers(a: dict[str, str], b: dict[str, str]) -> None:
    check_nearest(a, b, strangers=True)
    matched(a, b)


def test_of_very_many_lanes_equal_ones_then_those_of_one_name_then_those_that_begin_alike_are_matched() -> None:
    most = 202
    a, b = ({f"w.{number}": f"A{chr(0x4E00 + side + number)}" for number in range(most)} for side in (0, 1_000))
    b[f"w.{most}"] = "bb"
    b["w.1"] = a["w.7"]  # which is taken for w.7, as it did the same
    a["w.1"] = "AA"
    a["w.5"] = "aa"
    del b["w.0"]
    found = matched(a, b)
    assert ("w.7", "w.1") in found
    assert {(name, name) for name in a if name in b} - found == {("w.1", "w.1"), ("w.7", "w.7")}
    # What is left over on both sides: w.0 and w.1 of the one, w.7 and the last of the other.
    assert {couple for couple in found if couple[0] in ("w.0", "w.1")} == {("w.0", "w.7"), ("w.1", None)}
    assert (None, f"w.{most}") in found


@pytest.mark.parametrize("longer", [0, 1])
def test_of_very_long_lanes_the_order_of_moves_does_not_count(longer: int) -> None:
    steps = [move("", "x", f"tool{number}") for number in range(1_000)]

    def side(one: Sequence[Move], other: Sequence[Move]) -> list[Move]:
        return [
            replace(each, step=replace(each.step, lane=f"w.{number}"))
            for number, own in enumerate((one, other))
            for each in own
        ]

    a = side(steps[:800], steps[800:])
    b = side(steps[:200], [*steps[:longer], *steps[799::-1]])
    couples = {("w.0", "w.0"), ("w.1", "w.1")} if not longer else {("w.0", "w.1"), ("w.1", "w.0")}
    assert names(match_lanes(a, b, Costs())) == couples


# ---------------------------------------------------------------- giving up


@pytest.mark.parametrize("lanes_a_side", [3, CROWD])
def test_matching_can_be_given_up(lanes_a_side: int) -> None:
    class GivenUp(Exception):
        pass

    def give_up() -> None:
        raise GivenUp

    a, b = ({f"w.{number}": f"{letter}{number}" for number in range(lanes_a_side)} for letter in "ab")
    with pytest.raises(GivenUp):
        match_lanes(moves(a), moves(b), Costs(), check=give_up)
