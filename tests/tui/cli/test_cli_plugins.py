"""Two packages are installed, and the real command uses them: a provider of a made-up format, a source of another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.core.plugin_packages import HELLO_PROVIDER, HELLO_SOURCE, install
from tests.core.web_server import serving
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.warm

AGENT = """
import sys
import httpx

def ask(turns):
    return httpx.post(sys.argv[1] + "/hello", json={"who": "hello-1", "say": turns}).json()["said"]

turns = [{"me": "what is the weather?"}]
for _ in range(2):
    turns.append(ask(turns))
    turns.append({"me": "and tomorrow?"})
print(turns[-2]["you"])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages."""
    site = tmp_path_factory.mktemp("packages") / "site"
    entries = "[agent_tt.providers]\nhello = plug_hello:Hello\n[agent_tt.sources]\ngreetings = plug_source:open_hello\n"
    install(site, "agent-tt-hello", "1.2", entries, plug_hello=HELLO_PROVIDER, plug_source=HELLO_SOURCE)
    install(site, "agent-tt-old", "0.1", "[agent_tt.providers]\nold = plug_old:Old\n")
    return site


@pytest.fixture
def run(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `agent-tt` in a process of its own, with the folder of packages on its path."""
    (tmp_path / "agent.py").write_text(AGENT)
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENT_TT", "COLUMNS"))}
    own = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "NO_COLOR": "1", "COLUMNS": "120"}

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "agent_tt_tui", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**kept, **own, "AGENT_TT_STORE": str(tmp_path / "runs.db")},
            timeout=PATIENCE_SECONDS,
        )

    return call


def answer(_: str, body: bytes) -> bytes:
    told = f"turn {len(json.loads(body)['say'])}, {json.loads(body).get('manners', 'as usual')}"
    return json.dumps({"said": {"type": "said", "you": told}, "counted": [5, 2]}).encode()


def test_a_provider_of_another_package_is_recorded_shown_and_forked(run: Run) -> None:
    with serving(answer) as web:
        recorded = run("record", "--name", "weather", "--", sys.executable, "agent.py", web.url)
        assert (recorded.returncode, recorded.stdout) == (0, "turn 3, as usual\n")
        assert recorded.stderr.count("the plug-in old of agent-tt-old 0.1 cannot be imported: ModuleNotFoundError") == 1
        shown = json.loads(run("show", "weather", "1", "--json").stdout)
        assert [call["kind"] for call in shown["calls"]] == ["llm"]
        assert shown["state"]["say"][-1]["you"] == "turn 1, as usual"
        listed = json.loads(run("runs", "--json").stdout)
        assert (listed[0]["tokens_in"], listed[0]["tokens_out"], listed[0]["cost_usd"]) == (10, 4, 0.5)
        assert len(web.asked) == 2
        replayed = run("replay", "weather")
        assert replayed.returncode == 0, replayed.stdout + replayed.stderr
        assert len(web.asked) == 2
        forked = run("fork", "weather", "--at", "1", "--answer", "1=It rains.", "--json")
        assert forked.returncode == 0, forked.stderr
        assert len(web.asked) == 3
        assert json.loads(web.bodies[-1])["say"][1] == {"type": "said", "you": "It rains."}
        forked = run("fork", "weather", "--at", "1", "--system", "be brief", "--param", "pace=2", "--json")
        assert forked.returncode == 0, forked.stderr
        assert [json.loads(web.bodies[-1]).get(name) for name in ("manners", "pace")] == ["be brief", 2]


def test_a_source_of_another_package_is_opened(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "greeting.txt"
    path.write_text("hello run greeting\nask=who\nanswer=me\n")
    shown = run("show", "greeting", "2", "--store", str(path), "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["state"] == {"ask": "who", "answer": "me"}
    named = run("note", "greeting", "--store", str(path), "a good one")
    assert named.returncode == 0, named.stderr


def test_the_command_lists_what_is_there_and_what_cannot_be_used(run: Run) -> None:
    rows = {(row["group"], row["name"]): row for row in json.loads(run("plugins", "--json").stdout)}
    hello = rows["agent_tt.providers", "hello"]
    assert (hello["package"], hello["version"], hello["problem"]) == ("agent-tt-hello", "1.2", None)
    assert rows["agent_tt.sources", "greetings"]["value"] == "plug_source:open_hello"
    assert rows["agent_tt.sources", "langgraph"]["package"] == "agent-tt"
    assert "No module named 'plug_old'" in rows["agent_tt.providers", "old"]["problem"]
    shown = run("plugins")
    assert shown.returncode == 0
    assert "agent-tt-hello 1.2" in shown.stdout
    assert "cannot be imported: ModuleNotFoundError: No module named 'plug_old': it is left out" in shown.stdout
