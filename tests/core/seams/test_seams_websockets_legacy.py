"""`websockets.legacy`: frames are recorded as it reads them, and it reads the recording by its own reader."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.seams.runs import recorded, replayed
from tests.core.seams.talking import legacy
from websockets.exceptions import ConnectionClosed

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.runs import Kept
    from tests.core.seams.talking import Talking

    Twice = Callable[[Callable[[], Any]], Kept]


def test_messages_of_every_shape_come_again(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with legacy.connect(echo.url + "/chat", extra_headers={"X-Agent": "7"}) as connection:
            await connection.send("greet")
            seen = [await connection.recv(), await connection.recv(), await connection.recv()]
            await connection.send(b"bytes")
            await connection.send(["in ", "pieces"])
            seen += [await connection.recv(), await connection.recv()]
            await (await connection.ping())
            await connection.send("leave")
            seen += [message async for message in until_closed(connection)]
        return seen, connection.close_code, connection.close_reason, connection.response_headers["Connection"]

    kept = twice_echoed(agent)
    host = echo.url.removeprefix("ws://")
    assert [call.name for call, _ in kept.calls] == [f"GET ws://{host}/chat", *[f"SEND ws://{host}/chat"] * 5]
    assert {"text": "you", "more": True} in [piece.data for piece in kept.calls[0][1]]
    assert {"close": 4001, "reason": "enough"} in [piece.data for piece in kept.calls[0][1]]


async def until_closed(connection: Any) -> Any:
    try:
        async for message in connection:
            yield message
    except ConnectionClosed as error:
        yield str(error)


@pytest.mark.parametrize("word", ["leave", "drop"])
def test_a_connection_ends_as_it_ended(echo: Talking, twice_echoed: Twice, word: str):
    async def agent() -> Any:
        connection = await legacy.connect(echo.url)
        await connection.send(word)
        with pytest.raises(ConnectionClosed) as ended:
            await connection.recv()
        with pytest.raises(ConnectionClosed) as unsent:
            await connection.send("more")
        return str(ended.value), str(unsent.value), connection.close_code

    twice_echoed(agent)


def test_nothing_comes_before_its_deadline(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with legacy.connect(echo.url) as connection:
            await connection.send("silence")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(connection.recv(), 0.05)
            await connection.send("after")
            return await connection.recv()

    twice_echoed(agent)


def test_connecting_fails_or_is_sent_elsewhere_as_it_was(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        with pytest.raises(legacy.InvalidStatusCode) as refused:
            await legacy.connect(echo.url + "/forbidden")
        with pytest.raises(OSError, match="Connect call failed"):
            await legacy.connect("ws://127.0.0.1:1")
        async with legacy.connect(echo.url + "/moved", subprotocols=["chat"]) as connection:
            await connection.send("there")
            return refused.value.status_code, dict(refused.value.headers), await connection.recv()

    kept = twice_echoed(agent)
    assert [call.status for call, _ in kept.calls[:3]] == ["ok", "error", "ok"]


def test_a_new_connection_is_made_where_one_was_dropped(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        seen: list[Any] = []
        async for connection in legacy.connect(echo.url):
            with contextlib.suppress(ConnectionClosed):
                await connection.send("drop" if not seen else "again")
                seen.append("open")
                return [*seen, await connection.recv()]
        return seen

    twice_echoed(agent)


def test_another_message_is_a_divergence_at_that_message(echo: Talking, tmp_path: Path):
    words = ["first", "second"]

    async def agent() -> Any:
        async with legacy.connect(echo.url) as connection:
            for word in words:
                await connection.send(word)
                await connection.recv()

    _, kept = recorded(agent, tmp_path / "runs.db")
    words[1] = "other"
    with pytest.raises(Divergence, match=r"SEND .* is asked something else than was recorded: body"):
        replayed(agent, kept)
    assert echo.heard == ["first", "second"]
