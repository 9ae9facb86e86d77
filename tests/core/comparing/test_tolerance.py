"""Values are compared with the tolerances of DeepDiff as DeepDiff itself compares them."""

from __future__ import annotations

import pytest
from deepdiff import DeepDiff
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.sameness import identical
from agent_tt.comparing.values.tolerance import Tolerance
from agent_tt.errors import UsageError

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, 1.01, 1.04, -2.0])
    | st.text("ab", max_size=2)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "__c"]), inner, max_size=3),
)
TOLERANCES = st.builds(
    Tolerance,
    ignore_order=st.booleans(),
    exclude_paths=st.sampled_from([(), ("root['a']",), ("root[0]", "root['b']['a']")]),
    exclude_regex_paths=st.sampled_from([(), (r"\['b'\]",)]),
    significant_digits=st.none() | st.integers(0, 2),
    ignore_type_in_groups=st.sampled_from([(), (("int", "float"),), (("str", "NoneType"),)]),
)


@given(VALUES, VALUES, TOLERANCES)
def test_the_verdict_of_a_tolerance_is_that_of_deepdiff(old, new, tolerance):
    found = tolerance.differences(old, new)
    if tolerance:
        assert (not found) == (not DeepDiff(old, new, **tolerance.options()))
    else:
        assert (not found) == identical(old, new)


@given(VALUES, TOLERANCES)
def test_a_value_equals_itself_under_every_tolerance(value, tolerance):
    assert tolerance.differences(value, value) == []


def test_typed_values_are_compared_as_what_they_are():
    price = {"price": {"$type": "Decimal", "$v": "249.00"}}
    assert Tolerance(ignore_type_in_groups=(("int", "Decimal"),)).differences(price, {"price": 249}) == []
    (found,) = Tolerance(significant_digits=2).differences(price, {"price": {"$type": "Decimal", "$v": "249.01"}})
    assert (found.path, found.old, found.new) == ("price", "Decimal('249.00')", "Decimal('249.01')")


def test_what_was_added_and_removed_is_told_by_its_path():
    found = Tolerance(ignore_order=True).differences({"a": 1, "c": 3}, {"b": [2], "c": 3})
    assert {(each.path, each.old, each.new) for each in found} == {("a", "1", None), ("b", None, "[2]")}


@pytest.mark.parametrize(
    "wrong", [{"exclude_regex_paths": ("(",)}, {"ignore_type_in_groups": (("money",),)}, {"significant_digits": -1}]
)
def test_a_tolerance_that_deepdiff_cannot_use_is_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Tolerance(**wrong)
