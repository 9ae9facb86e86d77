"""An agent on the real `openai` client, recorded without a change to its code, and replayed with the server gone."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from tests.served_in_thread import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

AGENT = """
import json, sys
import openai
from tools import charge

def ask(client, messages):
    if "stream" not in sys.argv:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages, temperature=0)
        return answer.choices[0].message.model_dump(exclude_none=True)
    text, calls = "", {}
    for chunk in client.chat.completions.create(model="gpt-4o", messages=messages, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                call = calls.setdefault(part.index, empty)
                call["id"] += part.id or ""
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    message = {"role": "assistant", "content": text}
    return {**message, "tool_calls": list(calls.values())} if calls else message

def main():
    client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-secret", max_retries=2)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "charge order 7"}]
    while True:
        message = ask(client, messages)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            result = charge(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    print(json.dumps(messages))

if __name__ == "__main__":
    main()
"""
TOOLS = "def charge(order_id):\n    return f'charged {order_id}'\n"
CALL = {"id": "call_1", "type": "function", "function": {"name": "charge", "arguments": '{"order_id": "7"}'}}


class Model(BaseHTTPRequestHandler):
    """Asks for a tool first, then says that it is done; the very first request is turned away."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.hits += 1
        if self.server.hits == 1:
            return self._answer(429, {"error": {"message": "Slow down"}}, retry_after="0")
        is_over = body["messages"][-1]["role"] == "tool"
        reason = "stop" if is_over else "tool_calls"
        message = {"role": "assistant", "content": "Done." if is_over else None}
        if not is_over:
            message["tool_calls"] = [CALL]
        usage = {"prompt_tokens": 20 * len(body["messages"]), "completion_tokens": 5, "total_tokens": 0}
        base = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024-08-06"}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return self._answer(200, {**base, "choices": [choice], "usage": usage})
        base["object"] = "chat.completion.chunk"
        if not is_over:
            message["tool_calls"] = [{"index": 0, **CALL}]
        deltas = [
            {"index": 0, "delta": message, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": reason},
        ]
        chunks = [{**base, "choices": [delta]} for delta in deltas] + [{**base, "choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        return self._send(200, text.encode(), "text/event-stream")

    def _answer(self, status: int, body: object, **headers: str) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", **headers)

    def _send(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def model() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.hits = 0
    with served(server):
        yield server


@pytest.mark.parametrize("form", ["plain", "stream"])
def test_an_agent_is_recorded_shown_and_replayed(project: Project, form: str) -> None:
    pytest.importorskip("openai")
    project.write(tools=TOOLS, agent=AGENT)
    with model() as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        done = project.record("agent.py", url, form, options=["--call", "tools.charge=write"])
        assert (done.code, done.err, server.hits) == (0, "", 3)
    messages = json.loads(done.out)

    shown = json.loads(project.agent_tt("show", "latest", "--json").out)
    assert (shown["run"]["name"], shown["run"]["status"], shown["run"]["tokens_in"]) == ("agent", "succeeded", 120)
    assert shown["run"]["cost_usd"] == pytest.approx((120 * 2.5 + 10 * 10) / 1e6)
    outline = [(step["name"], step["status"], [call["kind"] for call in step["calls"]]) for step in shown["steps"]]
    assert outline == [("gpt-4o", "ok", ["llm", "llm", "tool"]), ("gpt-4o", "ok", ["llm"])]
    assert [step["decision"] for step in shown["steps"]] == ["charge(order_id='7')", "Done."]
    first, retried, tool = shown["steps"][0]["calls"]
    assert first["meta"]["answer_error"] == ("429 Slow down" if form == "plain" else "429")  # not read there
    assert (retried["meta"]["finish_reason"], retried["meta"]["tokens_out"]) == ("tool_calls", 5)
    assert (tool["effect"], tool["result"]) == ("write", "charged 7")
    assert "sk-secret" not in json.dumps(shown)
    run = project.runs()[0]
    assert project.store.state(run.id, 1)["messages"][:2] == messages[:2]
    assert project.store.state(run.id, 1)["messages"][2]["tool_calls"][0]["function"]["name"] == "charge"
    assert [turn["role"] for turn in project.store.state(run.id, 2)["messages"]] == [turn["role"] for turn in messages]

    told = project.agent_tt("show", "latest", "1").out.partition("STATE")[0]
    assert "  asked     system     Be brief.\n            user       charge order 7\n" in told
    assert f"  came back {'429 Slow down' if form == 'plain' else '429'}\n" in told
    answer = '  came back assistant  charge(order_id="7")\n            tool_calls · 40 tokens in · 5 out · <$0.001\n'
    assert answer in told

    replayed = project.agent_tt("replay", "latest", "--json")  # the server is gone
    assert replayed.code == 0, replayed
