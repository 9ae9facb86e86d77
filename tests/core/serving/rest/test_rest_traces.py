"""Traces, checkpoints and replays by the paths of AgentTrace, and forks as far as the server may start them."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter
from tests.core.serving.asking import FLAKY, SAMPLES
from tests.core.serving.rest.served import client
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt import samples
from agent_tt.serving.rest import running_models as models
from agent_tt.serving.starting import Leave, Starter
from agent_tt.store.file.provenance import forget_maker

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi.testclient import TestClient

pytestmark = pytest.mark.warm("fastapi.testclient", "pydantic")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    samples.ensure(FLAKY, tmp_path / "runs.db")
    return tmp_path / "runs.db"


def allowed(store: Path, **leave: Any) -> tuple[TestClient, Starter]:
    starter = Starter(Leave(**{"at_once": 4, **leave}))
    return client(store, starter=starter), starter


def run_of(asked: TestClient) -> str:
    (found,) = asked.get("/api/runs", params={"name": FLAKY}).json()["runs"]
    return found["id"]


def kind(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["kind"]


def test_the_checkpoints_of_a_trace_are_the_states_that_are_kept(store):
    asked = client(store)
    run = run_of(asked)
    listed = asked.get(f"/api/traces/{run}/checkpoints").json()
    assert [each["step"] for each in listed["checkpoints"]] == list(range(11))
    assert (listed["checkpoint_count"], listed["has_more"]) == (11, False)
    page = asked.get(f"/api/traces/{run}/checkpoints", params={"offset": 9, "limit": 1}).json()
    assert ([each["step"] for each in page["checkpoints"]], page["has_more"]) == ([9], True)
    with closing(agent_tt.open_source(store)) as source:
        for each in listed["checkpoints"]:
            found = asked.get(f"/api/checkpoints/{each['checkpoint_id']}").json()
            TypeAdapter(models.CheckpointAnswer).validate_python(found, strict=True)
            assert found["state"] == source.state(run, each["step"])
            assert found["configuration"]["model"] == "rules-1"
            assert found["can_replay"] is False


def test_checkpoints_are_named_and_told_facts_and_nothing_is_made_twice(store):
    asked = client(store)
    run = run_of(asked)
    path = f"/api/traces/{run}/checkpoints"
    every = asked.post(path, json={"auto": True})
    assert (every.status_code, every.json()["checkpoints_created"], len(every.json()["checkpoint_ids"])) == (200, 0, 11)
    named = asked.post(path, json={"span_ids": ["step_6"], "name": "priced", "metadata": {"ticket": "T-1"}})
    assert (named.status_code, named.json()) == (
        201,
        {"trace_id": run, "checkpoints_created": 1, "checkpoint_ids": [f"{run}@6"]},
    )
    found = asked.get(f"/api/checkpoints/{run}@6").json()
    assert (found["name"], found["metadata"]) == ("priced", {"ticket": "T-1"})
    assert asked.post(path, json={"span_ids": ["step_6"], "metadata": {"x": 1}}).json()["checkpoints_created"] == 0
    assert kind(asked.post(path, json={})) == (422, "usage")
    assert kind(asked.post(path, json={"span_ids": ["step_77"]})) == (404, "step_not_found")
    assert kind(asked.post(path, json={"span_ids": ["step_1", "step_2"], "name": "both"})) == (422, "usage")
    assert kind(asked.post(path, json={"spans": []})) == (422, "malformed")
    assert kind(asked.post("/api/traces/-/checkpoints", json={"auto": True})) == (404, "run_not_found")


def test_deleting_a_checkpoint_drops_its_state_and_the_run_says_so(store):
    asked = client(store)
    run = run_of(asked)
    before = {step: asked.get(f"/api/runs/{run}/states/{step}").json()["value"] for step in range(11)}
    gone = asked.delete(f"/api/checkpoints/{run}@4")
    said = {"status": "deleted", "checkpoint_id": f"{run}@4", "clean": True, "left": None}
    assert (gone.status_code, gone.json()) == (200, said)
    for answer in (asked.get(f"/api/checkpoints/{run}@4"), asked.delete(f"/api/checkpoints/{run}@4")):
        assert kind(answer) == (404, "step_not_found")
        assert "dropped" in answer.json()["error"]["message"]
    listed = asked.get(f"/api/traces/{run}/checkpoints").json()["checkpoints"]
    assert [each["step"] for each in listed] == [0, 1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert asked.get(f"/api/runs/{run}").json()["metadata"]["dropped"][0]["steps"] == [4]
    assert asked.get(f"/api/runs/{run}/steps/4").json()["calls"]
    assert "dropped" in asked.get(f"/api/runs/{run}/states/4").json()["note"]
    for step in {*before} - {4}:
        assert asked.get(f"/api/runs/{run}/states/{step}").json()["value"] == before[step]
    with closing(agent_tt.open_source(store)) as source:
        assert source.verify() == []


@pytest.mark.parametrize("name", ["-", "%", "x@1", "@1", "w@", "..@1", "../x@1", "a@b@1", "%25@0"])
def test_deleting_what_is_not_there_deletes_nothing(store, name):
    from urllib.parse import quote

    asked = client(store)
    content = store.read_bytes()
    answer = asked.delete(f"/api/checkpoints/{quote(name, safe='')}")
    assert answer.status_code in (404, 422)
    assert store.read_bytes() == content


def test_what_a_run_needs_is_not_deleted(store):
    asked = client(store)
    run = run_of(asked)
    assert kind(asked.delete(f"/api/checkpoints/{run}@0")) == (422, "usage")
    assert kind(asked.delete(f"/api/checkpoints/{run}@10")) == (422, "usage")
    with closing(agent_tt.open_source(store)) as source:
        source.set_pinned([run], pinned=True)
    assert kind(asked.delete(f"/api/checkpoints/{run}@4")) == (409, "refused")


def test_a_replay_goes_on_from_a_checkpoint_with_another_input_and_its_diff_says_what_came(store):
    asked, starter = allowed(store, seconds=300)
    run = run_of(asked)
    payment = asked.get(f"/api/runs/{run}/states/6", params={"path": "payment"}).json()["value"]
    wanted = {"modified_input": {"payment": {**payment, "amount": 136.84}}, "wait_seconds": 300, "timeout_seconds": 200}
    answer = asked.post(f"/api/checkpoints/{run}@6/replay", json=wanted)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    TypeAdapter(models.ReplayAnswer).validate_python(told, strict=True)
    assert (told["trace_id"], told["checkpoint_id"], told["status"]) == (run, f"{run}@6", "failed")
    assert "charge_card" in told["error"]["message"], "its agent does not expect that it is denied"
    assert told["run"]["edits"][0]["path"] == "payment"
    assert told["diff"]["has_changes"] is True
    replay = told["replay_id"]
    assert answer.headers["location"] == f"/api/replays/{replay}"
    assert asked.get(f"/api/replays/{replay}").json() == told
    diff = asked.get(f"/api/replays/{replay}/diff").json()
    TypeAdapter(models.ReplayDiff).validate_python(diff, strict=True)
    assert diff["changed"]["payment"]["new"]["amount"] == 136.84
    assert diff["has_changes"]
    assert "cart" in diff["unchanged"]
    listed = asked.get(f"/api/traces/{run}/replays").json()
    assert [each["replay_id"] for each in listed["replays"]] == [replay]
    assert listed["replays"][0]["has_changes"] is True
    fork = asked.get(f"/api/runs/{replay}/fork").json()
    assert [row["name"] for row in fork["held_back"]] == ["charge_card"], "what writes was denied"
    assert starter.started == 1
    for path in (f"/api/replays/{run}", f"/api/replays/{replay[:5]}", f"/api/replays/{run}/diff", "/api/replays/-"):
        assert kind(asked.get(path)) == (404, "run_not_found")


def test_a_replay_stops_where_it_is_told_to_and_a_dry_run_lets_nothing_write(store):
    asked, _ = allowed(store, allow=("charge_card",), seconds=300)
    run = run_of(asked)
    wanted = {"stop_at_span": "step_7", "wait_seconds": 300}
    stopped = asked.post(f"/api/checkpoints/{run}@6/replay", json=wanted).json()
    assert (stopped["status"], stopped["run"]["steps"]) == ("stopped", 7)
    dry = asked.post(f"/api/checkpoints/{run}@6/replay", json={"dry_run": True, "wait_seconds": 300})
    assert dry.status_code == 201
    assert "mock" in dry.json()["run"]["tags"]
    assert dry.json()["run"]["policy"]["charge_card"] == "deny"
    told = {"agent_overrides": {"model": "other", "temperature": 0.5}, "wait_seconds": 300, "name": "cooler"}
    other = asked.post(f"/api/checkpoints/{run}@0/replay", json=told)
    assert other.status_code == 201, other.text
    assert {edit["target"] for edit in other.json()["run"]["edits"]} == {"model", "parameter"}
    assert other.json()["run"]["name"] == "cooler"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"executor": "no-such-executor"}, (422, "invalid_executor")),
        ({"agent_overrides": {"not a name": 1}}, (422, "usage")),
        ({"agent_overrides": {"model": 3}}, (422, "usage")),
        ({"stop_at_span": "seven"}, (422, "malformed")),
        ({"timeout_seconds": 0}, (422, "malformed")),
        ({"edits": [{"form": "set", "text": "payment.amount"}]}, (422, "invalid_edit")),
        ({"deny": ["*"]}, (422, "usage")),
        ({"unknown": 1}, (422, "malformed")),
    ],
)
def test_what_cannot_be_replayed_is_said_and_nothing_is_started(store, wanted, expected):
    asked, starter = allowed(store)
    run = run_of(asked)
    answer = asked.post(f"/api/checkpoints/{run}@6/replay", json=wanted)
    assert answer.status_code == expected[0], answer.text
    assert kind(answer) == expected or expected[1] in ("invalid_edit", "usage")
    assert starter.started == 0


def test_without_leave_nothing_is_started_and_with_read_only_nothing_is_changed(store):
    run = run_of(client(store))
    requests = (
        ("POST", f"/api/checkpoints/{run}@6/replay", {}),
        ("POST", f"/api/runs/{run}/forks", {"at": 6}),
        ("POST", f"/api/runs/{run}/replay", {}),
        ("POST", f"/api/runs/{run}/stop", None),
        ("POST", "/api/questions/1/answer", {"word": "run"}),
    )
    for method, path, body in requests:
        code, _ = kind(client(store).request(method, path, json=body))
        assert code in (403, 404), path
    writing = (
        ("DELETE", f"/api/checkpoints/{run}@4", None),
        ("POST", f"/api/traces/{run}/checkpoints", {"span_ids": ["step_6"], "name": "x"}),
    )
    content = store.read_bytes()
    served = client(store, read_only=True, starter=Starter(Leave()))
    for method, path, body in (*requests, *writing):
        assert kind(served.request(method, path, json=body)) == (403, "not_allowed"), path
    assert store.read_bytes() == content


def test_a_plan_runs_nothing_and_a_client_takes_away_and_never_adds(store):
    asked, starter = allowed(store, allow=("charge_card", "place_order"), seconds=5)
    run = run_of(asked)
    wanted = {
        "at": 6,
        "seconds": 86_000,
        "deny": ["charge_card"],
        "edits": [{"form": "set", "text": "payment.amount=1"}],
    }
    plan = asked.post(f"/api/runs/{run}/forks", json=wanted)
    assert plan.status_code == 200
    told = plan.json()
    policies = {row["name"]: row["policy"] for row in told["boundary"]}
    assert (policies["charge_card"], policies["place_order"]) == ("deny", "live")
    assert told["terms"]["limits"]["seconds"] == 5.0
    assert starter.started == 0
    for word in ("allow", "policy", "agent", "ask"):
        assert kind(asked.post(f"/api/runs/{run}/forks", json={"at": 6, word: ["x"]})) == (422, "malformed")


def test_a_call_that_asks_waits_for_the_answer_of_a_client(store):
    asked, _ = allowed(store, ask=("charge_card",), seconds=300)
    run = run_of(asked)
    begun = asked.post(f"/api/runs/{run}/forks", json={"at": 6, "dry_run": False, "stop_at": 7})
    assert begun.status_code == 201, begun.text
    fork = begun.json()["id"]
    question = wait_for(lambda: asked.get("/api/questions", params={"run": fork}).json()["questions"])[0]
    TypeAdapter(models.Question).validate_python(question, strict=True)
    assert (question["tool"], question["effect"]) == ("charge_card", "write")
    path = f"/api/questions/{question['question']}/answer"
    assert kind(asked.post(path, json={"word": "give", "why": "no"})) == (422, "usage")
    assert kind(asked.post(path, json={"word": "run", "args": {"nothing": 1}})) == (422, "usage")
    assert kind(client(store, starter=Starter(Leave())).post(path, json={"word": "run"})) == (403, "not_allowed")
    said = asked.post(path, json={"word": "refuse", "why": "not today"})
    assert said.status_code == 200, said.text
    assert said.json()["answer"] == {"word": "refuse", "by": "server", "why": "not today"}
    ended = wait_for(lambda: (found := asked.get(f"/api/runs/{fork}/fork").json())["status"] != "running" and found)
    assert "not today" in json.dumps(ended["held_back"])
    assert kind(asked.post(path, json={"word": "run"})) == (404, "question_not_found")


def test_no_more_agents_are_started_than_were_allowed_and_stopping_one_is_written_down(store):
    asked, starter = allowed(store, ask=("charge_card",), runs=1, seconds=300)
    run = run_of(asked)
    fork = asked.post(f"/api/runs/{run}/forks", json={"at": 6, "dry_run": False}).json()["id"]
    assert kind(asked.post(f"/api/runs/{run}/forks", json={"at": 6, "dry_run": False})) == (422, "usage")
    assert kind(asked.post(f"/api/runs/{run}/stop")) == (403, "not_allowed")
    stopped = asked.post(f"/api/runs/{fork}/stop").json()
    assert stopped == {"run": fork, "status": "interrupted"}
    assert starter.running() == []


def test_an_offline_replay_says_whether_it_went_as_recorded(store):
    asked, _ = allowed(store, seconds=300)
    run = run_of(asked)
    report = asked.post(f"/api/runs/{run}/replay", json={}).json()
    assert report["verdict"] == "as_recorded", report
    (kept,) = asked.get(f"/api/runs/{run}/kept-replays").json()["replays"]
    assert kept["verdict"] == "as_recorded"


def test_the_agents_of_a_store_from_elsewhere_do_not_run(store):
    copied = store.with_name("copied.db")
    copied.write_bytes(SAMPLES.read_bytes())
    forget_maker(copied)
    asked, starter = allowed(copied, runs=1)
    run = run_of(asked)
    for path, body in (
        (f"/api/checkpoints/{run}@6/replay", {}),
        (f"/api/runs/{run}/forks", {"at": 6, "dry_run": False}),
        (f"/api/runs/{run}/replay", {}),
    ):
        assert kind(asked.post(path, json=body))[1] in ("untrusted", "invalid_entry_point"), path
    assert starter.running() == []
    assert starter.started == 0, "what is refused uses nothing up"


def wait_for(found: Any) -> Any:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not (value := found()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return value
