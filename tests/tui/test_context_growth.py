"""The chart of the context's growth, which stands where a short timeline leaves rows on a wide screen."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled

from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.viewmodel.debugger.context_growth import growth_rows

SAMPLES = Path(__file__).parents[2] / "sample_runs" / "runs.db"
TITLE = "CONTEXT OVER THE RUN"


@pytest.fixture
def samples():
    with closing(open_source(SAMPLES)) as source:
        yield source


def drawn(sent, at, columns=40, rows=9, glyphs=UNICODE):
    return ["".join(text for text, _ in row) for row in growth_rows(sent, at, columns, rows, glyphs)]


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_bars_are_as_high_as_what_was_sent_and_stand_above_the_number_of_their_step(glyphs):
    sent = [(1, 100), (3, 50), (4, 800), (9, 400)]
    rows = drawn(sent, 4, rows=9, glyphs=glyphs)
    assert len(rows) == 9
    heights = {}
    for step, _ in sent:
        column = rows[-1].index(str(step), 9)
        heights[step] = sum(row[column : column + 1] not in ("", " ") for row in rows[:-1])
    assert heights == {1: 1, 3: 1, 4: 8, 9: 4}
    assert rows[0].split()[0] == "800"
    assert rows[4].split()[0] == "400"


def test_the_bar_of_the_step_that_is_shown_stands_out_though_it_shares_its_column_with_others():
    sent = [(number, number) for number in range(1, 301)]
    rows = growth_rows(sent, 151, 60, 9, UNICODE)
    said = [text for text, role in rows[-1] if role == "key"]
    assert said == ["151"]
    assert any(role == "key" for row in rows[:-1] for _, role in row)
    assert all(sum(len(text) for text, _ in row) <= 60 for row in rows)


def test_without_room_or_anything_sent_there_is_nothing():
    assert drawn([], 1) == []
    assert drawn([(1, 5)], 1, columns=9) == []
    assert drawn([(1, 5)], 1, rows=1) == []


@pytest.mark.parametrize(("size", "is_there"), [((200, 50), True), ((200, 25), False), ((120, 50), False)])
async def test_it_fills_what_a_short_run_leaves_of_a_wide_screen_and_follows_the_step(samples, size, is_there):
    run = samples.run("flaky-checkout")
    app = AgentTT(lambda: DebuggerScreen(samples, run, 3), look=Look())
    async with app.run_test(size=size) as pilot:
        screen = await settled(pilot)
        assert any(TITLE in row for row in screen_text(app)) == is_there
        if not is_there:
            return
        chart = screen.panes.growth.chart
        assert [step for step, _ in chart.sent] == [*range(1, 11)]
        assert chart.number == 3
        await pilot.press("right")
        await settled(pilot)
        assert chart.number == 4
        top = screen.panes.timeline.region
        assert top.height >= screen.panes.timeline.line_count
        await pilot.resize_terminal(120, 50)
        await settled(pilot)
        assert not any(TITLE in row for row in screen_text(app))
        await pilot.resize_terminal(200, 50)
        await settled(pilot)
        assert any(TITLE in row for row in screen_text(app))
