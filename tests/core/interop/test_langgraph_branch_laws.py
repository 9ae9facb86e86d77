"""The branches of any thread, however its checkpoints hang together: as one reads them one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import Effort

from agent_tt.interop.langgraph.layout import ThreadMap
from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows, WriteRow
from agent_tt.interop.langgraph.tasks import NO_TASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.langgraph.layout import Layout

Parents = list[int | None]


def name(number: int) -> str:
    return f"{number:03}"


def thread_of(parents: Parents, strays: Sequence[int] = (), tasks: Sequence[int] = ()) -> ThreadMap:
    """A thread whose checkpoint number i has the parent `parents[i]`.

    Args:
        parents: of each checkpoint, by number.
        strays: for each a subgraph of which nobody knows the host, made just before that checkpoint.
        tasks: checkpoints with a task that began and failed.
    """
    rows = [
        CheckpointRow("t", "", name(number), None if parent is None else name(parent), "json", {"source": "update"})
        for number, parent in enumerate(parents)
    ]
    rows += [CheckpointRow("t", f"sub:{at}", f"{at - 1:03}~", None, "json", {}) for at in strays]
    writes = {
        ("", name(at)): [WriteRow("t", ("", name(at)), "task", "~__pregel_pull, n", -1, "__error__", "json")]
        for at in tasks
    }
    return ThreadMap(ThreadRows("t", {row.key: row for row in sorted(rows, key=lambda row: row.id)}, writes))


def without_circles(parents: Parents) -> Parents:
    """The parents, of which the oldest of each circle has none."""
    cut = list(parents)
    for at in range(len(parents)):
        above = parents[at]
        passed = {at}
        while above is not None and above not in passed:
            passed.add(above)
            above = parents[above]
        if above == at == min(passed):
            cut[at] = None
    return cut


def way_to(parents: Parents, tip: int) -> list[int]:
    """The checkpoints that lead to one, the first one first."""
    above = parents[tip]
    return [*(way_to(parents, above) if above is not None else ()), tip]


def read(way: Sequence[int], strays: Sequence[int], tasks: Sequence[int]) -> list[str]:
    """What the rows of a way have to be: their checkpoints, failed tasks and strays, in order."""
    rows: list[str] = []
    left = sorted(strays)
    for at in way:
        rows.append(name(at))
        while left and left[0] <= at:
            rows.append(f"{left.pop(0) - 1:03}~")
        rows += [f"task of {at:03}"] * (at in tasks)
    return rows + [f"{at - 1:03}~" for at in left]


def shown(layout: Layout) -> list[str]:
    return [
        row.checkpoint.id if row.checkpoint is not None else f"task of {row.before.id}"
        for row in layout.rows()
        if row.checkpoint is not None or row.before is not None
    ]


def check(parents: Parents, strays: Sequence[int], tasks: Sequence[int]) -> None:
    layouts = thread_of(parents, strays, tasks).layouts()
    parents = without_circles(parents)
    every = range(len(parents))
    children = {at: [number for number in every if parents[number] == at] for at in every}

    assert {int(tip) for tip in layouts} == {at for at in every if not children[at]}
    for tip, layout in layouts.items():
        way, rows = way_to(parents, int(tip)), layout.rows()
        forks = [before for before, after in pairwise(way) if children[before][0] != after]

        assert shown(layout) == read(way, strays, tasks)
        assert [row.number for row in rows] == list(range(1, len(layout) + 1))
        assert all(layout.rows(row.number, row.number + 1) == [row] for row in rows)
        for at in every:
            numbers = [row.number for row in rows if row.checkpoint is not None and row.checkpoint.id == name(at)]
            assert [layout.number_of(("", name(at)))] == (numbers or [None])
        assert layout.fork == (layout.number_of(("", name(forks[-1]))) if forks else 0)
        assert (layout.before is None) == (not forks)
        if layout.before is not None:
            assert layout.before.rows(stop=layout.shared + 1) == rows[: layout.shared]


@settings(max_examples=150)
@given(st.data())
def test_branches_are_the_ways_to_their_ends(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    number = st.integers(0, size - 1)
    parents = [data.draw(st.none() | (st.integers(0, at - 1) if at else st.none())) for at in range(size)]
    check(parents, data.draw(st.lists(number, unique=True, max_size=3)), data.draw(st.lists(number, max_size=3)))


@settings(max_examples=150)
@given(st.data())
def test_parents_in_any_circles_are_read_as_far_as_they_lead(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 8))
    number = st.integers(0, size - 1)
    check(data.draw(st.lists(st.none() | number, min_size=size, max_size=size)), [], data.draw(st.lists(number)))


PATHS = ("~__pregel_pull, n", "~__pregel_pull, m", "~__pregel_push, 0000000001", "")
CHANNELS = ("x", "__resume__", "__error__", "__interrupt__")


@settings(max_examples=300)
@given(st.data())
def test_a_thread_that_is_counted_is_as_long_as_one_that_is_laid_out(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 6))
    sources = data.draw(
        st.lists(st.sampled_from(["loop", "loop", "input", "update", "fork"]), min_size=size, max_size=size)
    )
    ids = sorted(data.draw(st.lists(st.integers(0, 1 << 40), unique=True, min_size=size, max_size=size)))
    made = [f"1f{at:010x}"[:8] + f"-{at & 0xFFFF:04x}-6{number:03x}-8000-000000000000" for number, at in enumerate(ids)]
    keys = [("", data.draw(st.sampled_from([each, f"not a time {each}"]))) for each in made]
    checkpoints = {
        key: CheckpointRow("t", *key, keys[number - 1][1] if number else None, "json", {"source": sources[number]})
        for number, key in enumerate(keys)
    }
    task = st.tuples(st.sampled_from(["a", "b", NO_TASK]), st.sampled_from(PATHS), st.sampled_from(CHANNELS))
    writes = {
        key: tuple(
            WriteRow("t", key, who, path, index, channel, "json")
            for index, (who, path, channel) in enumerate(data.draw(st.lists(task, max_size=3)))
        )
        for key in keys
    }
    thread = ThreadMap(ThreadRows("t", checkpoints, writes))
    has_stopped = any(write.channel in CHANNELS[2:] for each in writes.values() for write in each)

    (layout,) = thread.layouts().values()
    assert thread.plain_extent() == (None if has_stopped else layout.extent)


def lines_of(parents: Parents) -> int:
    thread = thread_of(parents)
    with Effort() as effort:
        layouts = thread.layouts()
    assert len(layouts) == len(parents) - len({parent for parent in parents if parent is not None})
    return effort.lines


def test_the_work_for_branches_grows_as_they_do() -> None:
    fans = [lines_of([None] + [0] * count) for count in (50, 400)]
    combs = [lines_of([None, *(max(0, at - 1 - at % 2) for at in range(1, 2 * count))]) for count in (50, 400)]

    assert fans[1] < 10 * fans[0]
    assert combs[1] < 10 * combs[0]
