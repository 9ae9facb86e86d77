"""Longest common subsequences, of which the table is made in blocks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tt.history.changes import subsequence

words = st.lists(st.sampled_from("abcd"), max_size=12)


@pytest.mark.parametrize("block", [1, 3, 2048])
@given(old=words, new=words)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_as_many_as_can_be_are_paired_however_large_the_blocks_are(
    block: int, old: list[str], new: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = subsequence.common_subsequence(old, new)
    monkeypatch.setattr(subsequence, "_BLOCK", block)
    pairs = subsequence.common_subsequence(old, new)
    assert pairs == whole
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(one[0] < next_[0] and one[1] < next_[1] for one, next_ in itertools.pairwise(pairs))
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, j in itertools.product(range(len(old)), range(len(new))):
        best = max(table[i][j + 1], table[i + 1][j])
        table[i + 1][j + 1] = table[i][j] + 1 if old[i] == new[j] else best
    assert len(pairs) == table[-1][-1]
