"""Logs of agentrr as runs, in the shape that its version 0.1.0a3 writes."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

HEAD = {"kind": "header", "log_format_version": "1.0", "run_id": "sum-c98564", "sdk_version": "0.1.0a3",
        "agent_code_fingerprint": None, "entrypoint": "desk:agent", "initial_input": None}  # fmt: skip
ASKED = {"role": "user", "content": "What is 17 times 3?"}
CALL = {"name": "times", "arguments": '{"a": 17, "b": 3}'}
CALLS = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": CALL}]}
GIVEN = {"role": "tool", "tool_call_id": "c", "content": "51"}


def event(seq: int, kind: str, request: object, response: object = None, error: object = None) -> dict[str, Any]:
    return {
        "event_id": f"e{seq}", "run_id": "sum-c98564", "seq": seq, "type": kind, "parent_id": None, "ts_logical": seq,
        "ts_wall": f"2026-11-24T15:23:0{seq}.000000Z", "status": "error" if error else "ok", "request": request,
        "response": response, "error": error, "meta": {}, "integrity": "",
    }  # fmt: skip


WORK = [
    HEAD,
    event(0, "run_start", {"status": "started"}),
    event(1, "llm_call", {"model": "gpt-4o", "messages": [ASKED], "params": {}},
          {"content": "", "finish_reason": "tool_calls", "tool_calls": [CALL]}),
    event(2, "tool_call", {"name": "times", "arguments": {"args": [], "kwargs": {"a": 17, "b": 3}}}, {"value": 51}),
    event(3, "tool_call", {"name": "broken", "arguments": {"args": [1], "kwargs": {}}}, None,
          {"type": "ValueError", "message": "no", "payload": {}}),
    event(4, "clock_read", {"call": "time"}, {"value": 1.5}),
    event(5, "llm_call", {"model": "gpt-4o", "messages": [ASKED, CALLS, GIVEN], "params": {}},
          {"content": "It is 51.", "finish_reason": "stop", "tool_calls": []}),
    event(6, "run_end", {"status": "ok"}),
]  # fmt: skip


def written(folder: Path, entries: list[Any]) -> Path:
    path = folder / "sum.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_a_log_is_a_run(tmp_path: Path) -> None:
    with closing(open_source(written(tmp_path, WORK))) as source:
        (run,) = source.runs()
        assert (run.id, run.status, run.steps) == ("sum-c98564", "succeeded", 3)
        assert run.metadata["entrypoint"] == "desk:agent"
        assert [step.name for step in source.steps(run.id)] == ["times", "broken", "answer"]
        assert [(call.kind, call.args, call.result) for call in source.calls(run.id, 1)][1:] == [
            ("tool", {"a": 17, "b": 3}, 51)
        ]
        (broken,) = source.calls(run.id, 2)
        assert (broken.status, broken.error.class_name, broken.args) == (
            "error",
            "ValueError",
            {"args": [1], "kwargs": {}},
        )
        assert source.steps(run.id)[1].extra["raw_entries"][0]["type"] == "clock_read"
        assert source.state(run.id, 3)["messages"][-1]["content"] == "It is 51."
        check_source(source)


@pytest.mark.parametrize(("end", "status"), [([], "unknown"), ([event(6, "run_end", {"status": "error"})], "failed")])
def test_a_run_ended_as_its_log_says(tmp_path: Path, end: list[Any], status: str) -> None:
    with closing(open_source(written(tmp_path, [*WORK[:-1], *end]))) as source:
        assert source.runs()[0].status == status


def test_a_model_that_failed_said_nothing(tmp_path: Path) -> None:
    failed = event(1, "llm_call", WORK[2]["request"], None, {"type": "Timeout", "message": "too slow", "payload": {}})
    with closing(open_source(written(tmp_path, [HEAD, failed]))) as source:
        (call,) = source.calls("sum-c98564", 1)
        assert (call.status, call.error.message) == ("error", "Timeout: too slow")
        assert source.state("sum-c98564", 1) == {"messages": [ASKED]}


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [[]], [None]])
def test_strange_values_in_a_log_of_agentrr_are_no_traceback(tmp_path: Path, odd: object) -> None:
    for number, entry in enumerate(WORK[1:], 1):
        for key in entry:
            changed = [*WORK[:number], {**entry, key: odd}, *WORK[number + 1 :]]
            with closing(open_source(written(tmp_path, changed))) as source:
                check_source(source)
