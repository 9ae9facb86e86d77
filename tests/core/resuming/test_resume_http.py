"""Programs that speak HTTP go on: what was answered is served, what was in flight is sent again or asked about."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.served_in_thread import served

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.resuming import Happened
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.warm("httpx")

AGENT = """
import os, sys
import httpx

port, method = sys.argv[1:]
with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"pid": str(os.getpid())}, trust_env=False) as client:
    total = sum(client.request(method, f"/{n}").json()["n"] for n in range(5))
with open("total", "w") as file:
    file.write(str(total))
"""


class Server(ThreadingHTTPServer):
    """Answers `{"n": …}`; the first that asks for 3 is killed when it has asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hits: Counter[str] = Counter()
        self.keys: defaultdict[str, list[str | None]] = defaultdict(list)

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever was killed does not take its answer."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        self.server.hits[self.path] += 1
        self.server.keys[self.path].append(self.headers["idempotency-key"])
        if self.path == "/3" and self.server.hits[self.path] == 1:
            os.kill(int(self.headers["pid"]), signal.SIGKILL)
            return
        body = b'{"n": %d}' % int(self.path[1:])
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


@pytest.fixture
def server() -> Iterator[Server]:
    with served(Server()) as server:
        yield server


def broken_off(folder: Path, server: Server, method: str, agent: str = AGENT) -> Path:
    (folder / "agent.py").write_text(agent)
    store = folder / "runs.db"
    command = [sys.executable, "agent.py", str(server.server_port), method]
    done = subprocess.run(
        [sys.executable, "-m", "agent_tt_tui", "record", "--store", str(store), "--", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    assert server.hits == {"/0": 1, "/1": 1, "/2": 1, "/3": 1}
    return store


def check_done(store: Path, server: Server) -> None:
    assert server.hits == {"/0": 1, "/1": 1, "/2": 1, "/3": 2, "/4": 1}
    assert (store.parent / "total").read_text() == "10"
    report = agent_tt.replay("latest", store=store, timeout=PATIENCE_SECONDS)
    assert report.is_faithful, report.divergences
    assert server.hits.total() == 6


def test_a_request_that_only_reads_is_sent_again(tmp_path: Path, server: Server):
    store = broken_off(tmp_path, server, "GET")
    assert agent_tt.resume("latest", store=store).result().status == "succeeded"
    check_done(store, server)


def test_a_request_that_may_write_is_asked_about(tmp_path: Path, server: Server):
    store = broken_off(tmp_path, server, "POST")
    with pytest.raises(UsageError, match=r"whether POST http://127.0.0.1:\d+/3 happened"):
        agent_tt.resume("latest", store=store)
    with pytest.raises(UsageError, match="cannot be given by hand"):
        agent_tt.resume("latest", store=store, in_flight=lambda call: Happened())
    assert agent_tt.resume("latest", store=store, in_flight=lambda call: None).result().status == "succeeded"
    check_done(store, server)
    with closing(open_store(store, read_only=True)) as opened:
        run = opened.run("latest")
        calls = [call for step in opened.steps(run.id) for call in opened.calls(run.id, step.number)]
        assert [call.status for call in calls] == ["ok", "ok", "ok", "pending", "ok", "ok"]


STREAMS = """
import os, signal, sys
import httpx

text = b""
with httpx.Client(base_url=f"http://127.0.0.1:{sys.argv[1]}", trust_env=False) as client:
    for n in range(3):
        with client.stream("GET", f"/{n}") as response:
            for chunk in response.iter_raw(4):
                text += chunk
                if n == 1 and not os.path.exists("broke off"):
                    open("broke off", "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)
with open("total", "wb") as file:
    file.write(text)
"""


def test_a_half_received_body_is_asked_for_again(tmp_path: Path, server: Server):
    (tmp_path / "agent.py").write_text(STREAMS)
    store = tmp_path / "runs.db"
    command = [sys.executable, "agent.py", str(server.server_port)]
    record = [sys.executable, "-m", "agent_tt_tui", "record", "--store", str(store), "--", *command]
    done = subprocess.run(record, cwd=tmp_path, capture_output=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 128 + signal.SIGKILL
    assert agent_tt.resume("latest", store=store).result().status == "succeeded"
    assert (tmp_path / "total").read_bytes() == b'{"n": 0}{"n": 1}{"n": 2}'
    assert server.hits == {"/0": 1, "/1": 2, "/2": 1}
    report = agent_tt.replay("latest", store=store, timeout=PATIENCE_SECONDS)
    assert report.is_faithful, report.divergences
    assert (report.served, server.hits.total()) == (3, 4)


KEYED = """
import os, sys, uuid

port, how = sys.argv[1:]
url = f"http://127.0.0.1:{port}"


def headers():
    return {"Idempotency-Key": str(uuid.uuid4()), "pid": str(os.getpid())}


def plain(send):
    return sum(send(n) for n in range(5))


if how == "httpx":
    import httpx
    with httpx.Client(trust_env=False) as client:
        total = plain(lambda n: client.post(f"{url}/{n}", headers=headers()).json()["n"])
elif how == "requests":
    import requests
    with requests.Session() as session:
        session.trust_env = False
        total = plain(lambda n: session.post(f"{url}/{n}", headers=headers()).json()["n"])
else:
    import asyncio

    async def work():
        if how == "aiohttp":
            import aiohttp
            async with aiohttp.ClientSession() as session:
                async def send(n):
                    async with session.post(f"{url}/{n}", headers=headers()) as response:
                        return (await response.json(content_type=None))["n"]
                return sum([await send(n) for n in range(5)])
        import httpx
        async with httpx.AsyncClient(trust_env=False) as client:
            return sum([(await client.post(f"{url}/{n}", headers=headers())).json()["n"] for n in range(5)])

    total = asyncio.run(work())
with open("total", "w") as file:
    file.write(str(total))
"""


@pytest.mark.parametrize("how", ["httpx", "async httpx", "requests", "aiohttp"])
def test_a_request_with_an_idempotency_key_is_sent_again_with_the_same_key(tmp_path: Path, server: Server, how: str):
    pytest.importorskip(how.rpartition(" ")[2])
    store = broken_off(tmp_path, server, how, KEYED)
    assert agent_tt.resume("latest", store=store).result().status == "succeeded"
    check_done(store, server)
    assert {path: len(set(keys)) for path, keys in server.keys.items()} == {f"/{n}": 1 for n in range(5)}
    assert [len(server.keys[f"/{n}"]) for n in range(5)] == [1, 1, 1, 2, 1]
