"""The first page: sessions of coding agents, opened, copied and compared by keys; the files of a folder."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.interop.sessions import SESSION, about_a_port
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt import samples
from agent_tt.found import measures
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.first.screen import FirstScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.first_list import FirstList

if TYPE_CHECKING:
    from pathlib import Path

SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with two sessions of Claude Code, one of them in the folder where the app starts."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    projects = tmp_path / ".claude" / "projects" / "-x"
    projects.mkdir(parents=True)
    near = about_a_port("Which port?", "8421", folder=str(here)).write(projects, "near.jsonl")
    far = about_a_port("Which port?", "9000", folder="/elsewhere").write(projects, "far.jsonl")
    os.utime(near, (1_700_000_000, 1_700_000_000))
    os.utime(far, (1_700_000_100, 1_700_000_100))
    return tmp_path


def first_page(home: Path, folder: Path | None = None) -> AgentTT:
    return AgentTT(lambda: FirstScreen(home / "runs.db", folder), look=Look())


async def looked(app: AgentTT, pilot: Any) -> FirstList:
    await until(pilot, lambda: "looked at in" in screen_text(app)[0] or " opened" in screen_text(app)[0])
    return app.screen.query_one(FirstList)


@pytest.mark.parametrize("size", SIZES)
async def test_sessions_are_listed_those_of_this_folder_first(home: Path, size: tuple[int, int]) -> None:
    app = first_page(home)
    async with app.run_test(size=size) as pilot:
        listed = await looked(app, pilot)
        assert [line.found.path.name for line in listed.rows if line.found] == ["near.jsonl", "far.jsonl"]
        text = "\n".join(screen_text(app))
        assert "Which port?" in text
        assert "2 found, 1 here" in text
        assert "2 sessions looked at" in text
        assert ("nothing was copied or sent" in text) == (size[0] >= 120)
        assert ("/elsewhere" in text) == (size[0] >= 150)


@pytest.mark.parametrize("size", SIZES)
async def test_what_a_session_comes_to_is_read_afterwards_and_else_is_not_known(
    home: Path, size: tuple[int, int]
) -> None:
    large = home / ".claude" / "projects" / "-x" / "large.jsonl"
    with large.open("w") as file:
        file.write((home / ".claude" / "projects" / "-x" / "far.jsonl").read_text())
        file.truncate(measures.MOST_BYTES + 1)
    app = first_page(home)
    async with app.run_test(size=size) as pilot:
        listed = await looked(app, pilot)
        await until(
            pilot, lambda: all(line.measures for line in listed.rows if line.found and line.found.path != large)
        )
        near = next(line for line in listed.rows if line.found and line.found.path.name == "near.jsonl")
        assert near.measures is not None
        assert (near.measures.steps, near.measures.context) == (4, (110, 110, 110))
        shown = [line for line in screen_text(app) if "Which port?" in line]
        assert sum("  4 " in line for line in shown) == 2
        assert sum("$0.00" in line for line in shown) == (2 if size[0] >= 100 else 0)
        assert sum("  – " in line for line in shown) == 1


async def test_typing_shows_what_fits_and_escape_everything(home: Path) -> None:
    app = first_page(home)
    async with app.run_test(size=SIZES[0]) as pilot:
        listed = await looked(app, pilot)
        await pilot.press("slash", *"elsewhere")
        assert [line.found.path.name for line in listed.rows if line.found] == ["far.jsonl"]
        await pilot.press("escape")
        assert len([line for line in listed.rows if line.found]) == 2


@pytest.mark.parametrize("is_copied", [False, True])
async def test_keys_lead_to_the_result_that_a_sentence_came_from_and_to_what_a_compaction_dropped(
    home: Path, *, is_copied: bool
) -> None:
    app = first_page(home)
    async with app.run_test(size=SIZES[1]) as pilot:
        listed = await looked(app, pilot)
        if is_copied:
            await pilot.press("y")
            await until(pilot, lambda: any(line.run for line in listed.rows))
            listed.move_to(next(at for at, line in enumerate(listed.rows) if line.run))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        assert (home / "runs.db").exists() == is_copied
        await until(pilot, lambda: any("answer" in line for line in screen_text(app)))
        await pilot.press("colon", "2", "enter", "b")
        await until(pilot, lambda: any("tool result  Read" in line for line in screen_text(app)))
        assert any("port = 8421" in line for line in screen_text(app))
        await pilot.press("escape", "colon", "3", "enter")
        await until(pilot, lambda: any("compaction" in line for line in screen_text(app)))
        await until(pilot, lambda: any("DIFF" in line for line in screen_text(app)))
        assert any("listens on port 8421" in line for line in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, RunsScreen if is_copied else FirstScreen))


async def test_a_session_is_copied_by_a_key_and_says_so_afterwards(home: Path) -> None:
    app = first_page(home)
    async with app.run_test(size=SIZES[1]) as pilot:
        listed = await looked(app, pilot)
        await pilot.press("y")
        await until(pilot, lambda: any(line.imported for line in listed.rows))
        assert sum("copied" in line for line in screen_text(app)) >= 1
        with closing(open_store(home / "runs.db")) as store:
            (run,) = store.runs()
            assert (run.name, run.steps) == (SESSION, 4)
        await until(pilot, lambda: any(line.kind == "run" for line in listed.rows))
        while (row := listed.current) is None or row.opens != "runs":
            await pilot.press("j")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunsScreen))


async def test_two_sessions_are_compared_where_they_parted(home: Path) -> None:
    app = first_page(home)
    async with app.run_test(size=SIZES[1]) as pilot:
        await looked(app, pilot)
        await pilot.press("c")
        assert "select two sessions" in screen_text(app)[-1]
        await pilot.press("space", "space", "c")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await until(pilot, lambda: any("8421" in line for line in screen_text(app)))
        assert any("9000" in line for line in screen_text(app))


async def test_what_cannot_be_opened_is_said_and_control_codes_are_not_obeyed(home: Path) -> None:
    projects = home / ".claude" / "projects" / "-x"
    line = {"type": "user", "message": {"role": "user", "content": "red \x1b[31m text\x07"}, "cwd": "a\x1b]0;x"}
    (projects / "bad.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(line) + "\n", encoding="utf-8")
    (projects / "loop").symlink_to(projects)
    app = first_page(home)
    async with app.run_test(size=SIZES[2]) as pilot:
        listed = await looked(app, pilot)
        assert not any("\x1b" in line or "\x07" in line for line in screen_text(app))
        (bad,) = [at for at, line in enumerate(listed.rows) if line.found and line.found.path.name == "bad.jsonl"]
        listed.move_to(bad)
        await pilot.press("enter")
        await until(pilot, lambda: "bad.jsonl" in screen_text(app)[-1] and "opening" not in screen_text(app)[-1])


async def test_where_nothing_is_found_the_ways_to_start_come_first(home: Path) -> None:
    for path in (home / ".claude" / "projects" / "-x").iterdir():
        path.unlink()
    app = first_page(home)
    async with app.run_test(size=SIZES[0]) as pilot:
        listed = await looked(app, pilot)
        assert listed.rows[0].label == "OR START"
        assert listed.current is not None
        assert listed.current.opens == "sample"


async def test_the_files_of_a_folder_are_listed_and_those_that_do_not_open_with_why(home: Path) -> None:
    folder = home / "files"
    (folder / "deep").mkdir(parents=True)
    about_a_port("Which port?", "1").write(folder / "deep", "one.jsonl")
    samples.ensure("refund-loop", folder / "own.db")
    (folder / "notes.txt").write_text("nothing", encoding="utf-8")
    (folder / "broken.json").write_text('{"a": [1, 2', encoding="utf-8")
    app = first_page(home, folder)
    async with app.run_test(size=SIZES[1]) as pilot:
        listed = await looked(app, pilot)
        assert {line.found.path.name for line in listed.rows if line.found} == {"one.jsonl", "own.db"}
        why = {line.label: line.words for line in listed.rows if line.kind == "unread"}
        assert "a text file" in why["notes.txt"]
        assert "breaks at line 1" in why["broken.json"]
