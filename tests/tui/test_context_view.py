"""What a model was shown, in the debugger: the view of key 3 at the sizes of a terminal, and its keys."""

from __future__ import annotations

from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did, MemorySource
from tests.core.querying.compacted_session import RULE, write_session
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

from agent_tt.context.reading import read_contexts
from agent_tt.context.without import without_item
from agent_tt.errors import Damaged
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.help import HelpScreen
from agent_tt_tui.keymaps import CONTEXT, DEBUGGER
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.pick import PickDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.viewmodel.context.folds import rows_of
from agent_tt_tui.viewmodel.context.history import call_at, chart_of
from agent_tt_tui.viewmodel.context.made_of import segments_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from agent_tt.protocols import RunSource


@contextmanager
def closing_samples():
    with closing(open_source(SAMPLES)) as source:
        yield source


SIZES = [(80, 24), (120, 40), (200, 50)]
SAMPLES = "sample_runs/runs.db"


class Driven:
    """A debugger that shows what a model was shown, driven by keys."""

    def __init__(self, pilot: Pilot[None], screen: DebuggerScreen) -> None:
        self.pilot, self.app, self.screen = pilot, pilot.app, screen

    @property
    def rows(self) -> list[str]:
        return screen_text(self.app)  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def view(self):
        return self.screen.panes.inspector.context

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await workers_ended(self.app)
        await self.pilot.pause()


@asynccontextmanager
async def opened(
    source: RunSource, run: str, step: int | None, size: tuple[int, int] = (120, 40), look: Look | None = None
) -> AsyncIterator[Driven]:
    found = source.run(run)
    app = AgentTT(lambda: DebuggerScreen(source, found, step), look=look or Look())
    async with app.run_test(size=size) as pilot:
        await workers_ended(app)
        await pilot.pause()
        assert isinstance(app.screen, DebuggerScreen)
        driven = Driven(pilot, app.screen)
        await driven.press("3")
        await until(pilot, lambda: driven.view is not None and driven.screen.focused is driven.view.list)
        await until(pilot, lambda: driven.view.shown is not None or bool(driven.view.facts.said))
        await workers_ended(app)
        await pilot.pause()
        yield driven


@pytest.fixture
def samples() -> RunSource:
    from pathlib import Path

    return open_source(Path(__file__).parents[2] / SAMPLES)


@pytest.mark.parametrize("size", SIZES)
async def test_a_call_is_shown_whole_at_every_size(samples, size):
    async with opened(samples, "flaky-checkout", 8, size) as driven:
        columns, rows = size
        text = driven.text
        assert "3 Context" in text
        assert "634 tokens" in text
        assert "+92 −0 since call 7" in text
        assert "WHAT IT IS MADE OF" in text
        assert "FROM TOP TO BOTTOM  16 items" in text
        assert "≡ the same as in the last call down to here" in text
        assert "the model, step 7" in text
        assert ("fullest" in text) == (rows >= 30)
        assert ("share" in text) == (columns >= 120)
        assert "TIMELINE" not in text
        if columns == 200:
            title = next(row for row in driven.rows if "FROM TOP TO BOTTOM" in row)
            assert "ASSISTANT" in title
        assert all(len(row) <= columns for row in driven.rows)


async def test_what_is_new_since_the_last_call_is_marked_and_the_cursor_stands_there(samples):
    async with opened(samples, "flaky-checkout", 8) as driven:
        marked = [row for row in driven.rows if row.lstrip("▌ ").startswith("+ ")]
        assert len(marked) == 2
        assert "charge_card(card: card_8802, amount: 13684)" in marked[0]
        assert driven.view.list.current.mark == "new"


async def test_comma_and_dot_go_from_model_call_to_model_call_and_time_follows(samples):
    async with opened(samples, "refund-loop", 3) as driven:
        await driven.press(".")
        assert (driven.screen.time.number, driven.view.shown.context.step) == (4, 4)
        await driven.press(",", ",", ",", ",")
        assert driven.screen.time.number == 1
        assert "this is the first model call of the run" in driven.text
        await driven.press("right")
        assert driven.view.shown.context.step == 2


async def test_several_model_calls_of_one_step_are_gone_through():
    twice = [
        Did("one", answer={"role": "assistant", "content": "a"}, asked={"messages": [{"role": "user", "content": "x"}]})
    ]
    source = MemorySource()
    source.add("run", twice, state={})
    async with opened(source, "run", 1) as driven:
        assert "model call 1 of 1 at step 1" in driven.text


async def test_b_goes_to_where_an_item_came_from_and_esc_comes_back(samples):
    async with opened(samples, "flaky-checkout", 8) as driven:
        await driven.press("g")
        await driven.press("j", "j", "j")
        item = driven.view.list.current
        assert [origin.name for origin in item.origins] == ["load_cart"]
        await driven.press("b")
        assert driven.screen.time.number == item.origins[0].step
        assert driven.screen.panes.inspector.tab == "Call"
        assert "load_cart" in driven.text
        await driven.press("escape")
        assert driven.screen.panes.inspector.tab == "Context"
        assert driven.view.shown.context.step == 8


async def test_b_asks_which_place_where_several_hold_the_same(samples):
    async with opened(samples, "refund-loop", 5) as driven:
        assert len(driven.view.list.current.origins) > 1
        await driven.press("b")
        assert isinstance(driven.app.screen, PickDialog)
        await driven.press("enter")
        assert driven.screen.time.number == 4


async def test_f_forks_without_the_item_and_what_belongs_to_it(samples):
    async with opened(samples, "refund-loop", 5) as driven:
        await driven.press("G", "f")
        await until(driven.pilot, lambda: isinstance(driven.app.screen, ForkDialog))
        pending = driven.screen.model.pending
        assert pending.step == 4
        assert [(edit.op, edit.path) for edit in pending.edits] == [
            ("delete", "messages[9]"),
            ("delete", "messages[8]"),
        ]


async def test_f_says_why_tools_cannot_be_left_out(samples):
    async with opened(samples, "refund-loop", 5) as driven:
        await driven.press("g", "j", "f")
        assert driven.view.list.current.part.kind == "tools"
        assert "which tools are offered is in the agent's program" in driven.text
        assert driven.screen.model.pending is None


async def test_s_puts_the_largest_first_and_back(samples):
    async with opened(samples, "flaky-checkout", 8) as driven:
        await driven.press("s", "g")
        assert "BY SIZE" in driven.text
        assert driven.view.list.current.tokens == max(item.tokens for item in driven.view.shown.context.items)
        await driven.press("s")
        assert "FROM TOP TO BOTTOM" in driven.text


async def test_enter_reads_an_item_in_full_and_esc_goes_back_to_the_list(samples):
    async with opened(samples, "flaky-checkout", 8, (80, 24)) as driven:
        await driven.press("enter")
        assert driven.screen.focused is driven.view.item
        assert "WHAT IT IS MADE OF" not in driven.text
        await driven.press("escape")
        assert driven.screen.focused is driven.view.list
        assert "WHAT IT IS MADE OF" in driven.text


async def test_help_and_palette_have_the_keys_of_the_view_while_it_is_in_focus(samples):
    async with opened(samples, "refund-loop", 5) as driven:
        offered = {command.id: command.help for command in driven.screen.keys.commands}
        assert {command.id for command in CONTEXT.commands} <= offered.keys()
        assert offered["context.fork"] == "Fork the run without the item"
        await driven.screen.action_command("context.by_size")
        assert driven.view.list.by_size
        await driven.press("?")
        await until(driven.pilot, lambda: isinstance(driven.app.screen, HelpScreen))
        assert driven.text.index("CONTEXT") < driven.text.index("Go to where the item came from")
        await driven.press("escape", "1")
        assert driven.screen.keys is DEBUGGER


async def test_another_tab_gives_the_focus_back_to_where_it_was(samples):
    async with opened(samples, "flaky-checkout", 8) as driven:
        await driven.press("1")
        assert driven.screen.focused is driven.screen.panes.timeline
        assert "TIMELINE" in driven.text
        assert "DIFF" in driven.text


async def test_a_compaction_names_what_it_dropped(tmp_path: Path):
    source = open_source(write_session(tmp_path / "compacted.jsonl"))
    async with opened(source, source.runs()[0].id, 5) as driven:
        assert "compacted here" in driven.text
        assert "5 items gone: 1 of yours, 2 calls, 1 file, 1 result" in driven.text
        assert f"step 6 needed {RULE}" in driven.text
        assert "not recorded 77" in driven.text
        assert "there may be more that is not recorded" in driven.text


async def test_a_run_that_asked_no_model_says_so():
    source = MemorySource()
    source.add("run", [Did("tool", tool="t", result=1)], state={})
    async with opened(source, "run", 1) as driven:
        assert "this run asked no model, as far as it was recorded" in driven.text
        await driven.press("b", "f", "s", ".", "enter", "1")
        assert driven.screen.panes.inspector.tab == "State"


async def test_a_call_whose_request_was_not_kept_says_so():
    source = MemorySource()
    source.add("run", [Did("ask", answer={"role": "assistant", "content": "Yes."})], state={})
    async with opened(source, "run", 1) as driven:
        assert "what this call was asked with was not recorded" in driven.text


async def test_a_run_that_cannot_be_read_says_why():
    class Broken(MemorySource):
        def calls(self, run_id, step):
            raise Damaged("the calls of this step are damaged")

    source = Broken()
    source.add("run", [Did("ask", answer={"role": "assistant", "content": "Yes."})], state={})
    found = source.run("run")
    app = AgentTT(lambda: DebuggerScreen(source, found, 0), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await workers_ended(app)
        await pilot.pause()
        assert "what models were shown cannot be read: the calls of this step are damaged" in "\n".join(
            screen_text(app)
        )


async def test_without_colours_and_in_ascii_the_parts_of_the_bar_stand_in_brackets(samples):
    async with opened(samples, "flaky-checkout", 8, look=Look(glyphs=ASCII, theme="ansi-dark")) as driven:
        assert "[results 275" in driven.text
        assert driven.text.isascii()


# ---------------------------------------------------------------- without a terminal


def contexts_of(calls: int):
    source = MemorySource()
    messages = [{"role": "user", "content": f"message number {number} of many"} for number in range(calls)]
    steps = [
        Did("ask", answer={"role": "assistant", "content": "Yes."}, asked={"messages": messages[: number + 1]})
        for number in range(calls)
    ]
    source.add("run", steps)
    return read_contexts(source, "run")


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("calls", [1, 7, 300])
def test_the_chart_has_the_call_that_is_shown_whatever_room_there_is(calls, columns):
    contexts = contexts_of(calls)
    for at in (0, calls // 2, calls - 1):
        chart = chart_of(contexts, at, columns, 7, ASCII)
        assert at in chart.columns
        assert call_at(chart, chart.columns.index(at)) == at
        assert call_at(chart, 1000) is None
        assert str(at + 1) in "".join(text for text, _ in chart.rows[-1])
        assert len(chart.rows) == 7


@pytest.mark.parametrize("room", [5, 12, 40, 1000])
def test_the_list_folds_only_as_far_as_rows_are_short_and_hides_nothing_for_good(room):
    context = contexts_of(60).calls[-1]
    rows = rows_of(context, room, (), by_size=False)
    assert [item.number for row in rows for item in row.items] == list(range(60))
    assert len(rows) <= max(room, 5)
    if room >= 1000:
        assert not any(row.folded for row in rows)


@pytest.mark.parametrize("columns", [20, 78, 118, 198])
def test_the_bar_fills_its_columns_and_every_part_is_named_once(samples, columns):
    contexts = read_contexts(samples, samples.run("refund-loop").id)
    segments = segments_of(contexts.calls[-1], columns)
    assert sum(segment.columns for segment in segments) == columns
    assert all(bool(segment.name) != bool(segment.label) for segment in segments), "named once, inside or above"


def test_an_item_that_no_state_holds_is_not_left_out_and_the_reason_is_said():
    source = MemorySource()
    asked = {"messages": [{"role": "user", "content": "a text that the program makes up"}]}
    source.add("run", [Did("ask", answer={"role": "assistant", "content": "Yes."}, asked=asked)], state={"n": 1})
    context = read_contexts(source, "run").calls[0]
    found = without_item(source, "run", context, context.items[0])
    assert (found.edits, found.step) == ((), 0)
    assert "the program adds it by itself" in found.why_not


@pytest.mark.parametrize("context", [CONTEXT, DEBUGGER], ids=lambda context: context.title)
def test_no_key_means_two_things(context):
    assert context.clashes() == []


async def test_an_item_that_is_read_again_stays_where_it_was_read():
    source = MemorySource()
    text = "\n".join(f"row {number} of a long instruction" for number in range(200))
    asked = {"messages": [{"role": "system", "content": text}, {"role": "user", "content": "Go on."}]}
    source.add("run", [Did("ask", answer="Yes.", asked=asked)])
    async with opened(source, "run", 1) as driven:
        await driven.press("enter", *["pagedown"] * 3)
        item, shown = driven.view.item, driven.view.shown
        at, scrolled = item.cursor, item.scroll_offset.y
        assert at > 30
        assert scrolled > 0
        again = read_contexts(source, "run")
        driven.view.show(replace(shown, contexts=again))
        await driven.pilot.pause()
        assert (item.cursor, item.scroll_offset.y) == (at, scrolled)
        driven.view.show_in_full(in_full=False)
        await driven.press("j")
        assert item.cursor == 0


async def test_a_call_is_compared_with_any_other_and_with_the_last_one_again():
    with closing_samples() as samples:
        async with opened(samples, "refund-loop", 5) as driven:
            assert "since call 4" in driven.text
            await driven.press("c")
            await until(driven.pilot, lambda: isinstance(driven.app.screen, PickDialog))
            assert "call 5" not in [choice.label.partition(",")[0] for choice in driven.app.screen._choices]
            await driven.press("g", "down", "down", "enter")
            await until(driven.pilot, lambda: driven.app.screen is driven.screen)
            assert "against call 2" in driven.text
            assert "the same as in the call of step 2 down to here" in driven.text
            context = driven.view.shown.context
            assert [item.number for item in context.items if item.mark == "new"] == list(range(6, 15))
            await driven.press(",")  # the choice stays while other calls are shown
            await until(driven.pilot, lambda: driven.view.shown.context.step == 4)
            assert "against call 2" in driven.text
            await driven.press("escape")
            assert "since call 3" in driven.text
            assert driven.screen.is_current


async def test_a_later_call_shows_what_only_it_has_and_says_nothing_of_cutting():
    with closing_samples() as samples:
        async with opened(samples, "refund-loop", 3) as driven:
            await driven.press("c")
            await until(driven.pilot, lambda: isinstance(driven.app.screen, PickDialog))
            await driven.press("G", "enter")
            await until(driven.pilot, lambda: driven.app.screen is driven.screen)
            assert "against call 21" in driven.text
            assert "items only there" in driven.text
            assert "cut here" not in driven.text
            assert "gone" not in driven.text


async def test_an_item_is_left_out_of_a_fork_also_beside_a_chosen_call():
    with closing_samples() as samples:
        async with opened(samples, "refund-loop", 5) as driven:
            await driven.press("c")
            await until(driven.pilot, lambda: isinstance(driven.app.screen, PickDialog))
            await driven.press("g", "down", "enter")
            await until(driven.pilot, lambda: driven.app.screen is driven.screen)
            before = driven.screen.model.pending
            await driven.press("G", "f")
            await workers_ended(driven.app)
            assert before is None
            assert "this call has it no more" not in driven.text
