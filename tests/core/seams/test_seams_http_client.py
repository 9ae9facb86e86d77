"""`http.client`, `urllib.request` and `xmlrpc.client`: recorded at the connection, parsed again by themselves."""

from __future__ import annotations

import contextlib
import http.client
import io
import ssl
import threading
import urllib.error
import urllib.request
import xmlrpc.client
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.seams.certificates import certificate, certificate_files
from tests.core.seams.loopback import Loopback
from tests.core.seams.runs import recorded, replayed

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.runs import Kept

    Twice = Callable[[Callable[[], Any]], Kept]


def get(url: str, **options: Any) -> list[Any]:
    with urllib.request.urlopen(urllib.request.Request(url, **options), timeout=20) as response:
        return [
            response.status,
            response.reason,
            response.version,
            response.getheaders(),
            response.url,
            response.read(),
        ]


def connect(server: Loopback) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=20)


def test_answers_of_every_shape(server: Loopback, twice: Twice):
    def agent() -> Any:
        paths = ("/echo?a=1", "/gzip", "/redirect", "/empty", "/until-close", "/stream", "/gzip-stream")
        return [get(server.url + path) for path in paths] + [get(server.url + "/echo", method="HEAD")]

    kept = twice(agent)
    assert {pieces[-1].kind for _, pieces in kept.calls} == {"end"}
    assert [call.result["status"] for call, _ in kept.calls] == [200, 200, 302, 200, 204, 200, 200, 200, 200]
    results = {call.name.rpartition("/")[2]: call.result for call, _ in kept.calls}
    assert results["gzip"]["body"].startswith("zzz")
    assert results["stream"]["body"].startswith("part ")
    assert results["until-close"]["body"].startswith("all of it")


def test_bodies_of_every_shape(server: Loopback, twice: Twice):
    def agent() -> Any:
        post = lambda data, **headers: get(server.url + "/echo", data=data, headers=headers)  # noqa: E731
        return [
            post(b'{"a": [1, 1.0, true]}', **{"Content-Type": "application/json"}),
            post(b"b=2&a=1"),
            post(b"\x00\xff"),
            post(iter([b"in ", b"pieces"])),
            post(io.BytesIO(b"a file")),
        ]

    bodies = [call.args["body"] for call, _ in twice(agent).calls]
    assert bodies[0] == {"a": [1, 1.0, True]}
    assert bodies[1] == [["a", "1"], ["b", "2"]]
    assert bodies[3:] == ["in pieces", "a file"]
    assert [body for _, _, body in server.seen][3:] == [b"in pieces", b"a file"]
    assert server.seen[3][1]["Transfer-Encoding"] == "chunked"


def test_a_body_that_is_sent_after_the_head(server: Loopback, twice: Twice):
    def agent() -> Any:
        connection = connect(server)
        answers = []
        for _ in range(2):
            connection.putrequest("POST", "/echo")
            connection.putheader("Content-Length", "9")
            connection.endheaders()
            connection.send(b"in ")
            connection.send(io.BytesIO(b"pieces"))
            answers.append(connection.getresponse().read())
        connection.close()
        return answers

    assert [call.args["body"] for call, _ in twice(agent).calls] == ["in pieces"] * 2
    assert [body for _, _, body in server.seen] == [b"in pieces"] * 2


def test_a_request_whose_answer_nobody_reads_is_sent(server: Loopback, tmp_path: Path):
    def agent() -> None:
        connection = connect(server)
        connection.putrequest("POST", "/echo")
        connection.putheader("Content-Length", "1")
        connection.endheaders()
        connection.send(b"x")
        connection.close()

    _, kept = recorded(agent, tmp_path / "runs.db")
    assert [call.args["body"] for call, _ in kept.calls] == ["x"]


def test_one_connection_for_several_requests(server: Loopback, twice: Twice):
    def agent() -> Any:
        connection = connect(server)
        answers = []
        for number in range(3):
            connection.request("POST", f"/echo?n={number}", body=f"text {number}", headers={"accept": "text/plain"})
            answers.append(connection.getresponse().read())
        connection.close()
        return answers

    calls = [call for call, _ in twice(agent).calls]
    assert [call.name for call in calls] == [f"POST {server.url}/echo"] * 3
    assert [call.args["body"] for call in calls] == ["text 0", "text 1", "text 2"]


def test_xmlrpc(server: Loopback, twice: Twice):
    def agent() -> Any:
        with pytest.raises(Exception, match=r"\d|syntax|mismatched") as info:  # the server does not speak it
            xmlrpc.client.ServerProxy(server.url + "/echo").charge(5)
        return type(info.value), str(info.value)

    ((call, _),) = twice(agent).calls
    assert "<methodName>charge</methodName>" in call.args["body"]


def test_a_consumer_that_stops_early(server: Loopback, twice: Twice):
    server.taken = threading.Semaphore(3)

    def agent() -> Any:
        with urllib.request.urlopen(server.url + "/stream") as response:
            first = response.read(12)
        server.taken = None
        return first, get(server.url + "/echo")

    assert [pieces[-1].kind for _, pieces in twice(agent).calls] == ["closed", "end"]


def test_reading_further_than_was_recorded_is_refused(server: Loopback, tmp_path: Path):
    server.taken = threading.Semaphore(3)

    def agent(size: int) -> Any:
        with urllib.request.urlopen(server.url + "/stream") as response:
            return response.read(size)

    _, kept = recorded(lambda: agent(12), tmp_path / "runs.db")
    with pytest.raises(Divergence, match="stopped reading here"):
        replayed(lambda: agent(100), kept)


def test_another_question_is_refused(server: Loopback, tmp_path: Path):
    _, kept = recorded(lambda: get(server.url + "/echo", data=b"a=1"), tmp_path / "runs.db")
    before = server.count
    with pytest.raises(Divergence):
        replayed(lambda: get(server.url + "/echo", data=b"a=2"), kept)
    assert server.count == before


@pytest.mark.parametrize("probe", ["drop", "refuse", "hang", "400"])
def test_requests_that_fail(server: Loopback, twice: Twice, probe: str):
    def agent() -> Any:
        request = urllib.request.Request(server.url + "/stream", headers={"x-probe": probe})
        with (
            pytest.raises((OSError, http.client.HTTPException)) as info,
            urllib.request.urlopen(request, timeout=0.1 if probe == "hang" else 20) as response,
        ):
            response.read()
        error = info.value
        said = error.read() if isinstance(error, urllib.error.HTTPError) else [type(arg) for arg in error.args]
        with contextlib.suppress(AttributeError):
            error.close()  # type: ignore[attr-defined]
        return type(error), str(error), said

    twice(agent)


def test_nobody_there(server: Loopback, twice: Twice):
    server.stop()

    def agent() -> Any:
        with pytest.raises(urllib.error.URLError) as info:
            urllib.request.urlopen(server.url + "/echo")
        return type(info.value.reason), str(info.value)

    ((call, pieces),) = twice(agent).calls
    assert (call.error.class_name, pieces) == ("builtins:ConnectionRefusedError", [])


def test_https_also_through_a_proxy(server: Loopback, tmp_path: Path):
    secure = Loopback(certificate()[0])
    context = ssl.create_default_context(cafile=str(certificate_files()[1]))

    def agent() -> Any:
        seen: list[Any] = []
        for proxies in ({}, {"https": server.url}):
            opener = urllib.request.build_opener(
                urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
            )
            with opener.open(secure.url + "/echo", timeout=20) as response:
                seen.append(response.read())
        return seen

    try:
        first, kept = recorded(agent, tmp_path / "runs.db")
        before = secure.count, server.tunnels
        assert replayed(agent, kept) == first
        assert (secure.count, server.tunnels) == before == (2, 1)
    finally:
        secure.stop()
    assert [call.name for call, _ in kept.calls] == [f"GET {secure.url}/echo"] * 2


def test_threads_each_get_their_own_answer(server: Loopback, twice: Twice):
    def agent() -> Any:
        answers: dict[int, Any] = {}

        def ask(number: int) -> None:
            answers[number] = [get(server.url + "/echo")[-1] for _ in range(3)]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    assert len(twice(agent).calls) == 12
