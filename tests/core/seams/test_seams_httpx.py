"""httpx and httpx2 used directly: what lies below every SDK."""

from __future__ import annotations

import asyncio
import io
import threading
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
from tests.core.seams.certificates import certificate
from tests.core.seams.loopback import Loopback
from tests.core.seams.runs import Kept, recorded, replayed

import agent_tt
from agent_tt.errors import StoreUnreadable
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Twice = Callable[[Callable[[], Any]], Kept]

both = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


def facts(response: Any) -> list[Any]:
    return [
        response.status_code,
        response.headers.raw,
        response.http_version,
        response.reason_phrase,
        response.content,
        [str(earlier.url) for earlier in response.history],
    ]


@both
def test_answers_of_every_shape(server: Loopback, twice: Twice, library: Any):
    def agent() -> Any:
        seen: list[Any] = []
        with library.Client(follow_redirects=True) as client:
            paths = ("/echo?a=1&b=", "/gzip", "/redirect", "/empty", "/until-close")
            seen += [facts(client.get(server.url + path)) for path in paths]
            seen += [facts(client.head(server.url + "/echo")), sorted(client.cookies)]
            with client.stream("GET", server.url + "/gzip-stream") as response:
                seen.append(list(response.iter_raw()))
            with client.stream("GET", server.url + "/gzip-stream") as response:
                seen.append(list(response.iter_lines()))
        return seen

    kept = twice(agent)
    gzipped = next(call for call, _ in kept.calls if call.name.endswith("/gzip"))
    assert gzipped.result["body"].startswith("zzz")


@both
def test_bodies_of_every_shape(server: Loopback, twice: Twice, library: Any):
    def agent() -> Any:
        with library.Client() as client:
            post = lambda **options: facts(client.post(server.url + "/echo", **options))  # noqa: E731
            return [
                post(json={"a": [1, 1.0, True]}),
                post(data={"b": "2", "a": "1"}),
                post(content=b"\x00\xff"),
                post(content="text"),
                post(content=iter([b"in ", b"pieces"])),
                post(files={"file": ("a.txt", io.BytesIO(b"data"))}, data={"k": "v"}),
            ]

    bodies = [call.args["body"] for call, _ in twice(agent).calls]
    assert bodies[:2] == [{"a": [1, 1.0, True]}, [["a", "1"], ["b", "2"]]]
    assert bodies[3:5] == ["text", "in pieces"]
    assert [part["disposition"] for part in bodies[5]] == [
        'form-data; name="k"',
        'form-data; name="file"; filename="a.txt"',
    ]


@both
def test_async_answers(server: Loopback, twice: Twice, library: Any):
    async def agent() -> Any:
        async with library.AsyncClient() as client:

            async def pieces() -> Any:
                for piece in (b"a", b"b"):
                    yield piece

            seen = [facts(await client.post(server.url + "/echo", content=pieces()))]
            async with client.stream("GET", server.url + "/stream") as response:
                seen.append([piece async for piece in response.aiter_raw()])
            return seen

    twice(agent)


@both
def test_the_first_of_several_answers_is_the_first_again(server: Loopback, tmp_path: Path, library: Any):
    async def agent() -> Any:
        async with library.AsyncClient() as client:

            async def ask(name: str) -> Any:
                return (await client.get(f"{server.url}/echo?{name}")).json()["id"]

            return [await answer for answer in asyncio.as_completed([ask(str(index)) for index in range(8)])]

    order, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    for _ in range(3):
        assert replayed(agent, kept) == order


@both
def test_threads_each_get_their_own_answer(server: Loopback, twice: Twice, library: Any):
    def agent() -> Any:
        answers: dict[int, Any] = {}

        def ask(number: int) -> None:
            with library.Client() as client:
                answers[number] = [client.get(server.url + "/echo").json()["id"] for _ in range(3)]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    assert len(twice(agent).calls) == 12


@both
def test_a_generator_that_is_dropped_ends_the_exchange(server: Loopback, twice: Twice, library: Any):
    def agent() -> Any:
        with library.Client() as client, client.stream("GET", server.url + "/stream") as response:
            pieces = response.iter_raw()
            first = next(pieces)
            pieces.close()
            return first

    ((_, pieces),) = twice(agent).calls
    assert pieces[-1].kind == "closed"


@both
def test_transports_of_the_agents_own_stay_live(server: Loopback, tmp_path: Path, library: Any):
    asked: list[str] = []

    def answer(request: Any) -> Any:
        asked.append(str(request.url))
        return library.Response(200, text="mine")

    def agent() -> Any:
        with library.Client(transport=library.MockTransport(answer)) as client:
            return client.get("http://nowhere/").text

    first, kept = recorded(agent, tmp_path / "runs.db")
    assert (first, kept.calls) == ("mine", [])
    assert replayed(agent, kept) == "mine"
    assert len(asked) == 2


@both
def test_subclasses_mounts_and_clients_that_exist_already_are_caught(server: Loopback, twice: Twice, library: Any):
    class Transport(library.HTTPTransport):  # type: ignore[misc, name-defined]
        def handle_request(self, request: Any) -> Any:
            request.headers["x-mine"] = "1"
            return super().handle_request(request)

    with library.Client(mounts={"http://": Transport()}) as client:
        kept = twice(lambda: facts(client.get(server.url + "/echo")))
    assert kept.calls[0][0].meta["headers"]["x-mine"] == "1"


@both
def test_https(tmp_path: Path, library: Any):
    context, trusted = certificate()
    server = Loopback(context)

    def agent() -> Any:
        with library.Client(verify=trusted) as client:
            return facts(client.get(server.url + "/echo")), facts(client.get(server.url + "/stream"))

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
    finally:
        server.stop()
    assert replayed(agent, kept) == first


@both
def test_a_certificate_that_is_not_trusted(tmp_path: Path, library: Any):
    server = Loopback(certificate()[0])

    def agent() -> Any:
        with library.Client() as client, pytest.raises(library.ConnectError) as info:
            client.get(server.url + "/echo")
        return str(info.value), type(info.value.__cause__)

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
    finally:
        server.stop()
    assert replayed(agent, kept) == first


@both
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_proxy(tmp_path: Path, library: Any, secure: bool):
    context, trusted = certificate() if secure else (None, True)
    server, proxy = Loopback(context), Loopback()

    def agent() -> Any:
        with library.Client(proxy=proxy.url, verify=trusted) as client:
            return facts(client.get(server.url + "/echo"))

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
    finally:
        server.stop()
        proxy.stop()
    assert proxy.tunnels == 1
    assert kept.calls[0][0].name == f"GET {server.url}/echo"
    assert replayed(agent, kept) == first


@both
@pytest.mark.parametrize("piece", [1, 2])
def test_a_store_that_fails_ends_the_request(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: Any, piece: int
):
    given: list[Any] = []

    def gave(call: RecordedCall, data: Any) -> None:
        given.append(data)
        if len(given) == piece:
            raise StoreUnreadable("full")

    monkeypatch.setattr(RecordedCall, "gave", gave)
    with agent_tt.record("x", store=tmp_path / "runs.db", on_store_error="stop"), library.Client() as client:
        with pytest.raises(StoreUnreadable):
            client.get(server.url + "/echo")
        assert client.get(server.url + "/echo").status_code == 200


def test_two_recordings_in_a_row_and_requests_outside_them(server: Loopback, tmp_path: Path):
    def agent() -> Any:
        return httpx2.get(server.url + "/echo").json()["id"]

    agent()
    _, one = recorded(agent, tmp_path / "one.db")
    agent()
    _, two = recorded(lambda: (agent(), agent()), tmp_path / "two.db")
    agent()
    assert (len(one.calls), len(two.calls)) == (1, 2)


def test_a_connection_that_changed_its_protocol_is_not_served(server: Loopback, tmp_path: Path):
    def agent() -> Any:
        wanted = {"connection": "upgrade", "upgrade": "websocket"}
        with httpx2.stream("GET", server.url + "/upgrade", headers=wanted) as response:
            return response.status_code

    first, kept = recorded(agent, tmp_path / "runs.db")
    assert first == 101
    with pytest.raises(Divergence, match="a WebSocket was opened"):
        replayed(agent, kept)


def test_more_headers_count_where_a_run_says_so(server: Loopback, tmp_path: Path):
    def ask(tenant: str) -> str:
        with httpx2.Client(headers={"X-Tenant": tenant, "X-Trace": tenant}) as client:
            return client.get(server.url + "/echo").json()["id"]

    store = tmp_path / "runs.db"
    with agent_tt.record("one", store=store, headers=["X-Tenant"]):
        first = ask("a")
    kept = Kept(store)
    assert kept.calls[0][0].args["headers"]["x-tenant"] == "a"
    assert "x-trace" not in kept.calls[0][0].args["headers"]
    assert replayed(lambda: ask("a"), kept) == first
    with pytest.raises(Divergence) as info:
        replayed(lambda: ask("b"), kept)
    assert info.value.finding.kind == "changed request"


def test_a_project_says_which_headers_count(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt]\nheaders = ["x-tenant"]\n')
    monkeypatch.chdir(tmp_path)
    with agent_tt.record("one", store=tmp_path / "runs.db"), httpx2.Client() as client:
        client.get(server.url + "/echo", headers={"X-Tenant": "a"})
    assert Kept(tmp_path / "runs.db").calls[0][0].args["headers"]["x-tenant"] == "a"
