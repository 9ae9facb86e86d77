"""Asking a run in the debugger: who wrote a value and what caused it, and what is odd about it."""

from contextlib import closing

import pytest
from base_screens import screen_text
from debugger_app import settled

from agent_tt import samples
from agent_tt.model import NewRun, NewStep
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen


@pytest.fixture
def sample(tmp_path):
    """An app that shows a sample run."""
    opened = []

    def show(name, step=None):
        path = tmp_path / "store"
        samples.ensure(name, path)
        source = open_source(path)
        opened.append(source)
        run = source.run(name)
        return AgentTT(lambda: DebuggerScreen(source, run, step), look=Look())

    yield show
    for source in opened:
        source.close()


async def press(pilot, *keys):
    for key in keys:
        await pilot.press(key)
        screen = await settled(pilot)
    return screen


async def test_five_presses_lead_from_the_wrong_answer_to_the_result_that_caused_it_and_esc_leads_back(sample):
    async with sample("flaky-checkout").run_test(size=(80, 24)) as pilot:
        opened = await settled(pilot)
        assert opened.time.number == 7
        screen = await press(pilot, "end", "b", "down", "down", "down")
        assert screen.time.number == 6
        call = screen.panes.inspector.call_view.call
        assert (screen.panes.inspector.tab, call.name, call.result["total"]) == ("Call", "price_order", 13684)
        rows = screen_text(pilot.app)
        assert any("WHO WROTE  answer at 10" in row for row in rows)
        assert any("tool result  price_order total" in row for row in rows)
        assert any("CAME BACK" in row for row in rows)
        assert rows[-1].rstrip().endswith("esc back  ? help")
        screen = await press(pilot, "escape")
        assert (screen.time.number, screen.panes.inspector.tab) == (10, "State")
        assert not screen.who_wrote.pane.display
        assert screen.panes.timeline.has_focus


async def test_enter_stays_where_the_way_led_and_b_opens_it_there_again(sample):
    async with sample("flaky-checkout", 10).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        screen = await press(pilot, "b", "G", "enter")
        # The last place is the first write of the answer, which came with the input.
        assert (screen.time.number, screen.panes.inspector.tab) == (0, "State")
        assert screen.panes.inspector.state_tree.selected == ("answer",)
        assert not screen.who_wrote.pane.display
        screen = await press(pilot, "b", "up")
        assert screen.who_wrote.pane.display
        assert screen.time.number == 10
        screen = await press(pilot, "escape")
        assert screen.time.number == 10


async def test_the_changes_are_laid_out_for_their_pane_when_they_come_back(sample):
    async with sample("refund-loop").run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "b", "escape")
        assert any("~ budget.tokens_left  21960 → 20173" in row for row in screen_text(pilot.app))


async def test_what_lies_between_two_steps_is_still_said_when_their_changes_are_laid_out_again(sample):
    async with sample("research-team", 12).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "b", "escape")
        assert any("are other lanes" in row for row in screen_text(pilot.app))
        await pilot.resize_terminal(100, 24)
        await settled(pilot)
        assert any("are other lanes" in row for row in screen_text(pilot.app))


async def test_what_is_said_in_place_of_changes_takes_the_rows_that_it_needs(tmp_path):
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        writer = store.begin_run(NewRun("stopped"), {"n": 1})
        writer.open_step(NewStep("work"))
        writer.finish("interrupted")
        app = AgentTT(lambda: DebuggerScreen(store, store.run("stopped"), 1), look=Look())
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            said = " ".join(row[34:].strip() for row in screen_text(app))
            assert "this step did not end: the state is the one before it" in said
            await pilot.resize_terminal(140, 24)
            await settled(pilot)
            assert any("this step did not end: the state is the one before it" in row for row in screen_text(app))


async def test_the_end_of_the_way_says_why_and_is_no_place_to_go_to(sample):
    async with sample("trip-planner", 11).run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        screen = await press(pilot, "b")
        rows = screen_text(pilot.app)
        last = next(index for index, row in enumerate(rows) if "╰ ends: the input says it" in row)
        assert "in the input" in rows[last - 1]  # its value stands above it already, as that of the argument
        assert any("search_flights [0].id" in row and "also" in row for row in rows)
        assert len(screen.who_wrote.pane.list.places) == 5 + 2  # the way, and the writes
        screen = await press(pilot, "G")
        assert screen.time.number == 0


async def test_a_value_that_was_selected_is_the_one_that_is_asked_about(sample):
    async with sample("trip-planner", 3).run_test(size=(140, 40)) as pilot:
        screen = await settled(pilot)
        screen.panes.inspector.show_value(("messages", 0))
        screen = await press(pilot, "b")
        assert any("WHO WROTE  messages[0] at 3" in row for row in screen_text(pilot.app))
        screen = await press(pilot, "home", "escape")
        assert screen.time.number == 3
        assert screen.time.path == ("messages", 0)


async def test_where_there_is_room_for_one_pane_the_way_has_it_and_staying_shows_the_call(sample):
    async with sample("flaky-checkout", 10).run_test(size=(60, 20)) as pilot:
        await settled(pilot)
        screen = await press(pilot, "b")
        assert screen.who_wrote.pane.region.width == 60
        screen = await press(pilot, "down", "enter")
        assert (screen.time.number, screen.panes.inspector.tab) == (9, "Call")
        assert screen.panes.inspector.region.width == 60


async def test_a_loop_is_named_when_its_run_is_opened_and_a_key_goes_to_it(sample):
    async with sample("refund-loop").run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert screen_text(pilot.app)[1].startswith("▌TIMELINE    21 steps · O 2 odd ")
        await pilot.press("O")
        rows = screen_text(pilot.app)
        assert any("21  first error" in row and "step 21 (search_docs) failed" in row for row in rows)
        assert any("1–20  repeated" in row and "search_docs was asked 20 times" in row for row in rows)
        await pilot.press("down", "enter")
        screen = await settled(pilot)
        assert screen.time.number == 1
        screen = await press(pilot, "n")
        assert screen.time.number == 2
        screen = await press(pilot, "end", "N")
        assert screen.time.number == 20


async def test_a_healthy_run_is_opened_without_a_word_about_oddities(sample):
    async with sample("trip-planner").run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        assert "odd" not in screen_text(pilot.app)[1]
        await pilot.press("O")
        assert screen_text(pilot.app)[-1] == " nothing odd is known of this run"


async def test_a_question_goes_to_the_steps_at_which_it_holds_and_n_goes_on(sample):
    async with sample("flaky-checkout", 2).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        screen = await press(pilot, "/", *'?tool == "charge_card"')
        assert screen.time.number == 7
        assert screen.panes.find_panel.hits.found.steps == [7, 8, 9]
        assert any(" 3 of 10 steps" in row for row in screen_text(pilot.app))
        screen = await press(pilot, "enter", "n")
        assert screen.time.number == 8
        screen = await press(pilot, "end", "N")
        assert screen.time.number == 9


async def test_what_is_wrong_with_a_question_is_said_below_the_place_of_it(sample):
    async with sample("flaky-checkout", 2).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "/", *"?tokens > +")
        rows = screen_text(pilot.app)
        at = next(index for index, row in enumerate(rows) if row.startswith(" / ?tokens"))
        assert rows[at + 1].index("^") == rows[at].index("+")
        assert "'+' is not a value" in rows[at + 1]
        await press(pilot, *["backspace"] * 11, *"?tool == pay")
        assert any('there is no `pay`. A text stands in quotes: "pay".' in row for row in screen_text(pilot.app))
        screen = await press(pilot, *["backspace"] * 12, *"?tokens > 2")
        assert not any("is not a value" in row for row in screen_text(pilot.app))
        assert screen.panes.find_panel.hits.found.steps
