"""The page about the server: its paths are there, and its Python runs as it is written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.core.serving.asking import SAMPLES
from tests.core.serving.rest.served import TOKEN, asking, client, serving
from tests.patience import PATIENCE_SECONDS

from agent_tt_tui.cli.asking.serve import TOKEN_VARIABLE
from agent_tt_tui.cli.root import LazyGroup

pytestmark = pytest.mark.warm("fastapi.testclient", "pydantic")

PAGE = (Path(__file__).parents[4] / "docs" / "server.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_every_path_of_the_page_is_one_of_the_server_and_every_other_way_round():
    known = {re.sub(r"\{\w+\}", "{}", path) for path in client(SAMPLES).get("/openapi.json").json()["paths"]}
    named = set(re.findall(r"(?:/api|/v1|/health)[\w/{}-]*", PAGE)) | {
        f"/api/runs/{{run}}/{rest}" for rest in re.findall(r"…/([\w{}/-]+)", PAGE)
    }
    told = {re.sub(r"\{\w+\}", "{}", path).rstrip("/") for path in named}
    told |= {f"/api/runs/{{}}/steps/{{}}/calls/{{}}{rest}" for rest in ("", "/deliveries")} | {"/api/replays/{}/diff"}
    assert known <= told | {"/api/goldens/{}", "/api/runs/{}/fork", "/api/runs/{}/steps/{}", "/v1/metrics"}
    assert {path for path in told if path.count("/") > 1} - known <= {
        *("/api/runs/{}/calls/{}", "/api/runs/{}/deliveries", "/api/runs/{}/diff", "/v1"),
        *("/api/checkpoints/{}/replay", "/api/runs/{}/states/{}"),
    }


def test_the_options_of_the_page_are_those_of_the_commands():
    commands = LazyGroup()
    for command, options in re.findall(r"^agent-tt (\w+)(.*)$", "\n".join(blocks("sh")), re.MULTILINE):
        found = commands.get_command(None, command)
        known = {option for each in found.params for option in each.opts}
        assert set(re.findall(r"--[\w-]+", options)) <= known, command


def test_the_python_of_the_page_runs_and_so_do_its_questions(tmp_path):
    store = tmp_path / "runs.db"
    store.write_bytes(SAMPLES.read_bytes())
    (code,) = blocks("py")
    with serving(store, tmp_path) as address, asking(address) as asked:
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={"AGENT_TT_SERVER": address, TOKEN_VARIABLE: TOKEN, "PATH": ""},
            cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True,
        )  # fmt: skip
        assert ran.stdout.startswith("research-team succeeded {")
        for path in re.findall(r"http://127\.0\.0\.1:8411(/\S+)", "\n".join(blocks("sh"))):
            if path != "/api/events":
                assert asked.get(path).status_code == 200, path
