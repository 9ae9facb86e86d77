"""A request that was never recorded: halted in every library, whatever the agent catches, and nobody is reached."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
from tests.core.seams.runs import recorded, replayed

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.loopback import Loopback


def by_httpx(url: str, text: str) -> Any:
    return httpx.post(url + "/echo", json={"text": text}).text


def by_httpx2_async(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with httpx2.AsyncClient() as client:
            return (await client.post(url + "/echo", json={"text": text})).text

    return asyncio.run(ask())


def by_requests(url: str, text: str) -> Any:
    return requests.post(url + "/echo", json={"text": text}).text


def by_aiohttp(url: str, text: str) -> Any:
    async def ask() -> Any:
        async with aiohttp.ClientSession() as session, session.post(url + "/echo", json={"text": text}) as response:
            return await response.text()

    return asyncio.run(ask())


def by_openai(url: str, text: str) -> Any:
    with openai.OpenAI(base_url=url + "/v1", api_key="k") as client:
        return client.responses.create(model="m", input=text).model_dump()


def by_anthropic(url: str, text: str) -> Any:
    with anthropic.Anthropic(base_url=url, api_key="k") as client:
        messages: Any = [{"role": "user", "content": text}]
        return client.messages.create(model="m", max_tokens=9, messages=messages).model_dump()


@pytest.mark.parametrize("ask", [by_httpx, by_httpx2_async, by_requests, by_aiohttp, by_openai, by_anthropic])
def test_a_changed_word_halts_the_replay(server: Loopback, tmp_path: Path, ask: Callable[[str, str], Any]):
    long = "words that do not change, " * 200

    def agent(text: str) -> Any:
        try:
            return ask(server.url, text)
        except Exception as error:
            return error

    _, kept = recorded(lambda: agent(long + "one"), tmp_path / "runs.db")
    before = server.count
    with pytest.raises(Divergence) as info:
        replayed(lambda: agent(long + "two"), kept)
    assert info.value.finding.kind == "changed request"
    assert server.count == before
