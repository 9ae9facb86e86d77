"""Which lists only grew, and since when: by their paths, told from the operations alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_tt.history.changes.append_only import Births

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire


@pytest.mark.parametrize(
    ("ops", "known"),
    [
        ([["a", ["log"], 2, [3]]], {("log",): 0, ("in", "log"): 0}),
        ([["s", ["log", 0], 9]], {("in", "log"): 0}),
        ([["x", ["log"], 0, 1, []]], {("in", "log"): 0}),
        ([["d", ["log"]]], {("in", "log"): 0}),
        ([["d", ["in"]]], {("log",): 0}),
        ([["s", ["in"], {"other": [1], "n": 2}]], {("log",): 0, ("in", "other"): 7}),
        ([["d", ["log"]], ["s", ["log"], [1]]], {("log",): 7, ("in", "log"): 0}),
        ([["s", [], [1]]], {(): 7}),
    ],
)
def test_a_list_counts_until_something_else_than_an_append_happens_to_it(
    ops: list[list[Wire]], known: dict[Path, int]
) -> None:
    births = Births({})
    births.follow([["s", [], {"log": [1, 2], "in": {"log": [[1]]}}]], 0)
    births.follow(ops, 7)
    assert births.known() == known
    assert {path: births.of(path) for path in known} == known
    births.clear()
    assert not births.known()
