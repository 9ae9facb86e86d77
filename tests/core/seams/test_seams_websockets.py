"""`websockets`: messages are recorded as its connections hear them, and its own connections read the recording."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest
import websockets.asyncio.client as asyncio_client
import websockets.sync.client as sync_client
from tests.core.seams.runs import recorded, replayed
from tests.core.seams.talking import legacy
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.core.seams.runs import Kept
    from tests.core.seams.talking import Talking

    Twice = Callable[[Callable[[], Any]], Kept]

BOTH = pytest.mark.parametrize("connect", [asyncio_client.connect, legacy.connect], ids=["asyncio", "legacy"])
"""The newer and the older client of asyncio."""


def test_messages_of_every_shape_come_again(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        async with asyncio_client.connect(echo.url + "/chat") as connection:
            await connection.send("greet")
            seen = [await connection.recv(), await connection.recv(), await connection.recv()]
            await connection.send({"a": 1}.__repr__())
            await connection.send(b"bytes")
            seen += [await connection.recv(), await connection.recv(decode=True)]
            await connection.send("greet")
            await connection.recv()
            seen.append([piece async for piece in connection.recv_streaming()])
            seen.append(await connection.recv(decode=False))
            await connection.send(iter(["in ", "pieces"]))
            seen.append(await connection.recv())
        return seen, connection.close_code, connection.response.status_code

    kept = twice_echoed(agent)
    host = echo.url.removeprefix("ws://")
    names = [call.name for call, _ in kept.calls]
    assert names == [f"GET ws://{host}/chat", *[f"SEND ws://{host}/chat"] * 6]
    pieces = kept.calls[0][1]
    assert [piece.data for piece in pieces[1:6]] == [
        {"text": "hello"},
        {"text": "you", "more": True},
        {"next": " there", "more": True},
        {"next": ""},
        {"bytes": {"$type": "bytes", "$v": "AP8="}},
    ]
    assert pieces[-1].kind == "end"
    assert kept.calls[2][0].args["body"] == "{'a': 1}"
    assert kept.calls[3][0].args["binary"] is True


def test_messages_of_threads_come_again(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        with sync_client.connect(echo.url) as connection:
            connection.send("greet")
            seen: list[Any] = [connection.recv(), list(connection.recv_streaming()), connection.recv()]
            connection.send(["in ", "pieces"])
            seen.append(connection.recv())
            connection.send("silence")
            with pytest.raises(TimeoutError):
                connection.recv(timeout=0.3)
            connection.send("leave")
            seen += list(connection_until_closed(connection))
        return seen, connection.close_code, connection.close_reason

    kept = twice_echoed(agent)
    assert kept.calls[0][1][-2].data == {"close": 4001, "reason": "enough"}


def connection_until_closed(connection: Any) -> Iterator[Any]:
    try:
        while True:
            yield connection.recv()
    except ConnectionClosed as error:
        yield str(error)


@pytest.mark.parametrize("word", ["leave", "drop"])
def test_a_connection_ends_as_it_ended(echo: Talking, twice_echoed: Twice, word: str):
    async def agent() -> Any:
        async with asyncio_client.connect(echo.url) as connection:
            await connection.send(word)
            with pytest.raises(ConnectionClosed) as ended:
                await connection.recv()
            with pytest.raises(ConnectionClosed) as unsent:
                await connection.send("more")
            return str(ended.value), str(unsent.value), connection.close_code

    twice_echoed(agent)


@BOTH
def test_nothing_comes_before_its_deadline(echo: Talking, twice_echoed: Twice, connect: Any):
    async def agent() -> Any:
        async with connect(echo.url) as connection:
            await connection.send("silence")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await connection.recv()
            await connection.send("after")
            return await connection.recv()

    twice_echoed(agent)


def test_connecting_fails_as_it_failed(echo: Talking, twice_echoed: Twice):
    async def agent() -> Any:
        with pytest.raises(InvalidStatus) as refused:
            await asyncio_client.connect(echo.url + "/forbidden")
        with pytest.raises(InvalidStatus) as refused_here:
            sync_client.connect(echo.url + "/forbidden")
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await asyncio_client.connect("ws://127.0.0.1:1")
        with pytest.raises(ConnectionRefusedError):
            sync_client.connect("ws://127.0.0.1:1")
        return refused.value.response.body, refused_here.value.response.status_code

    kept = twice_echoed(agent)
    assert [call.status for call, _ in kept.calls] == ["ok", "ok", "error", "error"]
    assert kept.calls[0][0].result["body"] == "not you\n"


def test_a_connection_that_is_left_open_stays_open(echo: Talking, tmp_path: Path):
    opened: list[Any] = []

    def agent() -> Any:
        opened.append(sync_client.connect(echo.url))
        opened[-1].send("first")
        return opened[-1].recv(), opened[-1].state.name

    first, kept = recorded(agent, tmp_path / "runs.db")
    opened[-1].close()
    assert [call.status for call, _ in kept.calls] == ["pending", "ok"]
    assert replayed(agent, kept) == first == ("first", "OPEN")
    opened[-1].close()
    assert echo.count == 1


@BOTH
def test_a_new_connection_is_made_where_one_was_dropped(echo: Talking, twice_echoed: Twice, connect: Any):
    async def agent() -> Any:
        seen: list[Any] = []
        async for connection in connect(echo.url):
            with contextlib.suppress(ConnectionClosed):
                await connection.send("drop" if not seen else "again")
                seen.append(connection.id is not None)
                return [*seen, await connection.recv()]
        return seen

    twice_echoed(agent)


def test_two_talk_beside_one_another(echo: Talking, twice_echoed: Twice):
    async def one(name: str) -> Any:
        async with asyncio_client.connect(echo.url + "/" + name) as connection:
            seen = []
            for number in range(3):
                await connection.send(f"{name} {number}")
                seen.append(await connection.recv())
            pong = await connection.ping()
            await pong
            return seen

    async def agent() -> Any:
        return await asyncio.gather(one("a"), one("b"))

    twice_echoed(agent)


@BOTH
def test_another_message_is_a_divergence_at_that_message(echo: Talking, tmp_path: Path, connect: Any):
    words = ["first", "second"]

    async def agent() -> Any:
        async with connect(echo.url) as connection:
            for word in words:
                await connection.send(word)
                await connection.recv()

    _, kept = recorded(agent, tmp_path / "runs.db")
    words[1] = "other"
    with pytest.raises(Divergence, match=r"SEND .* is asked something else than was recorded: body"):
        replayed(agent, kept)
    assert echo.heard == ["first", "second"]


def test_secrets_in_messages_are_not_kept(echo: Talking, tmp_path: Path):
    secret = "sk-" + "proj-" + "a1B2" * 10

    async def agent() -> Any:
        headers = {"Authorization": f"Bearer {secret}"}
        async with asyncio_client.connect(echo.url + f"?token={secret}", additional_headers=headers) as connection:
            await connection.send(f'{{"api_key": "{secret}"}}')
            return await connection.recv()

    answer, _ = recorded(agent, tmp_path / "runs.db")
    assert secret in answer
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()
