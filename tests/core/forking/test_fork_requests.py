"""What a fork lets its agent request: nothing that may change the world, unless that is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.core.web_server import Web, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

pytestmark = pytest.mark.warm("httpx")

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


@pytest.fixture
def shop() -> Iterator[Web]:
    with serving({}) as server:
        yield server


@pytest.mark.parametrize(
    ("allow", "charged"),
    [
        ((), []),
        (("POST http://127.0.0.1:*/charge",), ["POST /charge"]),
        (("charge",), ["POST /tool"]),
    ],
)
def test_a_card_is_charged_only_by_what_is_allowed(
    project: Project, shop: Web, allow: tuple[str, ...], charged: list[str]
) -> None:
    url = shop.url
    project.put("agent.py", AGENT)
    run = project.record("-c", f"import agent; agent.main({{'url': {url!r}, 'seen': []}})")
    assert shop.asked == ["GET /price", "POST /charge", "POST /tool"]
    shop.forget()
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
