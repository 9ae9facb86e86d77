"""The columns of the timeline: chosen in a list, used at once, and kept in the user's settings."""

from __future__ import annotations

import pytest
from fake_source import refund_loop
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.readme_parts import DOCS, code_blocks

from agent_tt import config
from agent_tt.config import Config
from agent_tt.errors import UsageError
from agent_tt_tui.look import Look
from agent_tt_tui.screens.dialogs.columns import ColumnsDialog
from agent_tt_tui.settings import chosen_look


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "user_file", lambda: tmp_path / "config.toml")
    monkeypatch.chdir(tmp_path)


def shown(pilot):
    return [placed.name for placed in pilot.app.screen.panes.timeline.columns.placed]


async def test_a_column_is_turned_on_moved_and_kept_and_the_next_app_has_it(tmp_path):
    async with debugger(refund_loop(), step=3).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        assert shown(pilot) == ["name", "bar", "took"]
        await pilot.press("C")
        await pilot.pause()
        assert any("how long the step took, beside the others" in row for row in screen_text(pilot.app)) is False
        await pilot.press("j", "space", "G", "space", "K", "enter")
        screen = await settled(pilot)
        assert shown(pilot) == ["name", "cost", "took"]
        assert screen.panes.timeline.columns.width_of("cost")
        assert screen.panes.timeline.head.display
        assert any("kept in" in row for row in screen_text(pilot.app))
    assert config.load().columns == ("name", "cost", "took")
    look = chosen_look(config.load())
    async with debugger(refund_loop(), step=3, look=Look(columns=look.columns)).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        assert shown(pilot) == ["name", "cost", "took"]
        await pilot.press("C", "0", "enter")
        await settled(pilot)
        assert shown(pilot) == ["name", "bar", "took"]
    assert config.load().columns is None


async def test_the_list_says_what_a_column_means_what_has_no_room_and_that_the_name_stays(tmp_path):
    async with debugger(refund_loop(), step=3, look=Look(columns=("name", "took"))).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("C", "space")
        await pilot.pause()
        assert screen_text(pilot.app)[-1].strip() == "the name is always shown"
        await pilot.press("G", "space")
        await pilot.pause()
        rows = screen_text(pilot.app)
        assert any("no room at this width: cost" in row for row in rows)
        assert any("cost" in row and "no room" in row and "[✓]" in row for row in rows)
        assert any("what the step cost" in row for row in rows)
        assert isinstance(pilot.app.screen, ColumnsDialog)
        await pilot.press("escape")
        await settled(pilot)
        assert shown(pilot) == ["name", "took"]
    assert config.load().columns is None


async def test_what_cannot_be_kept_is_said_and_used_all_the_same(tmp_path):
    (tmp_path / "config.toml").write_text("theme = ")
    async with debugger(refund_loop(), step=3).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("C", "j", "space", "enter")
        await settled(pilot)
        assert shown(pilot) == ["name", "took"]
        assert screen_text(pilot.app)[-1].strip().startswith("not kept: ")
    assert (tmp_path / "config.toml").read_text() == "theme = "


def test_the_example_of_the_settings_names_columns_that_there_are(tmp_path):
    (example,) = [block for block in code_blocks(DOCS / "configuration.md", "toml") if block.startswith("columns")]
    (tmp_path / "config.toml").write_text(example)
    assert chosen_look(config.load()).columns == ("name", "effect", "gap", "took", "context", "cost")


def test_settings_name_columns_that_there_are():
    assert chosen_look(Config(columns=("took", "cost"))).columns == ("took", "cost")
    with pytest.raises(UsageError) as refused:
        chosen_look(Config(columns=("costs",)))
    assert "costs" in refused.value.message
    assert "cost" in (refused.value.hint or "")
