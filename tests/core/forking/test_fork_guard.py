"""The guard of a fork in real processes: every client that a call knows gets through, and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.core.web_server import OPENAI_ANSWER, Web, serving

import agent_tt
from agent_tt.forking.outside.ledger import effects_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project


@pytest.fixture
def web() -> Iterator[Web]:
    with serving(OPENAI_ANSWER) as server:
        yield server


CLIENTS = """\
import asyncio, atexit, multiprocessing, os, sys
import aiohttp, httpx, openai, requests
from langgraph.graph import END, START, StateGraph
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from typing import TypedDict
import agent_tt

KEYS = {"api_key": "none", "max_retries": 0}
ASKED = {"model": "m", "messages": [{"role": "user", "content": "may I?"}]}

class Both(TypedDict):
    a: int
    b: int

def ways(url, local):
    async def openai_async():
        async with openai.AsyncOpenAI(base_url=url + "/v1", **KEYS) as client:
            return (await client.chat.completions.create(**ASKED)).choices[0].message.content

    async def aiohttp_tasks():
        async def get(session):
            async with session.get(local + "/aiohttp") as response:
                return response.status
        async with aiohttp.ClientSession() as session:
            return list(await asyncio.gather(get(session), get(session)))

    async def mcp():
        server = StdioServerParameters(command=sys.executable, args=["server.py"])
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [tool.name for tool in (await session.list_tools()).tools]

    def graph():
        made = StateGraph(Both)
        made.add_node("first", lambda _: {"a": httpx.get(url + "/graph").status_code})
        made.add_node("second", lambda _: {"b": requests.get(url + "/graph").status_code})
        for node in ("first", "second"):
            made.add_edge(START, node)
            made.add_edge(node, END)
        return made.compile().invoke({"a": 0, "b": 0})

    def pool():
        with multiprocessing.get_context("fork").Pool(1) as workers:
            return workers.map(abs, [-1])

    yield "openai", lambda: openai.OpenAI(base_url=url + "/v1", **KEYS).chat.completions.create(**ASKED).id
    yield "openai async", lambda: asyncio.run(openai_async())
    yield "requests", lambda: requests.get(url + "/requests").status_code
    yield "to_thread", lambda: asyncio.run(asyncio.to_thread(httpx.get, url + "/thread")).status_code
    yield "aiohttp", lambda: asyncio.run(aiohttp_tasks())
    yield "mcp", lambda: asyncio.run(mcp())
    yield "langgraph", graph
    yield "pool", pool
    yield "post", lambda: requests.post(url + "/charge").status_code

def main(state=None):
    url, local = (f"http://{host}:{state['port']}" for host in ("127.1", "localhost"))  # 127.1 has to be looked up
    atexit.register(os.system, "touch late")
    httpx.get(url + "/before")
    with agent_tt.record("clients", state=state) as run, run.step("all"):
        for name, way in ways(url, local):
            try:
                state[name] = way()
            except agent_tt.errors.ToolDenied as denied:
                state[name] = denied.tool
"""

SERVER = """\
from mcp.server.mcpserver import MCPServer
served = MCPServer("one")

@served.tool()
def add(a: int) -> int:
    return a

served.run()
"""


def test_every_client_gets_through_in_whatever_task_or_thread(project: Project, web: Web) -> None:
    for library in ("aiohttp", "langgraph", "mcp.server.mcpserver", "openai", "requests"):
        pytest.importorskip(library)
    project.put("clients.py", CLIENTS)
    project.put("server.py", SERVER)
    handle = project.fork(project.made("clients:main", {"port": web.server_port}), 0)
    assert handle.result().status == "succeeded", handle.output()
    state = project.state(handle, 1)
    assert state == {
        "port": web.server_port,
        "openai": "1",
        "openai async": "30",
        "requests": 200,
        "to_thread": 200,
        "aiohttp": [200, 200],
        "mcp": ["add"],
        "langgraph": {"a": 200, "b": 200},
        "pool": [1],
        "post": f"POST http://127.1:{web.server_port}/charge",
    }
    gets = ["/before", "/requests", "/thread", "/aiohttp", "/aiohttp", "/graph", "/graph"]
    posts = ["POST /v1/chat/completions"] * 2
    assert sorted(web.asked) == sorted([*(f"GET {path}" for path in gets), *posts])
    assert {call.status for call in project.store.calls(handle.run_id, 1)} == {"ok", "denied"}
    assert not (project.folder / "late").exists(), "what runs at the exit is guarded too"
    ledger = effects_of(project.store, project.store.run(handle.run_id))
    outside = [(row.name, row.happened, row.where) for row in ledger.rows if row.where]
    assert outside == [("subprocess touch", "denied", "after")]
    assert ledger.reads[f"GET http://127.1:{web.server_port}/before"] == 1


LOOP = """\
import os, smtplib, socket, sys
import agent_tt

@agent_tt.tool(effect="read")
def price(n):
    return 10 * n

def reach(n):
    try:
        host, port = sys.argv[1].removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as made:
            made.sendall(f"GET /{n} HTTP/1.0\\r\\n\\r\\n".encode())
            return int(made.makefile().readline().split()[1])
    except agent_tt.errors.ToolDenied as denied:
        return denied.tool.partition(" ")[0]

state = {"seen": []}
with agent_tt.record("shop", state=state) as run:
    for n in (1, 2, 3):
        with run.step("look"):
            state["seen"].append(price(n))
            if n > 1:
                state["seen"].append(reach(n))
"""


def test_what_was_denied_is_denied_again_where_the_fork_is_forked_and_replayed(project: Project, web: Web) -> None:
    project.put("agent.py", LOOP)
    run = project.record("agent.py", web.url)
    assert web.asked == ["GET /2", "GET /3"]
    web.forget()
    child = project.fork(run, 1, by="replay")
    assert child.result().status == "succeeded"
    assert project.state(child, 3) == {"seen": [10, 20, "socket", 30, "socket"]}
    grandchild = project.fork(child.run_id, 2, by="replay")
    assert grandchild.result().status == "succeeded", grandchild.output()
    assert project.state(grandchild, 3) == project.state(child, 3)
    for handle in (child, grandchild):
        report = agent_tt.replay(handle.run_id, store=project.store_path)
        assert report.is_faithful, report
    assert web.asked == []
