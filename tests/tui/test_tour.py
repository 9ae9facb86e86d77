"""The tour of the debugger: shown once, ended by a key, going on by what is done, and never in the way."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.fake_source import refund_loop
from tests.tui.readme_parts import DOCS

from agent_tt import config
from agent_tt.config import Config
from agent_tt.store import open_store
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import Look
from agent_tt_tui.settings import chosen_look
from agent_tt_tui.viewmodel.debugger.tour import SENTENCES, pieces
from agent_tt_tui.widgets.debugger.tour_row import TourRow

SIZES = [(80, 24), (120, 40), (200, 50), (60, 20)]


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "user_file", lambda: tmp_path / "config.toml")
    monkeypatch.delenv("AGENT_TT_HINTS")
    monkeypatch.chdir(tmp_path)


def said(screen) -> str:
    """What the tour says; "" where it is not there."""
    rows = screen.query(TourRow)
    if not rows:
        return ""
    at = rows.first().region
    return " ".join(" ".join(screen_text(screen.app)[at.y : at.bottom]).split())


def drawn(screen) -> str:
    """What the tour says, also below a dialog."""
    row = screen.query_one(TourRow)
    return " ".join(row.render_line(y).text for y in range(row.size.height))


def place(screen) -> str:
    """Which sentence is said."""
    return said(screen).rpartition("tour ")[2].partition(" ")[0]


async def test_it_comes_by_itself_once_and_then_for_its_key(tmp_path):
    (tmp_path / "config.toml").write_text('# mine\ntheme = "nord"\n')
    async with debugger(refund_loop(), step=3, look=chosen_look(config.load())).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        assert place(screen) == "1/7"
        await pilot.press("escape")
        await settled(pilot)
        assert said(screen) == ""
    assert config.load().seen == ("tour",)
    assert (tmp_path / "config.toml").read_text().startswith("# mine\n")
    assert config.load().theme == "nord"
    async with debugger(refund_loop(), step=3, look=chosen_look(config.load())).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        assert said(screen) == ""
        await pilot.press("f2")
        await settled(pilot)
        assert place(screen) == "1/7"


async def test_it_comes_once_in_an_app_whose_settings_cannot_be_written_which_is_said(tmp_path, monkeypatch):
    (tmp_path / "folder").write_text("a file where a folder would have to be")
    monkeypatch.setattr(config, "user_file", lambda: tmp_path / "folder" / "config.toml")
    app = debugger(refund_loop(), step=3, look=Look(seen=frozenset()))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        assert place(screen) == "1/7"
        assert screen_text(app)[-1].strip().startswith("not kept that this was explained: ")
        assert app.look.seen == {"tour"}


@pytest.mark.parametrize("settings", [Config(hints=False), Config(seen=("tour",))])
async def test_it_does_not_come_unasked_where_it_was_seen_or_is_not_wanted(settings):
    async with debugger(refund_loop(), step=3, look=chosen_look(settings)).run_test(size=(120, 40)) as pilot:
        assert said(await settled(pilot)) == ""
    assert settings.hints is None or config.load().seen == ()


def test_the_environment_turns_it_off(monkeypatch):
    assert chosen_look(config.load()).seen == frozenset()
    monkeypatch.setenv("AGENT_TT_HINTS", "off")
    assert chosen_look(config.load()).seen is None


async def test_each_sentence_goes_on_by_doing_what_it_says(sample_store):
    async with debugger(sample_store, step=3, look=Look(seen=frozenset())).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        for number, (keys, after) in enumerate(
            [
                (["left"], []),
                (["tab"], []),
                (["b"], ["escape"]),
                (["e"], ["escape"]),
                (["f"], ["escape"]),
                (["c"], ["escape"]),
            ],
            1,
        ):
            assert place(screen) == f"{number}/7", keys
            await pilot.press(*keys)
            await pilot.pause()
            await pilot.press(*after)
            await settled(pilot)
        assert place(screen) == "7/7"
        await pilot.press("?")
        await pilot.pause()
        await pilot.press("escape")
        await settled(pilot)
        assert said(screen) == ""


async def test_its_key_goes_on_to_the_end_and_what_was_done_ahead_is_passed_over():
    async with debugger(refund_loop(), step=3, look=Look(seen=frozenset())).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("tab")  # which is what the second sentence says
        places = [place(screen)]
        while said(screen):
            await pilot.press("f2")
            await settled(pilot)
            places.append(place(screen))
        assert places == ["1/7", "3/7", "4/7", "5/7", "6/7", "7/7", ""]


async def test_a_key_that_is_refused_does_not_go_on(sample_runs_file):
    with closing(open_store(sample_runs_file, read_only=True)) as source:
        await refused(source)


async def refused(source):
    async with debugger(source, step=3, look=Look(seen=frozenset())).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("f2", "f2", "f2")
        await settled(pilot)
        assert place(screen) == "4/7"
        assert screen.blocked("edit.value") is not None
        await pilot.press("e")
        await settled(pilot)
        assert place(screen) == "4/7"


async def test_esc_closes_what_is_in_front_first_and_the_tour_says_that_it_ends_only_where_it_does(sample_store):
    async with debugger(sample_store, step=3, look=Look(seen=frozenset())).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        assert "esc ends it" in said(screen)
        await pilot.press("tab", "b")
        await settled(pilot)
        assert screen.who_wrote.pane.is_open
        assert "esc ends it" not in said(screen)
        await pilot.press("escape")
        await settled(pilot)
        assert not screen.who_wrote.pane.is_open
        assert "esc ends it" in said(screen)
        await pilot.press("?")
        await pilot.pause()
        assert pilot.app.screen is not screen
        assert drawn(screen).strip() == "tour 4/7"  # the keys that act now are those of the dialog
        await pilot.press("escape")
        await settled(pilot)
        assert "esc ends it" in said(screen)
        await pilot.press("escape")
        await settled(pilot)
        assert said(screen) == ""


async def test_it_names_the_keys_that_the_user_has():
    keymap = {"time.next": "t", "tour.go": "f9", "blame.open": "f7", "app.escape": "f10"}
    look = Look(keymap=keymap, seen=frozenset())
    async with debugger(refund_loop(), step=3, look=look).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        assert said(screen).startswith("← t go through")
        assert said(screen).endswith("f9 goes on f10 ends it")
        await pilot.press("f9", "f9")
        await settled(pilot)
        assert said(screen).startswith("f7 tells who wrote")


@pytest.mark.parametrize("size", SIZES)
async def test_every_sentence_is_whole_at_every_size_and_hides_nothing(size):
    async with debugger(refund_loop(), step=3, look=Look(seen=frozenset())).run_test(size=size) as pilot:
        screen = await settled(pilot)
        for sentence in SENTENCES:
            words = "".join(text for text, _ in pieces(sentence.words, screen.query_one(TourRow)._key))
            assert said(screen).startswith(" ".join(words.split()))
            row = screen.query_one(TourRow).region
            assert row.height == {80: 2, 120: 2, 200: 1}.get(size[0], row.height)
            others = [screen.panes._body, screen.panes.scrubber, screen.query_one("FooterRow")]
            assert not any(row.overlaps(other.region) for other in others)
            assert screen.panes.timeline.region.height >= 8
            await pilot.press("f2")
            await settled(pilot)


def test_each_sentence_names_what_it_waits_for():
    commands = {command.id for command in DEBUGGER.commands}
    for sentence in SENTENCES:
        named: list[str] = []

        def key(first: str, second: str, named: list[str] = named) -> str:
            named += filter(None, (first, second))
            return "key"

        list(pieces(sentence.words, key))
        assert set(named) <= commands
        assert sentence.done_by & set(named)
        assert sentence.done_by <= commands


def test_the_settings_that_the_documents_name_turn_it_off_and_keep_it(tmp_path):
    page = (DOCS / "keys.md").read_text()
    for line, seen in [("hints = false", None), ('seen = ["tour"]', {"tour"})]:
        assert f"`{line}`" in page
        (tmp_path / "config.toml").write_text(line)
        assert chosen_look(config.load()).seen == seen
