"""Two runs side by side."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource
from tests.effort import Effort

from agent_tt.comparing.runs.comparison import Against, Comparison, compare_runs
from agent_tt.errors import Damaged, Interrupted
from agent_tt.model import Edit, ErrorInfo

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire


def step(tool: str, query: str = "", result: str = "ok", **rest: object) -> Did:
    return Did(name="work", tool=tool, args={"query": query}, result=result, **rest)


def comparison(a: list[Did], b: list[Did], **rest: object) -> Comparison:
    source = MemorySource()
    run_a, run_b = source.add("a", a), source.add("b", b, **rest)
    return compare_runs(source, run_a, source, run_b)


A, B, C, D, E = (step(name) for name in ("look", "think", "ask", "book", "answer"))
X = step("something_else")

moves = st.lists(
    st.builds(step, st.sampled_from(["look", "ask", "book"]), st.sampled_from(["p", "q"])).flatmap(
        lambda did: st.builds(replace, st.just(did), lane=st.sampled_from(["main", "main/web.0"]))
    ),
    max_size=10,
)


@given(moves, moves)
@settings(max_examples=100, deadline=None)
def test_every_step_of_both_is_in_one_row_and_each_lane_keeps_its_order(a: list[Did], b: list[Did]) -> None:
    found = comparison(a, b)
    assert sorted([pair[0] for pair in found.pairs] + found.only_a) == list(range(1, len(a) + 1))
    assert sorted([pair[1] for pair in found.pairs] + found.only_b) == list(range(1, len(b) + 1))
    for lane in ("main", "main/web.0"):
        numbers = [row.b for row in found.rows if row.a is None or a[row.a - 1].lane == lane]
        in_lane = [number for number in numbers if number is not None and b[number - 1].lane == lane]
        assert in_lane == sorted(in_lane)
    for in_a, in_b, same in found.pairs:
        assert same == ((a[in_a - 1].tool, a[in_a - 1].args) == (b[in_b - 1].tool, b[in_b - 1].args))


@given(moves, moves)
@settings(max_examples=60, deadline=None)
def test_comparing_the_other_way_around_gives_the_same_pairs(a: list[Did], b: list[Did]) -> None:
    one, other = comparison(a, b), comparison(b, a)
    assert sorted(one.pairs) == sorted((in_a, in_b, same) for in_b, in_a, same in other.pairs)
    assert (one.diverged_at is None) == (other.diverged_at is None)


def test_a_run_compared_with_one_that_did_the_same_does_not_diverge() -> None:
    found = comparison([A, B, C], [A, B, C])
    assert found.pairs == [(1, 1, True), (2, 2, True), (3, 3, True)]
    assert (found.diverged_at, found.because, found.rejoined_at, found.differs) == (None, "", None, False)


def test_a_step_put_in_is_only_in_the_one_run_and_the_rest_rejoins() -> None:
    found = comparison([A, B, C, D, E], [A, B, X, C, D, E])
    assert found.pairs == [(1, 1, True), (2, 2, True), (3, 4, True), (4, 5, True), (5, 6, True)]
    assert (found.only_a, found.only_b) == ([], [3])
    assert (found.diverged_at, found.rejoined_at, found.rejoined) == (3, 3, (3, 4))
    assert found.because == "only B took step 3, something_else"


def test_a_step_of_the_same_tool_put_in_is_kept_apart_from_the_one_that_it_resembles() -> None:
    searches = [step("search", f"refund policy {number}") for number in range(5)]
    found = comparison([A, *searches, E], [A, *searches[:2], step("search", "policy"), *searches[2:], E])
    assert (found.only_a, found.only_b, found.diverged_at) == ([], [4], 4)
    assert all(same for _, _, same in found.pairs)


def test_near_matches_are_those_that_differ_least() -> None:
    one, other = step("search", "refund policy of the shop"), step("search", "opening hours")
    found = comparison([A, one, other, E], [A, step("search", "opening hours on sunday"), E])
    assert (found.pairs[1], found.only_a) == ((3, 2, False), [2])


def test_a_step_left_out_is_only_in_the_other_run() -> None:
    found = comparison([A, B, C, D, E], [A, B, D, E])
    assert (found.only_a, found.only_b) == ([3], [])
    assert (found.diverged_at, found.rejoined_at) == (3, 4)


def test_two_steps_that_changed_places_are_paired_once() -> None:
    found = comparison([A, B, C, D, E], [A, C, B, D, E])
    assert found.diverged_at == 2
    assert len(found.only_a) == len(found.only_b) == 1
    assert found.rejoined_at == 4
    ((in_a, in_b),) = found.moved
    assert (found.only_a, found.only_b) == ([in_a], [in_b])
    assert (found.because, found.reasons[0].kind) == ("steps 2 and 3 are swapped in B: think, ask", "swapped")
    other = comparison([A, C, B, D, E], [A, B, C, D, E])
    assert (other.moved, other.because) == (((in_b, in_a),), "steps 2 and 3 are swapped in B: ask, think")


def test_two_searches_that_changed_places_are_named_as_that_although_each_is_beside_the_other() -> None:
    found = comparison(
        [A, step("search", "x"), step("search", "y"), D], [A, step("search", "y"), step("search", "x"), D]
    )
    assert [row.kind for row in found.rows] == ["same", "different", "different", "same"]
    assert (found.moved, found.reasons[0].kind) == (((2, 3), (3, 2)), "swapped")


def test_a_step_that_was_taken_later_is_moved_and_not_swapped() -> None:
    found = comparison([A, X, B, C, D, E], [A, B, C, D, X, E])
    assert (found.only_a, found.only_b, found.moved) == ([2], [5], ((2, 5),))
    assert (found.because, found.reasons[0].kind) == ("something_else is step 2 in A, step 5 in B", "moved")


def test_the_same_tool_asked_with_other_arguments_is_a_pair_that_differs() -> None:
    found = comparison([A, step("search", "refund policy"), E, D], [A, step("search", "how long"), E, D])
    assert found.pairs[1] == (2, 2, False)
    assert (found.diverged_at, found.rejoined_at) == (2, 3)
    assert found.because == "search was asked with another query"
    (reason,) = found.reasons
    assert (reason.kind, reason.where, reason.old, reason.new) == ("call", "search.query", "refund policy", "how long")


def test_1_and_1_0_and_true_are_other_arguments() -> None:
    for one, other in ((1, 1.0), (1, True), (1.0, True), (0, False), (0, None)):
        found = comparison([Did("work", "set", {"n": one})], [Did("work", "set", {"n": other})])
        assert found.pairs == [(1, 1, False)]
        assert (found.reasons[0].old, found.reasons[0].new) == (one, other)
    nan: Wire = {"$type": "float", "$v": "nan"}
    assert comparison([Did("work", "set", {"n": nan})], [Did("work", "set", {"n": nan})]).diverged_at is None


def test_a_megabyte_of_changed_text_is_compared_with_little_work() -> None:
    words = [f"word{number}" for number in range(150_000)]
    one, other = (Did("work", "write", {"text": " ".join(text), "path": "a"}) for text in (words, ["new", *words]))
    with Effort() as effort:
        found = comparison([A, one, B], [A, other, B])
    assert effort.lines < 50_000
    assert (found.diverged_at, found.because) == (2, "write was asked with another text")


def test_another_result_of_the_same_question_is_where_runs_part() -> None:
    found = comparison([A, step("search", "q", "nothing"), E], [A, step("search", "q", "two docs"), E])
    assert (found.diverged_at, found.because) == (2, "search came back with another result")
    (reason,) = found.reasons
    assert (reason.kind, reason.a, reason.b, reason.where) == ("result", 2, 2, "search")
    assert (reason.old, reason.new) == ("nothing", "two docs")


def test_where_runs_part_the_two_different_moves_stand_side_by_side() -> None:
    found = comparison([A, B, B, B], [A, Did(name="answer", answer={"content": "I have no documents"})])
    assert found.pairs == [(1, 1, True), (2, 2, False)]
    assert found.only_a == [3, 4]
    assert found.diverged_at == 2


def test_a_run_that_stops_early_is_said_to_end() -> None:
    found = comparison([A, B, C], [A, B])
    assert (found.diverged_at, found.because, found.only_a) == (3, "B ends after step 2", [3])
    assert found.reasons[0].kind == "ending"
    again = comparison([A, A], [A, A, A, A])
    assert (again.diverged_at, again.because, again.only_b) == (3, "A ends after step 2", [3, 4])


def test_a_single_step_that_comes_up_again_on_another_way_is_no_rejoining() -> None:
    loop = [step("search", "q")] * 4
    found = comparison([A, *loop, D], [A, X, step("search", "q"), step("read"), B])
    assert found.diverged_at == 2
    assert found.rejoined_at is None


def test_models_asked_with_longer_conversations_still_make_the_same_move() -> None:
    def answered(content: str, asked: str, identity: str) -> Did:
        return Did("reply", answer={"id": identity, "content": content}, asked={"messages": [asked]})

    found = comparison([answered("hello", "a", "id-1")], [answered("hello", "b", "id-2")])
    assert found.pairs == [(1, 1, True)]
    found = comparison([answered("hello", "a", "id-1")], [answered("bye", "a", "id-1")])
    assert (found.pairs, found.because) == ([(1, 1, False)], "the model answered something else")


def test_steps_that_call_nothing_are_told_apart_by_what_they_wrote() -> None:
    def wrote(name: str, **state: object) -> Did:
        return Did(name, state=state)

    source = MemorySource()
    a = source.add("a", [wrote("plan", goal="a"), wrote("act", goal="a", done=1)], state={})
    b = source.add("b", [wrote("plan", goal="b"), wrote("act", goal="b", done=1)], state={})
    found = compare_runs(source, a, source, b)
    assert found.pairs == [(1, 1, False), (2, 2, True)]
    assert (found.diverged_at, found.because) == (1, "plan wrote something else to goal")
    (reason,) = found.reasons
    assert (reason.kind, reason.where, reason.old, reason.new) == ("state", "goal", "a", "b")


def test_a_step_that_appends_the_same_to_a_list_that_was_edited_did_the_same() -> None:
    def says(identity: str) -> list[object]:
        return [{"role": "ai", "id": identity, "content": "hello"}]

    source = MemorySource()
    parent = source.add("parent", [Did("ask", state={"log": [1]}), Did("reply", state={"log": [1, *says("x")]})])
    fork = source.add(
        "fork", [Did("ask", state={"log": [1, 2]}), Did("reply", state={"log": [1, 2, *says("y")]})], state={"log": [1]}
    )
    assert compare_runs(source, parent, source, fork).pairs == [(1, 1, False), (2, 2, True)]


def test_a_checkpoint_that_cannot_be_read_ends_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise Damaged("a blob is missing")

    monkeypatch.setattr(MemorySource, "changes", damaged)
    assert comparison([Did("plan")], [Did("plan")]).diverged_at is None


def test_a_fork_shares_its_prefix_with_its_parent_and_its_edits_are_named() -> None:
    source = MemorySource()
    parent = source.add("parent", [replace(A, state={"limit": 20, "notes": "a"}), B, B, E], status="failed")
    edits = (Edit("set", "limit", 3, 20),)
    fork = source.add("fork", [X, replace(E, state={"limit": 3})], parent="parent", fork_step=1, edits=edits)
    found = compare_runs(source, parent, source, fork)
    assert found.shared == 1
    assert found.pairs[0] == (1, 1, True)
    assert found.diverged_at == 2
    assert found.because.startswith("state edited at limit; ")
    edited = found.reasons[0]
    assert (edited.kind, edited.where, edited.old, edited.new) == ("edit", "limit", 20, 3)
    turned = compare_runs(source, fork, source, parent).reasons[0]
    assert (turned.kind, turned.old, turned.new) == ("edit", 3, 20)
    assert (found.outcome_a.status, found.outcome_b.status) == ("failed", "succeeded")
    assert [change.path for change in found.final_changes] == ["limit"]


def test_forks_of_one_parent_share_what_both_kept() -> None:
    source = MemorySource()
    source.add("parent", [A, B, C, D, E])
    one = source.add("one", [X], parent="parent", fork_step=3)
    other = source.add("other", [X], parent="parent", fork_step=2)
    assert compare_runs(source, one, source, other).shared == 2
    deeper = source.add("deeper", [X], parent="one", fork_step=1)
    assert compare_runs(source, deeper, source, other).shared == 1


def test_unrelated_runs_of_two_files_share_nothing_however_their_ids_are() -> None:
    one, other = MemorySource("one.db"), MemorySource("other.db")
    found = compare_runs(one, one.add("run", [A]), other, other.add("run", [A]))
    assert (found.shared, found.pairs) == (0, [(1, 1, True)])


def test_a_fork_that_behaves_as_its_parent_did_differs_in_its_state_only() -> None:
    source = MemorySource()
    parent = source.add("parent", [replace(A, state={"n": 1}), replace(B, state={"n": 1})])
    fork = source.add("fork", [replace(B, state={"n": 2})], parent="parent", fork_step=1)
    found = compare_runs(source, parent, source, fork)
    assert found.diverged_at is None
    assert found.differs


def test_what_a_run_that_goes_on_has_not_reached_yet_is_no_difference() -> None:
    found = comparison([A, B, C, D], [A, B], status="running")
    assert found.diverged_at is None
    assert [row.kind for row in found.rows] == ["same", "same", "pending", "pending"]
    found = comparison([A, B, C, D], [A, X, replace(C, status="running")], status="running")
    assert found.diverged_at == 2
    assert [row.kind for row in found.rows if row.a is None] == ["pending"]


def test_lanes_are_kept_apart_whatever_order_they_took_turns_in() -> None:
    web = [step("fetch", str(number), lane="main/web.0") for number in range(3)]
    papers = [step("read", str(number), lane="main/papers.0") for number in range(3)]
    taking_turns = [did for pair in zip(web, papers, strict=True) for did in pair]
    found = comparison(taking_turns, [*web, *papers])
    assert found.diverged_at is None
    assert len(found.pairs) == 6


def test_lanes_under_other_names_are_matched_by_how_they_begin() -> None:
    web = [step("fetch", str(number), lane="main/web.0") for number in range(3)]
    found = comparison([A, *web], [A, *(replace(did, lane="main/crawl.0") for did in web)])
    assert (found.diverged_at, len(found.pairs)) == (None, 4)


def test_outcomes_count_tools_writes_and_errors() -> None:
    failed = replace(A, status="error", error=ErrorInfo("builtins:TimeoutError", "too slow"))
    found = comparison([step("search"), step("search"), step("book_hotel")], [failed])
    assert found.outcome_a.tools == {"search": 2, "book_hotel": 1}
    assert found.outcome_a.writes == {"book_hotel": 1}
    assert found.outcome_a.duration_us == 5_000_000
    assert (found.difference.steps, found.difference.duration_us, found.difference.tokens) == (-2, 0, None)


def test_runs_that_began_with_other_inputs_say_so_first() -> None:
    source = MemorySource()
    a = source.add("a", [A, step("search", "oslo")], state={"city": "oslo", "days": 3})
    b = source.add("b", [A, step("search", "rome")], state={"city": "rome", "days": 3})
    found = compare_runs(source, a, source, b)
    assert found.because == "the input differs at city; search was asked with another query"
    other = source.add("c", [A, step("search", "rome")], state={"days": 3, "city": "oslo"})
    assert compare_runs(source, a, source, other).because == "search was asked with another query"
    assert [(reason.kind, reason.where, reason.old, reason.new) for reason in found.reasons] == [
        ("input", "city", "oslo", "rome"),
        ("call", "search.query", "oslo", "rome"),
    ]


def test_one_run_is_read_once_for_many_comparisons() -> None:
    source = MemorySource()
    run = source.add("a", [A, B, C])
    against = Against(source, run)
    for number, last in enumerate((C, D, E)):
        other = source.add(f"b{number}", [A, B, last])
        assert against.compare(source, other).diverged_at == (None if last is C else 3)
    assert source.calls_read <= 3 + 3 * 3 + 4, "and the calls of the two steps that part, twice"


def test_it_can_be_given_up() -> None:
    source = MemorySource()
    run = source.add("a", [A, B])
    with pytest.raises(Interrupted):
        compare_runs(source, run, source, run, cancelled=lambda: True)


def test_ten_thousand_steps_are_compared_with_bounded_work() -> None:
    long = [step("look", str(number % 40)) for number in range(10_000)]
    other = [*long[:3_000], X, *long[3_000:6_000], *long[6_100:]]
    with Effort() as effort:
        found = comparison(long, other)
    assert effort.lines < 30_000_000
    assert (found.diverged_at, found.only_b) == (3_001, [3_001])
    assert len(found.only_a) == 100


def _asked(system: str, *, temperature: float = 0, model: str = "m") -> list[Did]:
    question = {
        "model": model,
        "temperature": temperature,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "hello", "id": object_id()}],
    }
    return [Did("think", answer={"content": "yes"}, asked=question, state={"n": n}) for n in (1, 2)]


_ids = itertools.count()


def object_id() -> str:
    """What a message has that is another one each time."""
    return f"msg_{next(_ids)}"


@pytest.mark.parametrize(
    ("changed", "words", "where"),
    [
        ({"system": "Be rude."}, "another system prompt", "messages[0].content"),
        ({"temperature": 1}, "temperature 0 in A, 1 in B", "temperature"),
        ({"model": "n"}, 'model "m" in A, "n" in B', "model"),
    ],
)
def test_the_first_other_question_is_a_reason_although_the_deeds_agree(
    changed: dict[str, Any], words: str, where: str
) -> None:
    source = MemorySource()
    a = source.add("a", _asked("Be nice."))
    found = compare_runs(source, a, source, source.add("b", _asked(**{"system": "Be nice."} | changed)))
    assert (found.diverged_at, found.differs) == (None, True)
    (reason,) = found.reasons
    assert (reason.kind, reason.where, reason.a, reason.b) == ("question", where, 1, 1)
    assert words in found.because
    same = compare_runs(source, a, source, source.add("c", _asked("Be nice.")))
    assert (same.because, same.differs) == ("", False)
