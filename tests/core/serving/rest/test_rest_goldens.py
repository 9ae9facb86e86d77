"""Goldens over HTTP: listed, and run offline as far as the server may start agents, with rules, steps and a verdict."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter
from tests.core.golden.desk import keep, record, write
from tests.core.serving.rest.served import TOKEN, client, serving

from agent_tt.errors import NotFound, UsageError
from agent_tt.remote import open_server
from agent_tt.serving.rest import running_models as models
from agent_tt.serving.starting import Leave, Starter

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi.testclient import TestClient

pytestmark = pytest.mark.warm("fastapi.testclient", "pydantic")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run, a golden of it, and an agent that leaves a file wherever it is imported."""
    monkeypatch.chdir(tmp_path)
    found = record(tmp_path)
    keep(tmp_path)
    write(tmp_path, ("import agent_tt", "import agent_tt\nopen(__file__ + '.ran', 'w').close()"))
    return found


def allowed(store: Path, **leave: Any) -> tuple[TestClient, Starter]:
    starter = Starter(Leave(**{"seconds": 300, **leave}))
    return client(store, starter=starter), starter


def has_run(store: Path) -> bool:
    return (store.parent / "desk.py.ran").exists()


def test_a_golden_is_run_offline_with_its_rules_and_steps(store):
    asked, starter = allowed(store, runs=2)
    answer = asked.post("/api/goldens/kept/run", json={})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    TypeAdapter(models.GoldenRun).validate_python(told, strict=True)
    assert (told["name"], told["outcome"], told["first"]) == ("kept", "passed", "")
    assert {rule["verdict"] for rule in told["rules"]} == {"passed"}
    assert [(step["name"], [call["name"] for call in step["calls"]]) for step in told["steps"]] == [
        ("look up", ["find", "rate"]),
        ("answer", []),
    ]
    assert (has_run(store), starter.started) == (True, 1)
    write(store.parent, ("* state['rate']", "+ state['rate']"))
    told = asked.post("/api/goldens/kept/run", json={"seconds": 200}).json()
    assert (told["outcome"], [rule["kind"] for rule in told["rules"] if rule["verdict"] == "failed"]) == (
        "failed",
        ["answer"],
    )
    assert "no more may be" in asked.post("/api/goldens/kept/run", json={}).json()["error"]["message"]


def test_without_leave_and_with_read_only_no_code_of_an_agent_runs(store):
    for served in (
        client(store),
        client(store, read_only=True),
        client(store, read_only=True, starter=Starter(Leave())),
    ):
        answer = served.post("/api/goldens/kept/run", json={})
        assert (answer.status_code, answer.json()["error"]["kind"]) == (403, "not_allowed")
        assert served.get("/api/goldens/kept").status_code == 200
    assert not has_run(store)


def test_what_cannot_be_run_is_unknown_and_uses_nothing_up(store):
    asked, starter = allowed(store, runs=1)
    assert asked.post("/api/goldens/none/run", json={}).status_code == 404
    assert asked.post("/api/goldens/kept/run", json={"agent": "x.py:main"}).status_code == 422
    recording = next((store.parent / "goldens").glob("*.zst"), None) or next(
        path for path in (store.parent / "goldens").iterdir() if path.suffix != ".toml"
    )
    kept = recording.read_bytes()
    recording.write_bytes(kept[:-9])
    told = asked.post("/api/goldens/kept/run", json={}).json()
    assert (told["outcome"], told["steps"], starter.started) == ("unknown", [], 0)
    assert "could not run" in told["problem"]
    recording.write_bytes(kept)
    assert asked.post("/api/goldens/kept/run", json={}).json()["outcome"] == "passed"


def test_the_typed_client_lists_and_runs_goldens(store):
    folder = str(store.parent / "goldens")
    with (
        serving(store, store.parent, "--goldens", folder, "--allow-forks") as address,
        closing(open_server(address, TOKEN)) as remote,
    ):
        assert [(each.name, each.problem) for each in remote.goldens()] == [("kept", "")]
        found = remote.run_golden("kept", seconds=60)
        assert (found.outcome, {rule.verdict for rule in found.rules}) == ("passed", {"passed"})
        assert [(step.number, step.name, step.calls) for step in found.steps] == [
            (1, "look up", ("find", "rate")),
            (2, "answer", ()),
        ]
        with pytest.raises(NotFound):
            remote.run_golden("a/../b")
    with (
        serving(store, store.parent, "--goldens", folder) as address,
        closing(open_server(address, TOKEN)) as remote,
        pytest.raises(UsageError, match="starts no agents"),
    ):
        remote.run_golden("kept")
