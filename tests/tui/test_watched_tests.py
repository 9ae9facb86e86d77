"""Tests that are watched while the app is open: a file that is saved, and what the foot of every screen says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.core.golden.asking import prompts_in, recorded, words
from tests.core.web_server import OPENAI_ANSWER, serving
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.golden.run_rules import Ends
from agent_tt.golden.watching import Saved, Unread
from agent_tt_tui.app import AgentTT
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.help import HelpScreen
from agent_tt_tui.look import Look
from agent_tt_tui.screens.golden.kept import GoldensScreen
from agent_tt_tui.viewmodel.golden.watched import Watched
from agent_tt_tui.widgets.golden.kept_list import GoldenList

pytestmark = pytest.mark.warm("httpx")


@pytest.fixture
def server(monkeypatch, tmp_path):
    with serving(OPENAI_ANSWER) as web:
        monkeypatch.setenv("MODEL_SERVER", web.url)
        monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
        monkeypatch.chdir(tmp_path)
        yield web


def foot(app) -> str:
    return screen_text(app)[-2]


def app_of_tests(golden, look=None):
    return AgentTT(lambda: GoldensScreen(golden.path.parent), look=look or Look())


def said_of(watched: Watched, glyphs=UNICODE) -> str:
    return "".join(text for text, _ in watched.pieces(glyphs))


async def test_what_is_saved_breaks_and_is_mended_is_said_at_the_foot_of_every_screen(server, tmp_path):
    golden = recorded(tmp_path, server.url, (Ends(),))
    server.forget()
    app = app_of_tests(golden)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.screen.query_one(GoldenList).current is not None)
        assert "watching" not in foot(app)
        await pilot.press("w")
        await until(pilot, lambda: "1 of 1 passed" in foot(app))
        assert foot(app).rstrip() == " watching  1 of 1 passed"
        await until(pilot, lambda: app.screen.query_one(GoldenList).current.state == "passed")
        words(tmp_path, "one", "another", "three")
        await until(pilot, lambda: "1 failed" in foot(app))
        assert "watching  words.py was saved  ✗ asking broke  1 failed  asking: asks what was not rec" in foot(app)
        await until(pilot, lambda: app.screen.query_one(GoldenList).current.state == "failed")
        await pilot.press("?")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert "asking broke" in foot(app)
        words(tmp_path, "one", "two", "three")
        await until(pilot, lambda: "mended" in foot(app))
        assert foot(app).rstrip().endswith("words.py was saved  ✓ asking is mended  1 of 1 passed")
        await pilot.press("escape")
        assert "asking is mended" in foot(app)
        await until(pilot, lambda: app.screen.query_one(GoldenList).current.state == "passed")
        await pilot.press("w")
        assert "tests are not watched any more" in screen_text(app)[-1]
        assert "watching" not in foot(app)
    assert server.asked == []


async def test_with_leave_what_was_asked_and_saved_is_said_and_leaving_ends_it(server, tmp_path):
    golden = recorded(tmp_path, server.url, (Ends(),))
    server.forget()
    app = app_of_tests(golden, Look(glyphs=ASCII))
    async with app.run_test(size=(180, 30)) as pilot:
        await until(pilot, lambda: app.screen.query_one(GoldenList).current is not None)
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "made for real" in " ".join(screen_text(app))
        await pilot.press("n", "W")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: "1 of 1 passed" in foot(app))
        assert "watching, calls for real  1 of 1 passed  asked nothing; saved 5 calls" in foot(app)
        assert server.asked == []
        words(tmp_path, "one", "another", "three")
        await until(pilot, lambda: "words.py" in foot(app) and "passed" in foot(app))
        assert "; saved 4 calls, 8 tokens" in foot(app)
        assert prompts_in(server.bodies) == ["another"]
        assert "\n".join(screen_text(app)).isascii()
        assert not app._end_watch.is_set()
    assert app._end_watch.is_set()


async def test_a_folder_whose_tests_are_gone_cannot_be_watched_and_the_foot_claims_nothing(server, tmp_path):
    golden = recorded(tmp_path, server.url, (Ends(),))
    app = app_of_tests(golden)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.screen.query_one(GoldenList).current is not None)
        golden.path.unlink()
        await pilot.press("w")
        await until(pilot, lambda: "no goldens to watch" in screen_text(app)[-1])
        assert "watching" not in foot(app)


async def test_watching_can_be_ended_where_no_test_is_left(tmp_path):
    app = AgentTT(lambda: GoldensScreen(tmp_path), look=Look())
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "no test is kept here yet" in "".join(screen_text(app)))
        await pilot.press("w")
        assert app.watched is None
        app.watched = Watched()
        await pilot.pause()
        assert "watching" in foot(app)
        await pilot.press("w")
        assert app.watched is None


def test_a_test_that_cannot_be_read_is_said_and_counts_as_neither():
    watched = Watched().after(Unread(Path("x/broken.toml"), "name is\x1b no text"))
    assert said_of(watched) == ("watching  1 could not be run or judged  broken: could not run: name is\\x1b no text")
    assert said_of(watched.after(Saved((Path("a.py"), Path("b.py")), ("broken",))), ASCII) == (
        "watching  a.py, b.py were saved"
    )
