"""A debugger in a replay leaves nothing behind, however it is left."""

from __future__ import annotations

import io
import random
import socket
import sys
import threading
import time
from typing import Any

import pytest
from tests.core.replaying.recorded import record, run_agent

import agent_tt
from agent_tt.errors import Interrupted
from agent_tt.replaying.program.debugging import debugging

NAMES: list[tuple[Any, str]] = [
    (time, "sleep"),
    (time, "time"),
    (random, "random"),
    (socket.socket, "connect"),
    (threading.Thread, "start"),
    (sys, "displayhook"),
    (sys, "breakpointhook"),
]


@agent_tt.tool(effect="read")
def look(question: str) -> str:
    return question.upper()


def agent() -> list[str]:
    with agent_tt.patched("clock", "random"):
        return [look(f"{word} at {time.time()}") for word in ("one", "two", "three")]


def fails(found: list[str]) -> None:
    raise LookupError(found)


@pytest.mark.parametrize(
    ("commands", "outcome"),
    [
        ("c\n", None),
        ("p undefined\np 1/0\nn\nc\n", None),
        ("p time.time()\nc\n", None),
        ("n\nfails(word)\n!word = 3\nc\n", None),
        ("q\n", Interrupted),
        ("n\nq\n", Interrupted),
        ("", Interrupted),
    ],
)
def test_every_name_is_the_original_again(tmp_path, commands: str, outcome: type[BaseException] | None):
    recorded = record(tmp_path, agent)
    before = [getattr(owner, name) for owner, name in NAMES]
    said = io.StringIO()
    caught = None
    with recorded.replaying() as replay:
        try:
            with debugging(replay, 2, stdin=io.StringIO(commands), stdout=said):
                result = run_agent(agent)
        except Interrupted as error:
            caught = type(error)
    assert "step 2 asks look" in said.getvalue()
    assert caught is outcome
    if outcome is None:
        assert result == recorded.result
        assert not replay.findings, "the clock that was read at the prompt is not the replay's"
    assert [getattr(owner, name) for owner, name in NAMES] == before
    assert sys.gettrace() is None
    assert all(thread.name != "agent-tt" for thread in threading.enumerate())


def test_what_the_agent_swallows_stops_the_replay_all_the_same(tmp_path):
    def stubborn() -> str:
        try:
            look("one")
        except BaseException:
            return "went on"
        return "answered"

    recorded = record(tmp_path, stubborn)
    with (
        recorded.replaying() as replay,
        pytest.raises(Interrupted, match="step 1"),
        debugging(replay, 1, stdin=io.StringIO("q\n"), stdout=io.StringIO()),
    ):
        run_agent(stubborn)


def test_a_step_that_the_agent_does_not_come_to_is_said(tmp_path):
    recorded = record(tmp_path, agent)
    with recorded.replaying() as replay, debugging(replay, 7, stdin=io.StringIO(), stdout=io.StringIO()):
        run_agent(agent)
    assert [(note.kind, note.text) for note in replay.notes.all()] == [
        ("not reached", "the agent did not come to step 7, so no debugger was opened")
    ]
