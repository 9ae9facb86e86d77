"""An agent on the real `openai` client, recorded without a change to its code, re-entered with edits of every kind.

Where what is edited has nothing to do with the client, the same loop runs on `httpx`: most of the time of a process is
the import of an SDK.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.reentering.support import Project
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import UsageError
from agent_tt.model import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.model import Run

pytest.importorskip("openai")

pytestmark = pytest.mark.warm("openai")

TOOLS = "def look(n):\n    return {'n': n, 'euros': 10 * n}\n"

LOOP = """
        messages.append(message)
        calls = message.get("tool_calls") if isinstance(message, dict) else message.tool_calls
        if not calls:
            break
        for call in calls:
            call = call if isinstance(call, dict) else call.model_dump()
            found = look(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(found)})
    print(message["content"] if isinstance(message, dict) else message.content)
"""

HEAD = """
import asyncio, json, sys
import openai
from tools import look

OPTIONS = {"model": "gpt-4o", "temperature": 0.7}


def new_messages():
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "look around"}]

"""

SYNC = (
    HEAD
    + """
def main():
    client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-x")
    messages = new_messages()
    for _ in range(12):
        message = client.chat.completions.create(messages=messages, **OPTIONS).choices[0].message
"""
    + LOOP
    + "\nmain()\n"
)

BARE = (
    HEAD.replace("import openai", "import httpx")
    + """
def main():
    client = httpx.Client(base_url=sys.argv[1], headers={"authorization": "Bearer sk-x"}, trust_env=False)
    messages = new_messages()
    for _ in range(12):
        answer = client.post("/chat/completions", json={"messages": messages, **OPTIONS})
        message = answer.json()["choices"][0]["message"]
"""
    + LOOP
    + "\nmain()\n"
)

ASYNC = (
    HEAD
    + """
async def main():
    client = openai.AsyncOpenAI(base_url=sys.argv[1], api_key="sk-x")
    messages = new_messages()
    for _ in range(12):
        message = (await client.chat.completions.create(messages=messages, **OPTIONS)).choices[0].message
"""
    + LOOP
    + "\nasyncio.run(main())\n"
)

STREAMED = (
    HEAD
    + """
def joined(chunks):
    text, calls = "", {}
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                call = calls.setdefault(part.index, empty)
                call["id"] += part.id or ""
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    return {"role": "assistant", "content": text or None, "tool_calls": list(calls.values()) or None}


def main():
    client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-x")
    messages = new_messages()
    for _ in range(12):
        message = joined(client.chat.completions.create(messages=messages, stream=True, **OPTIONS))
"""
    + LOOP
    + "\nmain()\n"
)


class Model(BaseHTTPRequestHandler):
    """Lets the agent look at 1, 2, 3, 4; then says what it was asked, and what the tools came to."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)  # type: ignore[attr-defined]
        found = [json.loads(m["content"]) for m in body["messages"] if m["role"] == "tool"]
        is_over = len(found) >= 4 or sum(one["euros"] for one in found) >= 100
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if is_over:
            said = [body["messages"][0]["content"], body["messages"][1]["content"], body["model"]]
            message["content"] = json.dumps([*said, body.get("temperature"), [one["n"] for one in found]])
        else:
            arguments = json.dumps({"n": max([one["n"] for one in found], default=0) + 1})
            call = {"id": f"call_{len(self.server.bodies)}", "type": "function"}  # type: ignore[attr-defined]
            message["tool_calls"] = [{**call, "function": {"name": "look", "arguments": arguments}}]
        reason = "stop" if is_over else "tool_calls"
        base = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return self._send(json.dumps({**base, "choices": [choice]}).encode(), "application/json")
        base["object"] = "chat.completion.chunk"
        if not is_over:
            message["tool_calls"][0]["index"] = 0
        deltas = [
            {"index": 0, "delta": message, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": reason},
        ]
        text = "".join(f"data: {json.dumps({**base, 'choices': [delta]})}\n\n" for delta in deltas)
        return self._send(f"{text}data: [DONE]\n\n".encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


class Recorded(Project):
    """A recorded loop: model calls 1 to 5, a tool after each of the first four."""

    bodies: list[Any]

    def latest(self) -> Run:
        with closing(self.store) as store:
            return store.run(self.handles[-1].run_id)

    def end(self, **options: object) -> tuple[list[Any], list[str]]:
        """What a fork's agent printed, and what was noted; its requests are the only ones since."""
        run = self.forked("agent", **options)  # type: ignore[arg-type]
        assert run.status == "succeeded", run.error
        assert run.way_back_in == "replay"
        printed = self.handles[-1].output().splitlines()[-1]
        return json.loads(printed) if printed.startswith("[") else [printed], self.notes(run)


@contextmanager
def recorded(folder: Any, source: str) -> Iterator[Recorded]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.bodies = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        made = Recorded(folder)
        made.write(source)
        made.write(TOOLS, "tools.py")
        command = [sys.executable, "-m", "agent_tt_tui", "record", "--store", str(made.store_path)]
        url = f"http://127.0.0.1:{server.server_port}/v1"
        done = subprocess.run(
            [*command, "--call", "tools.look=read", "--", sys.executable, "agent.py", url],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        made.bodies = server.bodies  # type: ignore[attr-defined]
        assert len(made.bodies) == 5
        made.bodies.clear()
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("source", [SYNC, ASYNC, STREAMED], ids=["sync", "async", "streamed"])
def test_every_kind_of_edit_makes_the_fork_differ_as_it_says(tmp_path: Any, source: str):
    with recorded(tmp_path, source) as agent:
        said, notes = agent.end(step=3, changes=[Edit("set", "messages[1].content", "look closer")])
        assert said == ["Be brief.", "look closer", "gpt-4o", 0.7, [1, 2, 3, 4]]
        assert any(note.startswith("the agent's own list was changed: `messages` of main (agent.py:") for note in notes)
        assert [body["messages"][1]["content"] for body in agent.bodies] == ["look closer"] * 2  # calls 4 and 5
        if source is SYNC:
            agent.check_replay(agent.latest())
            agent.bodies.clear()
            said, _ = agent.end(results={"2.2.euros": 90})  # of a tool, whatever the client is
            assert said[-1] == [1, 2]
            assert len(agent.bodies) == 1

        agent.bodies.clear()
        assert agent.end(answers={"2": "I saw enough."})[0] == ["I saw enough."]
        assert agent.bodies == []
        assert agent.latest().edits[0].old == [{"name": "look", "arguments": {"n": 2}}]
        if source is SYNC:
            said, _ = agent.end(answers={"2": [{"name": "look", "arguments": {"n": 9}}]})
            assert said[-1] == [1, 9]

        agent.bodies.clear()
        script = [[{"name": "look", "arguments": {"n": 7}}], "That will do."]
        assert agent.end(step=2, script=script)[0] == ["That will do."]
        looks = [call.args for call in agent.calls(agent.latest()) if call.kind == "tool"]
        assert (looks, agent.latest().tags, agent.bodies) == ([{"n": 7}], ("mock",), [])

        agent.bodies.clear()
        said, _ = agent.end(step=3, system="Be long.", model="gpt-5", parameters={"temperature": 0, "seed": 7})
        assert said == ["Be long.", "look around", "gpt-5", 0, [1, 2, 3, 4]]
        assert [(body["model"], body["seed"]) for body in agent.bodies] == [("gpt-5", 7)] * 2


def test_messages_are_removed_and_steps_muted(tmp_path: Any):
    with recorded(tmp_path, BARE) as agent:
        said, _ = agent.end(step=3, mute=[2])
        assert said[-1] == [1, 3, 4, 5]
        said, _ = agent.end(step=3, mute=[3])  # its tool's result is not yet in its own state, and goes too
        assert said[-1] == [1, 2, 3, 4]
        said, _ = agent.end(step=4, changes=[Edit("delete", "messages[3]"), Edit("delete", "messages[2]")])
        assert said[-1] == [2, 3, 4, 5]
        fork = agent.forked("agent", step=3, parameters={"temperature": None})
        assert "temperature" not in agent.bodies[-1]
        agent.bodies.clear()
        agent.check_replay(fork)
        assert agent.bodies == []


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("target", ["answers", "results"])
def test_an_edited_call_is_asked_as_it_was_and_later_requests_are_edited(tmp_path: Any, step: int, target: str):
    edits = {"answers": {f"{step}": [{"name": "look", "arguments": {"n": 9}}]}, "results": {f"{step}.2.euros": 90}}
    with recorded(tmp_path, BARE) as agent:
        fork = agent.forked("agent", system="Be long.", **{target: edits[target]})
        assert (fork.status, fork.error) == ("succeeded", None)
        assert {body["messages"][0]["content"] for body in agent.bodies} == {"Be long."}
        assert fork.facts.edits_without_effect == ()
        agent.bodies.clear()
        agent.check_replay(fork)
        again = agent.forked(fork.id, step, model="gpt-5")
        assert (again.status, again.error) == ("succeeded", None)
        assert {(body["model"], body["messages"][0]["content"]) for body in agent.bodies} == {("gpt-5", "Be long.")}


def test_forks_of_forks_and_other_programs_go_on_as_they_say(tmp_path: Any):
    with recorded(tmp_path, BARE) as agent:
        said, _ = agent.end(step=0, changes={"messages[1].content": "look elsewhere"})
        assert said[:2] == ["Be brief.", "look elsewhere"]
        assert [body["messages"][1]["content"] for body in agent.bodies] == ["look elsewhere"] * 5

        agent.bodies.clear()
        agent.write(BARE.replace("    print(", "    print('other')\n    print("), "other.py")
        agent.end(step=3, agent="other.py:__main__")
        assert "other" in agent.handles[-1].output().splitlines()
        assert len(agent.bodies) == 2
        with pytest.raises(UsageError, match=r"a program has to run in its place, not tools\.py:look"):
            agent.fork("agent", 3, agent="tools.py:look")

        first = agent.forked("agent", 3, [Edit("set", "messages[1].content", "first")], system="Be long.")
        second = agent.forked(first.id, 3, [Edit("set", "messages[1].content", "second")])
        agent.bodies.clear()
        third = agent.forked(second.id, 4, [Edit("delete", "messages[3]"), Edit("delete", "messages[2]")])
        assert third.status == "succeeded"
        body = agent.bodies[0]["messages"]
        assert ([turn["content"] for turn in body[:2]], len(body)) == (["Be long.", "second"], 8)
        agent.check_replay(third)


def test_an_answer_and_all_later_requests_are_edited_in_one_fork(tmp_path: Any):
    with recorded(tmp_path, BARE) as agent:
        look = [{"name": "look", "arguments": {"n": 9}}]
        first = agent.forked("agent", answers={"1": look}, system="Be long.")
        assert [body["messages"][0]["content"] for body in agent.bodies] == ["Be long."] * 2
        agent.bodies.clear()
        agent.check_replay(first)
        second = agent.forked(first.id, answers={"2": look}, model="gpt-5")
        assert {(body["messages"][0]["content"], body["model"]) for body in agent.bodies} == {("Be long.", "gpt-5")}
        agent.bodies.clear()
        agent.check_replay(second)
        assert agent.bodies == []


def test_an_agent_that_keeps_no_list_has_its_requests_rewritten(tmp_path: Any):
    source = (
        SYNC.replace("    messages = new_messages()", "    messages = Log(new_messages())")
        .replace(
            "def main",
            "class Log:\n    def __init__(self, turns):\n        self.log = dict(enumerate(turns))\n\n"
            "    def append(self, turn):\n        self.log[len(self.log)] = turn\n\n\ndef main",
        )
        .replace("messages=messages,", "messages=tuple(messages.log.values()),")
    )
    with recorded(tmp_path, source) as agent:
        said, notes = agent.end(step=2, changes=[Edit("set", "messages[1].content", "look closer")])
        assert said[1] == "look closer"
        assert [body["messages"][1]["content"] for body in agent.bodies] == ["look closer"] * 3
        assert any("each request that begins with it is rewritten" in note for note in notes)
