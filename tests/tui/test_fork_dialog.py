"""The fork dialog, over a real store with the sample runs: what it says, what it denies, and what starts an agent."""

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.model import Edit
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.fork import ForkDialog
from agent_tt_tui.screens.runs import RunsScreen
from agent_tt_tui.widgets.fork_form import BoundaryTable, ForkAction


class Opened:
    """An app with the dialog open, and what the dialog returned."""

    def __init__(self, source, run, step, edits=()):
        self.results = []
        self.app = AgentTT(lambda: RunsScreen(source), look=Look())
        self._dialog = ForkDialog(source, source.run(run), step, edits)

    async def open(self, pilot):
        self.app.push_screen(self._dialog, self.results.append)
        await until(pilot, lambda: self._dialog.is_mounted and not self._dialog.query_one(ForkAction).busy)
        return self._dialog

    @property
    def text(self) -> str:
        return "\n".join(screen_text(self.app))


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_it_names_what_will_run_the_edits_and_every_tool_that_writes(sample_store, size):
    opened = Opened(sample_store, "trip-planner", 3, (Edit("set", "trip.destination", "Tokyo"),))
    async with opened.app.run_test(size=size) as pilot:
        await opened.open(pilot)
        assert "trip_planner.py" in opened.text
        assert "Lisbon" in opened.text
        assert "Tokyo" in opened.text
        assert "book_flight, book_hotel, charge_card write: denied" in opened.text
        assert "F fork and run" in opened.text


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (40, 10)])
async def test_what_writes_and_what_it_may_do_is_said_on_any_screen(sample_store, size):
    opened = Opened(sample_store, "trip-planner", 3)
    async with opened.app.run_test(size=size) as pilot:
        await opened.open(pilot)
        assert " live  [deny]" in opened.text
        await pilot.press("right")
        await until(pilot, lambda: "will really run" in opened.text)
        assert opened.text.count("! book_") == 2
        assert "denied" in opened.text
        assert "[live]  deny" in opened.text
        assert "F fork and run" in opened.text


async def test_the_second_version_of_a_sample_is_named_with_the_key_that_takes_it(sample_store):
    opened = Opened(sample_store, "refund-loop", 1)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        dialog = await opened.open(pilot)
        assert "a or main_v2" in opened.text
        await pilot.press("a", "j", "enter")
        await until(pilot, lambda: opened.app.screen is dialog and "main_v2(state=" in opened.text)
        assert "a or" not in opened.text


async def test_enter_runs_nothing_and_escape_leaves_everything_as_it_was(sample_store):
    before = len(sample_store.runs())
    opened = Opened(sample_store, "refund-loop", 1)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        dialog = await opened.open(pilot)
        await pilot.press("enter", "enter")
        assert opened.app.screen is dialog
        await pilot.press("escape")
        await until(pilot, lambda: opened.results)
    assert opened.results == [None]
    assert len(sample_store.runs()) == before


async def test_an_arrow_allows_one_tool_and_leaves_the_others_denied(sample_store):
    opened = Opened(sample_store, "trip-planner", 3)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        dialog = await opened.open(pilot)
        await pilot.press("right")
        policies = {row.name: row.policy for row in dialog.query_one(BoundaryTable).rows if row.effect == "write"}
        assert policies == {"book_flight": "live", "book_hotel": "deny", "charge_card": "deny"}
        await until(pilot, lambda: "book_flight writes: will really run" in opened.text)
        assert "book_hotel, charge_card write: denied" in opened.text


async def test_tools_that_only_read_cannot_be_denied_and_the_footer_says_so(sample_store):
    opened = Opened(sample_store, "refund-loop", 1)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        await opened.open(pilot)
        await pilot.press("right")
        assert "what only reads always runs" in opened.text


async def test_the_other_version_is_offered_and_f_runs_it(sample_store):
    opened = Opened(sample_store, "refund-loop", 1)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        dialog = await opened.open(pilot)
        await pilot.press("a")
        await until(pilot, lambda: opened.app.screen is not dialog)
        await pilot.press("j", "enter")
        await until(pilot, lambda: "main_v2" in opened.text and not dialog.query_one(ForkAction).busy)
        await pilot.press("F")
        await until(pilot, lambda: opened.results)
    handle = opened.results[0]
    assert handle is not None
    assert handle.result().steps == 2


async def test_a_fork_that_cannot_be_says_why_and_does_not_start(sample_store):
    opened = Opened(sample_store, "refund-loop", 1, (Edit("set", "no.such.place", 1),))
    async with opened.app.run_test(size=(80, 24)) as pilot:
        await opened.open(pilot)
        assert "F fork and run" not in opened.text
        await pilot.press("F")
        assert not opened.results
        assert "no" in opened.text
