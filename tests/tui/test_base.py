"""What every screen shows and does, seen through a running app."""

import logging

import pytest
from base_screens import Numbers, screen_text, two_panes
from snapshot import save_svg
from tests.tui.waiting import workers_ended

from agent_tt_tui.chrome import Fact, HeaderRow, facts_that_fit
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.help import HelpLines
from agent_tt_tui.keymaps import DEBUGGER


async def test_only_the_focused_pane_is_marked_and_each_list_has_its_cursor():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j", "j", "tab", "j")
        rows = screen_text(app)
        assert rows[1].startswith(" TIMELINE")
        assert rows[1][40:] == "▌STATE"
        assert rows[4].startswith("▌   2 ● line 2")
        assert rows[3][40:].startswith("▌   1 ● line 1")
        assert sum("▌" in row for row in rows) == 3


async def test_the_header_drops_facts_and_keeps_status_and_cause():
    app = two_panes()
    async with app.run_test(size=(80, 24)):
        assert screen_text(app)[0] == " refund-loop  ✗ failed  search_docs timed out at 21          20.1 s · 4,210 tok"


def test_facts_are_dropped_in_their_order_whatever_their_place():
    facts = (Fact("20.1 s"), Fact("4,210 tok", 4), Fact("$0.002", 3), Fact("entry", 2), Fact("21 steps", 1))
    assert facts_that_fit(facts, 35) == ["20.1 s", "4,210 tok", "$0.002", "entry"]
    assert facts_that_fit(facts, 20) == ["20.1 s", "4,210 tok"]
    assert facts_that_fit(facts, 3) == []


async def test_the_ascii_set_leaves_nothing_else_on_the_screen():
    app = two_panes(ASCII)
    async with app.run_test(size=(80, 24)):
        # The header's status glyph is data of the test screen.
        assert all(row.isascii() for row in screen_text(app)[1:])


@pytest.mark.parametrize("theme", ["tt-dark", "tt-light", "ansi-dark", "ansi-light", "nord"])
async def test_every_theme_draws_and_the_cursor_row_stands_out(theme):
    app = two_panes(theme=theme)
    async with app.run_test(size=(80, 24)):
        view = app.screen.query_one("#left", Numbers)
        grounds = [{segment.style and segment.style.bgcolor for segment in view.render_line(y)} for y in (0, 1)]
        assert grounds[0] != grounds[1]


async def test_a_long_list_draws_only_what_is_visible_and_scrolls_at_once():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.screen.query_one("#left", Numbers)
        await pilot.press("G")
        assert "line 999" in screen_text(app)[-2]
        assert len(set(view.drawn)) < 60
        view.drawn.clear()
        await pilot.press("k")
        assert set(view.drawn) <= {998, 999}


async def test_a_shrinking_list_keeps_its_cursor_on_a_line():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.screen.query_one("#left", Numbers)
        await pilot.press("G")
        view.count = 3
        view.refresh_lines_data()
        assert view.cursor == 2
        view.count = 0
        view.refresh_lines_data()
        assert view.cursor == -1
        await pilot.press("j", "enter", "G")
        view.count = 2
        view.refresh_lines_data()
        assert view.cursor == 0


async def test_a_click_selects_the_row_under_the_mouse():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#left", offset=(5, 7))
        assert app.screen.query_one("#left", Numbers).cursor == 7


async def test_time_keys_reach_the_screen_from_any_pane():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("right", "tab", "right", "L", "left")
        assert app.screen.steps == 11


async def test_a_key_that_cannot_act_says_why_in_the_footer():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("c")
        assert screen_text(app)[-1] == " this run has nothing to compare with"
        app.screen.query_one(FooterRow).say("")
        await pilot.pause()
        assert screen_text(app)[-1].endswith("? help")


async def test_a_key_of_the_users_choice_acts_instead():
    app = two_panes(keymap={"time.next": "t"})
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("t", "right")
        assert app.screen.steps == 1


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False), ("escape", False)])
async def test_a_question_is_answered_by_one_key_shown_in_the_footer(key, answer):
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e")
        assert screen_text(app)[-1] == " y yes  n no"
        assert any("Two edits are pending. Drop them?" in row for row in screen_text(app))
        await pilot.press(key)
        assert app.screen.confirmed is answer


@pytest.mark.parametrize("theme", ["tt-dark", "ansi-dark"])
async def test_the_screen_below_a_dialog_can_still_be_read(theme):
    app = two_panes(theme=theme)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e")
        assert "TIMELINE" in screen_text(app)[1]


async def test_another_theme_recolours_everything_at_once():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = "tt-light"
        await pilot.pause()
        ink = app.theme_variables["foreground"].lower()
        view, header = app.screen.query_one("#left", Numbers), app.screen.query_one(HeaderRow)
        for strip in (view.render_line(3), header.render_line(0)):
            assert ink in {s.style.color.name for s in strip if s.style and s.style.color}


async def test_without_colour_every_cell_is_a_shade_of_grey(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j")
        strips = app.screen._compositor.render_strips()
        inks = {s.style.color for strip in strips for s in strip if s.style and s.style.color}
        assert inks
        assert all(len(set(ink.get_truecolor())) == 1 for ink in inks)
        assert screen_text(app)[3].startswith("▌")


async def test_leaving_with_a_dialog_open_closes_only_the_dialog():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e", "ctrl+q")
        assert app.screen.confirmed is None
        assert any("TIMELINE" in row for row in screen_text(app))
        await pilot.press("q")
    assert app.return_code == 0


async def test_a_screenshot_holds_what_is_on_the_screen(tmp_path):
    app = two_panes()
    async with app.run_test(size=(80, 24)):
        assert "refund-loop" in save_svg(app, tmp_path / "screen.svg").read_text()


async def test_every_cell_stands_on_the_ground_of_its_widget():
    app = two_panes()
    async with app.run_test(size=(80, 24)):
        for strip, variable in zip(app.screen._compositor.render_strips()[::3], ("panel", "surface"), strict=False):
            first = next(iter(strip))
            assert first.style.bgcolor.name == app.theme_variables[variable].lower()
        assert all(s.style and s.style.bgcolor for strip in app.screen._compositor.render_strips() for s in strip)


async def test_help_lists_the_keys_of_the_screen_below_and_closes():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        assert any("Go to the previous step" in row for row in screen_text(app))
        await pilot.press("end", "G")
        lines = app.screen.query_one(HelpLines)
        shown = " ".join(words for _, words in lines._rows)
        assert all(command.help in shown for command in DEBUGGER.commands), "long help goes on in the next row"
        await pilot.press("escape", "right")
        assert app.screen.steps == 1


async def test_the_palette_runs_a_command_of_the_screen():
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p", *"ten", "space", *"steps", "space", *"on")
        await workers_ended(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen.steps == 10


async def test_an_error_of_the_program_is_one_line_and_its_traceback_is_in_the_log(tmp_path, capsys):
    log = tmp_path / "logs" / "tui.log"
    app = two_panes(log_file=log)
    with pytest.raises(ValueError, match="boom"):
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("/")
    shown = " ".join("".join(capsys.readouterr()).split())
    assert "agent-tt stopped on an error of its own: ValueError: boom" in shown
    assert "Traceback" not in shown
    assert "Traceback" in log.read_text()
    assert not [h for h in logging.getLogger("agent_tt_tui").handlers if not isinstance(h, logging.NullHandler)]


async def test_the_header_moves_only_while_something_runs():

    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        header = app.screen.query_one(HeaderRow)
        header.state = header.state._replace(tone="running", status="running")
        header._next_frame()
        await pilot.pause()
        first = screen_text(app)[0]
        header._next_frame()
        await pilot.pause()
        assert screen_text(app)[0] != first
        header.state = header.state._replace(tone="well", status="succeeded")
        assert header.frame == -1


async def test_what_changes_below_a_dialog_is_drawn_once_and_nothing_else_is(monkeypatch):
    app = two_panes()
    async with app.run_test(size=(80, 24)) as pilot:
        below = app.screen
        app.push_screen(ConfirmDialog("Delete", "Delete it?"))
        await pilot.pause()
        drawn = []
        display = app._display
        monkeypatch.setattr(app, "_display", lambda screen, update: (drawn.append(screen), display(screen, update)))

        below.query_one("#right", Numbers).count = 3
        below.query_one("#right", Numbers).refresh()
        await pilot.pause()
        assert drawn == [app.screen]
        assert not [row for row in screen_text(app) if "line 4" in row[40:]]

        drawn.clear()
        for _ in range(5):
            below.call_later(lambda: None)  # as a timer of the screen does
            await pilot.pause()
        assert drawn == []
