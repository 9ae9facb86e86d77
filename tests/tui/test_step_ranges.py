"""A range of steps in the debugger: marked, followed by the cursor, and told alone."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled

from agent_tt.querying.ranges import read_range
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.viewmodel.past.ranges import range_facts

SAMPLES = Path(__file__).parents[2] / "sample_runs" / "runs.db"


@pytest.fixture
def samples():
    with closing(open_source(SAMPLES)) as source:
        yield source


def app(source, name: str, step: int, glyphs=UNICODE) -> AgentTT:
    run = source.run(name)
    return AgentTT(lambda: DebuggerScreen(source, run, step), look=Look(glyphs=glyphs))


def shown(pilot) -> str:
    return "\n".join(screen_text(pilot.app))


async def test_from_the_marked_step_on_the_diff_is_that_of_the_range_with_what_it_took_and_wrote(samples):
    async with app(samples, "flaky-checkout", 6).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("|", "right", "right", "right")
        await settled(pilot)
        run = samples.run("flaky-checkout")
        text, facts = shown(pilot), range_facts(read_range(samples, run, 6, 9), UNICODE)
        assert "STEPS  6–9  " in text
        assert "  ".join(facts[1:]) in text
        assert "failed: charge_card ×3" in text
        assert screen.time.view.base == 5
        assert "payment.refusals[2]" in text
        assert "6–9/10" in text
        in_range = [row[2:6].strip() for row in screen_text(pilot.app)[2:13] if row[1] == "│"]
        assert in_range == ["6", "7", "8", "9"]


async def test_esc_or_the_key_at_its_first_step_ends_it(samples):
    async with app(samples, "flaky-checkout", 3).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        for end in ("escape", "|"):
            await pilot.press("|", "right")
            await settled(pilot)
            assert "STEPS  3–4" in shown(pilot)
            await pilot.press("left", end)
            await settled(pilot)
            assert screen.model.range_start is None
            assert "DIFF  2 → 3" in shown(pilot)
            assert "STEPS" not in shown(pilot)
        assert screen.is_current, "the run is still shown"


async def test_before_its_first_step_the_usual_diff_is_shown_and_the_range_comes_back(samples):
    async with app(samples, "flaky-checkout", 5).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("|", "left", "left")
        await settled(pilot)
        assert "DIFF  2 → 3" in shown(pilot)
        await pilot.press("end")
        await settled(pilot)
        assert "STEPS  5–10" in shown(pilot)


async def test_other_bases_can_be_chosen_and_the_range_is_one_of_them(samples):
    async with app(samples, "flaky-checkout", 5).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("|", "right", "d")
        await settled(pilot)
        assert "DIFF  5 → 6" in shown(pilot)
        await pilot.press("d")
        await settled(pilot)
        assert "STEPS  5–6" in shown(pilot)


async def test_the_input_begins_no_range_and_says_why(samples):
    async with app(samples, "flaky-checkout", 0).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        await pilot.press("|")
        await settled(pilot)
        assert screen.model.range_start is None
        assert "a range begins at a step" in shown(pilot)


async def test_in_a_small_terminal_in_ascii_the_range_is_seen_too(samples):
    async with app(samples, "refund-loop", 3, ASCII).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("|", "right", "right")
        await settled(pilot)
        assert "STEPS  3-5" in shown(pilot)
        assert "tok  $0.00" in shown(pilot)
        assert "3-5/21" in shown(pilot)


async def test_what_cannot_be_read_is_not_said_to_be_a_range(samples, monkeypatch):
    from agent_tt.errors import StoreUnreadable
    from agent_tt.querying import ranges

    def unreadable(*_args: object, **_names: object) -> None:
        raise StoreUnreadable("gone")

    monkeypatch.setattr(ranges, "read_range", unreadable)
    async with app(samples, "flaky-checkout", 5).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("|", "right")
        await settled(pilot)
        assert "DIFF  5 → 6" in shown(pilot)


def test_a_fact_that_is_not_known_is_a_dash(samples):
    run = samples.run("refund-loop")
    found = replace(read_range(samples, run, 3, 3), took_us=None)
    assert range_facts(found, UNICODE)[:2] == ["1 step", "– took"]
