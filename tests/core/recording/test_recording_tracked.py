"""A state that knows what is written into it, in a recording."""

from __future__ import annotations

import copy
import logging
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path


def states_of(path: Path) -> list[Any]:
    with closing(open_store(path, read_only=True)) as store:
        run = store.runs()[0]
        assert store.verify(run.id) == []
        return [store.state(run.id, step.number) for step in store.steps(run.id)]


def test_a_tracked_state_is_the_runs_and_every_step_keeps_it(tmp_path: Path) -> None:
    wanted = []
    with agent_tt.record("tracked", store=tmp_path / "runs.db") as run:
        state = run.track({"messages": [], "facts": {"n": 0}})
        for number in range(200):
            with run.step("turn"):
                state["messages"].append({"role": "user", "content": f"question {number}"})
                state["facts"]["n"] += 1
                state["facts"].setdefault("seen", []).insert(0, number)
            wanted.append(copy.deepcopy(state))
    assert states_of(tmp_path / "runs.db") == wanted


def test_it_takes_the_place_of_the_very_state_that_the_run_began_with(tmp_path: Path) -> None:
    given: dict[str, Any] = {"n": 0}
    with agent_tt.record("tracked", state=given, store=tmp_path / "runs.db") as run:
        state = run.track(given)
        with run.step("one"):
            state["n"] = 1
        other = run.track({"mine": 0})
        assert run.track(other) is other
        with run.step("two", other, agent="helper"):
            other["mine"] = 1
        with run.step("three"):
            given["n"] = 7
    assert states_of(tmp_path / "runs.db") == [{"n": 1}, {"mine": 1}, {"n": 1}]
    assert given == {"n": 7}


def test_tools_take_parts_of_it_as_plain_arguments(tmp_path: Path) -> None:
    @agent_tt.tool(effect="read")
    def count(messages: list[str]) -> int:
        return len(messages)

    with agent_tt.record("tracked", store=tmp_path / "runs.db") as run:
        state = run.track({"messages": ["a"]})
        with run.step("one"):
            state["n"] = count(state["messages"])
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as store:
        (call,) = store.calls(store.runs()[0].id, 1)
        assert call.args == {"messages": ["a"]}


@pytest.mark.parametrize("length", [5, 400], ids=["at the end", "between two steps"])
def test_a_write_around_its_methods_is_warned_of_and_said_of_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, length: int
) -> None:
    with caplog.at_level(logging.WARNING), agent_tt.record("tracked", store=tmp_path / "runs.db") as run:
        state = run.track({"messages": [{"n": n, "text": "words " * 9} for n in range(200)]})
        for number in range(length):
            with run.step("turn"):
                state["turn"] = number
                if number == 3:
                    dict.__setitem__(state["messages"][150], "n", "unnoticed")
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as store:
        found = store.runs()[0]
        (said,) = found.facts.unnoticed
        assert (said.track, said.path) == ("main", "messages[150].n")
        assert said.sure <= 3
        last = store.state(found.id, length)
        if said.step is None:
            assert length == 5
            assert last["messages"][150]["n"] == 150
        else:
            assert last["messages"][150]["n"] == "unnoticed"
            assert store.state(found.id, said.step)["messages"][150]["n"] == "unnoticed"
        assert store.verify(found.id) == []
    assert "messages[150].n was written in a way that a tracked state does not notice" in caplog.text


@pytest.mark.parametrize("value", [None, 3, "text", (1,), type("Own", (dict,), {})()])
def test_what_is_no_plain_dict_or_list_cannot_be_tracked(tmp_path: Path, value: object) -> None:
    with agent_tt.record("tracked", store=tmp_path / "runs.db") as run, pytest.raises(UsageError, match="be tracked"):
        run.track(value)
