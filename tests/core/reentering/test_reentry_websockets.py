"""A WebSocket that was open where a fork begins: it is served up to there, and lost where more is wanted of it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.reentering.support import Project
from tests.core.seams.talking import Talking, echoing
from tests.core.seams.test_seams_openai_websockets import responses

import agent_tt
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.warm("httpx_ws", "websocket", "websockets.legacy.client", "websockets.sync.client")

CLIENTS = {
    "websockets": """
from websockets.exceptions import ConnectionClosed as Lost
from websockets.sync.client import connect

say, hear, close = (lambda each, word: each.send(word)), (lambda each: each.recv()), (lambda each: each.close())
""",
    "websocket-client": """
from websocket import create_connection

connect, Lost = create_connection, OSError
say, hear, close = (lambda each, word: each.send(word)), (lambda each: each.recv()), (lambda each: each.close())
""",
    "httpx-ws": """
from httpx_ws import WebSocketNetworkError as Lost, connect_ws

opened = []


def connect(url):
    opened.append(connect_ws(url))
    return opened[-1].__enter__()


def close(session):
    for each in opened:
        each.__exit__(None, None, None)


say, hear = (lambda each, word: each.send_text(word)), (lambda each: each.receive_text())
""",
    "websockets.legacy": """
import asyncio

from websockets.legacy.client import connect as connecting
from websockets.legacy.exceptions import *
from websockets.exceptions import ConnectionClosed as Lost

loop = asyncio.new_event_loop()


async def opened(url):
    return await connecting(url)


def connect(url):
    return loop.run_until_complete(opened(url))


def say(each, word):
    loop.run_until_complete(each.send(word))


def hear(each):
    return loop.run_until_complete(each.recv())


def close(each):
    loop.run_until_complete(each.close())
""",
}
"""How each client does it."""

CHAT = """
import os
import signal

import agent_tt

state = {"heard": [], "lost": []}
with agent_tt.record("chat", state=state) as run:
    connection = connect(URL)
    for n in range(4):
        with run.step("say"):
            try:
                say(connection, f"word {n}")
            except Lost as error:
                while error.__cause__ is not None:
                    error = error.__cause__
                state["lost"].append(str(error))
                connection = connect(URL)
                say(connection, f"again {n}")
            state["heard"].append(hear(connection))
            if n == 1 and os.path.exists("kill"):
                os.unlink("kill")
                os.kill(os.getpid(), signal.SIGKILL)
    close(connection)
"""
"""One connection that is opened before the first step of its loop, and used in each."""


@pytest.fixture
def echo() -> Iterator[Talking]:
    server = Talking(echoing)
    yield server
    server.stop()


def source(echo: Talking, client: str = "websockets") -> str:
    return (CLIENTS[client] + CHAT).replace("URL", repr(echo.url))


def test_what_is_sent_after_the_step_is_denied_and_goes_nowhere(echo: Talking, tmp_path: Path):
    project = Project(tmp_path)
    run = project.record(source(echo))
    assert echo.heard == [f"word {n}" for n in range(4)]
    fork = project.forked("chat", 3)
    assert (fork.status, fork.error is not None and fork.error.short.partition(":")[0]) == ("failed", "ToolDenied")
    assert len(echo.heard) == 4
    assert echo.count == 1
    assert run.steps == 5  # connecting is a step of its own, and over when that is done
    project.check_replay(fork)


def test_a_connection_is_lost_where_the_fork_goes_on(echo: Talking, tmp_path: Path):
    project = Project(tmp_path)
    project.record(source(echo))
    fork = project.forked("chat", 3, policy={"SEND *": "live"})
    state: Any = project.state(fork)
    assert fork.status == "succeeded", fork.error
    assert state["heard"] == ["word 0", "word 1", "again 2", "word 3"]
    assert "opened in the recording" in state["lost"][0]
    assert echo.heard[4:] == ["again 2", "word 3"]
    echo.stop()
    for _ in range(8):  # no deadline of the library comes while a thread of ours is about to give it an answer
        project.check_replay(fork)


def test_a_run_that_broke_off_while_connected_is_not_resumed_but_forked(echo: Talking, tmp_path: Path):
    project = Project(tmp_path)
    project.write(source(echo))
    project.put("kill", "")
    project.run(exit_code=-signal.SIGKILL)
    with pytest.raises(UsageError, match=r"broke off while it was connected to ws://127.0.0.1"):
        agent_tt.resume("chat", store=project.store_path)
    fork = project.forked("chat", 2, policy={"SEND *": "live"})
    assert fork.status == "succeeded", fork.error
    assert echo.heard == ["word 0", "word 1", "again 1", "word 2", "word 3"]


AIOHTTP = """
import asyncio

import agent_tt
import aiohttp

state = {"heard": []}


async def main():
    async with aiohttp.ClientSession() as session, session.ws_connect(URL) as connection:
        for n in range(4):
            with run.step("say"):
                await connection.send_str(f"word {n}")
                state["heard"].append(await connection.receive_str())


with agent_tt.record("chat", state=state) as run:
    asyncio.run(main())
"""


def test_what_is_sent_through_aiohttp_after_the_step_goes_nowhere(echo: Talking, tmp_path: Path):
    project = Project(tmp_path)
    run = project.record(AIOHTTP.replace("URL", repr(echo.url)))
    assert project.state(run) == {"heard": [f"word {n}" for n in range(4)]}
    denied = project.forked("chat", 3)
    assert denied.error is not None
    assert denied.error.short.startswith("ToolDenied")
    lost = project.forked("chat", 3, policy={"SEND *": "live"})
    assert lost.status == "failed"
    assert lost.error is not None
    assert "Cannot write to closing transport" in lost.error.message
    assert echo.heard == [f"word {n}" for n in range(4)]
    assert echo.count == 1
    project.check_replay(denied)


ASKS = """
import agent_tt
import openai

state = {"said": []}
with agent_tt.record("asks", state=state) as run:
    client = openai.OpenAI(api_key="none", base_url=URL.replace("ws:", "http:"), websocket_base_url=URL)
    with client.responses.connect() as connection:
        with run.step("ask"):
            connection.response.create(model="gpt-5", input="Where is order 7?")
            for event in connection:
                if event.type == "response.completed":
                    state["said"].append(event.response.output_text)
                    break
"""


def test_the_answer_of_a_model_over_a_websocket_is_edited(tmp_path: Path):
    server = Talking(responses)
    try:
        project = Project(tmp_path)
        run = project.record(ASKS.replace("URL", repr(server.url)))
    finally:
        server.stop()
    assert project.state(run) == {"said": ["It is on its way."]}
    fork = project.forked("asks", answers={"2": "It is lost."})
    assert (fork.status, project.state(fork)) == ("succeeded", {"said": ["It is lost."]}), fork.error
    assert server.count == 1
    project.check_replay(fork)


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "websockets"])
def test_other_clients_are_held_and_lose_their_connection(echo: Talking, tmp_path: Path, client: str):
    project = Project(tmp_path)
    project.record(source(echo, client))
    denied = project.forked("chat", 3)
    assert (denied.status, denied.error is not None and denied.error.short.partition(":")[0]) == (
        "failed",
        "ToolDenied",
    )
    assert echo.heard == [f"word {n}" for n in range(4)]
    fork = project.forked("chat", 3, policy={"SEND *": "live"})
    state: Any = project.state(fork)
    assert fork.status == "succeeded", fork.error
    assert state["heard"] == ["word 0", "word 1", "again 2", "word 3"]
    assert "opened in the recording" in state["lost"][0]
    assert echo.heard[4:] == ["again 2", "word 3"]
    echo.stop()
    project.check_replay(fork)
