"""The official client of the Model Context Protocol, over standard input and output and over HTTP on loopback.

It knows nothing of the store: what it does next it reads off the answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.core.serving.asking import FLAKY
from tests.core.serving.slow_agent import record_slow
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt import samples

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.warm("mcp.server.lowlevel", "mcp.server.stdio", "uvicorn")

TOKEN = "a token that nobody guesses"
READING = {
    *("runs", "overview", "oddities", "step", "state", "call", "effects", "blame", "find", "where", "diff", "compare"),
    *("context", "links", "range"),
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    for name in (FLAKY, "refund-loop"):
        samples.ensure(name, path)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "AGENT_TT_MCP_TOKEN": TOKEN,
    }


def words(store: Path, *options: str) -> list[str]:
    return ["-m", "agent_tt_tui", "mcp", "--store", str(store), *options]


@asynccontextmanager
async def over_stdio(store: Path, environment: dict[str, str], *options: str) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=sys.executable, args=words(store, *options), env=environment, cwd=store.parent
    )
    async with Client(stdio_client(parameters)) as client:
        yield client


@asynccontextmanager
async def serving(store: Path, environment: dict[str, str], *options: str) -> AsyncIterator[str]:
    """A server over HTTP; gives its address."""
    with subprocess.Popen(
        [sys.executable, *words(store, "--http", "0", *options)],
        env=environment,
        cwd=store.parent,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            line = await asyncio.to_thread(process.stderr.readline)
            yield line.rpartition(" ")[2].strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_SECONDS)


@asynccontextmanager
async def over_http(store: Path, environment: dict[str, str], *options: str) -> AsyncIterator[Client]:
    async with (
        serving(store, environment, *options) as url,
        httpx_client(BEARER) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def httpx_client(headers: dict[str, str]) -> Any:
    """The client that the SDK's transport takes."""
    from mcp.shared._httpx_utils import create_mcp_http_client

    return create_mcp_http_client(headers=headers)


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    answer = json.loads(content.text)
    assert bool(result.is_error) == (set(answer) == {"error"})
    return answer


async def find_cause(client: Client) -> dict[str, Any]:
    """The cause of a run's failure, by somebody who believes the answers and nothing else."""
    overview = None
    for run in (await ask(client, "runs"))["runs"]:
        found = await ask(client, "overview", run=run["run"])
        if any(odd["kind"] == "first error" for odd in found["oddities"]) and found["answer"] and found["did"]:
            overview = found if "refused" in found["answer"] else overview
    assert overview is not None
    # What failed first, and with which arguments?
    step = await ask(client, "step", at=overview["first_error"])
    failed = next(call for call in step["calls"] if call["status"] == "error")
    (suspect,) = [name for name, value in failed["args"].items() if isinstance(value, int | float)]
    # Where in the state is that value, and who wrote it there?
    value = failed["args"][suspect]
    state = (await ask(client, "state", at=overview["first_error"]))["value"]
    path = next(
        f"{outer}.{inner}"
        for outer, part in state.items()
        if isinstance(part, dict)
        for inner, held in part.items()
        if held == value
    )
    blame = await ask(client, "blame", at=overview["first_error"], path=path)
    link = next(link for link in blame["trail"] if link["at"] == blame["made"]["at"])
    # The service that made it counts in another unit than the payment.
    payment = (await ask(client, "state", at=overview["first_error"], path=path.partition(".")[0]))["value"]
    return {
        "step": blame["writes"][0]["at"],
        "call": blame["made"]["at"],
        "path": path,
        "value": value,
        "unit": json.loads(link["beside"]["unit"]),
        "currency": payment["currency"],
        "failed": failed["name"],
    }


@pytest.mark.parametrize("over", [over_stdio, over_http])
async def test_a_client_finds_the_cause_of_flaky_checkout_and_the_fork_that_mends_it(over, store, environment):
    leave = ("--allow-runs", "--allow", "charge_card", "--allow", "place_order")
    async with over(store, environment, *leave) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {*READING, "fork", "replay"}
        cause = await find_cause(client)
        assert cause["unit"] == "cent"
        assert cause["currency"] == "EUR"
        assert cause["path"] == "payment.amount"
        assert cause["step"].endswith("@6")

        edit = f"set {cause['path']}={cause['value'] / 100}"
        plan = await ask(client, "fork", at=cause["step"], edits=[edit])
        assert plan["dry_run"] is True
        assert {call["name"]: call["policy"] for call in plan["calls"]}["charge_card"] == "live"
        before = {run["run"] for run in (await ask(client, "runs"))["runs"]}

        expect = "payment.receipt != null"
        fork = await ask(client, "fork", at=cause["step"], edits=[edit], dry_run=False, expect=expect, wait=300)
        assert fork["status"] == "succeeded"
        assert fork["expect"]["came"] is True
        assert fork["answer"].startswith("Thank you! 136.84 EUR are paid")
        assert fork["diverged_at"].endswith("@7")
        assert [effect["name"] for effect in fork["effects"]] == ["charge_card", "place_order"]
        assert fork["run"] not in before

        compared = await ask(client, "compare", a=fork["fork_of"].rpartition("@")[0], b=fork["run"])
        assert compared["differs"] is True
        assert compared["b"]["answer"] == fork["answer"]
        assert (await ask(client, "replay", run=fork["fork_of"].rpartition("@")[0]))["verdict"] == "as_recorded"
    with closing(agent_tt.open_source(store)) as source:
        assert source.run(fork["run"]).edits[0].path == "payment.amount"


@pytest.mark.cold  # the server is known by its command line
@pytest.mark.parametrize("over", [over_stdio, over_http])
async def test_without_leave_the_cause_is_found_and_nothing_runs(over, store, environment):
    with closing(agent_tt.open_source(store, read_only=True)) as source:
        before = [(run.id, run.steps) for run in source.runs(archived=True)]
    bytes_before = store.read_bytes()
    async with over(store, environment) as client:
        children = psutil.Process().children(recursive=True)
        (server,) = [child for child in children if str(store) in child.cmdline()]
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == READING
        assert all(tool.annotations.read_only_hint for tool in tools)
        cause = await find_cause(client)
        assert cause["path"] == "payment.amount"
        for tool in ("fork", "replay"):
            answer = await ask(client, tool, at=cause["step"], run=FLAKY, dry_run=False, allow=["charge_card"])
            assert "no tool" in answer["error"]["message"]
        assert server.children() == []
    with closing(agent_tt.open_source(store, read_only=True)) as source:
        assert [(run.id, run.steps) for run in source.runs(archived=True)] == before
    assert store.read_bytes() == bytes_before


async def test_with_leave_to_run_tools_that_write_stay_denied_and_no_client_can_allow_them(store, environment):
    async with over_stdio(store, environment, "--allow-runs") as client:
        run = {"at": f"{FLAKY}@6", "edits": ["set payment.amount=136.84"], "dry_run": False}
        wider = {"allow": ["charge_card"], "policy": ["charge_card=live"], "effects": ["charge_card=read"]}
        for name, words in wider.items():
            widening = {name: words}
            assert "takes no" in (await ask(client, "fork", **run, **widening))["error"]["message"]
        fork = await ask(client, "fork", **run, wait=300)
        assert {effect["happened"] for effect in fork["effects"]} == {"denied"}
        assert (fork["status"], fork["answer"]) == ("failed", None)
        assert "denies it" in fork["error"]


@pytest.mark.parametrize("over", [over_stdio, over_http])
async def test_a_client_asks_what_fed_a_step_and_what_a_range_of_steps_did(over, store, environment):
    async with over(store, environment) as client:
        run = next(each["run"] for each in (await ask(client, "runs"))["runs"] if each["name"] == FLAKY)
        links = await ask(client, "links", at=f"{run}@3")
        assert {each["known"] for each in links["links"]} <= {"recorded", "inferred from equal texts"}
        assert all(
            f"{run}@3" in (each["at"].partition("#")[0], each["fed"].partition("#")[0]) for each in links["links"]
        )
        some = await ask(client, "range", at=f"{run}@3..7")
        assert (some["from"], some["to"], some["since"], some["steps"]) == (f"{run}@3", f"{run}@7", f"{run}@2", 5)


async def test_several_clients_ask_at_once(store, environment):
    async with serving(store, environment) as url:

        async def one(number: int) -> list[Any]:
            async with httpx_client(BEARER) as http, Client(streamable_http_client(url, http_client=http)) as client:
                asked = [
                    ask(client, "state", at=f"{FLAKY}@{number}", path="payment.amount"),
                    ask(client, "overview", run=FLAKY),
                    ask(client, "find", text="refused", runs=[FLAKY]),
                ]
                state, overview, found = await asyncio.gather(*asked)
                return [state["value"], overview["steps"], found["total"]]

        answers = await asyncio.gather(*map(one, range(10)))
    assert answers == [[None if number < 6 else 13684, 10, 18] for number in range(10)]


BEARER = {"Authorization": f"Bearer {TOKEN}"}
REQUESTS: list[tuple[dict[str, str], int]] = [
    ({}, 401),
    ({"Authorization": "Bearer another token"}, 401),
    ({"Authorization": f"Basic {TOKEN}"}, 401),
    ({**BEARER, "Host": "evil.example"}, 421),
    ({**BEARER, "Host": "127.0.0.1:1"}, 421),
    ({**BEARER, "Origin": "http://evil.example"}, 403),
    ({**BEARER, "Origin": "null"}, 403),
    (BEARER, 200),
]


async def test_over_http_only_who_has_the_token_and_names_this_address_is_answered(store, environment):
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    accepts = {"Accept": "application/json, text/event-stream"}
    async with serving(store, environment) as url, httpx.AsyncClient() as http:
        assert url.startswith("http://127.0.0.1:")
        for headers, status in REQUESTS:
            answer = await http.post(url, json=asked, headers={**accepts, **headers})
            assert answer.status_code == status, headers
        assert (await http.post(url, content=b"x" * 2_000_000, headers={**accepts, **BEARER})).status_code == 413


async def test_the_server_listens_on_loopback_alone(store, environment):
    async with serving(store, environment) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        listening = [
            connection.laddr
            for process in psutil.Process().children(recursive=True)
            for connection in process.net_connections(kind="inet")
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        ]
        assert {address.ip for address in listening} == {"127.0.0.1"}


async def test_a_client_that_leaves_takes_its_fork_with_it(tmp_path, environment):
    store = tmp_path / "runs.db"
    record_slow(store, environment)
    (tmp_path / "hold").touch()
    async with over_stdio(store, environment, "--allow-runs") as client:
        fork = asyncio.ensure_future(client.call_tool("fork", {"at": "slow@1", "dry_run": False, "wait": 300}))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (tmp_path / "pid").exists():
                await asyncio.sleep(0.05)
        assert await ask(client, "fork", at="slow@1", dry_run=False) == {
            "error": {
                "kind": "usage",
                "message": "another agent runs",
                "hint": "Wait for its end: overview shows how far it is.",
            }
        }
        pid = int((tmp_path / "pid").read_text())
        assert psutil.pid_exists(pid)
        fork.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fork
        psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=PATIENCE_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            overview = await ask(client, "overview", run="slow/fork-1")
            while overview["status"] == "running":
                await asyncio.sleep(0.05)
                overview = await ask(client, "overview", run="slow/fork-1")
        assert overview["status"] == "interrupted"
