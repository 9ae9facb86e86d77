"""Live events: what is sent of a run that is recorded, and that nobody who comes back misses anything."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.serving.asking import FLAKY, SAMPLES
from tests.core.serving.rest.served import asking, client, serving

import agent_tt

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

pytestmark = pytest.mark.warm("fastapi.testclient", "pydantic")


STEPPING = """
import sys
import agent_tt

state = {"n": 0}
with agent_tt.record("live", state=state, store=sys.argv[1]) as run:
    print(run.id, flush=True)
    for _ in sys.stdin:
        with run.step("count", state):
            state["n"] += 1
"""


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, str | None, Any]]:
    """The events of a stream: name, id, data."""
    name, number = "", None
    for line in lines:
        key, _, value = line.partition(": ")
        if key == "event":
            name = value
        elif key == "id":
            number = value
        elif key == "data":
            yield name, number, json.loads(value)
            name, number = "", None


def test_a_run_that_is_over_is_sent_whole_and_the_stream_ends():
    asked = client(SAMPLES)
    (run,) = asked.get("/api/runs", params={"name": FLAKY}).json()["runs"]
    steps = asked.get(f"/api/runs/{run['id']}/steps").json()["steps"]
    for last in (0, 4, 10):
        answer = asked.get(f"/api/runs/{run['id']}/events", headers={"Last-Event-ID": str(last)} if last else {})
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = list(events_of(iter(answer.text.splitlines())))
        assert [data for name, _, data in events if name == "step"] == steps[last:]
        assert [number for name, number, _ in events if name == "step"] == [str(at + 1) for at in range(last, 10)]
        assert events[-2:] == [("run", None, run), ("end", None, {"run": run["id"], "status": "succeeded"})]


@pytest.mark.parametrize("last", ["x", "-1", "1 or 1=1", "9" * 30])
def test_an_event_id_that_is_none_is_malformed(last):
    asked = client(SAMPLES)
    (run,) = asked.get("/api/runs", params={"name": FLAKY}).json()["runs"]
    assert asked.get(f"/api/runs/{run['id']}/events", headers={"Last-Event-ID": last}).status_code == 422
    assert asked.get("/api/runs/none/events").status_code == 404


def test_each_step_is_sent_when_it_is_over_and_who_comes_back_misses_none(tmp_path):
    store = tmp_path / "runs.db"
    with agent_tt.record("before", store=store):
        pass
    with serving(store, tmp_path) as address, asking(address) as asked, asked.stream("GET", "/api/events") as all_runs:
        of_all = events_of(all_runs.iter_lines())
        name, mark, listed = next(of_all)
        assert (name, [run["name"] for run in listed["runs"]]) == ("runs", ["before"])
        with subprocess.Popen(
            [sys.executable, "-c", STEPPING, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as agent:
            assert agent.stdin is not None
            assert agent.stdout is not None
            run = agent.stdout.readline().strip()
            assert next(data for name, _, data in of_all if name == "run")["name"] == "live"
            seen: list[int] = []
            for turn in range(3):
                print(file=agent.stdin, flush=True)
                headers = {"Last-Event-ID": str(seen[-1])} if seen else {}
                with asked.stream("GET", f"/api/runs/{run}/events", headers=headers) as stream:
                    _, number, step = next(each for each in events_of(stream.iter_lines()) if each[0] == "step")
                    seen.append(int(number or 0))
                    assert step["step"] == turn + 1
            agent.stdin.close()
            with asked.stream("GET", f"/api/runs/{run}/events", headers={"Last-Event-ID": "3"}) as stream:
                told = [(name, number) for name, number, _ in events_of(stream.iter_lines())]
            assert {*told} == {("run", None), ("end", None)}
            assert told[-1] == ("end", None)
        assert seen == [1, 2, 3]
        *_, (_, last, _) = (each for each in _until_seen(of_all))
        assert last != mark


def _until_seen(events: Iterator[tuple[str, str | None, Any]]) -> Iterator[tuple[str, str | None, Any]]:
    for event in events:
        yield event
        if event[0] == "seen":
            return


def test_the_server_ends_while_streams_are_open(tmp_path):
    store = tmp_path / "runs.db"
    store.write_bytes(SAMPLES.read_bytes())
    with serving(store, tmp_path) as address:
        asked: httpx.Client = asking(address)
        opened = asked.send(asked.build_request("GET", "/api/events"), stream=True)
        assert next(events_of(opened.iter_lines()))[0] == "runs"
    opened.close()
    asked.close()
