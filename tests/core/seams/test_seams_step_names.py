"""What steps are called that hold one request: those of runs whose agent names steps, and sends it outside of them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import httpx

import agent_tt
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.core.seams.loopback import Loopback


def test_a_request_outside_any_step_is_named_for_people(server: Loopback, tmp_path: Path) -> None:
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    with agent_tt.record("agent", store=tmp_path / "runs.db") as run, httpx.Client(base_url=server.url) as client:
        client.get("/echo?key=secret")
        client.post("/v1/chat/completions", json=asked)
        with run.step("named"):
            client.get("/echo")
    with closing(open_store(tmp_path / "runs.db")) as store:
        names = [step.name for step in store.steps(run.id)]
        (call,) = store.calls(run.id, 1)
    host = server.url.removeprefix("http://")
    assert names == [f"GET {host}/echo", "gpt-4o", "named"]
    assert call.name == f"GET {server.url}/echo"
