"""The table of one run against many on the screen: filled, sorted, opened from, live, with what cannot be read."""

from __future__ import annotations

import shutil
import threading
from contextlib import closing

import pytest
from tests.core.store.recordings import new_store
from tests.core.sweeping.by_hand import ByHand
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.comparing.runs.table import TableReader
from agent_tt.errors import Damaged
from agent_tt.forking.request import ForkRequest
from agent_tt.model import Edit, ErrorInfo, NewFork, NewRun, NewStep, StepEnd
from agent_tt.store import open_store
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.compare.table import TableScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.pick import PickDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.run_list import RunList
from agent_tt_tui.widgets.runs.run_table import RunTable
from agent_tt_tui.widgets.runs.table_preview import TablePreview

HOSTILE = "\x1b[31mred\x1b[0m \u202e [bold]not bold[/bold]"
SIZES = [(80, 24), (140, 40), (60, 12)]


def go(writer, number, answer=None, cost=0.01):
    """One step that looks something up; the last one answers."""
    state = {"limit": 1, "n": number, **({"answer": answer} if answer else {})}
    opened = writer.open_step(NewStep(f"look {number}"))
    writer.close_step(opened, StepEnd("ok", tokens_in=100, tokens_out=10, cost_usd=cost), state)


def add_fork(store, parent, at, value, name=""):
    """A fork that has not begun yet, with an edit; and its writer."""
    edits = [Edit("set", "budget.limit", value, 1)]
    fork = store.begin_fork(NewFork(parent, at, state={"limit": value}, new=NewRun(name), edits=edits))
    return fork, store.adopt_run(fork, NewRun(""), {"limit": value})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """`root` of four steps with three forks: one answers as it does, one fails early, one goes on for long."""
    made = new_store(tmp_path_factory.mktemp("table"))
    writer = made.begin_run(NewRun("root"), {"limit": 1})
    for number in range(1, 5):
        go(writer, number, "5 days" if number == 4 else None)
    writer.finish("succeeded")
    root = made.run("root").id
    _, writer = add_fork(made, root, 2, 3)
    go(writer, 3)
    go(writer, 4, "5 days")
    writer.finish("succeeded")
    _, writer = add_fork(made, root, 1, 4)
    go(writer, 7)
    writer.finish("failed", ErrorInfo("builtins:TimeoutError", "gave up"))
    _, writer = add_fork(made, root, 3, 5)
    for number in range(5, 9):
        go(writer, number, "7 days" if number == 8 else None, cost=0.5)
    writer.finish("succeeded")
    made.close()
    return made.path


@pytest.fixture
def store(recorded, tmp_path):
    """A copy of the recorded runs for one test."""
    shutil.copy(recorded, tmp_path / "runs.db")
    with closing(open_store(tmp_path / "runs.db", durability="normal")) as made:
        yield made


def app_of(store, look=None, others=None):
    return AgentTT(lambda: TableScreen(store, store.run("root"), others), look=look or Look())


async def compared(app, pilot):
    """Wait until every row was compared."""
    await until(pilot, lambda: app.screen.query(RunTable) and app.screen.query_one(RunTable).rows)
    table = app.screen.query_one(RunTable)
    await until(pilot, lambda: all(row.outcome is not None or row.error is not None for row in table.rows))
    await pilot.pause()
    return table


def line_of(app, name):
    return next(line for line in screen_text(app) if line[1:].lstrip().startswith(f"{name} "))


@pytest.mark.parametrize("size", SIZES)
async def test_each_fork_is_a_row_with_where_it_parts_and_what_was_changed(store, size):
    app = app_of(store)
    async with app.run_test(size=size) as pilot:
        await compared(app, pilot)
        text = screen_text(app)
        assert "root" in text[0]
        assert "A, the base" in text[2]
        failed, longest = line_of(app, "fork-2"), line_of(app, "fork-3")
        assert "✗" in failed
        assert "limit = 4" in failed
        assert "2" in failed.split()
        assert "3>" in longest
        assert "b" in longest.split()
        assert "+3" in longest


async def test_there_is_more_to_see_where_there_is_room(store):
    app = app_of(store)
    async with app.run_test(size=(160, 40)) as pilot:
        await compared(app, pilot)
        assert {"RUN", "STATUS", "TOKENS", "COST", "TIME", "STATE", "CHANGED"} <= set(screen_text(app)[1].split())
        row = line_of(app, "fork-3")
        assert "succeeded" in row
        assert "$2.03" in row
        assert "×51" in row
        assert "3 runs · 3 differ · 2 different answers" in screen_text(app)[0]


async def test_the_chosen_run_is_told_about_below(store):
    app = app_of(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await compared(app, pilot)
        await pilot.press("j")
        await until(pilot, lambda: app.screen.query_one(TablePreview).chosen.steps)
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "forked after 1" in text
        assert "◇──≠  2 steps" in text
        assert "≠ at 2: " in text
        assert "TimeoutError: gave up" in text
        assert "4 → 2 steps" in text
        await pilot.press("j")
        assert '"7 days"' in "\n".join(screen_text(app))


async def test_without_colour_or_unicode_nothing_is_lost(store):
    app = app_of(store, Look(glyphs=ASCII))
    async with app.run_test(size=(80, 24)) as pilot:
        await compared(app, pilot)
        assert all(line.isascii() for line in screen_text(app))
        assert "x" in line_of(app, "fork-2").split()


async def test_enter_compares_with_the_base_o_opens_and_escape_goes_back(store):
    app = AgentTT(lambda: RunsScreen(store), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(TableScreen(store, store.run("root")))
        await compared(app, pilot)
        await pilot.press("j", "enter")
        assert isinstance(app.screen, CompareScreen)
        assert [run.name for run in app.screen.shown_runs()] == ["root", "root/fork-2"]
        await pilot.press("q", "o")
        assert isinstance(app.screen, DebuggerScreen)
        assert app.screen.model.run.name == "root/fork-2"
        await pilot.press("q")
        assert app.screen.query_one(RunTable).current.run.name == "root/fork-2"
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)


async def test_sorting_goes_through_the_columns_and_the_cursor_stays_on_its_run(store):
    app = app_of(store)
    async with app.run_test(size=(120, 24)) as pilot:
        table = await compared(app, pilot)

        def order():
            return [row.run.name.removeprefix("root/") for row in table.rows]

        assert order() == ["fork-1", "fork-2", "fork-3"]
        await pilot.press("s")
        assert order()[0] == "fork-2"
        assert "where they part" in screen_text(app)[-1]
        assert table.current.run.name == "root/fork-1"
        await pilot.press("s")
        assert order() == ["fork-1", "fork-3", "fork-2"]  # by answer: the most frequent first, failures last
        await pilot.press("s", "s", "s")
        assert order() == ["fork-3", "fork-1", "fork-2"]  # by cost
        await pilot.press("s")
        assert order() == ["fork-1", "fork-2", "fork-3"]


async def test_rows_are_there_before_they_are_compared_and_it_can_be_left_meanwhile(store, monkeypatch):
    may_go_on, compare = threading.Semaphore(1), TableReader._compared

    def slow(self, head, cancelled):
        may_go_on.acquire()
        return compare(self, head, cancelled)

    monkeypatch.setattr(TableReader, "_compared", slow)
    monkeypatch.setattr("agent_tt_tui.screens.compare.table._NEWS_SECONDS", 0.0)
    app = AgentTT(lambda: RunsScreen(store), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(TableScreen(store, store.run("root")))
        await until(pilot, lambda: any("comparing 1 of 3" in line for line in screen_text(app)[:1]))
        assert "limit = 5" in line_of(app, "fork-3")
        assert "·" in line_of(app, "fork-3").split()
        assert "≠" not in line_of(app, "fork-3")
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)
        may_go_on.release(10)
        await until(pilot, lambda: not [each for each in app.workers if each.group == "table"])


async def test_a_run_without_forks_says_how_to_make_one(store):
    app = AgentTT(lambda: TableScreen(store, store.run("root/fork-1")), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("nothing was forked from it yet" in line for line in screen_text(app)))
        await pilot.press("enter", "o")
        assert isinstance(app.screen, TableScreen)
        assert "no run to compare with" in screen_text(app)[-1]


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_what_is_known_of_a_run_has_the_rows_that_the_table_leaves(store, size):
    app = app_of(store)
    async with app.run_test(size=size) as pilot:
        table = await compared(app, pilot)
        preview = app.screen.query_one(TablePreview)
        assert table.region.height == len(table.rows)
        assert preview.region.y == table.region.bottom + 1
        assert preview.region.bottom == size[1] - 1


async def test_a_fork_that_goes_on_fills_in_and_one_that_is_made_meanwhile_appears(store):
    fork, writer = add_fork(store, store.run("root").id, 1, 9)
    app = app_of(store)
    async with app.run_test(size=(100, 24)) as pilot:
        table = await compared(app, pilot)
        await pilot.press("G")
        assert table.current.run.id == fork
        assert "limit = 9" in line_of(app, "fork-4")
        go(writer, 2)
        go(writer, 3)
        await until(pilot, lambda: table.rows[3].outcome.steps == 3)
        assert table.rows[3].run.status == "running"
        go(writer, 4, "9 days")
        writer.finish("succeeded")
        await until(pilot, lambda: table.rows[3].run.status == "succeeded")
        await until(pilot, lambda: '"9 days"' in "\n".join(screen_text(app)))
        assert "✓" in line_of(app, "fork-4")
        _, writer = add_fork(store, fork, 3, 10)
        await until(pilot, lambda: len(table.rows) == 5)
        await until(pilot, lambda: "fork-4/fork-1" in "\n".join(screen_text(app)))
        writer.finish("interrupted")
        await until(pilot, lambda: table.rows[4].run.status == "interrupted")
        assert table.current.run.id == fork


async def test_what_was_deleted_or_cannot_be_read_is_a_row_that_says_so(store, monkeypatch):
    steps, broken = store.steps, store.run("root/fork-2").id

    def damaged(run_id, *rest):
        if run_id == broken:
            raise Damaged("step 2 of it holds what it should not")
        return steps(run_id, *rest)

    monkeypatch.setattr(store, "steps", damaged)
    app = app_of(store)
    async with app.run_test(size=(100, 24)) as pilot:
        table = await compared(app, pilot)
        assert "step 2 of it holds what it should not" in line_of(app, "fork-2")
        await pilot.press("j", "enter")
        assert isinstance(app.screen, TableScreen)
        assert "step 2 of it" in screen_text(app)[-1]
        store.delete_runs([store.run("root/fork-1").id])
        await until(pilot, lambda: any(row.error and row.run.name == "root/fork-1" for row in table.rows))
        assert len(table.rows) == 3
        assert "no run" in line_of(app, "fork-1")


async def test_a_base_that_is_gone_is_said(store):
    run = store.run("root/fork-1")
    store.delete_runs([run.id])
    app = AgentTT(lambda: TableScreen(store, run), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("✗ no run" in line for line in screen_text(app)))


async def test_what_an_agent_wrote_is_text(store):
    _, writer = add_fork(store, store.run("root").id, 1, HOSTILE)
    go(writer, 2, HOSTILE)
    writer.finish("failed", ErrorInfo("builtins:ValueError", HOSTILE))
    store.rename_run(store.run("root/fork-4").id, "other [bold]name[/bold]")
    app = app_of(store)
    async with app.run_test(size=(140, 40)) as pilot:
        await compared(app, pilot)
        await pilot.press("G")
        text = "\n".join(screen_text(app))
        assert "[bold]not bold[/bold]" in text
        assert "other [bold]name" in text
        assert "\x1b" not in text


async def selected(app, pilot):
    await until(pilot, lambda: app.screen.query_one(RunList).line_count > 3)
    return app.screen.query_one(RunList)


async def test_the_browser_compares_more_than_two_selected_runs_with_the_first(store):
    app = AgentTT(lambda: RunsScreen(store), look=Look())
    async with app.run_test(size=(100, 24)) as pilot:
        await selected(app, pilot)
        await pilot.press("j", "space", "space", "space", "c")
        table = await compared(app, pilot)
        assert isinstance(app.screen, TableScreen)
        assert "root/fork-1" in screen_text(app)[0]
        assert [row.run.name for row in table.rows] == ["root/fork-2", "root/fork-3"]
        assert "against 2 runs" in screen_text(app)[0]


async def test_the_browser_compares_a_run_with_its_forks_where_it_has_some(store):
    app = AgentTT(lambda: RunsScreen(store), look=Look())
    async with app.run_test(size=(100, 24)) as pilot:
        await selected(app, pilot)
        assert "C forks" in screen_text(app)[-1]
        await pilot.press("C")
        table = await compared(app, pilot)
        assert len(table.rows) == 3
        await pilot.press("escape", "j")
        await pilot.pause()
        assert "C forks" not in screen_text(app)[-1]
        await pilot.press("C")
        assert "nothing was forked from this run yet" in screen_text(app)[-1]


async def test_the_row_of_a_sweep_compares_its_runs(tmp_path):
    made = ByHand(tmp_path)
    sweep = made.begin(Definition((Axis("set", "temperature", (0, 1)),), fork=ForkRequest(1), samples=1))
    made.took(sweep, 1, 1, state={"answer": "yes"})
    made.took(sweep, 2, 1, state={"answer": "no"})
    made.store.begin_fork(NewFork(made.run.id, 1, state={}, new=NewRun("apart")))
    app = AgentTT(lambda: RunsScreen(made.store), look=Look())
    async with app.run_test(size=(100, 24)) as pilot:
        await until(pilot, lambda: app.screen.query_one(RunList).line_count > 2)
        await pilot.press("j", "C")
        table = await compared(app, pilot)
        assert sorted(row.run.name for row in table.rows) == ["guess/sweep-1/1.1", "guess/sweep-1/2.1"]
    made.store.close()


async def test_the_debugger_offers_all_forks_in_a_table(store):
    _, writer = add_fork(store, store.run("root/fork-1").id, 3, 10)
    writer.finish("succeeded")
    app = AgentTT(lambda: DebuggerScreen(store, store.run("root")), look=Look())
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        assert "all 4 forks" in "\n".join(screen_text(app))
        await pilot.press("enter")
        table = await compared(app, pilot)
        assert len(table.rows) == 4


async def test_what_was_changed_goes_on_below_while_lines_are_free_and_j_goes_to_the_next_run(store):
    long = "the limit of an incident"
    _, writer = add_fork(store, store.run("root").id, 2, long)
    go(writer, 3)
    writer.finish("succeeded")
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await compared(app, pilot)
        text = screen_text(app)
        at = text.index(line_of(app, "fork-4"))
        assert text[at].endswith('budget.limit = "the limit')
        assert text[at + 1].strip() == 'of an incident"'
        names = []
        for _ in table.rows:
            names.append(table.current.run.name)
            await pilot.press("j")
        assert names == [row.run.name for row in table.rows]
        await pilot.resize_terminal(80, 10)
        await pilot.pause()
        assert table.current.run.name == names[-1]
