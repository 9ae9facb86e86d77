"""`websockets.legacy`: frames are recorded as it reads them, and it reads the recording by its own reader.

What it does as the newer client does is in `test_seams_websockets.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.core.seams.talking import legacy
from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Callable

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
