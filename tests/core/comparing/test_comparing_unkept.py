"""What is said of runs whose last state was not kept: the state of an earlier step is not taken for it."""

from __future__ import annotations

from tests.core.memory_store import Did, MemorySource

from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.comparing.runs.table import TableReader
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.runs.run_table import parting

KEPT = Did("look", tool="look", result=1, state={"answer": "Oslo", "n": 1})
LOST = Did("book", tool="book", result=2, state={"answer": "Rome", "n": 2}, is_kept=False)
LAST = Did("book", tool="book", result=2, state={"answer": "Oslo", "n": 1})


def test_final_states_are_not_said_to_be_equal_where_one_was_not_kept() -> None:
    source = MemorySource()
    a, b = source.add("a", [KEPT, LAST]), source.add("b", [KEPT, LOST])
    found = compare_runs(source, a, source, b)
    assert (found.final_equal, found.final_changes, found.differs) == (None, (), False)
    assert found.unread == found.unkept == ("the state after step 2 of B",)
    assert (found.outcome_a.answer, found.outcome_b.answer) == ("Oslo", None)
    assert [lane.final_changes for lane in found.lanes] == [None]


def test_final_states_are_not_said_to_differ_where_one_was_not_kept() -> None:
    source = MemorySource()
    a, b = source.add("a", [KEPT, Did("book", tool="book", result=2, state={"n": 7})]), source.add("b", [KEPT, LOST])
    found = compare_runs(source, a, source, b)
    assert (found.final_equal, found.differs, found.lanes[0].final_changes) == (None, False, None)


def test_answers_that_nobody_knows_share_no_letter_with_those_that_are_known() -> None:
    source = MemorySource()
    base = source.add("base", [KEPT, LAST])
    others = [source.add(name, [KEPT, last]) for name, last in (("b", LOST), ("c", LOST), ("d", Did("book")))]
    reader = TableReader(source, base, others)
    assert [row.differs for row in reader.read()] == [None, None, True]
    table = reader.table()
    assert table.letters == {"base": "a", "b": "?", "c": "?", "d": "b"}
    assert [(each.letter, each.count) for each in table.answers] == [("a", 1), ("b", 1), ("?", 2)]
    assert (table.different, table.succeeded) == (2, 2)
    assert [each.text for each in table.answers][1:] == [
        "no answer",
        "not known, as the state after the last step is not",
    ]


def test_a_step_whose_state_was_not_kept_is_not_said_to_have_written_something_else() -> None:
    source = MemorySource()
    steps = [Did(name, state={"n": number}) for number, name in enumerate("abc")]
    a, b = source.add("a", steps), source.add("b", [steps[0], Did("b", is_kept=False), steps[2]])
    found = compare_runs(source, a, source, b)
    assert (found.diverged_at, found.because, found.differs) == (None, "", False)
    other = compare_runs(source, a, source, source.add("c", [steps[0], Did("x", is_kept=False), steps[2]]))
    assert (other.diverged_at, other.because) == (2, "it went to b in A, to x in B")


def test_a_run_that_goes_on_has_no_last_state_and_no_end_to_differ_in() -> None:
    source = MemorySource()
    base = source.add("base", [KEPT, LAST])
    live = source.add("live", [KEPT], status="running")
    found = compare_runs(source, base, source, live)
    assert (found.is_over, found.final_equal, found.differs) == (False, None, False)
    reader = TableReader(source, base, [live])
    (row,) = reader.read()
    assert (row.differs, row.is_over, parting(row, UNICODE)) == (None, False, "")
    ended = compare_runs(source, base, source, source.add("live", [KEPT, LAST], status="failed"))
    assert (ended.is_over, ended.final_equal, ended.differs) == (True, True, True)
