"""How the debugger shares the screen between its panes, and what it draws in the timeline for lanes."""

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled
from fake_source import FakeSource, refund_loop, step
from tests.tui.waiting import workers_ended

from agent_tt.model import Call
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.look import Look
from agent_tt_tui.viewmodel.debugger.debugger_layout import DebuggerLayout


async def test_the_cursor_stays_on_its_step_whatever_folds_when_the_terminal_is_resized():
    async with debugger(refund_loop()).run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        for size in ((80, 12), (80, 24), (140, 40)):
            await pilot.resize_terminal(*size)
            screen = await settled(pilot)
            assert screen.time.number == 21
            assert any(row.startswith("▌  21 ● search_docs") for row in screen_text(pilot.app))


async def test_lanes_are_named_in_the_title_or_else_the_one_of_the_step_is():
    lanes = ("orchestrator", "searching the web", "searching papers")
    steps = [step(n, lane=lanes[n % 3], agent=lanes[n % 3]) for n in range(1, 8)]
    async with debugger(FakeSource([{}] * 8, steps)).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        for number in (2, 3, 4):
            screen.time.go(number)
            await settled(pilot)
            shown = screen_text(pilot.app)[1][: screen.panes.timeline_pane.region.right]
            assert shown.rstrip().endswith(f"lane {lanes[number % 3]}")
        assert "< > lane" in screen_text(pilot.app)[-1]


async def test_the_title_says_more_as_soon_as_there_is_room_for_it():
    lanes = ("alpha", "beta", "gamma")
    steps = [step(n, lane=lanes[n % 3], agent=lanes[n % 3]) for n in range(1, 8)]
    app = debugger(FakeSource([{}] * 8, steps))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "beta · gamma" not in screen_text(app)[1]
        await pilot.resize_terminal(120, 24)
        await settled(pilot)
        assert "beta · gamma · alpha" in screen_text(app)[1]


async def test_a_terminal_that_draws_only_ascii_is_given_only_ascii():
    calls = [{"function": {"name": "search_docs", "arguments": "{}"}}]
    states = [{"messages": [], "notes": ""}]
    for number in range(1, 4):
        message = {"role": "assistant", "content": "", "tool_calls": calls * 9 * number}
        states.append({"messages": [*states[-1]["messages"], message], "notes": "words " * 90 * number})
    source = FakeSource(states, [step(1), step(2, status="error"), step(3)], status="failed")
    async with debugger(source, look=Look(glyphs=ASCII)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for key in ("left", "1", "tab", "2", "3", "4", "1", "j", "e", "escape", "question_mark", "escape", "slash"):
            await pilot.press(key)
            await workers_ended(pilot.app)
            await pilot.pause()
            rows = screen_text(pilot.app)
            assert [row for row in rows if not row.isascii()] == []
        await pilot.press("escape")
        await settled(pilot)


async def test_a_wide_screen_shows_the_calls_beside_the_state():
    searched = Call(2, 2, "tool", "search_docs", "ok", args={"query": "refund"})
    asked = [Call(2, 1, "llm", "small-model", "ok"), searched]
    source = FakeSource([{"n": 0}, {"n": 1}, {"n": 2}], calls={1: [searched], 2: asked})
    async with debugger(source).run_test(size=(200, 40)) as pilot:
        screen = await settled(pilot)
        rows = screen_text(pilot.app)
        assert "CALL  2 search_docs" in rows[1]
        assert rows[1].rstrip().endswith(", . call 2 of 2")
        assert any("query" in row and "refund" in row for row in rows)
        await pilot.press("comma")
        await settled(pilot)
        assert screen_text(pilot.app)[1].rstrip().endswith("call 1 of 2")
        assert any("small-model" in row for row in screen_text(pilot.app))
        assert screen.panes.inspector.state_tree.display
        await pilot.press("comma")
        assert screen_text(pilot.app)[-1] == " this is the first call of this step"
        await pilot.press("left")
        await settled(pilot)
        assert screen_text(pilot.app)[1].rstrip().endswith("call 1 of 1")


async def test_where_one_pane_has_the_screen_a_tabs_key_goes_to_it():
    searched = Call(1, 1, "tool", "search_docs", "ok", args={"query": "refund"})
    asked = Call(1, 2, "llm", "small-model", "ok")
    source = FakeSource([{"n": 0}, {"n": 1}], calls={1: [searched, asked]})
    async with debugger(source).run_test(size=(60, 20)) as pilot:
        screen = await settled(pilot)
        assert "TIMELINE" in screen_text(pilot.app)[1]
        await pilot.press("2", "comma")
        await settled(pilot)
        assert any("query" in row and "refund" in row for row in screen_text(pilot.app))
        assert screen.focused is screen.panes.inspector.call_view
        await pilot.press("shift+tab", "z", "1")
        await settled(pilot)
        assert any("n" in row and "0 → 1" in row for row in screen_text(pilot.app))
        await pilot.resize_terminal(80, 24)
        await pilot.press("z", "2")
        await settled(pilot)
        assert screen_text(pilot.app)[1].rstrip().endswith("call 2/2"), "there is no room for its keys"


async def test_the_column_of_calls_goes_with_its_focus_when_the_screen_gets_narrow():
    async with debugger(refund_loop()).run_test(size=(200, 40)) as pilot:
        screen = await settled(pilot)
        screen.panes.call_pane.call_view.focus()
        await pilot.resize_terminal(120, 24)
        await settled(pilot)
        assert screen.focused is screen.panes.timeline
        await pilot.press("left")
        await settled(pilot)
        await pilot.resize_terminal(200, 40)
        await settled(pilot)
        assert "CALL  20 search_docs" in screen_text(pilot.app)[1]


@pytest.mark.parametrize(
    ("size", "drawn"), [((80, 24), ("◇┬╮", "│●│", "││◆", "◇┴╯")), ((140, 40), ("◇─┬─╮", "│ ● │", "│ │ ◆", "◇─┴─╯"))]
)
async def test_lanes_branch_off_the_step_they_began_in_and_are_gathered_by_the_next(size, drawn):
    steps = [
        step(1, "ask both", kind="code", agent="lead"),
        step(2, "search", parent=1, lane="a", agent="web"),
        step(3, "doubt", kind="llm", parent=1, lane="b", agent="critic"),
        step(4, "weigh", kind="code", agent="lead"),
    ]
    async with debugger(FakeSource([{}] * 5, steps)).run_test(size=size) as pilot:
        await settled(pilot)
        rows = screen_text(pilot.app)[3:7]
        for row, tracks in zip(rows, drawn, strict=True):
            assert row[6:].startswith(f"{tracks} ")


def test_the_panes_share_the_screen_as_drawn():
    assert DebuggerLayout.plan(80, 24) == DebuggerLayout(one_pane=False, timeline=32, diff=1, scrubber=1)
    assert DebuggerLayout.plan(120, 40) == DebuggerLayout(one_pane=False, timeline=46, diff=1, scrubber=3)
    assert DebuggerLayout.plan(200, 50) == DebuggerLayout(one_pane=False, timeline=52, diff=1, scrubber=3, call=72)
    assert [DebuggerLayout.plan(120, 40, diff_needs=rows).diff for rows in (1, 6, 17, 18, 90)] == [1, 6, 17, 17, 17]
    assert DebuggerLayout.plan(159, 50).call == 0
    assert DebuggerLayout.plan(160, 50).call == 48
    assert DebuggerLayout.plan(160, 50, grown=(1, 0)).call == 0
    assert DebuggerLayout.plan(80, 24, lanes=4).timeline == 33
    assert DebuggerLayout.plan(80, 20).diff == 1
    assert DebuggerLayout.plan(71, 24).one_pane
    # Rows that the steps leave are the calls', unless these have a column.
    assert DebuggerLayout.plan(120, 40, timeline_needs=23).card == 12
    assert DebuggerLayout.plan(120, 40, timeline_needs=27).card == 0
    assert DebuggerLayout.plan(99, 40, timeline_needs=5).card == 0
    assert DebuggerLayout.plan(200, 50, timeline_needs=5).card == 0
