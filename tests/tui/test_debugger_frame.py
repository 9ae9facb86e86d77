"""How the debugger shares the screen between its panes, and what it draws in the timeline for lanes."""

from dataclasses import replace

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


@pytest.mark.parametrize("columns", range(72, 320, 19))
@pytest.mark.parametrize("rows", [12, 24, 40, 60])
@pytest.mark.parametrize("needs", [3, 20, None])
@pytest.mark.parametrize("lower", [1, 9, 30])
def test_panes_lie_side_by_side_and_leave_nothing_free(columns, rows, needs, lower):
    plan = DebuggerLayout.plan(columns, rows, diff_needs=lower, timeline_needs=needs, has_chart=True)
    body = rows - 2 - plan.scrubber
    found = [place for place in plan.places(columns, body, min(plan.diff, body)) if place is not None]
    assert len(found) == 3 + bool(plan.call or plan.card) + bool(plan.chart)
    taken = {}
    for place in found:
        for y in range(place.y, place.y + place.height):
            for x in range(place.x, place.x + place.width):
                assert taken.setdefault((x, y), place) is place
    assert len(taken) == columns * body


async def test_with_a_column_of_its_own_the_call_is_in_no_tab_and_its_key_goes_there():
    async with debugger(refund_loop(), step=3).run_test(size=(200, 50)) as pilot:
        screen = await settled(pilot)
        title = screen_text(pilot.app)[1]
        assert "1 State  3 Context" in title
        assert "CALL  3 search_docs" in title
        await pilot.press("2")
        await settled(pilot)
        assert screen.focused is screen.panes.call_pane.call_view
        assert screen.panes.inspector.tab == "State"
        panes = screen.panes
        below = (panes.inspector.region.width + panes.call_pane.region.width, panes.call_pane.region.bottom)
        assert (panes.diff.region.width, panes.diff.region.y) == below
        await pilot.press("shift+tab", "3")
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        assert screen.focused is screen.panes.call_pane.call_view
        await pilot.resize_terminal(120, 24)
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        assert screen.panes.inspector.tab == "Call"
        await pilot.resize_terminal(200, 50)
        await settled(pilot)
        assert screen.panes.inspector.tab == "State"


@pytest.mark.parametrize("size", [(120, 40), (200, 50)])
async def test_tab_goes_from_the_state_to_what_changed_in_it_and_then_to_the_calls(size):
    async with debugger(refund_loop(), step=3).run_test(size=size) as pilot:
        screen = await settled(pilot)
        panes, found = screen.panes, []
        for _ in range(4):
            await pilot.press("tab")
            await settled(pilot)
            found.append(screen.focused)
        assert found == [panes.inspector.state_tree, panes.diff.lines, panes.call_pane.call_view, panes.timeline]


async def test_a_wide_timeline_has_the_runs_clock_above_its_bars_and_a_narrow_one_no_head():
    seconds = 1_000_000
    steps = [
        step(n, started_us=seconds * (1 + 4 * n), ended_us=seconds * (4 + 4 * n), kind="llm", tokens_in=100 * n)
        for n in range(1, 6)
    ]
    source = FakeSource([{}] * 6, steps)
    async with debugger(source, step=2).run_test(size=(200, 50)) as pilot:
        screen = await settled(pilot)
        rows = [row[:82] for row in screen_text(pilot.app)]
        assert "step" in rows[2]
        assert "0s" in rows[2]
        assert "took" in rows[2]
        assert "context" in rows[2]
        begins = [rows[number].index("━") for number in range(4, 9)]
        assert begins == sorted(begins)
        assert len(set(begins)) == 5
        tick = rows[2].index("╎")
        assert {row[tick] for row in rows[4:9]} <= {"╎", "━"}
        await pilot.resize_terminal(120, 40)
        await settled(pilot)
        assert not screen.panes.timeline.head.display


@pytest.mark.parametrize(("rows", "card"), [(33, 27), (20, 14), (15, 9), (14, 0), (4, 0)])
def test_the_timeline_keeps_its_rows_where_something_below_takes_some_and_the_calls_go(rows, card):
    places = DebuggerLayout.plan(120, 40, timeline_needs=6).places(120, rows, 5)
    assert places.timeline == (0, 0, 46, rows - card)
    assert places.call == ((0, rows - card, 46, card) if card else None)


def test_the_panes_share_the_screen_as_drawn():
    assert DebuggerLayout.plan(80, 24) == DebuggerLayout(one_pane=False, timeline=32, diff=1, scrubber=1)
    assert DebuggerLayout.plan(120, 40) == DebuggerLayout(one_pane=False, timeline=46, diff=1, scrubber=3)
    assert DebuggerLayout.plan(200, 50) == DebuggerLayout(one_pane=False, timeline=82, diff=1, scrubber=3, call=56)
    assert [DebuggerLayout.plan(120, 40, diff_needs=rows).diff for rows in (1, 6, 17, 18, 90)] == [1, 6, 17, 17, 17]
    assert DebuggerLayout.plan(159, 50).call == 0
    assert [DebuggerLayout.plan(columns, 50).timeline for columns in (159, 160, 180, 200, 240)] == [46, 66, 74, 82, 82]
    assert [DebuggerLayout.plan(columns, 50).call for columns in (160, 190, 191, 240, 300)] == [0, 0, 53, 72, 72]
    assert DebuggerLayout.plan(192, 50, grown=(4, 0)).call == 0
    assert DebuggerLayout.plan(80, 24, lanes=4).timeline == 33
    assert DebuggerLayout.plan(80, 20).diff == 1
    assert DebuggerLayout.plan(71, 24).one_pane
    # Names that are cut get columns, up to half of the screen; where that is not enough, all stays as it is.
    needs = [32, 33, 40, 41, 51, 60, 61]
    assert [DebuggerLayout.plan(80, 24, holds_names=most.__le__).timeline for most in needs] == [32, 33, 40, *[32] * 4]
    assert [DebuggerLayout.plan(120, 40, holds_names=most.__le__).timeline for most in needs] == [*[46] * 4, 51, 60, 46]
    # Rows that the steps leave are the calls', unless these have a column.
    assert DebuggerLayout.plan(120, 40, timeline_needs=23).card == 12
    assert DebuggerLayout.plan(120, 40, timeline_needs=27).card == 0
    assert DebuggerLayout.plan(99, 40, timeline_needs=5).card == 0
    assert DebuggerLayout.plan(200, 50, timeline_needs=5).card == 0
    assert DebuggerLayout.plan(200, 50, timeline_needs=5).chart == 0
    assert DebuggerLayout.plan(200, 50, timeline_needs=5, has_chart=True).chart == 20
    assert DebuggerLayout.plan(200, 50, timeline_needs=35, has_chart=True).chart == 10
    assert DebuggerLayout.plan(200, 50, timeline_needs=36, has_chart=True).chart == 0
    assert DebuggerLayout.plan(160, 50, timeline_needs=5, has_chart=True).chart == 0


async def test_a_step_whose_time_is_not_known_is_not_given_that_of_the_one_before():
    steps = [step(1), step(2, started_us=None, ended_us=None)]
    source = FakeSource([{}] * 3, steps)
    source.set_run(replace(source.the_run, started_us=1))
    async with debugger(source, 1).run_test(size=(80, 24)) as pilot:
        for key, told in (("left", "0 ms"), ("right", "200 ms"), ("right", "–")):
            await pilot.press(key)
            screen = await settled(pilot)
            scrubber = next(row for row in screen_text(pilot.app) if f" {screen.time.number}/2 " in row)
            assert scrubber.rstrip().endswith(f" {told}")
