"""A conversation of a file goes on with a model: three forms of requests, each policy, and what is refused before."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.forking.conversation_models import ARGUMENTS, SECRET, models

from agent_tt.errors import UsageError
from agent_tt.forking.entry.conversation_forms import plain_messages
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.policy.policies import Rule, ToolPolicy, read_rule
from agent_tt.forking.request import ForkRequest
from agent_tt.importing import import_file
from agent_tt.model import Edit
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.replay import run_replay
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.warm

_MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which port?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": json.dumps(ARGUMENTS)}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "port = 8081"},
    {"role": "assistant", "content": "8081."},
    {"role": "user", "content": "Sure?"},
    {"role": "assistant", "content": "Yes."},
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, Any]]]:
    with models(monkeypatch) as served:
        yield served.asked


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A store with the imported session `m`, of `m.json` beside it."""
    file, store = tmp_path / "m.json", tmp_path / "runs.db"
    file.write_text(json.dumps({"messages": _MESSAGES}))
    import_file(file, store)
    return store


def _fork(store: Path, request: ForkRequest) -> tuple[str, int]:
    with closing(open_source(store)) as source:
        plan = plan_fork(source, "m", request)
    with start_fork(plan) as handle:
        return handle.run_id, handle.wait()


def _said(text: str, **others: Any) -> ForkRequest:
    policy = ToolPolicy((("read_file", read_rule(text, about="a test")),))
    return ForkRequest(**{"step": 3, "continue_with": "openai:m", "policy": policy, **others})


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_a_conversation_goes_on_in_the_form_of_each_provider(
    provider: str, session: Path, asked: list[tuple[str, Any]]
) -> None:
    edit = Edit("set", "messages[5].content", "Really?")
    run_id, code = _fork(session, _said('stub:"port = 9"', continue_with=f"{provider}:m", edits=(edit,)))

    assert code == 0
    assert len(asked) == 2
    first, second = (json.dumps(body) for _, body in asked)
    assert "Really?" in first
    assert "Sure?" not in first
    assert "Be brief." in first
    assert "port = 8081" in first
    assert "seen in the conversation" in first.lower()
    assert "port = 9" in second
    with closing(open_source(session)) as source:
        assert "So it is." in json.dumps(source.state(run_id, 5))
    assert SECRET.encode() not in b"".join(each.read_bytes() for each in session.parent.glob("runs.db*"))


def test_a_call_like_a_recorded_one_gives_the_recorded_result_and_replays_offline(
    session: Path, asked: list[tuple[str, Any]]
) -> None:
    run_id, code = _fork(session, _said("recorded"))

    assert code == 0
    assert asked[1][1]["messages"][-1]["content"] == "port = 8081"
    with closing(open_source(session)) as source:
        report = run_replay(source, source.run(run_id))
    assert report.is_faithful
    assert len(asked) == 2


def test_a_call_that_nothing_recorded_answers_is_denied_and_models_where_that_is_said(
    session: Path, asked: list[tuple[str, Any]]
) -> None:
    no_answers = Edit("set", "messages[2].tool_calls[0].function.name", "write_file")
    plain = ForkRequest(step=3, continue_with="openai:m", effects={"read_file": "read"})
    assert _fork(session, plain)[1] == 0
    assert asked[1][1]["messages"][-1]["content"] == "port = 8081"
    del asked[:]

    denied = ToolPolicy((("read_file", Rule("deny")),))
    assert _fork(session, replace(plain, policy=denied, edits=(no_answers,)))[1] == 0
    assert asked[1][1]["messages"][-1]["content"].startswith("Error: ")
    del asked[:]

    no_models = ForkRequest(step=3, continue_with="openai:m", policy=ToolPolicy((("*llm", Rule("deny")),)))
    assert _fork(session, no_models)[1] != 0
    assert not asked


@pytest.mark.usefixtures("asked")
def test_what_cannot_go_on_as_a_conversation_is_refused_before(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_source(session)) as source:
        for wrong, words in [
            (_said("live"), "cannot run"),
            (_said("deny", continue_with="gpt-5"), "does not name a model"),
            (_said("deny", step=2), "no question"),
            (_said("deny", agent="other:main"), "without a program"),
            (_said("deny", edits=(Edit("set", "messages", []),)), "no conversation"),
            (_said("deny", edits=(Edit("delete", "messages[3]"),)), "has no result"),
        ]:
            with pytest.raises(UsageError, match=words):
                plan_fork(source, "m", wrong)
        plan = plan_fork(source, "m", _said("deny"))
        assert any("the original program does not run" in problem for problem in plan.problems)
        monkeypatch.delenv("OPENAI_API_KEY")
        with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
            plan_fork(source, "m", _said("deny"))


def test_an_answer_of_anthropic_that_is_kept_whole_keeps_its_tool_calls() -> None:
    use: Any = {"type": "tool_use", "id": "t1", "name": "read_file", "input": ARGUMENTS}
    answer: Any = {"id": "msg_1", "type": "message", "role": "assistant", "content": [use]}
    result: Any = {"type": "tool_result", "tool_use_id": "t1", "content": "port = 8081"}
    read = plain_messages([{"role": "user", "content": "Which?"}, answer, {"role": "user", "content": [result]}])
    assert [message.role for message in read] == ["user", "assistant", "tool"]
    assert read[1].calls[0].id == read[2].answers
