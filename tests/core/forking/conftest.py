"""A project on disk with small agents, a store, and forks of what was recorded there."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.agent_folder import AgentFolder
from tests.patience import PATIENCE_SECONDS

from agent_tt.codec.encode import encode
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.model import AgentCode, NewRun, NewStep, Run, StepEnd
from agent_tt.rerunning.launch import start_fork
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fork_here import Here, Listener

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.protocols import Store
    from agent_tt.rerunning.handle import RunHandle


class Project(AgentFolder):
    """A folder with agents and a store."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.store: Store = open_store(self.store_path, create=True)
        self.handles: list[RunHandle] = []

    def record(self, *arguments: str) -> Run:
        """Really run an agent (`-c` and code, or a script) and give the run that it recorded."""
        self.run(*arguments)
        return self.store.run("latest")

    def made(self, entry: str | None, *states: object, restore: str | None = "state", name: str = "made") -> Run:
        """A run written by hand: `states` are its checkpoints, from 0 on."""
        code = AgentCode(entry=entry, root=str(self.folder), cwd=str(self.folder), restore=restore)
        writer = self.store.begin_run(NewRun(name=name, code=code), states[0])
        for state in states[1:]:
            number = writer.open_step(NewStep(name="move"))
            writer.close_step(number, StepEnd(status="ok"), state)
        writer.finish("succeeded")
        return self.store.run(writer.run_id)

    def plan(self, run: Run | str, step: int, **options: object) -> ForkPlan:
        return plan_fork(self.store, run, ForkRequest(step, **options))

    def fork(self, run: Run | str, step: int, **options: object) -> RunHandle:
        asked = options.pop("asked", None)
        handle = start_fork(self.plan(run, step, **options), asked=asked)
        self.handles.append(handle)
        return handle

    def state(self, handle: RunHandle, step: int) -> object:
        return self.store.state(handle.run_id, step)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    with closing(made.store):
        yield made
        for handle in made.handles:
            handle.stop(grace=0)


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.02)

    return wait


@pytest.fixture
def wire() -> Callable[[object], object]:
    return encode


@pytest.fixture(scope="session")
def project_type() -> type[Project]:
    """The class, for tests that share what they made."""
    return Project


@pytest.fixture
def here(project: Project) -> Here:
    from fork_here import Here

    return Here(project)


@pytest.fixture
def listener() -> Iterator[Listener]:
    from fork_here import Listener

    listening = Listener()
    yield listening
    listening.socket.close()
