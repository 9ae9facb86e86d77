"""Which steps stand side by side, and the order of the rows."""

from __future__ import annotations

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.comparing.runs.comparison import Comparison, compare_runs


def steps(lanes: dict[str, str], text: str) -> list[Did]:
    """A step for each letter: of a lower one a call of the tool of this name; a digit asks `find` for it."""
    made: list[Did] = []
    for word in text.split():
        letter, _, lane = word.partition("/")
        tool, query = ("find", letter) if letter.isdigit() else (letter, "")
        made.append(Did("work", tool=tool, args={"q": query}, result="ok", lane=lanes.get(lane, lane or "main")))
    return made


def comparison(a: str, b: str, *, fork_step: int | None = None, status: str = "succeeded") -> Comparison:
    source = MemorySource()
    run_a = source.add("a", steps({}, a))
    parent = None if fork_step is None else "a"
    run_b = source.add("b", steps({}, b), parent=parent, fork_step=fork_step, status=status)
    return compare_runs(source, run_a, source, run_b)


def shown(found: Comparison) -> str:
    """Each row as its numbers, joined by `=` where the steps are the same and by `~` where they differ."""
    signs = {"same": "=", "different": "~", "only_a": "-", "only_b": "+", "pending": "?"}
    return " ".join(f"{row.a or ''}{signs[row.kind]}{row.b or ''}" for row in found.rows)


@pytest.mark.parametrize(
    ("a", "b", "rows"),
    [
        ("a b", "a b", "1=1 2=2"),
        # Where they part for the first time what each did stands side by side, and only there.
        ("a b c", "a x c", "1=1 2~2 3=3"),
        ("a b c d", "a x c y", "1=1 2~2 3=3 4- +4"),
        ("a b p c", "a x y z c", "1=1 2~2 3- +3 +4 4=5"),
        ("a b c d", "a c x", "1=1 2- 3=2 4- +3"),
        ("a b c", "a x b y", "1=1 +2 2=3 3- +4"),
        # A near match is a parting too.
        ("a 1 b c", "a 2 b x", "1=1 2~2 3=3 4- +4"),
        ("a 1 b 2", "a 3 b 4", "1=1 2~2 3=3 4~4"),
        # What only B did follows what its lane did before it.
        ("a b", "a x y b", "1=1 +2 +3 2=4"),
        ("a b", "x a b", "+1 1=2 2=3"),
        ("a", "x y", "1~1 +2"),
        # A lane of its own stands where the others had come to by then.
        ("a b c", "a b x/w y/w c", "1=1 2=2 +3 +4 3=5"),
        ("a b c", "x/w a b c", "+1 1=2 2=3 3=4"),
        ("a b c", "a b c x/w", "1=1 2=2 3=3 +4"),
        # What a lane began with that A has too stands before that.
        ("a b s/w c", "a b x/w c s/w", "1=1 2=2 +3 3=5 4=4"),
        # B's lanes may have taken turns in another order.
        ("a/v b/v c/w d/w", "c/w d/w a/v b/v x/u", "1=3 2=4 3=1 4=2 +5"),
        ("a/v b/v c/w d/w", "c/w d/w x/u a/v b/v", "1=4 2=5 3=1 4=2 +3"),
    ],
)
def test_the_rows_of_a_comparison(a: str, b: str, rows: str) -> None:
    assert shown(comparison(a, b)) == rows


@pytest.mark.parametrize(
    ("a", "b", "moved"),
    [
        ("a b c d e", "a c d b e", [(2, 4)]),
        ("x a x b c d", "a b c d x x", [(1, 5), (3, 6)]),
        ("a 1 2 d", "a 2 1 d", [(2, 3), (3, 2)]),
        ("a b", "a c", []),
        ("a/v b/v c/v", "b/w c/v a/v", [(1, 3)]),
    ],
)
def test_a_step_that_both_took_at_another_place_of_its_lane_is_moved(
    a: str, b: str, moved: list[tuple[int, int]]
) -> None:
    assert list(comparison(a, b).moved) == moved


def test_a_lane_that_both_share_and_only_one_goes_on_with_is_one_lane() -> None:
    found = comparison("a/v b/w c/v", "d/w", fork_step=2)
    assert [row.lanes for row in found.rows] == [("v", "v"), ("w", "w"), ("w", "w"), ("v", "v")]
    assert [(lane.a, lane.b, lane.only_a, lane.only_b) for lane in found.lanes] == [("v", "v", 1, 0), ("w", "w", 0, 1)]
    new = comparison("a/v b/v", "c/w", fork_step=1)
    assert [row.lanes for row in new.rows] == [("v", "v"), (None, "w"), ("v", "v")]


def test_a_step_that_still_runs_is_pending_in_its_lane() -> None:
    source = MemorySource()
    running = [Did("work", tool="b", args={}, lane="w", status="running")]
    begun = steps({}, "a a/w")
    a = source.add("a", [*begun, *running], status="running")
    b = source.add("b", [*begun, *running], status="running")
    over = source.add("over", begun)
    rows = [(row.kind, row.a, row.b, row.lanes) for row in compare_runs(source, a, source, b).rows[2:]]
    assert rows == [("pending", 3, None, ("w", "w")), ("pending", None, 3, ("w", "w"))]
    assert [row.kind for row in compare_runs(source, a, source, over).rows] == ["same", "same", "pending"]
    assert [row.b for row in compare_runs(source, over, source, b).rows] == [1, 2, 3]
    # A step that its process left open in a run that is over is a step like any other.
    left = source.add("left", [*begun, *running], status="crashed")
    assert [row.kind for row in compare_runs(source, left, source, over).rows] == ["same", "same", "only_a"]
    first = source.add("first", running, status="running")
    (row,) = compare_runs(source, first, source, source.add("none", [])).rows
    assert (row.kind, row.lanes) == ("pending", ("w", None))
