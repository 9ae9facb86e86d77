"""Tools that only the conversation shows: rows of the timeline, and a fork dialog that starts none of them unasked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.forking.test_known_tools import openai
from tests.core.store.recordings import begin, new_store
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.test_fork_dialog import Opened
from tests.tui.waiting import until
from textual.app import App, ComposeResult

from agent_tt.forking.request import ForkRequest
from agent_tt.model import CallEnd, NewCall, NewStep, StepEnd
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.plan import plan_sweep
from agent_tt_tui.widgets.debugger.timeline import Timeline
from agent_tt_tui.widgets.dialogs.fork_table import ForkTable
from agent_tt_tui.widgets.runs.sweep_form import SweepCost


@pytest.fixture
def store(tmp_path):
    made = new_store(tmp_path)
    writer = begin(made, {"n": 0}, "loop")
    for call in openai():
        step = writer.open_step(NewStep("ask"))
        number = writer.begin_call(step, NewCall("llm", call.name, call.args, "ab" * 16))
        writer.end_call(step, number, CallEnd("ok", call.result))
        writer.close_step(step, StepEnd("ok"), {"n": step})
    writer.finish("succeeded")
    yield made
    made.close()


async def test_the_timeline_has_a_row_below_the_step_that_asked_and_the_cursor_passes_it(store):
    app = debugger(store, 1)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: any("charge  seen in the conversation" in line for line in screen_text(app)))
        timeline = app.screen.query_one(Timeline)
        assert timeline.line_count == 4  # the input, a step, its tool, a step
        timeline.focus()
        assert timeline.cursor == 1
        await pilot.press("down")
        await until(pilot, lambda: timeline.cursor == 3)
        await pilot.press("up")
        await until(pilot, lambda: timeline.cursor == 1)


async def test_a_fork_starts_only_when_the_tool_is_allowed_or_said_to_read(store):
    opened = Opened(store, "loop", 1)
    opened._dialog.setup = replace(opened._dialog.setup, agent="tests.agent:main")
    async with opened.app.run_test(size=(140, 40)) as pilot:
        dialog = await opened.open(pilot)
        table = dialog.query_one(ForkTable)
        await until(pilot, lambda: "nothing records charge, so it cannot be denied" in opened.text)
        assert "`charge` was asked for once and is not recorded: a fork runs it live" in opened.text
        assert (table.boundary.name, table.boundary.policy) == ("charge", "deny")
        await pilot.press("F")
        assert opened.app.screen is dialog
        assert dialog.blocked("fork.run") == "nothing records charge, so it cannot be denied: allow it first"
        await pilot.press("e")
        await until(pilot, lambda: dialog.blocked("fork.run") is None)
        assert (table.boundary.name, table.boundary.effect, table.boundary.policy) == ("charge", "read", "live")
        await pilot.press("e")
        await until(pilot, lambda: "allow it first" in (dialog.blocked("fork.run") or ""))
        await pilot.press(*("left",) * 4)
        await until(pilot, lambda: dialog.blocked("fork.run") is None)
        assert (table.boundary.effect, table.boundary.policy) == ("write", "live")
        await pilot.press("escape")
        await until(pilot, lambda: opened.results)
    assert [run.name for run in store.runs()] == ["loop"]


@pytest.mark.parametrize("size", [(140, 40), (80, 30), (40, 30)])
async def test_what_a_fork_cannot_hold_is_not_shown_as_denied_and_no_tick_stands_beside_it(store, size):
    opened = Opened(store, "loop", 1)
    opened._dialog.setup = replace(opened._dialog.setup, agent="tests.agent:main")
    async with opened.app.run_test(size=size) as pilot:
        await opened.open(pilot)
        # Lists and lines are drawn one after the other.
        await until(pilot, lambda: "[not held]" in opened.text)
        assert "[deny]" not in opened.text
        assert "✓ no recorded tool writes" not in opened.text
        await pilot.press("left")
        await until(pilot, lambda: "[live]" in opened.text)
        assert "[not held]" not in opened.text
        assert "✓ no recorded tool writes" not in opened.text


async def test_a_sweep_that_may_run_what_nothing_records_shows_no_tick_either(store):
    definition = Definition((Axis("agent", "", ("tests.agent:main",)),), fork=ForkRequest(1), samples=2)
    definition = replace(definition, fork=replace(definition.fork, effects={"charge": "read"}))
    allowed = replace(definition, fork=ForkRequest(1, allow=("charge",)))

    class Shown(App[None]):
        def compose(self) -> ComposeResult:
            yield SweepCost()

    app = Shown()
    async with app.run_test(size=(100, 20)) as pilot:
        app.query_one(SweepCost).plan = plan_sweep(store, "loop", definition)
        await until(pilot, lambda: any("! no recorded tool writes" in line for line in screen_text(app)))
        assert not any("✓" in line for line in screen_text(app))
        app.query_one(SweepCost).plan = plan_sweep(store, "loop", allowed)
        await until(pilot, lambda: any("writes: charge will really run" in line for line in screen_text(app)))
