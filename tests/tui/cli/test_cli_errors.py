"""How commands fail: one line that says what to do, and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt.comparing.runs.comparison
from agent_tt.errors import AgentFailed, Damaged
from agent_tt_tui.cli import errors
from agent_tt_tui.cli.root import run

if TYPE_CHECKING:
    from tests.core.memory_store import MemorySource
    from tests.tui.cli.conftest import Command

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("show", "suport"), 3, "run_not_found"),
        (("show", "support", "99"), 3, "step_not_found"),
        (("runs", "--store", "missing.db"), 3, "store_not_found"),
        (("diff", "support", "support@1"), 2, "usage"),
        (("diff", "support@1"), 2, "usage"),
        (("find", "support", ""), 2, "usage"),
        (("shwo", "support"), 2, "usage"),
        (("show",), 2, "usage"),
        (("show", "support", "--colour"), 2, "usage"),
        (("open", "support"), 2, "usage"),
        (("fork", "support", "--at", "1", "--set", "attempts"), 2, "invalid_edit"),
        (("fork", "support", "--at", "1", "--set", "attempts=twelve"), 2, "invalid_value"),
        (("fork", "support", "--at", "1", "--set", "messages[=1"), 2, "invalid_path"),
    ],
)
def test_what_is_wrong_is_one_line_for_people_and_an_object_for_programs(
    command: Command, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    people = command(*arguments)
    assert (people.code, people.out) == (code, "")
    first, *rest = people.err.splitlines()
    assert first.startswith("agent-tt: ")
    assert len(rest) <= 1
    programs = command(*arguments, "--json")
    assert (programs.code, programs.out, programs.error["kind"]) == (code, "", kind)
    assert programs.error.keys() == {"kind", "message", "hint"}
    assert programs.error["message"] in first or "--json" in programs.error["message"] or kind == "usage"


@pytest.mark.usefixtures("source")
def test_an_unknown_run_is_answered_with_names_that_look_like_it(command: Command) -> None:
    assert "support" in command("show", "suport").err.splitlines()[1]


@pytest.mark.usefixtures("source")
def test_a_value_that_is_no_json_is_answered_with_how_to_quote_it(command: Command) -> None:
    hint = command("fork", "support", "--at", "1", "--set", "attempts=twelve").err.splitlines()[1]
    assert "double quotes" in hint


@pytest.mark.usefixtures("source")
def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(command: Command) -> None:
    assert "did you mean show?" in command("shwo").err


def test_a_mistake_of_ours_is_told_in_one_line_and_debug_shows_where(
    command: Command, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(run_id: str | None = None) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(source, "verify", broken)
    done = command("verify")
    assert done.code == errors.BUG
    assert done.err.startswith("agent-tt: RuntimeError: boom")
    assert "Traceback" not in done.err
    assert "Traceback" in command("verify", "--debug").err


@pytest.mark.parametrize(
    ("error", "code"), [(Damaged("it is"), 4), (AgentFailed("it did", traceback="…"), 5), (KeyboardInterrupt(), 130)]
)
def test_every_failure_has_its_exit_code(
    error: BaseException, code: int, command: Command, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(agent_tt.comparing.runs.comparison, "compare_runs", failing)
    assert command("compare", "support", "support").code == code
    assert source.runs()


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def test_the_version_costs_what_python_costs() -> None:
    script = (
        "import sys; sys.argv = ['agent-tt', '--version']; there = set(sys.modules)\n"
        "from agent_tt_tui.__main__ import main; main()\n"
        "print(*sorted(set(sys.modules) - there))"
    )
    version, loaded = python("-c", script).stdout.splitlines()
    assert version.startswith("agent-tt ")
    ours = {"agent_tt", "agent_tt._lazy", "agent_tt._version", "agent_tt_tui", "agent_tt_tui.__main__"}
    assert set(loaded.split()) <= {*ours, "__future__"}


@pytest.mark.parametrize("arguments", [["--help"], ["samples", "--json"]])
def test_commands_without_screens_load_none(arguments: list[str]) -> None:
    script = (
        f"import sys; from agent_tt_tui.cli.root import run; assert run({arguments!r}) == 0\n"
        "print({'textual', 'sqlite_utils', 'deepdiff'} & set(sys.modules), file=sys.stderr)"
    )
    assert python("-c", script).stderr == "set()\n"


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (["runs"], set()),
        (["show", "refund-loop", "3"], set()),
        (["diff", "refund-loop", "1", "3", "--ignore-order", "--tolerance", "1", "--ignore", "notes"], set()),
        (["diff", "refund-loop", "1", "3", "--format", "delta"], {"deepdiff"}),
        (["blame", "refund-loop", "attempts"], set()),
        (["sql"], set()),
        (["sql", "select 1"], {"sqlite_utils"}),
        (["verify"], {"sqlite_utils"}),
    ],
)
def test_only_commands_that_use_a_large_library_load_it(arguments: list[str], loaded: set[str]) -> None:
    script = (
        f"import sys; from agent_tt_tui.cli.root import run; run({[*arguments, '--store', str(SAMPLES)]!r})\n"
        "print(sorted({'textual', 'sqlite_utils', 'deepdiff', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    )
    assert python("-c", script).stderr == f"{sorted(loaded)}\n"


def test_opening_and_scrubbing_load_no_library_for_questions() -> None:
    script = f"""
import asyncio, sys
from agent_tt.sources import open_source
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen

async def scrub():
    source = open_source({str(SAMPLES)!r}, read_only=True)
    app = AgentTT(lambda: DebuggerScreen(source, source.run("refund-loop"), None), look=Look())
    async with app.run_test() as pilot:
        for key in ("home", "right", "right", "left", "tab", "j", "right_square_bracket", "d", "end"):
            await pilot.press(key)
            await app.workers.wait_for_complete()
    source.close()

asyncio.run(scrub())
print("textual" in sys.modules, sorted({{'sqlite_utils', 'deepdiff', 'pandas'}} & set(sys.modules)))
"""
    assert python("-c", script).stdout.endswith("True []\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "agent_tt_tui", "samples"],
            stdout=write_end,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (errors.BROKEN_PIPE, "")


def test_a_stream_that_cannot_say_a_character_gets_its_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    def shout() -> int:
        sys.stdout.write("shöw")
        return 0

    assert errors.guarded(shout, []) == 0
    assert stream.detach().getvalue() == rb"sh\xf6w"


def test_the_version_is_also_an_option_among_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version", "--debug"]) == 0
    assert capsys.readouterr().out.startswith("agent-tt ")
