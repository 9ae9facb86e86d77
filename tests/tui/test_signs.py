"""Signs are explained above the keys when a person comes to a step that has them for the first time."""

from __future__ import annotations

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled

from agent_tt import config
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.legend import meaning_of
from agent_tt_tui.look import Look
from agent_tt_tui.settings import chosen_look
from agent_tt_tui.status import kind_glyph, kind_sign

HAD_TOUR = frozenset({"tour"})
EXPLAINS = "? explains all signs"


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "user_file", lambda: tmp_path / "config.toml")
    monkeypatch.delenv("AGENT_TT_HINTS")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refund_loop(sample_store):
    class OnlyThis:
        """The store, whose newest run is `refund-loop`."""

        def __getattr__(self, name):
            return getattr(sample_store, name)

        def runs(self):
            return [sample_store.run("refund-loop")]

    return OnlyThis()


def foot(app) -> str:
    """What is explained above the keys; else what the footer says, or its keys."""
    footer = app.screen.query_one(FooterRow)
    return screen_text(app)[-2 if footer.explanation else -1].strip()


def forget(screen) -> None:
    """Explain nothing, and say nothing, as after some seconds."""
    screen.query_one(FooterRow).explanation = ""
    screen.say("")


async def test_each_sign_is_explained_once_and_that_is_kept(refund_loop):
    app = debugger(refund_loop, step=2, look=Look(seen=HAD_TOUR))
    async with app.run_test(size=(200, 50)) as pilot:
        screen = await settled(pilot)
        said = foot(app)
        assert screen_text(app)[-1].endswith("? help")  # the keys stay at hand
        for sign in ("reads", "same"):
            assert f"{getattr(UNICODE, sign)} {meaning_of(sign)}" in said
        assert said.endswith(EXPLAINS)
        for _ in range(2):  # where the selected value was written is known a moment later
            forget(screen)
            await pilot.press("right")
            await settled(pilot)
        assert EXPLAINS not in foot(app)
        await pilot.press("end")
        await settled(pilot)
        assert foot(app).startswith(f"{UNICODE.model} {meaning_of('model')}   {UNICODE.failed} {meaning_of('failed')}")
    assert {"tour", "reads", "same", "model", "failed"} <= set(config.load().seen)
    app = debugger(refund_loop, step=2, look=chosen_look(config.load()))
    async with app.run_test(size=(200, 50)) as pilot:
        await settled(pilot)
        assert EXPLAINS not in foot(app)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
async def test_what_has_no_room_is_explained_at_the_next_step_that_has_it(refund_loop, glyphs):
    app = debugger(refund_loop, step=2, look=Look(seen=HAD_TOUR, glyphs=glyphs))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        told: set[str] = set()
        for _ in range(4):
            said = foot(app)
            told |= {sign for sign in ("reads", "same") if f"{getattr(glyphs, sign)} {meaning_of(sign)}" in said}
            assert said.endswith(EXPLAINS) or EXPLAINS not in said
            forget(screen)
            await pilot.press("right")
            await settled(pilot)
        assert told == {"reads", "same"}


async def test_nothing_is_explained_over_other_words_nor_beside_the_tour(refund_loop):
    app = debugger(refund_loop, step=2, look=Look(seen=frozenset()))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("right")
        await settled(pilot)
        assert EXPLAINS not in foot(app)
        await pilot.press("escape")
        screen.say("something else")
        await pilot.press("right")
        await settled(pilot)
        assert foot(app) == "something else"
        forget(screen)
        await pilot.press("right")
        await settled(pilot)
        assert foot(app).endswith(EXPLAINS)


async def test_nothing_is_explained_unasked_where_that_is_not_wanted(refund_loop):
    app = debugger(refund_loop, step=2, look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("right")
        await settled(pilot)
        assert EXPLAINS not in foot(app)
    assert config.load().seen == ()


@pytest.mark.parametrize("kind", ["write", "read", "http", "llm", "human", "other", None, "unheard of"])
def test_the_sign_of_each_kind_of_step_is_in_the_legend(kind):
    assert meaning_of(kind_sign(kind))
    assert kind_glyph(kind, UNICODE) == getattr(UNICODE, kind_sign(kind))


async def test_the_signs_that_are_explained_are_those_that_are_drawn(refund_loop):
    app = debugger(refund_loop, step=2, look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        for number in (0, 1, 2, 21):
            screen.time.go(number)
            await settled(pilot)
            timeline = screen.panes.timeline
            row = timeline.line(timeline.cursor, timeline.size.width, timeline.canvas.palette).text
            signs = [getattr(UNICODE, sign) for sign in timeline.signs_of(number)]
            assert signs
            assert all(sign in row for sign in signs)
