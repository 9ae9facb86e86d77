"""Help: the keys of the screen below, the signs on it, and the words by which both are found."""

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until
from textual.widgets import Input

from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.help import HelpLines, HelpScreen
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.legend import legend
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen


@pytest.fixture
def app(sample_store):
    run = sample_store.run("refund-loop")
    return AgentTT(lambda: DebuggerScreen(sample_store, run, 2), look=Look())


async def opened(pilot) -> HelpLines:
    await pilot.press("?")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    lines = pilot.app.screen.query_one(HelpLines)
    await until(pilot, lambda: lines.line_count > 1)
    return lines


def listed(lines: HelpLines) -> list[tuple[str, str]]:
    return [(mark, words) for mark, words in lines._rows if words]


async def test_every_key_and_every_sign_is_there_and_what_acts_here_stands_first(app):
    async with app.run_test(size=(120, 40)) as pilot:
        lines = await opened(pilot)
        words = " ".join(words for _, words in listed(lines))
        for command in DEBUGGER.commands:
            assert " ".join(command.help.split()) in words
        for _, signs in legend(UNICODE):
            for sign, meaning in signs:
                assert (sign, meaning) in listed(lines)
        titles = [mark for mark, words in lines._rows if mark and not words]
        assert titles[0] not in ("EVERYWHERE", "PANES")
        assert titles.index("EVERYWHERE") < titles.index("WHAT A STEP DID")


@pytest.mark.parametrize(
    ("typed", "found", "not_found"),
    [
        ("fork", "Fork", "Go to the next step"),
        ("≠", "differs; here two runs parted", "Fork"),
        ("[", "Go to where the selected path was last written", "Go to the next step"),
        ("next step lane", "Go to the next step in this lane", "Go ten steps on"),
        ("ended nobody", "nobody knows", "interrupted"),
    ],
)
async def test_words_a_key_or_a_sign_find_their_rows(app, typed, found, not_found):
    async with app.run_test(size=(120, 40)) as pilot:
        lines = await opened(pilot)
        await pilot.press("/")
        app.screen.query_one(Input).value = typed
        await until(pilot, lambda: lines.wanted == typed)
        words = [f"{words} " for _, words in listed(lines)]
        assert any(found in each for each in words)
        assert not any(not_found in each for each in words)


async def test_esc_lists_everything_again_and_then_closes(app):
    async with app.run_test(size=(80, 24)) as pilot:
        lines = await opened(pilot)
        everything = lines.line_count
        await pilot.press("/", *"zzz")
        await until(pilot, lambda: "NOTHING HAS zzz" in "\n".join(screen_text(app)))
        await pilot.press("escape")
        assert lines.line_count == everything
        assert lines.has_focus
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_the_legend_has_signs_of_the_chosen_set(glyphs):
    signs = [sign for _, rows in legend(glyphs) for sign, _ in rows]
    assert all(len(sign) == 1 for sign in signs)
    assert glyphs is UNICODE or all(sign.isascii() for sign in signs)
