"""The state tree gives its rows to what one looks at: values are read where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.fake_source import FakeSource, step

from agent_tt.comparing.values.states import compare_states
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.tall_rows import TallRows
from agent_tt_tui.viewmodel.values.arrival import unfold_changes, unfold_rest
from agent_tt_tui.viewmodel.values.tree import Changes, Folds, Tree
from agent_tt_tui.viewmodel.values.values import value_rows

NOTE = "The customer wants the machine replaced, not repaired, and has sent two photographs of the broken handle."


@given(st.dictionaries(st.integers(0, 30), st.integers(1, 9)), st.integers(31, 40))
def test_each_line_belongs_to_the_row_that_a_naive_list_has_there(heights: dict[int, int], rows: int) -> None:
    tall = TallRows({row: height for row, height in heights.items() if height > 1})
    lines = [(row, line) for row in range(rows) for line in range(heights.get(row, 1))]
    assert [tall.row_of(line) for line in range(len(lines))] == lines
    assert [tall.line_of(row) for row in range(rows)] == [lines.index((row, 0)) for row in range(rows)]
    assert [tall.height(row) for row in range(rows)] == [heights.get(row, 1) for row in range(rows)]
    assert rows + tall.more == len(lines)


def arranged(old: object, new: object, rows: int, folds: Folds | None = None) -> tuple[list[str], Folds]:
    folds, changes = folds or Folds(), Changes(compare_states(old, new))  # type: ignore[arg-type]  # JSON
    unfold_changes(new, changes, folds, rows)  # type: ignore[arg-type]
    unfold_rest(new, changes, folds, rows)  # type: ignore[arg-type]
    tree = Tree(new, changes, folds, fold_from=rows)  # type: ignore[arg-type]
    return [str(tree.row(index).key) for index in range(len(tree))], folds


def test_what_a_step_changed_is_unfolded_then_what_is_new_then_the_smallest_of_the_rest() -> None:
    old = {"plan": {"a": 1, "b": 2}, "big": dict.fromkeys("mnopqrst", 0), "small": {"x": 0}}
    new = {**old, "plan": {"a": 1, "b": 3}, "found": {"id": 7}}
    assert arranged(old, new, 6)[0] == ["plan", "a", "b", "big", "small", "found"]
    assert arranged(old, new, 7)[0] == ["plan", "a", "b", "big", "small", "found", "id"]
    assert arranged(old, new, 8)[0] == ["plan", "a", "b", "big", "small", "x", "found", "id"]
    assert "m" in arranged(old, new, 40)[0]
    assert arranged(old, new, 4)[0] == ["plan", "big", "small", "found"]


def test_what_a_person_folded_stays_folded_and_what_was_unfolded_unfolded() -> None:
    old = {"plan": {"a": 1}, "order": {"id": 1}}
    new = {"plan": {"a": 2}, "order": {"id": 1}}
    _, folds = arranged(old, new, 40)
    folds.fold(("plan",))
    tree = Tree(new, Changes(compare_states(old, new)), folds)
    assert [tree.row(index).key for index in range(len(tree))] == ["plan", "order", "id"]
    folds.unfold(("plan",))
    assert ("plan",) in folds.shown


@pytest.mark.parametrize("columns", [20, 33, 60])
@pytest.mark.parametrize("text", [NOTE, "one\n\ttwo three\nfour", "x" * 300, NOTE * 40])
def test_a_text_in_place_is_all_of_it_or_says_how_much_is_left(text: str, columns: int) -> None:
    tree = Tree({"note": text}, Changes(), Folds())
    whole = value_rows(tree.row(0), columns, UNICODE, most=2_000, key="f9")
    most = 5
    rows = value_rows(tree.row(0), columns, UNICODE, most=most, key="f9")
    if len(whole) <= most:
        assert rows == whole
    else:
        assert rows[:-1] == whole[: most - 1]
        assert rows[-1][0][0] == f"┊ {len(whole) - most + 1} more lines: f9"


async def test_the_selected_value_unfolds_in_place_and_folds_again_when_it_is_left() -> None:
    states = [{"note": "", "order": 1, **{f"k{n}": "word " * 12 for n in range(12)}}]
    states.append({**states[0], "note": NOTE})
    async with debugger(FakeSource(states, [step(1, "read")])).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        tree = screen.panes.inspector.state_tree
        shown = "\n".join(screen_text(pilot.app))
        assert "broken" in shown  # the step changed it
        tree.focus()
        await pilot.press("j", "j")
        assert tree.row is not None
        assert tree.row.key == "k0"
        assert "".join(screen_text(pilot.app)).count("word word") > 12
        await pilot.press("k", "k")
        assert tree.row.key == "note"


async def test_enter_reads_a_long_value_to_its_end() -> None:
    text = "\n".join(f"line {number}" for number in range(200))
    async with debugger(FakeSource([{"log": "", "n": 0}, {"log": text, "n": 1}])).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        tree = screen.panes.inspector.state_tree
        tree.focus()
        assert any("more lines: enter" in row for row in screen_text(pilot.app))
        assert tree.line_count < 30
        await pilot.press("enter")
        assert tree.line_count >= 200
        await pilot.press("G")
        assert tree.row is not None
        assert tree.row.key == "n"
        await pilot.press("k")
        assert tree.line_count < 30  # left, it is folded again


async def test_a_short_run_shows_its_call_below_the_steps_and_never_twice() -> None:
    async with debugger(FakeSource([{}, {"a": 1}])).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        assert screen.panes.call_pane.display
        assert screen.panes.call_pane.region.y > screen.panes.timeline.region.y
        await pilot.press("2")
        await pilot.pause()
        assert not screen.panes.call_pane.display
        await pilot.press("1")
        await pilot.pause()
        assert screen.panes.call_pane.display


async def test_the_diff_is_as_tall_as_its_changes() -> None:
    states = [{str(n): 0 for n in range(30)}]
    states += [states[0], {**states[0], "3": 1}, {str(n): 2 for n in range(30)}]
    async with debugger(FakeSource(states)).run_test(size=(120, 40)) as pilot:
        heights = []
        for number in (1, 2, 3):
            screen = await settled(pilot)
            screen.time.go(number)
            screen = await settled(pilot)
            heights.append(screen.panes.diff.size.height)
        assert heights == [2, 2, 17]
