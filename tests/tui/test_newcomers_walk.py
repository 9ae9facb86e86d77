"""A first session at 80 x 24 by keys that stand on the screen alone: each is read off it, and found by what it says."""

from __future__ import annotations

import re

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

from agent_tt import config
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.screens.runs.empty import EmptyScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.dialogs.action_row import ActionRow

pytestmark = pytest.mark.warm

_NAMES = {"←": "left", "→": "right", "↑": "up", "↓": "down", "esc": "escape"}


class Newcomer:
    """Somebody who knows no key: reads the screen, and presses what it names."""

    def __init__(self, pilot) -> None:
        self._pilot, self.app = pilot, pilot.app

    @property
    def text(self) -> str:
        return "\n".join(screen_text(self.app))

    async def sees(self, *words) -> None:
        """Wait until all of these stand on the screen."""
        try:
            await until(self._pilot, lambda: all(each in self.text for each in words))
        except TimeoutError:
            pytest.fail(f"{words} are not there:\n{self.text}")

    async def comes_to(self, kind) -> None:
        """Wait until a screen is there, with all that it reads."""
        try:
            await until(self._pilot, lambda: isinstance(self.app.screen, kind) and self.app.screen.is_mounted)
        except TimeoutError:
            pytest.fail(f"no {kind.__name__}, but {self.app.screen}:\n{self.text}")
        await self._rest()

    async def _rest(self) -> None:
        if not isinstance(self.app.screen, CompareScreen):  # which follows its fork until that has ended
            await workers_ended(self.app)
        await self._pilot.pause()

    async def press(self, word, *, second=False) -> None:
        """Press the key that the footer names with a word; of two that stand there, the first or the second."""
        footer = screen_text(self.app)[-1]
        entries = [entry for entry in re.split(r" {2,}", footer.strip()) if entry.endswith(f" {word}")]
        assert len(entries) == 1, f"which key is {word!r}? {footer}"
        keys = entries[0].removesuffix(f" {word}")
        pair = keys.split(" ") if " " in keys else list(keys) if keys[0] in _NAMES else [keys]
        await self._press(pair[second])

    async def press_beside(self, words) -> None:
        """Press the key that stands directly before words anywhere on the screen."""
        found = re.findall(rf"(?<!\S)(\S|esc) ?{re.escape(words)}", self.text)
        assert len(found) == 1, f"which key is {words!r}?\n{self.text}"
        await self._press(found[0])

    async def _press(self, shown) -> None:
        await self._pilot.press(_NAMES.get(shown, shown))
        await self._rest()

    def row_of_cursor(self, column) -> str:
        """What stands in the row that the bar in this column marks, from there on."""
        rows = [row[column:] for row in screen_text(self.app) if row[column : column + 1] == "▌"]
        return rows[-1] if rows else ""


@pytest.fixture
def _own_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "user_file", lambda: tmp_path / "config.toml")
    monkeypatch.delenv("AGENT_TT_HINTS")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_own_settings")
async def test_from_nothing_to_a_compared_fork_and_to_why_another_run_answered_wrongly(tmp_path):
    app = AgentTT(lambda: EmptyScreen(tmp_path / "runs.db"), look=Look(seen=frozenset()))
    async with app.run_test(size=(80, 24)) as pilot:
        they = Newcomer(pilot)
        await they.press("sample")
        await they.comes_to(DebuggerScreen)
        await they.sees("refund-loop", "gave up after 20 searches", "tour 1/7")

        # What would another version have done before the last search?
        await they.press("step")
        await they.press("fork")
        await they.comes_to(ForkDialog)
        await until(pilot, lambda: not app.screen.query_one(ActionRow).busy)
        await they.sees("( ) refund_loop.py:main_v2", "no recorded tool writes")
        await they.press("change")
        await until(pilot, lambda: not app.screen.query_one(ActionRow).busy)
        await they.sees("(•) refund_loop.py:main_v2")
        await they.press("run")
        await they.comes_to(CompareScreen)
        await they.sees("✓ succeeded", "Our help centre has", "≠ parted at")
        await they.press("back")
        await they.comes_to(DebuggerScreen)
        await they.press("back")
        await they.comes_to(RunsScreen)
        await they.sees("fork-1")

        # Another run answered, but wrongly. Who wrote the amount that the bank refused?
        await they.press("add")
        await they.press("row", second=True)
        await they.press("row", second=True)
        await they.press("choose")
        await they.comes_to(DebuggerScreen)
        await they.sees("flaky-checkout", "insufficient_funds")
        await they.press("pane")
        for _ in range(20):
            if re.match("▌ +amount ", they.row_of_cursor(32)):
                break
            await they.press("value", second=True)
        await they.press("blame")
        await they.sees("WHO WROTE  payment.amount", "price_order", "13684")
        await they.press("back")

        # Which result of a tool made it answer so?
        for _ in range(3):
            await they.press("step", second=True)
        await they.press_beside("Context")
        await they.sees("model call 10", "FROM TOP TO BOTTOM")
        for _ in range(20):
            if "402 insufficient" in they.row_of_cursor(0):
                break
            await they.press("item", second=True)
        await they.sees("FROM  84 % charge_card, step 9 or 7 or 8")
        await they.press("where from")
        await they.sees("charge_card, step 8")
        await they.press("choose")
        await they.sees("9/10")
        await they.press_beside("goes back to the context")
        await they.sees("model call 10")
        await they.press("back")
        await they.sees("after 10")
        await they.press("back")
        await they.comes_to(RunsScreen)
        await they.press("quit")
        await until(pilot, lambda: app._exit)
