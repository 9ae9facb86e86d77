"""The conversation of an opened file goes on with a model, by keys alone; a person answers for its tools."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.forking.conversation_models import CALL, WORDS, Served, models
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.dialogs.pick import PickDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.ask import AskDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.widgets.dialogs.edit_form import EditArea

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.toml"}'}}
_MESSAGES = [
    {"role": "user", "content": "Which port?"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "port = 8081"},
    {"role": "assistant", "content": "8081."},
]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with models(monkeypatch) as found:
        yield found


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_an_opened_conversation_is_edited_and_goes_on_with_a_model_that_is_named(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Served
) -> None:
    monkeypatch.setattr(AskDialog, "GRACE_SECONDS", 0.01)
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own.db"))
    served.script, served.arguments = [CALL, WORDS], {"path": "b.toml"}
    file = tmp_path / "talk.json"
    file.write_text(json.dumps({"messages": _MESSAGES}))
    before = file.read_bytes()
    with closing(open_source(file)) as source:
        app = AgentTT(lambda: DebuggerScreen(source, source.run("talk"), 1), look=Look())

        def text() -> str:
            return "\n".join(screen_text(app))

        async with app.run_test(size=size) as pilot:
            screen = app.screen
            await until(pilot, lambda: isinstance(screen, DebuggerScreen) and screen.time.view is not None)
            await workers_ended(app)
            await pilot.press("4")
            await until(pilot, lambda: "port = 8081" in text())
            await pilot.press("tab", "j", "j", "j", "e")
            await until(pilot, lambda: isinstance(app.screen, EditDialog))
            app.screen.query_one(EditArea).text = "port = 9"
            await pilot.press("ctrl+s")
            await until(pilot, lambda: app.screen is screen)

            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PickDialog))
            assert "OPENAI_API_KEY is set" in text()
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, PromptDialog))
            await pilot.press(*"gpt-5", "enter")
            await until(pilot, lambda: isinstance(app.screen, ForkDialog) and app.screen.plan is not None)
            await until(pilot, lambda: "F fork and run" in text())
            assert "the original program does not" in text()
            assert "no program: openai:gpt-5 answers" in text()
            assert "copied to" in text()
            assert "price of gpt-5" in text()
            assert not (tmp_path / "own.db").exists()
            assert not served.asked

            await pilot.press("down", "right", "right")  # from recorded over stub to ask
            await until(pilot, lambda: "[ask]" in text())
            await pilot.press("F")
            await until(pilot, lambda: isinstance(app.screen, AskDialog))
            await until(pilot, lambda: app.screen.blocked("ask.give") is None)  # type: ignore[attr-defined]
            await pilot.press("g", *'"port 7"', "enter")
            await until(pilot, lambda: isinstance(app.screen, CompareScreen))
            await until(pilot, lambda: len(served.asked) == 2)
            assert served.asked[0][1]["messages"][-1]["content"] == "port = 9"
            assert served.asked[1][1]["messages"][-1]["content"] == "port 7"
            await until(pilot, lambda: "succeeded" in text())
    assert file.read_bytes() == before
    with closing(open_source(tmp_path / "own.db")) as store:
        assert {run.name for run in store.runs()} == {"talk", "talk/fork-1"}
