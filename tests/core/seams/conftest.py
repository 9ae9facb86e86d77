"""Loopback servers, and libraries that are themselves again after each test."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.seams.loopback import Loopback
from tests.core.seams.runs import Kept, recorded, replayed
from tests.core.seams.talking import Talking, echoing

import agent_tt
from agent_tt.recording.modules.import_watch import ImportWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

assert agent_tt.record  # the seams come with it


@pytest.fixture
def server() -> Iterator[Loopback]:
    loopback = Loopback()
    yield loopback
    loopback.stop()


@pytest.fixture
def twice(server: Loopback, tmp_path: Path) -> Callable[[Callable[[], Any]], Kept]:
    """Record a function, stop the server, serve it: both must give the same, and the second reach nobody."""

    def run(agent: Callable[[], Any]) -> Kept:
        first, kept = recorded(agent, tmp_path / "runs.db")
        server.stop()
        before = server.count
        assert kept.calls, "nothing was asked"
        assert replayed(agent, kept) == first
        assert server.count == before
        return kept

    return run


@pytest.fixture
def echo() -> Iterator[Talking]:
    talking = Talking(echoing)
    yield talking
    talking.stop()


@pytest.fixture
def twice_echoed(echo: Talking, tmp_path: Path) -> Callable[[Callable[[], Any]], Kept]:
    """As `twice`, of what is said to `echo`; replayed three times."""

    def run(agent: Callable[[], Any]) -> Kept:
        first, kept = recorded(agent, tmp_path / "runs.db")
        echo.stop()
        before = echo.count
        for _ in range(3):
            assert replayed(agent, kept) == first
        assert echo.count == before
        return kept

    return run


def seam_functions() -> dict[str, object]:
    """What the seams replace, of the libraries that are loaded."""
    places = {
        "httpx": ["HTTPTransport.handle_request", "AsyncHTTPTransport.handle_async_request"],
        "httpx2": ["HTTPTransport.handle_request", "AsyncHTTPTransport.handle_async_request"],
        "urllib3.connectionpool": ["HTTPConnectionPool.urlopen"],
        "urllib3.connection": [
            "HTTPConnection.connect",
            "HTTPSConnection.connect",
            "HTTPConnection.request",
            "HTTPConnection.getresponse",
        ],
        "http.client": [f"HTTPConnection.{name}" for name in ("endheaders", "send", "getresponse", "close")],
        "aiohttp.connector": ["BaseConnector.connect"],
        "aiohttp.client_reqrep": ["ClientRequest.send"],
        "websockets.asyncio.client": ["connect.create_connection", "ClientConnection.process_event"],
        "websockets.asyncio.connection": ["Connection.send", "Connection.connection_lost"],
        "websockets.sync.client": ["ClientConnection.process_event", "ClientConnection.handshake"],
        "websockets.sync.connection": ["Connection.send", "Connection.close_socket"],
        "websockets.legacy.client": ["Connect.__await_impl__", "WebSocketClientProtocol.read_http_response"],
        "websockets.legacy.protocol": ["WebSocketCommonProtocol.send", "WebSocketCommonProtocol.read_frame"],
        "websocket._core": [f"WebSocket.{name}" for name in ("connect", "recv_frame", "send_frame", "shutdown")],
        "httpx_ws._api": ["WebSocketSession.send", "AsyncWebSocketSession.send"],
        "aiohttp.client_proto": ["ResponseHandler.data_received", "ResponseHandler.connection_lost"],
        "aiohttp.client": ["ClientSession._ws_connect"],
        "aiohttp._websocket.writer": ["WebSocketWriter.send_frame"],
    }
    found: dict[str, object] = {}
    for name, paths in places.items():
        if name in sys.modules:
            for path in paths:
                owner, method = path.split(".")
                found[f"{name}.{path}"] = vars(getattr(sys.modules[name], owner))[method]
    for name in ("mcp", "mcp.client.stdio", "mcp.client.client"):
        if name in sys.modules:
            found[f"{name}.stdio_client"] = vars(sys.modules[name]).get("stdio_client")
    return found


@pytest.fixture(autouse=True)
def _libraries_are_themselves_again() -> Iterator[None]:
    before = seam_functions()
    yield
    after = seam_functions()
    assert all(after[name] is function for name, function in before.items())
    assert not any(isinstance(finder, ImportWatch) for finder in sys.meta_path)
