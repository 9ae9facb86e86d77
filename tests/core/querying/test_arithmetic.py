"""How a number may have been worked out: each way in words, which is likely, and what is not tried."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agent_tt.model import Call
from agent_tt.querying.provenance.arithmetic import computed


def numbers(*given: float) -> list[tuple[Call | None, Any, float]]:
    """What as many calls brought, the newest first."""
    return [(Call(9 - n, 1, "tool", f"t{n}", "ok"), ("v",), number) for n, number in enumerate(given)]


def ways(value: Any, *given: float, old: Any = None) -> list[str]:
    return [way.words for way in computed(value, numbers(*given), old)]


@pytest.mark.parametrize(
    ("value", "given", "words"),
    [
        (138_425, (8_475, 129_950), "8475 + 129950"),
        (121_475, (8_475, 129_950), "129950 - 8475"),
        (1_101_326_250, (8_475, 129_950), "8475 × 129950"),
        (15.3333, (129_950, 8_475), "129950 ÷ 8475"),
        (6.5217, (129_950, 8_475), "8475 ÷ 129950 × 100"),
        (0.065217, (129_950, 8_475), "8475 ÷ 129950"),
        (229.425, (1_311, 17.5), "17.5 % of 1311"),
        (1_540.425, (1_311, 17.5), "1311 + 17.5 %"),
        (1_081.575, (1_311, 17.5), "1311 - 17.5 %"),
        (20.4819, (1_000, 830), "how much more 1000 is than 830, in percent"),
        (123_456, (1_234.56,), "1234.56 × 100"),
        (12.3456, (1_234.56,), "1234.56 ÷ 100"),
        (60_233, (10_007, 20_011, 30_215), "10007 + 20011 + 30215"),
        (20_030_062, (1_001, 20_010, 52), "1001 × 20010 + 52"),
        (20_029_958, (1_001, 20_010, 52), "1001 × 20010 - 52"),
        (52_141_079, (1_001, 20_010, 52_069), "1001 × 52069 + 20010"),
    ],
)  # fmt: skip
def test_each_way_is_said_in_words(value: float, given: tuple[float, ...], words: str) -> None:
    found = ways(value, *given)
    assert words in found


@pytest.mark.parametrize(
    ("value", "old", "words"), [(21_854, 20_517, "20517 + 1337"), (19_180, 20_517, "20517 - 1337"), (1_337, None, None)]
)
def test_a_total_grows_or_shrinks_by_a_number(value: int, old: int | None, words: str | None) -> None:
    assert ways(value, 1_337, old=old) == ([words] if words else [])
    assert ways(1_337 + 5, 1_337, old=0) == []
    assert ways(1_338, 1_337, old=True) == []
    assert ways(1_338, 1_337, old="1") == []


def test_the_numbers_of_a_list_are_added_up_by_their_column() -> None:
    call = Call(3, 1, "tool", "t", "ok")
    parts = [(call, ("rows", n, "cents"), 10_001 + 7 * n) for n in range(5)]
    others: list[Any] = [(call, ("rows", n, "id"), 3) for n in range(5)]
    total = sum(number for *_, number in parts)
    (way,) = computed(total, [*others, *parts], None)
    assert way.words == "the sum of all 5: 10001 + 10008 + 10015 + 10022 + …"
    assert way.origins == ((call, ("rows", 0, "cents")),)
    (way,) = computed(sum(number for *_, number in parts[:4]), parts[:4], None)
    assert way.words == "the sum of all 4: 10001 + 10008 + 10015 + 10022"
    assert [way.words for way in computed(30_024, parts[:3], None)] == ["10001 + 10008 + 10015"]  # one way, told once
    equal = [(call, ("rows", n), 10_001) for n in range(3)]
    assert [way.words for way in computed(30_003, equal, None)] == ["the sum of all 3: 10001 + 10001 + 10001"]
    assert not any("sum of all" in each.words for each in computed(20_009, parts[:2], None))
    split = [*parts[:2], *((Call(4, 1, "tool", "t", "ok"), path, number) for _, path, number in parts[2:4])]
    assert not any("sum of all" in each.words for each in computed(40_046, split, None))  # of two calls
    inputs: list[Any] = [(None, (n,), 10_001 + 7 * n) for n in range(5)]
    (way,) = computed(total, inputs, None)
    assert way.origins == ((None, (0,)),)


def test_only_the_nearest_numbers_are_tried_three_at_a_time() -> None:
    given = random.Random(5).sample(range(10**8, 10**9), 15)
    assert ways(given[0] + given[1] + given[13], *given) == [f"{given[0]} + {given[1]} + {given[13]}"]
    assert ways(given[0] + given[1] + given[14], *given) == []


def test_a_way_is_likely_where_it_is_the_only_one_and_the_number_has_many_digits() -> None:
    (way,) = computed(138_425, numbers(8_475, 129_950), None)
    assert way.is_likely
    assert way.why == "8475 + 129950; no other numbers that are recorded give it"
    assert [(call.name if call else None, path) for call, path in way.origins] == [("t0", ("v",)), ("t1", ("v",))]
    (way,) = computed(84, numbers(35, 49), None)
    assert not way.is_likely
    assert way.why == "perhaps 35 + 49; no other numbers that are recorded give it, which may be an accident"
    several = computed(18, numbers(3, 6, 9), None)
    assert len(several) > 1
    assert not any(way.is_likely for way in several)


def test_the_more_ways_were_tried_the_more_digits_it_takes() -> None:
    # Of two numbers 19 ways are tried, and 1,900 random numbers are needed: four digits.
    assert computed(1_336, numbers(335, 1_001), None)[0].is_likely is True
    assert computed(936, numbers(335, 601), None)[0].is_likely is False


@pytest.mark.parametrize(
    ("value", "given", "expected"),
    [
        (1_337, (1,), []),
        (100, (1,), []),
        (1_300, (1, 1_300), []),
        (5_000, (0, 5_000), []),
        (True, (1_001, 1_000), []),
        ("138425", (8_475, 129_950), []),
        (None, (8_475, 129_950), []),
        (1e25, (5e24, 5e24), []),
        (float("inf"), (1e300, 1e300), []),
        (float("nan"), (8_475, 129_950), []),
        (0.30000000000000004, (0.1, 0.2), ["0.1 + 0.2"]),
        (0.3, (0.1, 0.2), ["0.1 + 0.2"]),
        (15.33, (129_950, 8_475), ["129950 ÷ 8475"]),
        (15.34, (129_950, 8_475), []),
        (15.333333, (129_950, 8_475), ["129950 ÷ 8475"]),
        (15.3333334, (129_950, 8_475), []),
        (15, (129_950, 8_475), []),
    ],
)
def test_what_gives_a_number(value: Any, given: tuple[float, ...], expected: list[str]) -> None:
    assert ways(value, *given) == expected


def test_numbers_that_are_equal_count_once_and_the_nearest_of_them_is_named() -> None:
    (way,) = computed(138_425, numbers(8_475, 129_950, 8_475), None)
    assert [call.name for call, _ in way.origins if call] == ["t0", "t1"]
    assert ways(16_950, 8_475, 8_475) == []
