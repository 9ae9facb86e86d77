"""Runs of files that are not redacted pass the rules of redaction before they are written."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.conformance.reading import check_source
from tests.core.memory_store import Did, MemorySource

from agent_tt import samples
from agent_tt.exporting.redacted import RedactedRuns, exported
from agent_tt.model import ErrorInfo
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-proj-Abc123Def456Ghi789"


def _source() -> MemorySource:
    source = MemorySource()
    did = Did(
        name=f"use {KEY}", tool="login", args={"password": "hunter2"}, result={"key": KEY}, decision=KEY, agent=KEY,
        error=ErrorInfo("builtins:ValueError", KEY, KEY, {"$type": "exception", "$v": [KEY]}), status="error",
        state={"api_key": KEY, "left": 1},
    )  # fmt: skip
    source.add("desk", [Did("a", state={"left": 1}), did])
    return source


def test_no_part_of_a_run_keeps_a_secret() -> None:
    source = _source()
    what = exported(source, [(source.run("desk"), 2)])
    assert what.steps == {"desk": 2}
    shown = what.source
    told = (
        what.runs, shown.runs(), shown.steps("desk"), shown.calls("desk", 2), shown.call_page("desk", 1, 3),
        shown.state("desk", 2), shown.changes("desk", 2), shown.cursor("desk", 2).state, shown.call_heads("desk"),
    )  # fmt: skip
    assert KEY in repr((source.steps("desk"), source.calls("desk", 2), source.changes("desk", 2)))
    assert KEY not in repr(told)
    assert "hunter2" not in repr(told)
    assert shown.state("desk", 2)["left"] == 1
    assert {call.signature for call in shown.calls("desk", 2)} == {None}


def test_what_is_left_of_a_source_is_a_source(tmp_path: Path) -> None:
    samples.ensure("flaky-checkout", tmp_path / "runs.db")
    with closing(open_store(tmp_path / "runs.db")) as source:
        check_source(RedactedRuns(source))


def test_a_source_that_is_redacted_is_given_as_it_is() -> None:
    source = _source()
    source.capabilities = RedactedRuns(source).capabilities
    assert exported(source, [(source.run("desk"), None)]).source is source


def test_a_conversation_of_another_system_is_redacted_in_every_state_and_call(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "go"}, {"role": "assistant", "content": f"the key is {KEY}"}]
    more = [{"role": "user", "content": "and?"}, {"role": "assistant", "content": "no more"}]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": [*turns, *more]}))
    with closing(open_source(path)) as source:
        run = source.runs()[0]
        what = exported(source, [(run, None)])
        numbers = range(what.runs[0].steps + 1)
        states = [what.source.state(run.id, number) for number in numbers]
        moved = what.source.cursor(run.id, 0)
        assert KEY in repr(source.state(run.id, numbers[-1]))
        assert [moved.seek(number) for number in numbers] == states
        told = [(what.source.changes(run.id, n), what.source.calls(run.id, n)) for n in numbers[1:]]
        assert KEY not in repr((states, told))
        check_source(what.source)
