"""`agent-tt fork FILE's run --continue-with`: what is said before, and a call that `agent-tt answer` gives."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.forking.conversation_models import CALL, WORDS, models
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

_CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.toml"}'}}
_MESSAGES = [
    {"role": "user", "content": "Which port?"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "port = 8081"},
    {"role": "assistant", "content": "8081."},
]


def _file(folder: Path) -> str:
    (folder / "talk.json").write_text(json.dumps({"messages": _MESSAGES}))
    return "talk.json"


def test_a_dry_run_says_that_no_program_runs_where_the_copy_lies_and_what_it_costs(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(tmp_path)
    with models(monkeypatch) as served:
        said = command("fork", "talk", "--at", "1", "--continue-with", "openai:gpt-5", "--dry-run", "--store", file)
        assert served.asked == []
    assert said.code == 0
    for words in (
        "the conversation goes on; the original program does not run",
        "no program: openai:gpt-5 answers, at http://127.0.0.1",
        "runs.db first; ",
        "at the list price of gpt-5",
        "recorded-or-deny",
        "Nothing was run.",
    ):
        assert words in said.out


def test_a_call_that_waits_is_given_its_result_by_the_command(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, store = _file(tmp_path), str(tmp_path / "own.db")
    monkeypatch.setenv("AGENT_TT_STORE", store)
    with models(monkeypatch) as served:
        served.script, served.arguments = [CALL, WORDS], {"path": "b.toml"}
        asks = ("--policy", "read_file=ask", "--detach")
        fork = command("fork", "talk", "--at", "1", "--continue-with", "openai:gpt-5", "--store", file, *asks)
        assert fork.code == 0
        ends = time.monotonic() + PATIENCE_SECONDS
        while not (waiting := command("answer", "--store", store, "--json").json):
            assert time.monotonic() < ends
            time.sleep(0.05)
        assert "read_file" in json.dumps(waiting)
        assert command("answer", "--store", store, "--give", '"port = 7"').code == 0
        while command("runs", "--store", store, "--json").json[0]["status"] == "running":
            assert time.monotonic() < ends
            time.sleep(0.05)
    assert served.asked[1][1]["messages"][-1]["content"] == "port = 7"
    runs = {run["name"]: run["status"] for run in command("runs", "--store", store, "--json").json}
    assert runs["talk/fork-1"] == "succeeded"


def test_a_refusal_of_the_provider_is_one_line_and_exit_code_5(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(tmp_path)
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own.db"))
    with models(monkeypatch) as served:
        served.script = [(401, {"error": {"message": "Incorrect API key provided"}})]
        said = command("fork", "talk", "--at", "1", "--continue-with", "openai:gpt-5", "--store", file)
    assert said.code == 5
    assert "Incorrect API key provided" in said.err
    assert "Traceback" not in said.out + said.err
