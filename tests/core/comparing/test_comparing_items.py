"""Which items of two lists belong together."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt.codec.tlv import tlv
from agent_tt.comparing.sequences.items import Matching, match_items, match_members

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire

TEXTS = ["a b c d e f", "a b c d e g", "x y z w", "q", ""]
anything: st.SearchStrategy[Wire] = st.one_of(
    st.integers(0, 3),
    st.sampled_from(TEXTS),
    st.fixed_dictionaries({"text": st.sampled_from(TEXTS), "n": st.integers(0, 2)}),
    st.lists(st.integers(0, 2), max_size=2),
)
lists = st.lists(anything, max_size=7)


def turned(found: Matching) -> tuple[object, ...]:
    def around(pairs: Sequence[tuple[int, int]] | frozenset[tuple[int, int]]) -> set[tuple[int, int]]:
        return {(other, one) for one, other in pairs}

    return around(found.pairs), around(found.moved), around(found.replaced), found.added, found.removed


def longest_rising(values: Sequence[int]) -> int:
    sizes = range(len(values), -1, -1)
    return next(n for n in sizes if any(list(some) == sorted(some) for some in itertools.combinations(values, n)))


@given(lists, lists)
@settings(max_examples=100)
def test_each_item_comes_once_equal_ones_are_paired_and_the_most_stay(old: list[Wire], new: list[Wire]) -> None:
    found = match_items(old, new)
    assert [other for _, other in found.pairs] == sorted(other for _, other in found.pairs)
    assert sorted([one for one, _ in found.pairs] + [*found.removed]) == list(range(len(old)))
    assert sorted([other for _, other in found.pairs] + [*found.added]) == list(range(len(new)))
    assert [*found.removed] == sorted(found.removed)
    assert [*found.added] == sorted(found.added)
    equal = [pair for pair in found.pairs if tlv(old[pair[0]]) == tlv(new[pair[1]])]
    assert len(equal) == (Counter(map(tlv, old)) & Counter(map(tlv, new))).total()
    assert {*found.moved} | {*found.replaced} <= {*found.pairs}
    assert {*found.replaced}.isdisjoint(equal)
    staying = [one for one, other in found.pairs if (one, other) not in found.moved]
    assert staying == sorted(staying)
    assert len(staying) == longest_rising([one for one, _ in found.pairs])


@given(lists, lists)
@settings(max_examples=60)
def test_the_other_way_round_the_same_items_belong_together(old: list[Wire], new: list[Wire]) -> None:
    found = match_items(new, old)
    assert ({*found.pairs}, {*found.moved}, {*found.replaced}, found.removed, found.added) == turned(
        match_items(old, new)
    )


def matched(old: Sequence[Wire], new: Sequence[Wire]) -> dict[tuple[int, int], str]:
    found = match_items(old, new)
    return {
        pair: "moved" if pair in found.moved else "replaced" if pair in found.replaced else "stays"
        for pair in found.pairs
    }


def said(text: str, **rest: Wire) -> Wire:
    return {"said": text, **rest}


A, B, C, Z = said("the parcel is late"), said("my order"), said("a voucher"), said("thanks a lot")


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        # As many old items as new ones between the same neighbours: each is said to be what the old one became.
        ([A, B, Z], [A, C, Z], {(0, 0): "stays", (1, 1): "stays", (2, 2): "stays"}),
        ([A, 1, 2, Z], [A, 3, 4, Z], {(0, 0): "stays", (1, 1): "stays", (2, 2): "stays", (3, 3): "stays"}),
        ([A, 1, B, Z], [A, C, 4, Z], {(0, 0): "stays", (3, 3): "stays"}),
        ([A, [1], Z], [A, {"a": 1}, Z], {(0, 0): "stays", (2, 2): "stays"}),
        # Of others only bare values gave way to each other, from the front on.
        ([A, B, Z], [A, C, said("new"), Z], {(0, 0): "stays", (2, 3): "stays"}),
        ([A, 1, Z], [A, 2, 3, Z], {(0, 0): "stays", (1, 1): "replaced", (2, 3): "stays"}),
        ([A, 1, 2, 3, Z], [A, 4, 5, Z], {(0, 0): "stays", (1, 1): "replaced", (2, 2): "replaced", (4, 3): "stays"}),
        ([A, 1, B, 2, Z], [A, 4, 5, Z], {(0, 0): "stays", (1, 1): "replaced", (4, 3): "stays"}),
        # At the end, where two conversations part, what is of one kind did.
        ([A, B], [A, C, Z], {(0, 0): "stays", (1, 1): "replaced"}),
        ([A, B, C], [A, Z], {(0, 0): "stays", (1, 1): "replaced"}),
        ([A, [1]], [A, C, Z], {(0, 0): "stays"}),
        ([B], [C, Z], {(0, 0): "replaced"}),
        # The same form filled in anew is the same item, in which something differs.
        (
            [A, said("my order", by="me")],
            [A, said("a voucher", by="me"), Z],
            {(0, 0): "stays", (1, 1): "stays"},
        ),
        ([A, said("x", by="me")], [A, said("y", of="me"), Z], {(0, 0): "stays", (1, 1): "replaced"}),
        # What moved, and what was edited where it stands or elsewhere.
        ([A, B, Z], [Z, A, B], {(0, 1): "stays", (1, 2): "stays", (2, 0): "moved"}),
        ([A, B, C, Z], [Z, B, C, A], {(0, 3): "moved", (1, 1): "stays", (2, 2): "stays", (3, 0): "moved"}),
        (
            [said("one two three four five six"), B, C],
            [B, C, said("one two three four five seven")],
            {(0, 2): "moved", (1, 0): "stays", (2, 1): "stays"},
        ),
        (
            [said("one two three four five six"), B, C, Z],
            [B, C, said("one two three four other words"), Z],
            {(1, 0): "stays", (2, 1): "stays", (3, 3): "stays"},
        ),
        (
            [A, said("one two three four five six"), Z],
            [A, B, said("one two three four other words"), Z],
            {(0, 0): "stays", (1, 2): "stays", (2, 3): "stays"},
        ),
        # Known by their ids, each of which one item of each side has.
        (
            [said("x", id=1), said("y", id="1"), said("z", id=2)],
            [said("p", id="1"), said("q", id=2), said("r", id=1)],
            {(0, 2): "moved", (1, 0): "stays", (2, 1): "stays"},
        ),
        ([{"id": 1, "n": 1}, [1]], [{"x": 2}, {"id": 1, "n": 2}], {(0, 1): "stays"}),
        ([{"id": 1, "a": 1}, [0]], [1, {"id": 1, "b": 2}], {(0, 1): "stays"}),
        ([{"id": 1, "a": 1}, {"id": 1, "b": 1}, [0]], [[0], {"id": 1, "c": 1}], {(2, 0): "stays"}),
        ([{"id": True, "a": 1}, [0]], [[0], {"id": True, "c": 1}], {(1, 0): "stays"}),
        ([{"id": "", "a": 1}, [0]], [[0], {"id": "", "c": 1}], {(1, 0): "stays"}),
        ([{"id": [1], "a": 1}, [0]], [[0], {"id": [1], "c": 1}], {(1, 0): "stays"}),
        ([{"id": 1, "a": 1}, [0]], [[0], {"id": 1, "c": 1}], {(0, 1): "moved", (1, 0): "stays"}),
    ],
)
def test_what_belongs_together_and_what_became_of_it(
    old: list[Wire], new: list[Wire], pairs: dict[tuple[int, int], str]
) -> None:
    assert matched(old, new) == pairs
    assert matched(new, old) == {(other, one): what for (one, other), what in pairs.items()}


@pytest.mark.parametrize(
    "held",
    [
        lambda id_, text: {"$type": "dataclass", "class": "m:Message", "$v": {"id": id_, "text": text}},
        lambda id_, text: {"$type": "made", "class": "m:Message", "$v": [[text], {"id": id_}]},
    ],
)
def test_an_instance_is_known_by_its_id_too(held: Callable[[int, str], Wire]) -> None:
    old = [held(1, "a"), held(2, "b"), held(3, "c")]
    new = [held(3, "p"), held(1, "q"), held(2, "r")]
    assert matched(old, new) == {(0, 1): "stays", (1, 2): "stays", (2, 0): "moved"}


@given(st.lists(anything, max_size=6, unique_by=tlv), st.lists(anything, max_size=6, unique_by=tlv))
def test_members_of_sets_are_there_or_are_not(old: list[Wire], new: list[Wire]) -> None:
    found = match_members(old, new)
    assert {tlv(old[one]) for one, _ in found.pairs} == {*map(tlv, old)} & {*map(tlv, new)}
    assert all(tlv(old[one]) == tlv(new[other]) for one, other in found.pairs)
    assert (found.moved, found.replaced) == (frozenset(), frozenset())
    assert [*found.removed] == [at for at, item in enumerate(old) if tlv(item) not in map(tlv, new)]
    assert [*found.added] == [at for at, item in enumerate(new) if tlv(item) not in map(tlv, old)]


@pytest.mark.parametrize("several", [3, 4])
def test_among_many_items_a_few_that_have_something_rare_in_common_are_known_again(several: int) -> None:
    def note(number: int, text: str) -> Wire:
        return {"text": text, f"only{number}": number}

    strangers = [f"stranger {number}" for number in range(30)]
    alike = [note(number, "the very same words in several of them") for number in range(several)]
    edited = [{**item, "n": 1} for item in alike]
    for item, number in zip(edited, range(several), strict=True):
        del item[f"only{number}"]
    found = matched([*alike, *strangers[:10]], [*strangers[10:22], *edited])
    assert {pair for pair in found if pair[0] < several and pair[1] >= 12} == (
        {(number, number + 12) for number in range(several)} if several == 3 else set()
    )


def test_very_long_lists_are_matched_by_what_is_there_once_and_between_that_as_shorter_ones() -> None:
    base: list[Wire] = [number if number % 3 else "again" for number in range(6_000)]
    new = [*base[:1_000], "put in", *base[1_000:2_500], *base[2_503:4_000], *base[4_000:]]
    found = match_items(["first", *base, "last"], ["other", *new, "end"])
    assert (found.moved, len(found.added), len(found.removed)) == (frozenset(), 1, 3)
    assert found.added == (1_001,)
    assert {*found.removed} <= {*range(2_499, 2_505)}
    assert found.pairs[0] == (0, 0)
    assert found.pairs[-1] == (6_001, 5_999)
