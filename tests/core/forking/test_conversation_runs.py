"""A conversation that goes on: straight from a file, streamed or not, with limits and questions; its errors."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.forking.conversation_models import CALL, SECRET, TOKENS, WORDS, Served, models

from agent_tt.errors import ReadOnlySource, UsageError
from agent_tt.forking.conversations import conversation_of
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.policy.policies import ToolPolicy, read_rule
from agent_tt.forking.request import ForkRequest
from agent_tt.intercepting.limits import Limits
from agent_tt.model import Edit
from agent_tt.rerunning.launch import start_fork
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.model import Run

pytestmark = pytest.mark.warm

_KEY = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5mN7pQ9sT1vX3"
_MESSAGES: list[Any] = [
    {"role": "user", "content": f"Which port? The key is {_KEY}."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.toml"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "port = 8081"},
    {"role": "assistant", "content": "8081."},
    {"role": "user", "content": "Sure?"},
    {"role": "assistant", "content": "Yes."},
]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with models(monkeypatch) as found:
        yield found


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A conversation in a file of another program; forks of it go into `own.db` beside it."""
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own.db"))
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"messages": _MESSAGES}))
    return path


def _forked(file: Path, request: ForkRequest) -> tuple[Run, dict[str, Any], str]:
    """The run of a fork of a file, the state that it ended with, and what its process wrote."""
    with closing(open_source(file)) as source:
        plan = plan_fork(source, "m", request)
    with start_fork(plan) as handle:
        handle.wait()
        output = handle.output()
    with closing(open_source(file.with_name("own.db"))) as store:
        run = store.run(handle.run_id)
        state: Any = store.state(run.id, run.steps)
        return run, state, output


def _request(**others: Any) -> ForkRequest:
    return ForkRequest(**{"step": 3, "continue_with": "openai:gpt-5", **others})


def _policy(text: str) -> ToolPolicy:
    return ToolPolicy((("read_file", read_rule(text, about="a test")),))


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("streams", [False, True])
def test_a_conversation_of_a_file_goes_on_in_a_copy_whether_its_answers_are_streamed_or_not(
    provider: str, streams: bool, file: Path, served: Served
) -> None:
    before, served.streams = file.read_bytes(), streams
    edit = Edit("set", "messages[4].content", "Really?")
    run, state, _ = _forked(file, _request(continue_with=f"{provider}:m", edits=(edit,)))

    assert (run.status, run.steps) == ("succeeded", 5)
    said = json.dumps(state["messages"])
    assert "Really?" in said
    assert "Sure?" not in said
    assert said.count("port = 8081") == 2  # once as it was, once for the call that asks the same
    assert "So " in json.dumps(state["messages"][-1])
    assert file.read_bytes() == before
    with closing(open_source(file.with_name("own.db"))) as store:
        parent = store.run(run.parent or "")
        assert (parent.origin["run"], parent.steps) == ("m", 4)
    stored = b"".join(each.read_bytes() for each in file.parent.glob("own.db*"))
    assert SECRET.encode() not in stored
    assert _KEY.encode() not in stored
    assert any(SECRET in key for key in served.keys)
    assert _KEY not in json.dumps(served.asked)


def test_a_second_fork_of_a_file_goes_on_from_the_same_copy(file: Path, served: Served) -> None:
    runs = [_forked(file, _request())[0] for _ in range(2)]
    assert runs[0].parent == runs[1].parent
    with closing(open_source(file.with_name("own.db"))) as store:
        assert len(store.runs()) == 3
    assert len(served.asked) == 3


@pytest.mark.usefixtures("served")
def test_a_file_that_has_changed_since_it_was_opened_is_not_forked(file: Path) -> None:
    with closing(open_source(file)) as source:
        plan = plan_fork(source, "m", _request())
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "Something else"}, *_MESSAGES[1:]]}))
    with pytest.raises(UsageError, match="is not as it was"):
        start_fork(plan)


@pytest.mark.usefixtures("served")
def test_a_program_of_a_file_that_is_only_read_cannot_run_and_the_way_on_is_named(file: Path) -> None:
    with closing(open_source(file)) as source, pytest.raises(ReadOnlySource) as refused:
        plan_fork(source, "m", _request(continue_with=None))
    assert "--continue-with" in refused.value.hint


@pytest.mark.usefixtures("served")
def test_the_plan_says_what_it_asks_and_costs_and_names_none_of_what_the_program_asked(file: Path) -> None:
    with closing(open_source(file)) as source:
        plan = plan_fork(source, "m", _request())
        unknown = plan_fork(source, "m", _request(continue_with="openai:nobody-s"))
    assert (plan.continues_with, plan.copied_from) == ("openai:gpt-5", file)
    assert plan.store.name == "own.db"
    assert [(row.name, row.rule.text) for row in plan.boundary] == [
        ("gpt-5", "live"),
        ("read_file", "recorded-or-deny"),
    ]
    notes = "\n".join(plan.problems)
    assert "the original program does not run" in notes
    assert "at the list price of gpt-5" in notes
    assert "no price of nobody-s is known" in "\n".join(unknown.problems)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"error": {"message": "Incorrect API key provided"}}), "Incorrect API key provided"),
        ((429, {"error": {"message": "Rate limit reached"}}), "Rate limit reached"),
        ((500, {"error": {"message": "The server had an error"}}), "The server had an error"),
        ((503, "overloaded"), "503"),
        (b"<html>not a model</html>", "gave no answer"),
        (b"", "gave no answer"),
        ("cut", "could not be asked"),
        ((200, {"choices": []}), "gave no answer"),
    ],
)
def test_an_error_of_a_provider_is_the_error_of_the_run(answer: Any, words: str, file: Path, served: Served) -> None:
    served.script = [answer]
    run, _, output = _forked(file, _request())
    assert run.status == "failed"
    assert run.error is not None
    assert words in run.error.message
    assert "Traceback" not in output
    assert SECRET not in run.error.message


def test_a_provider_that_is_not_there_is_the_error_of_the_run(
    file: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    run, _, output = _forked(file, _request())
    assert run.error is not None
    assert "could not be asked" in run.error.message
    assert "Traceback" not in output
    assert not served.asked


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        (Limits(stop_at=5), 2),
        (Limits(tokens=sum(TOKENS) * 3 - 1), 3),
        (Limits(cost_usd=0.002), 2),
    ],
    ids=["steps", "tokens", "cost"],
)
def test_a_conversation_that_never_ends_stops_at_its_limit(
    limits: Limits, asked: int, file: Path, served: Served
) -> None:
    served.script = [CALL]
    request = _request(policy=_policy('stub:"port = 9"'))
    run, _, _ = _forked(file, replace(request, terms=replace(request.terms, limits=limits)))
    assert run.status == "interrupted"
    assert len(served.asked) == asked


def test_a_provider_that_never_answers_is_left_when_the_time_is_up(file: Path, served: Served) -> None:
    served.script = ["silent"]
    request = _request()
    run, _, _ = _forked(file, replace(request, terms=replace(request.terms, limits=Limits(seconds=3))))
    assert run.status == "interrupted"
    assert len(served.asked) == 1


def test_a_person_who_is_asked_gives_the_result_that_the_model_is_told(file: Path, served: Served) -> None:
    served.arguments = {"path": "b.toml"}
    with closing(open_source(file)) as source:
        plan = plan_fork(source, "m", _request(policy=_policy("recorded-or-ask")))
    decided = threading.Event()
    with start_fork(plan, asked=lambda question: decided.set() or question.give("port = 7")) as handle:
        assert handle.wait() == 0
    assert decided.is_set()
    assert served.asked[1][1]["messages"][-1]["content"] == "port = 7"


def test_the_forked_conversation_is_compared_and_its_new_words_are_found(file: Path, served: Served) -> None:
    served.script = [WORDS]
    run, state, _ = _forked(file, _request())
    assert state["messages"][-1]["content"] == "So it is."
    assert len(state["messages"]) == len(_MESSAGES)
    assert run.fork_step == 3


def test_messages_of_classes_go_on_as_plain_ones_and_what_only_its_program_reads_is_left_behind() -> None:
    human: Any = {
        "$type": "pydantic",
        "class": "nowhere.messages:HumanMessage",
        "set": ["content", "type"],
        "$v": {"content": "Which port?", "type": "human"},
    }
    odd: Any = {"$type": "pydantic", "class": "nowhere:Odd", "set": [], "$v": {}}
    terms = replace(ForkRequest().terms, overrides={"tools": [], "tools_from": "seen in the conversation"})
    state, notes = conversation_of(_request(terms=terms), {"messages": [human], "kept": 1, "odd": odd})
    assert state == {"messages": [{"role": "user", "content": "Which port?"}], "kept": 1}
    assert any("left behind" in note and "odd" in note for note in notes)
    with pytest.raises(UsageError, match="conversation"):
        conversation_of(_request(terms=terms), {"messages": [odd, human]})
