"""The run browser, over a real store with the sample runs."""

from contextlib import closing
from types import SimpleNamespace

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

import agent_tt
from agent_tt import samples
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.runs.empty import EmptyScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs import run_preview
from agent_tt_tui.widgets.runs.run_list import RunList
from agent_tt_tui.widgets.runs.run_preview import PreviewPane

WIDE, NARROW = (120, 40), (80, 24)


@pytest.fixture
def browser(sample_store):
    return AgentTT(lambda: RunsScreen(sample_store), look=Look())


async def shown(app, pilot):
    await until(pilot, lambda: app.screen.query_one(RunList).line_count > 0)
    return app.screen.query_one(RunList)


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_every_run_is_listed_with_its_status_and_steps(browser, size):
    async with browser.run_test(size=size) as pilot:
        await shown(browser, pilot)
        text = screen_text(browser)
        row = next(line for line in text if "refund-loop" in line)
        assert "failed" in row
        assert " 21 " in row


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("pinned", [True, False])
async def test_a_long_name_is_cut_before_the_status(sample_store, browser, size, pinned):
    run = sample_store.run("refund-loop")
    sample_store.rename_run(run.id, "a name that no column has room for " * 3)
    sample_store.set_pinned([run.id], pinned=pinned)
    async with browser.run_test(size=size) as pilot:
        await shown(browser, pilot)
        row = next(line for line in screen_text(browser) if "a name that no" in line)
        assert f"… {'pinned ' if pinned else ''}✗ failed" in row


@pytest.mark.parametrize("size", [(40, 10), (120, 12)])
async def test_on_a_low_screen_the_list_keeps_its_rows(browser, size):
    async with browser.run_test(size=size) as pilot:
        await shown(browser, pilot)
        assert sum("✓" in row or "✗" in row for row in screen_text(browser)) >= 4


async def test_typing_a_filter_leaves_only_what_matches_and_escape_brings_all_back(browser):
    async with browser.run_test(size=NARROW) as pilot:
        runs = await shown(browser, pilot)
        everything = runs.line_count
        await pilot.press("slash", *"refund")
        assert [row.run.name for row in runs.rows] == ["refund-loop"]
        await pilot.press("escape")
        assert runs.line_count == everything


async def test_compare_says_how_many_runs_to_select_before_it_does_anything(browser):
    async with browser.run_test(size=NARROW) as pilot:
        runs = await shown(browser, pilot)
        while runs.current.run.parent is not None:
            await pilot.press("j")
        await pilot.press("c")
        assert isinstance(browser.screen, RunsScreen)
        assert "select two runs" in screen_text(browser)[-1]


async def test_compare_takes_the_selected_run_and_the_one_under_the_cursor(browser):
    async with browser.run_test(size=NARROW) as pilot:
        runs = await shown(browser, pilot)
        first, second = runs.rows[0].run, runs.rows[1].run
        await pilot.press("space", "c")
        assert isinstance(browser.screen, CompareScreen)
        assert [run.id for run in browser.screen.shown_runs()] == [first.id, second.id]


async def test_the_preview_follows_the_cursor(browser):
    async with browser.run_test(size=WIDE) as pilot:
        runs = await shown(browser, pilot)
        name = runs.rows[1].run.name
        await pilot.press("j")
        await until(pilot, lambda: any("PREVIEW" in line and name in line for line in screen_text(browser)))


async def test_a_preview_is_read_at_once_behind_a_cursor_that_rested_and_once_for_a_key_held_down(browser, monkeypatch):
    read, stopped, now = [], [], 1000.0
    async with browser.run_test(size=WIDE) as pilot:
        await shown(browser, pilot)
        await workers_ended(browser)
        pane = browser.screen.query_one(PreviewPane)
        timer = SimpleNamespace(stop=lambda: stopped.append(1))
        monkeypatch.setattr(pane, "set_timer", lambda seconds, start: timer)
        monkeypatch.setattr(run_preview, "time", SimpleNamespace(monotonic=lambda: now))
        monkeypatch.setattr(pane, "_start", lambda: read.append(browser.screen.listing.run_under_cursor.name))
        names = [row.run.name for row in browser.screen.query_one(RunList).rows]
        pane._moved = now - 1
        await pilot.press("j", "j", "k", "j")  # held down: no time goes by between them
        assert read == [names[1]]
        assert len(stopped) == 2  # the third and the fourth key took the place of the one before
        now += 0.2
        await pilot.press("k")
        assert read == [names[1], names[1]]
        assert len(stopped) == 3
        now += 0.2
        pane.read_soon()  # as when the rows are laid out anew, and the same run is under the cursor
        assert read == [names[1], names[1]]
        pane.read_soon(anew=True)
        assert read == [names[1]] * 3


async def test_sorting_by_steps_puts_the_longest_run_first(browser):
    async with browser.run_test(size=NARROW) as pilot:
        runs = await shown(browser, pilot)
        for _ in range(3):
            await pilot.press("s")
        steps = [row.run.steps for row in runs.rows]
        assert steps == sorted(steps, reverse=True)


async def test_an_empty_store_offers_the_sample_first_and_one_key_opens_it(tmp_path, monkeypatch):
    def ensure_and_look(name, path):
        """Add it, and see that there is a store before the one that asked is told."""
        run_id = ensure(name, path)
        app.call_from_thread(app.screen._show_found)
        return run_id

    ensure = samples.ensure
    monkeypatch.setattr(samples, "ensure", ensure_and_look)
    app = AgentTT(lambda: EmptyScreen(tmp_path / "runs.db"), look=Look())
    async with app.run_test(size=NARROW) as pilot:
        text = screen_text(app)
        ways = [line for line in text if line.strip().startswith(("s ", "r ", "o "))]
        assert "sample" in ways[0]
        assert not (tmp_path / "runs.db").exists()
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        assert (tmp_path / "runs.db").exists()


async def test_a_low_preview_gives_the_answer_the_rows_that_are_free(tmp_path):
    answer = "Our help centre has no article about refunds of a coffee machine that came back unopened. " * 2
    with agent_tt.record("answered", state={"answer": answer.strip()}, store=tmp_path / "runs.db"):
        pass
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as store:
        app = AgentTT(lambda: RunsScreen(store), look=Look())
        async with app.run_test(size=NARROW) as pilot:
            await shown(app, pilot)
            await until(pilot, lambda: any(row.startswith(" answer ") for row in screen_text(app)))
            first = next(at for at, row in enumerate(screen_text(app)) if row.startswith(" answer "))
            told = [row[8:].strip() for row in screen_text(app)[first : first + 3]]
            assert " ".join(told) == f'"{answer.strip()}"'
