"""Secrets of every kind through real clients: none reaches the file, and a replay works with what stands for them."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
from tests.core.seams.runs import recorded, replayed
from tests.core.stored_bytes import contents

import agent_tt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.loopback import Loopback

    Ask = Callable[..., Any]

SENT = {
    "bearer": "b3arer-value-1", "basic": "basicpassw0rd", "x-api-key": "x-api-key-v4lue", "goog": "goog-k3y-value",
    "key": "querykey-v4lue", "access": "queryacc3ss", "cookie": "c00kie-value", "form": "f0rm-client-secret",
    "part": "multip4rt-pw", "named": "n4med-secret", "shape": "sk-proj-Abc123Def456Ghi789",
}  # fmt: skip
GIVEN = {
    "cookie": "s3t-cookie-value", "access": "opaque-acc3ss", "refresh": "opaque-r3fresh", "token": "abc123def456",
    "password": "hunter2", "header": "resp-auth-t0ken", "packed": "p4cked-token-value", "location": "locat10n-token",
}  # fmt: skip


def prepare(server: Loopback) -> None:
    said = {
        "access_token": GIVEN["access"], "refresh_token": GIVEN["refresh"], "token": GIVEN["token"],
        "password": GIVEN["password"], "token_type": "Bearer", "expires_in": 3600, "token_count": 3,
    }  # fmt: skip
    kind = {"Content-Type": "application/json"}
    cookie = {"Set-Cookie": f"sid={GIVEN['cookie']}; Path=/; HttpOnly", "X-Auth-Token": GIVEN["header"]}
    packed = gzip.compress(json.dumps({"access_token": GIVEN["packed"], "pad": "x" * 200}).encode())
    server.bodies["/token"] = [(200, {**kind, **cookie}, json.dumps(said).encode())]
    server.bodies["/packed"] = [(200, {**kind, "Content-Encoding": "gzip"}, packed)]
    server.bodies["/moved"] = [(302, {**kind, "Location": f"/echo?access_token={GIVEN['location']}"}, b"{}")]
    server.bodies["/shape"] = [(200, kind, json.dumps({"text": f"use {SENT['shape']}, please"}).encode())]


async def flow(url: str, ask: Ask) -> Any:
    """What agents do with secrets: `ask(method, url, **of requests)` gives the JSON of an answer."""
    headers = {
        "Authorization": f"Bearer {SENT['bearer']}", "x-api-key": SENT["x-api-key"], "x-goog-api-key": SENT["goog"],
        "Cookie": f"c={SENT['cookie']}", "Proxy-Authorization": f"Basic {SENT['basic']}",
    }  # fmt: skip
    seen = [await ask("GET", f"{url}/empty?key={SENT['key']}&access_token={SENT['access']}&q=1", headers=headers)]
    token = await ask("POST", f"{url}/token", data={"client_secret": SENT["form"], "grant_type": "x"})
    seen += [token["expires_in"], token["token_type"], token["token_count"]]
    await ask("POST", f"{url}/empty", headers={"Authorization": f"Bearer {token['access_token']}"})
    handed_on = {"session": token["access_token"], "code": token["token"], "msgs": [{"content": token["password"]}]}
    await ask("POST", f"{url}/empty", json={**handed_on, "nested": {"client_secret": SENT["named"]}, "max_tokens": 5})
    await ask("GET", f"{url}/empty?session={token['refresh_token']}")
    packed = await ask("GET", f"{url}/packed")
    await ask("GET", f"{url}/empty", headers={"Authorization": f"Bearer {packed['access_token']}"})
    shape = await ask("GET", f"{url}/shape")
    await ask("POST", f"{url}/empty", json={"back": shape["text"]})
    await ask("GET", f"{url}/moved")
    return seen


def by_requests(url: str) -> Any:
    with requests.Session() as session:

        async def ask(method: str, place: str, **options: Any) -> Any:
            response = session.request(method, place, auth=("user", SENT["basic"]), **options)
            return response.json() if response.content else response.status_code

        seen = asyncio.run(flow(url, ask))
        session.post(f"{url}/empty", files={"password": (None, SENT["part"]), "f": ("a.txt", SENT["shape"])})
        return seen, sorted(session.cookies.get_dict())


def by_httpx(library: Any) -> Ask:
    def agent(url: str) -> Any:
        with library.Client(follow_redirects=True, auth=("user", SENT["basic"])) as client:

            async def ask(method: str, place: str, **options: Any) -> Any:
                response = client.request(method, place, **options)
                return response.json() if response.content else response.status_code

            return asyncio.run(flow(url, ask)), sorted(client.cookies)

    return agent


def by_aiohttp(url: str) -> Any:
    async def run() -> Any:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:

            async def ask(method: str, place: str, **options: Any) -> Any:
                async with session.request(method, place, **options) as response:
                    return await response.json() if await response.read() else response.status

            return await flow(url, ask), sorted(cookie.key for cookie in session.cookie_jar)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "agent",
    [by_requests, by_httpx(httpx), by_httpx(httpx2), by_aiohttp],
    ids=["requests", "httpx", "httpx2", "aiohttp"],
)
def test_no_secret_reaches_the_file_and_a_replay_works_without(
    server: Loopback, tmp_path: Path, agent: Callable[[str], Any]
):
    prepare(server)
    store = tmp_path / "runs.db"
    first, kept = recorded(lambda: agent(server.url), store)
    assert [method for method, _, _ in server.seen].count("/empty") >= 6
    server.stop()
    found = [store.read_bytes(), *(raw for _, raw in contents(store))]
    secrets = [*SENT.values(), *GIVEN.values(), base64.b64encode(f"user:{SENT['basic']}".encode()).decode()]
    assert [secret for secret in secrets if any(secret.encode() in raw for raw in found)] == []
    assert replayed(lambda: agent(server.url), kept) == first


@agent_tt.tool(effect="read")
def look_up(user: str) -> dict[str, Any]:
    return {"user": user, "password": GIVEN["password"], "raw": SENT["shape"].encode(), "pair": (SENT["shape"],)}


@agent_tt.tool(effect="write")
def log_in(user: str, code: str, api_key: str = SENT["named"]) -> str:
    if api_key != SENT["named"]:
        raise AssertionError
    raise PermissionError(f"{user} may not: Account(password='{GIVEN['password']}', key={SENT['shape']})")


def test_tools_states_and_errors_keep_no_secret_either(tmp_path: Path):
    store = tmp_path / "runs.db"
    state: dict[str, Any] = {"log": [], "argv": ["--token", GIVEN["token"]], "name": "api_key", "value": SENT["named"]}

    def agent() -> Any:
        found = look_up("ann")
        with pytest.raises(PermissionError) as caught:
            log_in(found["user"], found["password"])
        return found["user"], type(caught.value)

    metadata = {"arguments": ["--api-key", SENT["named"], f"--password={GIVEN['password']}"]}
    with agent_tt.record("x", store=store, state=state, metadata=metadata) as run:
        for turn in range(4):  # the state is compared with what was kept, which is not what it holds
            with run.step("turn"):
                state["log"].append({"turn": turn, "auth": f"Bearer {SENT['bearer']}"})
                state["turn"] = turn
                first = agent()
    found = [store.read_bytes(), *(raw for _, raw in contents(store))]
    secrets = [SENT["shape"], SENT["named"], SENT["bearer"], GIVEN["password"], GIVEN["token"]]
    assert [secret for secret in secrets if any(secret.encode() in raw for raw in found)] == []
    source = agent_tt.open_source(store)
    changes = source.changes(source.run("latest").id, 3)
    assert sorted(str(change[1]) for change in changes) == ["['log']", "['turn']"]
    source.close()

    def four_times() -> Any:
        return [agent() for _ in range(4)][-1]

    from agent_tt.replaying.block import served

    with served("latest", store=store) as replay:
        assert four_times() == first
    assert not replay.findings
