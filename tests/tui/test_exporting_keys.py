"""Exporting the run on the screen, by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from base_screens import screen_text
from debugger_app import debugger
from tests.core.memory_store import Did, MemorySource
from textual.widgets import Input
from waiting import until

from agent_tt.exporting.redacted import RedactedRuns

if TYPE_CHECKING:
    from pathlib import Path


def told() -> MemorySource:
    source = MemorySource()
    source.add("a run/1", [Did("look", state={"n": 1}), Did("book", state={"n": 2})])
    return source


async def export(source: object, path: str) -> str:
    """Ask for a file with the key, and give what the screen says then."""
    app = debugger(source, 1)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "n" in "".join(screen_text(app)))
        await pilot.press("ctrl+e")
        line = app.screen.query_one(Input)
        assert line.value == "a-run-1.html"
        line.value = path
        await pilot.press("enter")
        await until(pilot, lambda: any(word in "".join(screen_text(app)) for word in ("written:", "✗", "is there")))
        return "\n".join(screen_text(app))


@pytest.mark.parametrize(
    ("name", "words"), [("run.md", "### Step 1 of 2: `look`"), ("run.html", "<!DOCTYPE html>"), ("run.svg", "<svg")]
)
async def test_a_key_writes_the_run_in_the_format_that_the_name_says(name: str, words: str, tmp_path: Path) -> None:
    source = told()
    source.capabilities = RedactedRuns(source).capabilities
    path = tmp_path / ("folder/" * 20) / name
    path.parent.mkdir(parents=True)
    said = await export(source, str(path))
    assert "written: " in said
    assert f"folder/{name}" in said  # however long the path is
    text = path.read_text(encoding="utf-8")
    assert words in text
    assert "EXPORT" not in text  # the dialog is no part of the picture


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run.txt", "nothing says in which format"),
        ("there.md", "there.md is there already"),
        ("run.svg", "may hold secrets"),
    ],
)
@pytest.mark.parametrize("folders", [0, 1, 20])
async def test_what_cannot_be_exported_is_said_in_the_dialog(
    name: str, words: str, folders: int, tmp_path: Path
) -> None:
    folder = tmp_path / ("folder/" * folders)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "there.md").write_text("mine")
    assert words in await export(told(), str(folder / name))
    assert [path.name for path in folder.iterdir()] == ["there.md"]
