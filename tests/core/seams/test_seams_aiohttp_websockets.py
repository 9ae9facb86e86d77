"""WebSockets of aiohttp: recorded as its parser has them, and its own connections read the recording."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from tests.core.seams.runs import recorded, replayed

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.runs import Kept
    from tests.core.seams.talking import Talking

    Twice = Callable[[Callable[[], Any]], Kept]


async def heard(connection: aiohttp.ClientWebSocketResponse[Any], count: int) -> list[tuple[str, Any]]:
    messages = [await connection.receive() for _ in range(count)]
    return [(message.type.name, message.data) for message in messages]


@pytest.mark.parametrize("compress", [0, 15])
def test_aiohttp_messages_of_every_shape_come_again(echo: Talking, twice_echoed: Twice, compress: int):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url, compress=compress) as connection:
            await connection.send_str("greet")
            seen = await heard(connection, 3)
            await connection.send_json({"a": "é" * 70_000})
            await connection.send_bytes(b"\x00\xff")
            await connection.ping(b"are you there")
            seen += await heard(connection, 2)
            status = connection._response.status
        return seen, connection.close_code, connection.closed, connection.compress, status

    kept = twice_echoed(agent)
    host = echo.url.removeprefix("ws://")
    assert [call.name for call, _ in kept.calls] == [f"GET ws://{host}/", *[f"SEND ws://{host}/"] * 3]
    pieces = kept.calls[0][1]
    assert [piece.data for piece in pieces[1:4]] == [
        {"text": "hello"},
        {"text": "you there"},
        {"bytes": {"$type": "bytes", "$v": "AP8="}},
    ]
    assert pieces[-1].kind == "closed"
    assert kept.calls[3][0].args["binary"] is True


def test_an_aiohttp_agent_that_answers_pings_itself_gets_them_again(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url, autoping=False) as connection:
            await connection.send_str("ping")
            seen = await heard(connection, 2)
            await connection.pong(b"you?")
            await connection.ping(b"and you?")
            return seen + await heard(connection, 1)

    kept = twice_echoed(agent)
    assert {"ping": "you?"} in [piece.data for piece in kept.calls[0][1]]


@pytest.mark.parametrize("word", ["leave", "drop"])
def test_an_aiohttp_connection_ends_as_it_ended(echo: Talking, twice_echoed: Twice, word: str):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url) as connection:
            await connection.send_str(word)
            seen = await heard(connection, 2)
            with pytest.raises(ConnectionResetError) as unsent:
                await connection.send_str("more")
            return seen, connection.close_code, str(unsent.value), repr(connection.exception())

    kept = twice_echoed(agent)
    if word == "leave":
        assert {"close": 4001, "reason": "enough"} in [piece.data for piece in kept.calls[0][1]]


def test_aiohttp_messages_that_a_server_says_at_once_and_leaves_are_all_read(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url + "/brief") as connection:
            return [message.data async for message in connection], connection.close_code

    kept = twice_echoed(agent)
    assert {"text": "and good bye"} in [piece.data for piece in kept.calls[0][1]]


def test_an_aiohttp_message_that_is_too_long_fails_again(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url, max_msg_size=100) as connection:
            await connection.send_str("long" * 100)
            [(kind, error)] = await heard(connection, 1)
            return kind, str(error), connection.close_code

    kept = twice_echoed(agent)
    assert kept.calls[0][1][-1].kind == "error"


def test_aiohttp_fails_to_connect_as_it_failed(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(echo.url + "/forbidden")
            with pytest.raises(aiohttp.ClientConnectorError) as unreached:
                await session.ws_connect("ws://127.0.0.1:1")
        return refused.value.status, dict(refused.value.headers or {}), str(unreached.value)

    kept = twice_echoed(agent)
    assert [call.status for call, _ in kept.calls] == ["ok", "error"]


def test_aiohttp_is_sent_elsewhere_as_it_was(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url + "/moved") as connection:
            await connection.send_str("here")
            return await connection.receive_str(), connection._response.url.path

    kept = twice_echoed(agent)
    assert [(call.status, call.result["status"]) for call, _ in kept.calls[:2]] == [("ok", 302), ("ok", 101)]


def test_aiohttp_waits_no_longer_than_it_waited(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url) as connection:
            await connection.send_str("silence")
            with contextlib.suppress(TimeoutError):
                await connection.receive(timeout=0.05)
            return connection.close_code

    twice_echoed(agent)


def test_an_aiohttp_connection_is_closed_by_another_task(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        seen: list[Any] = []
        async with aiohttp.ClientSession() as session:
            connection = await session.ws_connect(echo.url)

            async def listen() -> None:
                seen.extend([message.data async for message in connection])

            listening = asyncio.create_task(listen())
            for number in range(3):
                await connection.send_str(f"word {number}")
            await asyncio.sleep(0.1)
            await connection.close(code=4000, message=b"done")
            await listening
        return seen, connection.close_code

    twice_echoed(agent)


def test_another_aiohttp_message_is_a_divergence(echo: Talking, tmp_path: Path):
    words = ["first", "second"]

    async def agent() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(echo.url) as connection:
            for word in words:
                await connection.send_str(word)
                await connection.receive()

    _, kept = recorded(agent, tmp_path / "runs.db")
    words[1] = "other"
    with pytest.raises(Divergence, match=r"SEND .* is asked something else than was recorded: body"):
        replayed(agent, kept)
    assert echo.heard == ["first", "second"]


def test_aiohttp_goes_on_with_requests_over_the_same_session(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:
            with contextlib.suppress(aiohttp.WSServerHandshakeError):
                await session.ws_connect(echo.url + "/forbidden")
            async with session.get(echo.url.replace("ws:", "http:") + "/forbidden") as response:
                return response.status, await response.text()

    kept = twice_echoed(agent)
    assert kept.calls[1][0].result["body"] == "not you\n"
