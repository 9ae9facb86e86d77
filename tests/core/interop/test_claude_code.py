"""Sessions of Claude Code as runs: answers of several lines, branches, sub-agents, compaction, errors."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.sessions import SESSION, Session, words

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import RunSource


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    """Open the file of a session."""
    sources: list[RunSource] = []

    def opened(session: Session) -> RunSource:
        sources.append(open_source(session.write(tmp_path)))
        return sources[-1]

    yield opened
    for source in sources:
        source.close()


def two_tools() -> Session:
    """Somebody asks; an answer in three lines calls two tools, one fails; a second answer."""
    session = Session()
    asked = session.says("Are the tests green?")
    first = session.answers("msg_1", words("I will look."), asked, written=2)
    one = session.calls("msg_1", "call_1", "Bash", {"command": "pytest -q"}, first, written=2)
    two = session.calls("msg_1", "call_2", "Read", {"file_path": "a.py"}, one, written=30)
    session.gives("call_1", "3 failed", one, failed=True, toolUseResult={"stdout": "3 failed"})
    given = session.gives("call_2", "x = 1", two)
    session.answers("msg_2", words("No, three fail."), given, written=7)
    return session


def test_the_lines_of_an_answer_are_one_step_whose_usage_counts_once(opened: Any) -> None:
    source = opened(two_tools())
    (run,) = source.runs()
    first, second = source.steps(run.id)
    assert (run.id, run.status, run.model.model, run.origin["system"]) == (
        SESSION, "unknown", "claude-sonnet-4-5", "Claude Code",
    )  # fmt: skip
    assert (first.name, first.kind, first.tokens_in, first.tokens_out) == ("Bash, Read", "write", 110, 30)
    assert (second.name, second.kind, second.decision) == ("answer", "llm", "No, three fail.")
    assert (run.tokens_in, run.tokens_out) == (220, 37)
    check_source(source)


def test_results_stand_beside_their_calls_and_errors_are_errors(opened: Any) -> None:
    source = opened(two_tools())
    model, bash, read = source.calls(SESSION, 1)
    assert (model.kind, model.args["messages"][0]["content"]) == ("llm", "Are the tests green?")
    assert [block["type"] for block in model.result["content"]] == ["text", "tool_use", "tool_use"]
    assert (bash.name, bash.args, bash.status, bash.result) == ("Bash", {"command": "pytest -q"}, "error", None)
    assert (bash.error.message, bash.facts.answers) == ("3 failed", "call_1")
    assert (read.name, read.status, read.result) == ("Read", "ok", "x = 1")
    assert read.duration_us > 0


def test_the_conversation_is_the_state_and_grows_by_what_was_said(opened: Any) -> None:
    source = opened(two_tools())
    assert source.state(SESSION, 0) == {"messages": [{"role": "user", "content": "Are the tests green?"}]}
    assert [len(source.state(SESSION, step)["messages"]) for step in (1, 2)] == [4, 5]
    assert source.changes(SESSION, 2) == [["a", ["messages"], 4, source.state(SESSION, 2)["messages"][4:]]]
    assert source.last_write(SESSION, 2, ("messages", 1)) == 1


def test_what_no_turn_shows_stays_with_the_step(opened: Any) -> None:
    session = two_tools()
    session.lines.insert(4, {"type": "file-history-snapshot", "messageId": "m", "isSnapshotUpdate": False})
    (first, _) = opened(session).steps(SESSION)
    kinds = [entry.get("type") or "toolUseResult" for entry in first.facts.raw_entries]
    assert kinds == ["file-history-snapshot", "toolUseResult"]


def test_who_goes_back_and_says_something_else_forks_the_run(opened: Any) -> None:
    session = Session()
    asked = session.says("Write it in C.")
    first = session.answers("msg_1", words("int main"), asked)
    again = session.says("Shorter.", first)
    session.answers("msg_2", words("main"), again)
    other = session.says("No, in Python.", first)
    session.answers("msg_3", words("def main"), other)
    source = opened(session)
    fork, run = source.runs()
    assert (run.id, run.parent, run.steps) == (SESSION, None, 3)
    assert (fork.id, fork.parent, fork.fork_step, fork.steps) == (f"{SESSION}@{other[:8]}", SESSION, 1, 3)
    assert [step.inherited for step in source.steps(fork.id)] == [True, False, False]
    assert source.steps(fork.id)[1].kind == "human"
    assert source.state(fork.id, 3)["messages"][2:] != source.state(run.id, 3)["messages"][2:]
    check_source(source)


def test_results_that_follow_parts_of_an_answer_make_no_branch(opened: Any) -> None:
    assert len(opened(two_tools()).runs()) == 1


def test_lines_that_are_there_twice_count_once(opened: Any) -> None:
    session = two_tools()
    once = opened(session)
    steps, tokens = once.steps(SESSION), once.runs()[0].tokens_in
    session.lines += session.lines[1:4]
    twice = opened(session)
    assert (twice.steps(SESSION), twice.runs()[0].tokens_in) == (steps, tokens)


def test_a_sub_agent_has_a_lane_of_its_own_below_the_call_that_began_it(opened: Any) -> None:
    session = Session()
    asked = session.says("Look around.")
    task = {"subagent_type": "explorer", "prompt": "List the files."}
    begun = session.calls("msg_1", "call_1", "Task", task, asked)
    inner = session.says("List the files.", isSidechain=True)
    inner = session.calls("msg_s1", "call_s1", "Bash", {"command": "ls"}, inner, isSidechain=True)
    inner = session.gives("call_s1", "a.py", inner, isSidechain=True)
    session.answers("msg_s2", words("There is a.py."), inner, isSidechain=True)
    given = session.gives("call_1", "There is a.py.", begun)
    session.answers("msg_2", words("One file."), given)
    source = opened(session)
    steps = source.steps(SESSION)
    assert [(step.lane, step.parent, step.name) for step in steps] == [
        ("main", None, "Task"), ("explorer", 1, "Bash"), ("explorer", 1, "answer"), ("main", None, "answer"),
    ]  # fmt: skip
    assert steps[1].agent == "explorer"
    assert source.state(SESSION, 3)["messages"][0]["content"] == "List the files."
    assert [message["role"] for message in source.state(SESSION, 4)["messages"]] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    check_source(source)


def test_sub_agents_that_ran_side_by_side_are_told_apart_by_their_ids(opened: Any) -> None:
    session = Session()
    asked = session.says("Look around.")
    first = session.calls("msg_1", "call_1", "Agent", {"description": "one", "prompt": "Look."}, asked)
    second = session.calls("msg_1", "call_2", "Agent", {"description": "two", "prompt": "Look."}, first)
    for agent in ("a1", "a2"):
        inner = session.says("Look!", isSidechain=True, agentId=agent)
        session.answers(f"msg_{agent}", words(f"{agent} saw it"), inner, isSidechain=True, agentId=agent)
    given = session.gives("call_1", "seen", second, toolUseResult={"agentId": "a2"})
    session.gives("call_2", "seen", given, toolUseResult={"agentId": "a1"})
    lanes = {step.lane: step.decision for step in opened(session).steps(SESSION)[1:]}
    assert lanes == {"two": "a1 saw it", "one": "a2 saw it"}


def test_compaction_is_a_step_that_shows_what_it_dropped(opened: Any) -> None:
    session = Session()
    asked = session.says("A long talk.")
    last = session.answers("msg_1", words("Indeed."), asked)
    session.entry(
        "system", None, None, subtype="compact_boundary", logicalParentUuid=last, compactMetadata={"preTokens": 9}
    )
    session.says("Summary: a long talk.", session.lines[-1]["uuid"], isCompactSummary=True)
    session.answers("msg_2", words("Going on."), session.lines[-1]["uuid"])
    source = opened(session)
    assert [step.name for step in source.steps(SESSION)] == ["answer", "compaction", "answer"]
    assert source.state(SESSION, 2) == {"messages": [{"role": "user", "content": "Summary: a long talk."}]}
    assert len(source.state(SESSION, 1)["messages"]) == 2
    assert source.steps(SESSION)[1].facts.raw_entries[0]["compactMetadata"] == {"preTokens": 9}
    check_source(source)


def test_an_error_of_the_api_is_a_failed_step_that_cost_nothing(opened: Any) -> None:
    session = Session()
    asked = session.says("Hello?")
    session.answers("msg_1", words("API Error: 529 overloaded"), asked, isApiErrorMessage=True)
    source = opened(session)
    (step,) = source.steps(SESSION)
    assert (step.status, step.error.message, step.tokens_in) == ("error", "API Error: 529 overloaded", None)
    assert source.calls(SESSION, 1)[0].status == "error"


def test_the_newest_title_is_the_strongest_kind(opened: Any) -> None:
    session = two_tools()
    session.lines += [
        {"type": "summary", "summary": "Tests", "leafUuid": "x"},
        {"type": "custom-title", "customTitle": "Mine"},
    ]
    assert opened(session).runs()[0].facts.title == "Mine"


def test_a_damaged_line_is_named_and_the_rest_opens(tmp_path: Path) -> None:
    lines = two_tools().text().splitlines(keepends=True)
    path = tmp_path / "s.jsonl"
    path.write_text("".join([*lines[:4], '{"type": "user", \n', *lines[4:]]))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert run.steps == 2
        assert [problem.what[:29] for problem in source.verify()] == ["line 5: it is not valid JSON:"]


def test_a_file_that_grows_is_followed_line_by_line(tmp_path: Path) -> None:
    lines = two_tools().text().splitlines(keepends=True)
    path = tmp_path / "s.jsonl"
    path.write_text("".join(lines[:2]))
    with closing(open_source(path)) as source:
        version = source.version()
        assert [call.status for call in source.calls(SESSION, 1)] == ["ok"]
        with path.open("a") as file:
            file.write("".join(lines[2:5]) + lines[5][:40])
        assert source.version() != version
        assert [call.status for call in source.calls(SESSION, 1)] == ["ok", "error", "pending"]
        assert source.verify() == []
        with path.open("a") as file:
            file.write(lines[5][40:] + lines[6])
        assert source.runs()[0].steps == 2


def test_ids_that_lead_in_a_circle_or_nowhere_are_read_in_the_order_of_the_file(opened: Any) -> None:
    session = two_tools()
    for line, after in zip(session.lines, reversed(session.lines), strict=True):
        line["parentUuid"] = after["uuid"]
    session.lines[-1]["uuid"] = session.lines[0]["uuid"]
    check_source(opened(session))


def test_values_that_look_like_ours_are_only_shown(opened: Any) -> None:
    session = Session()
    asked = session.says("Hello")
    session.calls("msg_1", "call_1", "Run", {"$type": "bytes", "$v": "!!"}, asked)
    source = opened(session)
    assert source.calls(SESSION, 1)[1].args == {"$type": "dict", "$v": [["$type", "bytes"], ["$v", "!!"]]}


@pytest.mark.parametrize("place", ["message", "uuid", "parentUuid", "timestamp", "type", "sessionId"])
@pytest.mark.parametrize("value", [None, 7, [], {"a": [{}]}, "x", [None, {"type": "tool_use"}]])
def test_a_field_of_any_kind_opens_or_is_refused_by_name(tmp_path: Path, place: str, value: object) -> None:
    session = two_tools()
    for line in session.lines[2:]:
        line[place] = value
    path = session.write(tmp_path)
    with closing(open_source(path)) as source:
        assert source.runs()[0].steps >= 1
        for step in source.steps(SESSION):
            assert len(source.calls(SESSION, step.number)) == step.calls
    assert json.loads(path.read_text().splitlines()[-1])[place] == value


AGENT = "a881341"


def with_an_agent(folder: Path, *, place: str) -> Path:
    """A session with a sub-agent's conversation in a file of its own, at the place of newer or of older versions."""
    made = Session()
    asked = made.says("Are the tests green?")
    call = made.calls("msg_1", "call_1", "Task", {"prompt": "Look.", "subagent_type": "tester"}, asked)
    given = made.gives("call_1", "3 failed", call)
    made.answers("msg_2", words("No."), given)
    inner = Session()
    told = inner.says("Something else.", None, isSidechain=True, agentId=AGENT)
    inner.answers("msg_9", words("Three fail."), told, isSidechain=True, agentId=AGENT)
    path = made.write(folder)
    agents = folder / SESSION / "subagents" if place == "newer" else folder
    agents.mkdir(parents=True, exist_ok=True)
    for line in inner.lines:
        line["uuid"] = "b" + line["uuid"][1:]
        line["parentUuid"] = line["parentUuid"] and "b" + line["parentUuid"][1:]
    inner.write(agents, f"agent-{AGENT}.jsonl")
    if place == "newer":
        about = {"agentType": "tester", "toolUseId": "call_1"}
        (agents / f"agent-{AGENT}.meta.json").write_text(json.dumps(about))
    return path


def test_a_sub_agent_in_a_file_of_its_own_is_below_the_call_that_began_it(tmp_path: Path) -> None:
    with closing(open_source(with_an_agent(tmp_path, place="newer"))) as source:
        (run,) = source.runs()
        assert [(step.lane, step.parent) for step in source.steps(run.id)] == [
            ("main", None), ("tester", 1), ("main", None),
        ]  # fmt: skip
        assert run.tokens_out == 15
        assert source.verify() == []
        check_source(source)


def test_a_sub_agents_file_of_older_versions_lies_beside_the_session(tmp_path: Path) -> None:
    path = with_an_agent(tmp_path, place="older")
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert sorted(step.lane for step in source.steps(run.id)) == [AGENT, "main", "main"]
    with closing(open_source(tmp_path / f"agent-{AGENT}.jsonl")) as source:
        (run,) = source.runs()
        assert (run.id, run.steps, run.tokens_out) == (f"{SESSION}/{AGENT}", 1, 5)


@pytest.mark.parametrize("place", ["newer", "older"])
def test_a_link_in_the_place_of_a_sub_agents_file_is_not_followed(tmp_path: Path, place: str) -> None:
    path = with_an_agent(tmp_path, place=place)
    own = (tmp_path / SESSION / "subagents" if place == "newer" else tmp_path) / f"agent-{AGENT}.jsonl"
    outside = tmp_path / "outside"
    outside.mkdir()
    own.symlink_to(own.rename(outside / "elsewhere.jsonl"))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert {step.lane for step in source.steps(run.id)} == {"main"}
        problems = [problem.what for problem in source.verify()]
        assert problems == [f"subagents/{own.name} is left out: it is no plain file"] * (place == "newer")


def test_a_line_of_a_sub_agents_file_is_seen_while_it_works(tmp_path: Path) -> None:
    with closing(open_source(with_an_agent(tmp_path, place="newer"))) as source:
        before, (run,) = source.version(), source.runs()
        more = Session()
        more.answers("msg_10", words("Or four."), None, isSidechain=True, agentId=AGENT)
        more.lines[0]["uuid"] = "c" * 8
        with (tmp_path / SESSION / "subagents" / f"agent-{AGENT}.jsonl").open("a") as file:
            file.write(more.text())
        assert source.version() != before
        assert source.runs()[0].steps == run.steps + 1


def test_a_compaction_keeps_what_it_says_it_kept(tmp_path: Path) -> None:
    made = Session()
    first = made.says("Which port?")
    said = made.answers("msg_1", words("8080."), first)
    again = made.says("And the host?", said)
    last = made.answers("msg_2", words("Mine."), again)
    kept = {"anchorUuid": f"{6:08x}-0000-4000-8000-000000000000", "headUuid": again, "tailUuid": last}
    cut = made.entry("system", None, None, subtype="compact_boundary", logicalParentUuid=last,
                     compactMetadata={"preservedSegment": kept})  # fmt: skip
    made.says("It was about a port.", cut, isCompactSummary=True)
    with closing(open_source(made.write(tmp_path))) as source:
        (run,) = source.runs()
        shown = [turn["content"] for turn in source.state(run.id, run.steps)["messages"]]
        assert shown == ["It was about a port.", "And the host?", [words("Mine.")]]


@pytest.mark.parametrize("without", ["uuid", "sessionId"])
def test_a_session_that_another_program_copied_opens_without_some_of_its_ids(tmp_path: Path, without: str) -> None:
    made = Session()
    asked = made.says("Are the tests green?")
    made.answers("msg_1", words("Yes."), asked)
    for line in made.lines:
        line.pop(without)
    with closing(open_source(made.write(tmp_path))) as source:
        (run,) = source.runs()
        assert (run.id, run.steps) == (SESSION, 1)


def test_a_session_of_one_line_opens(tmp_path: Path) -> None:
    made = Session()
    made.says("Are the tests green?")
    path = made.write(tmp_path)
    with closing(open_source(path)) as source:
        assert source.runs()[0].steps == 0
        made.answers("msg_1", words("Yes."), None)
        made.write(tmp_path)
        assert source.runs()[0].steps == 1
