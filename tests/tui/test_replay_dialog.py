"""Replaying from the debugger: the pre-flight, the replay in its own process, and landing on what differs."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from tests.fresh_source import write_source
from tests.patience import PATIENCE_SECONDS
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger
from tests.tui.fake_source import refund_loop
from tests.tui.replay_reports import finding, near, report
from tests.tui.waiting import until

from agent_tt.errors import Damaged
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.replay import ReplayDialog, Replayed
from agent_tt_tui.screens.running.replayed import ReplayedDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.runs.run_list import RunList

pytestmark = pytest.mark.warm

AGENT = """
import os
import agent_tt


@agent_tt.llm
def think(messages):
    return {"length": len(messages[0]["content"])}


@agent_tt.tool(effect="write")
def send(text):
    open("sent.txt", "a").write(text)
    return "sent"


@agent_tt.tool
def forgotten(text):
    return text


def main(state=None):
    state = state or {"sent": 0}
    with agent_tt.record("sender", state=state) as run:
        with run.step("prepare"):
            think([{"role": "user", "content": "which letters are due?"}])
            think([{"role": "user", "content": "write three of them, please"}])
        for text in ("the first letter", "a second postcard", "the third parcel"):
            with run.step("send"):
                send(text)
                state["sent"] += 1


if __name__ == "__main__":
    main()
"""

ENDLESS = """
    with open("pid.part", "w") as file:
        file.write(str(os.getpid()))
    os.rename("pid.part", "pid")
    while True:
        pass
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sender")
    (folder / "sender.py").write_text(AGENT)
    environment = {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db")}
    subprocess.run([sys.executable, "sender.py"], cwd=folder, env=environment, check=True, timeout=PATIENCE_SECONDS)
    return folder


@pytest.fixture
def sender(recorded):
    """The agent's file and its store; no replay may run a tool that writes, or write into the store."""
    (recorded / "sender.py").write_text(AGENT)
    sent = (recorded / "sent.txt").read_text()
    with closing(open_store(recorded / "runs.db")) as store:
        yield Sender(recorded, store)
        assert len(store.runs()) == 1
    assert (recorded / "sent.txt").read_text() == sent, "a tool that writes really ran"


class Sender:
    def __init__(self, folder, store):
        self.folder, self.store = folder, store

    def change(self, *words):
        source = AGENT
        for old, new in words:
            assert old in source
            source = source.replace(old, new)
        write_source(self.folder / "sender.py", source)


class Debugger:
    """The debugger of a run, and what a person does to replay in it."""

    def __init__(self, source, run, step=None, look=None):
        self.app = AgentTT(lambda: DebuggerScreen(source, source.run(run), step), look=look or Look())

    def begin(self, pilot):
        self.pilot = pilot
        return self

    @property
    def text(self):
        return "\n".join(screen_text(self.app))

    @property
    def screen(self):
        return self.app.screen

    async def opened(self):
        await until(self.pilot, lambda: isinstance(self.screen, DebuggerScreen) and self.screen.time.view is not None)

    async def preflight(self):
        await self.opened()
        await self.pilot.press("r")
        await until(
            self.pilot, lambda: isinstance(self.screen, ReplayDialog) and not self.screen.query_one(ActionRow).busy
        )
        return self.screen

    async def replay(self, *keys):
        await self.preflight()
        await self.pilot.press(*keys, "F")
        await until(self.pilot, lambda: isinstance(self.screen, ReplayedDialog))
        await self.pilot.pause()
        return self.screen

    async def landed(self, number):
        await until(
            self.pilot,
            lambda: (
                isinstance(self.screen, DebuggerScreen)
                and self.screen.time.view is not None
                and self.screen.time.view.number == self.screen.time.number == number
                and not self.screen.time.is_landing
            ),
        )
        await self.pilot.pause()
        return self.screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_preflight_shows_answers_by_boundary_what_has_none_and_both_modes(sender, size):
    shown = Debugger(sender.store, "sender", step=2)
    async with shown.app.run_test(size=size) as pilot:
        await shown.begin(pilot).preflight()
        # Beside the dialog stands what it does not cover.
        rows = re.findall(r"(send|think) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)", "\n".join(screen_text(shown.app)))
        assert rows == [("send", "3", "2", "3", "0", "0"), ("think", "2", "0", "2", "0", "0")]
        assert "writes" in shown.text
        assert "no answers: forgotten" in shown.text
        assert "5 recorded calls" in shown.text
        assert "[halt]" in shown.text
        await pilot.press("right")
        assert "[observe]" in shown.text
        await pilot.press("left")
        assert "[halt]" in shown.text
        assert "F replay" in shown.text


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (40, 10)])
async def test_the_action_and_what_has_no_answers_are_seen_on_any_screen(sender, size):
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=size) as pilot:
        await shown.begin(pilot).preflight()
        assert "F replay" in shown.text
        assert "! no answers: forgotten" in shown.text


async def test_a_changed_agent_is_pointed_out_before_it_is_replayed(sender):
    sender.change(("third", "last"))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        assert "sender.py:main  ≠ changed since it was recorded" in shown.text


async def test_a_sample_replays_faithfully_and_nothing_is_recorded(sample_store):
    before = len(sample_store.runs())
    shown = Debugger(sample_store, "refund-loop")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).replay()
        assert "✓ as recorded: 41 calls served, 0 requests made" in shown.text
        assert "TimeoutError" in shown.text
        assert "as it did then" in shown.text or "…" in shown.text
        await pilot.press("enter")
        assert isinstance(shown.screen, ReplayedDialog)
        await pilot.press("escape")
        await shown.opened()
        assert not shown.screen.divergences.pane.display
        await pilot.press("r")
        await until(pilot, lambda: "✓ as recorded" in shown.text)
    assert len(sample_store.runs()) == before


async def test_enter_replays_too(sender):
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        await pilot.press("enter")
        await until(pilot, lambda: "as recorded: 5 calls served" in shown.text)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (170, 44)])
async def test_a_replay_halts_and_lands_on_the_call_that_was_asked_otherwise(sender, size):
    sender.change(("write three", "write four"), ("second postcard", "second picture"))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=size) as pilot:
        await shown.begin(pilot).replay()
        assert "≠ diverged in 1 place: 1 of 5 calls served, 0 requests made" in shown.text
        await pilot.press("enter")
        screen = await shown.landed(1)
        view = screen.panes.call_pane.call_view if screen.panes.call_pane.display else screen.panes.inspector.call_view
        assert view.call.number == 2
        assert view.display
        assert screen.divergences.pane.display
        assert not screen.panes.diff.display
        assert "DIVERGENCE 1 of 1  changed request" in shown.text
        assert "messages[0].content" in shown.text
        assert "write three four of them, please" in shown.text
        assert "lane main" in shown.text
        assert "sender.py:" in shown.text


async def test_observing_collects_all_and_the_keys_of_errors_go_through_them(sender):
    sender.change(("write three", "write four"), ("first letter", "first note"), ("third parcel", "third package"))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).replay("right")
        assert "3 places: 5 of 5 calls served" in shown.text
        await pilot.press("j", "enter")
        screen = await shown.landed(2)
        assert "DIVERGENCE 2 of 3" in shown.text
        assert ["≠" in line[:32] for line in screen_text(shown.app)[3:7]] == [True, True, False, True]
        await pilot.press("x")
        await shown.landed(4)
        assert "third parcel package" in shown.text
        await pilot.press("x")
        assert "this is the last divergence" in shown.text
        await pilot.press("X", "X")
        await shown.landed(1)
        await pilot.press("r")
        await until(pilot, lambda: isinstance(shown.screen, ReplayedDialog))
        await pilot.press("escape")
        await shown.opened()
        await pilot.press("escape")
        await pilot.pause()
        assert screen.panes.diff.display
        assert "≠" not in shown.text


async def test_a_run_can_be_replayed_again_after_the_agent_was_mended(sender):
    sender.change(("second postcard", "second picture"))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).replay("right")
        assert "diverged in 1 place" in shown.text
        sender.change()
        await pilot.press("r")
        await until(
            pilot, lambda: isinstance(shown.screen, ReplayDialog) and not shown.screen.query_one(ActionRow).busy
        )
        assert "[observe]" in shown.text
        await pilot.press("F")
        await until(pilot, lambda: "✓ as recorded" in shown.text)


async def test_a_run_is_replayed_from_the_list_of_runs_and_its_divergence_opened(sender):
    sender.change(("second postcard", "second picture"))
    app = AgentTT(lambda: RunsScreen(sender.store), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.query_one(RunList).line_count > 0)
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, ReplayDialog) and not app.screen.query_one(ActionRow).busy)
        await pilot.press("right", "F")
        await until(pilot, lambda: isinstance(app.screen, ReplayedDialog))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.time.view is not None)
        await until(pilot, lambda: app.screen.time.view.number == 3 and not app.screen.time.is_landing)
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "DIVERGENCE 1 of 1  changed request" in text
        assert "second postcard picture" in text
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, ReplayedDialog))


async def test_the_agent_may_be_given_other_arguments_and_they_are_kept_for_the_next_time(sender):
    sender.change(("import os\n", "import os, sys\n"), ('"a second postcard"', 'f"a {sys.argv[1:]} postcard"'))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        await pilot.press("a", *"one 'two", "enter")
        assert "that is not a list of arguments" in shown.text
        await pilot.press("apostrophe", "enter")
        await pilot.pause()
        assert "sender.py:main one two" in shown.text
        await pilot.press("F")
        await until(pilot, lambda: isinstance(shown.screen, ReplayedDialog))
        await pilot.press("enter")
        await shown.landed(3)
        assert "['one', 'two']" in shown.text
        await pilot.press("r", "r")
        await until(
            pilot, lambda: isinstance(shown.screen, ReplayDialog) and not shown.screen.query_one(ActionRow).busy
        )
        assert "sender.py:main one two" in shown.text


async def test_code_that_has_moved_is_named_and_kept_for_the_next_time(sender):
    (sender.folder / "moved").mkdir(exist_ok=True)
    (sender.folder / "sender.py").rename(sender.folder / "moved" / "letters.py")
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        await pilot.press("F")
        await until(pilot, lambda: "sender.py" in shown.text and not shown.screen.query_one(ActionRow).busy)
        assert isinstance(shown.screen, ReplayDialog)
        await pilot.press("A", "ctrl+u", *"letters", "enter")
        assert "that is not FILE:NAME" in shown.text
        await pilot.press("ctrl+u", *"moved/letters.py:main", "enter")
        await pilot.pause()
        assert "will run    moved/letters.py:main" in shown.text
        await pilot.press("F")
        await until(pilot, lambda: isinstance(shown.screen, ReplayedDialog))
        await until(pilot, lambda: "as recorded" in shown.text)
        await pilot.press("r")
        await until(
            pilot, lambda: isinstance(shown.screen, ReplayDialog) and not shown.screen.query_one(ActionRow).busy
        )
        assert "will run    moved/letters.py:main" in shown.text
        await pilot.press("A", "ctrl+u", "enter")
        await pilot.pause()
        assert "will run    sender.py:main" in shown.text


async def test_while_a_replay_runs_it_says_how_many_calls_are_answered(sender):
    sender.change(
        ("        for text in", "        while not os.path.exists('enough'):\n            pass\n        for text in")
    )
    (sender.folder / "enough").unlink(missing_ok=True)
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        await pilot.press("F")
        await until(pilot, lambda: "2 of 5 calls answered" in shown.text)
        (sender.folder / "enough").touch()
        await until(pilot, lambda: "✓ as recorded" in shown.text)


async def test_what_a_store_from_elsewhere_names_runs_only_after_a_yes(sender):
    with closing(sqlite3.connect(sender.store.path)) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'made_at'")
        connection.commit()
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        await pilot.press("F")
        await until(pilot, lambda: "Run it, and trust this store from now on?" in shown.text)
        assert "sender.py:main" in shown.text
        await pilot.press("n")
        await until(pilot, lambda: "asked" in shown.text)  # the path before it is long, and wraps
        await pilot.press("F")
        await until(pilot, lambda: isinstance(shown.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: "✓ as recorded" in shown.text)


async def test_escape_stops_a_replay_and_its_process(sender):
    pid_file = sender.folder / "pid"
    pid_file.unlink(missing_ok=True)
    sender.change(("    state = state or", f"{ENDLESS}    state = state or"))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        dialog = await shown.begin(pilot).preflight()
        await pilot.press("F")
        await until(pilot, pid_file.exists)
        assert "esc stops" in shown.text
        await pilot.press("F", "right")
        assert "it is being replayed: esc stops it" in shown.text
        await pilot.press("escape")
        await until(pilot, lambda: not _lives(int(pid_file.read_text())))
        assert shown.screen is dialog
        assert "F replay" in shown.text
        sender.change()
        await pilot.press("F")
        await until(pilot, lambda: "✓ as recorded" in shown.text)


async def test_a_run_that_cannot_be_read_says_so_in_place_of_its_answers(sender, monkeypatch):
    def damaged(*_args, **_options):
        raise Damaged("step 2 cannot be read: blob missing", hint="agent-tt verify says more")

    monkeypatch.setattr("agent_tt_tui.screens.running.replay.preflight", damaged)
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        await until(pilot, lambda: "✗ step 2 cannot be read: blob missing" in shown.text)
        assert "agent-tt verify says more" in shown.text
        await pilot.press("F")
        assert isinstance(shown.screen, ReplayDialog)
        assert not shown.screen.query_one(ActionRow).busy


async def test_leaving_the_app_stops_a_replay_too(sender):
    pid_file = sender.folder / "pid"
    pid_file.unlink(missing_ok=True)
    sender.change(("    state = state or", f"{ENDLESS}    state = state or"))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        await shown.begin(pilot).preflight()
        await pilot.press("F")
        await until(pilot, pid_file.exists)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while _lives(int(pid_file.read_text())):
            await asyncio.sleep(0.01)


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("def main(", "def another("), "main"),
        (("    state = state or", "    os.kill(os.getpid(), 9)\n    state = state or"), "signal 9"),
    ],
    ids=["gone", "died"],
)
async def test_an_agent_that_cannot_be_started_or_dies_is_told_from_one_that_diverges(sender, words, said):
    sender.change(words, *([("    main()", "    another()")] if "another" in words[1] else []))
    shown = Debugger(sender.store, "sender")
    async with shown.app.run_test(size=(80, 24)) as pilot:
        dialog = await shown.begin(pilot).preflight()
        await pilot.press("F")
        await until(pilot, lambda: "✗" in shown.text and said in shown.text)
        assert shown.screen is dialog
        assert "divergence" not in shown.text
        assert "not replayed" in shown.text
        assert "BOUNDARY" not in shown.text
        assert "no answers" not in shown.text
        sender.change()
        await pilot.press("F")
        await until(pilot, lambda: "✓ as recorded" in shown.text)


@pytest.mark.parametrize("read_only", [True, False])
async def test_what_cannot_be_replayed_says_why(read_only):
    source = refund_loop()
    source.set_run(replace(source.the_run, read_only=read_only))
    app = debugger(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.time.view is not None)
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, DebuggerScreen)
        said = "how its agent was started is not in it" if read_only else "what ran it was not recorded"
        assert said in "\n".join(screen_text(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (50, 14)])
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_a_report_is_drawn_whole_at_every_size(size, ascii_only):
    """A made-up report in a made-up run: the list, the chosen divergence below it, and where it lands."""
    hostile = finding("unrecorded effect", 7, name="\x1b[2Jhttp", changes=(), call=None, nearest=(near(7),))
    made = report(finding(), hostile, finding("missing call", 9), observed=True)
    source = refund_loop()
    app = debugger(source, look=Look(glyphs=ASCII) if ascii_only else Look())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.time.view is not None)
        app.screen.run_again.replayed(source, app.screen.model.run, Replayed(made))
        await until(pilot, lambda: isinstance(app.screen, ReplayedDialog))
        await pilot.press("j")
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "diverged in 3 places" in text
        assert "unrecorded effect" in text
        assert "2 of 3" in text
        assert "\\x1b[2Jhttp" in text
        if ascii_only:
            assert text.isascii()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.time.number == 7)
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "DIVERGENCE 2 of 3  unrecorded effect" in text
        if ascii_only:
            assert text.isascii()


async def test_the_replay_of_a_copy_in_another_place_runs_the_code_of_the_run(sender, tmp_path):
    """A store is only a file: what is run is what the run recorded, wherever the file lies."""
    shutil.copy(sender.folder / "runs.db", tmp_path / "runs.db")
    with closing(open_store(tmp_path / "runs.db")) as store:
        shown = Debugger(store, "sender")
        async with shown.app.run_test(size=(80, 24)) as pilot:
            await shown.begin(pilot).replay()
            assert "as recorded: 5 calls served" in shown.text
