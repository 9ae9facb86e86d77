"""Runs of several lanes: each lane is judged by itself, and has an outcome of its own."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

from agent_tt.comparing.runs.comparison import Comparison, compare_runs
from agent_tt.errors import Damaged
from agent_tt.model import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.runs.rows import LanePair


def lane(name: str, asked: Sequence[int], *, keeps: bool = True) -> list[Did]:
    """A lane that asks for numbers; its state holds all of them, or the last alone."""
    return [
        Did("ask", "f", {"x": x}, x, lane=f"main/{name}", state={"who": name, "v": [*asked[: n + 1]] if keeps else x})
        for n, x in enumerate(asked)
    ]


def together(*lanes: list[Did]) -> list[Did]:
    return [each for turn in itertools.zip_longest(*lanes) for each in turn if each is not None]


def comparison(a: list[Did], b: list[Did]) -> Comparison:
    source = MemorySource()
    return compare_runs(source, source.add("a", a), source, source.add("b", b))


def lane_of(found: Comparison, name: str) -> LanePair:
    return next(each for each in found.lanes if each.a == f"main/{name}")


def test_a_lane_that_never_differed_does_not_make_runs_rejoin() -> None:
    found = comparison(
        together(lane("one", [1, 2, 3, 4]), lane("two", [1, 2, 3, 4])),
        together(lane("one", [1, 2, 3, 4]), lane("two", [1, 9, 3, 4])),
    )
    assert (found.diverged_at, found.rejoined, found.rejoined_state) == (4, None, False)
    two = lane_of(found, "two")
    assert (two.diverged_at, two.rejoined, two.same_moves, two.final_changes) == (4, None, (6, 6), 1)
    assert (lane_of(found, "one").diverged_at, lane_of(found, "one").final_changes) == (None, 0)


def test_runs_rejoin_where_the_last_of_their_lanes_does() -> None:
    found = comparison(
        together(lane("one", [1, 2, 3, 4, 5], keeps=False), lane("two", [1, 2, 3, 4, 5], keeps=False)),
        together(lane("one", [1, 8, 3, 4, 5], keeps=False), lane("two", [1, 9, 9, 4, 5], keeps=False)),
    )
    assert (lane_of(found, "one").rejoined_at, lane_of(found, "two").rejoined_at) == (5, 8)
    assert (found.diverged_at, found.rejoined, found.rejoined_state) == (3, (8, 8), True)


def test_a_lane_that_parts_again_says_so_and_keeps_the_runs_apart() -> None:
    found = comparison(
        together(lane("one", [1, 2, 3, 4, 5], keeps=False), lane("two", [1, 2, 3, 4, 5], keeps=False)),
        together(lane("one", [1, 8, 3, 4, 7], keeps=False), lane("two", [1, 2, 9, 4, 5], keeps=False)),
    )
    one = lane_of(found, "one")
    assert (one.rejoined_at, one.parted_again_at) == (5, 9)
    assert (found.rejoined, found.parted_again_at) == ((8, 8), 9)


def test_equal_moves_with_another_state_in_one_lane_are_a_difference_whichever_lane_ends_last() -> None:
    quiet = [Did("think", "f", {}, 1, lane="main/two", state={"n": n}) for n in (1, 2)]
    other = [Did("think", "f", {}, 1, lane="main/two", state={"n": n}) for n in (1, 3)]
    found = comparison([*quiet, *lane("one", [1])], [*other, *lane("one", [1])])
    assert (found.diverged_at, found.final_changes) == (None, ())
    assert (found.differs, found.final_equal) == (True, False)
    assert lane_of(found, "two").final_changes == 1


def test_every_lane_has_an_outcome_in_both_runs_also_as_json() -> None:
    failed = ErrorInfo("ValueError", "no such city", "")
    broken = [*lane("two", [1]), Did("ask", "f", {"x": 2}, lane="main/two", error=failed, status="error")]
    found = comparison(together(lane("one", [1, 2]), lane("two", [1, 2])), together(lane("one", [1, 2]), broken))
    shape = json.loads(json.dumps(found.to_json()))
    (one,) = [each for each in shape["lanes"] if each["a"] == "main/one"]
    (two,) = [each for each in shape["lanes"] if each["a"] == "main/two"]
    assert [one[f"outcome_{side}"]["status"] for side in "ab"] == ["ok", "ok"]
    assert two["outcome_a"]["tools"] == {"f": 2}
    assert (two["outcome_b"]["steps"], two["outcome_b"]["last"]) == (2, 4)
    assert (two["outcome_b"]["status"], two["outcome_b"]["error"]) == ("error", failed.short)
    extra = comparison(lane("one", [1]), together(lane("one", [1]), lane("two", [5])))
    assert [(each.a, each.outcome_a is None, each.outcome_b is None) for each in extra.lanes] == [
        ("main/one", False, False),
        (None, True, False),
    ]


numbers = st.lists(st.integers(0, 2), min_size=1, max_size=5)


@given(numbers, numbers, numbers, numbers, st.booleans())
@settings(max_examples=150, deadline=None)
def test_runs_never_rejoin_while_a_lane_that_parted_is_another_to_the_end(
    one: list[int], two: list[int], other_one: list[int], other_two: list[int], keeps: bool
) -> None:
    a = together(lane("one", one, keeps=keeps), lane("two", two, keeps=keeps))
    b = together(lane("one", other_one, keeps=keeps), lane("two", other_two, keeps=keeps))
    found = comparison(a, b)
    for pair in found.lanes:
        rows = [row for row in found.rows if row.lanes == (pair.a, pair.b)]
        parting = next((n for n, row in enumerate(rows) if row.kind != "same"), None)
        if parting is None or pair.a is None or pair.b is None:
            continue
        beside = [(row.a, row.b) for row in rows[parting:] if row.a is not None and row.b is not None]
        ever_equal = [a[x - 1].state == b[y - 1].state for x, y in beside]
        ends = [max(row.a or 0 for row in rows), max(row.b or 0 for row in rows)]
        if not any(ever_equal) and a[ends[0] - 1].state != b[ends[1] - 1].state:
            assert found.rejoined is None
            assert pair.rejoined is None
    if found.rejoined_state and found.rejoined is not None:
        assert a[found.rejoined[0] - 1].state == b[found.rejoined[1] - 1].state
    assert found.differs == (a != b)


class Broken(MemorySource):
    """Holds one state that cannot be read."""

    def state(self, run_id: str, step: int) -> Wire:
        if run_id == "b" and step == self.run("b").steps:
            raise Damaged("its digest is wrong")
        return super().state(run_id, step)

    def digest(self, run_id: str, step: int) -> bytes | None:
        self.state(run_id, step)
        return super().digest(run_id, step)


def test_what_cannot_be_read_is_not_called_equal() -> None:
    source = Broken()
    steps = lane("one", [1, 2])
    found = compare_runs(source, source.add("a", steps), source, source.add("b", steps))
    assert (found.final_changes, found.final_equal, found.differs) == ((), None, False)
    assert found.unread == ("the state after step 2 of B",)
