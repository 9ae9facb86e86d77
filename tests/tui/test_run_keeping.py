"""Keeping order among runs on the screens: pins, archive, names, tags, notes, facts, deleting, the way to forks."""

from __future__ import annotations

import pytest
from tests.core.interop.support import database_of
from tests.core.store.recordings import chat, fork, new_store, step
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until
from textual import events

from agent_tt.errors import ReadOnlySource
from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.about import AboutDialog, AboutList
from agent_tt_tui.screens.dialogs.pick import PickDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.runs import listing
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.viewmodel.debugger.bookmarks import Bookmarks
from agent_tt_tui.widgets.runs.run_list import RunList

SIZES = [(120, 40), (80, 24), (60, 20)]
HOSTILE = "\x1b[31mred\x1b[0m \u202e [bold]not bold[/bold]"


@pytest.fixture
def store(tmp_path):
    """Run `root` with two forks, one of which was forked again; and run `other`, the newest."""
    made = new_store(tmp_path)
    root = chat(made, 4, "root")
    first, writer = fork(made, root, 2, {"n": 9})
    step(writer, {"n": 10})
    writer.finish("succeeded")
    for parent, at in ((first, 3), (root, 3)):
        _, writer = fork(made, parent, at, {"n": 1})
        step(writer, {"n": 2})
        writer.finish("succeeded")
    chat(made, 2, "other")
    yield made
    made.close()


def app_of(source):
    return AgentTT(lambda: RunsScreen(source), look=Look())


async def listed(app, pilot):
    await until(pilot, lambda: app.screen.query_one(RunList).current is not None)
    return app.screen.query_one(RunList)


def names(runs):
    return [row.run.name for row in runs.rows]


async def go_to(pilot, runs, name):
    await pilot.press("g")
    while runs.current.run.name != name:
        await pilot.press("j")


async def said(app, pilot, text):
    await until(pilot, lambda: text in screen_text(app)[-1])


async def typed(pilot, text):
    """Say a text in the prompt that is open. It is pasted: a key each takes most of these tests' time."""
    await pilot.press("ctrl+u")
    pilot.app.screen.focused.post_message(events.Paste(text))
    await pilot.press("enter")


@pytest.mark.parametrize("size", SIZES[:1])
async def test_a_pin_is_shown_and_taken_away_by_the_same_key(store, size):
    app = app_of(store)
    async with app.run_test(size=size) as pilot:
        runs = await listed(app, pilot)
        await go_to(pilot, runs, "root/fork-2")
        await pilot.press("p")
        await until(pilot, lambda: any("fork-2 pinned" in row for row in screen_text(app)))
        assert store.run("root/fork-2").pinned
        await pilot.press("p")
        await until(pilot, lambda: not runs.current.run.pinned)
        assert not store.run("root/fork-2").pinned


async def test_archiving_takes_forks_along_and_a_key_shows_them(store):
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        await pilot.press("v")
        await said(app, pilot, "no run is archived")
        await go_to(pilot, runs, "root")
        await pilot.press("x")
        await said(app, pilot, "archived root and 3 forks")
        await until(pilot, lambda: names(runs) == ["other"])
        assert store.run("root/fork-1/fork-1").archived
        await pilot.press("v")
        assert len(names(runs)) == 5
        assert any("root archived" in row for row in screen_text(app))
        await go_to(pilot, runs, "root")
        await pilot.press("x")
        await until(pilot, lambda: not runs.current.run.archived)
        assert not any(run.archived for run in store.runs(archived=True))


async def test_a_list_of_nothing_but_archived_runs_says_how_to_see_them(store):
    store.set_archived([run.id for run in store.runs()], archived=True)
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("all runs are archived: v shows them" in row for row in screen_text(app)))
        for key, why in (
            ("enter", ""),
            ("p", "there is no run"),
            ("delete", "there is no run"),
            ("n", "there is no run"),
        ):
            await pilot.press(key)
            if why:
                await said(app, pilot, why)
            assert isinstance(app.screen, RunsScreen)
        await pilot.press("slash", *"archived")
        assert len(names(app.screen.query_one(RunList))) == 5
        await pilot.press(*"x")
        await until(pilot, lambda: any("no run matches" in row for row in screen_text(app)))


async def test_a_filter_finds_runs_by_pin_tag_fact_and_former_name(store):
    other = store.run("other").id
    store.set_tags(other, ["flaky"])
    store.set_metadata(other, {"ticket": "OPS-12"})
    store.set_pinned([other], pinned=True)
    store.rename_run(other, "renamed")
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        for text in ("pinned", "FLAKY", "ops-12", "other"):
            await pilot.press("slash", *text)
            assert names(runs) == ["renamed"], text
            await pilot.press("escape")


@pytest.mark.parametrize("size", SIZES)
async def test_deleting_says_what_goes_too_and_asks(store, size):
    app = app_of(store)
    async with app.run_test(size=size) as pilot:
        runs = await listed(app, pilot)
        await go_to(pilot, runs, "root")
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        text = "\n".join(screen_text(app))
        assert "Delete root for good?" in text
        assert all(name in text for name in ("root/fork-1", "root/fork-2", "root/fork-1/fork-1"))
        await pilot.press("n")
        assert len(store.runs()) == 5
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await said(app, pilot, "deleted 4 runs")
        await until(pilot, lambda: names(runs) == ["other"])
        assert store.verify() == []


async def test_the_selected_runs_are_deleted_and_no_other(store):
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        for name in ("other", "root/fork-2"):
            await go_to(pilot, runs, name)
            await pilot.press("space")
        await go_to(pilot, runs, "root")
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert any("Delete 2 runs for good?" in row for row in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: names(runs) == ["root", "root/fork-1", "root/fork-1/fork-1"])


async def test_what_is_pinned_or_running_stands_in_the_way_of_deleting(store):
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        store.set_pinned([store.run("root/fork-1/fork-1").id], pinned=True)
        await go_to(pilot, runs, "root")
        await pilot.press("delete")
        await said(app, pilot, "root/fork-1/fork-1 is pinned: nothing was deleted")
        store.set_pinned([store.run("root/fork-1/fork-1").id], pinned=False)
        _, writer = fork(store, store.run("root").id, 1, {"n": 1})
        await pilot.press("delete")
        await said(app, pilot, "root/fork-3 is running: nothing was deleted")
        writer.finish("succeeded")
        assert isinstance(app.screen, RunsScreen)
        assert len(store.runs()) == 6


async def test_a_fork_that_was_made_while_the_question_stood_is_not_deleted(store):
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        await go_to(pilot, runs, "root")
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        _, writer = fork(store, store.run("root").id, 1, {"n": 1})
        writer.finish("succeeded")
        await pilot.press("y")
        await said(app, pilot, "root/fork-3 descends from")
        assert len(store.runs()) == 6


async def test_renaming_shows_the_new_name_and_says_when_it_is_taken(store):
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        await go_to(pilot, runs, "root")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await typed(pilot, "refund desk")
        await until(pilot, lambda: "refund desk/fork-1/fork-1" in names(runs))
        assert runs.current.run.name == "refund desk"
        await pilot.press("n")
        await typed(pilot, "other")
        await said(app, pilot, "there is a run called 'other' already")


async def test_tags_are_added_to_all_selected_runs(store):
    store.set_tags(store.run("other").id, ["old"])
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        for name in ("other", "root"):
            await go_to(pilot, runs, name)
            await pilot.press("space")
        await pilot.press("number_sign")
        await typed(pilot, "flaky march")
        await until(pilot, lambda: set(store.run("root").tags) == {"flaky", "march"})
        await until(pilot, lambda: set(store.run("other").tags) == {"old", "flaky", "march"})


async def test_marks_on_another_systems_runs_are_kept_in_the_own_store_and_shown(tmp_path, monkeypatch):
    own = tmp_path / "own" / "runs.db"
    monkeypatch.setenv("AGENT_TT_STORE", str(own))
    path = database_of("forks", tmp_path)
    app = app_of(open_source(path))
    async with app.run_test(size=(120, 40)) as pilot:
        runs = await listed(app, pilot)
        await go_to(pilot, runs, "t")
        await pilot.press("delete")
        await said(app, pilot, "this file is only read")
        assert not own.exists()
        await pilot.press("p")
        await said(app, pilot, "pinned t")
        await pilot.press("n")
        await typed(pilot, "by hand")
        await until(pilot, lambda: "by hand" in names(runs))
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, AboutDialog) and app.screen.query_one(AboutList).rows)
        await pilot.press("a")
        await typed(pilot, "odd")
        await until(pilot, lambda: any(row.text == "odd" for row in app.screen.query_one(AboutList).rows))
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.model.last > 1)
        await pilot.press("g", "j", "m")
        await until(pilot, lambda: "a" in app.screen.model.bookmarks.letters.values())
    again = open_source(path)
    run = again.run("by hand")
    assert (run.id, run.pinned) == ("t", True)
    assert {(note.kind, note.body) for note in again.notes(run.id)} == {("note", "odd"), ("bookmark", "a")}
    again.close()


def test_a_mark_that_lies_in_a_file_that_is_only_read_stays_however_often_it_is_taken_away(
    store, tmp_path, monkeypatch
):
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own" / "runs.db"))
    run = store.run("root")
    store.add_note(run.id, 2, "bookmark", "a")
    source = open_source(store.path, read_only=True)
    marks = Bookmarks(source, run)
    marks.read()
    assert marks.toggle(3) == "b"
    for _ in range(2):
        with pytest.raises(ReadOnlySource, match="lies in"):
            marks.toggle(2)
    marks.read()
    assert marks.letters == {2: "a", 3: "b"}
    assert marks.toggle(3) is None
    source.close()


async def test_a_file_that_is_only_read_says_so_at_every_key(tmp_path):
    source = LangGraphSource(database_of("forks", tmp_path))
    app = app_of(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await listed(app, pilot)
        for key in ("p", "x", "n", "number_sign", "delete"):
            app.screen.say("")
            await pilot.press(key)
            await said(app, pilot, "this file is only read")
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, AboutDialog) and app.screen.query_one(AboutList).rows)
        for key in ("a", "f", "n", "number_sign", "delete"):
            app.screen.say("")
            await pilot.press(key)
            await said(app, pilot, "this file is only read")
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)
    source.close()


async def test_very_many_runs_are_shown_by_their_newest_first_and_laid_out_in_a_thread(store, monkeypatch):
    monkeypatch.setattr(listing, "_FIRST_PAGE", 2)
    monkeypatch.setattr(listing, "_AT_ONCE", 1)
    pages = []
    read = store.runs
    monkeypatch.setattr(store, "runs", lambda **options: pages.append(options) or read(**options))
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        runs = await listed(app, pilot)
        await until(pilot, lambda: len(runs.rows) == 5)
        assert pages[:2] == [{"limit": 2}, {"archived": True}]
        await pilot.press("slash", *"fork-2")
        await until(pilot, lambda: names(runs) == ["root", "root/fork-2"])
        await pilot.press("escape")
        await until(pilot, lambda: len(runs.rows) == 5)


# What was written down.


@pytest.mark.parametrize("size", SIZES[1:])
async def test_what_is_written_down_about_a_run_is_shown_and_changed(store, size):
    run = store.run("other").id
    store.add_note(run, 1, "note", HOSTILE)
    app = app_of(store)
    async with app.run_test(size=size) as pilot:
        await listed(app, pilot)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, AboutDialog) and app.screen.query_one(AboutList).rows)
        text = "\n".join(screen_text(app))
        assert "nothing is written down about this run yet" in text
        assert "[bold]not bold" in text
        assert "\x1b" not in text
        await pilot.press("a")
        await typed(pilot, "the help centre was down")
        await until(pilot, lambda: len(store.notes(run)) == 2)
        await pilot.press("f")
        await typed(pilot, "budget=three")
        assert isinstance(app.screen, PromptDialog)
        assert any("not JSON" in row for row in screen_text(app))
        await typed(pilot, "ticket=OPS-12")
        await until(pilot, lambda: store.run(run).metadata.get("ticket") == "OPS-12")
        await pilot.press("number_sign")
        await typed(pilot, "flaky")
        await until(pilot, lambda: store.run(run).tags == ("flaky",))
        await until(pilot, lambda: any("OPS-12" in row for row in screen_text(app)))
        rows = app.screen.query_one(AboutList)
        await pilot.press("g")
        while rows.current.kind != "fact":
            await pilot.press("j")
        await pilot.press("enter")
        await typed(pilot, "ticket=OPS-13")
        await until(pilot, lambda: store.run(run).metadata["ticket"] == "OPS-13")
        await pilot.press("delete")
        await until(pilot, lambda: not store.run(run).metadata)
        await pilot.press("G")
        assert rows.current.step == 1
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.time.number == 1)


async def debugger(app, pilot):
    await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.time.view is not None)
    return app.screen


async def test_a_state_gets_a_name_and_a_note_and_the_timeline_shows_the_name(store):
    run = store.run("root")
    app = AgentTT(lambda: DebuggerScreen(store, run, 2), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await debugger(app, pilot)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, AboutDialog) and app.screen.query_one(AboutList).rows)
        assert app.screen.query_one(AboutList).current.step == 2
        await pilot.press("n")
        await typed(pilot, "before it")
        await until(pilot, lambda: any("before it" in row for row in screen_text(app)))
        await pilot.press("a")
        await typed(pilot, "same words again")
        await until(
            pilot, lambda: [(note.step, note.body) for note in store.notes(run.id)] == [(2, "same words again")]
        )
        await pilot.press("escape")
        await until(
            pilot, lambda: any(row.lstrip(" ▌┬").startswith("2 ") and "before it" in row for row in screen_text(app))
        )
        await until(pilot, lambda: "1 note" in screen_text(app)[0])
        await pilot.press("colon", *"0", "enter")
        await until(pilot, lambda: screen.time.number == 0)
        await pilot.press("colon")
        await typed(pilot, "before it")
        await until(pilot, lambda: screen.time.number == 2)


async def test_renaming_the_run_renames_it_in_the_header(store):
    app = AgentTT(lambda: DebuggerScreen(store, store.run("root"), 2), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await debugger(app, pilot)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, AboutDialog) and app.screen.query_one(AboutList).rows)
        await pilot.press("g", "n")
        await typed(pilot, "refund desk")
        await until(pilot, lambda: store.run("root").name == "refund desk")
        await pilot.press("n")
        await typed(pilot, "other")
        await until(pilot, lambda: any("already" in row for row in screen_text(app)))
        await pilot.press("escape")
        await until(pilot, lambda: screen_text(app)[0].startswith(" refund desk"))


# The way to forks and back.


async def test_a_fork_that_starts_at_a_step_is_one_key_away_and_so_is_its_parent(store):
    app = AgentTT(lambda: DebuggerScreen(store, store.run("root"), 2), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await debugger(app, pilot)
        assert any("┬" in row for row in screen_text(app))
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        text = screen_text(app)
        first = next(index for index, row in enumerate(text) if "root/fork-1 " in row)
        assert "forked after step 2" in text[first]
        assert "root/fork-2" in text[first + 1]
        await pilot.press("enter")
        await until(
            pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.model.run.name == "root/fork-1"
        )
        screen = await debugger(app, pilot)
        assert screen.time.number == 2
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        assert any("its parent, forked after step 2" in row for row in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.model.run.name == "root")


async def test_the_only_run_around_a_run_opens_at_once(store):
    app = AgentTT(lambda: DebuggerScreen(store, store.run("root/fork-1/fork-1")), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await debugger(app, pilot)
        await pilot.press("o")
        await until(pilot, lambda: app.screen.model.run.name == "root/fork-1")


async def test_a_run_without_forks_or_parent_says_so(store):
    app = AgentTT(lambda: DebuggerScreen(store, store.run("other")), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await debugger(app, pilot)
        await pilot.press("o")
        await said(app, pilot, "nothing was forked from this run yet")


async def test_a_run_that_is_deleted_while_it_is_open_is_said_to_be_gone(store, tmp_path):
    app = AgentTT(lambda: DebuggerScreen(store, store.run("other"), 1), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await debugger(app, pilot)
        elsewhere = open_store(tmp_path / "runs.db")
        elsewhere.delete_runs([store.run("other").id])
        elsewhere.close()
        gone = ("no run", "was deleted meanwhile")  # as it is told by what was read last
        await until(pilot, lambda: any(text in screen_text(app)[-1] for text in gone))
        await pilot.press("left", "right", "right")
        await pilot.pause()
        assert isinstance(app.screen, DebuggerScreen)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, AboutDialog))
        await until(pilot, lambda: any("no run" in row for row in screen_text(app)))
        await pilot.press("escape")
