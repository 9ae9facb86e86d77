"""States made by hypothesis, for the laws of comparing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.text("ab~/", max_size=4),
)
wires = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=4),
    max_leaves=20,
)
items = st.fixed_dictionaries(
    {"text": st.sampled_from(["a b c d e f", "a b c d e g", "x y z", "q"]), "n": st.integers(0, 4)}
)
states = wires | st.fixed_dictionaries(
    {"list": st.lists(items | st.integers(0, 9), max_size=8), "other": st.lists(st.sampled_from("abc"), max_size=8)}
)
"""States that have something in common more often than chance would have it."""


def exactly_equal(a: Wire, b: Wire) -> bool:
    """Equality that tells types and the sign of zero apart, and not the order of keys."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(exactly_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(exactly_equal, a, b))
    return repr(a) == repr(b)
