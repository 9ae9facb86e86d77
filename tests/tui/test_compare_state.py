"""The states of two runs side by side: a text that is empty is shown, and of a long path the end."""

from __future__ import annotations

import pytest
from tests.tui.base_screens import screen_text
from textual.app import App

from agent_tt.comparing.values.states import compare_states
from agent_tt_tui.widgets.runs.compare_state import CompareState

DEEP = "messages_of_the_conversation"


class Showing(App[None]):
    """Nothing but the changes between two states."""

    def __init__(self, a, b):
        super().__init__()
        self._changes = compare_states(a, b)

    def compose(self):
        yield CompareState()

    def on_mount(self):
        self.query_one(CompareState).show(self._changes, (), "")


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_an_empty_text_is_shown_and_a_long_path_keeps_its_end(width):
    a = {"weather": "dry", DEEP: [{"content": {"first": "one"}}, {"content": {"last": "two"}}]}
    b = {"weather": "", DEEP: [{"content": {"first": "1"}}, {"content": {"last": "2"}}]}
    app = Showing(a, b)
    async with app.run_test(size=(width, 20)) as pilot:
        await pilot.pause()
        rows = [row for row in screen_text(app) if row.strip()]
        weather = next(at for at, row in enumerate(rows) if "weather" in row)
        assert "dry" in "".join(rows[weather : weather + 2])
        assert '""' in "".join(rows[weather : weather + 3])
        for end in ("content.first", "content.last"):
            assert sum(end in row for row in rows) == 1


@pytest.mark.parametrize("others", [{"tool_calls": []}, {}])
async def test_calls_that_a_message_asks_for_read_as_calls_and_not_as_json(others):
    asked = [{"id": "1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": "12-7"}'}}]
    app = Showing({"message": {"id": 1, "tool_calls": asked}}, {"message": {"id": 1, **others}})
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert '→ look_up(order="12-7")' in text
        assert "function" not in text


LONG_PATH = "the_question_that_was_asked_in_the_end"


@pytest.mark.parametrize(("height", "path_is_whole"), [(3, False), (4, True), (6, True)])
async def test_a_value_has_free_rows_before_a_path_has_them(*, height: int, path_is_whole: bool) -> None:
    a, b = ({LONG_PATH: {"first": number, "second": f"{number} " + "word " * 12 + "end"}} for number in (1, 2))
    app = Showing(a, b)
    async with app.run_test(size=(120, height)) as pilot:
        await pilot.pause()
        rows = screen_text(app)
        assert any(row.rstrip().endswith(" end") for row in rows), rows
        assert ("the_question_that" in " ".join(row.strip() for row in rows)) is path_is_whole, rows
