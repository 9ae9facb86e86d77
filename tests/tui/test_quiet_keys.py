"""A key is one layout and one paint, what did not change is not painted, and an app that is left alone does nothing."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from types import SimpleNamespace

import pytest
from fake_source import FakeSource, refund_loop
from tests.patience import PATIENCE_SECONDS
from tests.tui.base_screens import screen_text, two_panes
from tests.tui.debugger_app import debugger, settled
from tests.tui.waiting import until, workers_ended

import agent_tt
from agent_tt.errors import StoreUnreadable
from agent_tt.model import NewRun
from agent_tt.store import open_store
from agent_tt_tui import typed as typed_keys
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.lookout import Lookout
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.run_reading import RunReading
from agent_tt_tui.screens.debugger.step_reader import AHEAD, StepReader, StepWish
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
from agent_tt_tui.viewmodel.runs import runtree
from agent_tt_tui.viewmodel.runs.runtree import ListedRuns, RunIndex
from agent_tt_tui.widgets.runs import run_preview
from agent_tt_tui.widgets.runs.run_list import RunList

LONG = [{"n": number, "said": ["word"] * (number % 3), "kept": {"a": 1, "b": [1, 2]}} for number in range(60)]


@pytest.fixture
def counted(monkeypatch):
    """What an app does: layouts, paints of something, and workers by their group."""
    done: Counter[str] = Counter()
    display, lay_out, work = AgentTT._display, CommandScreen._refresh_layout, CommandScreen.run_worker

    def count_display(app, screen, update):
        done["paints"] += update is not None
        return display(app, screen, update)

    def count_layout(screen, *arguments, **options):
        done["layouts"] += 1
        return lay_out(screen, *arguments, **options)

    def count_worker(screen, *arguments, **options):
        done[options.get("group", "")] += 1
        return work(screen, *arguments, **options)

    monkeypatch.setattr(AgentTT, "_display", count_display)
    monkeypatch.setattr(CommandScreen, "_refresh_layout", count_layout)
    monkeypatch.setattr(CommandScreen, "run_worker", count_worker)
    return done


async def test_a_step_that_was_read_ahead_is_shown_by_one_layout_and_one_paint_and_nothing_is_read(counted):
    source = FakeSource(LONG)
    async with debugger(source, 20).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        await pilot.press("right")  # from here on it is known where somebody goes
        await settled(pilot)
        for number in (22, 23, 24):
            counted.clear()
            asked = len(source.asked)
            await pilot.press("right")
            await settled(pilot)
            assert screen.time.number == screen.time.view.number == number
            assert counted["paints"] == 1
            assert counted["layouts"] <= 1
            assert counted["steps"] == 0
            assert len(source.asked) == asked or counted["ahead"], "only what comes next may be read"


async def test_behind_a_jump_no_more_is_read_ahead_than_the_steps_beside_it(monkeypatch):
    read, read_ahead = [], RunReading.read_ahead
    monkeypatch.setattr(
        RunReading, "read_ahead", lambda *asked: read.append((len(asked[2]), len(asked[3]))) or read_ahead(*asked)
    )
    async with debugger(FakeSource(LONG), 20).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("right")
        await settled(pilot)
        assert read[-1] == (AHEAD, 1)
        for key in ("pagedown", "g"):
            await pilot.press(key)
            await settled(pilot)
        assert read[-2:] == [(1, 1), (0, 1)]
        await pilot.press("right")
        await settled(pilot)
        assert read[-1] == (AHEAD, 1)


async def test_a_step_that_is_read_in_a_moment_is_shown_with_its_key(tmp_path, counted):
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        writer = store.begin_run(NewRun("long"), LONG[0])
        from agent_tt.model import NewStep, StepEnd

        for state in LONG[1:]:
            writer.close_step(writer.open_step(NewStep("think")), StepEnd("ok"), state)
        writer.finish("succeeded")
        async with debugger(store, 20).run_test(size=(120, 40)) as pilot:
            screen = await settled(pilot)
            await pilot.press("g")
            await settled(pilot)
            counted.clear()
            await pilot.press("G")
            await settled(pilot)
            assert screen.time.view.number == 59
            assert (counted["paints"], counted["steps"]) == (1, 0)


async def test_a_preview_is_painted_with_the_cursor_that_came_to_its_run(sample_store, counted, monkeypatch):
    monkeypatch.setattr(run_preview, "_FRAME_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(typed_keys, "_FRAME_S", PATIENCE_SECONDS)
    monkeypatch.setattr(run_preview, "_RESTED_SECONDS", 0.0)
    async with AgentTT(lambda: RunsScreen(sample_store), look=Look()).run_test(size=(120, 40)) as pilot:
        runs = pilot.app.screen.query_one(RunList)
        await until(pilot, lambda: runs.line_count)
        await workers_ended(pilot.app)
        for key in ("j", "G", "k"):
            counted.clear()
            await pilot.press(key)
            name = runs.current.run.name
            await until(
                pilot, lambda name=name: any("PREVIEW" in row and name in row for row in screen_text(pilot.app))
            )
            await workers_ended(pilot.app)
            await pilot.pause()
            assert counted["paints"] == 1


async def test_a_frame_that_nobody_gives_free_is_painted_all_the_same(counted):
    async with two_panes().run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        left = pilot.app.screen.query_one("#left")
        counted.clear()
        pilot.app.screen.hold_frame(left, 0.05)
        left.count = 5
        left.refresh_lines_data()
        await until(pilot, lambda: counted["paints"])


async def test_what_looks_as_before_is_not_painted(counted):
    async with two_panes().run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        left = pilot.app.screen.query_one("#left")
        counted.clear()
        left.refresh_lines_data()
        await pilot.pause()
        assert counted["paints"] == 0
        left.count = 5
        left.refresh_lines_data()
        await pilot.pause()
        assert counted["paints"] == 1
        assert not any("line 6" in row for row in screen_text(pilot.app))


async def test_after_a_change_that_was_taken_back_the_screen_is_as_it_was(counted):
    async with two_panes().run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        left = pilot.app.screen.query_one("#left")
        before = screen_text(pilot.app)
        left.count = 5
        left.refresh_lines_data()
        assert screen_text(pilot.app) != before  # as a picture is made of it, which the terminal does not get
        left.count = 1000
        left.refresh_lines_data()
        counted.clear()
        await pilot.pause()
        assert screen_text(pilot.app) == before
        assert counted["paints"] == 1, "the lines were drawn otherwise in between: they are painted to be sure"


@pytest.mark.parametrize("shown", ["debugger", "browser", "compare"])
async def test_nothing_goes_on_by_itself_where_all_runs_have_ended(shown):
    source = refund_loop()
    run = source.the_run
    screens = {
        "browser": lambda: RunsScreen(source),
        "compare": lambda: CompareScreen(source, run, source, run),
    }
    app = debugger(source) if shown == "debugger" else AgentTT(screens[shown], look=Look())
    async with app.run_test(size=(120, 40)) as pilot:

        def active():
            pumps = (app, *app.screen.walk_children(with_self=True))
            return [timer.name for pump in pumps for timer in pump._timers if timer._active.is_set()]

        def works():
            return [worker for worker in app.workers if worker.is_running]

        await until(pilot, lambda: not active() and not works())


def test_no_more_steps_are_kept_than_so_many_and_none_once_something_was_written():
    source = FakeSource(LONG)
    model = RunModel(source, source.the_run)
    model.open()
    reader = StepReader(model)
    wish = StepWish(30, None, 60)
    assert reader.at_hand(wish) is None
    assert reader.read(wish) is reader.at_hand(wish)
    beside = [31, 32, 33, 34, 35, 36], [29]
    ahead = reader.missing_ahead(wish, *beside)
    assert [each.number for each in ahead] == [31, 32, 33, 34, 35, 36, 29]
    for each in ahead:
        reader.read(each)
    assert not reader.missing_ahead(wish, *beside)
    for number in range(40, 60):
        reader.read(StepWish(number, None, 60))
    assert len(reader._kept) == 12
    reader.forget()
    assert reader.at_hand(StepWish(59, None, 60)) is None


def test_a_file_elsewhere_is_never_read_while_a_key_waits():
    source = FakeSource(LONG)  # which is no file of this machine
    model = RunModel(source, source.the_run)
    model.open()
    reader = StepReader(model)
    reader.read(StepWish(1, None, 60))
    assert reader.read_at_once(StepWish(2, None, 60)) is None


def test_a_lookout_tells_of_news_and_of_trouble_and_ends_with_its_screen():
    told: list[str] = []
    looks = iter([False, True, StoreUnreadable("gone")])
    ended = SimpleNamespace(is_running=True, call_later=lambda tell: told.append(tell()))

    def has_news():
        found = next(looks, None)
        if found is None:
            ended.is_running = False
            return False
        if isinstance(found, Exception):
            raise found
        return found

    lookout = Lookout(ended, has_news, lambda: "news", lambda: 0.0)
    lookout.thread.join(timeout=30)
    assert not lookout.thread.is_alive()
    assert told == ["news", "news"]


def test_words_of_runs_are_put_together_once_for_all_letters_that_are_typed(monkeypatch):
    runs = refund_loop().runs() * 50
    asked = Counter()
    text = runtree._text
    monkeypatch.setattr(runtree, "_text", lambda run: asked.update(["text"]) or text(run))
    index = RunIndex(runs)
    for typed in ("", "r", "re", "ref", "no such run"):
        rows = index.rows(text=typed)
        assert len(rows) == (0 if typed == "no such run" else len(rows))
    assert asked["text"] == len(runs)


def test_a_letter_of_a_filter_looks_for_the_row_of_the_cursor_and_notes_no_other():
    looked_at = []
    runs = [SimpleNamespace(id=str(number)) for number in range(100)]

    class Looked(list):
        def __iter__(self):
            return (looked_at.append(run.id) or run for run in super().__iter__())

    rows = ListedRuns(Looked(runs), running=())
    assert rows.index_of(runs[3]) == 3
    assert looked_at == ["0", "1", "2", "3"]
    assert rows.index_of(SimpleNamespace(id="another")) is None


@agent_tt.tool(effect="read")
def look_up(order):
    return order


async def test_what_rows_that_come_into_view_asked_is_drawn_with_them(tmp_path, monkeypatch):
    with agent_tt.record("orders", state={"n": 0}, store=tmp_path / "runs.db") as run:
        for number in range(150):
            with run.step("look up", {"n": number}):
                look_up(f"order {number}")
    later = []
    monkeypatch.setattr(RunReading, "read_arguments", lambda _self, steps: later.extend(steps))
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        async with debugger(source, 140).run_test(size=(120, 40)) as pilot:
            screen = await settled(pilot)
            for key in ("g", "pagedown", "G", "pageup"):
                await pilot.press(key)
                await settled(pilot)
                shown = "\n".join(screen_text(pilot.app))
                assert f'"order {max(1, screen.time.number) - 1}"' in shown
    assert later == []
