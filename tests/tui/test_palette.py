"""The palette: every command of a screen is found by words that people have for it, and places by what they hold."""

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled
from fake_source import refund_loop
from hypothesis import given
from hypothesis import strategies as st

from agent_tt_tui.app import AgentTT
from agent_tt_tui.keymaps import CONTEXTS
from agent_tt_tui.keymaps.found_by import FOUND_BY
from agent_tt_tui.look import Look
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.palette import OfferList, PaletteDialog
from agent_tt_tui.screens.dialogs.pick import PickDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.theme import OURS
from agent_tt_tui.viewmodel.offers import GROUPS, SIGNS, Offer, found, hit_of

WITH_PALETTE = [context for context in CONTEXTS if any(each.id == "app.palette" for each in context.commands)]

TYPED = {
    "app.help": "help shortcuts keys",
    "app.jump": "jump letters labels",
    "app.theme": "theme dark colors",
    "app.log": "history journal ran",
    "app.suspend": "suspend background shell",
    "app.escape": "escape cancel close",
    "app.back": "quit exit leave",
    "tour.go": "tutorial guide learn",
    "pane.next": "pane focus window",
    "pane.previous": "pane focus window",
    "pane.zoom": "zoom maximize fullscreen",
    "pane.grow": "larger bigger resize",
    "pane.shrink": "smaller shrink resize",
    "list.down": "down below row",
    "list.up": "up above row",
    "list.first": "top first beginning",
    "list.last": "bottom last end",
    "list.page_down": "scroll page down",
    "list.page_up": "scroll page up",
    "list.choose": "select choose read",
    "tree.fold": "collapse fold parent",
    "tree.unfold": "expand unfold child",
    "time.previous": "previous rewind back",
    "time.next": "next forward later",
    "time.ten_back": "ten jump rewind",
    "time.ten_on": "ten skip jump",
    "time.first": "first start input",
    "time.last": "last end final",
    "time.lane_previous": "lane thread previous",
    "time.lane_next": "lane thread task",
    "time.write_previous": "written changed history",
    "time.write_next": "written changes history",
    "time.error_previous": "error failure exception",
    "time.error_next": "error failure exception",
    "time.break_previous": "breakpoint reverse stop",
    "time.break_next": "breakpoint continue stop",
    "time.edge_previous": "condition holding expression",
    "time.edge_next": "condition holding expression",
    "time.go_to": "goto jump number",
    "time.mark": "mark bookmark remember",
    "time.go_to_mark": "bookmark marked goto",
    "time.play": "play pause animate",
    "live.follow": "follow tail live",
    "live.answer": "approve allow permission",
    "live.hold": "hold pause freeze",
    "live.stop": "kill stop abort",
    "tab.context": "context prompt window",
    "context.previous": "previous model request",
    "context.next": "next model request",
    "context.origin": "origin source came",
    "context.fork": "without drop item",
    "context.against": "diff other request",
    "context.by_size": "size largest sort",
    "view.wrap": "wrap long truncate",
    "view.copy": "copy clipboard yank",
    "tab.state": "state variables memory",
    "tab.call": "call request arguments",
    "tab.messages": "messages chat conversation",
    "tab.raw": "raw json source",
    "call.previous": "call request tool",
    "call.next": "call request tool",
    "diff.base": "diff compare base",
    "diff.other": "diff compare other",
    "state.pending": "pending langgraph writes",
    "blame.open": "blame who why",
    "blame.words": "sentence blame phrase",
    "range.mark": "interval sum total",
    "causes.mark": "cause effect influence",
    "causes.list": "dependencies links follow",
    "odd.open": "loops anomalies slow",
    "columns.open": "columns tokens fields",
    "columns.toggle": "show hide column",
    "columns.down": "move right order",
    "columns.up": "move left order",
    "columns.default": "default reset shipped",
    "watch.open": "watch breakpoint condition",
    "find.open": "filter search grep",
    "find.context_more": "more context around",
    "find.context_fewer": "fewer context around",
    "find.next": "hit match result",
    "find.previous": "hit match result",
    "find.hit_next": "hit match next",
    "find.hit_previous": "hit match previous",
    "find.accept": "stay accept go",
    "find.field": "where scope field",
    "find.field_back": "scope back same",
    "find.regex": "regex pattern expression",
    "find.order": "sort order best",
    "find.close": "close back cancel",
    "edit.value": "edit change modify",
    "edit.state": "editor vim json",
    "edit.undo": "undo revert last",
    "edit.undo_all": "undo discard reset",
    "edit.remove": "remove delete unset",
    "edit.insert": "insert add new",
    "edit.move": "move rename path",
    "edit.mute": "mute skip disable",
    "fork.open": "fork branch rerun",
    "compare.open": "compare diff versus",
    "again.open": "ask again resend",
    "answers.again": "ask again retry",
    "replay.open": "replay reproduce offline",
    "resume.open": "resume crashed recover",
    "sweep.open": "sweep experiment grid",
    "golden.keep": "keep regression golden",
    "golden.open": "tests goldens suite",
    "pdb.open": "pdb python debugger",
    "run.ending": "outcome traceback error",
    "run.about": "notes tags rename",
    "run.export": "export html share",
    "run.kin": "parent forked original",
    "compare.previous": "pair previous back",
    "compare.next": "pair next step",
    "compare.first": "pair first start",
    "compare.last": "pair last end",
    "compare.difference_previous": "difference previous change",
    "compare.difference_next": "difference next change",
    "compare.swap": "swap sides exchange",
    "compare.inline": "inline side stacked",
    "compare.only": "differs hide only",
    "command.copy": "copy command shell",
    "table.open": "open run debugger",
    "table.sort": "sort column order",
    "sweep.previous": "sample previous repeat",
    "sweep.next": "sample next repeat",
    "sweep.compare": "compare marked diff",
    "sweep.mark": "mark select pick",
    "sweep.outcome": "outcome result value",
    "sweep.stop": "stop cancel abort",
    "sweep.resume": "resume continue rest",
    "tests.run": "run test verify",
    "tests.run_all": "all suite tests",
    "tests.watch": "watch save reload",
    "tests.watch_live": "live real watch",
    "tests.failing_previous": "failing previous red",
    "tests.failing_next": "failing next red",
    "tests.update": "update accept snapshot",
    "tests.copy": "copy command clipboard",
    "stats.by": "group agent day",
    "stats.by_back": "group previous back",
    "stats.period": "period since week",
    "stats.agent": "agent one only",
    "stats.read": "refresh reload count",
    "stats.copy": "copy command clipboard",
    "stats.open": "statistics dashboard cost",
    "runs.compare": "compare diff two",
    "runs.compare_forks": "forks compare all",
    "runs.select": "select mark several",
    "runs.find": "filter narrow match",
    "runs.search": "search grep text",
    "runs.sort": "sort order column",
    "runs.add": "add import new",
    "runs.tag": "tag label category",
    "runs.delete": "delete remove erase",
    "runs.pin": "pin protect favorite",
    "runs.archive": "archive hide fork",
    "runs.archived": "archived hidden old",
    "runs.rename": "rename name title",
    "first.copy": "import copy save",
    "first.select": "select mark session",
    "first.compare": "compare diff sessions",
    "first.find": "filter narrow words",
    "first.others": "folders others projects",
    "empty.sample": "sample demo example",
    "empty.record": "record how agent",
    "empty.open": "open file database",
}
"""Three words for each command that somebody would type who has never seen its name."""

AMONG = 8
"""Rows from the top within which a command is found: what is seen without scrolling."""


def offers_of(context):
    """What the palette has of a context's commands, as a screen lists them; nothing is blocked."""

    class Screen(CommandScreen):
        CONTEXT = context

        @property
        def app(self):
            return AgentTT(lambda: self, look=Look())

    return Screen().offers("")


def ids(offers):
    """The id of each offer, which is the last word that it is found by."""
    return [offer.words.split()[-1] for offer in offers]


@pytest.mark.parametrize("context", WITH_PALETTE, ids=lambda context: context.title)
def test_every_command_is_found_by_three_words_that_people_type(context):
    offers = offers_of(context)
    known = ids(offers)
    assert set(known) == {each.id for each in context.commands} - {"app.palette"}
    missed = [
        (each, word, ids(found(offers, word))[:AMONG])
        for each in known
        for word in TYPED[each].split()
        if each not in ids(found(offers, word))[:AMONG]
    ]
    assert missed == []


def test_each_command_has_three_words_and_a_group():
    assert all(len(set(words.split())) == 3 for words in TYPED.values())
    everywhere = {each.id for context in WITH_PALETTE for each in context.commands}
    assert everywhere <= set(FOUND_BY)
    assert {found_by.about for found_by in FOUND_BY.values()} <= set(GROUPS)


WORDS = st.text("abcdeé ß:.", max_size=12)
OFFERS = st.lists(
    st.builds(
        Offer,
        st.sampled_from(list(GROUPS)),
        WORDS,
        st.just(lambda: None),
        st.sampled_from(list(SIGNS)),
        WORDS,
        detail=WORDS,
        blocked=st.sampled_from(["", "not now"]),
        rank=st.integers(0, 3),
    ),
    max_size=12,
)


@given(OFFERS, WORDS)
def test_what_is_found_was_offered_stands_in_one_piece_by_group_and_more_words_find_no_more(offers, typed):
    shown = found(offers, typed)
    assert all(any(each is offer for offer in offers) for each in shown)
    groups = [offer.group for offer in shown]
    assert len([at for at, group in enumerate(groups) if at == 0 or groups[at - 1] != group]) == len(set(groups))
    more = found(offers, f"{typed} a")
    assert all(any(each is offer for offer in shown) for each in more)
    assert len(found(offers, "")) == len(offers)


@given(WORDS, WORDS)
def test_what_is_marked_of_a_label_is_what_was_typed(label, typed):
    hit = hit_of(label, typed)
    text = typed.lstrip()
    words = text[1:].split() if text[:1] in SIGNS else text.split()
    if hit is not None:
        assert label[hit[0] : hit[1]].casefold() == words[0].casefold()


def test_what_can_be_done_now_stands_before_what_cannot():
    blocked = Offer("run", "Fork", lambda: None, blocked="not now")
    free = Offer("step", "Go to a fork", lambda: None)
    assert found([blocked, free], "fork") == [free, blocked]


async def test_typing_and_enter_run_the_command_on_the_screen_below():
    async with debugger(refund_loop(), step=2).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("ctrl+p")
        assert isinstance(pilot.app.screen, PaletteDialog)
        await pilot.press(*"zoom")
        rows = "\n".join(screen_text(pilot.app))
        assert "THE SCREEN" in rows
        assert "Zoom the pane" in rows
        await pilot.press("enter")
        await settled(pilot)
        assert not screen.panes.inspector.display or screen.panes.inspector.size.width < 10


async def test_what_cannot_be_done_says_why_and_the_palette_stays():
    async with debugger(refund_loop(), step=2).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p", *"undo")
        assert "nothing was edited yet" in "\n".join(screen_text(pilot.app))
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, PaletteDialog)
        assert "nothing was edited yet" in screen_text(pilot.app)[-1]


async def test_signs_narrow_to_steps_and_paths_and_enter_goes_there():
    async with debugger(refund_loop(), step=2).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("ctrl+p", "@", "7")
        shown = pilot.app.screen.query_one(OfferList)
        assert shown.current.sign == "@"
        await pilot.press("enter")
        await settled(pilot)
        assert screen.time.number == 7
        await pilot.press("ctrl+p", *".attem", "enter")
        await settled(pilot)
        assert screen.panes.inspector.state_tree.selected == ("attempts",)


async def test_nothing_found_is_said_and_tab_goes_from_group_to_group():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p", *"zzzz")
        assert "nothing here is called that" in "\n".join(screen_text(pilot.app))
        await pilot.press("enter", *["backspace"] * 4)
        shown = pilot.app.screen.query_one(OfferList)
        first = shown.current.group
        await pilot.press("tab")
        assert shown.current.group != first


async def test_a_theme_is_tried_under_the_cursor_and_taken_back_by_esc():
    async with debugger(refund_loop(), step=2).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        before = pilot.app.theme
        await pilot.press("f4", "down")
        assert isinstance(pilot.app.screen, PickDialog)
        assert pilot.app.theme == OURS[1][0].name != before
        await pilot.press("escape")
        assert pilot.app.theme == before
        await pilot.press("f4", "down", "down", "enter")
        assert pilot.app.theme == OURS[2][0].name
        assert 'theme = "tt-contrast" in the configuration' in screen_text(pilot.app)[-1]


async def test_the_key_of_the_palette_does_nothing_in_a_dialog():
    app = debugger(refund_loop(21))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("colon", "ctrl+p")
        assert type(app.screen) is PromptDialog
        await pilot.press("escape", "ctrl+p", "ctrl+p")
        assert type(app.screen) is PaletteDialog
        await pilot.press("escape")
        assert type(app.screen) is DebuggerScreen
