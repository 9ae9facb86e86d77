"""`agent-tt serve` and `agent-tt open --server`: how they are started, and what they say where they cannot be."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

LIBRARIES = ("fastapi", "uvicorn", "starlette", "pydantic", "httpx", "mcp")


def test_without_the_library_it_names_the_extra(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        each for each in sys.modules if each.partition(".")[0] in ("fastapi", "uvicorn") or "serving.rest." in each
    ]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("fastapi", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    ended = command("serve")
    assert ended.code == 2
    assert "pip install 'agent-tt[server]'" in ended.err
    assert ended.out == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--allow", "charge_card"], "--allow-forks"),
        (["--ask", "charge_card"], "--allow-forks"),
        (["--max-cost", "1"], "--allow-forks"),
        (["--allow-forks", "--read-only"], "--read-only"),
        (["--host", "0.0.0.0"], "--allow-host"),
        (["--host", "192.0.2.1"], "--allow-host"),
        (["--time-limit", "soon", "--allow-forks"], "is not a duration"),
        (["--request-time", "0s"], "is not a duration"),
        (["--token-file", "none"], "cannot be read"),
        (["--audit", "/dev/null/x"], "audit"),
        (["--json"], "no JSON"),
    ],
)
def test_what_makes_no_sense_or_would_open_it_is_refused(options: list[str], said: str, command: Command) -> None:
    ended = command("serve", "--port", "0", *options)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_token_is_long_and_nobody_else_reads_its_file(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("a token without-others\n")
    file.chmod(0o644)
    assert "others can read" in command("serve", "--token-file", str(file)).err
    file.chmod(0o600)
    file.write_text("short\n")
    ended = command("serve", "--token-file", str(file))
    assert (ended.code, "has 5 characters" in ended.err) == (2, True)
    monkeypatch.setenv("AGENT_TT_SERVER_TOKEN", "shorter")
    ended = command("serve")
    assert ended.code == 2
    assert "AGENT_TT_SERVER_TOKEN has 7 characters" in ended.err
    assert "shorter" not in ended.err


def test_a_port_that_is_taken_is_said(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = command("serve", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "cannot be listened on" in ended.err


def test_a_server_that_cannot_be_opened_is_said(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_TT_SERVER_TOKEN", raising=False)
    assert "no token" in command("open", "--server", "http://127.0.0.1:1").err
    monkeypatch.setenv("AGENT_TT_SERVER_TOKEN", "a token of the test")
    gone = command("open", "--server", "http://127.0.0.1:1")
    assert (gone.code, "does not answer" in gone.err) == (4, True)
    for words in (
        ["--server", "http://agents.example.com"], ["--server", "agents"], ["--token-file", "x"],
        ["--server", "http://127.0.0.1:1", "--store", "x.db"], ["--server", "http://127.0.0.1:1", "--json"],
        ["--server", "http://127.0.0.1:1", "--at", "3"],
    ):  # fmt: skip
        assert command("open", *words).code == 2, words


def test_other_commands_and_its_help_load_no_server() -> None:
    code = (
        "import sys; from agent_tt_tui.cli.root import run; "
        "[run(words) for words in (['--version'], ['serve', '--help'], ['open', '--help'], ['samples'])]; "
        f"print([name for name in sys.modules if name.split('.')[0] in {LIBRARIES!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
