"""Edits of a conversation that the provider keeps: sent whole in place of its id, or refused before anything runs."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from agent_tt.errors import InvalidEdit
from agent_tt.model import Edit
from agent_tt.providers import recognise
from agent_tt.reentering.conversations import ConversationEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.core.reentering.support import Project

pytestmark = pytest.mark.warm("httpx", "anthropic")

AGENT = """
import agent_tt
import httpx

with agent_tt.record("kept", steps="model calls"):
    before = {first}
    for word in ("one", "two", "three"):
        body = {{"model": "m", "input": [{{"role": "user", "content": word}}], **before}}
        answer = httpx.post("{url}/v1/responses", json=body).json()
        before = {{"previous_response_id": answer["id"]}}
"""


RUNNER = """
import agent_tt
from anthropic import Anthropic, beta_tool

@beta_tool
def look(order: str) -> str:
    \"\"\"Look an order up.\"\"\"
    return f"{order} owes 30"

with agent_tt.record("kept", steps="model calls"):
    runner = Anthropic(api_key="none", base_url="__URL__").beta.messages.tool_runner(
        model="claude-sonnet-4-5",
        max_tokens=9,
        system="be kind",
        tools=[look],
        messages=[{"role": "user", "content": "one"}],
    )
    for message in runner:
        pass
"""


class Provider(ThreadingHTTPServer):
    """Answers with all words that it heard, and keeps each conversation under the answer's id."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.kept: dict[str, list[Any]] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def go_on(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer as Anthropic's messages do, with a tool's call until two results are there."""
        turns = [*self.kept.get(asked["thread"].get("previous_message_id", ""), []), *asked["messages"]]
        number = len(self.kept) + 1
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"order": f"A-{number}"}}
        is_done = len(turns) > 4
        content = [{"type": "text", "text": "done"}] if is_done else [call]
        self.kept[f"msg_{number}"] = [*turns, {"role": "assistant", "content": content}]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": content,
            "stop_reason": "end_turn" if is_done else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        if "messages" in asked:
            self.give(self.server.go_on(asked))
            return
        turns = [*self.server.kept.get(asked.get("previous_response_id", ""), []), *asked["input"]]
        said = " ".join(turn["content"] for turn in turns if turn.get("role") == "user")
        number = f"resp_{len(self.server.kept) + 1}"
        content = [{"type": "output_text", "text": said, "annotations": []}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
        self.server.kept[number] = [*turns, item]
        answer = {"id": number, "object": "response", "status": "completed", "model": "m", "output": [item]}
        self.give(answer)

    def give(self, answer: dict[str, Any]) -> None:
        raw = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.shutdown()
    made.server_close()


SET = Edit("set", "input[0].content", "ONE")


def heard(request: dict[str, Any]) -> list[str]:
    return [turn["content"] for turn in request["input"] if turn.get("role") == "user"]


def test_the_whole_edited_conversation_is_sent_in_place_of_the_id(project: Project, provider: Provider) -> None:
    run = project.record(AGENT.format(first={}, url=provider.url))
    provider.asked.clear()
    fork = project.forked(run.name, 1, [SET], allow=["POST *"])
    assert fork.status == "succeeded"
    second, third = provider.asked
    assert heard(second) == ["ONE", "two"]
    assert "previous_response_id" not in second
    assert heard(third) == ["three"]
    assert third["previous_response_id"] == "resp_4"  # the new answer, which the provider keeps with the edit
    assert any("was sent in place of `previous_response_id`" in note for note in project.notes(fork))
    assert fork.metadata.get("edits_without_effect") in (None, [])


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ({"previous_response_id": "resp_of_yesterday"}, "it begins with the answer resp_of_yesterday"),
        ({"conversation": {"id": "conv_1"}}, "it lies in the provider's conversation conv_1"),
    ],
)
def test_what_is_not_known_as_a_whole_is_refused_before_anything_runs(
    project: Project, provider: Provider, first: dict[str, Any], why: str
) -> None:
    run = project.record(AGENT.format(first=first, url=provider.url))
    provider.asked.clear()
    with pytest.raises(InvalidEdit, match="cannot be edited: the provider keeps it") as refused:
        project.fork(run.name, 1, [SET])
    assert why in str(refused.value)
    assert provider.asked == []


def test_where_nothing_goes_on_with_it_nothing_is_refused(project: Project, provider: Provider) -> None:
    run = project.record(AGENT.format(first={"previous_response_id": "resp_of_yesterday"}, url=provider.url))
    assert project.forked(run.name, 3, [SET]).status == "succeeded"


def test_another_answer_and_an_edit_of_the_id_itself_are_left_alone() -> None:
    known = {"input": [{"role": "user", "content": "one"}], "previous_response_id": "r0"}

    def sent(edit: Edit, named: str) -> Any:
        call = recognise(
            "POST", "https://host/v1/responses", {}, {"model": "m", "input": [], "previous_response_id": named}
        )
        assert call is not None
        return ConversationEdit(known, [edit], None, "r1").apply(call)

    told = sent(SET, "r1")
    assert told is not None
    assert told[0] == {"input": [{"role": "user", "content": "ONE"}]}
    assert sent(SET, "r9") is None
    assert sent(Edit("set", "previous_response_id", "r7"), "r1") is None


def test_an_edited_thread_is_begun_anew_with_what_only_its_first_request_said(
    project: Project, provider: Provider
) -> None:
    run = project.record(RUNNER.replace("__URL__", provider.url))
    first = provider.asked[0]
    assert [asked.get("thread") for asked in provider.asked] == [
        {"type": "create"},
        {"type": "continue", "previous_message_id": "msg_1"},
        {"type": "continue", "previous_message_id": "msg_2"},
    ]
    provider.asked.clear()
    fork = project.forked(run.name, 2, [Edit("set", "messages[0].content", "ONE")], allow=["POST *"])
    assert fork.status == "succeeded"
    (third,) = provider.asked
    assert third["thread"] == {"type": "create"}
    assert (third["system"], third["tools"]) == (first["system"], first["tools"])
    assert third["messages"][0] == {"role": "user", "content": "ONE"}
    assert [turn["role"] for turn in third["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert fork.metadata.get("edits_without_effect") in (None, [])


def test_a_thread_that_goes_on_after_an_edit_names_the_new_answer(project: Project, provider: Provider) -> None:
    run = project.record(RUNNER.replace("__URL__", provider.url))
    provider.asked.clear()
    assert (
        project.forked(run.name, 1, [Edit("set", "messages[0].content", "ONE")], allow=["POST *"]).status == "succeeded"
    )
    second, third = provider.asked
    assert second["thread"] == {"type": "create"}
    assert second["messages"][0]["content"] == "ONE"
    assert third["thread"] == {"type": "continue", "previous_message_id": "msg_4"}
