"""Runs that part and meet again: by their states, by their moves."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.graph import START, StateGraph
from tests.core.interop import graphs
from tests.core.memory_store import Did, MemorySource
from tests.core.store.recordings import begin, call, fork, new_store

import agent_tt
from agent_tt.comparing.runs.comparison import Comparison, compare_runs
from agent_tt.comparing.runs.rejoining import changes_between
from agent_tt.errors import Damaged
from agent_tt.model import NewStep, StepEnd

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire


def did(tool: str, **state: Wire) -> Did:
    return Did(name="work", tool=tool, args={}, result="ok", state=state)


def comparison(a: list[Did], b: list[Did], **rest: object) -> Comparison:
    source = MemorySource()
    return compare_runs(source, source.add("a", a), source, source.add("b", b, **rest))


A, B, C, D = did("look", n=1), did("think", n=2), did("ask", n=3), did("answer", n=4)


def test_states_that_are_equal_again_after_other_moves_are_a_rejoining() -> None:
    found = comparison([A, B, C, D], [A, did("guess", n=20), did("ask_twice", n=30), C, did("shout", n=4)])
    assert (found.diverged_at, found.rejoined_at, found.rejoined) == (2, 3, (3, 4))
    assert (found.rejoined_state, found.rejoined_changes) == (True, 0)


def test_the_state_decides_although_the_moves_are_the_same_before() -> None:
    one = [A, did("search", n=2), did("read", n=2, m=1), did("note", n=2, m=1), did("reset", n=0), D]
    other = [A, did("hunt", n=5), did("read", n=5, m=1), did("note", n=5, m=1), did("reset", n=0), D]
    found = comparison(one, other)
    assert (found.rejoined_at, found.rejoined_state) == (5, True)


def test_the_same_moves_again_are_a_rejoining_and_the_paths_that_still_differ_are_counted() -> None:
    one = [A, did("search", n=2), did("read", n=2, m=1, k=0), did("note", n=2, m=1, k=1), D]
    other = [A, did("hunt", n=5), did("read", n=5, m=2, k=0), did("note", n=5, m=2, k=1), did("answer", n=5)]
    found = comparison(one, other)
    assert (found.diverged_at, found.rejoined_at, found.rejoined_state, found.rejoined_changes) == (2, 3, False, 2)


def test_states_that_never_differed_say_nothing_about_meeting_again() -> None:
    found = comparison([A, B, C], [A, did("guess", n=2), did("sing", n=3)])
    assert (found.diverged_at, found.rejoined) == (2, None)


def test_two_ends_of_other_lengths_that_come_to_the_same_state_are_a_rejoining_at_the_end() -> None:
    found = comparison([A, did("x", n=9), did("y", n=4)], [A, did("z", n=7), did("u", n=8), did("v", n=4)])
    assert (found.rejoined, found.rejoined_at, found.rejoined_state) == ((3, 4), 3, True)
    assert found.rejoined_row == len(found.rows) - 1
    more = comparison([A, did("x", n=9), did("y", n=4)], [A, did("z", n=7), did("u", n=4), did("v", n=8)])
    assert (more.rejoined, more.rejoined_row) == (None, None)


def test_runs_that_part_for_good_do_not_rejoin() -> None:
    found = comparison([A, B, C, D], [A, did("x", n=9), did("y", n=10)])
    assert (found.rejoined_at, found.rejoined_state, found.rejoined_changes) == (None, False, None)


def steps(text: str) -> list[Did]:
    """A step for each word: a letter for what it does, a digit for the state after it, and a lane behind a slash."""
    made = []
    for word in text.split():
        what, _, lane = word.partition("/")
        made.append(Did("work", tool=what[0], args={}, result="ok", lane=lane or "main", state={"n": what[1:]}))
    return made


def met(a: str, b: str, **rest: object) -> tuple[object, ...] | None:
    """Where two runs meet again, in how many places the states differ there, where they part again."""
    found = comparison(steps(a), steps(b), **rest)
    assert found.rejoined_state == (found.rejoined_changes == 0 and found.rejoined is not None)
    assert found.rejoined_at == (found.rejoined and found.rejoined[0])
    if found.rejoined is None:
        assert (found.rejoined_changes, found.parted_again_at) == (None, None)
        return None
    assert found.diverged_at is not None
    return found.rejoined, found.rejoined_changes, found.parted_again_at


@pytest.mark.parametrize(
    ("a", "b", "where"),
    [
        ("a1 b2 c3", "a1 b2 c3", None),
        # By their states: the first step of both after which they are equal, once they differed.
        ("a1 b2 c3 d4", "a1 x9 c3 d4", ((3, 3), 0, None)),
        ("a1 b2 c3 d4", "a1 x9 c9 d4", ((4, 4), 0, None)),
        ("a1 b2 c3", "a1 x2 y3", None),
        ("a1 b2 c3", "a1 c3", ((3, 2), 0, None)),
        ("a1 b2", "a1 x9 y2", ((2, 3), 0, None)),
        ("a1 b2 e7", "a1 x9 y8 z7", ((3, 4), 0, None)),
        ("a1 b2 e7", "a1 x9 y7 z8", None),
        # By their moves: two in a row, or all that are left.
        ("a1 b2 c3 d4", "a1 x9 c9 d9", ((3, 3), 1, None)),
        ("a1 b2 c3", "a1 x9 c9", ((3, 3), 1, None)),
        ("a1 b2 c3", "a1 c9", ((3, 2), 1, None)),
        ("a1 b2 c3 y4", "a1 x9 c9 z9", None),
        ("a1 b2 c3 d4 y4", "a1 x9 c9 d9 z9", ((3, 3), 1, 5)),
        # And part again.
        ("a1 b2 c3 d4 e5", "a1 x9 c3 y9 e5", ((3, 3), 0, 4)),
        ("a1 b2 c3 e5", "a1 x9 c3 y9 e5", ((3, 3), 0, 4)),
        # With several lanes each that parts has to, and by its state.
        ("a1/v b2/v c3/v a1/w", "a1/v x9/v c3/v a1/w", ((3, 3), 0, None)),
        ("a1/v b2/v a1/w c3/v", "a1/v x9/v a1/w c9/v", None),
        ("a1/v b2/v a1/w b2/w c3/v c3/w", "a1/v x9/v a1/w y9/w c3/v c3/w", ((6, 6), 0, None)),
        ("a1/v b2/v a1/w b2/w c3/w c3/v", "a1/v x9/v a1/w y9/w c3/w c3/v", ((6, 6), 0, None)),
        ("a1/v b2/v c3/v a1/w b2/w c3/w", "a1/v x9/v c3/v a1/w y9/w c3/w", ((6, 6), 0, None)),
        # A lane that only one of them has is apart as long as it goes on.
        ("a1/v b2/v c3/v", "a1/v b2/v q1/w c3/v", ((3, 4), 0, None)),
        ("a1/v b2/v q1/w c3/v", "a1/v b2/v c3/v", ((4, 3), 0, None)),
        ("a1/v b2/v c3/v", "a1/v b2/v c3/v q1/w", None),
        ("a1/v b2/v c3/v d4/v", "a1/v b2/v q1/w c3/v q2/w d4/v", ((4, 6), 0, None)),
    ],
)
def test_where_runs_meet_again(a: str, b: str, where: tuple[object, ...] | None) -> None:
    assert met(a, b) == where
    assert met(b, a) == (where and (where[0][::-1], where[1], where[2]))  # type: ignore[index]


@pytest.mark.parametrize(
    ("a", "b", "where"),
    [
        ("a1 b2 c3", "a1 x9 c3", ((3, 3), 0, None)),
        ("a1 b2 c3 d4", "a1 x9 c9 d9", ((3, 3), 1, None)),
        ("a1 b2 c3", "a1 x9 c9", None),
        ("a1 b2 c3 d4", "a1 x9 y3", None),
        ("a1 b2 c3", "a1 x9 y8 z3", None),
        # What a lane does that only one has nobody knows before both are over.
        ("a1/v b2/v c3/v", "a1/v b2/v q1/w c3/v", None),
    ],
)
def test_where_runs_meet_again_of_which_one_goes_on(a: str, b: str, where: tuple[object, ...] | None) -> None:
    assert met(a, b, status="running") == where


def test_each_lane_says_where_it_meets_again() -> None:
    found = comparison(
        steps("a1/v b2/v a1/w b2/w c3/v d4/v c3/w e5/v"), steps("a1/v x9/v a1/w y9/w c3/v z9/v c8/w e5/v")
    )
    one, two = found.lanes
    assert (one.rejoined, one.rejoined_changes, one.parted_again_at, one.same_moves) == ((5, 5), 0, 6, None)
    assert (two.rejoined, two.rejoined_changes, two.parted_again_at, two.same_moves) == (None, None, None, (7, 7))
    assert found.rejoined is None


def test_a_fork_in_a_store_meets_its_parent_again_by_state(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0, "notes": []})

    def take(tool: str, state: Wire) -> None:
        number = writer.open_step(NewStep("work"))
        call(writer, number, {"q": tool}, "ok", name=tool)
        writer.close_step(number, StepEnd("ok"), state)

    for tool, n in (("look", 1), ("think", 2), ("tidy", 3), ("answer", 4)):
        take(tool, {"n": n, "notes": []})
    parent = writer.run_id
    writer.finish("succeeded")
    child, writer = fork(store, parent, 1, {"n": 1, "notes": []})
    for tool, n in (("guess", 20), ("guess_again", 21), ("tidy", 3), ("answer", 4)):
        take(tool, {"n": n, "notes": []})
    writer.finish("succeeded")
    found = agent_tt.compare(parent, child, store=store.path)
    assert (found.shared, found.diverged_at, found.rejoined, found.rejoined_state) == (1, 2, (3, 4), True)
    assert store.digest_page(parent, 3, 4) == {3: store.digest(parent, 3)}
    store.close()


def graph_of(checkpointer: Any, *nodes: tuple[str, str]) -> Any:
    """A chain of nodes, each of which writes one topic."""
    builder = StateGraph(graphs.Log)
    for (name, topic), before in zip(nodes, [START, *(name for name, _ in nodes)], strict=False):
        builder.add_node(name, lambda _state, topic=topic: {"topic": topic})
        builder.add_edge(before, name)
    return builder.compile(checkpointer=checkpointer)


def test_threads_of_a_langgraph_database_meet_again_by_state(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        straight = graph_of(checkpointer, ("pick", "heat"), ("settle", "done"), ("end", "over"))
        detour = graph_of(checkpointer, ("pick", "cold"), ("look_up", "odd"), ("settle", "done"), ("end", "over"))
        straight.invoke({"log": ["x"]}, graphs.thread("a"))
        detour.invoke({"log": ["x"]}, graphs.thread("b"))
    with closing(agent_tt.open_source(path)) as source:
        steps = [[step.name for step in source.steps(thread)] for thread in ("a", "b")]
    pick, settle = steps[0].index("pick") + 1, steps[0].index("settle") + 1
    found = agent_tt.compare("a", "b", store=path)
    assert (found.diverged_at, found.because) == (pick, "pick wrote something else to topic")
    assert found.only_b == [steps[1].index("look_up") + 1]
    assert (found.rejoined_at, found.rejoined, found.rejoined_state) == (settle, (settle, settle + 1), True)


def test_states_without_digests_are_compared_themselves_and_those_that_cannot_be_read_are_unknown() -> None:
    class View:
        """A run whose source knows no digests of states."""

        def __init__(self, state: Wire) -> None:
            self._state = state

        def digest(self, _step: int) -> str | None:
            return None

        def lacks_state(self, _step: int) -> bool:
            return False

        def state(self, step: int) -> Wire:
            if not step:
                raise Damaged("its bytes are gone")
            return self._state

    a: Any = View({"n": 1, "m": 1})
    b: Any = View({"n": 2, "m": 1})
    assert changes_between(a, b, 1, 1) == 1
    assert changes_between(a, a, 1, 1) == 0
    assert changes_between(a, b, 0, 1) is None
