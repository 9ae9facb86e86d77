"""The mouse: keys and tabs that are clicked, the strip that is dragged, edges of panes, and the wheel."""

from __future__ import annotations

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.fake_source import refund_loop
from textual import events

from agent_tt_tui.screens.debugger.screen import DebuggerScreen


async def click(pilot, words, *, row=None, at=0):
    """Click on words that stand on the screen once, or once in a row of it."""
    text = screen_text(pilot.app)
    rows = [index for index, line in enumerate(text) if words in line and row in (None, index, index - len(text))]
    assert len(rows) == 1, "\n".join(text)
    await pilot.click(offset=(text[rows[0]].index(words) + at, rows[0]))
    await settled(pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_key_in_the_footer_is_pressed_by_a_click_on_it_or_on_its_word(size):
    async with debugger(refund_loop(), step=3).run_test(size=size) as pilot:
        screen = await settled(pilot)
        await click(pilot, "←→ step", row=-1)
        assert screen.time.number == 2
        await click(pilot, "←→ step", row=-1, at=1)
        await click(pilot, "←→ step", row=-1, at=4)
        assert screen.time.number == 4
        await click(pilot, "tab pane", row=-1)
        assert screen.focused is screen.panes.inspector.state_tree
        text = screen_text(pilot.app)
        await pilot.click(offset=(text[-1].index("? help"), len(text) - 1))
        await pilot.pause()
        assert not isinstance(pilot.app.screen, DebuggerScreen)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_tab_is_shown_by_a_click_on_it(size):
    async with debugger(refund_loop(), step=3).run_test(size=size) as pilot:
        screen = await settled(pilot)
        for name in ("Raw", "Call", "Messages", "State"):
            await click(pilot, name, row=1)
            assert screen.panes.inspector.tab == name


async def drag(pilot, *way):
    """Press the button at the first of these places, move along the others, and let go at the last."""
    app = pilot.app

    def event(kind, x, y):
        return kind(None, x, y, 0, 0, 1, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y)

    for kind, (x, y) in [
        (events.MouseDown, way[0]),
        *((events.MouseMove, place) for place in way),
        (events.MouseUp, way[-1]),
    ]:
        app.screen._forward_event(event(kind, x, y))
        await settled(pilot)


async def test_the_strip_is_dragged_and_the_state_follows():
    async with debugger(refund_loop(), step=3).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        strip = screen.panes.scrubber
        seen = []
        screen.time.on_leaving.append(lambda: seen.append(screen.time.number))
        y = strip.region.y + 1
        await drag(pilot, (40, y), (60, y), (90, y), (60, 5))  # off the strip it still follows
        assert len(set(seen)) >= 3
        assert screen.time.number == strip._layout(strip.size.width).step_at(60 - strip._layout(strip.size.width).start)
        assert f"after {screen.time.number}" in "\n".join(screen_text(pilot.app))
        number = screen.time.number
        await pilot.hover(offset=(90, y))
        assert screen.time.number == number


async def test_the_edge_between_panes_is_dragged_and_stays_there_from_step_to_step():
    async with debugger(refund_loop(), step=3).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        timeline, diff = screen.panes.timeline_pane, screen.panes.diff
        was = timeline.region.width
        await drag(pilot, (was, 10), (was + 4, 10), (was + 9, 10))
        assert timeline.region.width == was + 9
        high = diff.region.height
        await drag(pilot, (diff.region.x + 20, diff.region.y), (diff.region.x + 20, diff.region.y - 3))
        assert diff.region.height == high + 3
        await pilot.press("right")
        await settled(pilot)
        assert timeline.region.width == was + 9
        timeline.query_one("Timeline").focus()
        await pilot.press("plus")  # the same as with the keys
        await settled(pilot)
        assert timeline.region.width > was + 9


async def test_the_wheel_scrolls_the_pane_under_the_mouse_and_steps_over_the_strip():
    async with debugger(refund_loop(), step=3).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        before = screen.time.number
        tree = screen.panes.inspector.state_tree
        for pane in (screen.panes.timeline, tree):
            at = pane.scroll_offset.y
            await pilot._post_mouse_events([events.MouseScrollDown], pane, offset=(3, 3))
            await settled(pilot)
            assert pane.scroll_offset.y > at or pane.max_scroll_y == 0
        assert screen.time.number == before
        await pilot._post_mouse_events([events.MouseScrollDown], screen.panes.scrubber, offset=(3, 0))
        await settled(pilot)
        assert screen.time.number == before + 1


async def test_what_is_copied_reaches_the_terminal_as_osc_52(monkeypatch):
    async with debugger(refund_loop(), step=3).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        written = []
        monkeypatch.setattr(pilot.app._driver, "write", written.append)
        pilot.app.copy_to_clipboard("notes")
        assert written == ["\x1b]52;c;bm90ZXM=\a"]  # which a terminal takes over SSH as well
