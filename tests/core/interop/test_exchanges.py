"""Batches of OpenAI, Anthropic and Gemini, in one file or in two that lie together, and logs of single calls."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source

from agent_tt.errors import NotAStore
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

ASKED = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Hi."}]}
COMPLETION = {
    "id": "c", "object": "chat.completion", "created": 1_772_445_600, "model": "gpt-5-mini",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
}  # fmt: skip
MESSAGE = {
    "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "tool_use",
    "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"q": 1}}],
    "usage": {"input_tokens": 3, "output_tokens": 4},
}  # fmt: skip
OF_ANTHROPIC = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": ASKED["messages"]}
REFUSED = {"type": "errored", "error": {"type": "error", "error": {"type": "invalid", "message": "too long"}}}
OF_GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}
GENERATED = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}}],
             "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}  # fmt: skip

BATCHES: dict[str, tuple[list[Any], list[Any]]] = {
    "openai": (
        [{"custom_id": each, "method": "POST", "url": "/v1/chat/completions", "body": ASKED} for each in ("a", "b")],
        [{"id": "1", "custom_id": "b", "error": None,
          "response": {"status_code": 429, "body": {"error": {"message": "too many"}}}},
         {"id": "2", "custom_id": "a", "error": None, "response": {"status_code": 200, "body": COMPLETION}}],
    ),
    "anthropic": (
        [{"custom_id": each, "params": OF_ANTHROPIC} for each in ("a", "b")],
        [{"custom_id": "a", "result": {"type": "succeeded", "message": MESSAGE}},
         {"custom_id": "b", "result": REFUSED}],
    ),
    "gemini": (
        [{"key": each, "request": OF_GEMINI} for each in ("a", "b")],
        [{"key": "a", "response": GENERATED}, {"key": "b", "error": {"code": 13, "message": "internal"}}],
    ),
}  # fmt: skip


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("provider", BATCHES)
@pytest.mark.parametrize("opened", ["requests", "answers", "both"])
def test_requests_and_answers_of_a_batch_are_told_together(tmp_path: Path, provider: str, opened: str) -> None:
    requests, answers = BATCHES[provider]
    if opened == "both":
        path = write(tmp_path / "batch.jsonl", [*requests, *answers])
    else:
        paths = [write(tmp_path / "in.jsonl", requests), write(tmp_path / "out.jsonl", answers)]
        path = paths[opened == "answers"]
    with closing(open_source(path)) as source:
        runs = {run.id: run for run in source.runs()}
        assert set(runs) == {"a", "b"}
        (call, *tools) = source.calls("a", 1)
        assert (call.kind, call.status, runs["a"].tokens_in, runs["a"].tokens_out) == ("llm", "ok", 3, 4)
        assert [tool.name for tool in tools] == (["look"] if provider == "anthropic" else [])
        assert "Hi." in json.dumps(call.args)
        (failed,) = source.calls("b", 1)
        assert (failed.status, failed.result) == ("error", None)
        assert failed.error is not None
        assert any(word in failed.error.message for word in ("too many", "too long", "internal"))
        assert source.verify() == []
        check_source(source)


def test_a_batch_without_its_other_half_says_what_is_there(tmp_path: Path) -> None:
    requests, answers = BATCHES["openai"]
    with closing(open_source(write(tmp_path / "in.jsonl", requests))) as source:
        assert [run.steps for run in source.runs()] == [0, 0]
        assert source.state("a", 0)["messages"] == ASKED["messages"]
    (tmp_path / "in.jsonl").unlink()
    with closing(open_source(write(tmp_path / "out.jsonl", answers))) as source:
        assert source.calls("a", 1)[0].args is None
        assert source.run("a").tokens_in == 3


def test_two_files_that_may_be_the_other_half_are_named_and_none_is_read(tmp_path: Path) -> None:
    requests, answers = BATCHES["openai"]
    for name in ("one", "two"):
        write(tmp_path / f"{name}.jsonl", answers)
    with closing(open_source(write(tmp_path / "in.jsonl", requests))) as source:
        assert [run.steps for run in source.runs()] == [0, 0]
        (problem,) = source.verify()
        assert problem.what == "2 files beside it hold the other half of it: none was read"


@pytest.mark.parametrize(
    "log", [{"request": ASKED, "response": COMPLETION}, ASKED | {"response": COMPLETION}, COMPLETION]
)
def test_a_log_of_one_call_is_one_step(tmp_path: Path, log: dict[str, Any]) -> None:
    path = tmp_path / "call.json"
    path.write_text(json.dumps(log))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.id, run.steps, run.tokens_in, run.model and run.model.model) == ("call", 1, 3, "gpt-5-mini")
        check_source(source)


STEPS = [
    {"stepType": "initial", "text": "I look.", "finishReason": "tool-calls",
     "usage": {"promptTokens": 5, "completionTokens": 6},
     "toolCalls": [{"toolCallId": "c1", "toolName": "list", "args": {"path": "."}}], "toolResults": [],
     "response": {"modelId": "gpt-5-mini"}},
    {"stepType": "tool-result", "text": "", "toolCalls": [], "response": {"modelId": "gpt-5-mini"},
     "toolResults": [{"toolCallId": "c1", "toolName": "list", "result": "a b"}]},
]  # fmt: skip
NEWER = [
    {"content": [{"type": "text", "text": "I look."},
                 {"type": "tool-call", "toolCallId": "c1", "toolName": "list", "input": {"path": "."}},
                 {"type": "tool-error", "toolCallId": "c1", "toolName": "list", "error": "denied"}],
     "finishReason": "tool-calls",
     "usage": {"inputTokens": 5, "outputTokens": 6}, "response": {"modelId": "gpt-5-mini"}},
]  # fmt: skip


@pytest.mark.parametrize(("steps", "came"), [(STEPS, ("ok", "a b")), (NEWER, ("error", None))])
def test_a_result_of_the_ai_sdk_is_its_steps(tmp_path: Path, steps: list[Any], came: tuple[str, Any]) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"steps": steps, "messages": ASKED["messages"], "usage": {"totalTokens": 99}}))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.steps, run.tokens_in, run.tokens_out) == (1, 5, 6)
        _, tool = source.calls(run.id, 1)
        assert (tool.name, tool.args, tool.status, tool.result) == ("list", {"path": "."}, *came)
        check_source(source)


@pytest.mark.parametrize(
    "line",
    [
        {"key": "a", "error": "boom"},
        {"key": "a", "result": {"type": "ok"}},
        {"id": "1", "kind": "login", "source": "web", "timestamp": "2026-03-02T10:00:00Z"},
    ],
)
def test_lines_of_other_programs_that_look_a_little_alike_are_no_runs(tmp_path: Path, line: dict[str, Any]) -> None:
    with pytest.raises(NotAStore):
        open_source(write(tmp_path / "log.jsonl", [line, line]))
