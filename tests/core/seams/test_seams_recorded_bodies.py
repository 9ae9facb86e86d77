"""Answers that real providers gave, served again through a loopback server and real clients: every byte is kept."""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
from tests.core.seams.runs import recorded, replayed
from tests.recordings import MISSING, recordings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.loopback import Loopback

yaml = pytest.importorskip("yaml")

CASSETTES = sorted(recordings("vcr").glob("*.yaml"))
STREAMS = sorted(recordings("stream_bodies").glob("*"))

pytestmark = pytest.mark.skipif(not CASSETTES, reason=MISSING)


@dataclass
class Exchange:
    path: str
    asked: dict[str, Any]
    status: int
    headers: dict[str, str]
    body: bytes


def exchanges(cassette: Path) -> list[Exchange]:
    return [_exchange(found) for found in yaml.safe_load(cassette.read_text())["interactions"]]


def _exchange(found: dict[str, Any]) -> Exchange:
    request, response = found["request"], found["response"]
    asked = request["parsed_body"] if "parsed_body" in request else json.loads(request.get("body") or "{}")
    held = response.get("body") or {}
    string = json.dumps(response["parsed_body"]) if "parsed_body" in response else held.get("string", "")
    headers = {
        name.lower(): value[0] if isinstance(value, list) else value for name, value in response["headers"].items()
    }
    shown = {"Content-Type": headers.get("content-type", "text/plain")}
    body = string.encode() if isinstance(string, str) else string
    if headers.get("content-encoding") == "gzip":
        shown["Content-Encoding"] = "gzip"
        body = body if body.startswith(b"\x1f\x8b") else gzip.compress(body)
    status = response["status"]
    return Exchange(
        urlsplit(request["uri"]).path, asked, status if isinstance(status, int) else status["code"], shown, body
    )


def httpx_bytes(url: str, asked: Any) -> Any:
    return _with(httpx, url, asked)


def httpx2_bytes(url: str, asked: Any) -> Any:
    return _with(httpx2, url, asked)


def _with(library: Any, url: str, asked: Any) -> Any:
    with library.Client() as client, client.stream("POST", url, json=asked) as response:
        return response.status_code, list(response.iter_raw())


def requests_bytes(url: str, asked: Any) -> Any:
    with requests.post(url, json=asked, stream=True) as response:
        return response.status_code, response.raw.read(decode_content=False)


def aiohttp_bytes(url: str, asked: Any) -> Any:
    async def ask() -> Any:
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.post(url, json=asked) as response,
        ):
            return response.status, await response.read()

    return asyncio.run(ask())


@pytest.mark.parametrize("client", [httpx_bytes, httpx2_bytes, requests_bytes, aiohttp_bytes])
def test_every_body_through_every_client(server: Loopback, tmp_path: Path, client: Callable[[str, Any], Any]):
    everything = [exchange for cassette in CASSETTES for exchange in exchanges(cassette)]
    for exchange in everything:
        answer = (exchange.status, exchange.headers, exchange.body)
        server.bodies.setdefault(unquote(exchange.path), []).append(answer)
    streams = [(f"/stream-{index}", stream.read_bytes()) for index, stream in enumerate(STREAMS)]
    for path, body in streams:
        server.bodies[path] = [(200, {"Content-Type": "text/event-stream"}, body)]

    def agent() -> Any:
        seen = [client(server.url + exchange.path, exchange.asked) for exchange in everything]
        return seen, [client(server.url + path, {}) for path, _ in streams]

    (answers, raw), kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    joined = [(status, body if isinstance(body, bytes) else b"".join(body)) for status, body in answers]
    assert joined == [(exchange.status, exchange.body if exchange.status != 204 else b"") for exchange in everything]
    assert [body if isinstance(body, bytes) else b"".join(body) for _, body in raw] == [body for _, body in streams]
    assert replayed(agent, kept) == (answers, raw)
    models = [call for call, _ in kept.calls if call.kind == "llm" and call.result["status"] == 200]
    assert len(models) >= 12
    assert all(call.meta.get("tokens_in") and call.meta.get("tokens_out") for call in models), [
        (call.name, call.meta) for call in models if not call.meta.get("tokens_in")
    ]


def by_sdk(url: str, exchange: Exchange) -> Any:
    """What the SDK whose language the path is makes of it."""
    asked = {key: value for key, value in exchange.asked.items() if key != "service_tier"}
    try:
        if exchange.path.endswith("/messages"):
            with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
                return dumped(client.messages.create(**asked))
        with openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0) as client:
            if exchange.path.endswith("/responses"):
                return dumped(client.responses.create(**asked))
            return dumped(client.chat.completions.create(**asked))
    except openai.APIStatusError as error:
        return type(error), str(error), error.body


def dumped(answer: Any) -> Any:
    return answer.model_dump() if hasattr(answer, "model_dump") else [piece.model_dump() for piece in answer]


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
@pytest.mark.parametrize("cassette", CASSETTES, ids=lambda cassette: cassette.stem)
def test_the_sdks_make_the_same_of_them(server: Loopback, tmp_path: Path, cassette: Path):
    asked = [
        exchange
        for exchange in exchanges(cassette)
        if exchange.path.endswith(("/chat/completions", "/responses", "/messages"))
    ]
    if not asked:
        pytest.skip("no SDK here speaks it")
    for exchange in asked:
        answer = (exchange.status, exchange.headers, exchange.body)
        server.bodies.setdefault(unquote(exchange.path), []).append(answer)

    def agent() -> Any:
        return [by_sdk(server.url, exchange) for exchange in asked]

    first, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    assert replayed(agent, kept) == first
