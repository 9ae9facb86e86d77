"""`agent-tt` and `agent-tt open`: what the terminal app is started with."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from agent_tt_tui.screens.first.screen import FirstScreen
from agent_tt_tui.screens.runs.empty import EmptyScreen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.memory_store import MemorySource
    from tests.tui.cli.conftest import Command

Started = list[tuple[object, ...]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """What the app was started with, on a pretended terminal; the app says 0 when it is left."""
    calls: Started = []

    def run_app(source: MemorySource, run_id: str | None = None, step: int | None = None) -> int:
        calls.append((source, run_id, step))
        return 0

    def run_screen(first_screen: Callable[[], object]) -> int:
        calls.append((first_screen(),))
        return 0

    launch = ModuleType("agent_tt_tui.launch")
    launch.__dict__.update(run_app=run_app, run_screen=run_screen)
    monkeypatch.setitem(sys.modules, launch.__name__, launch)
    return calls


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tt_tui.cli.looking.open._require_terminal", lambda: None)


@pytest.mark.usefixtures("terminal")
def test_a_run_opens_at_the_step_that_was_named(command: Command, source: MemorySource, started: Started) -> None:
    assert command("open", "support", "--at", "~1", "--store", "any.db").code == 0
    assert command("open", "support", "--store", "any.db").code == 0
    assert started == [(source, "support", 5), (source, "support", None)]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("arguments", [("--store", "any.db"), ("open", "--store", "any.db")])
def test_without_a_run_the_list_of_runs_opens(
    command: Command, source: MemorySource, started: Started, arguments: tuple[str, ...]
) -> None:
    assert command(*arguments).code == 0
    assert started == [(source, None, None)]


@pytest.mark.usefixtures("terminal")
def test_where_nothing_was_recorded_yet_ways_to_a_first_run_are_shown(command: Command, started: Started) -> None:
    assert command().code == 0
    ((screen,),) = started
    assert isinstance(screen, EmptyScreen)


@pytest.mark.usefixtures("started", "source")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("open", "support", "--store", "any.db"), 2),
        (("open",), 2),
        (("open", "--at", "3"), 2),
        (("open", "support", "--json"), 2),
        (("open", "no such run", "--store", "any.db"), 3),
    ],
)
def test_without_a_terminal_or_with_a_name_that_is_none_it_says_so(
    command: Command, started: Started, arguments: tuple[str, ...], code: int
) -> None:
    done = command(*arguments)
    assert (done.code, started) == (code, [])
    assert 1 <= len(done.err.splitlines()) <= 2


@pytest.mark.usefixtures("terminal")
def test_a_step_may_stand_in_the_name_of_the_run(command: Command, source: MemorySource, started: Started) -> None:
    assert command("open", "support@2", "--store", "any.db").code == 0
    assert started == [(source, "support", 2)]
    refused = command("open", "support@2", "--at", "3", "--store", "any.db")
    assert refused.code == 2
    assert "support@2 names step 2 of support, and --at names step 3" in refused.err


@pytest.mark.usefixtures("terminal")
def test_a_file_opens_its_runs_and_a_run_of_it(
    command: Command, source: MemorySource, started: Started, tmp_path: Path
) -> None:
    file = tmp_path / "other.db"
    file.touch()
    assert command("open", str(file)).code == 0
    assert command("open", f"{file}:support").code == 0
    assert command("open", f"{file}:support@2").code == 0
    assert started == [(source, None, None), (source, "support", None), (source, "support", 2)]
    assert command("open", str(file), "--store", "any.db").code == 2


@pytest.mark.usefixtures("terminal")
def test_where_a_coding_agent_has_been_the_first_page_opens_unless_the_settings_say_no(
    command: Command, started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    assert command("open").code == 0
    monkeypatch.setenv("AGENT_TT_SESSIONS", "on")
    assert command("open").code == 0
    assert [type(screen) for (screen,) in started] == [EmptyScreen, FirstScreen]


@pytest.mark.usefixtures("terminal")
def test_a_folder_opens_as_the_list_of_its_files(command: Command, started: Started, tmp_path: Path) -> None:
    assert command("open", str(tmp_path)).code == 0
    ((screen,),) = started
    assert isinstance(screen, FirstScreen)
    assert command("open", str(tmp_path), "--json").code == 2
