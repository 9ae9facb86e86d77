"""Finding as one types: in a run, and in all runs of a store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from base_screens import screen_text
from debugger_app import settled
from tests.core.interop.test_langgraph_sieve import many
from tests.patience import PATIENCE_SECONDS
from tests.tui.waiting import workers_ended
from waiting import until

from agent_tt import samples
from agent_tt.interop.langgraph import source as source_module
from agent_tt.model import NewRun, NewStep, StepEnd
from agent_tt.querying.search import build
from agent_tt.querying.search import newest as newest_module
from agent_tt.querying.search.finder import Finder
from agent_tt.querying.search.hits import Hit, Hits
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens import searching
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.runs.find_all import FindAllScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.viewmodel.past.finding import HitRows, where_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from textual.pilot import Pilot

    from agent_tt.store import SqliteStore


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[AgentTT]:
    """An app that shows the sample run refund-loop at step 3."""
    samples.ensure("refund-loop", tmp_path / "store")
    source = open_source(tmp_path / "store")
    yield AgentTT(lambda: DebuggerScreen(source, source.run("refund-loop"), 3), look=Look())
    source.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = open_store(tmp_path / "runs.db", create=True, durability="normal")
    yield made
    made.close()


def record(store: SqliteStore, name: str, words: list[str]) -> str:
    writer = store.begin_run(NewRun(name), {"count": 0})
    for number, word in enumerate(words, start=1):
        writer.open_step(NewStep(word))
        writer.close_step(number, StepEnd("ok"), {"count": number})
    writer.finish("succeeded")
    return writer.run_id


def row_with(pilot: Pilot[None], words: str) -> str:
    return next(row for row in screen_text(pilot.app) if words in row)


async def all_done(pilot: Pilot[None]) -> None:
    for _ in range(3):
        await workers_ended(pilot.app)
        await pilot.pause()


async def test_the_best_hit_is_gone_to_and_equal_texts_are_one_row(loop: AgentTT) -> None:
    async with loop.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("/", *"refund pol")
        await all_done(pilot)
        screen = await settled(pilot)
        assert screen.time.number == screen.panes.find_panel.hits.found.rows[0].hit.step
        assert row_with(pilot, "shown once: same words")
        assert row_with(pilot, "20 times to 20").split()[1] == "●"
        hits = screen.panes.find_panel.hits.found
        assert hits.hits > 100
        assert hits.steps == list(range(22))


async def test_keys_turn_what_is_searched_and_how(loop: AgentTT) -> None:
    async with loop.run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        await pilot.press("/", *"refund", "tab", "tab", "ctrl+o")
        screen = await settled(pilot)
        hits = [row.hit for row in screen.panes.find_panel.hits.found.rows]
        assert {hit.where for hit in hits} == {"arguments"}
        assert [hit.step for hit in hits] == sorted(hit.step for hit in hits)
        assert "by step" in row_with(pilot, "all  state")
        assert "asked" in row_with(pilot, "all  state")
        await pilot.press("shift+tab", "shift+tab", "ctrl+r", *r" pol[a-z]+$")
        screen = await settled(pilot)
        assert screen.panes.find_panel.wish.field == "all"
        found = screen.panes.find_panel.hits.found.rows
        assert found
        assert all(row.hit.excerpt.endswith("refund policy") for row in found)
        await pilot.press("(")
        await settled(pilot)
        assert row_with(pilot, "a parenthesis is not closed")
        assert not screen.panes.find_panel.hits.found.rows


async def test_old_hits_stay_until_there_are_new_ones(loop: AgentTT, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    search = Finder._look_up

    def held(self: Finder, *arguments: object, **options: object) -> Hits:
        if arguments[1].query.text == "refund policy":
            gate.wait(PATIENCE_SECONDS)
        return search(self, *arguments, **options)

    monkeypatch.setattr(Finder, "_look_up", held)
    async with loop.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("/", *"refund")
        await until(pilot, lambda: pilot.app.screen.panes.find_panel.hits.found.rows)
        panel = pilot.app.screen.panes.find_panel
        await until(pilot, lambda: panel.wish.text == "refund" and not panel.hits.is_old)
        before = panel.hits.found
        await pilot.press(*" policy")
        await until(pilot, lambda: panel.wish.text == "refund policy")
        assert panel.hits.is_old
        assert panel.hits.found is not None
        assert panel.hits.found.rows
        assert row_with(pilot, "searching")
        gate.set()
        await until(pilot, lambda: not panel.hits.is_old)
        assert panel.hits.found is not before


async def test_what_is_indexed_is_found_while_the_rest_is(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store.run(record(store, "long", [f"needle {number}" for number in range(60)]))
    monkeypatch.setattr(build, "_FIRST_BATCH", 20)
    monkeypatch.setattr(build, "_BATCH", 20)
    gate, written = threading.Event(), build.Builder._write
    count = 0

    def held(self: build.Builder, *arguments: object) -> object:
        nonlocal count
        count += 1
        if count == 3:
            gate.wait(PATIENCE_SECONDS)
        return written(self, *arguments)

    monkeypatch.setattr(build.Builder, "_write", held)
    async with AgentTT(lambda: DebuggerScreen(store, run, 1), look=Look()).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, DebuggerScreen) and pilot.app.screen.time.number == 1)
        await pilot.press("/", *"needle")
        panel = pilot.app.screen.panes.find_panel
        await until(pilot, lambda: panel.hits.found.hits)
        assert 0 < panel.hits.found.hits < 60
        assert "searching" in row_with(pilot, "hits in")
        assert "%" in row_with(pilot, "hits in")
        gate.set()
        await until(pilot, lambda: panel.hits.found.hits == 60)
        await until(pilot, lambda: "searching" not in row_with(pilot, "hits in"))


@pytest.mark.parametrize("index", ["on", "off"])
async def test_a_run_that_grows_is_searched_as_it_grows(
    index: str, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TT_SEARCH_INDEX", index)
    writer = store.begin_run(NewRun("live"), {})
    writer.open_step(NewStep("needle one"))
    writer.close_step(1, StepEnd("ok"), {})
    run = store.run(writer.run_id)
    async with AgentTT(lambda: DebuggerScreen(store, run, 1), look=Look()).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, DebuggerScreen) and pilot.app.screen.time.number == 1)
        await pilot.press("/", *"needle")
        panel = pilot.app.screen.panes.find_panel
        await until(pilot, lambda: panel.hits.found.hits == 1)
        writer.open_step(NewStep("needle two"))
        await until(pilot, lambda: panel.hits.found.hits == 2)
        await pilot.press("escape")
    writer.finish("succeeded")


async def test_all_runs_are_searched_and_enter_opens_one_at_the_hit(store: SqliteStore) -> None:
    record(store, "first", ["plan", "look for a needle", "rest"])
    record(store, "second", ["needle", "needles everywhere"])
    record(store, "third", ["hay"])
    async with AgentTT(lambda: RunsScreen(store), look=Look()).run_test(size=(80, 24)) as pilot:
        await all_done(pilot)
        await pilot.press("ctrl+f", *"needle")
        await all_done(pilot)
        assert isinstance(pilot.app.screen, FindAllScreen)
        panel = pilot.app.screen.find_panel
        await pilot.press("z")
        await all_done(pilot)
        assert row_with(pilot, "0 hits in 0 runs")
        await pilot.press("backspace")
        await all_done(pilot)
        assert "3 hits in 2 runs" in row_with(pilot, "hits in")
        assert [row.heading for row in panel.hits.found.rows if row.heading] == ["second", "first"]
        texts = screen_text(pilot.app)
        first = next(at for at, row in enumerate(texts) if row.strip().startswith("first"))
        assert "look for a needle" in texts[first + 1]
        await pilot.press("down", "down", "down", "down", "enter")
        await all_done(pilot)
        assert isinstance(pilot.app.screen, DebuggerScreen)
        assert (pilot.app.screen.model.run.name, pilot.app.screen.time.number) == ("first", 2)
        await pilot.press("q")
        await all_done(pilot)
        assert isinstance(pilot.app.screen, FindAllScreen)
        assert row_with(pilot, "needle")
        await pilot.press("escape")
        await all_done(pilot)
        assert isinstance(pilot.app.screen, RunsScreen)
        await pilot.press("/", "/")
        await all_done(pilot)
        assert isinstance(pilot.app.screen, FindAllScreen)


async def test_of_a_large_file_it_is_said_how_many_runs_were_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 0)
    monkeypatch.setattr(newest_module, "_FEWEST_STEPS", 4)
    monkeypatch.setattr(searching, "_MOST_HITS", 2)
    source = open_source(many(tmp_path / "large.db", 9))
    async with AgentTT(lambda: RunsScreen(source), look=Look()).run_test(size=(80, 24)) as pilot:
        await all_done(pilot)
        await pilot.press("ctrl+f", *"needle")
        await all_done(pilot)
        assert "4+ hits in 2+ runs, looked at the newest 4 of 9" in row_with(pilot, "hits in")
    source.close()


def hit(step: int, excerpt: str, **how: object) -> Hit:
    return Hit(step, "state", "note", excerpt, 0, 1, run="run", last=step, **how)


def test_rows_by_rank_keep_their_order_and_say_what_is_shown_once() -> None:
    rows = HitRows.of(Hits((hit(7, "a"), hit(2, "b", times=18)), total=19, steps=(2, 7)), "rank")
    assert [(row.hit.step, row.count, row.like) for row in rows.rows] == [(7, 1, None), (2, 18, None)]
    assert (rows.hits, rows.repeated, rows.steps) == (19, 17, [2, 7])


def test_rows_by_step_fold_what_repeats() -> None:
    rows = HitRows.of(Hits(tuple(hit(step, "a") for step in (1, 2, 3, 5)), total=4, steps=(1, 2, 3, 5)), "step")
    assert [(row.hit.step, row.last, row.count, row.like) for row in rows.rows] == [(1, 1, 1, None), (2, 5, 3, 1)]
    assert rows.repeated == 3


def test_of_a_place_that_is_too_long_the_end_of_its_path_is_seen_beside_what_it_is_in():
    hit = Hit(3, "arguments", "messages[2].content", "refund", 0, 6, call=1)
    assert where_in(hit, 40, "…") == "call 1 asked messages[2].content"
    assert where_in(hit, 24, "…") == "call 1 asked …2].content"
    assert where_in(Hit(3, "decision", "", "refund", 0, 6), 5, "…") == "deci…"
