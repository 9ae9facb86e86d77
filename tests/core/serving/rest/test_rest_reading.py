"""What the server for teams answers about recorded runs: what the commands write as JSON, of exactly what was named."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, TypeAdapter
from tests.core.serving.asking import FLAKY, SAMPLES
from tests.core.serving.rest.served import HOST, TOKEN, asking, client, serving

import agent_tt
from agent_tt.exporting.redacted import RedactedRuns
from agent_tt.shapes.answers import effects_answer, oddities_answer, run_answer, where_answer
from agent_tt.shapes.records import run_shape

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

pytestmark = pytest.mark.warm("fastapi.testclient", "pydantic")


@pytest.fixture(scope="module")
def served() -> TestClient:
    return client(SAMPLES)


@pytest.fixture(scope="module")
def run(served: TestClient) -> str:
    (found,) = served.get("/api/runs", params={"name": FLAKY}).json()["runs"]
    return found["id"]


def test_runs_steps_calls_and_states_are_those_of_the_commands(served, run):
    with closing(agent_tt.open_source(SAMPLES, read_only=True)) as source:
        known = source.run(run)
        told = run_answer(source, known)
        assert served.get(f"/api/runs/{run}").json() == run_shape(known) | {"held": False} == told["run"]
        assert served.get(f"/api/runs/{run}/steps").json()["steps"] == told["steps"]
        for step in range(known.steps + 1):
            assert served.get(f"/api/runs/{run}/states/{step}").json()["value"] == source.state(run, step)
            one = served.get(f"/api/runs/{run}/steps/{step}").json()
            assert one["step"] == step
            for call in one["calls"]:
                assert served.get(f"/api/runs/{run}/steps/{step}/calls/{call['call']}").json() == call
        assert served.get(f"/api/runs/{run}/effects").json() == effects_answer(source, known)
        assert served.get(f"/api/runs/{run}/oddities").json() == oddities_answer(source, known)
        found = served.get(f"/api/runs/{run}/where", params={"expression": "error"}).json()
        assert found == where_answer(source, known, "error")


def test_links_and_ranges_are_what_show_says(served, run):
    from click.testing import CliRunner

    from agent_tt_tui.cli.root import root

    def shown(*words: str) -> dict[str, object]:
        done = CliRunner().invoke(root, ["--store", str(SAMPLES), "show", run, *words, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    for step in (0, 3, 8):
        told = served.get(f"/api/runs/{run}/steps/{step}/links").json()
        assert told == {"run": run, "step": step, **shown(str(step))["links"]}
    assert any(told["from"].values())
    for first, last in ((1, 10), (3, 7), (0, 0), (4, 4)):
        told = served.get(f"/api/runs/{run}/range", params={"first": first, "last": last}).json()
        assert told == shown(f"{first}..{last}")
    assert served.get(f"/api/runs/{run}/range").json() == shown("1..")
    for query, status in (({"first": 5, "last": 4}, 422), ({"last": 99}, 404), ({"first": -1}, 422)):
        assert served.get(f"/api/runs/{run}/range", params=query).status_code == status, query
    assert served.get(f"/api/runs/{run}/steps/99/links").status_code == 404


def test_pages_joined_are_the_whole(served, run):
    whole = served.get("/api/runs").json()
    assert whole["next"] is None
    listed, after = [], None
    while True:
        page = served.get("/api/runs", params={"limit": 1} | ({"after": after} if after else {})).json()
        listed += page["runs"]
        after = page["next"]
        if after is None:
            break
    assert listed == whole["runs"]
    steps, start = [], 1
    while start is not None:
        page = served.get(f"/api/runs/{run}/steps", params={"start": start, "limit": 3}).json()
        steps += page["steps"]
        start = page["next"]
    assert [step["step"] for step in steps] == list(range(1, page["last"] + 1))


def test_a_value_is_asked_for_by_its_path_and_its_writer_by_blame(served, run):
    state = served.get(f"/api/runs/{run}/states/6", params={"path": "payment.amount"}).json()
    assert (state["path"], state["value"], state["note"]) == ("payment.amount", 13684, None)
    blame = served.get(f"/api/runs/{run}/blame", params={"path": "payment.amount", "step": 6}).json()
    assert (blame["value"], blame["writes"][0]["step"]) == (13684, 6)
    diff = served.get("/api/diff", params={"a": f"{run}@5", "b": f"{run}@6"}).json()
    assert diff["differ"]
    assert any(change["path"].startswith("payment") for change in diff["changes"])
    assert served.get("/api/diff", params={"a": f"{run}@6", "b": f"{run}@6"}).json()["differ"] is False
    assert served.get("/api/compare", params={"a": run, "b": run}).json()["differs"] is False
    assert served.get("/api/find", params={"text": "refused", "run": run}).json()["hits"]
    assert served.get("/api/statistics", params={"by": "tool"}).json()["by"]["tool"]


IDS = ["%", "-", "../x", "..", ".", "%00", "latest", FLAKY, f"{FLAKY}~1", "w", "🦊", " ", "x" * 512, "*", "_", "a/b"]


@pytest.mark.parametrize("word", IDS)
@pytest.mark.parametrize(
    "path", ["/api/runs/{}", "/api/runs/{}/steps", "/api/runs/{}/states/0", "/api/runs/{}/effects"]
)
def test_an_id_names_exactly_what_has_it_and_nothing_else(served, word, path):
    from urllib.parse import quote

    answer = served.get(path.format(quote(word, safe="").replace(".", "%2E")))
    assert answer.status_code in (404, 422)
    assert set(answer.json()) == {"error"}
    if word not in ("%00",):
        assert answer.status_code == 404


def test_the_beginning_of_an_id_is_no_id(served, run):
    for beginning in (run[:-1], run[:3], run.upper(), run + "x", f"{run}@3", f" {run}"):
        answer = served.get(f"/api/runs/{beginning}")
        assert answer.status_code == 404, beginning
        assert answer.json()["error"]["kind"] == "run_not_found"


MALFORMED = ["/api/runs/" + "x" * 513, "/api/runs/%01", "/api/runs/a/states/-1", "/api/runs/a/states/x",
             "/api/runs/a/states/99999999999999999999", "/api/diff?a=x&b=y", "/api/diff?a=x@01&b=x@1", "/api/diff",
             "/api/runs?limit=0", "/api/runs?status=happy", "/api/find?text=", "/api/statistics?by=mood",
             "/api/runs?archived=perhaps"]  # fmt: skip


@pytest.mark.parametrize("path", MALFORMED)
def test_what_cannot_be_read_is_said_to_be_malformed(served, path):
    answer = served.get(path)
    assert answer.status_code == 422
    assert answer.json()["error"]["kind"] == "malformed"
    assert answer.json()["error"]["flaws"]


def test_what_is_not_there_says_what_looks_like_it(served, run):
    for path, kind in (
        (f"/api/runs/{run}/states/6?path=paymen", "path_not_found"),
        (f"/api/runs/{run}/states/11", "step_not_found"),
        (f"/api/runs/{run}/steps/6/calls/9", "step_not_found"),
        (f"/api/diff?a={run}@5&b={run}@77", "step_not_found"),
        ("/api/goldens/none", "not_found"),
        ("/api/nothing", "not_found"),
        ("/api/runs/", "not_found"),
        ("/api/statistics?agent=nobody.py:main", "not_found"),
    ):
        answer = served.get(path)
        assert (answer.status_code, answer.json()["error"]["kind"]) == (404, kind), path
    assert served.get(f"/api/runs/{run}/states/6?path=paymen").json()["error"]["nearest"] == ["payment"]
    for path, kind in (
        (f"/api/runs/{run}/states/6?path=a[", "invalid_path"),
        (f"/api/runs/{run}/where?expression=((", "invalid_expression"),
        ("/api/statistics?since=soon", "usage"),
    ):
        answer = served.get(path)
        assert (answer.status_code, answer.json()["error"]["kind"]) == (422, kind), path


def test_answers_are_what_the_description_says(served, run):
    from agent_tt.serving.rest import models

    held: list[tuple[str, type[BaseModel]]] = [
        ("/api/store", models.StoreAnswer), ("/api/runs", models.Runs), (f"/api/runs/{run}", models.RunAnswer),
        (f"/api/runs/{run}/steps", models.Steps), (f"/api/runs/{run}/steps/0", models.StepAnswer),
        (f"/api/runs/{run}/states/3", models.StateAnswer), (f"/api/runs/{run}/notes", models.Notes),
        (f"/api/diff?a={run}@1&b={run}@2", models.DiffAnswer), (f"/api/compare?a={run}&b={run}", models.CompareAnswer),
        (f"/api/runs/{run}/blame?path=answer", models.BlameAnswer), ("/api/find?text=refused", models.FindAnswer),
        (f"/api/runs/{run}/kept-replays", models.KeptReplays), ("/api/statistics?by=day", models.StatisticsAnswer),
        (f"/api/runs/{run}/effects", models.EffectsAnswer), ("/api/runs/none", models.Failure),
        (f"/api/runs/{run}/steps/6/calls/1/deliveries", models.Deliveries), ("/health", models.Health),
        (f"/api/runs/{run}/steps/3/links", models.LinksAnswer), (f"/api/runs/{run}/range", models.RangeAnswer),
        ("/api/goldens", models.Goldens), (f"/api/runs/{run}/forks", models.Runs),
    ]  # fmt: skip
    for path, model in held:
        told = served.get(path).json()
        TypeAdapter(model).validate_python(told, strict=True)
        names = {field.alias or name for name, field in model.model_fields.items()}
        assert model.model_config.get("extra") == "allow" or told.keys() <= names, path


def test_a_run_with_a_slash_in_its_id_is_named_by_its_escape(tmp_path):
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]))
    with closing(agent_tt.open_source(file)) as source:
        (found,) = source.runs()
        assert client(file).get(f"/api/runs/{found.id}").json()["id"] == found.id


def test_what_nobody_redacted_is_redacted_when_it_is_shown(tmp_path):
    secret = "sk-ant-api03-" + "Ab3dEf6hIj9k" * 7 + "AA"
    file = tmp_path / "talk.json"
    file.write_text(
        json.dumps([{"role": "user", "content": f"My key: {secret}"}, {"role": "assistant", "content": "ok"}])
    )
    with closing(agent_tt.open_source(file)) as source:
        assert not source.capabilities.redacted
        assert secret in json.dumps(source.state(source.runs()[0].id, 1))
        assert secret not in json.dumps(RedactedRuns(source).state(source.runs()[0].id, 1))
    asked = client(file)
    (run,) = asked.get("/api/runs").json()["runs"]
    for path in (f"/api/runs/{run['id']}", f"/api/runs/{run['id']}/states/1", f"/api/runs/{run['id']}/steps",
                 "/api/runs", "/api/find?text=key"):  # fmt: skip
        assert secret not in asked.get(path).text, path


def test_text_that_utf8_cannot_say_and_numbers_that_json_lacks_are_sent(tmp_path):
    store = tmp_path / "runs.db"
    state = {"text": "half of a pair: \ud83d", "number": float("nan"), "large": 10**30, "nul": "\0"}
    with agent_tt.record("odd", store=store) as recorded, recorded.step("a", state=state):
        pass
    asked = client(store)
    (run,) = asked.get("/api/runs").json()["runs"]
    answer = asked.get(f"/api/runs/{run['id']}/states/1")
    assert answer.status_code == 200
    with closing(agent_tt.open_source(store)) as source:
        assert answer.json()["value"] == source.state(run["id"], 1)


def test_a_million_characters_are_no_id(tmp_path):
    store = tmp_path / "runs.db"
    store.write_bytes(SAMPLES.read_bytes())
    with serving(store, tmp_path) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as wire:
            head = f" HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
            wire.sendall(b"GET /api/runs/" + b"x" * 1_000_000 + head.encode())
            assert wire.recv(64).startswith(b"HTTP/1.1 422")
        with asking(address) as asked:
            assert asked.get("/health").json() == {"status": "ok"}
            assert len(asked.get("/api/runs").json()["runs"]) == 4
    assert HOST  # the port of servers in this process
