"""A value on one row: whole entries as far as they fit, and a count of the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.values.brief import brief

ORDER = {"id": "K-20417", "item": "espresso machine", "price": 249, "status": "sent"}


@pytest.mark.parametrize(
    ("value", "columns", "shown"),
    [
        (ORDER, 100, '{"id": "K-20417", "item": "espresso machine", "price": 249, "status": "sent"}'),
        (ORDER, 60, '{"id": "K-20417", "item": "espresso machine", +2}'),
        (ORDER, 30, '{"id": "K-20417", +3}'),
        (ORDER, 15, '{"id": …, +3}'),
        (ORDER, 12, "{+4}"),
        ([ORDER, ORDER], 22, '[{"id": …, +3}, +1]'),
        ([ORDER, ORDER], 14, "[+2]"),
        ([1, ORDER], 17, "[1, +1]"),
        ([ORDER, ORDER], 40, '[{"id": "K-20417", +3}, +1]'),
        ([1, 2, 3, 4, 5], 12, "[1, 2, +3]"),
        ("one two three", 8, '"one tw…'),
        ([1_000_000, 2], 3, "[+…"),
    ],
)
def test_entries_that_have_no_room_are_counted_and_none_is_cut(value, columns, shown):
    assert brief(value, columns, "…") == shown


VALUES = st.recursive(
    st.integers(0, 99) | st.text("ab ", max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("xyz", max_size=3), inner, max_size=4),
)


@given(VALUES, st.integers(1, 60))
def test_it_never_takes_more_columns_than_there_are(value, columns):
    assert width(brief(value, columns, "…")) <= columns
