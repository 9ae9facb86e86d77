"""Many clients at once, while runs are recorded, forked and sent: all are answered truly, and memory is bounded."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest
from tests.core.interop.test_otlp import genai, request
from tests.core.serving.asking import FLAKY
from tests.core.serving.rest.served import BEARER, asking, serving
from tests.core.serving.rest.test_rest_traces import wait_for
from tests.patience import PATIENCE_SECONDS

from agent_tt import samples

if TYPE_CHECKING:
    from pathlib import Path

CLIENTS = 50
EACH = 12
MOST_GROWTH = 192 << 20
"""Bytes of memory that the server may grow by: eight times what it takes when it has answered each question once."""

RECORDING = """
import sys
import agent_tt

state = {"log": []}
with agent_tt.record("meanwhile", state=state, store=sys.argv[1]) as run:
    for number in range(200):
        with run.step("work", state):
            state["log"].append({"number": number, "text": "x" * 200})
"""


def test_fifty_clients_are_answered_truly_while_runs_are_recorded_and_forked(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "runs.db"
    for name in (FLAKY, "refund-loop"):
        samples.ensure(name, store)
    with serving(store, tmp_path, "--allow-forks", "--max-running", "4") as address, asking(address) as asked:
        server = _listening(int(address.rpartition(":")[2]))
        run = asked.get("/api/runs", params={"name": FLAKY}).json()["runs"][0]["id"]
        paths = [
            *("/api/runs", f"/api/runs/{run}", f"/api/runs/{run}/steps", f"/api/runs/{run}/effects"),
            *(f"/api/runs/{run}/states/{step}" for step in (0, 3, 10)),
            *(f"/api/diff?a={run}@5&b={run}@6", f"/api/traces/{run}/checkpoints", "/api/runs/none", "/api/store"),
        ]
        once = {path: asked.get(path) for path in paths}
        unchanging = {path: answer.content for path, answer in once.items() if path not in ("/api/runs", "/api/store")}
        before = server.memory_info().rss
        with subprocess.Popen([sys.executable, "-c", RECORDING, str(store)]) as agent:
            forks = [
                asked.post(f"/api/runs/{run}/forks", json={"at": 9, "dry_run": False, "name": f"f{number}"})
                for number in range(3)
            ]
            wrong: list[Any] = []
            threads = [
                threading.Thread(target=_client, args=(address, number, paths, unchanging, wrong))
                for number in range(CLIENTS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE_SECONDS)
            assert wrong == []
            assert agent.wait(PATIENCE_SECONDS) == 0
        assert [answer.status_code for answer in forks] == [201] * 3
        for answer in forks:
            fork = f"/api/runs/{answer.json()['id']}"
            wait_for(lambda fork=fork: asked.get(fork).json()["status"] != "running")
            assert asked.get(fork).json()["status"] == "succeeded"
        (meanwhile,) = asked.get("/api/runs", params={"name": "meanwhile"}).json()["runs"]
        assert (meanwhile["status"], meanwhile["steps"]) == ("succeeded", 200)
        wait_for(lambda: not any(each["waiting"] for each in asked.get("/api/received").json()["traces"]))
        received = asked.get("/api/received").json()["traces"]
        assert len(received) == CLIENTS
        assert all(each["over"] for each in received)
        grown = server.memory_info().rss - before
        print(f"the server grew by {grown >> 20} MB")
        assert grown < MOST_GROWTH
        verified = asked.post("/api/source/verify", json={})
        assert verified.json() == {"value": []}


def _client(address: str, number: int, paths: list[str], same: dict[str, bytes], wrong: list[Any]) -> None:
    """One client: what never changes has to be the same each time; its trace has to be taken."""
    with httpx.Client(base_url=address, headers=BEARER, timeout=PATIENCE_SECONDS, trust_env=False) as asked:
        for turn in range(EACH):
            path = paths[(number + turn) % len(paths)]
            answer = asked.get(path)
            if answer.status_code != (404 if path == "/api/runs/none" else 200):
                wrong.append((path, answer.status_code, answer.text[:200]))
            elif path in same and answer.content != same[path]:
                wrong.append((path, "is another answer"))
        spans = [each | {"traceId": f"{number + 1:032x}"} for each in genai()]
        for each in spans:
            sent = asked.post("/v1/traces", json=request([each]))
            if (sent.status_code, sent.json()) != (200, {}):
                wrong.append(("/v1/traces", sent.status_code, sent.text[:200]))


def _listening(port: int) -> psutil.Process:
    """The process that listens on a port."""
    (found,) = [
        each
        for each in psutil.Process().children()
        if any(one.laddr.port == port for one in each.net_connections(kind="tcp") if one.status == "LISTEN")
    ]
    return found


@pytest.mark.parametrize("kept", [1, 3])
def test_a_client_that_sends_nothing_keeps_nobody_out(tmp_path: Path, kept: int) -> None:
    import socket

    store = tmp_path / "runs.db"
    samples.ensure(FLAKY, store)
    with serving(store, tmp_path) as address:
        port = int(address.rpartition(":")[2])
        body = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(kept * 20)]
        for each in idle:
            each.sendall(body if kept == 3 else b"GET /")
        with asking(address) as asked:
            assert asked.get("/api/runs").status_code == 200
        for each in idle:
            each.close()
