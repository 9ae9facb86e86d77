"""Jumping: one key labels what can be gone to, on every screen; the letters of a label go there, esc stays."""

from __future__ import annotations

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.fake_source import refund_loop
from tests.tui.waiting import until

from agent_tt_tui.app import AgentTT
from agent_tt_tui.keymaps import CONTEXTS
from agent_tt_tui.look import Look
from agent_tt_tui.screens.dialogs.jump import JumpScreen, labels
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.run_list import RunList

READ = {"Help", "Reading"}
"""Contexts of texts, which have no rows of their own."""

TYPED = {"Palette"}
"""Contexts in which letters are typed into a line."""


async def jumping(pilot) -> JumpScreen:
    """Press the key, and wait for the labels."""
    await pilot.press("ctrl+g")
    await until(pilot, lambda: isinstance(pilot.app.screen, JumpScreen) and pilot.app.screen.is_mounted)
    await pilot.pause()
    return pilot.app.screen


def label_at(screen, x, y) -> str:
    return next(label for label, target in screen.targets if (target.x, target.y) == (x, y))


@pytest.mark.parametrize("count", [0, 1, 26, 27, 200, 676])
def test_no_label_begins_another_and_they_are_as_short_as_they_can_be(count):
    found = labels(count)
    assert len(set(found)) == count
    assert {len(label) for label in found} <= ({1} if count <= 26 else {2})


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_labels_stand_at_steps_values_and_tabs_and_going_there_is_typing_one(size):
    app = debugger(refund_loop(), step=3)
    async with app.run_test(size=size) as pilot:
        screen = await settled(pilot)
        before = screen_text(app)
        jump = await jumping(pilot)
        timeline, tree = screen.panes.timeline, screen.panes.inspector.state_tree
        fifth = next(y for y, row in enumerate(before) if row.lstrip("▌ ").startswith("5 "))
        label = label_at(jump, timeline.region.x, fifth)
        assert screen_text(app)[fifth].startswith(label)
        await pilot.press(label[0])
        after = screen_text(app)
        assert after[fifth].startswith(label[1:])
        others = [target for other, target in jump.targets if other[0] != label[0]]
        assert all(after[each.y][each.x : each.x + 1] in (before[each.y][each.x : each.x + 1], "") for each in others)
        await pilot.press(*label[1:])
        await settled(pilot)
        assert app.screen is screen
        assert screen.time.number == 5
        assert screen.focused is timeline
        jump = await jumping(pilot)
        await pilot.press(*label_at(jump, tree.region.x, tree.region.y + 2))
        await settled(pilot)
        assert screen.focused is tree
        assert tree.cursor == 2
        raw = screen_text(app)[1].index("Raw") - (2 if size[0] > 80 else 1)
        jump = await jumping(pilot)
        await pilot.press(*label_at(jump, raw, 1))
        await settled(pilot)
        assert screen.panes.inspector.tab == "Raw"


async def test_esc_stays_and_what_is_no_label_changes_nothing():
    app = debugger(refund_loop(), step=3)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        before, number = screen_text(app), screen.time.number
        await jumping(pilot)
        assert screen_text(app)[-1].strip().endswith("F1 help  esc stay here")
        await pilot.press("9", "escape")
        await settled(pilot)
        assert app.screen is screen
        assert screen.time.number == number
        assert screen_text(app) == before


async def test_a_run_of_the_list_is_gone_to(sample_store):
    app = AgentTT(lambda: RunsScreen(sample_store), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.query_one(RunList).line_count > 2)
        runs = app.screen.query_one(RunList)
        jump = await jumping(pilot)
        await pilot.press(*label_at(jump, 0, runs.region.y + 2))
        await pilot.pause()
        assert runs.cursor == 2


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.title)
def test_it_is_one_key_wherever_there_are_rows_to_go_to(context):
    ids = {command.id for command in context.commands}
    if "list.down" in ids and context.title not in READ | TYPED:
        assert "app.jump" in ids
