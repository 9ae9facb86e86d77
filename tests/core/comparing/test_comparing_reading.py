"""What is read of two runs that are compared, how often, and what is said of what cannot be read."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

from agent_tt.comparing.runs.comparison import Against, Comparison, compare_runs
from agent_tt.errors import Damaged, Interrupted
from agent_tt.protocols import Capabilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run, Step


class Counting(MemorySource):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[tuple[str, str, int]] = Counter()

    def digest(self, run_id: str, step: int) -> bytes | None:
        self.asked["digest", run_id, step] += 1
        return super().digest(run_id, step)

    def calls(self, run_id: str, step: int) -> list[Call]:
        self.asked["calls", run_id, step] += 1
        return super().calls(run_id, step)

    def times(self, what: str, *, behind: int = 0) -> list[int]:
        return [count for (asked, _, step), count in self.asked.items() if asked == what and step > behind]


class Paged(Counting):
    """Gives the calls, and the digests, of many steps at once."""

    capabilities = Capabilities(pages=True)

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        return [
            call
            for number in range(start, min(stop, self.step_count(run_id) + 1))
            for call in MemorySource.calls(self, run_id, number)
        ]

    def digest_page(self, run_id: str, start: int, stop: int) -> dict[int, bytes]:
        self.asked["page", run_id, start] += 1
        numbers = range(start, min(stop, self.step_count(run_id) + 1))
        return {number: found for number in numbers if (found := MemorySource.digest(self, run_id, number)) is not None}


class Listing(Paged):
    """Gives the calls of a run without what they carried too."""

    def call_heads(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        calls = self.call_page(run_id, start, self.step_count(run_id) + 1 if stop is None else stop)
        return [replace(call, args=None, result=None) for call in calls]

    def with_values(self, run_id: str, head: Call) -> Call:
        raise NotImplementedError


moves = st.lists(
    st.builds(
        Did,
        st.sampled_from(["work", "plan"]),
        tool=st.sampled_from(["look", "book", None]),
        args=st.sampled_from([{"q": 1}, {"q": 2}]),
        answer=st.sampled_from([None, {"content": "yes"}]),
        lane=st.sampled_from(["main", "w"]),
        state=st.fixed_dictionaries({"n": st.integers(0, 2)}),
    ),
    max_size=6,
)


@given(moves, moves, st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_it_comes_to_the_same_whatever_a_source_can_give_at_once(a: list[Did], b: list[Did], shared: int) -> None:
    shared = min(shared, len(a))

    def found(source: MemorySource) -> Comparison:
        run = source.add("a", a, state={})
        return compare_runs(source, run, source, source.add("b", b, state={}, parent="a", fork_step=shared))

    plain = found(MemorySource()).to_json()
    for kind in (Paged, Listing):
        assert found(kind()).to_json() == plain


@given(moves, moves, moves, st.lists(st.integers(0, 6), min_size=3, max_size=3))
@settings(max_examples=40, deadline=None)
def test_a_run_that_was_compared_with_others_is_compared_as_if_it_was_not(
    a: list[Did], b: list[Did], c: list[Did], shared: list[int]
) -> None:
    for kind in (MemorySource, Paged):
        source = kind()
        run = source.add("a", a, state={})
        others = [
            source.add(f"b{n}", steps, state={}, parent="a", fork_step=min(shared[n], len(a)))
            for n, steps in enumerate((b, c, b))
        ]
        others.append(source.add("stranger", b, state={}))
        against = Against(source, run)
        for other in (others[3], *others, others[0]):
            assert against.compare(source, other).to_json() == compare_runs(source, run, source, other).to_json()


def step(tool: str, n: int = 0, **rest: object) -> Did:
    return Did("work", tool=tool, args={}, result="ok", state={"n": n}, **rest)


LONG = [step("look", n) for n in range(20)]
OTHER = [*LONG[:5], *(step("book", -n) for n in range(15))]


def test_of_each_state_the_digest_is_asked_for_once_and_only_behind_where_the_runs_part() -> None:
    source = Counting()
    against = Against(source, source.add("a", LONG, state={}))
    for name in ("b", "c"):
        against.compare(source, source.add(name, OTHER, state={}))
    assert set(source.times("digest", behind=0)) == {1}
    assert all(number >= 5 for what, _, number in source.asked if what == "digest" and number)


def test_digests_and_calls_of_many_steps_are_read_together_where_that_can_be() -> None:
    source = Paged()
    against = Against(source, source.add("a", LONG, state={}))
    against.compare(source, source.add("b", OTHER, state={}))
    assert source.times("digest") == []
    assert {(run, number) for what, run, number in source.asked if what == "page"} == {("a", 6), ("b", 6)}
    assert source.times("page") == [1, 1]
    against.compare(source, source.add("c", OTHER, state={}))
    assert source.asked["page", "a", 6] == 1, "what is known of a run is not read again"
    against.compare(source, source.add("d", [LONG[0], *OTHER[1:3], step("sing"), *OTHER[4:]], state={}))
    assert source.asked["page", "a", 4] == 1, "but what lies before it is"
    listing = Listing()
    a, b = listing.add("a", LONG, state={}), listing.add("b", OTHER, state={})
    compare_runs(listing, a, listing, b)
    assert {number for what, _, number in listing.asked if what == "calls"} == {6}, "where they part"


def test_what_a_fork_shares_with_its_parent_is_read_once() -> None:
    source = Counting()
    run = source.add("a", LONG, state={})
    fork = source.add("b", OTHER[10:], state={}, parent="a", fork_step=10)
    compare_runs(source, run, source, fork)
    assert {number for what, name, number in source.asked if (what, name) == ("calls", "b")} == {*range(11, 21)}


# ---------------------------------------------------------------- damage


class Spoilt(MemorySource):
    """What it gives of run `b` can be spoilt."""

    spoil: Callable[[str, list[Step] | list[Call]], list[Step] | list[Call]]

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        found = super().steps(run_id, start, stop)
        return self.spoil("steps", found) if run_id == "b" else found  # type: ignore[return-value]

    def calls(self, run_id: str, step: int) -> list[Call]:
        found = super().calls(run_id, step)
        return self.spoil("calls", found) if run_id == "b" else found  # type: ignore[return-value]


class SpoiltPages(Spoilt):
    capabilities = Capabilities(pages=True)

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        return [call for number in range(start, stop) for call in self.calls(run_id, number)]

    def digest_page(self, run_id: str, start: int, stop: int) -> dict[int, bytes]:
        return {}


class SpoiltLists(SpoiltPages):
    """Only the list of all calls is spoilt."""

    def calls(self, run_id: str, step: int) -> list[Call]:
        return MemorySource.calls(self, run_id, step)

    def call_heads(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        found = self.call_page(run_id, start, self.step_count(run_id) + 1 if stop is None else stop)
        return self.spoil("calls", found) if run_id == "b" else found  # type: ignore[return-value]

    def with_values(self, run_id: str, head: Call) -> Call:
        raise NotImplementedError


def damaged(what: str) -> Callable[[str, list], list]:
    return lambda kind, found: [replace(each, damaged="its row is") for each in found] if kind == what else found


@pytest.mark.parametrize(
    ("kind", "spoil", "words"),
    [
        (Spoilt, damaged("steps"), "its row is"),
        (Spoilt, damaged("calls"), "its row is"),
        (SpoiltPages, damaged("calls"), "its row is"),
        (SpoiltLists, damaged("calls"), "its row is"),
        (Spoilt, lambda kind, found: [] if kind == "calls" else found, "1 of the 1 calls of step 1 are missing"),
        (SpoiltPages, lambda kind, found: [] if kind == "calls" else found, "1 of the 1 calls of step 1 are missing"),
    ],
)
def test_a_run_of_which_a_step_or_a_call_is_damaged_or_missing_is_not_compared(
    kind: type[Spoilt], spoil: Callable[[str, list], list], words: str
) -> None:
    source = kind()
    source.spoil = spoil
    a, b = (source.add(name, [step("look"), step("book")], state={}) for name in "ab")
    with pytest.raises(Damaged, match=rf"b \(b\) cannot be used: {words}"):
        compare_runs(source, a, source, b)
    with pytest.raises(Damaged, match="the row of a"):
        compare_runs(source, replace(a, damaged="the row of a"), source, a)


class Unreadable(MemorySource):
    """Nothing is known of the states of run `b`."""

    def state(self, run_id: str, step: int) -> Wire:
        if run_id == "b":
            raise Damaged("a blob is missing")
        return super().state(run_id, step)


def unread(a: list[Did], b: list[Did]) -> Comparison:
    source = Unreadable()
    return compare_runs(source, source.add("a", a, state={}), source, source.add("b", b, state={}))


def test_what_cannot_be_read_is_said_in_words_and_called_neither_equal_nor_another() -> None:
    found = unread([step("look")], [step("look")])
    assert found.unread == ("the state after step 1 of B",)
    assert (found.final_equal, found.final_changes, found.differs) == (None, (), False)
    assert unread([], []).unread == ("the state that it began with of B",)
    silent = unread([Did("plan", state={"n": 1})], [Did("plan", state={"n": 1})])
    assert silent.unread == ("what step 1 wrote of B", "the state after step 1 of B")
    # Of A the same is said.
    source = Unreadable()
    a, b = (source.add(name, [step("look")], state={}) for name in "ab")
    assert compare_runs(source, b, source, a).unread == ("the state after step 1 of A",)


def test_of_a_step_that_contains_others_only_these_are_compared() -> None:
    class Nested(MemorySource):
        def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
            return [
                replace(each, parent=1 if each.number == 2 else None) for each in super().steps(run_id, start, stop)
            ]

    def found(source: MemorySource) -> Comparison:
        a, b = (source.add(name, [Did("graph", state={"n": name}), step("look", 1)], state={}) for name in "ab")
        return compare_runs(source, a, source, b)

    assert found(MemorySource()).diverged_at == 1
    assert found(Nested()).diverged_at is None


@pytest.mark.parametrize("kind", [MemorySource, Paged])
def test_it_is_asked_again_and_again_whether_to_give_up(kind: type[MemorySource]) -> None:
    source = kind()
    a: Run = source.add("a", LONG, state={})
    b: Run = source.add("b", OTHER, state={})
    asked: list[bool] = []
    compare_runs(source, a, source, b, cancelled=lambda: bool(asked.append(True)))
    for last in range(1, len(asked) + 1):
        left = [True] * last

        def cancelled(left: list[bool] = left) -> bool:
            left.pop()
            return not left

        with pytest.raises(Interrupted, match="given up"):
            compare_runs(source, a, source, b, cancelled=cancelled)
