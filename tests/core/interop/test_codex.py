"""Sessions of the Codex CLI as runs: answers of several lines, what they cost, compaction, rollback, the old form."""

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

SESSION = "019dd8e4-15dd-7143-95e8-219014341717"
HEAD = {"id": SESSION, "timestamp": "2026-04-29T10:58:39.732Z", "cwd": "/desk", "originator": "codex-tui",
        "cli_version": "0.125.0", "source": "cli", "base_instructions": {"text": "Be brief."}}  # fmt: skip


def said(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def called(call: str, command: str) -> dict[str, Any]:
    arguments = json.dumps({"cmd": command})
    return {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call}


def gave(call: str, words: str, code: int = 0) -> dict[str, Any]:
    told = f"Chunk ID: ef0014\nWall time: 0.0 seconds\nProcess exited with code {code}\nOutput:\n{words}"
    return {"type": "function_call_output", "call_id": call, "output": told}


THOUGHT = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAAA"}
CONTEXT = said("user", "<environment_context>\n  <cwd>/desk</cwd>\n</environment_context>")


class Rollout:
    """The lines of a session; each method adds some."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
        self.entry("session_meta", HEAD)
        self.entry("turn_context", {"cwd": "/desk", "model": "gpt-5", "summary": "auto"})

    def entry(self, kind: str, payload: dict[str, Any]) -> None:
        at = f"2026-04-29T10:59:{len(self.lines):02}.000Z"
        self.lines.append({"timestamp": at, "type": kind, "payload": payload})

    def items(self, *items: dict[str, Any]) -> Rollout:
        for item in items:
            self.entry("response_item", item)
        return self

    def event(self, kind: str, **payload: Any) -> Rollout:
        self.entry("event_msg", {"type": kind, **payload})
        return self

    def asks(self, words: str) -> Rollout:
        return self.items(CONTEXT, said("user", words)).event("user_message", message=words, images=[])

    def counts(self, read: int, written: int, *, again: bool = False) -> Rollout:
        last = {"input_tokens": read, "cached_input_tokens": 100, "output_tokens": written}
        if not again:
            self.total = {key: self.total[key] + last[key] for key in last}
        return self.event("token_count", info={"total_token_usage": {**self.total}, "last_token_usage": last})

    def write(self, folder: Path) -> Path:
        path = folder / "rollout.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path

    def opened(self, folder: Path) -> RunSource:
        return open_source(self.write(folder))


def session() -> Rollout:
    """Two tools in one answer, of which one fails; then an answer, and limits that are told once more."""
    rollout = Rollout().asks("Are the tests green?").event("token_count", info=None, rate_limits={})
    rollout.items(THOUGHT, said("assistant", "I will look."), called("c1", "pytest"), called("c2", "cat a.py"))
    rollout.counts(900, 40).items(gave("c1", "3 failed", 1), gave("c2", "code 1\nProcess exited with code 9"))
    rollout.counts(900, 40, again=True).items(THOUGHT, said("assistant", "No, three fail."))
    return rollout.event("agent_message", message="No, three fail.").counts(1000, 20).counts(1000, 20, again=True)


def test_items_that_follow_one_another_are_one_answer_whose_usage_counts_once(tmp_path: Path) -> None:
    with closing(session().opened(tmp_path)) as source:
        (run,) = source.runs()
        first, second = source.steps(run.id)
        assert (run.id, run.status, run.model.model) == (SESSION, "unknown", "gpt-5")
        assert run.origin["system"] == "Codex CLI"
        assert (run.metadata["cwd"], run.metadata["cli_version"]) == ("/desk", "0.125.0")
        assert (first.name, first.tokens_in, first.tokens_out) == ("exec_command ×2", 900, 40)
        assert (second.decision, second.tokens_in, second.tokens_out) == ("No, three fail.", 1000, 20)
        assert (run.tokens_in, run.tokens_out) == (1900, 60)
        assert run.cost_usd == pytest.approx(first.cost_usd + second.cost_usd) != 0
        model = source.calls(run.id, 1)[0]
        assert [item["type"] for item in model.result] == ["reasoning", "message", "function_call", "function_call"]
        assert model.facts.tokens_cached == 100
        check_source(source)


def test_a_command_that_failed_is_an_error_and_what_it_printed_is_not_asked(tmp_path: Path) -> None:
    with closing(session().opened(tmp_path)) as source:
        _, failed, fine = source.calls(SESSION, 1)
        assert (failed.args, failed.status) == ({"cmd": "pytest"}, "error")
        assert failed.error.message.endswith("3 failed")
        assert (fine.status, fine.result[-9:]) == ("ok", "th code 9"[-9:])


@pytest.mark.parametrize(
    ("end", "output", "status"),
    [
        ({"type": "exec_command_end", "exit_code": 2}, "silent", "error"),
        ({"type": "exec_command_end", "exit_code": 0}, "Exit code: 3\nOutput:\n", "ok"),
        ({"type": "patch_apply_end", "success": False}, "no", "error"),
        ({"type": "mcp_tool_call_end", "result": {"Err": "gone"}}, "gone", "error"),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"content": [], "isError": True}}}, "gone", "error"),
        ({"type": "mcp_tool_call_end", "result": {"Ok": {"content": []}}}, "here", "ok"),
        ({}, json.dumps({"output": "x", "metadata": {"exit_code": 1}}), "error"),
        ({}, "Exit code: 3\nWall time: 1 seconds\nOutput:\n", "error"),
        ({}, [{"type": "input_text", "text": "a picture"}], "ok"),
        ({}, "error: no such file", "ok"),
        ({}, "The log says:\nExit code: 3\n", "ok"),
    ],
)
def test_a_tool_failed_where_its_end_or_its_code_says_so(
    tmp_path: Path, end: dict[str, Any], output: object, status: str
) -> None:
    rollout = Rollout().asks("Go.").items(called("c1", "x"))
    if end:
        rollout.event(**{**end, "kind": end["type"], "call_id": "c1"})
    rollout.items({"type": "function_call_output", "call_id": "c1", "output": output})
    with closing(rollout.opened(tmp_path)) as source:
        assert source.calls(SESSION, 1)[1].status == status


def test_what_codex_says_for_the_user_is_in_the_state_and_no_step(tmp_path: Path) -> None:
    rollout = session().asks("Fix them.").items(said("assistant", "Done."))
    with closing(rollout.opened(tmp_path)) as source:
        assert [(step.name, step.kind) for step in source.steps(SESSION)][2:] == [("user", "human"), ("answer", "llm")]
        state = source.state(SESSION, 4)
        assert state["instructions"] == "Be brief."
        assert state["messages"][-3:] == [CONTEXT, said("user", "Fix them."), said("assistant", "Done.")]


def test_counts_that_stand_before_their_answers_belong_to_these(tmp_path: Path) -> None:
    rollout = Rollout().asks("Go.").counts(900, 40).items(called("c1", "ls"), gave("c1", ""))
    rollout.counts(1000, 20).items(said("assistant", "Done."))
    with closing(rollout.opened(tmp_path)) as source:
        assert [(step.tokens_in, step.tokens_out) for step in source.steps(SESSION)] == [(900, 40), (1000, 20)]


def test_what_was_counted_for_no_answer_counts_for_the_run_alone(tmp_path: Path) -> None:
    rollout = session().counts(500, 5).asks("And now?").items(said("assistant", "Green.")).counts(1100, 10)
    with closing(rollout.opened(tmp_path)) as source:
        assert [step.tokens_in for step in source.steps(SESSION)] == [900, 1000, None, 1100]
        (run,) = source.runs()
        assert (run.tokens_in, run.tokens_out) == (3500, 75)


KEPT = [said("user", "Are the tests green?"), said("user", "Summary: three fail.")]


@pytest.mark.parametrize(
    ("more", "messages"),
    [({"replacement_history": KEPT}, KEPT), ({}, [said("assistant", "Summary: three fail.")])],
)
def test_compaction_costs_what_was_counted_before_it(tmp_path: Path, more: dict[str, Any], messages: list[Any]) -> None:
    rollout = session().counts(2000, 70)
    rollout.entry("compacted", {"message": "Summary: three fail.", **more})
    rollout.items(said("assistant", "Going on.")).counts(300, 3)
    with closing(rollout.opened(tmp_path)) as source:
        steps = source.steps(SESSION)
        assert [(step.name, step.tokens_in) for step in steps[2:]] == [("compaction", 2000), ("answer", 300)]
        assert source.state(SESSION, 3)["messages"] == messages
        assert steps[2].facts.raw_entries[0]["payload"]["message"] == "Summary: three fail."
        check_source(source)


def test_a_rollback_drops_what_came_from_the_turn_on(tmp_path: Path) -> None:
    rollout = session().asks("Fix them.").items(said("assistant", "Done."))
    before = [CONTEXT, said("user", "Are the tests green?")]
    rollout.event("thread_rolled_back", num_turns=1).asks("Leave it.").items(said("assistant", "Fine."))
    with closing(rollout.opened(tmp_path)) as source:
        back = next(step for step in source.steps(SESSION) if step.name == "rollback")
        messages = source.state(SESSION, back.number)["messages"]
        assert (messages[:2], messages[9:]) == (before, [said("assistant", "No, three fail."), CONTEXT, CONTEXT])
        assert said("user", "Fix them.") not in source.state(SESSION, back.number + 2)["messages"]
        check_source(source)


def test_a_turn_that_failed_is_a_step_that_did(tmp_path: Path) -> None:
    rollout = Rollout().asks("Go.").event("error", message="at capacity", codex_error_info="server_overloaded")
    with closing(rollout.opened(tmp_path)) as source:
        (step,) = source.steps(SESSION)
        assert (step.status, step.error.message) == ("error", "at capacity")


def test_a_search_that_the_provider_made_is_answered_and_its_result_not_known(tmp_path: Path) -> None:
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
    rollout = Rollout().asks("Look it up.").items(search, {**search, "status": "in_progress"}, said("assistant", "So."))
    with closing(rollout.opened(tmp_path)) as source:
        calls = source.calls(SESSION, 1)[1:]
        assert [(call.name, call.status, call.result) for call in calls] == [
            ("web_search", "ok", None), ("web_search", "pending", None),
        ]  # fmt: skip


def test_the_form_of_before_september_2025_opens_as_well(tmp_path: Path) -> None:
    head = {"id": SESSION, "timestamp": "2025-08-18T01:16:13.522Z", "instructions": None, "git": {"branch": "main"}}
    shell = {"type": "function_call", "id": "fc_1", "name": "shell", "arguments": "{}", "call_id": "c1"}
    came = {"type": "function_call_output", "call_id": "c1",
            "output": json.dumps({"output": "no", "metadata": {"exit_code": 127}})}  # fmt: skip
    state = {"record_type": "state"}
    lines = [head, state, CONTEXT, said("user", "Go."), THOUGHT, shell, state, came, said("assistant", "It fails.")]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.id, run.tokens_in, run.metadata["git"]) == (SESSION, None, {"branch": "main"})
        assert [step.name for step in source.steps(SESSION)] == ["shell", "answer"]
        assert source.calls(SESSION, 1)[1].status == "error"
        assert source.state(SESSION, 0) == {"messages": [CONTEXT, said("user", "Go.")]}
        check_source(source)


def test_lines_of_kinds_that_are_not_known_are_shown_with_their_step(tmp_path: Path) -> None:
    rollout = session()
    rollout.entry("inter_agent_communication", {"text": "hello", "kind": "own"})
    rollout.lines.append({"record_type": "state"})
    with closing(rollout.opened(tmp_path)) as source:
        raw = source.steps(SESSION)[1].facts.raw_entries
        sent = {"type": "inter_agent_communication", "payload": {"text": "hello", "kind": "own"}}
        assert raw[-2:] == [sent, {"record_type": "state"}]


def test_a_count_of_nothing_is_none(tmp_path: Path) -> None:
    rollout = Rollout().asks("Go.").items(said("assistant", "Done."))
    total = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 272_000}
    rollout.event("token_count", info={"total_token_usage": total, "last_token_usage": {**total, "total_tokens": 0}})
    with closing(rollout.opened(tmp_path)) as source:
        assert source.runs()[0].tokens_in is None


def test_a_damaged_line_of_a_rollout_is_named_and_the_rest_opens(tmp_path: Path) -> None:
    path = session().write(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:5], '{"timestamp": \n', *lines[5:]]) + '{"timest')
    with closing(open_source(path)) as source:
        assert source.runs()[0].steps == 2
        assert [problem.what[:29] for problem in source.verify()] == ["line 6: it is not valid JSON:"]


@pytest.mark.parametrize("place", ["type", "payload", "timestamp"])
@pytest.mark.parametrize("value", [None, 7, [], {"type": ["a"]}, "event_msg", {"type": "token_count", "info": 3}])
def test_lines_of_any_shape_open(tmp_path: Path, place: str, value: object) -> None:
    rollout = session()
    for line in rollout.lines[4::2]:
        line[place] = value
    rollout.event("thread_rolled_back", num_turns=[]).event("thread_rolled_back", num_turns=99)
    with closing(rollout.opened(tmp_path)) as source:
        check_source(source)


FOUND = {
    "findings": [{"title": "[P1] The total is wrong", "body": "It adds twice.", "confidence_score": 0.9, "priority": 1,
                  "code_location": {"absolute_file_path": "/desk/sum.py", "line_range": {"start": 1, "end": 2}}}],
    "overall_correctness": "patch is incorrect", "overall_explanation": "The sum is wrong.",
    "overall_confidence_score": 0.8,
}  # fmt: skip
OUTCOME = said("user", "<user_action>\n  <context>User initiated a review task.</context>\n</user_action>")
BEGIN = {"type": "entered_review_mode", "target": {"type": "uncommittedChanges"}, "user_facing_hint": "current changes"}


def reviewed(*, begin: dict[str, Any] = BEGIN, end: dict[str, Any] | None, outcome: str) -> Rollout:
    """A session of a review alone: of what the reviewer did only events are kept."""
    rollout = Rollout()
    rollout.entry("event_msg", begin)
    rollout.entry("event_msg", {"type": "agent_reasoning", "text": "**Looking at the sum**"})
    rollout.entry("event_msg", {"type": "agent_message", "message": "I look at sum.py."})
    rollout.entry("event_msg", {"type": "agent_reasoning", "text": "**Sure now**"})
    if end is not None:
        rollout.items(OUTCOME)
        rollout.entry("event_msg", end)
        rollout.items(said("assistant", outcome))
    return rollout


@pytest.mark.parametrize("as_item", [False, True])
def test_a_review_is_a_step_with_what_it_found_and_the_reviewer_has_a_conversation_of_its_own(
    tmp_path: Path, *, as_item: bool
) -> None:
    words = "The sum is wrong.\n\nReview comment:\n\n- [P1] The total is wrong"
    end: dict[str, Any] = {"type": "exited_review_mode", "review_output": FOUND}
    begin: dict[str, Any] = BEGIN
    if as_item:
        begin, end = (
            {"type": "item_completed", "item": {"type": kind, "id": "r", "review": said}}
            for kind, said in (("EnteredReviewMode", "current changes"), ("ExitedReviewMode", words))
        )
    with closing(reviewed(begin=begin, end=end, outcome=words).opened(tmp_path)) as source:
        check_source(source)
        (run,) = source.runs()
        steps = source.steps(run.id)
        assert [(step.name, step.lane, step.parent, step.decision) for step in steps] == [
            ("review", "main", None, "current changes"),
            ("answer", "reviewer", 1, "I look at sum.py."),
            ("answer", "reviewer", 1, "**Sure now**"),
        ]
        (call,) = source.calls(run.id, 1)
        assert (call.kind, call.name, call.status) == ("tool", "review", "ok")
        assert call.result == (words if as_item else FOUND)
        assert [message["role"] for message in source.state(run.id, 1)["messages"]] == ["user", "assistant"]
        assert run.steps == 3


@pytest.mark.parametrize("end", [{"type": "exited_review_mode", "review_output": None}, None])
def test_a_review_that_was_interrupted_says_so_and_of_one_that_goes_on_nothing_is_known(
    tmp_path: Path, end: dict[str, Any] | None
) -> None:
    words = "Review was interrupted. Please re-run /review and wait for it to complete."
    with closing(reviewed(end=end, outcome=words).opened(tmp_path)) as source:
        (run,) = source.runs()
        (call,) = source.calls(run.id, 1)
        assert (run.steps, call.status) == (3, "error" if end else "pending")
        assert call.error is None if end is None else call.error is not None and call.error.class_name == "Interrupted"


def test_what_items_tell_of_a_review_no_event_tells_again(tmp_path: Path) -> None:
    rollout = reviewed(end=None, outcome="")
    rollout.items(said("assistant", "I look at sum.py."))
    with closing(rollout.opened(tmp_path)) as source:
        (run,) = source.runs()
        said_in = [step.decision for step in source.steps(run.id)]
        assert said_in.count("I look at sum.py.") == 1
