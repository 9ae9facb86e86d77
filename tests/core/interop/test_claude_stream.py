"""What Claude Code writes as it works, as a run."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

SESSION = {"session_id": "f00d"}
INIT = {"type": "system", "subtype": "init", "cwd": "/desk", "model": "claude-sonnet-4-5", **SESSION}


def said(message_id: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7, "output_tokens": 1}
    message = {"id": message_id, "role": "assistant", "model": "claude-sonnet-4-5", "type": "message",
               "content": list(blocks), "stop_reason": None, "usage": usage}  # fmt: skip
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, **SESSION, **more}


def heard(content: object, **more: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        **SESSION,
        **more,
    }


def asks(call: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def gives(call: str, content: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": content, **more}]


TEXT = {"type": "text", "text": "It is 51."}
WHOLE = {"claude-sonnet-4-5": {"inputTokens": 9, "outputTokens": 44, "cacheReadInputTokens": 300,
                               "cacheCreationInputTokens": 21, "costUSD": 0.25}}  # fmt: skip
DONE = {
    "type": "result", "subtype": "success", "is_error": False, "result": "It is 51.", "num_turns": 2,
    "total_cost_usd": 0.25, "modelUsage": WHOLE, "usage": {"input_tokens": 6, "output_tokens": 30}, **SESSION,
}  # fmt: skip
WORK = [
    INIT,
    heard("What is 17 times 3?"),
    said("m1", {"type": "thinking", "thinking": "A helper can do that."}),
    said("m1", asks("t1", "Task", subagent_type="adder", prompt="Add.")),
    said("m1", asks("t2", "Bash", command="bc")),
    heard("Add.", parent_tool_use_id="t1"),
    said("m2", {"type": "text", "text": "34"}, parent_tool_use_id="t1"),
    heard(gives("t2", "no bc", is_error=True)),
    heard(gives("t1", "34")),
    said("m3", TEXT),
    DONE,
]


def written(folder: Path, entries: list[dict[str, Any]], wrapping: str = "lines") -> Path:
    path = folder / "stream.jsonl"
    ways = {
        "lines": lambda: "".join(json.dumps(entry) + "\n" for entry in entries),
        "list": lambda: json.dumps(entries),
        "both sides": lambda: json.dumps(
            {"metadata": {}, "messages": [
                {"direction": "send" if entry["type"] == "user" else "recv", "message": entry} for entry in entries]}
        ),
    }  # fmt: skip
    path.write_text(ways[wrapping]())
    return path


@pytest.mark.parametrize("wrapping", ["lines", "list", "both sides"])
def test_a_stream_is_a_run_with_its_answers_whole(tmp_path: Path, wrapping: str) -> None:
    with closing(open_source(written(tmp_path, WORK, wrapping))) as source:
        (run,) = source.runs()
        assert (run.id, run.status, run.tokens_in, run.tokens_out, run.cost_usd) == ("f00d", "succeeded", 330, 44, 0.25)
        assert run.model is not None
        steps = source.steps(run.id)
        assert [(step.name, step.lane, step.parent) for step in steps] == [
            ("Task, Bash", "main", None), ("answer", "adder", 1), ("answer", "main", None),
        ]  # fmt: skip
        assert [step.tokens_out for step in steps] == [None, None, None]
        _, task, bash = source.calls(run.id, 1)
        assert (task.status, task.result) == ("ok", "34")
        assert (bash.status, bash.error.message) == ("error", "no bc")
        assert source.state(run.id, 2)["messages"][0]["content"] == "Add."
        assert len(source.state(run.id, 3)["messages"]) == 5
        assert run.metadata["cwd"] == "/desk"
        check_source(source)


def test_pieces_of_an_answer_say_how_much_was_written(tmp_path: Path) -> None:
    pieces = [
        {"type": "stream_event", "event": {"type": "message_start", "message": {"id": "m3"}}, **SESSION},
        {"type": "stream_event", "event": {"type": "message_delta", "usage": {"output_tokens": 12}}, **SESSION},
    ]
    with closing(open_source(written(tmp_path, [INIT, pieces[0], said("m3", TEXT), pieces[1]]))) as source:
        (step,) = source.steps("f00d")
        assert (step.tokens_in, step.tokens_out) == (110, 12)
        assert source.runs()[0].status == "unknown"


@pytest.mark.parametrize(
    ("last", "status"),
    [({"subtype": "error_max_turns"}, "interrupted"), ({"subtype": "error_during_execution"}, "failed"),
     ({"is_error": True, "result": "no credit"}, "failed")],
    ids=["limit", "error", "refused"],
)  # fmt: skip
def test_a_task_that_did_not_succeed_says_why(tmp_path: Path, last: dict[str, Any], status: str) -> None:
    with closing(open_source(written(tmp_path, [*WORK[:-1], DONE | last]))) as source:
        (run,) = source.runs()
        assert run.status == status
        assert run.error is not None


def test_what_comes_after_a_result_is_not_counted_by_it(tmp_path: Path) -> None:
    with closing(open_source(written(tmp_path, [*WORK, heard("Sure?"), said("m4", TEXT)]))) as source:
        (run,) = source.runs()
        assert (run.status, run.tokens_in, run.tokens_out) == ("unknown", 440, None)


def test_the_last_of_several_results_counts_the_session(tmp_path: Path) -> None:
    older = DONE | {"modelUsage": {}, "total_cost_usd": 0.5}
    with closing(open_source(written(tmp_path, [*WORK, heard("Sure?"), said("m4", TEXT), DONE]))) as source:
        assert source.runs()[0].tokens_in == 330
    with closing(open_source(written(tmp_path, [*WORK[:-1], older]))) as source:
        assert (source.runs()[0].tokens_in, source.runs()[0].tokens_out) == (6, 30)
    with closing(open_source(written(tmp_path, [*WORK, heard("Sure?"), said("m4", TEXT), older]))) as source:
        assert source.runs()[0].tokens_in == 440


def test_compaction_and_errors_of_the_program_are_shown(tmp_path: Path) -> None:
    compacts = {"type": "system", "subtype": "compact_boundary", "compact_metadata": {"pre_tokens": 9000}, **SESSION}
    refused = said("m9", {"type": "text", "text": "Rate limited"}, error="rate_limit")
    with closing(open_source(written(tmp_path, [*WORK[:-1], compacts, heard("So far: 51."), refused]))) as source:
        steps = source.steps("f00d")
        (compaction,) = [step for step in steps if step.name == "compaction"]
        assert source.state("f00d", compaction.number)["messages"] == []
        assert (steps[-1].status, steps[-1].error.message) == ("error", "Rate limited")
        check_source(source)


def test_what_was_sent_and_given_back_is_there_once(tmp_path: Path) -> None:
    entries = [INIT, heard("Hello."), heard("Hello.", isReplay=True), said("m1", TEXT)]
    with closing(open_source(written(tmp_path, entries))) as source:
        assert len(source.state("f00d", 1)["messages"]) == 2


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [[]], {"id": 3}, [None]])
def test_strange_values_in_a_stream_are_no_traceback(tmp_path: Path, odd: object) -> None:
    for number, entry in enumerate(WORK):
        for key in entry:
            changed = [*WORK[:number], {**entry, key: odd}, *WORK[number + 1 :]]
            with closing(open_source(written(tmp_path, changed, "list"))) as source:
                check_source(source)
