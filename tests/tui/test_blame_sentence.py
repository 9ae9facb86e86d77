"""Which result put one sentence into an answer: asked by keys, of a session that was compacted."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.core.querying.compacted_session import write_session
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

from agent_tt.querying.provenance.links import Link
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.pick import PickDialog
from agent_tt_tui.viewmodel.past.blame import joined_path, repeats, sentences, text_in

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_sentence_of_an_answer_is_chosen_and_its_results_are_named(tmp_path: Path) -> None:
    with closing(open_source(write_session(tmp_path / "one.jsonl"))) as source:
        run = source.runs()[0]
        app = AgentTT(lambda: DebuggerScreen(source, run, run.steps), look=Look())

        def text() -> str:
            return "\n".join(screen_text(app))

        async with app.run_test(size=(140, 50)) as pilot:
            screen: Any = app.screen
            await until(pilot, lambda: isinstance(screen, DebuggerScreen) and screen.time.view is not None)
            await workers_ended(app)
            await pilot.press("b")
            await until(pilot, lambda: "ALL WRITES" in text())
            await pilot.press(";")
            await until(pilot, lambda: isinstance(app.screen, PickDialog))
            assert "The shop uses port 8081." in text()
            await pilot.press("enter")
            await until(pilot, lambda: "also at 1 Read" in text())
            await pilot.press(";", "down", "enter")
            await until(pilot, lambda: "3 Bash" in text())
            assert "2 Grep" in text()


def test_a_text_is_divided_into_its_sentences() -> None:
    assert sentences("One. Two! Three?\nFour") == ["One.", "Two!", "Three?", "Four"]
    assert sentences("ABC。DEF。") == ["ABC。", "DEF。"]
    assert sentences("Only one.") == []
    assert sentences(7) == []
    message: Any = json.loads('{"role": "assistant", "content": [{"text": "One and more. Two."}]}')
    found = text_in(message)
    assert found is not None
    assert joined_path("messages[3]", found[0]) == "messages[3].content[0].text"
    assert joined_path("a", ()) == "a"


def test_a_value_is_not_shown_again_right_below_itself() -> None:
    kinds: Any = [("value", 1), ("answer", 1), ("argument", True), ("error", True), ("result", True)]
    links = [Link(kind, 3, None, "", "", value, "") for kind, value in kinds]
    assert [repeats(links, number) for number in range(5)] == [False, True, False, False, False]
    assert not repeats([links[0], Link("answer", 3, None, "", "", 1, "", shared="1")], 1)
