"""The fork dialog, over a real store with the sample runs: what it says, what it denies, and what starts an agent."""

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

from agent_tt.model import Edit
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.edit_form import EditArea
from agent_tt_tui.widgets.dialogs.fork_table import ForkTable


class Opened:
    """An app with the dialog open, and what the dialog returned."""

    def __init__(self, source, run, step, edits=(), look=None):
        self.results = []
        self.app = AgentTT(lambda: RunsScreen(source), look=look or Look())
        self._dialog = ForkDialog(source, source.run(run), step, edits)

    async def open(self, pilot):
        self.app.push_screen(self._dialog, self.results.append)
        await until(pilot, lambda: self._dialog.is_mounted and self._is_planned())
        await until(pilot, lambda: self._said() in self.text)
        await workers_ended(self.app)  # the rows are shared out once more when the plan has been drawn
        return self._dialog

    def _is_planned(self) -> bool:
        action = self._dialog.query_one(ActionRow)
        return not action.busy and bool(self._dialog.query_one(ForkTable).boundaries or action.trouble[0])

    def _said(self) -> str:
        """What is on the screen once it was drawn with the plan."""
        return "✗" if self._dialog.query_one(ActionRow).trouble[0] else "F fork and run"

    @property
    def text(self) -> str:
        return "\n".join(screen_text(self.app))


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_it_names_what_will_run_the_edits_and_every_tool_that_writes(sample_store, size):
    opened = Opened(sample_store, "trip-planner", 3, (Edit("set", "trip.destination", "Tokyo"),))
    async with opened.app.run_test(size=size) as pilot:
        await opened.open(pilot)
        await until(pilot, lambda: "trip_planner.py" in opened.text)
        assert "Lisbon" in opened.text
        assert "Tokyo" in opened.text
        assert "4 tools may change things outside" in opened.text
        rows = [line for line in opened.text.splitlines() if "[deny]" in line]
        assert [line.split()[2] for line in rows] == ["book_flight", "book_hotel", "charge_card", "book_train"]
        assert "F fork and run    as trip-planner/fork-1" in opened.text


async def test_what_stays_as_it_was_is_one_row_until_it_is_asked_for(sample_store):
    opened = Opened(sample_store, "trip-planner", 3)
    async with opened.app.run_test(size=(120, 40)) as pilot:
        dialog = await opened.open(pilot)
        table = dialog.query_one(ForkTable)
        assert "all else runs live: 1 model, 9 tools that read" in opened.text
        assert "find_traveller" not in opened.text
        await pilot.press("o")
        assert "find_traveller" in opened.text
        assert "all else runs live" not in opened.text
        await pilot.press(*["down"] * 5, "right", "o")
        assert (table.boundary.name, table.boundary.policy) == ("find_traveller", "recorded")
        assert "all else runs live: 1 model, 8 tools that read" in opened.text
        assert "model, parameters, system, input as recorded; no limits" in opened.text
        await pilot.press("m")
        assert table.setting.id == "model"
        assert "changed code" in opened.text
        await pilot.press("m")
        assert "changed code" not in opened.text


async def test_rows_name_the_keys_that_a_person_has_chosen(sample_store):
    keymap = {"fork.more": "f5", "fork.each": "f6", "fork.agent": "f7", "fork.name": "f8"}
    opened = Opened(sample_store, "trip-planner", 3, look=Look(keymap=keymap))
    async with opened.app.run_test(size=(120, 40)) as pilot:
        await opened.open(pilot)
        for words in ("f5 more", "f6 each", "f7 another", "f8 another name"):
            assert words in opened.text
        await pilot.press("f5")
        await until(pilot, lambda: "f5 fewer" in opened.text)


ALLOW = ("left",) * 4
"""From denied to live."""


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (40, 10)])
async def test_what_writes_and_what_it_may_do_is_said_on_any_screen(sample_store, size):
    opened = Opened(sample_store, "trip-planner", 3)
    async with opened.app.run_test(size=size) as pilot:
        await opened.open(pilot)
        assert "[deny]" in opened.text
        await pilot.press(*ALLOW)
        await until(pilot, lambda: "[live]" in opened.text)
        if size == (40, 10):  # the list has no room for all of its rows
            assert "will really run" in opened.text
            assert opened.text.count("! book_") == 2
            assert "denied" in opened.text
        assert "F fork and run" in opened.text


async def test_an_edit_that_shows_one_value_gives_it_the_row(sample_store):
    opened = Opened(sample_store, "trip-planner", 3, (Edit("delete", "messages[7]"),))
    async with opened.app.run_test(size=(80, 24)) as pilot:
        await opened.open(pilot)
        await until(pilot, lambda: '± messages[7]  {"role": "tool", "tool_call_id": "call_' in opened.text)


async def test_the_versions_of_a_sample_are_rows_of_which_enter_takes_one(sample_store):
    opened = Opened(sample_store, "refund-loop", 1)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        dialog = await opened.open(pilot)
        await until(pilot, lambda: "( ) refund_loop.py:main_v2" in opened.text)
        await until(pilot, lambda: "(•) refund_loop.py:main " in opened.text)
        await pilot.press("enter")
        await until(pilot, lambda: opened.app.screen is dialog and "main_v2(state=" in opened.text)
        await until(pilot, lambda: "(•) refund_loop.py:main_v2" in opened.text)
        assert "( ) refund_loop.py:main " in opened.text
        await pilot.press("down", "enter")
        await until(pilot, lambda: "main(state=" in opened.text)


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
        await pilot.press(*ALLOW)
        policies = {row.name: row.policy for row in dialog.query_one(ForkTable).boundaries if row.effect == "write"}
        assert policies == {"book_flight": "live", "book_hotel": "deny", "charge_card": "deny", "book_train": "deny"}
        await until(pilot, lambda: "[live]" in opened.text)
        assert opened.text.count("[deny]") == 3


async def test_every_row_has_the_five_words_and_says_who_chose(sample_store):
    opened = Opened(sample_store, "trip-planner", 3)
    async with opened.app.run_test(size=(140, 40)) as pilot:
        dialog = await opened.open(pilot)
        table = dialog.query_one(ForkTable)
        await pilot.press("o", *["down"] * 5)
        assert (table.boundary.effect, table.boundary.policy) == ("read", "live")
        seen = []
        for _ in range(4):
            await pilot.press("right")
            seen.append(table.boundary.policy)
        assert seen == ["recorded", "stub", "ask", "deny"]
        assert (row := table.boundary).rule.source == "you"
        await until(pilot, lambda: "you" in opened.text)
        await pilot.press("delete")
        assert (table.boundary.name, table.boundary.policy, table.boundary.rule.source) == (row.name, "live", "default")


async def test_enter_on_a_stub_gives_its_value_and_what_is_no_json_stays_in_the_dialog(sample_store):
    opened = Opened(sample_store, "trip-planner", 3)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        dialog = await opened.open(pilot)
        await pilot.press("left", "left")
        assert "stub returns" in opened.text
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(opened.app.screen, EditDialog))
        opened.app.screen.query_one(EditArea).text = '{"status": '
        await pilot.press("ctrl+s")
        assert "not JSON" in opened.text
        opened.app.screen.query_one(EditArea).text = '{"status": "none"}'
        await pilot.press("ctrl+s")
        await until(pilot, lambda: opened.app.screen is dialog and 'stub returns {"status": "none"}' in opened.text)
        assert "[stub]" in opened.text


async def test_terms_are_typed_or_chosen_and_one_that_does_not_fit_blocks_the_fork_with_one_line(sample_store):
    opened = Opened(sample_store, "trip-planner", 3)
    async with opened.app.run_test(size=(140, 40)) as pilot:
        dialog = await opened.open(pilot)

        async def give(key, *more):
            await pilot.press(key, *more)
            await until(pilot, lambda: opened.app.screen is dialog and not dialog.query_one(ActionRow).busy)

        await give("m", "enter", *"gpt-x", "enter")
        assert "gpt-x" in opened.text
        await give("b", "enter", "2", "enter")
        assert "cannot stop at step 2" in opened.text
        assert "F fork and run" not in opened.text
        await pilot.press("F")
        assert not opened.results
        await give("delete")
        assert "F fork and run" in opened.text
        await give("r")
        assert "[mock]" in opened.text
        setup = dialog.setup
        assert (setup.texts, setup.requests["model"].value) == ({"executor": "mock"}, "gpt-x")


async def test_the_other_version_is_offered_and_f_runs_it(sample_store):
    opened = Opened(sample_store, "refund-loop", 1)
    async with opened.app.run_test(size=(80, 24)) as pilot:
        dialog = await opened.open(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: dialog.plan.code.function == "main_v2" and not dialog.query_one(ActionRow).busy)
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
