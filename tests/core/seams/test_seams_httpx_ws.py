"""`httpx-ws`: recorded as its parser has it, and its sessions read the recording with their own threads and tasks."""

from __future__ import annotations

import asyncio
import queue
from typing import TYPE_CHECKING, Any

import httpx
import httpx_ws
import pytest
from httpx_ws import aconnect_ws, connect_ws
from tests.core.seams.runs import recorded, replayed

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.runs import Kept
    from tests.core.seams.talking import Talking

    Twice = Callable[[Callable[[], Any]], Kept]


def test_messages_of_every_shape_come_again(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aconnect_ws(echo.url + "/chat", subprotocols=["chat"]) as session:
            await session.send_text("greet")
            seen: list[Any] = [await session.receive_text(), await session.receive_text()]
            seen.append(await session.receive_bytes())
            await session.send_json({"a": "é" * 70_000})
            seen.append(await session.receive_json())
            await session.send_bytes(b"\x00\xff")
            seen.append(await session.receive_bytes())
            await (await session.ping()).wait()
            return seen, session.subprotocol, session.response and session.response.status_code

    kept = twice_echoed(agent)
    host = echo.url.removeprefix("ws://")
    assert [call.name for call, _ in kept.calls] == [f"GET ws://{host}/chat", *[f"SEND ws://{host}/chat"] * 3]
    assert kept.calls[3][0].args["binary"] is True
    assert kept.calls[0][1][1].data == {"text": "hello"}


def test_messages_of_threads_come_again(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        seen: list[Any] = []
        with httpx.Client() as client, connect_ws(echo.url, client) as session:
            session.send_text("greet")
            seen += [session.receive_text(), session.receive_text(), session.receive_bytes()]
            session.ping().wait()
            session.send_text("silence")
            with pytest.raises(queue.Empty):
                session.receive(timeout=0.3)
            session.send_text("leave")
            with pytest.raises(httpx_ws.WebSocketDisconnect) as ended:
                session.receive()
        return seen, ended.value.code, ended.value.reason

    kept = twice_echoed(agent)
    assert {"close": 4001, "reason": "enough"} in [piece.data for piece in kept.calls[0][1]]


def test_a_connection_ends_as_it_ended(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        seen: list[Any] = []
        async with aconnect_ws(echo.url) as session:
            await session.send_text("leave")
            with pytest.raises(httpx_ws.WebSocketDisconnect) as ended:
                await session.receive_text()
            seen += [ended.value.code, ended.value.reason]
        async with aconnect_ws(echo.url) as session:
            await session.send_text("drop")
            with pytest.raises(httpx_ws.WebSocketNetworkError) as broken:
                await session.receive_text()
            seen.append(type(broken.value))
        return seen

    twice_echoed(agent)


def test_nothing_comes_before_its_deadline(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aconnect_ws(echo.url, keepalive_ping_interval_seconds=None) as session:
            await session.send_text("silence")
            with pytest.raises(TimeoutError):
                await session.receive(timeout=0.1)
            await session.send_text("after")
            return await session.receive_text()

    twice_echoed(agent)


def test_connecting_fails_as_it_failed(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        with pytest.raises(httpx_ws.WebSocketUpgradeError) as refused, connect_ws(echo.url + "/forbidden"):
            pass
        with pytest.raises(httpx.ConnectError) as nobody, connect_ws("ws://127.0.0.1:1"):
            pass
        return refused.value.response.status_code, dict(refused.value.response.headers), str(nobody.value)

    kept = twice_echoed(agent)
    assert [call.status for call, _ in kept.calls] == ["ok", "error"]
    assert kept.calls[0][0].result["body"] == "not you\n"


def test_connecting_fails_as_it_failed_in_a_task(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        with pytest.raises(httpx_ws.WebSocketUpgradeError) as refused:
            async with aconnect_ws(echo.url + "/forbidden"):
                pass
        with pytest.raises(httpx.ConnectError) as nobody:
            async with aconnect_ws("ws://127.0.0.1:1"):
                pass
        return refused.value.response.status_code, type(nobody.value)

    twice_echoed(agent)


def test_two_talk_beside_one_another(echo: Talking, twice_echoed: Twice):
    async def one(name: str) -> Any:
        async with httpx.AsyncClient() as client, aconnect_ws(echo.url + "/" + name, client) as session:
            seen = []
            for number in range(3):
                await session.send_text(f"{name} {number}")
                seen.append(await session.receive_text())
            return seen

    async def agent() -> Any:
        return await asyncio.gather(one("a"), one("b"))

    twice_echoed(agent)


def test_another_message_is_a_divergence_at_that_message(echo: Talking, tmp_path: Path):
    words = ["first", "second"]

    def agent() -> Any:
        with connect_ws(echo.url) as session:
            for word in words:
                session.send_text(word)
                session.receive_text()

    _, kept = recorded(agent, tmp_path / "runs.db")
    words[1] = "other"
    with pytest.raises(Divergence, match=r"SEND .* is asked something else than was recorded: body"):
        replayed(agent, kept)
    assert echo.heard == ["first", "second"]
