"""Conversations of OpenHands since version 1: a folder of events, the same events in lists, lines and archives."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest
from tests.core.conformance.reading import check_source

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

CONVERSATION = "11111111-2222-3333-4444-555555555555"


def told(number: int, kind: str, source: str = "agent", **more: Any) -> dict[str, Any]:
    stamp = f"2026-06-16T05:39:{number:02}.500000"
    return {"id": f"e{number}", "timestamp": stamp, "source": source, "kind": kind, **more}


def words(text: str) -> list[dict[str, Any]]:
    return [{"cache_prompt": False, "type": "text", "text": text}]


def acted(number: int, call: str, response: str, command: str) -> dict[str, Any]:
    action = {"command": command, "kind": "TerminalAction"}
    given = json.dumps({"command": command})
    return told(number, "ActionEvent", thought=words("I look."), action=action, tool_name="terminal", tool_call_id=call,
                tool_call={"id": call, "name": "terminal", "arguments": given, "origin": "completion"},
                llm_response_id=response)  # fmt: skip


def saw(number: int, call: str, action: str, text: str, code: int = 0) -> dict[str, Any]:
    seen = {"content": words(text), "is_error": False, "exit_code": code, "kind": "TerminalObservation"}
    return told(number, "ObservationEvent", "environment", tool_name="terminal", tool_call_id=call, action_id=action,
                observation=seen)  # fmt: skip


def usage(read: int, wrote: int) -> dict[str, Any]:
    counted = {"prompt_tokens": read, "completion_tokens": wrote, "cache_read_tokens": 1}
    return {"usage_to_metrics": {"default": {"accumulated_token_usage": counted, "accumulated_cost": 0.5}}}


EVENTS: list[dict[str, Any]] = [
    told(0, "SystemPromptEvent", system_prompt=words("You help.")[0], tools=[]),
    told(1, "MessageEvent", "user", llm_message={"role": "user", "content": words("Which port?")}),
    acted(2, "c1", "r1", "cat a"),
    acted(3, "c2", "r1", "cat b"),
    saw(4, "c1", "e2", "port = 8080"),
    saw(5, "c2", "e3", "no such file", 1),
    told(6, "ConversationStateUpdateEvent", "environment", key="stats", value=usage(100, 10)),
    told(7, "Condensation", "environment", forgotten_event_ids=["e2", "e3", "e4", "e5"], summary="It is 8080.",
         summary_offset=2, llm_response_id="r2"),
    told(8, "MessageEvent", llm_message={"role": "assistant", "content": words("8080.")}, llm_response_id="r3"),
    acted(9, "c3", "r4", "rm -r /"),
    told(10, "UserRejectObservation", "environment", tool_name="terminal", tool_call_id="c3", action_id="e9",
         rejection_reason="No."),
    told(11, "ConversationErrorEvent", "environment", code="LLMError", detail="The model is gone."),
    told(12, "ConversationStateUpdateEvent", "environment", key="stats", value=usage(260, 30)),
    told(13, "EventOfTomorrow", "environment", a=1),
]  # fmt: skip
STATE: dict[str, Any] = {
    "id": CONVERSATION, "agent": {"llm": {"model": "minimax-m2.7"}}, "execution_status": "finished",
    "workspace": {"working_dir": "/desk"}, "stats": {"usage_to_metrics": {}},
}  # fmt: skip


def conversation(folder: Path, events: list[dict[str, Any]], **state: Any) -> Path:
    (folder / "events").mkdir(parents=True, exist_ok=True)
    (folder / "base_state.json").write_text(json.dumps(STATE | state))
    for number, event in enumerate(events):
        (folder / "events" / f"event-{number:05}-{event['id']}0000000.json").write_text(json.dumps(event))
    return folder


@pytest.mark.parametrize("kept", ["folder", "lines", "list", "items", "archive"])
def test_a_conversation_is_a_run_wherever_its_events_stand(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "conversation.json"
    if kept == "folder":
        path = conversation(tmp_path / "c", EVENTS)
    elif kept == "archive":
        with ZipFile(path, "w") as archive:
            archive.writestr("meta.json", json.dumps({"id": CONVERSATION}))
            for number, event in enumerate(EVENTS):
                archive.writestr(f"event_{number:06}_{event['id']}.json", json.dumps(event))
    elif kept == "lines":
        path.write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    else:
        path.write_text(json.dumps(EVENTS if kept == "list" else {"items": EVENTS, "next_page_id": None}))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert run.id == (CONVERSATION if kept in ("folder", "archive") else "conversation")
        assert (run.tokens_in, run.tokens_out, run.cost_usd) == (260, 30, 0.5)
        assert [(step.name, step.status) for step in source.steps(run.id)] == [
            ("terminal ×2", "ok"), ("compaction", "ok"), ("answer", "ok"), ("terminal", "ok"), ("error", "error"),
        ]  # fmt: skip
        model, one, other = source.calls(run.id, 1)
        assert (model.kind, one.args, one.result, other.status) == ("llm", {"command": "cat a"}, "port = 8080", "error")
        assert [turn["content"] for turn in source.state(run.id, 2)["messages"]] == [
            "You help.", "Which port?", "It is 8080.",
        ]  # fmt: skip
        refused = source.calls(run.id, 4)[1]
        assert (refused.status, refused.error.short if refused.error else "") == ("error", "ToolError: No.")
        assert source.verify() == []
        check_source(source)
        if kept == "folder":
            assert (run.status, run.metadata["cwd"]) == ("succeeded", "/desk")


def test_each_answer_has_its_own_usage_where_that_is_kept(tmp_path: Path) -> None:
    counted = [{"response_id": "r1", "prompt_tokens": 70, "completion_tokens": 5, "model": "gpt-5-mini"},
               {"response_id": "r3", "prompt_tokens": 90, "completion_tokens": 6, "model": "gpt-5-mini"}]  # fmt: skip
    stats = {"usage_to_metrics": {"default": {"token_usages": counted}}}
    with closing(open_source(conversation(tmp_path / "c", EVENTS, stats=stats))) as source:
        (run,) = source.runs()
        assert [step.tokens_in for step in source.steps(run.id)] == [70, None, 90, None, None]
        assert run.tokens_in == 160


def test_an_event_that_is_added_is_seen_and_one_that_is_damaged_is_named(tmp_path: Path) -> None:
    folder = conversation(tmp_path / "c", EVENTS[:4])
    with closing(open_source(folder)) as source:
        before, (run,) = source.version(), source.runs()
        assert (run.steps, source.calls(run.id, 1)[1].status) == (1, "pending")
        conversation(folder, EVENTS[:5])
        (folder / "events" / "event-00009-deadbeef.json").write_text('{"id"')
        assert source.version() != before
        assert source.calls(run.id, 1)[1].result == "port = 8080"
        assert [problem.what for problem in source.verify()] == [
            "events/event-00009-deadbeef.json is left out: it is not a JSON object"
        ]


def test_a_folder_of_events_of_the_older_kind_opens_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    from tests.core.interop.test_message_files import acted as did
    from tests.core.interop.test_message_files import came

    events = [did(0, "message", {"content": "Look."}, "user")]
    for number in range(1, 12):
        events += [did(2 * number, "run", {"command": f"ls {number}"}), came(2 * number + 1, 2 * number, "ok")]
    (tmp_path / "c" / "events").mkdir(parents=True)
    for number, event in enumerate(events):
        (tmp_path / "c" / "events" / f"{number}.json").write_text(json.dumps(event))
    with closing(open_source(tmp_path / "c")) as source:
        (run,) = source.runs()
        asked = [source.calls(run.id, step)[1].args for step in range(1, 12)]
        assert (run.id, asked) == ("c", [{"command": f"ls {number}"} for number in range(1, 12)])
