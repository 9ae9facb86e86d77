"""The agents of `docs/` on real SDKs: recorded as it says, against a server that is then stopped, and replayed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.core.seams.loopback import Loopback
from tests.tui.readme_parts import DOCS, README

from agent_tt_tui.cli.root import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.warm("openai", "anthropic")

RECORD, REPLAY = ((DOCS / name).read_text(encoding="utf-8") for name in ("record.md", "replay.md"))
AGENTS = re.findall(
    r"^`agent-tt (record [^`]+)`[^\n]*\n\n```python\n# (\w+)\.py\n(.*?)```", RECORD, re.DOTALL | re.MULTILINE
)

REQUESTS_AND_CALLS = {"openai_loop": (3, 5), "anthropic_loop": (2, 3), "async_many": (3, 3)}


@pytest.fixture
def server() -> Iterator[Loopback]:
    loopback = Loopback()
    yield loopback
    loopback.stop()


@pytest.fixture
def shell(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command of ours in a fresh folder, where both SDKs ask the loopback server; agents have their processes."""
    environment = {
        "AGENT_TT_STORE": str(tmp_path / "runs.db"),
        "HOME": str(tmp_path),
        "NO_COLOR": "1",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "ANTHROPIC_BASE_URL": server.url,
        "OPENAI_API_KEY": "any",
        "ANTHROPIC_API_KEY": "any",
    }

    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable if word == "python" else word for word in words]
        code = run(command)
        said = capfd.readouterr()
        return subprocess.CompletedProcess(command, code, said.out, said.err)

    return call


def test_there_is_an_agent_of_each_kind():
    assert [name for _, name, _ in AGENTS] == list(REQUESTS_AND_CALLS)


@pytest.mark.parametrize(("command", "name", "source"), AGENTS, ids=[name for _, name, _ in AGENTS])
def test_an_agent_is_recorded_and_replayed_with_the_server_gone(
    server: Loopback,
    shell: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    command: str,
    name: str,
    source: str,
):
    """The server never says the same twice, and asks for a tool."""
    requests, calls = REQUESTS_AND_CALLS[name]
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    recorded = shell(*shlex.split(command))
    assert recorded.returncode == 0, recorded.stderr
    assert server.count == requests
    server.stop()
    replayed = shell("replay", name, "--json")
    assert replayed.returncode == 0, replayed.stdout
    report = json.loads(replayed.stdout)
    assert report["faithful"]
    assert report["served"] == report["recorded"] == calls
    assert report["output"] == recorded.stdout
    assert server.count == requests


def test_a_changed_word_looks_as_it_is_shown(
    server: Loopback, shell: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
):
    command, name, source = AGENTS[0]
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    assert shell(*shlex.split(command)).returncode == 0
    server.stop()
    path.write_text(source.replace("refund policy", "return policy"))
    replayed = shell("replay", name)
    assert replayed.returncode == 1
    assert replayed.stderr == ""
    shown = replayed.stdout.replace(server.url, "https://api.openai.com").strip()
    for page in (REPLAY, README.read_text(encoding="utf-8")):
        assert f"```\n{shown}\n```" in page, shown


def test_a_changed_word_fails_the_golden_of_an_unmodified_agent_and_nothing_is_asked(
    server: Loopback, shell: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
):
    command, name, source = AGENTS[0]
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    assert shell(*shlex.split(command)).returncode == 0
    saved = shell("golden", "save", name)
    assert saved.returncode == 0, saved.stderr
    assert shell("test").stdout == f"✓  {name}\n1 passed\n"
    path.write_text(source.replace("refund policy", "return policy"))
    tested = shell("test")
    assert (tested.returncode, server.count) == (1, REQUESTS_AND_CALLS[name][0])
    assert "asks what was not recorded at step 1" in tested.stdout
    assert "body.messages[0].content" in tested.stdout
