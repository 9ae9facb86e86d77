"""requests, and urllib3 used directly: recorded at the connection, parsed again by themselves."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any

import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from tests.core.seams.certificates import certificate, certificate_files
from tests.core.seams.loopback import Loopback
from tests.core.seams.runs import recorded, replayed
from urllib3.connection import HTTPConnection
from urllib3.util import Retry

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.runs import Kept

    Twice = Callable[[Callable[[], Any]], Kept]


def facts(response: requests.Response) -> list[Any]:
    return [
        response.status_code,
        dict(response.headers),
        response.reason,
        response.raw.version,
        response.content,
        [earlier.url for earlier in response.history],
    ]


def test_answers_of_every_shape(server: Loopback, twice: Twice):
    def agent() -> Any:
        with requests.Session() as session:
            paths = ("/echo?a=1", "/gzip", "/redirect", "/empty", "/until-close", "/stream", "/gzip-stream")
            seen: list[Any] = [facts(session.get(server.url + path)) for path in paths]
            seen += [facts(session.head(server.url + "/echo")), sorted(session.cookies.get_dict())]
            with session.get(server.url + "/stream", stream=True) as response:
                seen.append(list(response.iter_content(7)))
            return seen

    kept = twice(agent)
    assert {pieces[-1].kind for _, pieces in kept.calls} == {"end"}
    results = {call.name.rpartition("/")[2]: call.result for call, _ in kept.calls}
    assert results["gzip"]["body"].startswith("zzz")
    assert results["stream"]["body"].startswith("part ")
    assert results["empty"]["status"] == 204
    assert results["until-close"]["body"].startswith("all of it")


def test_bodies_of_every_shape(server: Loopback, twice: Twice):
    def agent() -> Any:
        with requests.Session() as session:
            post = lambda **options: facts(session.post(server.url + "/echo", **options))  # noqa: E731
            return [
                post(json={"a": [1, 1.0, True]}),
                post(data={"b": "2", "a": "1"}),
                post(data=b"\x00\xff"),
                post(data=iter([b"in ", b"pieces"])),
                post(data=io.BytesIO(b"a file")),
                post(files={"file": ("a.txt", io.BytesIO(b"data"))}, data={"k": "v"}),
            ]

    bodies = [call.args["body"] for call, _ in twice(agent).calls]
    assert bodies[0] == {"a": [1, 1.0, True]}
    assert bodies[1] == [["a", "1"], ["b", "2"]]
    assert bodies[3:5] == ["in pieces", "a file"]
    assert [body for _, _, body in server.seen][3:5] == [b"in pieces", b"a file"]
    assert server.seen[3][1]["Transfer-Encoding"] == "chunked"
    assert server.seen[4][1]["Content-Length"] == "6"


def test_a_consumer_that_stops_early(server: Loopback, twice: Twice):
    server.taken = threading.Semaphore(3)

    def agent() -> Any:
        with requests.get(server.url + "/stream", stream=True) as response:
            first = response.raw.read(12)
        server.taken = None
        return first, requests.get(server.url + "/echo").text

    kept = twice(agent)
    assert [pieces[-1].kind for _, pieces in kept.calls] == ["closed", "end"]


def test_reading_further_than_was_recorded_is_refused(server: Loopback, tmp_path: Path):
    server.taken = threading.Semaphore(3)

    def agent(size: int) -> Any:
        with requests.get(server.url + "/stream", stream=True) as response:
            return response.raw.read(size)

    _, kept = recorded(lambda: agent(12), tmp_path / "runs.db")
    with pytest.raises(Divergence, match="stopped reading here"):
        replayed(lambda: agent(100), kept)


@pytest.mark.parametrize("probe", ["drop", "refuse", "hang"])
def test_connections_that_fail(server: Loopback, twice: Twice, probe: str):
    def agent() -> Any:
        with pytest.raises(requests.RequestException) as info:
            requests.get(server.url + "/stream", headers={"x-probe": probe}, timeout=(20, 0.1))
        return type(info.value), str(info.value), [type(arg) for arg in info.value.args]

    twice(agent)


def test_nobody_there(server: Loopback, twice: Twice):
    server.stop()

    def agent() -> Any:
        with pytest.raises(requests.ConnectionError) as info:
            requests.get(server.url + "/echo")
        reason = info.value.args[0].reason
        return type(reason), type(reason.__cause__)

    ((call, pieces),) = twice(agent).calls
    assert (call.error.class_name, pieces) == ("urllib3.exceptions:NewConnectionError", [])


def test_retries_after_429_take_the_same_number_of_tries(server: Loopback, twice: Twice):
    def agent() -> Any:
        with requests.Session() as session:
            session.mount("http://", HTTPAdapter(max_retries=Retry(5, status_forcelist=[429], backoff_factor=0)))
            response = session.get(server.url + "/echo", headers={"x-probe": "429"})
            return facts(response), len(response.raw.retries.history)

    kept = twice(agent)
    assert [call.result["status"] for call, _ in kept.calls] == [429, 429, 200]


def test_https_and_a_certificate_that_is_not_trusted(tmp_path: Path):
    server = Loopback(certificate()[0])
    trusted = str(certificate_files()[1])

    def agent() -> Any:
        seen: list[Any] = [facts(requests.get(server.url + "/echo", verify=trusted))]
        with pytest.raises(requests.exceptions.SSLError) as info:
            requests.get(server.url + "/echo")
        return [*seen, type(info.value.args[0].reason), str(info.value.args[0].reason)]

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
    finally:
        server.stop()
    assert len(kept.calls) == 2
    assert replayed(agent, kept) == first


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_proxy(tmp_path: Path, secure: bool):
    context = certificate()[0] if secure else None
    server, proxy = Loopback(context), Loopback()
    trusted = str(certificate_files()[1])

    def agent() -> Any:
        with requests.Session() as session:
            session.trust_env = False
            session.proxies = {"http": proxy.url, "https": proxy.url}
            return [facts(session.get(server.url + "/echo", verify=trusted)) for _ in range(2)]

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
    finally:
        server.stop()
        proxy.stop()
    assert proxy.tunnels == (1 if secure else 2)
    assert {call.name for call, _ in kept.calls} == {f"GET {server.url}/echo"}
    assert replayed(agent, kept) == first


def test_a_proxy_that_is_not_there(server: Loopback, twice: Twice):
    server.stop()

    def agent() -> Any:
        with pytest.raises(requests.exceptions.ProxyError) as info:
            requests.get("https://nowhere.invalid/", proxies={"https": server.url})
        return type(info.value.args[0].reason), len(info.value.args)

    twice(agent)


def test_one_connection_serves_live_then_recorded_then_live(server: Loopback, tmp_path: Path):
    with urllib3.HTTPConnectionPool("127.0.0.1", server.server_address[1]) as pool:

        def agent() -> Any:
            return [pool.request("GET", "/echo").json()["id"] for _ in range(2)]

        before = agent()
        first, kept = recorded(agent, tmp_path / "runs.db")
        between = agent()
        assert replayed(agent, kept) == first
        after = agent()
    assert server.count == 8
    assert len({*before, *first, *between, *after}) == 8


def test_a_connection_without_a_pool(server: Loopback, twice: Twice):
    def agent() -> Any:
        connection = HTTPConnection("127.0.0.1", server.server_address[1])
        try:
            connection.request("POST", "/echo", body=b"x")
            return connection.getresponse().read()
        finally:
            connection.close()

    ((call, _),) = twice(agent).calls
    assert call.name == f"POST {server.url}/echo"


def test_threads_that_share_a_session_each_get_their_own_answer(server: Loopback, twice: Twice):
    def agent() -> Any:
        answers: dict[int, Any] = {}
        with requests.Session() as session:

            def ask(number: int) -> None:
                answers[number] = [session.get(server.url + "/echo").json()["id"] for _ in range(3)]

            threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return answers

    assert len(twice(agent).calls) == 12
