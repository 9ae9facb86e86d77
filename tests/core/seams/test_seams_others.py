"""Libraries that arrive at the same seams: google-genai, and MCP over HTTP."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.seams.runs import recorded, replayed

import agent_tt
from agent_tt.errors import ToolDenied
from agent_tt.forking.under_terms import links_of_run
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.rules import read_rule
from agent_tt.model import NewFork, NewRun
from agent_tt.recording.session import SESSION
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.core.seams.loopback import Loopback
    from tests.core.seams.runs import Kept

    Twice = Callable[[Callable[[], Any]], Kept]


def test_google_genai(server: Loopback, twice: Twice):
    genai = pytest.importorskip("google.genai")

    def client() -> Any:
        return genai.Client(api_key="secret-key", http_options={"base_url": server.url})

    def agent() -> Any:
        asking = client()
        seen = [asking.models.generate_content(model="gemini-x", contents="hi").model_dump()]
        stream = asking.models.generate_content_stream(model="gemini-x", contents="hi")
        seen += [piece.model_dump() for piece in stream]
        asking.close()
        return seen

    kept = twice(agent)
    assert [call.kind for call, _ in kept.calls] == ["llm", "llm"]
    assert "secret-key" not in str(kept.calls)


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")  # it comes through aiohttp
def test_google_genai_async(server: Loopback, twice: Twice):
    genai = pytest.importorskip("google.genai")

    async def agent() -> Any:
        asking = genai.Client(api_key="secret-key", http_options={"base_url": server.url})
        seen = [(await asking.aio.models.generate_content(model="gemini-x", contents="hi")).model_dump()]
        stream = await asking.aio.models.generate_content_stream(model="gemini-x", contents="hi")
        seen += [piece.model_dump() async for piece in stream]
        await asking.aio.aclose()
        return seen

    twice(agent)


@pytest.fixture
def mcp_server() -> Iterator[tuple[str, list[int], Callable[[], None]]]:
    """A server with one tool whose answers differ each time, its calls, and how to stop it."""
    uvicorn = pytest.importorskip("uvicorn")
    mcpserver = pytest.importorskip("mcp.server.mcpserver")
    made = mcpserver.MCPServer("adding")
    calls: list[int] = []

    @made.tool()
    def add(a: int, b: int) -> int:
        calls.append(1)
        return a + b + 100 * len(calls)

    config = uvicorn.Config(made.streamable_http_app(), host="127.0.0.1", port=0, log_level="error", ws="none")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        thread.join(0.01)

    def stop() -> None:
        running.should_exit = True
        thread.join(10)

    port = running.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/mcp", calls, stop
    stop()


def test_mcp_over_http(mcp_server: tuple[str, list[int], Callable[[], None]], tmp_path: Path):
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    url, calls, stop = mcp_server

    async def agent() -> Any:
        async with streamable_http_client(url) as streams, ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = await session.list_tools()
            answers = [await session.call_tool("add", {"a": number, "b": 2}) for number in range(3)]
            return [tool.name for tool in tools.tools], [answer.model_dump() for answer in answers]

    first, kept = recorded(agent, tmp_path / "runs.db")
    stop()
    for _ in range(3):
        assert replayed(agent, kept) == first
    assert len(calls) == 3


MCP_PROCESS = """
import pathlib, sys
from mcp.server.mcpserver import Context, MCPServer

made, calls = MCPServer("adding"), pathlib.Path(sys.argv[1])

@made.tool()
async def add(a: int, b: int, context: Context) -> int:
    with calls.open("a") as file:
        file.write("x")
    await context.report_progress(1, 2, "halfway")
    return a + b + 100 * len(calls.read_text())

made.run("stdio")
"""


def test_mcp_through_a_process(tmp_path: Path):
    mcp = pytest.importorskip("mcp")
    script, calls = tmp_path / "server.py", tmp_path / "calls"
    script.write_text(MCP_PROCESS)

    async def agent() -> Any:
        server = mcp.StdioServerParameters(command=sys.executable, args=[str(script), str(calls)])
        seen: list[Any] = []

        async def progress(*facts: Any) -> None:
            seen.append(facts)

        async with mcp.stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()

            async def add(a: int) -> Any:
                answer = await session.call_tool("add", {"a": a, "b": 2}, progress_callback=progress)
                return answer.model_dump()

            answers = [await add(1), *await asyncio.gather(add(1), add(1), add(2))]
            return [tool.name for tool in tools.tools], answers, seen

    first, kept = recorded(agent, tmp_path / "runs.db")
    assert calls.read_text() == "xxxx"
    asked = [(call.kind, call.name, call.effect) for call, _ in kept.calls]
    assert asked.count(("tool", "add", "write")) == 4
    script.unlink()
    for _ in range(3):
        assert replayed(agent, kept) == first
    assert calls.read_text() == "xxxx"


def test_an_mcp_server_that_is_not_there(tmp_path: Path):
    mcp = pytest.importorskip("mcp")

    async def agent() -> Any:
        with pytest.raises(FileNotFoundError) as info:
            async with mcp.stdio_client(mcp.StdioServerParameters(command=str(tmp_path / "nothing"))):
                pass
        return str(info.value), info.value.errno

    first, kept = recorded(agent, tmp_path / "runs.db")
    assert replayed(agent, kept) == first


def test_a_fork_denies_what_an_mcp_server_may_change_or_answers_for_it(tmp_path: Path):
    mcp = pytest.importorskip("mcp")
    script, calls = tmp_path / "server.py", tmp_path / "calls"
    script.write_text(MCP_PROCESS)

    async def agent() -> Any:
        server = mcp.StdioServerParameters(command=sys.executable, args=[str(script), str(calls)])
        async with mcp.stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
            await session.initialize()
            answers = [await session.call_tool("add", {"a": number, "b": 2}) for number in (1, 2)]
            names = [tool.name for tool in (await session.list_tools()).tools]
            if is_fork:
                with pytest.raises(ToolDenied, match="drop was not run"):
                    await session.call_tool("drop", {})
            return [answer.content[0].text for answer in answers], names

    is_fork = False
    first, _ = recorded(agent, tmp_path / "runs.db")
    is_fork = True
    assert (first, calls.read_text()) == ((["103", "204"], ["add"]), "xx")
    with closing(open_store(tmp_path / "runs.db")) as store:
        fork = store.run(store.begin_fork(NewFork(store.run("latest").id, 0, state={}, new=NewRun(name=""))))
        SESSION.start(*links_of_run(store, store, fork, ToolPolicy((("add", read_rule("recorded")),))))
        try:
            with agent_tt.record("fork"):
                assert asyncio.run(agent()) == (["103", "204"], ["add"])
        finally:
            SESSION.start()
    assert calls.read_text() == "xx"
