"""A home-made framework keeps its tools in an object: the conversation shows them, and no fork runs them unasked."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from tests.served_in_thread import served

import agent_tt
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

AGENT = """
import json, sys
import openai, agent_tt

def lookup(q):
    return f"found {q}"

def charge(amount):
    with open("charges.txt", "a") as file:
        file.write(f"{amount}\\n")
    return f"charged {amount}"

@agent_tt.tool
def note(text):
    return f"noted {text}"

class Framework:
    def __init__(self, *tools):
        self.tools = {tool.__name__: tool for tool in tools}

    def run(self, client, messages):
        schema = {"type": "object", "properties": {}}
        offered = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in self.tools]
        while True:
            answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=offered)
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                result = self.tools[call.function.name](**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

def main():
    client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-secret", max_retries=0)
    print(Framework(lookup, charge, note).run(client, [{"role": "user", "content": "charge me"}]))

if __name__ == "__main__":
    main()
"""

TURNS = (
    (("lookup", {"q": "price"}), ("lookup", {"q": "stock"})),
    (("charge", {"amount": 7}), ("note", {"text": "paid"})),
)
"""What the model asks for, turn by turn; then it says that it is done."""


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        message: dict[str, object] = {"role": "assistant", "content": "Done."}
        if turn < len(TURNS):
            calls = [
                {"id": f"c{turn}{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for at, (name, given) in enumerate(TURNS[turn])
            ]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "stop" if turn >= len(TURNS) else "tool_calls"}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]}
        sent = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def model() -> Iterator[str]:
    with served(ThreadingHTTPServer(("127.0.0.1", 0), Model)) as server:
        yield f"http://127.0.0.1:{server.server_port}/v1"


@pytest.fixture
def recorded(project: Project) -> Iterator[Project]:
    pytest.importorskip("openai")
    project.write(agent=AGENT)
    with model() as url:
        done = project.record("agent.py", url)
        assert (done.code, done.err, done.out) == (0, "", "Done.\n")
        lines = done.told.splitlines()
        assert [line.removeprefix("agent-tt: ") for line in lines[1:]] == [
            "`lookup` was asked for 2 times and is not recorded: a fork runs it live",
            "`charge` was asked for once and is not recorded: a fork runs it live",
        ]
        yield project


def charges(project: Project) -> list[str]:
    return (project.folder / "charges.txt").read_text().split()


def test_what_only_the_conversation_shows_is_a_row_and_is_counted(recorded: Project) -> None:
    shown = json.loads(recorded.agent_tt("show", "agent", "--json").out)
    assert [(each["step"], each["name"], each["args"], each["result"]) for each in shown["unrecorded"]] == [
        (1, "lookup", {"q": "price"}, "found price"),
        (1, "lookup", {"q": "stock"}, "found stock"),
        (2, "charge", {"amount": 7}, "charged 7"),
    ]
    assert [[call["name"] for call in step["calls"] if call["kind"] == "tool"] for step in shown["steps"]] == [
        [], ["note"], [],
    ]  # fmt: skip
    out = recorded.agent_tt("show", "agent").out
    assert out.count("seen in the conversation") == 3
    assert "charged 7" in recorded.agent_tt("show", "agent@2").out
    assert "agent · 3 unrecorded" in recorded.agent_tt("runs").out
    assert json.loads(recorded.agent_tt("runs", "--json").out)[0]["metadata"]["asked_unrecorded"] == {
        "lookup": 2,
        "charge": 1,
    }


def test_a_fork_is_refused_unless_each_of_them_is_allowed(recorded: Project) -> None:
    refused = recorded.agent_tt("fork", "agent", "--at", "1")
    assert refused.code == 2
    assert "lookup, charge: tools that nothing records" in refused.told
    assert "--allow lookup --allow charge" in refused.err
    assert recorded.agent_tt("fork", "agent", "--at", "1", "--allow", "lookup").code == 2
    planned = recorded.agent_tt("fork", "agent", "--at", "1", "--dry-run").out
    assert "`charge` was asked for once and is not recorded: a fork runs it live" in planned
    assert "it does not start unless charge is allowed: nothing records it" in planned
    (row,) = [line for line in planned.splitlines() if line.startswith("charge (nothing records it)")]
    assert "not held" in row
    assert "deny" not in row
    shape = json.loads(recorded.agent_tt("fork", "agent", "--at", "1", "--allow", "lookup", "--dry-run", "--json").out)
    assert shape["unheld"] == ["charge"]
    assert charges(recorded) == ["7"]
    done = recorded.agent_tt("fork", "agent", "--at", "1", "--allow", "lookup", "--allow", "charge", "--allow", "note")
    assert done.code == 0, done.err
    assert charges(recorded) == ["7", "7"]


def test_what_is_said_to_read_runs_and_later_forks_know_it(recorded: Project) -> None:
    def policies(*more: str) -> dict[str, str]:
        plan = json.loads(recorded.agent_tt("fork", "agent", "--at", "1", "--dry-run", "--json", *more).out)
        return {row["name"]: row["policy"] for row in plan["boundary"] if row["kind"] == "tool"}

    assert policies() == {"lookup": "deny", "charge": "deny", "note": "deny"}
    assert policies("--effect", "lookup=read") == {"lookup": "live", "charge": "deny", "note": "deny"}
    assert policies() == {"lookup": "deny", "charge": "deny", "note": "deny"}
    assert recorded.agent_tt("fork", "agent", "--at", "1", "--effect", "charge=reads").code == 2
    options = ("--effect", "lookup=read", "--effect", "note=read", "--allow", "charge")
    done = recorded.agent_tt("fork", "agent", "--at", "1", *options)
    assert done.code == 0, done.err
    assert policies() == {"lookup": "live", "charge": "deny", "note": "live"}
    fork = json.loads(recorded.agent_tt("show", "agent/fork-1", "--json").out)
    assert [
        (call["name"], call["effect"]) for step in fork["steps"] for call in step["calls"] if call["kind"] == "tool"
    ]
    (note,) = [call for step in fork["steps"] for call in step["calls"] if call["name"] == "note"]
    assert note["effect"] == "read"
    assert policies("--effect", "lookup=write") == {"lookup": "deny", "charge": "deny", "note": "live"}


def test_code_says_what_a_tool_does_and_a_rule_is_stronger_than_what_is_allowed(recorded: Project) -> None:
    store = recorded.store_path
    with pytest.raises(UsageError, match="read or write, not 'reads'"):
        agent_tt.fork("agent", 1, store=store, effects={"charge": "reads"})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="charge: a tool that nothing records"):
        agent_tt.fork("agent", 1, store=store, effects={"lookup": "read"}, allow=["charge"], policy={"charge": "deny"})
    said = {"lookup": "read", "charge": "read", "note": "read"}
    done = agent_tt.fork("agent", 1, store=store, effects=said).result()  # type: ignore[arg-type]
    assert done.facts.effects == said
    refused = recorded.agent_tt(
        "sweep", "agent", "--at", "1", "--samples", "2", "--effect", "lookup=write", "--dry-run"
    )
    assert "lookup: a tool that nothing records" in refused.told
