"""Watches in the debugger: marks where they hold, breakpoints that stop playing and following, keys that go there."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.core.store.recordings import begin, new_store, step
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled
from tests.tui.waiting import until

from agent_tt import samples
from agent_tt.model import NewStep, StepEnd
from agent_tt.querying.watches.kept_watches import keep_watch, kept_watches
from agent_tt.querying.watches.watchpoints import Watchpoints
from agent_tt.sources import marks_of, open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.features import playing
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.dialogs.watches import WatchesDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.viewmodel.debugger.strip import StripLayout, WatchMark, watch_marks
from agent_tt_tui.viewmodel.past.finding import edge_of

OVERCHARGED = "state.payment.amount > 1000"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A store with the sample runs, and an app that shows flaky-checkout."""
    samples.ensure("flaky-checkout", tmp_path / "runs.db")
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own" / "runs.db"))
    monkeypatch.setattr(playing, "_PLAY_SECONDS", 0.01)
    opened = []

    def show(*watches, step=None, read_only=False):
        with closing(open_source(tmp_path / "runs.db")) as source:
            for where, breaks in watches:
                keep_watch(marks_of(source), source.run("flaky-checkout").id, where, breaks=breaks)
        source = open_source(tmp_path / "runs.db", read_only=read_only)
        opened.append(source)
        return AgentTT(lambda: DebuggerScreen(source, source.run("flaky-checkout"), step), look=Look())

    yield show
    for source in opened:
        source.close()


def mark_column(app):
    """What stands in the mark column of the timeline, by step."""
    return "".join(row[1] for row in screen_text(app)[2:13])


def footer(app):
    return screen_text(app)[-1].strip()


async def looked(pilot):
    screen = await settled(pilot)
    await until(pilot, lambda: all(row.watched.looked == screen.model.last for row in screen.model.board.rows))
    await pilot.pause()
    return screen


async def test_a_watch_is_kept_with_a_few_keys_and_marks_its_steps(checkout):
    app = checkout(step=2)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        assert mark_column(app) == " " * 11
        await pilot.press("J")
        assert footer(app) == "no breakpoint is set yet: B sets one"
        await pilot.press("slash", *"?error", "enter", "B")
        await until(pilot, lambda: isinstance(app.screen, WatchesDialog))
        assert any("nothing is watched yet: a adds an expression" in row for row in screen_text(app))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press("enter")  # the question that was asked stands there
        await until(
            pilot, lambda: any("A error" in row and "3 steps" in row and "7–9" in row for row in screen_text(app))
        )
        await pilot.press("b")
        await until(pilot, lambda: any("break" in row and "A error" in row for row in screen_text(app)[:-1]))
        await pilot.resize_terminal(40, 10)
        await until(pilot, lambda: any("A error" in row and "3 steps" in row for row in screen_text(app)))
        await pilot.resize_terminal(80, 24)
        run_id = screen.model.run.id
        kept = kept_watches(screen.model.source, run_id)
        assert [(each.where, each.breaks) for each in kept] == [("error", True)]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("escape")  # the question no longer narrows the timeline
        await until(pilot, lambda: mark_column(app) == " " * 7 + "AAA ")
        await pilot.press("B", "x")
        await until(pilot, lambda: any("off" in row for row in screen_text(app)[:-1]))
        assert screen.model.board.at(8) == []
        await pilot.press("delete")
        await until(pilot, lambda: kept_watches(screen.model.source, run_id) == [])


async def test_playing_stops_at_a_breakpoint_and_goes_on_to_the_next(checkout):
    app = checkout((OVERCHARGED, True), ("error", True), step=0)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await looked(pilot)
        await pilot.press("space")
        await until(pilot, lambda: "state.payment.amount = 13684" in footer(app))
        assert screen.time.number == 6
        assert footer(app).startswith("A stops at 6 · space goes on · ")
        await pilot.press("space")
        await until(pilot, lambda: footer(app).startswith("B stops at 7 · space goes on · error = "))
        assert (screen.time.number, screen.playing.is_playing) == (7, False)
        screen.time.go(9)
        await pilot.press("space")
        await until(pilot, lambda: screen.time.number == 10 and not screen.playing.is_playing)
        assert "stops at" not in footer(app)


async def test_keys_run_to_breakpoints_both_ways_and_say_where_there_is_none(checkout):
    app = checkout((OVERCHARGED, True), ("error", True), ("step == 2", False), step=3)
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await looked(pilot)
        for key, number in (("J", 6), ("J", 7), ("K", 6)):
            await pilot.press(key)
            screen = await settled(pilot)
            assert screen.time.number == number
        assert footer(app).startswith("A stops at 6 · K goes on · state.payment.amount = 1")
        await pilot.press("K")
        assert footer(app) == "no breakpoint stops before step 6"
        await pilot.press("left")
        await settled(pilot)
        assert "stops" not in footer(app)


async def test_the_steps_of_a_watch_are_gone_through_and_the_ends_of_its_stretches(checkout):
    app = checkout(("error or step == 2", False), step=4)
    async with app.run_test(size=(140, 40)) as pilot:
        screen = await looked(pilot)
        await pilot.press("(")
        assert footer(app) == "no question was asked yet: / and ? ask one"
        await pilot.press("B", "enter")
        await until(pilot, lambda: app.screen is screen and screen.time.number == 7)
        assert any(row.startswith(" hits") and "▄" * 19 in row for row in screen_text(app))
        visited = []
        for key in ("n", ")", "N", "(", "("):
            await pilot.press(key)
            screen = await settled(pilot)
            visited.append(screen.time.number)
        assert visited == [8, 9, 8, 7, 2]
        assert footer(app) == "it holds at this step alone"


async def test_a_live_run_is_followed_up_to_a_breakpoint_and_on_from_there(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 5}, "live")
    step(writer, {"n": 1})
    number = writer.open_step(NewStep("long"))
    keep_watch(store, writer.run_id, "state.n < 0", breaks=True)
    app = AgentTT(lambda: DebuggerScreen(store, store.run(writer.run_id)), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await looked(pilot)
        assert (screen.time.number, screen.playing.is_following) == (2, True)
        writer.close_step(number, StepEnd("ok"), {"n": -1}, track="main")
        await until(pilot, lambda: footer(app).startswith("A stops at 2 · F follows on · state.n = -1"))
        for value in (3, 2, -4, 1, 0):
            step(writer, {"n": value})
        await until(pilot, lambda: screen.model.board.looked == 7)
        assert screen.time.number == 2
        await pilot.press("F")
        assert screen.time.number == 5
        await until(pilot, lambda: "state.n = -4" in footer(app))
        assert screen.model.board.rows[0].found.spans() == [(2, 2), (5, 5)]
        await pilot.press("F")
        await until(pilot, lambda: screen.time.number == 7)
        step(writer, {"n": 7})
        await until(pilot, lambda: screen.time.number == 8 and screen.playing.is_following)
        await pilot.press("B", "enter")
        await until(pilot, lambda: screen.find.asked_steps == [2, 5])
        step(writer, {"n": -7})
        await until(pilot, lambda: screen.find.asked_steps == [2, 5, 9])
    store.close()


async def test_what_a_foreign_file_brings_is_a_row_with_its_error_and_stops_nothing(checkout, tmp_path):
    hostile = [
        '{"where": "state.\\u001b[31mx"}',
        '{"where": "%s"}' % ("(" * 5000),
        '{"where":"state.x ==","break":true}',
    ]
    with closing(open_source(tmp_path / "runs.db")) as source:
        for body in hostile:
            source.add_note(source.run("flaky-checkout").id, None, "watch", body)
    app = checkout(step=0, read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        assert screen.model.source.read_only
        await pilot.press("B")
        await until(pilot, lambda: isinstance(app.screen, WatchesDialog))
        rows = screen_text(app)
        assert sum("✗" in row for row in rows) >= 3
        assert not any("\x1b" in row for row in rows)
        await pilot.press("b")
        await until(pilot, lambda: "only read" in " ".join(" ".join(screen_text(app)).split()))
        await pilot.press("escape", "space")
        await until(pilot, lambda: screen.time.number == 10)


async def test_the_breakpoints_of_a_run_are_its_forks_too_unless_they_are_taken_back(checkout):
    app = checkout((OVERCHARGED, True), ("error", False), step=2)
    async with app.run_test(size=(80, 24)) as pilot:
        await looked(pilot)
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, ForkDialog) and app.screen.plan is not None)
        dialog = app.screen
        assert dialog.plan.terms.limits.breaks == (OVERCHARGED,)
        assert any(
            f"stops      when {OVERCHARGED}" in " ".join(row.split("  ")) or OVERCHARGED in row
            for row in screen_text(app)
        )
        await pilot.press("b", "j", "delete")
        await until(pilot, lambda: dialog.plan is not None and not dialog.plan.terms.limits)


def test_columns_that_stand_for_several_steps_show_the_strongest_of_them(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for number in range(1, 101):
        step(writer, {"n": number})
    writer.finish("succeeded")
    run = writer.run_id
    keep_watch(store, run, "state.n > 11 and state.n < 60")
    keep_watch(store, run, "state.n > 15", breaks=True)
    board = Watchpoints(store, run)
    board.read()
    while board.look(store.run(run)):
        pass
    marks = watch_marks(board.rows, StripLayout(8, 0, 10, 100))
    assert marks[1] == WatchMark("B", breaks=True)
    assert marks == {1: WatchMark("B", breaks=True), **{column: WatchMark("") for column in range(2, 10)}}
    each = watch_marks(board.rows, StripLayout(8, 2, 200, 100))
    assert each[22] == WatchMark("A")
    assert each[23] == WatchMark("")
    assert each[30] == WatchMark("B", breaks=True)
    assert each[198] == WatchMark("")
    assert min(each) == 22
    store.close()


@pytest.mark.parametrize(
    ("number", "direction", "found"),
    [
        (0, 1, (2, True, True)),
        (2, 1, (5, True, False)),
        (6, 1, (7, False, True)),
        (7, 1, None),
        (7, -1, (5, True, False)),
    ],
)
def test_the_ends_of_stretches(number, direction, found):
    assert edge_of([2, 5, 6, 7], number, direction) == found


LONG = "state.payment.amount > 1000 and state.payment.tries >= 2 and state.answer != null"


@pytest.mark.parametrize("size", [(120, 40), (60, 20)])
@pytest.mark.parametrize("where", [OVERCHARGED, LONG])
async def test_an_expression_stands_once_to_its_end_in_its_row_or_below_the_list(checkout, size, where):
    async with checkout(("error", False), (where, True)).run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("B", "j")
        await until(pilot, lambda: "WATCHES" in "\n".join(screen_text(pilot.app)))
        await pilot.pause()
        said = " ".join(" ".join(screen_text(pilot.app)).replace("│", " ").split())
        assert said.count(where) == 1
