"""MCP over HTTP: a call of a tool is one row by the tool's name, as it is with a server that runs as a process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp import types
from pydantic import BaseModel
from tests.core.seams.runs import Kept, recorded, replayed
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import ToolDenied
from agent_tt.forking.under_terms import links_of_run
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.rules import read_rule
from agent_tt.model import NewFork, NewRun
from agent_tt.recording.calls.exchange import Asked, begin_exchange, requests_for
from agent_tt.recording.session import SESSION
from agent_tt.seams.mcp.mcp_streams import RecordedRead
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.core.seams.loopback import Loopback


@dataclass
class Tools:
    """A server of a tool that writes and of one that reads.

    Attributes:
        transport: how it is reached.
        url: where.
        charged: the arguments of each call of the tool that writes.
    """

    transport: str
    url: str = ""
    charged: list[int] = field(default_factory=list)
    stop: Callable[[], None] = lambda: None

    def connect(self) -> Any:
        if self.transport == "sse":
            from mcp.client.sse import sse_client

            return sse_client(self.url)
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(self.url)

    async def agent(self) -> list[str]:
        from mcp.client.session import ClientSession

        async with self.connect() as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            await session.list_tools()
            seen: list[str] = []

            async def progress(*facts: Any) -> None:
                seen.append(f"{facts[-1]}")

            for name, number in (("add", 1), ("add", 2), ("look", 1)):
                answer = await session.call_tool(name, {"number": number}, progress_callback=progress)
                seen.append(answer.content[0].text)
            return seen


class Confirmed(BaseModel):
    """What the server asks the client for, in the midst of a call."""

    word: str


@pytest.fixture(params=["streamable", "sse"])
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    uvicorn = pytest.importorskip("uvicorn")
    server = pytest.importorskip("mcp.server.mcpserver")
    types = pytest.importorskip("mcp.types")
    made, found = server.MCPServer("adding"), Tools(request.param)

    async def add(number: int, context: Any) -> str:
        found.charged.append(number)
        await context.report_progress(1, 2, f"halfway {len(found.charged)}")
        return str(number + 2 + 100 * len(found.charged))

    add.__annotations__ = {"number": int, "context": server.Context, "return": str}
    made.tool()(add)

    @made.tool(annotations=types.ToolAnnotations(readOnlyHint=True))
    def look(number: int) -> str:
        return f"found {number}"

    async def confirm(context: Any) -> str:
        answer = await context.elicit("Really?", Confirmed)
        return f"{answer.action}: {answer.data.word}"

    confirm.__annotations__ = {"context": server.Context, "return": str}
    made.tool()(confirm)

    app = made.sse_app() if found.transport == "sse" else made.streamable_http_app()
    running = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        thread.join(0.01)

    def stop() -> None:
        running.should_exit = True
        thread.join(10)

    port = running.servers[0].sockets[0].getsockname()[1]
    found.url = f"http://127.0.0.1:{port}/{'sse' if found.transport == 'sse' else 'mcp'}"
    found.stop = stop
    yield found
    stop()


def rows(kept: Kept) -> list[tuple[str, str, Any]]:
    return [(call.name, call.effect, call.args["params"]) for call, _ in kept.calls if call.kind == "tool"]


ROWS = [
    ("add", "write", {"name": "add", "arguments": {"number": 1}}),
    ("add", "write", {"name": "add", "arguments": {"number": 2}}),
    ("look", "read", {"name": "look", "arguments": {"number": 1}}),
]


def test_a_call_of_a_tool_is_one_row_and_is_replayed_without_the_server(tools: Tools, tmp_path: Path):
    first, kept = recorded(tools.agent, tmp_path / "runs.db")
    assert first == ["halfway 1", "103", "halfway 2", "204", "found 1"]
    assert rows(kept) == ROWS
    results = [call.result["result"]["content"][0]["text"] for call, _ in kept.calls if call.kind == "tool"]
    assert results == ["103", "204", "found 1"]
    assert not any("tools/call" in str(call.args) for call, _ in kept.calls if call.kind != "tool")
    tools.stop()
    for _ in range(5):
        assert replayed(tools.agent, kept) == first
    assert tools.charged == [1, 2]


def test_what_the_server_asks_during_a_call_the_agent_answers_again(tools: Tools, server: Loopback, tmp_path: Path):
    """The agent's answer is its own doing: its requests are calls beside that of the tool, in the recorded lanes."""
    from mcp.client.session import ClientSession

    asked = server.url + "/echo"

    async def agent() -> list[str]:
        async def confirm(_context: Any, _params: Any) -> Any:
            async with httpx2.AsyncClient() as client:
                word = (await client.get(asked)).json()["id"]
            return types.ElicitResult(action="accept", content={"word": word})

        async with (
            tools.connect() as (read, write),
            ClientSession(read, write, elicitation_callback=confirm) as session,
        ):
            await session.initialize()
            seen = [await session.call_tool("confirm", {}), await session.call_tool("add", {"number": 1})]
            seen += await asyncio.gather(*(session.call_tool("confirm", {}) for _ in range(2)))
            return [result.content[0].text for result in seen]

    first, kept = recorded(agent, tmp_path / "runs.db")
    assert first[0].startswith("accept: ")
    assert [call.name for call, _ in kept.calls].count(f"GET {asked}") == 3
    tools.stop()
    server.stop()
    for _ in range(5):
        assert replayed(agent, kept) == first


def test_a_reply_that_comes_once_more_after_the_client_has_left_breaks_nothing():
    """Where we answer, the client may leave before its transport has handed over the same reply."""
    import anyio

    class Silent:
        def received(self, _item: object) -> bool:
            return True

        def ended(self) -> None:
            pass

    async def leaves(*, reads: bool) -> None:
        send, receive = anyio.create_memory_object_stream[str](0)
        read = RecordedRead(receive, Silent(), asyncio.Queue())
        if reads:
            waiting = asyncio.ensure_future(read.receive())
            await asyncio.sleep(0)
            waiting.cancel()
        await read.aclose()
        with anyio.fail_after(PATIENCE_SECONDS):
            for word in ("reply", "later"):
                await send.send(word)
        read.left()
        await receive.aclose()
        await send.aclose()

    asyncio.run(leaves(reads=False))
    asyncio.run(leaves(reads=True))


def test_a_fork_denies_a_tool_that_writes_and_lets_the_session_be(tools: Tools, tmp_path: Path):
    from mcp.client.session import ClientSession

    recorded(tools.agent, tmp_path / "runs.db")

    async def agent() -> tuple[str, str]:
        async with tools.connect() as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            await session.list_tools()
            with pytest.raises(ToolDenied, match="add was not run") as denied:
                await session.call_tool("add", {"number": 7})
            return str(denied.value), (await session.call_tool("look", {"number": 5})).content[0].text

    with closing(open_store(tmp_path / "runs.db")) as store:
        fork = store.run(store.begin_fork(NewFork(store.run("latest").id, 0, state={}, new=NewRun(name=""))))
        SESSION.start(*links_of_run(store, store, fork, ToolPolicy((("*write", read_rule("deny")),))))
        try:
            with agent_tt.record("fork"):
                assert asyncio.run(agent())[1] == "found 5"
        finally:
            SESSION.start()
    assert tools.charged == [1, 2]


@pytest.mark.parametrize("word", ["live", "deny"])
def test_a_request_that_sends_a_call_is_no_call_but_may_be_denied_by_its_own_name(tmp_path: Path, word: str):
    with agent_tt.record("first", store=tmp_path / "runs.db"):
        pass
    asked = Asked("http", "POST http://127.0.0.1/mcp", {}, "0" * 64)
    with closing(open_store(tmp_path / "runs.db")) as store:
        fork = store.run(store.begin_fork(NewFork(store.run("latest").id, 0, state={}, new=NewRun(name=""))))
        policy = ToolPolicy((("POST http://127.0.0.1/mcp", read_rule(word)),))
        SESSION.start(*links_of_run(store, store, fork, policy))
        try:
            with agent_tt.record("fork"), requests_for("a call"):
                if word == "live":
                    assert begin_exchange(asked) is None
                else:
                    with pytest.raises(ToolDenied, match=r"POST http://127\.0\.0\.1/mcp"):
                        begin_exchange(asked)
        finally:
            SESSION.start()
    assert not Kept(tmp_path / "runs.db").calls


AGENT = """
import asyncio, os, signal, sys
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client as client

async def main():
    async with client(sys.argv[1]) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        for number in (1, 2, 3):
            answer = await session.call_tool("add", {"number": number})
            if number == 2 and not os.path.exists("broke off"):
                open("broke off", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            with open("answers", "a") as file:
                file.write(answer.content[0].text + " ")

asyncio.run(main())
"""


@pytest.mark.warm
@pytest.mark.parametrize("tools", ["streamable"], indirect=True)
def test_a_run_that_was_killed_goes_on_without_a_second_write(tools: Tools, tmp_path: Path):
    (tmp_path / "agent.py").write_text(AGENT)
    store = tmp_path / "runs.db"
    command = [sys.executable, "-m", "agent_tt_tui", "record", "--store", str(store), "--"]
    command += [sys.executable, "agent.py", tools.url]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    assert tools.charged == [1, 2]
    assert agent_tt.resume("latest", store=store, redo_unrecorded=True).result().status == "succeeded"
    assert tools.charged == [1, 2, 3]
    assert (tmp_path / "answers").read_text().split()[-3:] == ["103", "204", "305"]
    tools.stop()
    report = agent_tt.replay("latest", store=store, timeout=PATIENCE_SECONDS)
    assert report.is_faithful, report.divergences
    assert tools.charged == [1, 2, 3]
