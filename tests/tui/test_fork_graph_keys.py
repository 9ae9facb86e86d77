"""A thread of a LangGraph file is edited, forked with its graph and compared, by keys alone."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.graph_thread import ASKING_FILE, GRAPH_FILE, asking_thread, desk_thread
from tests.tui.waiting import until, workers_ended
from textual.widgets import Input

from agent_tt.marking.source import marked
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.in_row import RowEdit
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.widgets.dialogs.fork_table import ForkTable
from agent_tt_tui.widgets.dialogs.row_form import RowArea

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Run

pytestmark = pytest.mark.warm("langgraph.graph", "langgraph.checkpoint.sqlite")

PLANNED = 3


def selected(screen: DebuggerScreen) -> tuple[object, ...] | None:
    selection = screen.panes.inspector.selection
    return None if selection is None else tuple(selection.path)


def fork_in(store: Path) -> tuple[Run, str, list[str]]:
    """The newest run of a store, the name of the run that it was forked from, and the names of its steps."""
    with closing(open_source(store)) as source:
        fork = source.runs()[0]
        return fork, source.run(fork.parent or "").name, [step.name for step in source.steps(fork.id)]


async def test_a_thread_is_edited_forked_with_the_graph_that_is_asked_for_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own.db"
    monkeypatch.setenv("AGENT_TT_STORE", str(own))
    file = desk_thread(tmp_path)
    before = file.read_bytes()
    with closing(marked(open_source(file))) as source:
        run = source.run("desk")
        app = AgentTT(lambda: DebuggerScreen(source, run, PLANNED), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            screen = app.screen
            await until(pilot, lambda: isinstance(screen, DebuggerScreen) and screen.time.view is not None)
            await workers_ended(app)
            assert isinstance(screen, DebuggerScreen)
            await pilot.press("tab", "j", "j")
            await until(pilot, lambda: selected(screen) == ("topic",))
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, RowEdit))
            app.screen.query_one(RowArea).text = "tides"
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is screen and screen.model.pending is not None)

            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PromptDialog))
            assert "the graph: module:graph" in "\n".join(screen_text(app))
            app.screen.query_one(Input).value = f"{GRAPH_FILE}:builder"
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ForkDialog) and app.screen.plan is not None)
            assert file.read_bytes() == before
            assert not own.exists()

            await pilot.press("F")
            await until(pilot, lambda: isinstance(app.screen, CompareScreen))
            await until(pilot, lambda: fork_in(own)[2][-1] == "tides")
            await until(pilot, lambda: "parted at" in "\n".join(screen_text(app)))
    assert file.read_bytes() == before
    _, parent, names = fork_in(own)
    assert (parent, names[-1], "maps" in names) == ("checkpoints/desk", "tides", False)


async def test_a_question_of_a_thread_is_answered_by_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own.db"
    monkeypatch.setenv("AGENT_TT_STORE", str(own))
    file = asking_thread(tmp_path)
    before = file.read_bytes()
    with closing(marked(open_source(file))) as source:
        run = source.run("desk")
        assert run.standing == "in ask"
        last = next(step.number for step in reversed(source.steps(run.id)) if step.facts.checkpoint_id is not None)
        app = AgentTT(lambda: DebuggerScreen(source, run, last), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            screen = app.screen
            await until(pilot, lambda: isinstance(screen, DebuggerScreen) and screen.time.view is not None)
            await until(pilot, lambda: "interrupted  in ask" in "\n".join(screen_text(app)))
            await workers_ended(app)
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PromptDialog) and isinstance(app.focused, Input))
            await workers_ended(app)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, ForkDialog))
            await until(pilot, lambda: "with the key a: module:graph" in "\n".join(screen_text(app)))
            assert "--agent" not in "\n".join(screen_text(app))
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen, PromptDialog))
            app.screen.query_one(Input).value = f"{ASKING_FILE}:builder"
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ForkDialog) and app.screen.plan is not None)
            await pilot.press("m")
            app.screen.query_one(ForkTable).go_to("resume")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, PromptDialog))
            app.screen.query_one(Input).value = "yes"
            await pilot.press("enter")
            await until(
                pilot, lambda: isinstance(app.screen, ForkDialog) and app.screen.setup.texts.get("resume") == "yes"
            )
            await workers_ended(app)
            await pilot.press("F")
            await until(pilot, lambda: isinstance(app.screen, CompareScreen))
            await until(pilot, lambda: own.exists() and fork_in(own)[0].status == "succeeded")
    assert file.read_bytes() == before
    with closing(open_source(own)) as source:
        fork = source.runs()[0]
        assert source.value(fork.id, fork.steps, ("answer",)) == "yes"
