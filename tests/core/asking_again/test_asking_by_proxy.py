"""Asking again by a proxy on loopback: it is told the server's name, and sees neither key nor words."""

from __future__ import annotations

import socket
import socketserver
import threading
from typing import TYPE_CHECKING

import pytest
from tests.core.asking_again.model_server import model_server
from tests.core.asking_again.recorded_talk import KEY, asked_anew, planned, record_openai
from tests.core.seams.certificates import certificate, certificate_files
from tests.served_in_thread import served

from agent_tt.asking_again.hosts import Destination
from agent_tt.asking_again.proxies import proxy_of
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

NAME = "models.test"
VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES, "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


class Proxy(socketserver.ThreadingTCPServer):
    """Passes what follows CONNECT on to one port of this machine, whatever name it is told."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.port = port
        self.asked: list[bytes] = []
        self.passed: list[bytes] = []
        self.refuses = False

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Passing(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.rfile.readline()
        self.server.asked.append(head)
        if self.server.refuses:
            self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.server.port)) as other:
            self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            back = threading.Thread(target=_pass, args=(other, self.connection, []))
            back.start()
            _pass(self.connection, other, self.server.passed)
            back.join()


def _pass(source: socket.socket, target: socket.socket, seen: list[bytes]) -> None:
    try:
        while piece := source.recv(1 << 16):
            seen.append(piece)
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one of both has left


def test_an_encrypted_request_goes_by_the_proxy_which_is_told_the_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.db"
    with model_server() as plain:
        run_id = record_openai(store, plain.address, "words that nobody else reads")
    key, own = certificate_files(NAME)
    context = certificate()[0].__class__(certificate()[0].protocol)
    context.load_cert_chain(own, key)
    with model_server() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with served(Proxy(server.server_port)) as proxy:
            monkeypatch.setenv("OPENAI_BASE_URL", f"https://{NAME}/v1")
            monkeypatch.setenv("SSL_CERT_FILE", str(own))
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass%20word@{proxy.address}")
            note = next(note for note in planned(store, run_id).notes if "proxy" in note)
            assert proxy.address in note
            assert "HTTPS_PROXY" in note
            assert "pass" not in note
            assert proxy.asked == []
            asked_anew(store, run_id)
            (head,) = proxy.asked
            first, *headers = head.decode().split("\r\n")[:-2]
            assert first.startswith(f"CONNECT {NAME}:443 HTTP/1.")
            assert {each.partition(":")[0].lower() for each in headers} <= {"host", "proxy-authorization"}
            assert "Basic bWU6cGFzcyB3b3Jk" in head.decode()
            (asked,) = server.asked
            assert asked.headers["authorization"] == f"Bearer {KEY}"
            assert "proxy-authorization" not in asked.headers
            assert asked.headers["host"] == NAME
            seen = b"".join(proxy.passed)
            assert KEY.encode() not in seen
            assert b"nobody else reads" not in seen
            proxy.refuses = True
            asked_anew(store, run_id)
            assert (len(proxy.asked), len(server.asked)) == (2, 1)


def test_what_is_asked_of_this_machine_goes_by_no_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server() as server, served(Proxy(server.server_port)) as proxy:
        run_id = record_openai(tmp_path / "runs.db", server.address)
        for variable in VARIABLES[:4]:
            monkeypatch.setenv(variable, f"http://{proxy.address}")
        asked_anew(tmp_path / "runs.db", run_id)
        assert (len(server.asked), proxy.asked) == (2, [])


@pytest.mark.parametrize(
    ("url", "environment", "found"),
    [
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "proxy.test:3128"}, ("proxy.test", 3128, "HTTPS_PROXY")),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "x:1", "https_proxy": "http://y:2/"}, ("y", 2, "https_proxy")),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://y"}, ("y", 80, "ALL_PROXY")),
        ("https://api.openai.com/v1", {"HTTP_PROXY": "http://y:2"}, None),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://y:2", "NO_PROXY": "localhost, openai.com"}, None),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://y:2", "no_proxy": "*"}, None),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://y:2", "NO_PROXY": "ai.com"}, ("y", 2, "HTTPS_PROXY")),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": " "}, None),
        ("https://127.0.0.1:9/v1", {"HTTPS_PROXY": "http://y:2"}, None),
        ("http://other.test/v1", {"HTTPS_PROXY": "http://y:2", "ALL_PROXY": "http://y:2"}, None),
    ],
)
def test_the_variables_say_what_they_say_to_other_clients(url, environment, found) -> None:
    proxy = proxy_of(Destination(url, "", None), environment)
    assert (None if proxy is None else (proxy.host, proxy.port, proxy.variable)) == found


@pytest.mark.parametrize("said", ["socks5://y:1", "https://y:1", "http://", "http://y:port"])
def test_a_proxy_that_cannot_be_used_is_said_before_anything_is_sent(said) -> None:
    with pytest.raises(UsageError, match="HTTPS_PROXY names no proxy") as caught:
        proxy_of(Destination("https://api.openai.com/v1", "", None), {"HTTPS_PROXY": said})
    assert "NO_PROXY" in str(caught.value.hint)
