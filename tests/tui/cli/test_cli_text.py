"""What commands write for people."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did

from agent_tt.comparing.values.states import Change
from agent_tt.model import Call, ErrorInfo, Problem
from agent_tt_tui.cli.changes import change_line
from agent_tt_tui.cli.root import COMMANDS
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.cli.wording import came_back
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.text import width

if TYPE_CHECKING:
    from tests.core.memory_store import MemorySource
    from tests.tui.cli.conftest import Command

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, CallStatus

pytestmark = pytest.mark.usefixtures("source")

TEXT_COMMANDS = [
    ("runs",),
    ("show", "support"),
    ("show", "support/fork-1"),
    ("compare", "support", "support/fork-1"),
    ("compare", "support", "--forks"),
    ("diff", "support", "1", "4"),
    ("find", "support", "refund"),
    ("verify",),
    ("samples",),
]


@pytest.mark.parametrize("arguments", TEXT_COMMANDS, ids=" ".join)
def test_output_fits_eighty_columns(command: Command, arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert done.out
    assert [line for line in done.out.splitlines() if width(line) > 80] == []


def test_a_step_is_shown_with_its_calls_and_its_state(command: Command) -> None:
    shown = command("show", "support", "2").out
    assert "tool search_docs" in shown
    assert '"attempts": 2' in shown


def test_what_never_came_back_is_not_shown_as_null() -> None:
    def call(kind: CallKind, status: CallStatus, error: ErrorInfo | None = None) -> Call:
        return Call(step=1, number=1, kind=kind, name="x", status=status, error=error)

    assert came_back(call("tool", "ok")) == " = null"
    assert came_back(call("human", "pending")) == ": no answer yet"
    assert came_back(call("tool", "pending")) == ": outcome unknown"
    assert came_back(call("tool", "error", ErrorInfo("m:Refused", "no"))) == ": Refused: no"


@pytest.mark.parametrize("arguments", [("runs",), ("show", "support"), ("compare", "support", "support/fork-1")])
def test_nothing_is_coloured_where_no_terminal_reads(command: Command, arguments: tuple[str, ...]) -> None:
    assert "\x1b" not in command(*arguments).out


def test_what_an_agent_wrote_never_reaches_the_terminal_as_a_control_code(
    command: Command, source: MemorySource
) -> None:
    hostile = source.runs()[0].name
    source.problems = [Problem(hostile, 1, hostile)]
    outputs = [
        command("runs"),
        command("show", hostile),
        command("show", hostile, "1"),
        command("diff", hostile, "0", "1"),
        command("find", hostile, "markup"),
        command("verify"),
        command("compare", hostile, "support"),
        command("compare", "support", hostile, "support/fork-1"),
        command("show", hostile + "?"),
    ]
    for output in outputs:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", output.out + output.err)
    assert "[bold]markup" in outputs[4].out


def test_a_loop_of_equal_steps_is_one_line_of_a_comparison(command: Command) -> None:
    shown = command("compare", "support", "support/fork-1").out
    assert "parted at 2" in shown
    assert "3–5" in shown
    assert "TimeoutError" in shown


def test_a_comparison_says_what_was_swapped_how_the_runs_rejoin_and_which_lanes_part(
    command: Command, source: MemorySource
) -> None:
    def did(name: str, lane: str = "main", **state: Wire) -> Did:
        return Did(name=name, tool=name, args={}, result="ok", lane=lane, state=state)

    start, look, think, done = did("start", n=0), did("look", n=1), did("think", n=2), did("done", n=9)
    web = [did("fetch", "main/web", n=3), did("read", "main/web", n=4)]
    source.add("one", [start, look, think, *web, done, did("bye", n=10)])
    source.add("other", [start, think, look, *web, done, did("bye", n=10)])
    shown = command("compare", "one", "other").out
    assert "parted at 2" in shown
    assert "steps 2 and 3 are swapped in B: look, think" in " ".join(shown.split())
    assert "(step 3)" in shown
    assert "(step 2)" in shown
    assert "the states are equal again" in shown
    assert "LANES  1 of 2 differ" in shown
    assert "B-A" in shown


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_and_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Terminal.of(Screen()).paint("x", "failed") == "\x1b[1;31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Terminal.of(Screen()).paint("x", "failed") == "x"


def test_a_table_gives_up_the_flexible_column_first(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(columns=40, colour=False, glyphs=UNICODE)
    terminal.table((Column("NAME", flexible=True), Column("N", "right")), [[Cell("long " * 20), Cell("10,000")]])
    title, row = capsys.readouterr().out.splitlines()
    assert row.endswith("…  10,000")
    assert len(row) == 40
    assert title.endswith("N")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (Change("add", "notes[2]", None, "later"), '+ notes[2]  "later"'),
        (Change("remove", "notes[0]", {"a": 1}, None), '- notes[0]  {"a": 1}'),
        (Change("change", "n", 1, 1.0), "~ n  1 > 1.0"),
        (
            Change(
                "change",
                "text",
                "Search 12 of 20 found nothing in the documents at all",
                "Search 13 of 20 found nothing",
            ),
            None,
        ),
    ],
)
def test_a_change_is_one_line(change: Change, line: str | None) -> None:
    terminal = Terminal(columns=80, colour=False, glyphs=ASCII)
    shown = "".join(cell.text if isinstance(cell, Cell) else cell for cell in change_line(terminal, change))
    if line is None:
        assert "[-12-]" in shown
        assert "{+13+}" in shown
    else:
        assert shown == line


GROUPS = {"golden": ("golden", "list")}
"""Commands that have commands of their own, each with one of them."""


def test_every_command_has_help_that_agrees_with_the_list_of_commands(command: Command) -> None:
    overview = command("--help").out
    for name, words in COMMANDS.items():
        assert words in overview
        help_text = command(*GROUPS.get(name, (name,)), "--help").out
        assert "--json" in help_text
        assert "--store" in help_text
        assert "\\b" not in help_text
