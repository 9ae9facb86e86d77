"""How much two items have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from tests.core.comparing.state_laws import states

from agent_tt.comparing.sequences.similarity import Item, likeness

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire


def alike(one: Wire, other: Wire) -> float:
    found = likeness(Item.of(one), Item.of(other))
    assert found == pytest.approx(likeness(Item.of(other), Item.of(one)))
    return found


@given(states, states)
def test_it_is_a_share_the_same_from_both_sides_and_whole_for_equal_items(one: Wire, other: Wire) -> None:
    assert 0 <= alike(one, other) <= 1 + 1e-9
    assert alike(one, one) == pytest.approx(1)


WORDS = [f"w{number}" for number in range(400)]


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        (1, 1, 1),
        (1, 2, 0),
        (1, 1.0, 0),
        (1, True, 0),
        ([], {}, 0),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, 1 / 2),
        ({"a": 1}, {"b": 1}, 0),
        ({"a": {"b": 1}}, {"b": {"a": 1}}, 0),
        ({"a": 1, "b": 2}, {"a": 1}, 2 / 3),
        # A part put in before does not hide those after it.
        ([1, 2, 3], [0, 1, 2, 3], 6 / 7),
        ([1, 1, 2], [1, 2, 2], 2 / 3),
        # What very different items have in common too weighs little.
        ({"a": None, "b": 1}, {"a": None, "b": 2}, 0.2 / 2.2),
        ({"a": True, "b": 1}, {"a": True, "b": 2}, 0.2 / 2.2),
        ({"a": "", "b": 1}, {"a": "", "b": 2}, 0.2 / 2.2),
        ({"a": [], "b": {}, "c": 1}, {"a": [], "b": {}, "c": 2}, 0.4 / 2.4),
        ({"a": 0, "b": 1}, {"a": 0, "b": 2}, 1 / 2),
        # Of longer texts each word counts, wherever it stands; what has one word is one value.
        ("one", "one!", 0),
        ("one two three four", "four, three; two one", 1),
        ("one two three four", "one two three five", 3 / 4),
        ("one one one two", "one two", 4 / 3 * 2 / (4 / 3 * 2)),
        ("caf\u00e9 noir tr\u00e8s fort", "caf\u00e9 noir \u2014 tr\u00e8s doux", 3 / 4),
        ({"a": "one two", "b": "one two"}, {"a": "one two", "b": "three four"}, 1 / 2),
        (["one two", "one two"], ["one two", "three four"], 1 / 2),
        (["one two", "two three"], ["one two", "four five"], 1 / 2),
        # A text weighs as one value and a sixth for each of its words, and never more than six.
        ({"t": "a b c d e f", "n": 1}, {"t": "a b c d e f", "n": 2}, 4 / 6),
        ({"t": " ".join(WORDS[:36]), "n": 1}, {"t": " ".join(WORDS[:36]), "n": 2}, 12 / 14),
        ({"t": " ".join(WORDS), "n": 1}, {"t": " ".join(WORDS), "n": 2}, 12 / 14),
        # Of a very large item only the first values count.
        (list(range(200)), [*range(200), -1], 1),
        ([*range(199), -1], [*range(199), -2], 199 / 200),
    ],
)
def test_the_share_that_two_items_have_in_common(one: Wire, other: Wire, share: float) -> None:
    assert alike(one, other) == pytest.approx(share)


def test_a_long_text_is_known_again_by_some_of_its_words_wherever_they_stand() -> None:
    text = " ".join(WORDS)
    assert alike(text, f"{text} more") > 0.9
    assert alike(text, " ".join([*WORDS[200:], *WORDS[:200]])) == pytest.approx(1)
    assert alike(text, " ".join(f"x{word}" for word in WORDS)) == 0


def test_items_with_three_words_in_a_row_in_common_are_looked_for() -> None:
    def signs(one: str, other: str) -> int:
        ours, theirs = Item.of(one), Item.of(other)
        return len((ours.signs - ours.features.keys()) & (theirs.signs - theirs.features.keys()))

    assert signs("one two three four", "zero one two three") == 1
    assert signs("one two three four", "one two four three") == 0
    assert signs("one two", "one two") == 0
    assert signs(" ".join(WORDS), " ".join(WORDS)) == 6
