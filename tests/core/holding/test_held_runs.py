"""Agents of other processes, held while they run: what was edited and answered meanwhile is replayed as recorded.

`AGENT_TT_HOLDS=100` holds an agent so often, as `make holds` does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.model import Edit
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt.store import SqliteStore

AGENTS = Path(__file__).with_name("agents.py")
HOLDS = int(os.environ.get("AGENT_TT_HOLDS", "5"))


class Agent:
    """A running agent, and its store as somebody else sees it."""

    def __init__(self, store: SqliteStore, kind: str) -> None:
        self.store = store
        self.again: RunHandle | None = None
        self.process = subprocess.Popen([sys.executable, str(AGENTS), kind, str(store.path)])
        self.run_id = until(lambda: next((run.id for run in store.runs() if run.steps > 2), None))

    def held(self, hold: int) -> list[CallQuestion]:
        return [each for each in self.store.questions(self.run_id) if each.hold == hold]

    def steps(self) -> int:
        return self.store.run(self.run_id).steps

    def resume(self) -> None:
        """Kill it while it is held before its next call, which never went out; then let it go on in a new process."""
        hold = self.store.hold_run(self.run_id)
        until(lambda: self.held(hold.id))
        self.kill()
        self.store.let_go(self.run_id, hold.id)
        self.again = agent_tt.resume(self.run_id, store=self.store.path, in_flight=lambda _: None)

    def stop(self) -> None:
        """Let its own loop end, by a change of its state."""
        hold = self.store.hold_run(self.run_id)
        question = until(lambda: next(iter(self.held(hold.id)), None))
        decision = question.with_state(question.run(), [Edit("set", "stop", True)])
        self.store.answer_question(question.id, decision)
        self.store.let_go(self.run_id, hold.id)
        assert (self.again or self.process).wait(PATIENCE_SECONDS) == 0

    def kill(self) -> None:
        """End it, where a test has failed."""
        if self.again is not None:
            self.again.stop()
        self.process.kill()
        self.process.wait()


def until(look):
    ends = time.monotonic() + PATIENCE_SECONDS
    while not (found := look()):
        assert time.monotonic() < ends, "it did not come"
        time.sleep(0.005)
    return found


@pytest.fixture
def start(store: SqliteStore) -> Iterator[Callable[[str], Agent]]:
    started: list[Agent] = []

    def begin(kind: str) -> Agent:
        started.append(Agent(store, kind))
        return started[-1]

    yield begin
    for agent in started:
        agent.kill()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(open_store(tmp_path / "runs.db", create=True)) as opened:
        yield opened


def decided(question: CallQuestion, turn: int) -> Decision:
    """Something else each time."""
    match turn % 4:
        case 0:
            return question.with_state(question.run(), [Edit("set", "budget", 1000 * (turn + 1))])
        case 1:
            name = question.editable[0]
            return question.run({name: 7000 + turn})
        case 2:
            return question.give({"paid": turn, "page": turn})
        case _:
            return question.with_state(question.give({"paid": 1, "page": 1}), [Edit("set", "budget", turn)])


def hold_often(agent: Agent, times: int) -> None:
    """Hold the agent so many times, decide about what waits, and let go."""
    for turn in range(times):
        hold = agent.store.hold_run(agent.run_id)
        question = until(lambda: next(iter(agent.held(hold.id)), None))  # noqa: B023  asked at once
        agent.store.answer_question(question.id, decided(question, turn).said_by("test"))
        agent.store.let_go(agent.run_id, hold.id)
        before = agent.steps()
        until(lambda: agent.steps() > before)  # noqa: B023  asked at once


@pytest.mark.parametrize("kind", ["plain", "several", "threads"])
def test_an_agent_that_was_held_edited_and_let_go_again_and_again_replays_as_recorded(
    store: SqliteStore, start: Callable[[str], Agent], kind: str
) -> None:
    agent = start(kind)
    hold_often(agent, HOLDS)
    agent.stop()
    run = store.run(agent.run_id)
    assert run.status == "succeeded"
    held = [call for step in store.steps(run.id) for call in store.calls(run.id, step.number) if call.facts.hold]
    with_states = sum(turn % 4 in {0, 3} for turn in range(HOLDS))
    assert sum(bool(call.facts.hold.state) for call in held) == with_states + 1, "and the one that stopped it"
    assert all(call.facts.answered for call in held)
    report = agent_tt.replay(run.id, store=store.path)
    assert report.verdict == "as_recorded", report


def test_a_deadline_that_stood_still_while_the_agent_was_held_does_not_expire_in_a_replay(
    store: SqliteStore, start: Callable[[str], Agent]
) -> None:
    agent = start("hasty")
    hold = store.hold_run(agent.run_id)
    question = until(lambda: next(iter(agent.held(hold.id)), None))
    time.sleep(0.8)
    store.answer_question(question.id, question.run().said_by("test"))
    store.let_go(agent.run_id, hold.id)
    agent.stop()
    run = store.run(agent.run_id)
    (call,) = (each for each in store.calls(run.id, question.step) if each.number == question.call)
    assert (call.status, call.facts.stood_still[0] >= 800_000) == ("ok", True)
    report = agent_tt.replay(run.id, store=store.path)
    assert report.verdict == "as_recorded", report


@pytest.mark.parametrize("kind", ["plain", "several", "threads"])
def test_a_resumed_run_is_held_once_it_makes_calls_for_real_and_replays_as_recorded(
    store: SqliteStore, start: Callable[[str], Agent], kind: str
) -> None:
    agent = start(kind)
    hold_often(agent, 2)
    before = agent.steps()
    agent.resume()
    hold_often(agent, 4)
    agent.stop()
    run = store.run(agent.run_id)
    assert run.status == "succeeded"
    held = [call for step in store.steps(run.id) for call in store.calls(run.id, step.number) if call.facts.hold]
    changed = [call.step for call in held if call.facts.hold.state]
    assert min(changed) < before, "changed before the break"
    assert sum(step >= before for step in changed) >= 2, "and after it, to stop it too"
    report = agent_tt.replay(run.id, store=store.path)
    assert report.verdict == "as_recorded", report


def test_a_fork_that_is_re_entered_is_held_once_it_makes_calls_for_real(
    store: SqliteStore, start: Callable[[str], Agent]
) -> None:
    agent = start("plain")
    agent.stop()
    parent = agent.run_id
    agent.again = agent_tt.fork(parent, 2, store=store.path, allow=["pay"], by="replay")
    agent.run_id = agent.again.run_id
    hold_often(agent, 4)
    agent.stop()
    run = store.run(agent.run_id)
    assert (run.status, run.parent, run.way_back_in) == ("succeeded", parent, "replay")
    report = agent_tt.replay(run.id, store=store.path)
    assert report.verdict == "as_recorded", report


def test_an_agent_goes_on_when_whoever_holds_it_is_killed(store: SqliteStore, start: Callable[[str], Agent]) -> None:
    agent = start("plain")
    code = (
        "import sys, time\nfrom agent_tt.store import open_store\n"
        "store = open_store(sys.argv[1])\nprint(store.hold_run(sys.argv[2]).id, flush=True)\ntime.sleep(600)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(store.path), agent.run_id], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder.stdout as said:
        hold = int(said.readline())
    question = until(lambda: next(iter(agent.held(hold)), None))
    holder.kill()
    holder.wait()
    before = agent.steps()
    until(lambda: agent.steps() > before + 3)
    (call,) = store.calls(agent.run_id, question.step)
    assert (call.status, call.facts.answered.by, call.facts.hold.number) == ("ok", "nobody", hold)
    assert store.holds(agent.run_id) == []
    agent.stop()
