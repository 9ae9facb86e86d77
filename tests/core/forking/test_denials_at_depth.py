"""What a person denies is denied wherever it is made: also inside a tool that they have let run."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import socket
import subprocess
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.core.web_server import OPENAI_ANSWER, serving

import agent_tt
from agent_tt.errors import ToolDenied, UsageError
from agent_tt.intercepting.policy import ToolPolicy, is_about_network
from agent_tt.intercepting.rules import read_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Project
    from fork_here import Here, Listener

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # what was refused leaves its socket open


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    gc.collect()


@agent_tt.tool(effect="write")
def work(way: Callable[[], object]) -> object:
    return way()


@agent_tt.tool(effect="write")
def nested(way: Callable[[], object]) -> object:
    return work(way)


@agent_tt.tool(effect="write")
async def work_async(way: Callable[[], object]) -> object:
    async def inner() -> object:
        return await asyncio.to_thread(way)

    return await asyncio.create_task(inner())


def in_thread(way: Callable[[], object]) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(way).result()


def in_plain_thread(way: Callable[[], object]) -> object:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            way()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return None


DEPTHS: dict[str, Callable[[Callable[[], object]], object]] = {
    "in the tool": work,
    "in a tool inside it": nested,
    "in a thread of it": lambda way: work(lambda: in_thread(way)),
    "in a plain thread of it": lambda way: work(lambda: in_plain_thread(way)),
    "in a task of it": lambda way: asyncio.run(work_async(way)),  # type: ignore[arg-type]
}


def ways(port: int) -> dict[str, tuple[str, Callable[[], object]]]:
    """What is tried, with a rule by name that denies it."""
    url, at = f"http://127.0.0.1:{port}/pay", ("127.0.0.1", port)
    return {
        "post": (f"POST http://127.0.0.1:{port}/*", lambda: httpx.post(url)),
        "get": (f"GET http://127.0.0.1:{port}/*", lambda: httpx.get(url)),
        "raw socket": (f"socket 127.0.0.1:{port}", lambda: socket.create_connection(at).close()),
        "connection of a request": (f"socket 127.0.0.1:{port}", lambda: httpx.get(url)),
        "urllib": (f"POST http://127.0.0.1:{port}/*", lambda: urllib.request.urlopen(url, b"{}").close()),
        "process": ("subprocess true", lambda: subprocess.run(["true"], check=True)),
        "shell": ("subprocess true", lambda: os.system("true")),
    }


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_rule_by_name_holds_at_every_depth(here: Here, depth: str) -> None:
    with serving(OPENAI_ANSWER) as web:
        let = {"work": "live", "nested": "live", "work_async": "live"}
        for name, (rule, way) in ways(web.server_port).items():
            with here.step(**let):
                DEPTHS[depth](way)  # without a rule it is the tool's own doing
            web.forget()
            with here.step(**let, **{rule: "deny"}), pytest.raises(ToolDenied):
                DEPTHS[depth](way)
            assert web.asked == [], name
            assert [call.status for call in here.calls if call.kind != "tool"][-1:] == ["denied"], name
            assert here.outside == [], "the tool is recorded, and so is what was denied in it"


@pytest.mark.parametrize(
    ("rule", "denied"),
    [
        ("*http", {"post", "get", "urllib", "process", "shell"}),  # no guard stands inside a program
        ("*write", {"post", "raw socket", "urllib", "process", "shell"}),
        ("*read", {"get"}),
        ("*socket", {"raw socket", "process", "shell"}),
        ("*subprocess", {"process", "shell"}),
        ("*", {"post", "get", "raw socket", "urllib", "process", "shell", "connection of a request"}),
    ],
)
def test_a_rule_for_a_boundary_holds_inside_a_tool(here: Here, rule: str, denied: set[str]) -> None:
    with serving(OPENAI_ANSWER) as web:
        for name, (_, way) in ways(web.server_port).items():
            held = name in denied or (name == "connection of a request" and "get" in denied)
            with here.step(work="live", **{rule: "deny"}), pytest.raises(ToolDenied) if held else nullcontext():
                work(way)


def test_what_a_tool_does_where_nothing_records_it_is_denied_and_counted(here: Here, listener: Listener) -> None:
    with here.guarded(work="live", **{f"socket 127.0.0.1:{listener.port}": "deny"}):
        with pytest.raises(ToolDenied):
            work(lambda: socket.create_connection(listener.address))
        work(int)
    assert listener.heard() == 0
    said = [(row.name, row.happened, row.because) for row in here.outside]
    assert said == [
        ("work", "sent", "you"),
        (f"socket 127.0.0.1:{listener.port}", "denied", "you"),
        ("work", "sent", "you"),
    ]


def test_a_tool_inside_a_tool_is_denied_by_name(here: Here) -> None:
    done: list[str] = []

    @agent_tt.tool(effect="read")
    def log_payment() -> None:
        done.append("logged")

    with here.step(work="live", log_payment="deny"), pytest.raises(ToolDenied, match="log_payment"):
        work(log_payment)
    assert done == []


def test_a_process_that_a_tool_forks_is_under_the_same_rule(here: Here, listener: Listener) -> None:
    def forked() -> None:
        process = multiprocessing.get_context("fork").Process(target=lambda: socket.create_connection(listener.address))
        process.start()
        process.join()

    with here.step(work="live", **{"*socket": "deny"}):
        work(forked)
    assert listener.heard() == 0
    assert ("socket", f"socket 127.0.0.1:{listener.port}", "denied") in here.said


def test_a_rule_that_cannot_be_held_is_refused_before_anything_runs(project: Project) -> None:
    run = project.made("agent:main", {"n": 1})

    def plan(**rules: str) -> object:
        return project.plan(run, 0, policy=ToolPolicy(tuple((name, read_rule(text)) for name, text in rules.items())))

    for denied in ("*http", "*socket", "*llm", "POST https://host/*", "socket host:1"):
        for let in ("*subprocess", "subprocess curl"):
            with pytest.raises(UsageError, match="cannot be held"):
                plan(**{denied: "deny", let: "live"})
            with pytest.raises(UsageError, match="cannot be held"):
                plan(**{denied: "deny", let: "ask"})
        plan(**{denied: "deny", "*subprocess": "deny", "charge": "live"})
    plan(**{"charge": "deny", "*write": "deny", "*subprocess": "live"})


def test_which_rules_are_about_the_network() -> None:
    for name in ("*http", "POST http://a/*", "* http://a/*", "http*://a/*", "socket a:1"):
        assert is_about_network(name), name
    for name in ("charge", "charge_*", "*write", "*subprocess", "subprocess curl", "POST"):
        assert not is_about_network(name), name


def test_a_tool_writes_its_files_under_a_rule_that_denies_its_requests(project: Project) -> None:
    """In a process of its own: whoever asks where temporary files lie is the first to do so there."""
    project.put(
        "agent.py",
        "import agent_tt\nfrom pathlib import Path\n\n"
        "@agent_tt.tool(effect='write')\ndef save(text):\n    return Path('saved').write_text(text)\n\n"
        "def main(state=None):\n    state = state or {'saved': 0}\n"
        "    with agent_tt.record('saver', state=state) as run, run.step('save'):\n"
        "        state['saved'] = save('text')\n\n"
        "if __name__ == '__main__':\n    main()\n",
    )
    run = project.record("agent.py")
    denied = ToolPolicy((("POST http://127.0.0.1:1/*", read_rule("deny")),))
    handle = project.fork(run, 0, allow=["save"], policy=denied)
    assert handle.result().status == "succeeded"
    assert project.state(handle, 1) == {"saved": 4}
