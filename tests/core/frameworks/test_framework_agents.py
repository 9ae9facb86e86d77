"""Agents of real frameworks, recorded without a flag: their tools are calls, which replays answer and forks deny."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest
from tests.core.frameworks.framework_agents import AGENTS, WORLD, FrameworkAgent, Row
from tests.core.frameworks.other_agents import OTHER_AGENTS
from tests.core.frameworks.scripted_models import playing
from tests.core.frameworks.sdk_agents import SDK_AGENTS
from tests.core.frameworks.varied_agents import VARIED_AGENTS
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.core.frameworks.scripted_models import Models

    from agent_tt.model import Call, Run

pytestmark = pytest.mark.warm

_WARM: Final = ("agents", "anthropic", "google.genai", "langgraph.prebuilt", "pydantic_ai")
"""Frameworks that are imported once for all processes of their agents."""


class Recorded:
    """The folder of one agent, whose run was recorded there."""

    def __init__(self, agent: FrameworkAgent, folder: Path, server: Models) -> None:
        self.agent, self.folder, self.server = agent, folder, server
        self.store_path = folder / "runs.db"
        (folder / "agent.py").write_text(agent.source)
        (folder / "world.py").write_text(WORLD)
        self.environment = {**os.environ, **server.environment}

    def record(self, name: str = "it") -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "agent_tt_tui", "record", "--store", str(self.store_path), "--name", name)
        return subprocess.run(
            (*command, "--", sys.executable, "agent.py"),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def done(self) -> Counter[str]:
        """What was really done so far."""
        file = self.folder / "did"
        return Counter(file.read_text().split() if file.exists() else ())

    def read(self, name: str = "it") -> tuple[Run, dict[int, str | None], list[Call]]:
        """A run, the agents of its steps, and the calls of tools in them."""
        with closing(open_store(self.store_path, read_only=True)) as store:
            assert store.verify() == []
            run = store.run(name)
            steps = store.steps(run.id)
            calls = [call for step in steps for call in store.calls(run.id, step.number) if call.kind == "tool"]
            return run, {step.number: step.agent for step in steps}, calls

    def check_replays(self, times: int, name: str = "it") -> None:
        """It replays as it was recorded, with nobody to ask; and nothing is done."""
        before, self.server.is_dead = (self.server.hits, self.done()), True
        for _ in range(times):
            report = agent_tt.replay(name, store=self.store_path, timeout=PATIENCE_SECONDS)
            uncovered = self.agent.uncovered
            assert report.verdict == ("reserved" if uncovered else "as_recorded"), (report.divergences, report.notes)
            assert [note.text.partition(" ")[0] for note in report.notes] == list(uncovered)
        self.server.is_dead = False
        assert (self.server.hits, self.done()) == before


ALSO: Final = os.environ.get("FRAMEWORK_AGENTS", "").split(",")
"""Those of further frameworks that `make frameworks` has installed."""

EVERY: Final = {
    **AGENTS,
    **SDK_AGENTS,
    **VARIED_AGENTS,
    **{name: each for name, each in OTHER_AGENTS.items() if name in ALSO},
}


def _warm(agent: FrameworkAgent) -> pytest.MarkDecorator:
    """An interpreter of its own for each framework: a process looks through all that are loaded."""
    return pytest.mark.warm(agent.framework, "openai") if agent.framework in _WARM else pytest.mark.warm


# The scope puts the tests of an agent, and so those of a framework, behind one another.
@pytest.fixture(params=[pytest.param(name, marks=_warm(each)) for name, each in EVERY.items()], scope="module")
def chosen(request: pytest.FixtureRequest) -> FrameworkAgent:
    return EVERY[request.param]


@pytest.fixture
def agent(chosen: FrameworkAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    agent = chosen
    if importlib.util.find_spec(agent.framework.partition(".")[0]) is None:
        pytest.skip(f"{agent.framework} is not installed")
    with playing(agent.script, agent.texts) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield Recorded(agent, tmp_path, server)


def rows_of(agents: dict[int, str | None], calls: list[Call]) -> list[Row]:
    """The calls as rows; of what stands beside the model's arguments nothing."""
    shown = []
    for call in calls:
        assert isinstance(call.args, dict)
        arguments = {
            name: value
            for name, value in call.args.items()
            if " " not in name and not (isinstance(value, dict) and value.get("why") == "context")
        }
        shown.append(Row(agents[call.step], call.name, arguments, call.effect or ""))
    return shown


def test_tools_are_rows_that_are_replayed_and_denied(agent: Recorded):
    ended = agent.record()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    run, agents, calls = agent.read()
    assert sorted(map(str, rows_of(agents, calls))) == sorted(map(str, agent.agent.rows))
    assert run.status == "succeeded"
    assert {(call.name, call.status) for call in calls if call.status != "ok"} == {
        (name, "error") for name in agent.agent.fails
    }
    assert agent.done()["charge"] == 1

    agent.check_replays(5)

    with agent_tt.fork(run.id, agent.agent.forks_at, store=agent.store_path) as forked:
        forked.wait(PATIENCE_SECONDS)
    fork, _, calls = agent.read("it/fork-1")
    charges = [call.status for call in calls if call.name == "charge"]
    assert set(charges) == {"denied"}, (fork.error, calls)
    assert agent.done()["charge"] == 1
    assert fork.status == ("succeeded" if agent.agent.denied == "told" else "failed")


def test_a_tool_that_wrote_before_a_crash_does_not_write_again(agent: Recorded):
    agent.server.kills = "charge", agent.folder / "pid"
    ended = agent.record()
    assert ended.returncode == 128 + signal.SIGKILL, ended.stdout + ended.stderr
    assert agent.done()["charge"] == 1
    before = agent.done()
    resumed = agent_tt.resume("it", store=agent.store_path, in_flight=lambda _call: None)
    assert resumed.result().status == "succeeded"
    done = agent.done()
    assert {name: done[name] for name in before} == dict(before)
    assert done["charge"] == 1
    agent.check_replays(1)
