"""Ids, times and marks do not make two answers of one; amounts, dates and names do."""

from __future__ import annotations

import pytest

from agent_tt.comparing.runs.equal_answers import group_answers
from agent_tt.comparing.values.made_anew import with_one_form

ONE = "Done 6f1c0f4e-2c11-4b8e-9a55-0d0f6b1f2a3c at 2026-11-24T10:30:05.123Z for ~email2abc~, key ~redacted1~"
SAME = "Done 00000000-2c11-4b8e-9a55-0d0f6b1f2a3d at 2025-01-02 08:00:59+01:00 for ~email3xyz~, key <redacted>"


def test_texts_that_differ_in_ids_times_and_marks_alone_are_one_answer():
    found = group_answers({1: ONE, 2: SAME, 3: "Not done"}, [f"at {1764000000}", f"at {1764000999}"])
    assert [(group.letter, group.count, group.text) for group in found.groups] == [
        ("a", 2, ONE),
        ("b", 1, "Not done"),
        ("-", 2, "at 1764000000"),
    ]
    assert found.letters == {1: "a", 2: "a", 3: "b"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("refunded 59.90", "refunded 59.91"),
        ("on 2026-11-24", "on 2026-11-25"),
        ("order 8841", "order 8842"),
        ("for Ann", "for Bob"),
        (ONE, "at " + ONE),
    ],
)
def test_what_may_have_been_asked_for_counts(one, other):
    assert with_one_form(one) != with_one_form(other)
