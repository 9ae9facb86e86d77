"""Resuming from the terminal: what was in flight is asked about, and the run goes on in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until
from textual.app import App

from agent_tt.model import Call
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.resume import ResumeDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.resume_form import InFlightTable, Waiting
from agent_tt_tui.widgets.runs.run_list import RunList

pytestmark = pytest.mark.warm

AGENT = """
import os, signal
import agent_tt


@agent_tt.tool(effect="read")
def look_up(order):
    return {"order": order}


@agent_tt.tool(effect="write")
def charge(order, amount):
    open("charged", "a").write(order + "\\n")
    if not os.path.exists("broke off"):
        open("broke off", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"receipt": 1}


@agent_tt.tool(effect="write")
def thank(receipt):
    open("thanked", "a").write(str(receipt) + "\\n")


def main():
    with agent_tt.record("shop") as run:
        with run.step("look"):
            look_up("12-7")
        with run.step("charge"):
            receipt = charge("12-7", 20)
        with run.step("thank"):
            thank(receipt["receipt"])


if __name__ == "__main__":
    main()
"""


class Shop:
    """A run that broke off while it charged somebody, and the app that shows it."""

    def __init__(self, folder, store):
        self.folder, self.store = folder, store

    def change(self, old, new):
        assert old in AGENT
        (self.folder / "shop.py").write_text(AGENT.replace(old, new))

    def lines(self, name):
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def show(self, screen=None):
        run = self.store.run("shop")
        self.app = AgentTT(screen or (lambda: DebuggerScreen(self.store, run)), look=Look())
        return self.app

    @property
    def text(self):
        return "\n".join(screen_text(self.app))

    async def asked(self, pilot):
        """Open the dialog and wait until it knows what was in flight."""
        screen = self.app.screen
        await until(pilot, lambda: not isinstance(screen, DebuggerScreen) or screen.time.view is not None)
        await pilot.press("R")
        await until(pilot, lambda: isinstance(self.app.screen, ResumeDialog))
        await until(pilot, lambda: not self.app.screen.query_one(ActionRow).busy)
        await pilot.pause()
        return self.app.screen

    async def followed(self, pilot):
        await until(pilot, lambda: isinstance(self.app.screen, DebuggerScreen) and "succeeded" in self.text)


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.py").write_text(AGENT)
    environment = {**os.environ, "AGENT_TT_STORE": str(tmp_path / "runs.db")}
    done = subprocess.run([sys.executable, "shop.py"], cwd=tmp_path, env=environment, timeout=PATIENCE_SECONDS)
    assert done.returncode == -signal.SIGKILL
    with closing(open_store(tmp_path / "runs.db")) as store:
        yield Shop(tmp_path, store)


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_it_says_what_is_given_again_and_asks_what_happened_before_anything_runs(shop, size):
    async with shop.show().run_test(size=size) as pilot:
        await shop.asked(pilot)
        assert "in step 2" in shop.text
        assert "1 answer; none of these calls is made twice" in shop.text
        # Its row has no room for all that it was asked.
        assert 'charge(order="12-7", amount=20) writes' in shop.text
        assert size[0] < 80 or "writes; nobody knows whether it happened" in shop.text
        assert "F resume" in shop.text
        await pilot.press("F")
        assert "say first whether the call in flight happened" in shop.text
        await pilot.press("escape")
        await pilot.pause()
    assert shop.store.run("shop").status == "crashed"
    assert shop.lines("charged") == ["12-7"]


async def test_what_is_said_of_a_step_that_did_not_end_is_read_to_its_end(shop):
    async with shop.show().run_test(size=(120, 40)) as pilot:
        await shop.asked(pilot)
        assert "charge writes; nobody knows whether it happened" in shop.text  # what it was asked is in its row
        await pilot.press("escape")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "this step did not end: the state is the one before it" in " ".join(_right(shop)))


def _right(shop):
    """The words of the right half of the screen."""
    return " ".join(row[32:] for row in shop.text.splitlines()).split()


async def test_what_a_call_gave_is_typed_and_the_call_is_not_made_again(shop):
    async with shop.show().run_test(size=(80, 24)) as pilot:
        await shop.asked(pilot)
        await pilot.press("enter", *["backspace"] * 4, "7", "x", "enter")
        assert "that is not valid JSON" in shop.text
        await pilot.press(*["backspace"] * 2, *'{"receipt":7}', "enter")
        await pilot.pause()
        assert "[yes]" in shop.text
        assert 'it gave {"receipt": 7}' in shop.text
        await pilot.press("F")
        await shop.followed(pilot)
        assert shop.lines("charged") == ["12-7"]
        assert shop.lines("thanked") == ["7"]
        await pilot.press("0", "right", "right", "2")
        await until(pilot, lambda: "made again as call 2" in shop.text)
        await pilot.press("full_stop")
        await until(pilot, lambda: "a person said that call 1 had happened" in shop.text)


async def test_a_call_that_did_not_happen_is_made_and_the_list_of_runs_opens_what_goes_on(shop):
    async with shop.show(lambda: RunsScreen(shop.store)).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shop.app.screen.query_one(RunList).line_count > 0)
        assert "R resume" in shop.text
        await shop.asked(pilot)
        await pilot.press("right")
        assert "[no]" in shop.text
        assert "charge did not happen: it is made now" in shop.text
        await pilot.press("F")
        await shop.followed(pilot)
        assert shop.lines("charged") == ["12-7", "12-7"]
        await pilot.press("R")
        assert "it has succeeded: only a run that crashed" in shop.text


async def test_an_agent_that_asks_otherwise_is_halted_and_its_run_is_as_it_was(shop):
    shop.change('look_up("12-7")', 'look_up("12-8")')
    async with shop.show().run_test(size=(80, 24)) as pilot:
        await shop.asked(pilot)
        await pilot.press("right", "F")
        await until(pilot, lambda: "could not be resumed" in shop.text)
        assert "changed request" in shop.text
        assert "everything is decided" not in shop.text, "why not stands in place of what was in flight"
        assert isinstance(shop.app.screen, ResumeDialog)
    assert shop.store.run("shop").status == "crashed"
    assert shop.lines("charged") == ["12-7"]


async def test_escape_stops_it_and_it_can_be_resumed_again(shop):
    # Without end, but for that of whoever started it: a test that fails leaves nothing behind.
    waiting = 'open("waits", "w").close()\n    parent = os.getppid()\n    while os.getppid() == parent:\n        pass\n'
    shop.change("def main():\n", f"def main():\n    {waiting}")
    async with shop.show().run_test(size=(80, 24)) as pilot:
        await shop.asked(pilot)
        await pilot.press("right", "F")
        await until(pilot, (shop.folder / "waits").exists)
        await until(pilot, lambda: "giving it 1 answer again" in shop.text)
        await pilot.press("F", "left")
        assert "it is running already: esc stops it" in shop.text
        await pilot.press("escape")
        await until(pilot, lambda: "stopped: it is as it was" in shop.text)
        assert shop.store.run("shop").status in ("crashed", "interrupted")
        (shop.folder / "shop.py").write_text(AGENT)
        await until(pilot, lambda: not shop.app.screen.query_one(ActionRow).busy)
        await pilot.press("F")
        await shop.followed(pilot)
        assert shop.lines("charged") == ["12-7", "12-7"]


async def test_a_request_can_only_be_sent_again():
    sent = Waiting(Call(3, 1, "http", "POST https://shop/orders", "pending"), is_asked=True)
    asked = Waiting(Call(3, 2, "llm", "POST https://model/v1/messages", "pending"), is_asked=False)
    assert (sent.can_be_given, sent.is_settled) == (False, False)
    assert asked.is_settled
    shown = InFlightTable()
    shown.rows = [sent, asked]

    class Shown(App[None]):
        def compose(self):
            yield shown

    app = Shown()
    app.look = Look()
    async with app.run_test(size=(80, 5)):
        first, second = screen_text(app)[:2]
        assert "sent again?  yes" in first
        assert " no " not in first
        assert second.rstrip().endswith("asked again")
