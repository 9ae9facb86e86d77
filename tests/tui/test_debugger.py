"""The debugger as a person uses it."""

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled
from fake_source import FakeSource, refund_loop, step

from agent_tt.model import Edit
from agent_tt_tui.screens.debugger.run_reading import RunReading
from agent_tt_tui.widgets.debugger.diff_pane import DiffLines
from agent_tt_tui.widgets.debugger.inspector import Inspector


def diff_rows(app):
    """What the diff pane shows, title first."""
    pane = app.screen.panes.diff
    rows = screen_text(app)[pane.region.y : pane.region.bottom]
    return [row[pane.region.x :] for row in rows]


async def test_a_failed_run_opens_at_its_error_and_says_why_it_failed():
    async with debugger(refund_loop()).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        rows = screen_text(pilot.app)
        assert screen.time.number == 21
        assert rows[0].startswith(" refund-loop  ✗ failed")
        assert any(row.startswith("▌  21 ● search_docs") and "✗" in row for row in rows)
        assert rows[-2].startswith(" 21/21")


async def test_a_loop_that_does_not_fit_is_folded_with_error_and_cursor_in_view():
    async with debugger(refund_loop()).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        rows = screen_text(pilot.app)
        assert any("┊ 3 more like 3" in row for row in rows)
        await pilot.press("left", "left")
        await settled(pilot)
        assert any(row.startswith("▌  19 ● search_docs") for row in screen_text(pilot.app))


async def test_before_the_input_there_is_no_step():
    async with debugger(refund_loop()).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("home", "left", "left")
        screen = await settled(pilot)
        assert screen.time.number == screen.time.view.number == 0
        await pilot.press("right")
        assert (await settled(pilot)).time.number == 1


async def test_home_then_right_twice_shows_what_step_two_changed():
    async with debugger(refund_loop()).run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        await pilot.press("home", "right", "right")
        screen = await settled(pilot)
        assert screen.time.view.number == 2
        rows = diff_rows(pilot.app)
        assert rows[0].split()[:4] == ["DIFF", "1", "→", "2"]
        assert any("attempts" in row and "1 → 2" in row for row in rows)


async def test_the_key_of_the_newest_step_wins_however_many_came_before():
    source = refund_loop()
    async with debugger(source).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for _ in range(15):
            pilot.app.screen.time.action_step(-1)
        screen = await settled(pilot)
        assert screen.time.number == screen.time.view.number == 6
        assert screen_text(pilot.app)[-2].startswith("  6/21")


async def test_d_compares_with_the_mark_and_then_with_the_step_before_again():
    async with debugger(refund_loop(), step=2).run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        await pilot.press("m")
        await settled(pilot)
        await pilot.press("right", "right", "d")
        await settled(pilot)
        assert "DIFF  2 → 4" in diff_rows(pilot.app)[0]
        assert diff_rows(pilot.app)[0].endswith("d since mark a")
        await pilot.press("d")
        await settled(pilot)
        assert "DIFF  3 → 4" in diff_rows(pilot.app)[0]


async def test_a_diff_that_does_not_fit_says_how_much_is_left_and_z_shows_it():
    after = {str(number): 1 for number in range(40)}
    async with debugger(FakeSource([dict.fromkeys(after, 0), after])).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "32 more, z to see all" in diff_rows(pilot.app)[-1]
        pilot.app.screen.query_one(DiffLines).focus()
        await pilot.press("z")
        await settled(pilot)
        assert sum("0 → 1" in row for row in screen_text(pilot.app)) >= 19
        assert not pilot.app.screen.panes.timeline.is_on_screen


async def test_errors_are_one_key_apart_and_the_last_one_says_so():
    steps = [step(n, status="error" if n in (3, 8) else "ok") for n in range(1, 11)]
    async with debugger(FakeSource([{}] * 11, steps)).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        assert screen.time.number == 3
        await pilot.press("}")
        assert screen.time.number == 8
        await pilot.press("x")
        assert screen.time.number == 8
        assert screen_text(pilot.app)[-1] == " no later step failed"


async def test_find_goes_to_hits_as_they_come_and_esc_goes_back():
    async with debugger(refund_loop(), step=4).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("/", *"1 of 20")
        screen = await settled(pilot)
        rows = screen_text(pilot.app)
        assert any(" hit" in row and " in " in row for row in rows)
        assert screen.time.number == 1
        await pilot.press("down")
        assert screen.time.number == 11
        await pilot.press("escape")
        await settled(pilot)
        assert screen.time.number == 4
        assert not any("hits" in row for row in screen_text(pilot.app))


async def test_enter_stays_at_the_hit_and_n_goes_on():
    async with debugger(refund_loop(), step=4).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("/", *'"1 of 20"')
        screen = await settled(pilot)
        await pilot.press("enter", "n")
        assert screen.time.number == 11
        await pilot.press("N")
        assert screen.time.number == 1


@pytest.mark.parametrize(("typed", "number"), [("7", 7), ("~1", 20), ("@error", 21), ("plan", 1)])
async def test_go_to_takes_a_number_a_distance_the_error_or_a_name(typed, number):
    async with debugger(refund_loop(), step=4).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        await pilot.press(":", *typed, "enter")
        await settled(pilot)
        assert screen.time.number == number


async def test_go_to_says_what_there_is_not():
    async with debugger(refund_loop(), step=4).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        await pilot.press(":", *"99", "enter")
        await settled(pilot)
        assert screen.time.number == 4
        assert screen_text(pilot.app)[-1] == " there is no step 99"


async def test_a_live_run_is_followed_until_the_cursor_is_moved():
    source = FakeSource([{"n": n} for n in range(4)], status="running")
    async with debugger(source).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        assert screen.time.number == 3

        async def grow():
            number = source.step_count(source.id) + 1
            source.set_step(step(number), {"n": number})
            screen.time.reading.poll()
            await settled(pilot)

        await grow()
        assert screen.time.number == 4
        await pilot.press("left")
        await grow()
        assert screen.time.number == 3
        assert screen_text(pilot.app)[-2].split()[0] == "3/5"
        await pilot.press("F")
        await grow()
        assert screen.time.number == 6


async def test_a_state_that_cannot_be_read_leaves_the_rest_of_the_screen_whole():
    source = refund_loop()
    source.damaged = {21}
    async with debugger(source).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert any("cannot be read" in row for row in screen_text(pilot.app))
        await pilot.press("left", "left")
        await settled(pilot)
        assert "18 → 19" in diff_rows(pilot.app)[0]


async def test_a_million_steps_cost_what_is_visible(monkeypatch):
    # Looking at all steps for the strip goes on in the background, page by page.
    monkeypatch.setattr(RunReading, "scan", lambda _reading: None)

    class Counting(FakeSource):
        given = 0

        def steps(self, run_id, start=1, stop=None):
            stop = self.count + 1 if stop is None else min(stop, self.count + 1)
            self.given += stop - start
            return [step(number) for number in range(start, stop)]

        def step_count(self, run_id):
            return self.count

        def state(self, run_id, number):
            return {"n": number}

        def changes(self, run_id, number):
            return [["s", ["n"], number]]

        def last_write(self, run_id, number, path):
            return None

        next_write = last_write

    source = Counting([{}])
    source.count = 1_000_000
    async with debugger(source, step=500_000).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("right")
        await settled(pilot)
        assert any("500001 ● search_" in row for row in screen_text(pilot.app))
        assert source.given < 5_000


@pytest.mark.parametrize("size", [(40, 10), (60, 20), (80, 24), (100, 30), (140, 40), (200, 50)])
async def test_every_size_shows_step_and_keys_and_survives_the_next(size):
    async with debugger(refund_loop(), step=3).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.resize_terminal(*size)
        await settled(pilot)
        rows = screen_text(pilot.app)
        assert any("3/21" in row for row in rows)
        assert rows[-1].endswith("? help")
        await pilot.press("tab", "tab", "tab", "left")
        await settled(pilot)
        assert any("2/21" in row for row in screen_text(pilot.app))


async def test_a_narrow_screen_shows_one_pane_and_tab_the_next():
    async with debugger(refund_loop(), step=3).run_test(size=(60, 20)) as pilot:
        await settled(pilot)
        assert any("TIMELINE" in row for row in screen_text(pilot.app))
        await pilot.press("tab")
        await settled(pilot)
        assert not any("TIMELINE" in row for row in screen_text(pilot.app))


async def test_the_selected_path_is_marked_where_it_was_written_and_stays_selected():
    states = [{"a": 0}, {"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}]
    async with debugger(FakeSource(states), step=2).run_test(size=(140, 40)) as pilot:
        screen = await settled(pilot)
        screen.post_message(Inspector.PathSelected(("a",)))
        await settled(pilot)
        rows = screen_text(pilot.app)
        assert [row.rstrip()[-1:] == "~" for row in (row[:46] for row in rows[2:7])] == [
            False,
            True,
            False,
            True,
            False,
        ]
        assert rows[-2].split() == ["path", "~", "~", "a"]
        await pilot.press("]")
        await settled(pilot)
        assert (screen.time.number, screen.time.path) == (3, ("a",))
        await pilot.press("W")
        await settled(pilot)
        assert screen.time.number == 1
        await pilot.press("[")
        await settled(pilot)
        assert screen_text(pilot.app)[-1] == " no earlier step wrote it"
        await pilot.press("home")
        await settled(pilot)
        assert screen_text(pilot.app)[2].endswith("as in the input")


async def test_an_edit_is_pending_until_it_is_undone_and_leaving_asks():
    async with debugger(refund_loop(), step=2).run_test(size=(140, 40)) as pilot:
        screen = await settled(pilot)
        screen.post_message(Inspector.PathSelected(("notes",)))
        await settled(pilot)
        await pilot.press("delete")
        await settled(pilot)
        assert "± 1 edit after 2" in screen_text(pilot.app)[0]
        rows = diff_rows(pilot.app)
        assert rows[0].split() == ["PENDING", "EDITS", "1", "after", "2", "u", "undo", "f", "fork"]
        assert "cannot be forked there" in rows[1]  # what a fork of it would meet is said at once
        assert rows[2].startswith(" ± notes")
        await pilot.press("q")
        await pilot.press("n")
        assert pilot.app.screen is screen
        await pilot.press("u")
        await settled(pilot)
        assert "edit" not in screen_text(pilot.app)[0]
        assert "DIFF  1 → 2" in diff_rows(pilot.app)[0]


async def test_edits_of_one_state_are_not_dropped_for_another_unasked():
    async with debugger(refund_loop(), step=2).run_test(size=(140, 40)) as pilot:
        screen = await settled(pilot)
        screen.editing.edit([Edit("set", "attempts", 7)])
        await pilot.press("right")
        await settled(pilot)
        screen.editing.edit([Edit("set", "attempts", 9)])
        await pilot.press("n")
        assert "± 1 edit after 2" in screen_text(pilot.app)[0]
        screen.editing.edit([Edit("set", "attempts", 9)])
        await pilot.press("y")
        await settled(pilot)
        assert "± 1 edit after 3" in screen_text(pilot.app)[0]


async def test_a_file_that_is_only_read_says_why_its_states_cannot_be_edited():
    source = FakeSource([{"a": 1}, {"a": 2}], read_only=True)
    async with debugger(source).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        for key in ("e", "E", "delete", "f"):
            await pilot.press(key)
            assert "only read" in screen_text(pilot.app)[-1]
        assert pilot.app.screen is screen
        assert "edit" not in screen_text(pilot.app)[0]


async def test_an_edit_that_does_not_fit_says_why():
    async with debugger(refund_loop(), step=2).run_test(size=(140, 40)) as pilot:
        screen = await settled(pilot)
        screen.editing.edit([Edit("delete", "nothing.there")])
        await pilot.pause()
        assert "nothing" in screen_text(pilot.app)[-1]
        assert "edit" not in screen_text(pilot.app)[0]


async def test_a_step_is_not_said_to_be_read_where_the_clock_strikes_after_it_came():
    app = debugger(refund_loop(21), step=9)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        screen.time._say_reading()  # the timer's, which was on its way when the step came
        assert screen.panes.diff.title_row.busy == ""
