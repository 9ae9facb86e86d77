"""Answers over HTTP/2: several at once on one connection."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
from tests.core.seams.runs import recorded, replayed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

connection = pytest.importorskip("h2.connection")
config = pytest.importorskip("h2.config")
events = pytest.importorskip("h2.events")

_NEW = itertools.count(1)


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_talk, args=(client,), daemon=True).start()


def _talk(client: socket.socket) -> None:
    talking = connection.H2Connection(config=config.H2Configuration(client_side=False, header_encoding="utf-8"))
    talking.initiate_connection()
    with client:
        client.sendall(talking.data_to_send())
        while data := client.recv(65536):
            for event in talking.receive_data(data):
                if isinstance(event, events.StreamEnded):
                    talking.send_headers(event.stream_id, [(":status", "200"), ("x-new", str(next(_NEW)))])
                    talking.send_data(event.stream_id, b"first ")
                    talking.send_data(event.stream_id, b"%d" % next(_NEW), end_stream=True)
            client.sendall(talking.data_to_send())


@pytest.fixture
def place() -> Iterator[tuple[str, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/x", listening


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_answers_over_http2(place: tuple[str, socket.socket], tmp_path: Path, library: Any):
    url, listening = place

    async def agent() -> Any:
        async with library.AsyncClient(http1=False, http2=True) as client:
            answers = await asyncio.gather(*[client.post(url, content=b"x") for _ in range(5)])
            return [(answer.http_version, answer.headers.raw, answer.content) for answer in answers]

    first, kept = recorded(agent, tmp_path / "runs.db")
    listening.shutdown(socket.SHUT_RDWR)
    assert {version for version, _, _ in first} == {"HTTP/2"}
    assert replayed(agent, kept) == first


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_a_plain_answer_over_http2(place: tuple[str, socket.socket], tmp_path: Path, library: Any):
    url, listening = place

    def agent() -> Any:
        with library.Client(http1=False, http2=True) as client:
            answer = client.get(url)
            return answer.http_version, answer.headers.raw, answer.content, answer.reason_phrase

    first, kept = recorded(agent, tmp_path / "runs.db")
    listening.shutdown(socket.SHUT_RDWR)
    assert replayed(agent, kept) == first
