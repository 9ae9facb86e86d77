"""What fed a step, and what it fed: marks on the timeline, and a list to go to them."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest
from fake_source import FakeSource
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled
from tests.tui.waiting import until

from agent_tt.context.causes import Fed, StepCauses
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.pick import Choice, ChoiceList, PickDialog
from agent_tt_tui.viewmodel.debugger.causes import cause_marks, marks_said

SAMPLES = Path(__file__).parents[2] / "sample_runs" / "runs.db"


@pytest.fixture
def samples():
    with closing(open_source(SAMPLES)) as source:
        yield source


def app(source, name: str, step: int, glyphs=UNICODE) -> AgentTT:
    run = source.run(name)
    return AgentTT(lambda: DebuggerScreen(source, run, step), look=Look(glyphs=glyphs))


def marked(screen) -> dict[int, str]:
    """The sign in the column before each step's kind, by step."""
    timeline, found = screen.panes.timeline, {}
    for number in range(screen.model.last + 1):
        row = timeline._rows.row_of(number)
        text = timeline.render_line(row - timeline.scroll_offset.y).text
        found[number] = text[2 + timeline._columns.number]
    return {number: sign for number, sign in found.items() if sign != " "}


async def test_a_key_marks_what_fed_the_step_and_what_it_fed_and_they_follow_it(samples):
    async with app(samples, "research-team", 7).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        assert marked(screen) == {}
        await pilot.press("&")
        await settled(pilot)
        assert marked(screen) == {6: "←", 3: "⇠", 12: "⇢"}
        await pilot.press("left", "left", "left", "left", "left")
        await settled(pilot)
        assert marked(screen) == {3: "→", 4: "→", 5: "→", 6: "→", 10: "→", 11: "→", 12: "→", 13: "→"}
        await pilot.press("&")
        await settled(pilot)
        assert marked(screen) == {}


async def test_recorded_and_inferred_differ_without_colour_too(samples):
    async with app(samples, "research-team", 7, ASCII).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        await pilot.press("&")
        await settled(pilot)
        assert marked(screen) == {6: "<", 3: "(", 12: ")"}


async def test_steps_that_are_folded_show_the_mark_on_their_row(samples):
    async with app(samples, "refund-loop", 21).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("&")
        await settled(pilot)
        folded = [row for row in screen_text(pilot.app) if "more like" in row]
        assert folded
        assert all("←" in row for row in folded)


async def test_nothing_is_read_before_it_is_asked_for_and_then_once(samples, monkeypatch):
    from agent_tt.context import reading

    read = []
    ours = reading.read_contexts
    monkeypatch.setattr(reading, "read_contexts", lambda *args, **names: read.append(1) or ours(*args, **names))
    async with app(samples, "research-team", 7).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        assert not read
        for key in ("&", "left", "right", "&", "&", "3", "1"):
            await pilot.press(key)
            await settled(pilot)
        assert len(read) == 1


async def test_the_key_stops_a_reading_that_takes_long_and_begins_it_again(samples, monkeypatch):
    from agent_tt.context import reading

    ours, going, stopped = reading.read_contexts, threading.Event(), threading.Event()

    def slow(source, run_id, *, cancelled):
        going.set()
        while not cancelled():
            stopped.wait(0.01)
        stopped.set()
        return ours(source, run_id, cancelled=cancelled)

    monkeypatch.setattr(reading, "read_contexts", slow)
    async with app(samples, "research-team", 7).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("&")
        await until(pilot, going.is_set)
        assert "& again stops" in screen_text(pilot.app)[-1]
        await pilot.press("&")
        await until(pilot, stopped.is_set)
        await settled(pilot)
        assert marked(screen) == {}
        monkeypatch.setattr(reading, "read_contexts", ours)
        await pilot.press("&")
        await settled(pilot)
        assert marked(screen) == {6: "←", 3: "⇠", 12: "⇢"}


async def test_the_list_says_how_each_is_known_and_goes_there(samples):
    async with app(samples, "research-team", 7).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("*")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickDialog))
        shown = "\n".join(screen_text(pilot.app))
        assert "← 6 read the pages" in shown
        assert "the step is nested in it" in shown
        assert "inferred: the arguments have text that it brought" in shown
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen)
        await settled(pilot)
        assert screen.time.number == 3


async def test_a_run_of_which_nothing_is_known_says_so_and_marks_nothing():
    source = FakeSource([{"n": number} for number in range(4)])
    run = source.the_run
    async with AgentTT(lambda: DebuggerScreen(source, run, 2), look=Look()).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        await pilot.press("*")
        await settled(pilot)
        assert isinstance(pilot.app.screen, DebuggerScreen)
        await pilot.press("&")
        await settled(pilot)
        assert marked(screen) == {}
        assert any("nothing that was recorded says what fed it" in row for row in screen_text(pilot.app))


def test_what_is_recorded_goes_before_what_is_inferred_and_sources_before_what_was_fed():
    found = cause_marks(StepCauses(Fed((1,), (2,), (3,)), Fed((4,), (1,), (2, 5))))
    assert found == {1: "fed_by", 2: "fed_perhaps", 3: "fed_perhaps", 4: "feeds", 5: "feeds_perhaps"}
    assert (
        marks_said(StepCauses(Fed((1,), (), (3,))), 4, UNICODE) == "step 4: fed by ← 1  ⇠ 3?, fed –; ⇠ ⇢ by equal texts"
    )


@pytest.mark.parametrize("name", ["refund-loop", "flaky-checkout", "research-team", "trip-planner"])
async def test_how_a_link_is_known_is_read_to_its_end_at_eighty_columns(samples, name):
    last = samples.run(name).steps
    opened = app(samples, name, last)
    async with opened.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("*")
        await until(pilot, lambda: isinstance(opened.screen, PickDialog) and opened.screen.query(ChoiceList))
        await pilot.pause()
        shown = opened.screen.query_one(ChoiceList)
        for choice in shown._choices:
            said = " ".join(row.detail.strip() for row in shown.rows if row.number == choice_number(shown, choice))
            assert said == choice.detail
        assert not [line for y in range(shown.size.height) if "…" in (line := shown.render_line(y).text)]


def choice_number(shown, choice) -> int:
    return shown._choices.index(choice)


async def test_the_cursor_goes_from_choice_to_choice_past_the_lines_of_a_long_one(samples):
    choices = [Choice("a", "first", "word " * 40), Choice("b", "second", "short"), Choice("c", "third", "word " * 40)]
    opened, taken = app(samples, "refund-loop", 2), []
    async with opened.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        opened.push_screen(PickDialog("Which", choices), taken.append)
        await until(pilot, lambda: opened.screen.query(ChoiceList))
        await pilot.pause()
        assert opened.screen.query_one(ChoiceList).line_count > len(choices)
        await pilot.press("down", "down", "up", "enter")
        await until(pilot, lambda: taken)
        assert taken == ["b"]
