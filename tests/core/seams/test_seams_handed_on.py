"""Agents that hand on what answers gave them: sessions, tokens, signed links. Their replay asks what they asked."""

from __future__ import annotations

import asyncio
import json
from email.message import Message
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import httpx
import pytest
import requests
from tests.core.seams.runs import recorded, replayed
from tests.core.stored_bytes import contents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.loopback import Loopback

    Ask = Callable[..., Any]

SECRETS = {
    "digits": "9917674412", "letters": "AbCdEfGhIjKl", "hex": "006c327d3b2f4d0e94c83a22a0b5c648", "short": "ab12cd",
    "access": "opaque+acc3ss/token==", "refresh": "0p4que-r3fresh", "renewed": "r3newed-acc3ss", "sig": "aBc%2F1d%3D",
    "password": 'pa"ss\\w0rd',
}  # fmt: skip
EXACT = {
    "id": "chatcmpl-9XyZ0123456789abcdefABCDEF", "request": "req_011CQabcdef0123456789", "tool": "toolu_01A09q90lq917",
    "call": "call_0123456789abcdefABCDEFGH", "sha": "4116c22f0a9d8e7b6c5d4e3f2a1b0c9d8e7f6a5b", "n": {"token_count": 3},
    "uuid": "3f2a9c10-1b2c-4d5e-8f90-0123456789ab", "signature": "EqQBCgIYAhIM0123456789abcdefghij+/==",
    "encrypted_content": "gAAAAABo0123456789abcdefghij", "image": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg",
    "embedding": [0.12345, -1e-9], "tokens": ["t0ken1", "t0ken2"], "next_token": "bmV4dC1wYWdlLTI0", "max_tokens": 7,
    "cursor": "eyJvZmZzZXQiOjEwMH0", "nextPageToken": "CAEQAA1234567890abcd", "public_key": "ssh-ed25519 AAAAC3NzaC1",
}  # fmt: skip


def prepare(server: Loopback) -> None:
    cookies = (
        f"sid={SECRETS['digits']}; Path=/; HttpOnly", f"csrftoken={SECRETS['letters']}; Path=/; SameSite=Lax",
        f"short_session={SECRETS['short']}; Path=/", f'quoted="{SECRETS["hex"]}"; Max-Age=60; Path=/',
        "a=b; Path=/", "theme=dark-blue; Path=/; Expires=Wed, 09 Jun 2099 10:18:14 GMT",
    )  # fmt: skip

    def answer(value: Any, *set_cookies: str) -> tuple[int, Any, bytes]:
        headers = Message()
        headers["Content-Type"] = "application/json"
        for cookie in set_cookies:
            headers["Set-Cookie"] = cookie
        return 200, headers, json.dumps(value).encode()

    token = {"token_type": "Bearer", "access_token": SECRETS["access"], "refresh_token": SECRETS["refresh"]}
    link = f"{server.url}/empty?X-Expires=60&sig={SECRETS['sig']}&part=1"
    fields = {"key": "uploads/a.txt", "x-amz-security-token": SECRETS["hex"], "policy": "eyJhIjoxfQ==", "pw": "1"}
    server.bodies["/login"] = [answer({"csrf": SECRETS["letters"], "exact": EXACT}, *cookies)]
    server.bodies["/token"] = [answer(token), answer({**token, "access_token": SECRETS["renewed"]})]
    server.bodies["/link"] = [answer({"url": link, "upload": {"url": f"{server.url}/empty", "fields": fields}})]
    server.bodies["/vault"] = [answer({"user": "ann", "password": SECRETS["password"]})]
    server.bodies["/items"] = [answer({"items": [1], "next_token": EXACT["next_token"]}), answer({"items": [2]})]


async def flow(url: str, ask: Ask, cookies: Callable[[], dict[str, str]]) -> Any:
    """What an agent does with them; the result is what does not depend on their letters."""
    seen = [(await ask("GET", f"{url}/login"))["exact"]]
    jar = cookies()
    seen.append([jar["a"], jar["theme"], sorted(jar), len(set(jar.values())), [len(jar[name]) for name in sorted(jar)]])
    for name in ("sid", "csrftoken", "short_session", "quoted"):
        await ask("POST", f"{url}/empty", data={"state": jar[name], "x": "1"})
        await ask("POST", f"{url}/empty", json={"note": f"session {jar[name]}.", jar[name]: [jar[name]]})
        await ask("GET", f"{url}/empty/{jar[name].strip(chr(34))}", headers={"X-CSRFToken": jar[name]})
    token = await ask("POST", f"{url}/token", data={"grant_type": "code"})
    await ask("GET", f"{url}/empty", params={"t": token["access_token"], "same": token["access_token"] == jar["sid"]})
    await ask("POST", f"{url}/empty", json={"prompt": f"my token is <{token['access_token']}>, ok?"})
    again = await ask("POST", f"{url}/token", data={"r": token["refresh_token"]})
    seen.append([again["access_token"] == token["access_token"], again["refresh_token"] == token["refresh_token"]])
    await ask("GET", f"{url}/empty", headers={"Authorization": f"Bearer {again['access_token']}"})
    link = await ask("GET", f"{url}/link")
    await ask("GET", link["url"])
    await ask("POST", f"{url}/empty", json=parse_qsl(urlsplit(link["url"]).query))
    await ask("POST", link["upload"]["url"], data=link["upload"]["fields"])
    page = await ask("GET", f"{url}/items")
    seen.append(await ask("GET", f"{url}/items", params={"after": page["next_token"]}))
    entry = await ask("GET", f"{url}/vault")
    await ask("POST", f"{url}/empty", data={"user": entry["user"], "p": entry["password"]})
    await ask("POST", f"{url}/empty", json={"arguments": json.dumps({"p": entry["password"]})})
    return seen


def by_requests(url: str) -> Any:
    with requests.Session() as session:

        async def ask(method: str, place: str, **options: Any) -> Any:
            response = session.request(method, place, **options)
            return response.json() if response.content else response.status_code

        seen = asyncio.run(flow(url, ask, session.cookies.get_dict))
        upload = {"signature": (None, session.cookies["sid"]), "file": ("a.txt", f"by {session.cookies['sid']}")}
        session.post(f"{url}/empty", files=upload)
        return seen


def by_httpx(url: str) -> Any:
    with httpx.Client() as client:

        async def ask(method: str, place: str, **options: Any) -> Any:
            response = client.request(method, place, **options)
            return response.json() if response.content else response.status_code

        return asyncio.run(flow(url, ask, lambda: dict(client.cookies)))


def by_async_httpx(url: str) -> Any:
    async def run() -> Any:
        async with httpx.AsyncClient() as client:

            async def ask(method: str, place: str, **options: Any) -> Any:
                response = await client.request(method, place, **options)
                return response.json() if response.content else response.status_code

            return await flow(url, ask, lambda: dict(client.cookies))

    return asyncio.run(run())


def by_aiohttp(url: str) -> Any:
    async def run() -> Any:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:

            async def ask(method: str, place: str, **options: Any) -> Any:
                if "params" in options:
                    options["params"] = {name: str(value) for name, value in options["params"].items()}
                async with session.request(method, place, **options) as response:
                    return await response.json() if await response.read() else response.status

            return await flow(url, ask, lambda: {cookie.key: cookie.value for cookie in session.cookie_jar})

    return asyncio.run(run())


@pytest.mark.parametrize(
    "agent",
    [by_requests, by_httpx, by_async_httpx, by_aiohttp],
    ids=["requests", "httpx", "async httpx", "aiohttp"],
)
def test_what_an_answer_gave_is_handed_on_in_a_replay_as_it_was(
    server: Loopback, tmp_path: Path, agent: Callable[[str], Any]
):
    prepare(server)
    store = tmp_path / "runs.db"
    first, kept = recorded(lambda: agent(server.url), store)
    server.stop()
    assert first[0] == EXACT
    assert first[1][:3] == ["b", "dark-blue", ["a", "csrftoken", "quoted", "short_session", "sid", "theme"]]
    assert replayed(lambda: agent(server.url), kept) == first
    found = [store.read_bytes(), *(raw for _, raw in contents(store))]
    assert [secret for secret in SECRETS.values() if any(secret.encode() in raw for raw in found)] == []
