"""Files of messages and trajectories as runs, and files that are none."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.conformance.reading import check_source

from agent_tt.codec.encode import encode
from agent_tt.errors import AgentTTError, NotAStore, StoreUnreadable
from agent_tt.history.digest import digest
from agent_tt.interop.transcripts import document
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource

ASKED = {"role": "user", "content": "What is 17 times 3?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "times", "arguments": '{"a": 17, "b": 3}'}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
GIVEN = {"role": "tool", "tool_call_id": "c1", "content": "51"}
SAID = {"role": "assistant", "content": "It is 51."}
CHAT = [ASKED, CALLS, GIVEN, SAID]

BLOCKS = [
    ASKED,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "times", "input": {"a": 17, "b": 3}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "51"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is 51."}]},
]
ITEMS = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is 17 times 3?"}]},
    {"type": "function_call", "call_id": "c1", "name": "times", "arguments": '{"a": 17, "b": 3}'},
    {"type": "function_call_output", "call_id": "c1", "output": "51"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 51."}]},
]


def written(folder: Path, value: object, name: str = "talk.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def shown(source: RunSource) -> list[tuple[Any, ...]]:
    """Of each run its steps' names, and its tools' arguments and results."""
    return [
        tuple(
            (
                step.name,
                *((call.args, call.result) for call in source.calls(run.id, step.number) if call.kind == "tool"),
            )
            for step in source.steps(run.id)
        )
        for run in source.runs()
    ]


TIMES = (("times", ({"a": 17, "b": 3}, "51")), ("answer",))


@pytest.mark.parametrize("turns", [CHAT, BLOCKS, ITEMS], ids=["OpenAI", "Anthropic", "Responses"])
@pytest.mark.parametrize(
    "wrapped",
    [lambda turns: turns, lambda turns: {"messages": turns}, lambda turns: [{"traj": turns, "task_id": 3}],
     lambda turns: {"simulations": [{"id": "s", "messages": turns}]},
     lambda turns: {"custom_id": "q", "method": "POST", "body": {"model": "m", "messages": turns}}],
    ids=["list", "object", "tau-bench", "tau2", "batch"],
)  # fmt: skip
def test_a_conversation_is_a_run_in_each_form_and_wrapping(tmp_path: Path, turns: object, wrapped: Any) -> None:
    with closing(open_source(written(tmp_path, wrapped(turns)))) as source:
        assert shown(source) == [TIMES]
        assert source.runs()[0].status == "unknown"
        check_source(source)


def test_each_conversation_of_a_file_is_a_run_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "training.jsonl"
    path.write_text("".join(json.dumps({"messages": turns, "weight": 1}) + "\n" for turns in (CHAT, [ASKED, SAID])))
    with closing(open_source(path)) as source:
        assert shown(source) == [TIMES, (("answer",),)]
        assert [run.id for run in source.runs()] == ["training-1", "training-2"]
        assert source.run("training-2").metadata == {"weight": 1}


def test_what_a_person_says_later_is_a_step(tmp_path: Path) -> None:
    with closing(open_source(written(tmp_path, [ASKED, SAID, {"role": "user", "content": "Sure?"}, SAID]))) as source:
        (run,) = source.runs()
        assert [(step.name, step.kind) for step in source.steps(run.id)] == [
            ("answer", "llm"), ("user", "human"), ("answer", "llm"),
        ]  # fmt: skip
        assert source.calls(run.id, 2)[0].result == "Sure?"


def test_a_result_that_nobody_asked_for_is_shown_as_one(tmp_path: Path) -> None:
    with closing(open_source(written(tmp_path, [ASKED, SAID, GIVEN, SAID]))) as source:
        assert shown(source) == [(("answer", (None, "51")), ("answer",))]


def test_a_call_without_a_result_is_pending(tmp_path: Path) -> None:
    with closing(open_source(written(tmp_path, [ASKED, CALLS]))) as source:
        (run,) = source.runs()
        assert [call.status for call in source.calls(run.id, 1)] == ["ok", "pending"]


CALLED = {"role": "assistant", "content": None}
turn = st.one_of(
    st.builds(lambda words: {"role": "user", "content": words}, st.text(max_size=8)),
    st.builds(lambda words: {"role": "assistant", "content": words}, st.text(max_size=8)),
    st.builds(
        lambda key: {"role": "assistant", "content": None, "tool_calls": [CALL | {"id": key}]}, st.sampled_from("ab")
    ),
    st.builds(lambda key: {"role": "tool", "tool_call_id": key, "content": "x"}, st.sampled_from("abc")),
)


@settings(max_examples=60, deadline=None)
@given(turns=st.lists(turn, min_size=1, max_size=12))
def test_every_turn_is_in_the_last_state_in_order_and_digests_are_those_of_the_states(
    turns: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    turns = [ASKED, *turns]
    path = written(tmp_path_factory.mktemp("turns"), turns)
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert source.state(run.id, run.steps) == {"messages": [encode(each) for each in turns]}
        for step in range(run.steps + 1):
            assert source.digest(run.id, step) == digest(source.state(run.id, step))
        models = sum(each["role"] == "assistant" for each in turns)
        calls = [call for step in source.steps(run.id) for call in source.calls(run.id, step.number)]
        assert sum(call.kind == "llm" for call in calls) == models


PI = [
    {"type": "session", "id": "p1", "cwd": "/desk", "modelId": "claude-sonnet-4-5"},
    {"type": "message", "timestamp": "2026-03-02T10:00:01Z", "message": {"role": "user", "content": "Look."}},
    {"type": "message", "timestamp": "2026-03-02T10:00:03Z", "message": {
        "role": "assistant", "model": "claude-sonnet-4-5", "stopReason": "toolUse",
        "content": [
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}, "partialJson": ""}],
        "usage": {"input": 3, "output": 20, "cacheRead": 100, "cacheWrite": 7, "cost": {"total": 0.25}}}},
    {"type": "message", "timestamp": "2026-03-02T10:00:04Z", "message": {
        "role": "toolResult", "toolCallId": "c1", "toolName": "bash", "isError": True,
        "content": [{"type": "text", "text": "exit code 1"}]}},
    {"type": "thinking_level_change", "timestamp": "2026-03-02T10:00:05Z", "thinkingLevel": "high"},
    {"type": "message", "timestamp": "2026-03-02T10:00:06Z", "message": {
        "role": "assistant", "content": [], "stopReason": "aborted", "errorMessage": "Request was aborted"}},
]  # fmt: skip


def test_a_session_of_pi_is_read_with_its_own_usage_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "pi.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in PI))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        first, second = source.steps("p1")
        _, bash = source.calls("p1", 1)
        assert (run.id, run.model.model, run.cost_usd) == ("p1", "claude-sonnet-4-5", 0.25)
        assert (first.name, first.tokens_in, first.tokens_out, first.duration_us) == ("bash", 110, 20, 3_000_000)
        assert (bash.args, bash.status, bash.error.message) == ({"command": "ls"}, "error", "exit code 1")
        assert (second.status, second.error.message) == ("error", "Request was aborted")
        assert first.facts.raw_entries == [PI[4]]
        assert source.state("p1", 1)["messages"][1]["content"][0]["partialJson"] == ""
        check_source(source)


def test_a_trajectory_of_harbor_has_its_observations_and_totals(tmp_path: Path) -> None:
    steps = [
        {"step_id": 1, "source": "system", "message": "You are an agent."},
        {"step_id": 2, "source": "user", "message": "Make a file."},
        {"step_id": 3, "source": "agent", "message": "Made.", "reasoning_content": "easy",
         "metrics": {"prompt_tokens": 9},
         "tool_calls": [{"tool_call_id": "t1", "function_name": "write", "arguments": {"path": "a"}}],
         "observation": {"results": [{"source_call_id": "t1", "content": "done"}]}},
    ]  # fmt: skip
    whole = {"schema_version": "ATIF-v1.5", "session_id": "h1", "agent": {"name": "hand", "model_name": "m"}}
    totals = {"total_prompt_tokens": 9, "total_completion_tokens": 4, "total_cost_usd": 0.5}
    with closing(open_source(written(tmp_path, whole | {"steps": steps, "final_metrics": totals}))) as source:
        (run,) = source.runs()
        assert (run.id, run.origin["system"], run.model.model) == ("h1", "hand (ATIF)", "m")
        assert (run.tokens_in, run.tokens_out, run.cost_usd) == (9, 4, 0.5)
        assert shown(source) == [(("write", ({"path": "a"}, "done")),)]
        assert source.state("h1", 1)["messages"][2]["reasoning_content"] == "easy"
        check_source(source)


SWE = {
    "environment": "swe_main",
    "trajectory": [
        {"action": "ls -a\n", "observation": "a.py", "response": "Look.", "state": '{"open_file": "n/a"}'},
        {"action": "submit", "observation": "", "response": "Done.", "state": '{"open_file": "a.py"}'},
    ],
    "info": {
        "exit_status": "submitted",
        "model_stats": {"tokens_sent": 50, "tokens_received": 6, "instance_cost": 0.1},
    },
}  # fmt: skip
HISTORY = [
    {"role": "system", "content": "You fix things.", "agent": "main"},
    {"role": "assistant", "content": "A demonstration.", "is_demo": True, "agent": "main"},
    {"role": "assistant", "content": "Look.", "action": "ls -a\n", "agent": "main"},
    {"role": "user", "content": "a.py", "agent": "main"},
    {"role": "assistant", "content": "Done.", "action": "submit", "agent": "main"},
]


@pytest.mark.parametrize("history", [HISTORY, HISTORY[:3], []], ids=["whole", "cut", "none"])
def test_a_trajectory_of_swe_agent_has_a_step_for_each_action(tmp_path: Path, history: list[object]) -> None:
    path = written(tmp_path, SWE | {"history": history}, "fix.traj")
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.id, run.status, run.tokens_in, run.cost_usd) == ("fix", "succeeded", 50, 0.1)
        assert shown(source) == [(("answer", ({"action": "ls -a\n"}, "a.py")), ("answer", ({"action": "submit"}, "")))]
        assert source.state("fix", 2)["environment"] == {"open_file": "a.py"}
        # A history that is not whole says less than the entries do.
        told = [turn["content"] for turn in HISTORY] if history == HISTORY else ["Look.", "a.py", "Done.", ""]
        assert [message["content"] for message in source.state("fix", 2)["messages"]] == told
        check_source(source)


@pytest.mark.parametrize("mode", ["tool", "text"])
def test_a_trajectory_of_mini_swe_agent_joins_actions_and_results(tmp_path: Path, mode: str) -> None:
    with_id = mode == "tool"
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "cat x"}'}}
    messages = [
        {"role": "system", "content": "You fix things."},
        {"role": "assistant", "content": "cat x", "extra": {"actions": [{"command": "cat x"}], "cost": 0.5}}
        | ({"tool_calls": [call]} if with_id else {}),
        {"content": "no such file", "extra": {"returncode": 1, "raw_output": "no such file"}}
        | ({"role": "tool", "tool_call_id": "c1"} if with_id else {"role": "user"}),
        {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded"}},
    ]
    whole = {"trajectory_format": "mini-swe-agent-1.1", "info": {"exit_status": "LimitsExceeded"}, "messages": messages}
    with closing(open_source(written(tmp_path, whole, "m.traj.json"))) as source:
        (run,) = source.runs()
        (step,) = source.steps("m")
        _, bash = source.calls("m", 1)
        assert (run.status, run.error.short) == ("failed", "LimitsExceeded: the agent was stopped before it submitted")
        assert (step.cost_usd, bash.name, bash.args) == (0.5, "bash", {"command": "cat x"})
        assert (bash.status, bash.error.message) == ("error", "no such file")
        assert len(source.state("m", 1)["messages"]) == 4


def acted(number: int, action: str, args: dict[str, Any], source: str = "agent", **more: Any) -> dict[str, Any]:
    stamp = f"2026-03-02T10:00:{number:02}.000000"
    return {"id": number, "timestamp": stamp, "source": source, "action": action, "args": args, **more}


def came(number: int, cause: int, words: str, **more: Any) -> dict[str, Any]:
    stamp = f"2026-03-02T10:00:{number:02}.000000"
    return {"id": number, "timestamp": stamp, "cause": cause, "observation": "run", "content": words, **more}


def test_a_stream_of_openhands_joins_actions_of_one_answer_and_what_came_of_them(tmp_path: Path) -> None:
    calls = [CALL | {"id": key} for key in ("c1", "c2")]
    said = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]}
    response = {"id": "r1", "model": "gpt-4o", **said, "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
    of_call = [{"tool_call_metadata": {"tool_call_id": key, "model_response": response}} for key in ("c1", "c2")]
    events = [
        acted(0, "message", {"content": "Look."}, "user"),
        acted(1, "run", {"command": "a"}, **of_call[0]),
        acted(2, "run", {"command": "b"}, **of_call[1]),
        came(3, 2, "no", extras={"metadata": {"exit_code": 1}}),
        came(4, 1, "yes"),
        {"id": 5, "observation": "agent_state_changed", "content": "", "extras": {"agent_state": "finished"}},
        acted(6, "message", {"content": "Done."}),
    ]
    with closing(open_source(written(tmp_path, events, "stream.json"))) as source:
        (run,) = source.runs()
        first, second = source.steps("stream")
        model, one, two = source.calls("stream", 1)
        assert (run.tokens_in, run.tokens_out, run.model.model) == (9, 4, "gpt-4o")
        assert (first.name, second.decision) == ("times ×2", "Done.")
        assert model.args == {"messages": [{"role": "user", "content": "Look."}]}
        assert [(call.status, call.result) for call in (one, two)] == [("ok", "yes"), ("error", None)]
        assert first.facts.raw_entries[-1]["extras"] == {"agent_state": "finished"}
        check_source(source)


def test_a_result_of_openhands_resolver_is_read_without_answers_and_ids(tmp_path: Path) -> None:
    history = [
        {"action": "message", "content": "Fix it."},
        {"action": "run", "command": "ls", "thought": "I will look."},
        {"observation": "run", "command": "ls", "content": "a.py", "exit_code": 0},
        {"action": "finish", "outputs": {}, "thought": "Fixed."},
    ]
    path = tmp_path / "out.jsonl"
    rows = [{"issue": {"number": 5}, "history": history, "error": None}, {"history": history, "error": "stuck"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with closing(open_source(path)) as source:
        assert [(run.id, run.status) for run in source.runs()] == [("out-1", "unknown"), ("out-2", "failed")]
        assert shown(source)[0] == (("run", ({"command": "ls"}, "a.py")), ("answer",))
        assert [step.decision for step in source.steps("out-1")] == ["I will look.", "Fixed."]
        assert source.run("out-1").tokens_in is None
        check_source(source)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty file"),
        ("{}", "a JSON file"),
        ("[1, 2]", "a JSON file"),
        ('{"a": 1}\n{"a": 2}\n', "a JSON file,"),
        ('{"a": [1,\n2', "a damaged JSON file (it breaks at line 2"),
        ("[" * 100_000, "a damaged JSON file"),
        ('{"role": "user"', "a damaged JSON file"),
    ],
)
def test_a_file_of_no_format_is_refused_with_what_it_is(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(NotAStore) as refused:
        open_source(path)
    assert said in refused.value.message


def test_a_file_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MOST_BYTES", 10)
    with pytest.raises(StoreUnreadable, match="too large"):
        open_source(written(tmp_path, CHAT))


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_damaged_file_opens_or_is_refused_and_never_breaks(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = "".join(json.dumps(line) + "\n" for line in PI).encode()
    whole = data.draw(st.sampled_from([json.dumps(CHAT).encode(), json.dumps(SWE).encode(), lines]))
    at, length = data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, 60))
    put = data.draw(st.sampled_from([b"", b"null", b"[]", b"{}", b'"', b"}", b"\n", b"\xff"]))
    path = tmp_path_factory.mktemp("damaged") / "f"
    path.write_bytes(whole[:at] + put + whole[at + length :])
    try:
        source = open_source(path)
    except AgentTTError:
        return
    with closing(source):
        for run in source.runs():
            for step in source.steps(run.id):
                assert len(source.calls(run.id, step.number)) == step.calls
                source.state(run.id, step.number)


GEMINI = [
    {"role": "user", "parts": [{"text": "What is 17 times 3?"}]},
    {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "times", "args": {"a": 17, "b": 3}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "times", "response": {"output": "51"}}}]},
    {"role": "model", "parts": [{"text": "It is 51."}]},
]
BEDROCK = [
    {"role": "user", "content": [{"text": "What is 17 times 3?"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "times", "input": {"a": 17, "b": 3}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "51"}]}}]},
    {"role": "assistant", "content": [{"text": "It is 51."}]},
]


@pytest.mark.parametrize(("turns", "result"), [(GEMINI, {"output": "51"}), (BEDROCK, [{"text": "51"}])])
def test_results_in_the_forms_of_gemini_and_bedrock_answer_their_calls(
    tmp_path: Path, turns: object, result: object
) -> None:
    with closing(open_source(written(tmp_path, turns))) as source:
        assert shown(source) == [(("times", ({"a": 17, "b": 3}, result)), ("answer",))]
        check_source(source)


def test_a_trajectory_shows_its_sub_agents_its_compaction_and_what_no_model_was_asked_for(tmp_path: Path) -> None:
    child = {"schema_version": "ATIF-v1.7", "trajectory_id": "child", "agent": {"name": "reader", "model_name": "m"},
             "steps": [{"step_id": 1, "source": "user", "message": "Read.", "is_copied_context": True},
                       {"step_id": 2, "source": "agent", "message": "Read.",
                        "metrics": {"prompt_tokens": 25}}]}  # fmt: skip
    referred = {"source_call_id": "c1", "content": "Begun.", "subagent_trajectory_ref": [{"trajectory_id": "child"}]}
    called = {"tool_call_id": "c1", "function_name": "delegate", "arguments": {"topic": "x"}}
    alone = {"tool_call_id": "c2", "function_name": "type", "arguments": {"keys": "ls"}}
    whole = {
        "schema_version": "ATIF-v1.7", "session_id": "h1", "agent": {"name": "hand", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Make a file."},
            {"step_id": 2, "source": "agent", "message": "", "llm_call_count": 0, "tool_calls": [called],
             "observation": {"results": [referred]}},
            {"step_id": 3, "source": "system", "message": "Compacted.",
             "observation": {"results": [{"content": "A file is to be made."}]},
             "extra": {"context_management": {"type": "compaction", "boundary": "replace"}}},
            {"step_id": 4, "source": "agent", "message": "Made.", "tool_calls": [alone],
             "metrics": {"prompt_tokens": 42},
             "observation": {"results": [{"content": "a.txt"}]}},
        ],
        "final_metrics": {"total_prompt_tokens": 42, "total_completion_tokens": 0}, "subagent_trajectories": [child],
    }  # fmt: skip
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(whole))
    with closing(open_source(path)) as source:
        steps = source.steps("h1")
        assert [(step.name, step.lane, step.parent) for step in steps] == [
            ("delegate", "main", None), ("answer", "reader", 1), ("compaction", "main", None), ("type", "main", None),
        ]  # fmt: skip
        assert [call.kind for call in source.calls("h1", 1)] == ["tool"]
        assert [turn["content"] for turn in source.state("h1", 3)["messages"]] == ["A file is to be made."]
        assert source.calls("h1", 4)[1].result == "a.txt"
        assert source.runs()[0].tokens_in == 42 + 25
        check_source(source)
