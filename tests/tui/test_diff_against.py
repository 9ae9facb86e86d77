"""Comparing a step with any state of any run, by key."""

import pytest
from base_screens import screen_text
from debugger_app import settled
from textual.widgets import Input
from waiting import until

import agent_tt
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen


def record(store, name, plans):
    state = {"plan": "nothing yet", "n": 0}
    with agent_tt.record(name, state=state, store=store) as run:
        for number, plan in enumerate(plans, 1):
            with run.step("think", state):
                state |= {"plan": plan, "n": number}


@pytest.fixture
def stores(tmp_path):
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    record(here, "first", ["walk to the shop", "walk to the old shop", "walk home"])
    record(here, "second", ["walk to the shop", "ride to the new shop"])
    record(there, "far", ["fly to the shop"])
    return here, there


def diff_rows(app):
    pane = app.screen.panes.diff
    return [row[pane.region.x :].rstrip() for row in screen_text(app)[pane.region.y : pane.region.bottom]]


async def test_a_step_is_compared_with_states_of_this_run_another_and_another_file(stores):
    source = open_source(stores[0])
    run = source.run("first")
    app = AgentTT(lambda: DebuggerScreen(source, run, 2), look=Look())
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)

        async def against(text):
            await pilot.press("D")
            app.screen.query_one(Input).value = text
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, DebuggerScreen))
            await settled(pilot)
            return diff_rows(pilot.app)

        rows = await against("second@2")
        assert rows[0].split()[:4] == ["DIFF", "second@2", "→", "2"]
        assert any("ride walk to the new old shop" in row for row in rows)
        assert len([row for row in rows if row.strip()]) == 3  # the title and one change: both are step 2
        rows = await against("0")
        assert rows[0].split()[1] == "first@0"
        assert any("0 → 2" in row for row in rows)
        rows = await against(f"{stores[1]}:far")
        assert rows[0].split()[1] == "there.db:far@1"
        assert any("fly walk to the old shop" in row for row in rows)
        # It stays among the bases: the next is the usual one, and after that it comes again.
        await pilot.press("d")
        await settled(pilot)
        assert diff_rows(pilot.app)[0].split()[1:4] == ["1", "→", "2"]
        await pilot.press("d", "left")
        await settled(pilot)
        assert diff_rows(pilot.app)[0].split()[1:4] == ["there.db:far@1", "→", "1"]
    source.close()


async def test_what_names_no_state_is_said_and_changes_nothing(stores):
    source = open_source(stores[0])
    run = source.run("first")
    async with AgentTT(lambda: DebuggerScreen(source, run, 2), look=Look()).run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        before = diff_rows(pilot.app)
        await pilot.press("D", *"nobody@3", "enter")
        await until(pilot, lambda: any("nobody" in row for row in screen_text(pilot.app)[-1:]))
        assert diff_rows(pilot.app) == before
    source.close()


async def test_a_word_that_changed_at_the_end_of_a_long_text_is_seen_beside_the_other(tmp_path):
    long = " ".join(f"word{n}" for n in range(40_000))
    record(tmp_path / "runs.db", "a", [f"{long} blue sky"])
    record(tmp_path / "runs.db", "b", [f"{long} grey sky"])
    source = open_source(tmp_path / "runs.db")
    runs = source.run("a"), source.run("b")
    app = AgentTT(lambda: CompareScreen(source, runs[0], source, runs[1]), look=Look())
    async with app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: any("blue" in row and "grey" in row for row in screen_text(app)))
    source.close()
