"""States as text, and their unified diffs."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.comparing.state_laws import exactly_equal, states

from agent_tt.comparing.values.unified import state_lines, unified_diff

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

ODD = st.one_of(
    st.sampled_from(list("ab \t\n-:#'\"~\x1b\u202e漢%@`&*!|>?{}[],\x85\u2028\ufeff\x7f\0\\\U00018d09")),
    st.characters(exclude_categories=["Cs"]),
)
RESERVED = ["yes", "No", "1", "null", "1e5", "0x1", "1:30", "2020-01-01", "~", "=", "<<", ".inf", "0o7", "1_000"]
odd_texts = st.text(ODD, max_size=8) | st.sampled_from([*RESERVED, "a\nb", "k" * 1_500])
odd_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | odd_texts
odd_states = st.recursive(
    odd_scalars | st.builds(lambda text: {"$type": "datetime", "$v": text}, odd_texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3),
    max_leaves=8,
)

texts = st.text("ab \t\n-:#'\"~\x1b\u202e漢", max_size=12)
with_texts = states | st.dictionaries(texts, texts | st.lists(texts, max_size=3), max_size=4)


def applied(lines: list[str], diff: list[str]) -> list[str]:
    """What `patch` does, without looking further than where a hunk says that it belongs."""
    made: list[str] = []
    at = 0
    for row in diff[2:]:
        if row.startswith("@@"):
            found = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", row)
            assert found is not None
            start = int(found[1]) - (found[2] != "0")
            made += lines[at:start]
            at = start
            assert len(made) == int(found[3]) - (found[4] != "0")
            continue
        if row[0] in " -":
            assert lines[at] == row[1:]
            at += 1
        if row[0] in " +":
            made.append(row[1:])
    return made + lines[at:]


@given(with_texts, with_texts)
@settings(max_examples=70)
def test_the_diff_makes_the_text_of_the_new_state_of_the_old_ones(a: Wire, b: Wire) -> None:
    old, new = state_lines(a), state_lines(b)
    diff = list(unified_diff(old, new, "run@1", "run@2"))
    assert bool(diff) == (old != new)
    if diff:
        assert diff[:2] == ["--- run@1", "+++ run@2"]
        assert applied(old, diff) == new


@given(with_texts, with_texts)
@settings(max_examples=70)
def test_states_that_differ_have_texts_that_differ(a: Wire, b: Wire) -> None:
    assert (state_lines(a) == state_lines(b)) == exactly_equal(a, b)


def test_keys_are_sorted_texts_of_several_lines_are_blocks_and_nothing_is_a_control_code() -> None:
    state = {"z": [1, 1.0, True, "1"], "file": "def f():\n\treturn 1\n", "a b": {}, "m": [{"x": "\x1b[31m", "b": None}]}
    assert state_lines(state) == [
        '"a b": {}',
        "file: |2+",
        "  def f():",
        "  \treturn 1",
        "m:",
        "  - b: null",
        '    x: "\\u001b[31m"',
        "z:",
        "  - 1",
        "  - 1.0",
        "  - true",
        '  - "1"',
    ]


def test_twenty_thousand_lines_with_two_hundred_changed_are_as_many_changed_lines() -> None:
    chance = random.Random(3)
    old = [f"{chance.random()}" for _ in range(20_000)]
    new = list(old)
    for at in chance.sample(range(20_000), 200):
        new[at] += " and more"
    rows = list(unified_diff(old, new, "a", "b"))
    assert sum(row.startswith("+") for row in rows) == 201
    assert applied(old, rows) == new


@given(odd_states, odd_states)
@settings(max_examples=300, deadline=None)
def test_a_yaml_reader_makes_both_states_of_the_two_sides(a: Wire, b: Wire) -> None:
    old, new = state_lines(a), state_lines(b)
    diff = list(unified_diff(old, new, "run@1", "run@2"))
    made = applied(old, diff) if diff else old
    for lines, state in ((old, a), (made, b)):
        assert exactly_equal(yaml.safe_load("\n".join(lines) + "\n"), state)
