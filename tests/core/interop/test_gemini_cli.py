"""Sessions of the Gemini CLI as runs, in one object and line by line; its checkpoints."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource

SESSION = "5f0b7c62-1111-4222-8333-944455566677"
HEAD = {"sessionId": SESSION, "projectHash": "a1b2", "startTime": "2026-08-01T10:00:00.000Z",
        "lastUpdated": "2026-08-01T10:00:00.000Z", "kind": "main"}  # fmt: skip


def message(name: str, kind: str, content: Any, second: int, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": f"2026-08-01T10:00:{second:02}.000Z", "type": kind, "content": content, **more}


def tool(call: str, name: str, status: str, response: Any = None) -> dict[str, Any]:
    result = [{"functionResponse": {"id": call, "name": name, "response": response}}] if response else None
    return {"id": call, "name": name, "args": {"q": 1}, "status": status, "result": result,
            "timestamp": "2026-08-01T10:00:07.000Z", "displayName": name}  # fmt: skip


TOKENS = {"input": 900, "output": 30, "cached": 100, "thoughts": 12, "tool": 5, "total": 947}
THOUGHTS = [{"subject": "Look", "description": "first", "timestamp": "2026-08-01T10:00:02.000Z"}]
ASKED = message("u1", "user", [{"text": "Are the tests green?"}], 1)
RUN = tool("c1", "run_shell_command", "error", {"error": "exit 1"})
READ = tool("c2", "read_file", "success", {"output": "x = 1"})
CALLS = message("g1", "gemini", "I will look.", 3, model="gemini-2.5-pro", tokens=TOKENS, thoughts=THOUGHTS)
SAID = message("g2", "gemini", "No.", 9, model="gemini-2.5-pro", tokens={**TOKENS, "thoughts": 0, "tool": 0})
DONE = CALLS | {"toolCalls": [RUN, READ]}


def one_object(folder: Path, messages: list[Any], **more: Any) -> RunSource:
    path = folder / "session-2026-08-01T10-00-5f0b7c62.json"
    path.write_text(json.dumps({**HEAD, "messages": messages, **more}))
    return open_source(path)


def in_lines(folder: Path, *entries: Any) -> RunSource:
    path = folder / "session-2026-08-01T10-00-5f0b7c62.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in (HEAD, *entries)))
    return open_source(path)


@pytest.mark.parametrize("lines", [False, True])
def test_a_session_of_the_gemini_cli_is_a_run_in_both_of_its_forms(tmp_path: Path, lines: bool) -> None:
    began = CALLS | {"tokens": None}
    entries = [ASKED, began, CALLS, {"$set": {"lastUpdated": "2026-08-01T10:00:03.000Z"}},
               CALLS | {"toolCalls": [tool("c1", "run_shell_command", "executing")]}, DONE, SAID]  # fmt: skip
    source = in_lines(tmp_path, *entries) if lines else one_object(tmp_path, [ASKED, DONE, SAID])
    with closing(source):
        (run,) = source.runs()
        assert (run.id, run.status, run.model.model, run.steps) == (SESSION, "unknown", "gemini-2.5-pro", 2)
        first, second = source.steps(SESSION)
        assert (first.name, first.tokens_in, first.tokens_out) == ("run_shell_command, read_file", 905, 42)
        assert (second.decision, second.tokens_in, second.tokens_out) == ("No.", 900, 30)
        assert run.cost_usd == pytest.approx(first.cost_usd + second.cost_usd) != 0
        model, failed, fine = source.calls(SESSION, 1)
        assert [*model.result["parts"][0].values()] == ["Look: first", True]
        assert (failed.args, failed.status, "exit 1" in failed.error.message) == ({"q": 1}, "error", True)
        assert (fine.status, fine.result) == ("ok", {"output": "x = 1"})
        assert [turn["role"] for turn in source.state(SESSION, 2)["messages"]] == ["user", "model", "user", "model"]
        check_source(source)


def test_what_was_said_later_is_a_step_and_an_error_one_that_failed(tmp_path: Path) -> None:
    entries = [ASKED, SAID, message("i", "info", "Update available", 10), message("u2", "user", "Fix it.", 11),
               message("e", "error", "[API Error: quota]", 12)]  # fmt: skip
    with closing(one_object(tmp_path, entries, summary="Green tests")) as source:
        steps = source.steps(SESSION)
        assert [(step.name, step.status) for step in steps] == [("answer", "ok"), ("user", "ok"), ("error", "error")]
        assert steps[2].error.message == "[API Error: quota]"
        assert steps[0].facts.raw_entries[0]["content"] == "Update available"
        assert source.runs()[0].facts.title == "Green tests"
        check_source(source)


def test_a_call_that_was_not_over_is_pending_and_a_cancelled_one_gave_nothing(tmp_path: Path) -> None:
    calls = [tool("c1", "a", "awaiting_approval"), tool("c2", "b", "cancelled"), tool("c3", "c", "success")]
    with closing(one_object(tmp_path, [ASKED, CALLS | {"toolCalls": calls}])) as source:
        assert [call.status for call in source.calls(SESSION, 1)[1:]] == ["pending", "error", "ok"]


def test_messages_that_go_back_drop_what_was_said_since(tmp_path: Path) -> None:
    again = message("u2", "user", "And now?", 12)
    with closing(in_lines(tmp_path, ASKED, DONE, SAID, {"$rewindTo": "g1"}, again, SAID | {"id": "g3"})) as source:
        assert [step.name for step in source.steps(SESSION)][2:] == ["rewind", "user", "answer"]
        first = {"role": "user", "parts": ASKED["content"]}
        assert source.state(SESSION, 3)["messages"] == [first]
        assert [turn["parts"][0]["text"] for turn in source.state(SESSION, 5)["messages"]][1:] == ["And now?", "No."]
        check_source(source)


def test_a_list_in_the_place_of_the_messages_is_a_compaction_unless_it_only_says_more_of_them(tmp_path: Path) -> None:
    masked = {"$set": {"messages": [ASKED, DONE | {"content": [{"text": "Looked."}]}]}}
    summary = message("s", "user", "Summary: not green.", 13)
    entries = [ASKED, DONE, masked, SAID, {"$set": {"messages": [summary]}}, SAID | {"id": "g4"}]
    with closing(in_lines(tmp_path, *entries)) as source:
        decisions = [step.decision for step in source.steps(SESSION)]
        assert decisions == ["Looked.", "No.", "dropped 4 of 4 messages", "No."]
        assert source.steps(SESSION)[2].name == "compaction"
        assert source.state(SESSION, 3) == {"messages": [{"role": "user", "parts": [{"text": "Summary: not green."}]}]}
        check_source(source)


def test_results_that_messages_of_their_own_give_are_there_once(tmp_path: Path) -> None:
    result = message("u2", "user", RUN["result"], 8)
    parts = [{"text": "I will look."}, {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"q": 1}}}]
    with closing(one_object(tmp_path, [ASKED, DONE | {"content": parts, "toolCalls": [RUN]}, result, SAID])) as source:
        assert [call.status for call in source.calls(SESSION, 1)] == ["ok", "error"]
        messages = source.state(SESSION, 2)["messages"]
        assert [len(turn["parts"]) for turn in messages] == [1, 3, 1, 1]


CONTENTS = [
    {"role": "user", "parts": [{"text": "Add."}]},
    {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": 1}}},
                                {"functionCall": {"name": "add", "args": {"a": 2}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"output": "1"}}},
                               {"functionResponse": {"name": "add", "response": {"error": "no"}}}]},
    {"role": "model", "parts": [{"text": "Done."}]},
]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [CONTENTS, {"history": CONTENTS, "authType": "oauth"},
     {"history": [{"type": "user", "text": "Add."}], "clientHistory": CONTENTS, "toolCall": {"name": "x", "args": {}}}],
    ids=["old", "saved", "of a tool"],
)  # fmt: skip
def test_checkpoints_open_and_calls_without_ids_find_their_results(tmp_path: Path, value: object) -> None:
    path = tmp_path / "checkpoint-before.json"
    path.write_text(json.dumps(value))
    with closing(open_source(path)) as source:
        first, second = source.calls("checkpoint-before", 1)[1:]
        assert (first.args, first.result) == ({"a": 1}, {"output": "1"})
        assert (second.args, second.status) == ({"a": 2}, "error")
        check_source(source)


@pytest.mark.parametrize("place", ["id", "type", "content", "timestamp", "toolCalls", "thoughts", "tokens", "model"])
@pytest.mark.parametrize(
    "value", [None, 7, [None, 3], {"id": {}}, "x", [{"id": 3, "result": [{"functionResponse": 1}]}]]
)
def test_messages_of_any_shape_open(tmp_path: Path, place: str, value: object) -> None:
    with closing(in_lines(tmp_path, ASKED, DONE | {place: value}, {"$rewindTo": value}, SAID)) as source:
        check_source(source)
