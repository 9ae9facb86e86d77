"""What a fork lets its agent request: nothing that may change the world, unless that is allowed."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

AGENT = """\
import httpx
import agent_tt
from agent_tt.errors import ToolDenied

@agent_tt.tool(effect="write")
def charge(url):
    return httpx.post(url + "/tool").status_code

def main(state=None):
    state = state or {"url": "", "seen": []}
    with agent_tt.record("shop", state=state, agent="agent.py:main") as run:
        with run.step("look"):
            state["seen"].append(httpx.get(state["url"] + "/price").status_code)
        with run.step("pay"):
            for pay in (lambda: httpx.post(state["url"] + "/charge").status_code, lambda: charge(state["url"])):
                try:
                    state["seen"].append(pay())
                except ToolDenied as denied:
                    state["seen"].append(str(denied))
"""


class Shop(ThreadingHTTPServer):
    """Counts what it was asked."""

    asked: list[str]


class Counter(BaseHTTPRequestHandler):
    """Answers everything with an empty success."""

    server: Shop

    def _answer(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST = _answer

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def shop() -> Iterator[Shop]:
    server = Shop(("127.0.0.1", 0), Counter)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("allow", "charged"),
    [
        ((), []),
        (("POST http://127.0.0.1:*/charge",), ["POST /charge"]),
        (("charge",), ["POST /tool"]),
    ],
)
def test_a_card_is_charged_only_by_what_is_allowed(
    project: Project, shop: Shop, allow: tuple[str, ...], charged: list[str]
) -> None:
    url = f"http://127.0.0.1:{shop.server_port}"
    project.put("agent.py", AGENT)
    run = project.record("-c", f"import agent; agent.main({{'url': {url!r}, 'seen': []}})")
    assert shop.asked == ["GET /price", "POST /charge", "POST /tool"]
    shop.asked.clear()
    plan = project.plan(run, 0, allow=allow)
    assert {row.name for row in plan.writers} == {f"POST {url}/charge", "charge"}
    assert not plan.problems
    handle = project.fork(run, 0, allow=allow)
    assert handle.result().status == "succeeded"
    assert shop.asked == ["GET /price", *charged]
    calls = [
        call for step in project.store.steps(handle.run_id) for call in project.store.calls(handle.run_id, step.number)
    ]
    denied = {call.name for call in calls if call.status == "denied"}
    assert len(denied) == 2 - len(charged)
    assert denied <= {f"POST {url}/charge", "charge"}
