"""A fork of a run that charged a card, by each kind of tool: nothing is charged unless it is allowed, and then once."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.core.web_server import OPENAI_ANSWER, Web, serving
from tests.patience import PATIENCE_SECONDS

from agent_tt.forking.outside.ledger import effects_of
from agent_tt.forking.policy.policies import ToolPolicy, read_rule
from agent_tt.questions import CallQuestion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

    from agent_tt.model import Run
    from agent_tt.questions import Decision
    from agent_tt.rerunning.handle import RunHandle

pytestmark = pytest.mark.warm("httpx")

BANK = """\
import urllib.request

def post(url):
    return urllib.request.urlopen(urllib.request.Request(url, data=b"{}", method="POST")).status

def debit(url, amount):
    return post(f"{url}/debit/{amount}")
"""

AGENT = """\
import sys
import httpx
import agent_tt
import bank

URL = sys.argv[1]

@agent_tt.tool(effect="write")
def charge(amount):
    return bank.post(f"{URL}/charge/{amount}")

def ask(text):
    request = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(f"{URL}/v1/chat/completions", json=request).json()

def tried(pay, *args):
    try:
        return pay(*args)
    except agent_tt.AgentTTError as error:
        return str(error)

ask("may I?")
ask("how much?")
print(tried(charge, 30), tried(bank.debit, URL, 30), tried(lambda: httpx.post(f"{URL}/pay", json={"amount": 30})))
"""


@pytest.fixture
def shop() -> Iterator[Web]:
    """A model that always says 30; everything else takes money."""
    with serving(OPENAI_ANSWER) as server:
        yield server


def paid_at(shop: Web) -> list[str]:
    """Where money was taken."""
    return [asked.removeprefix("POST ") for asked in shop.asked if "/v1/" not in asked]


@pytest.fixture
def paid(project: Project, shop: Web) -> Run:
    """A run that charged a card in its second step in three ways: its own tool, one named from outside, a request."""
    project.put("bank.py", BANK)
    project.put("agent.py", AGENT)
    command = [sys.executable, "-m", "agent_tt_tui", "record", "--store", str(project.store_path)]
    command += ["--call", "bank.debit=write", "--", sys.executable, "agent.py", shop.url]
    done = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    assert paid_at(shop) == ["/charge/30", "/debit/30", "/pay"]
    shop.forget()
    return project.store.run("latest")


def ledger(project: Project, handle: RunHandle) -> str:
    """What the effects ledger of a fork says, in a line."""
    return effects_of(project.store, project.store.run(handle.run_id)).summary()


def test_nothing_is_charged_by_default_and_once_by_what_is_allowed(project: Project, shop: Web, paid: Run) -> None:
    pay = f"POST {shop.url}/pay"
    plan = project.plan(paid, 1)
    assert [(row.name, row.kind, row.seen, row.policy) for row in plan.writers] == [
        ("charge", "tool", 1, "deny"),
        ("debit", "tool", 1, "deny"),
        (pay, "http", 1, "deny"),
    ]
    handle = project.fork(paid, 1)
    handle.wait()
    assert (handle.result().status, paid_at(shop)) == ("succeeded", [])
    denied = [call.name for call in project.store.calls(handle.run_id, 2) if call.status == "denied"]
    assert denied == ["charge", "debit", pay]
    assert ledger(project, handle) == f"held back: charge ×1, debit ×1, {pay} ×1"
    for allowed, charged in ((["debit"], ["/debit/30"]), (["charge", pay], ["/charge/30", "/pay"])):
        handle = project.fork(paid, 1, allow=allowed)
        handle.wait()
        assert (handle.result().status, paid_at(shop)) == ("succeeded", charged)
        held_back = [name for name in ("charge", "debit", pay) if name not in allowed]
        went_out, kept = (", ".join(f"{name} ×1" for name in names) for names in (allowed, held_back))
        assert ledger(project, handle) == f"went out: {went_out}; held back: {kept}"
        shop.forget()


def test_ask_shows_the_arguments_and_what_is_edited_is_what_goes_out(project: Project, shop: Web, paid: Run) -> None:
    pay, asked, at_the_till = f"POST {shop.url}/pay", list[CallQuestion](), list[int]()

    def decide(question: CallQuestion) -> Decision:
        asked.append(question)
        at_the_till.append(len(paid_at(shop)))
        match question.name:
            case "charge":
                return question.run(amount=7)
            case "debit":
                return question.run_text('{"amount": 8}')
        return question.run(body={"amount": 9, "note": "less"})

    shop.forget()
    rules = [(name, read_rule("ask")) for name in ("charge", "debit", pay)]
    handle = project.fork(paid, 1, policy=ToolPolicy(tuple(rules)), asked=decide)
    assert handle.result().status == "succeeded"
    assert at_the_till == [0, 1, 2], "nothing goes out before somebody has decided"
    assert [(each.name, each.effect, each.step) for each in asked[:2]] == [
        ("charge", "write", 2),
        ("debit", "write", 2),
    ]
    assert asked[0].args == {"amount": 30}
    assert asked[1].args == {"url": shop.url, "amount": 30}
    assert asked[2].args["body"] == {"amount": 30}
    assert asked[2].editable == ("url", "body")
    assert paid_at(shop) == ["/charge/7", "/debit/8", "/pay"]
    assert json.loads(shop.bodies[-1]) == {"amount": 9, "note": "less"}
    rows = [call for call in project.store.calls(handle.run_id, 2) if "answered" in call.meta]
    assert [(call.args.get("amount"), call.meta["args_asked"]) for call in rows[:2]] == [
        (7, {"amount": 30}),
        (8, {"amount": 30}),
    ]
    assert rows[2].args["body"] == {"amount": 9, "note": "less"}
    assert rows[2].meta["args_asked"] == {"body": {"amount": 30}}
    assert [call.meta["answered"]["by"] for call in rows] == ["program"] * 3
    effects = effects_of(project.store, project.store.run(handle.run_id))
    assert [(row.name, row.happened, row.because) for row in effects.rows] == [
        (name, "sent edited", "a program") for name in ("charge", "debit", pay)
    ]
    assert [(row.args, row.asked) for row in effects.rows[:2]] == [
        ({"amount": 7}, {"amount": 30}),
        ({"url": shop.url, "amount": 8}, {"amount": 30}),
    ]
    assert effects.rows[2].asked == {"body": {"amount": 30}}
