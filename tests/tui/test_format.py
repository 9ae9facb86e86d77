"""Numbers are written as people read them."""

import pytest

from agent_tt.model.shown import step_span
from agent_tt_tui import format as fmt


@pytest.mark.parametrize(
    ("steps", "label"),
    [([4], "4"), ([1, 2, 3], "1–3"), ([1, 3, 2], "1–3"), ([1, 9, 5], "1…9"), ([7, 8], "7–8"), ([9, 7], "7…9")],
)
def test_a_label_of_several_steps_names_the_least_and_the_last_and_no_row_where_there_is_a_gap(steps, label):
    assert step_span(steps, "–", "…") == label


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ms"), (0.0002, "<1 ms"), (0.203, "203 ms"), (0.4, "0.4 s"), (20.1, "20.1 s"), (99.96, "2 min"),
     (120, "2 min"), (7200, "2 h"), (360_000, "100 h"), (-1, "0 ms")],
)  # fmt: skip
def test_durations_keep_to_seven_columns(seconds, text):
    assert fmt.duration(seconds) == text
    assert len(text) <= 7


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "now"), (59, "now"), (120, "2 min"), (3599, "59 min"), (3600, "1 h"), (200_000, "2 d")]
)
def test_ages_are_rounded_down(seconds, text):
    assert fmt.age(seconds) == text


@pytest.mark.parametrize(
    ("dollars", "text"),
    [(0, "$0.00"), (0.0001, "<$0.001"), (0.002, "$0.002"), (0.0999, "$0.10"), (0.35, "$0.35"), (1234.5, "$1,234.50")],
)
def test_small_costs_keep_three_digits(dollars, text):
    assert fmt.cost(dollars) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(340, "340 B"), (4096, "4 KB"), (3_250_000, "3.1 MB"), (1024**2 - 1, "1.0 MB"), (2 * 1024**3, "2.0 GB")],
)
def test_sizes_step_to_the_next_unit_before_they_grow_to_four_digits(size, text):
    assert fmt.size(size) == text


def test_thousands_stand_apart():
    assert (fmt.count(4210), fmt.tokens(4210)) == ("4,210", "4,210 tok")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (100, 2, "-98 %"),
        (10, 10.01, "<+1 %"),
        (10, 9.99, ">-1 %"),
        (10, 10, "0 %"),
        (100, 0.1, "-99 %"),
        (100, 0, "-100 %"),
        (10, 21.8, "+118 %"),
        (13, 99_300, "x7,638"),
        (1, 10**7, "x1e+07"),
    ],
)
def test_a_change_is_a_share_and_from_tenfold_on_a_factor(old, new, text):
    assert fmt.change(old, new, "x") == text
