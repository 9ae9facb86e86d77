"""The statistics on the screen: all zones, unknown said as such, filters, groups, what enter opens, other sizes."""

from __future__ import annotations

from contextlib import closing
from datetime import date

import pytest
from tests.core.memory_store import Did, MemorySource
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.errors import Damaged
from agent_tt.model import AgentCode, CallEnd, NewCall, NewRun, NewStep, Replay, StepEnd, Usage
from agent_tt.model.statistics import RunGroup, Spread
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.screens.statistics.screen import StatisticsScreen
from agent_tt_tui.viewmodel.runs.statistics import day_table, squeezed, stats_command

NARROW, WIDE, LARGE = (80, 24), (120, 40), (200, 50)


@pytest.fixture
def counted(tmp_path):
    """Two runs of one agent that cost something, and one of another of which nobody knows what it cost."""
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        for name, agent, status in (("desk", "desk.py:main", "succeeded"),) * 2 + (("odd", "odd.py:main", "failed"),):
            writer = store.begin_run(NewRun(name, code=AgentCode(agent, "1")), {"n": 0})
            number = writer.open_step(NewStep("think"))
            call = writer.begin_call(number, NewCall("llm", "ask", {}, "ab" * 16, None, "main", 1))
            writer.end_call(number, call, CallEnd("ok", 1, meta={"model": "gpt-5"}))
            known = agent.startswith("desk")
            writer.close_step(
                number,
                StepEnd("ok", tokens_in=1_000, tokens_out=20, cost_usd=0.25) if known else StepEnd("ok"),
                {"n": 1},
            )
            writer.finish(status)
            if known:
                store.keep_replay(Replay(writer.run_id, "as_recorded", duration_us=2_000_000))
        yield store


def app_of(source, look=None):
    return AgentTT(lambda: StatisticsScreen(source), look=look or Look())


async def shown(app, pilot, words="HOW THEY ENDED"):
    await until(pilot, lambda: words in "\n".join(screen_text(app)) and "counting" not in "\n".join(screen_text(app)))
    return screen_text(app)


@pytest.mark.parametrize("size", [NARROW, WIDE, LARGE])
async def test_statistics_open_from_the_list_of_runs_with_every_zone(counted, size):
    app = AgentTT(lambda: RunsScreen(counted), look=Look())
    async with app.run_test(size=size) as pilot:
        await pilot.press("I")
        text = await shown(app, pilot)
        assert "3 runs" in text[0]
        assert "$0.50" in text[0]
        assert "67 % of ended runs succeeded" in text[1]
        whole = "\n".join(text)
        assert "2 · 100 % as recorded · 0 % diverged" in whole
        assert "100 % · 3 taken · 0 failed" in whole
        zones = ["EACH DAY"] if size == NARROW else ["EACH DAY", "BY AGENT", "SLOWEST STEPS", "LOOPS", "ERRORS"]
        assert [zone for zone in zones if zone not in whole] == []
        if size == NARROW:
            await pilot.press(*["tab"] * 7)
            assert "ERRORS" in "\n".join(screen_text(app))


async def test_what_nobody_knows_is_a_dash_and_never_a_zero(counted):
    app = app_of(counted)
    async with app.run_test(size=WIDE) as pilot:
        await shown(app, pilot)
        (odd,) = (line for line in screen_text(app) if line.strip().startswith("odd.py:main"))
        # runs, succeeded (0 % is known), steps, tokens, cost, took
        assert odd.split()[1:7] == ["1", "0", "%", "1", "–", "–"]
        await pilot.press("a")
        await until(pilot, lambda: any("odd.py:main" in line and "1 run" in line for line in screen_text(app)))
        await pilot.press("down", "down", "enter")
        text = await shown(app, pilot)
        assert "odd.py:main" in text[0]
        assert "1 run" in text[0]
        assert "tok" not in text[0]
        whole = "\n".join(text)
        assert "0 · – as recorded · – diverged" in whole
        assert "of no step a price is known" in whole
        await pilot.press("escape")
        assert "3 runs" in (await shown(app, pilot))[0]


async def test_enter_counts_one_agent_or_opens_the_step_and_says_where_nothing_is_opened(counted):
    app = app_of(counted)
    async with app.run_test(size=LARGE) as pilot:
        await shown(app, pilot)
        await pilot.press("enter")
        assert "nothing is opened from this row" in screen_text(app)[-1]
        await pilot.press("tab", "tab", "tab", "enter")
        text = await shown(app, pilot)
        assert "desk.py:main" in text[0]
        assert "2 runs" in text[0]
        await pilot.press("tab", "enter")
        assert isinstance(app.screen, DebuggerScreen)
        assert app.screen.model.run.name.startswith("desk")


async def test_groups_follow_their_keys_and_the_command_counts_the_same(counted):
    app = app_of(counted)
    async with app.run_test(size=WIDE) as pilot:
        await shown(app, pilot)
        await pilot.press("B")
        await shown(app, pilot, "BY TOOL")
        assert any("no such call was counted" in line for line in screen_text(app))
        await pilot.press("B")
        text = await shown(app, pilot, "BY MODEL")
        assert any("gpt-5" in line for line in text), "\n".join(text)
        await pilot.press("p", "p")
        text = await shown(app, pilot)
        assert "since 30d ago" in text[0]
        await pilot.press("y")
        assert app.clipboard == "agent-tt stats --by model --since 30d"
    assert stats_command("day", "a b.py:main", "") == "agent-tt stats --by day --agent 'a b.py:main'"


@pytest.mark.parametrize("look", [Look(glyphs=ASCII), Look(theme="tt-light")], ids=["ascii", "light"])
async def test_a_store_without_runs_says_so_in_each_zone(tmp_path, look):
    with closing(open_store(tmp_path / "empty.db", create=True)) as store:
        app = app_of(store, look)
        async with app.run_test(size=WIDE) as pilot:
            text = await shown(app, pilot)
            assert "0 runs" in text[0]
            assert sum("no run was counted" in line for line in text) == 3
            assert look.glyphs is not ASCII or all(line.isascii() for line in text)


async def test_a_source_that_cannot_be_counted_says_why():
    class Broken(MemorySource):
        def statistics(self, chosen):
            raise Damaged("the file is damaged")

    app = app_of(Broken())
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: "the file is damaged" in screen_text(app)[0])


async def test_a_source_of_another_system_is_counted_too():
    source = MemorySource()
    source.add("one", [Did("think")])
    app = app_of(source)
    async with app.run_test(size=WIDE) as pilot:
        text = "\n".join(await shown(app, pilot))
        assert any(line.split()[:2] == ["store", "–"] for line in text.splitlines() for line in [line[60:]])


def group(day, runs, cost=None):
    return RunGroup(day, {"succeeded": runs}, usage=Usage(cost_usd=cost), took=Spread(1, 1, 1, 1, 2_000_000))


def test_each_day_is_drawn_once_with_the_days_between_and_wrong_clocks_left_out():
    days = [group("2026-03-01", 2, 0.5), group("2026-03-04", 4), group("9999-01-01", 1), group(None, 1)]
    table = day_table(days, {"2026-03-01": 100}, date(2026, 3, 5), UNICODE)
    rows = {line.cells[0].text: line.cells for line in table.lines}
    assert list(rows["runs"][1].series) == [2, 0, 0, 4, 0]
    assert list(rows["cost"][1].series) == [0.5, None, None, None, None]
    assert [rows["cost"][2].text, rows["cost"][3].text] == ["–", "$0.50"]
    assert [rows["runs"][2].text, rows["runs"][3].text] == ["0", "3"]
    assert table.detail == "2026-03-01 to 2026-03-05"
    old = day_table([group("1970-01-01", 1), *days], {}, date(2026, 3, 5), UNICODE)
    assert len(old.lines[0].cells[1].series) == 3_651


def test_a_series_is_squeezed_to_the_largest_of_each_share_and_the_unknown_stays_so():
    assert squeezed([1, None, 3, 2], 2) == [1, 3]
    assert squeezed([None, None, 3], 2)[0] is None
    assert squeezed([1, 2], 5) == [1, 2]
    assert max(squeezed(list(range(100_000)), 80)) == 99_999
