"""One value inside of a result, a JSON text or a state is edited on its own, and the fork dialog shows that one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from rich.style import Style
from tests.patience import PATIENCE_SECONDS
from tests.tui.test_edit_keys import opened

from agent_tt.codec.text import pretty
from agent_tt.model import Edit
from agent_tt.sources import open_source
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.palette import Palette
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.viewmodel.edits.leaves import json_rows, leaves_of
from agent_tt_tui.viewmodel.edits.pending import Pending
from agent_tt_tui.widgets.dialogs.edit_row import edit_row, edit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import RunSource

pytestmark = pytest.mark.warm

AGENT = """
import json
import agent_tt

LONG = "Shipped from Oslo. " * 12
TERMS = {"about": LONG, "policy": {"name": LONG, "window_days": 14}, "prices": [10, 20]}


@agent_tt.tool(effect="read")
def look_up(query):
    return json.dumps(TERMS)


@agent_tt.tool(effect="read")
def terms(query):
    return TERMS


def main(state=None):
    state = state or {"messages": [{"role": "user", "content": "May I return it?"}]}
    with agent_tt.record("shop", state=state) as run:
        with run.step("look up", state):
            found = look_up("refunds")
            known = terms("refunds")
            state["messages"].append({"role": "tool", "content": found})
            state["days"] = json.loads(found)["policy"]["window_days"] + known["policy"]["window_days"]


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(AGENT)
    environment = {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db")}
    subprocess.run([sys.executable, "shop.py"], cwd=folder, env=environment, check=True, timeout=PATIENCE_SECONDS)
    return folder / "runs.db"


@pytest.fixture
def source(store: Path) -> Iterator[RunSource]:
    with closing(open_source(store)) as opened_source:
        yield opened_source


async def onto(driven, row: str) -> None:
    """Move the cursor of the call's view onto the row that begins so."""
    await driven.press("tab", "g")
    view = driven.app.focused
    at = next(i for i, line in enumerate(view._lines) if "".join(text for text, _ in line.pieces).startswith(row))
    await driven.press(*["down"] * (at - view.cursor))


@pytest.mark.parametrize(("call", "of_text"), [(1, True), (2, False)])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_leaf_of_a_result_is_edited_and_shown_alone(source, call, of_text, size):
    async with opened(source, "shop", 1, size) as driven:
        await driven.press("2", *["comma"] * (2 - call))
        assert ("a JSON text" in driven.text) == of_text
        await onto(driven, '"window_days": 14')
        await driven.press("e")
        assert isinstance(driven.app.screen, EditDialog)
        assert "window_days" in driven.text
        assert "RECORDED" in driven.text
        assert "Shipped" not in driven.app.screen.query_one("EditArea").text
        await driven.type_into("30")
        assert driven.edits == [("result", "set", 1, call, "policy.window_days")]
        await driven.press("f")
        assert isinstance(driven.app.screen, ForkDialog)
        lines = driven.text.splitlines()
        row = lines[next(index for index, line in enumerate(lines) if "YOUR EDITS" in line) + 1]
        assert "window_days  14 → 30" in row
        assert "Shipped" not in row


async def test_two_leaves_of_one_result_are_two_edits_and_a_whole_result_takes_both_places(source):
    async with opened(source, "shop", 1) as driven:
        await driven.press("2")
        await onto(driven, '"window_days": 14')
        await driven.press("e")
        await driven.type_into("30")
        await driven.press("G", "e", "ctrl+l")  # below the values: the result as a whole, then one of its values
        await driven.press("G", "enter")
        assert "prices › 1" in driven.text
        await driven.type_into("25")
        assert driven.edits == [
            ("result", "set", 1, 2, "policy.window_days"),
            ("result", "set", 1, 2, "prices[1]"),
        ]
        edits = driven.screen.model.pending.edits
        assert [edit.old for edit in edits] == [14, 20]
        await driven.press("e")
        assert json.loads(driven.app.screen.query_one("EditArea").text)["policy"]["window_days"] == 30
        await driven.type_into('{"policy": {"window_days": 7}}')
        assert driven.edits == [("result", "set", 1, 2, "")]


async def test_a_leaf_of_a_json_text_in_the_state_is_edited_alone(source):
    async with opened(source, "shop", 1, (120, 40)) as driven:
        await driven.press("4", "tab", "G", "e", "ctrl+l")
        assert "ONE VALUE" in driven.text
        assert "policy.window_days" in driven.text
        await driven.press("down", "down", "enter")
        await driven.type_into("30")
        assert driven.edits == [("state", "set", None, None, "messages[1].content")]  # of the text
        assert json.loads(driven.screen.model.pending.state["messages"][1]["content"])["policy"]["window_days"] == 30
        await driven.press("f")
        assert "messages[1].content.policy.window_days  14 → 30" in driven.text


async def test_a_single_value_has_no_parts_and_says_so(source):
    async with opened(source, "shop", 1) as driven:
        await driven.press("2")
        await onto(driven, '"window_days": 14')
        await driven.press("e", "ctrl+t")  # the result as a whole is another form of what is edited
        assert "result" in driven.text
        await driven.press("ctrl+l")
        assert "ONE VALUE" in driven.text
    async with opened(source, "shop", 1) as driven:
        await driven.press("tab", "G", "e", "ctrl+l", "ctrl+l")
        assert "it has no parts" in driven.text


def test_leaves_of_a_value_lie_in_texts_that_are_json_too():
    value = {"a": [1, {"b": None}], "c": '{"d": [2], "e": {}}', "f": [], "g": "plain", "h": {"": 1}}
    found = dict(leaves_of(value))
    assert found == {
        ("a", 0): 1,
        ("a", 1, "b"): None,
        ("c", "d", 0): 2,
        ("c", "e"): {},
        ("f",): [],
        ("g",): "plain",
        ("h", ""): 1,
    }
    assert list(leaves_of("no json")) == list(leaves_of(3)) == []


def test_rows_of_a_value_are_its_json_and_each_knows_its_place():
    value = {"a": [1, {"b": None}], "c": {}, "d": [], "e": "é\n"}
    rows = list(json_rows(value, ("x",)))
    assert json.loads("\n".join(text for text, _ in rows)) == value
    assert "\n".join(text for text, _ in rows) == pretty(value)
    assert [place for text, place in rows if text.strip().startswith('"b"')] == [("x", "a", 1, "b")]


def test_a_later_edit_replaces_what_it_covers_and_nothing_else():
    def result(path: str, value: object = 1, target: str = "result", call: int = 1) -> Edit:
        return Edit("set", path, value, target=target, step=2, call=call)

    pending = Pending.begin(2, {})
    for path in ("a.b", "a.c", "ab"):
        pending = pending.add([result(path)])
    assert [edit.path for edit in pending.edits] == ["a.b", "a.c", "ab"]
    assert [edit.path for edit in pending.add([result("a.b", 2)]).edits] == ["a.c", "ab", "a.b"]
    assert [edit.path for edit in pending.add([result("a")]).edits] == ["ab", "a"]
    assert [edit.path for edit in pending.add([result("")]).add([result("a")]).edits] == ["", "a"]
    assert [edit.target for edit in pending.add([result("", "E: x", "error")]).edits] == ["error"]
    assert [edit.target for edit in pending.add([result("", "E: x", "error")]).add([result("a")]).edits] == ["result"]
    assert len(pending.add([result("a", call=2)]).edits) == 4


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (14, 30, "days  14 → 30"),
        ("22 °C, dry", "", 'days  "22 °C, dry" → ""'),
        ("short", "x" * 30, f'days  "short" → "{"x" * 30}"'),
        ("Be brief. " * 9 + "Say please.", "Be brief. " * 9 + "Say thanks.", "brief. Say please. → thanks."),
        ("Be brief. " * 9 + "Say please.", "Be brief. " * 9, "brief. Say please. → nothing"),
        ("Be brief. " * 9, "Be brief. " * 9 + "Say please.", "brief. Say please."),
    ],
)
def test_a_row_of_an_edit_shows_what_differs_and_not_how_the_value_begins(old, new, shown):
    edit = Edit("set", "days", new, old)
    ((_, change),) = edit_rows([edit])
    palette = Palette(**{name: False if name == "on_cursor_row" else Style.null() for name in Palette._fields})
    drawn = edit_row(edit, change, 76, palette, UNICODE).strip(76)
    assert shown in drawn.text
