"""aiohttp: recorded below its parser, which reads a recording as it reads a connection."""

from __future__ import annotations

import asyncio
import io
import threading
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from tests.core.seams.certificates import certificate
from tests.core.seams.loopback import Loopback
from tests.core.seams.runs import recorded, replayed

import agent_tt
from agent_tt.replaying.block import served
from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.runs import Kept

    Twice = Callable[[Callable[[], Any]], Kept]


async def facts(response: aiohttp.ClientResponse) -> list[Any]:
    return [
        response.status,
        response.raw_headers,
        response.reason,
        response.version,
        await response.read(),
        [str(earlier.url) for earlier in response.history],
    ]


def test_answers_of_every_shape(server: Loopback, twice: Twice):
    async def agent() -> Any:
        seen: list[Any] = []
        async with aiohttp.ClientSession() as session:
            for path in ("/echo?a=1", "/gzip", "/redirect", "/empty", "/until-close", "/stream", "/gzip-stream"):
                async with session.get(server.url + path) as response:
                    seen.append(await facts(response))
            async with session.head(server.url + "/echo") as response:
                seen.append(await facts(response))
            async with session.get(server.url + "/stream") as response:
                seen.append([line async for line in response.content.iter_chunked(9)])
        return seen

    kept = twice(agent)
    assert {pieces[-1].kind for _, pieces in kept.calls} == {"end"}
    results = {call.name.rpartition("/")[2]: call.result for call, _ in kept.calls}
    assert results["gzip"]["body"].startswith("zzz")
    assert results["stream"]["body"].startswith("part ")


def test_bodies_of_every_shape(server: Loopback, twice: Twice):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:

            async def post(**options: Any) -> Any:
                async with session.post(server.url + "/echo", **options) as response:
                    return await facts(response)

            async def pieces() -> Any:
                for piece in (b"in ", b"pieces"):
                    yield piece

            form = aiohttp.FormData()
            form.add_field("k", "v")
            form.add_field("file", io.BytesIO(b"data"), filename="a.txt")
            return [
                await post(json={"a": [1, 1.0, True]}),
                await post(data={"b": "2", "a": "1"}),
                await post(data=b"\x00\xff"),
                await post(data=pieces()),
                await post(data=io.BytesIO(b"a file")),
                await post(data=form),
            ]

    bodies = [call.args["body"] for call, _ in twice(agent).calls]
    assert bodies[:2] == [{"a": [1, 1.0, True]}, [["a", "1"], ["b", "2"]]]
    assert bodies[3:5] == ["in pieces", "a file"]
    assert [part["disposition"].split(";")[1] for part in bodies[5]] == [' name="k"', ' name="file"']
    assert [body for _, _, body in server.seen][3:5] == [b"in pieces", b"a file"]


def test_a_consumer_that_stops_early(server: Loopback, twice: Twice):
    server.taken = threading.Semaphore(3)

    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:
            async with session.get(server.url + "/stream") as response:
                first = await response.content.readexactly(12)
            server.taken = None
            async with session.get(server.url + "/echo") as response:
                return first, await response.text()

    kept = twice(agent)
    assert [pieces[-1].kind for _, pieces in kept.calls] == ["closed", "end"]


def test_a_response_that_is_closed_unread(server: Loopback, twice: Twice):
    server.taken = threading.Semaphore(3)

    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:
            response = await session.get(server.url + "/stream")
            response.close()
            return response.status

    assert twice(agent).calls[0][1][-1].kind == "closed"


def test_reading_further_than_was_recorded_is_refused(server: Loopback, tmp_path: Path):
    server.taken = threading.Semaphore(3)

    async def agent(size: int) -> Any:
        async with aiohttp.ClientSession() as session, session.get(server.url + "/stream") as response:
            return await response.content.readexactly(size)

    async def few() -> Any:
        return await agent(12)

    async def many() -> Any:
        return await agent(110)

    _, kept = recorded(few, tmp_path / "runs.db")
    with pytest.raises(Divergence, match="stopped reading here"):
        replayed(many, kept)


@pytest.mark.parametrize("probe", ["drop", "reset", "refuse", "hang"])
def test_connections_that_fail(server: Loopback, twice: Twice, probe: str):
    async def agent() -> Any:
        timeout = aiohttp.ClientTimeout(sock_read=0.1 if probe == "hang" else 20)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            try:
                async with session.post(server.url + "/stream", headers={"x-probe": probe}) as response:
                    await response.read()
            except Exception as error:
                cause = error.__cause__
                return type(error), str(error), type(cause), type(cause and cause.__context__)

    twice(agent)


def test_a_timeout_between_two_pieces(server: Loopback, twice: Twice):
    server.taken = threading.Semaphore(3)

    async def agent() -> Any:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(sock_read=0.1)) as session:
            seen: list[Any] = []
            async with session.get(server.url + "/stream") as response:
                try:
                    seen.append(await response.read())
                except Exception as error:
                    seen += [type(error), str(error)]
            return seen

    twice(agent)


def test_a_task_that_is_cancelled_while_it_reads(server: Loopback, twice: Twice):
    server.taken = threading.Semaphore(3)

    async def agent() -> Any:
        taken = bytearray()
        has_some = asyncio.Event()

        async def read(session: aiohttp.ClientSession) -> None:
            async with session.get(server.url + "/stream") as response:
                while True:
                    taken.extend(await response.content.readexactly(5))
                    has_some.set()

        async with aiohttp.ClientSession() as session:
            reading = asyncio.create_task(read(session))
            await has_some.wait()
            reading.cancel()
            (outcome,) = await asyncio.gather(reading, return_exceptions=True)
            return taken[:5], type(outcome)

    twice(agent)


def test_a_connection_that_changed_its_protocol_is_not_served(server: Loopback, tmp_path: Path):
    async def agent() -> Any:
        wanted = {"Connection": "upgrade", "Upgrade": "websocket"}
        async with aiohttp.ClientSession() as session, session.get(server.url + "/upgrade", headers=wanted) as response:
            return response.status

    first, kept = recorded(agent, tmp_path / "runs.db")
    assert first == 101
    with pytest.raises(Divergence, match="a WebSocket was opened"):
        replayed(agent, kept)


def test_nobody_there(server: Loopback, twice: Twice):
    server.stop()

    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorError) as info:
                await session.get(server.url + "/echo")
            return str(info.value), info.value.host, info.value.port, type(info.value.os_error)

    ((call, pieces),) = twice(agent).calls
    assert (call.status, pieces) == ("error", [])


def test_https(tmp_path: Path):
    context, trusted = certificate()
    server = Loopback(context)

    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:
            seen: list[Any] = []
            for path in ("/echo", "/stream"):
                async with session.get(server.url + path, ssl=trusted) as response:
                    seen.append(await facts(response))
            with pytest.raises(aiohttp.ClientConnectorCertificateError) as info:
                await session.get(server.url.replace("127.0.0.1", "localhost") + "/echo", ssl=trusted)
            return [*seen, type(info.value.certificate_error)]

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
    finally:
        server.stop()
    assert len(kept.calls) == 3
    assert replayed(agent, kept) == first


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_proxy(tmp_path: Path, secure: bool):
    context, trusted = certificate() if secure else (None, True)
    server, proxy = Loopback(context), Loopback()

    async def agent() -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.get(server.url + "/echo", proxy=proxy.url, ssl=trusted) as response,
        ):
            return await facts(response)

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
    finally:
        server.stop()
        proxy.stop()
    assert proxy.tunnels == 1
    assert [call.name for call, _ in kept.calls] == [f"GET {server.url}/echo"]
    assert replayed(agent, kept) == first


def test_one_session_serves_live_then_recorded_then_live(server: Loopback, tmp_path: Path):
    async def ask(session: aiohttp.ClientSession) -> Any:
        seen = []
        for _ in range(2):
            async with session.get(server.url + "/echo") as response:
                seen.append((await response.json())["id"])
        return seen

    async def everything() -> None:
        async with aiohttp.ClientSession() as session:
            before = await ask(session)
            with agent_tt.record("first", store=tmp_path / "runs.db"):
                first = await ask(session)
            between = await ask(session)
            with served("latest", store=tmp_path / "runs.db"):
                assert await ask(session) == first
            after = await ask(session)
        assert server.count == 8
        assert len({*before, *first, *between, *after}) == 8

    asyncio.run(everything())


def test_the_first_of_several_answers_is_the_first_again(server: Loopback, tmp_path: Path):
    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:

            async def ask(name: str) -> Any:
                async with session.get(f"{server.url}/echo?{name}") as response:
                    return (await response.json())["id"]

            return [await answer for answer in asyncio.as_completed([ask(str(index)) for index in range(8)])]

    order, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    for _ in range(3):
        assert replayed(agent, kept) == order
