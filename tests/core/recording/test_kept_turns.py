"""Conversations that live at the provider: the state is the whole conversation, whatever a request sends of it."""

from __future__ import annotations

from contextlib import closing

import pytest

import agent_tt
from agent_tt.forking.editing.muting import mute
from agent_tt.history.digest import digest
from agent_tt.recording.calls.exchange import Asked, begin_exchange
from agent_tt.store import open_store

RESPONSES, MESSAGES = "https://api.openai.com/v1/responses", "https://api.anthropic.com/v1/messages"
HEADERS = {"content-type": "application/json"}


def say(text):
    return {"role": "user", "content": text}


def ask(url, body, answer):
    args = {"method": "POST", "url": url, "headers": {}, "body": {"model": "m", **body}}
    call = begin_exchange(Asked("llm", f"POST {url}", args, digest(args).hex(), model="m"))
    call.stream_ended("end", {"status": 200, "headers": HEADERS, "body": answer})


def respond(number, *said, **more):
    output = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"answer {number}"}]}
    ]
    ask(RESPONSES, {"input": list(said), **more}, {"object": "response", "id": f"resp_{number}", "output": output})


def answer(number, *said, **more):
    content = [{"type": "text", "text": f"answer {number}"}]
    body = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    ask(MESSAGES, {"messages": list(said), "max_tokens": 9, **more}, body)


def texts(turns):
    return [turn["content"] if isinstance(turn["content"], str) else turn["content"][0]["text"] for turn in turns]


@pytest.fixture
def record(tmp_path):
    def run(agent):
        path = tmp_path / "runs.db"
        with agent_tt.record("agent", store=path, steps="model calls") as made:
            agent()
        with closing(open_store(path)) as store:
            return [store.state(made.id, step.number) for step in store.steps(made.id)], store.steps(made.id), made.id

    return run


@pytest.mark.parametrize(
    ("key", "named", "turn"),
    [
        ("input", lambda n: {"previous_response_id": f"resp_{n}"}, respond),
        ("input", lambda n: {"conversation": "conv_1"}, respond),
        ("input", lambda n: {"conversation": {"id": "conv_1"}}, respond),
        ("messages", lambda n: {"previous_message_id": f"msg_{n}"}, answer),
        ("messages", lambda n: {"thread": {"type": "continue", "previous_message_id": f"msg_{n}"}}, answer),
    ],
)
def test_a_request_that_names_what_came_before_has_the_whole_conversation_as_its_state(record, key, named, turn):
    def agent():
        first = named(0) if "conversation" in named(0) else {}
        turn(1, say("one"), **first)
        turn(2, say("two"), **named(1))
        turn(3, say("three"), say("and more"), **named(2))

    states, steps, _ = record(agent)
    assert [texts(state[key]) for state in states] == [
        ["one", "answer 1"],
        ["one", "answer 1", "two", "answer 2"],
        ["one", "answer 1", "two", "answer 2", "three", "and more", "answer 3"],
    ]
    assert {step.track for step in steps} == {"main"}


def test_what_only_the_first_request_of_a_thread_says_belongs_to_the_conversation(record):
    tools = [{"name": "look", "input_schema": {"type": "object"}}]

    def agent():
        answer(1, say("one"), system="be kind", tools=tools, thread={"type": "create"})
        answer(2, say("two"), thread={"type": "continue", "previous_message_id": "msg_1"})
        answer(3, say("three"), thread={"type": "continue", "previous_message_id": "msg_2"})

    states, steps, _ = record(agent)
    assert [(state["system"], state["tools"]) for state in states] == [("be kind", tools)] * 3
    assert [len(state["messages"]) for state in states] == [2, 4, 6]
    assert {step.track for step in steps} == {"main"}


def test_a_conversation_that_branches_goes_on_from_the_answer_that_is_named(record):
    def agent():
        respond(1, say("one"))
        respond(2, say("left"), previous_response_id="resp_1")
        respond(3, say("right"), previous_response_id="resp_1")

    states, _, _ = record(agent)
    assert texts(states[2]["input"]) == ["one", "answer 1", "right", "answer 3"]


def test_what_this_run_did_not_see_is_not_made_up(record):
    states, _, _ = record(lambda: respond(7, say("seven"), previous_response_id="resp_of_yesterday"))
    assert texts(states[0]["input"]) == ["seven", "answer 7"]
    assert states[0]["previous_response_id"] == "resp_of_yesterday"


def test_muting_a_step_takes_only_its_own_answer_out(record, tmp_path):
    def agent():
        respond(1, say("one"))
        respond(2, say("two"), previous_response_id="resp_1")

    states, steps, run = record(agent)
    with closing(open_store(tmp_path / "runs.db")) as store:
        edits, _ = mute(store, run, steps, 2, 2, states[1])
    assert [(edit.op, edit.path) for edit in edits if edit.target == "state"] == [("delete", "input[3]")]
