"""`agent-tt mcp`: how it is started, and what it says where it cannot be. What it serves: `tests/core/serving`."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.tui.cli.conftest import Command

FORK_OPTIONS = [["--allow", "charge_card"], ["--max-tokens", "5"], ["--max-cost", "1"]]


def test_without_the_sdk_it_names_the_extra(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each == "mcp" or each.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    for words in (["mcp"], ["mcp", "--http", "0"]):
        ended = command(*words)
        assert ended.code == 2
        assert "pip install 'agent-tt[mcp]'" in ended.err
        assert ended.out == ""


def test_an_sdk_that_is_too_old_is_said_to_be(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tt.serving.server.version", lambda _name: "1.26.0")
    ended = command("mcp")
    assert ended.code == 2
    assert "mcp 1.26.0 is installed here, which is too old" in ended.err


@pytest.mark.parametrize("options", FORK_OPTIONS)
def test_what_is_for_forks_needs_the_leave_to_fork(options: list[str], command: Command) -> None:
    ended = command("mcp", *options)
    assert ended.code == 2
    assert "--allow-runs" in ended.err


@pytest.mark.parametrize("limit", ["soon", "0s", ""])
def test_a_time_limit_that_is_none_is_refused(limit: str, command: Command) -> None:
    ended = command("mcp", "--allow-runs", "--time-limit", limit)
    assert ended.code == 2
    assert "is not a duration" in ended.err


def test_what_it_writes_is_the_protocol(command: Command) -> None:
    assert command("mcp", "--json").code == 2


def test_a_token_that_could_be_guessed_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TT_MCP_TOKEN", "short")
    ended = command("mcp", "--http", "0")
    assert ended.code == 2
    assert "AGENT_TT_MCP_TOKEN" in ended.err
    assert "short" not in ended.err.replace("shortest", "")


def test_a_port_that_is_taken_is_said(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = command("mcp", "--http", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "cannot be listened on" in ended.err


def test_other_commands_and_its_help_load_no_sdk() -> None:
    code = (
        "import sys; from agent_tt_tui.cli.root import run; "
        "[run(words) for words in (['--version'], ['--help'], ['mcp', '--help'], ['samples'])]; "
        "print([name for name in sys.modules if name.split('.')[0] in ('mcp', 'uvicorn', 'starlette', 'pydantic')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
