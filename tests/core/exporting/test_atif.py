"""What is exported as a trajectory and opened again is the same conversation."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agent_tt
from agent_tt import samples
from agent_tt.errors import UsageError
from agent_tt.exporting.atif import Atif
from agent_tt.exporting.redacted import exported
from agent_tt.sources import open_source
from agent_tt.store import open_store

WORDS = st.text("abc é\n", min_size=1, max_size=12).map(lambda text: f"w{text}w")
ASKED = st.tuples(st.sampled_from(["look", "add"]), st.dictionaries(st.sampled_from("xy"), st.integers(0, 9)), WORDS)
TURNS = st.lists(st.tuples(WORDS, st.lists(ASKED, max_size=2), st.booleans()), min_size=1, max_size=5)


@agent_tt.llm(name="model")
def model(messages: list[dict[str, Any]], says: dict[str, Any]) -> dict[str, Any]:
    del messages
    return says


def talk(path: Path, turns: list[tuple[str, list[tuple[str, dict[str, int], str]], bool]]) -> list[dict[str, Any]]:
    """Record a conversation; what was said in it."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Begin."}]
    number = 0
    with agent_tt.record("talk", state={"messages": said}, store=path) as run:
        for words, asked, speaks in turns:
            with run.step("turn", {"messages": said}):
                calls = []
                for name, arguments, _ in asked:
                    number += 1
                    function = {"name": name, "arguments": json.dumps(arguments)}
                    calls.append({"id": f"call_{number}", "type": "function", "function": function})
                answer: dict[str, Any] = {"role": "assistant", "content": words}
                said.append(model(list(said), {**answer, "tool_calls": calls} if calls else answer))
                results = zip(calls, asked, strict=True)
                said += [
                    {"role": "tool", "tool_call_id": call["id"], "content": result} for call, (_, _, result) in results
                ]
                if speaks:
                    said.append({"role": "user", "content": f"next {words}"})
    return said


def plain(messages: Any) -> list[tuple[Any, ...]]:
    """Role, words, calls and whose result, in the order of a conversation."""
    return [
        (
            turn["role"],
            turn.get("content"),
            [(call["function"]["name"], arguments_of(call), call["id"]) for call in turn.get("tool_calls") or ()],
            turn.get("tool_call_id"),
        )
        for turn in messages
    ]


def arguments_of(call: dict[str, Any]) -> Any:
    given = call["function"]["arguments"]
    return json.loads(given) if isinstance(given, str) else given


def written(source: Any, run: Any, path: Path) -> str | None:
    return Atif().write(exported(source, [(run, None)]), path)


@settings(max_examples=25)
@given(TURNS)
def test_what_is_read_back_is_the_conversation(turns: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.atif.json"
        said = talk(Path(folder) / "runs.db", turns)
        # What comes after the last answer no model was shown, and no tool was recorded.
        shown = max(number for number, turn in enumerate(said) if turn["role"] == "assistant") + 1
        with closing(open_store(Path(folder) / "runs.db", read_only=True)) as source:
            (run,) = source.runs()
            assert written(source, run, path) is None
        with closing(open_source(path)) as again:
            (told,) = again.runs()
            assert told.id == run.id
            calls = [call for step in again.steps(told.id) for call in again.calls(told.id, step.number)]
            assert sum(call.kind == "llm" for call in calls) == len(turns)
            assert plain(again.state(told.id, told.steps)["messages"]) == plain(said[:shown])


def test_the_result_that_no_model_was_shown_is_that_of_the_tool(tmp_path: Path) -> None:
    samples.ensure("flaky-checkout", tmp_path / "runs.db")
    path = tmp_path / "run.atif.json"
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        run = source.run("flaky-checkout")
        assert written(source, run, path) is None
        with closing(open_source(path)) as again:
            (told,) = again.runs()
            assert (told.tokens_in, told.tokens_out, told.cost_usd) == (run.tokens_in, run.tokens_out, run.cost_usd)
            ours, theirs = (
                [
                    (call.name, call.args)
                    for step in each.steps(of.id)
                    for call in each.calls(of.id, step.number)
                    if call.kind == "tool"
                ]
                for each, of in ((source, run), (again, told))
            )
            assert theirs == ours


def test_a_run_without_a_model_and_two_runs_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with agent_tt.record(name, state={}, store=tmp_path / "runs.db"):
            pass
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        with pytest.raises(UsageError, match="no conversation with a model"):
            written(source, source.run("one"), tmp_path / "x")
        with pytest.raises(UsageError, match="a trajectory is one run"):
            Atif().write(exported(source, [(run, None) for run in source.runs()]), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_recorded_trajectories_come_back_as_they_were(tmp_path: Path) -> None:
    root = os.environ.get("AGENT_TT_RECORDINGS")
    files = sorted(Path(root, "atif").glob("*.json")) if root else []
    if not files:
        pytest.skip("AGENT_TT_RECORDINGS names no folder with recorded runs of this kind")
    for file in files:
        path = tmp_path / "run.atif.json"
        with closing(open_source(file)) as source:
            (run,) = source.runs()
            written(source, run, path)
            with closing(open_source(path)) as again:
                (told,) = again.runs()
                assert (told.steps, told.tokens_in, told.tokens_out) == (run.steps, run.tokens_in, run.tokens_out)
                ours, theirs = (each.state(of.id, of.steps)["messages"] for each, of in ((source, run), (again, told)))
                assert plain(theirs) == plain(ours)
        path.unlink()
