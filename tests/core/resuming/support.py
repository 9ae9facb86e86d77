"""Agents on disk that break off the first time they run, and go on."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.agent_folder import DID, AgentFolder
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.resuming import Happened
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.model import Call, Run
    from agent_tt.rerunning.handle import RunHandle

PRELUDE = (
    "import asyncio, os, signal, sys, time, agent_tt\n"
    + DID
    + """
def breaks_off(word, how="SIGKILL"):
    '''The first time, the process is gone.'''
    if not os.path.exists("broke off"):
        open("broke off", "w").close()
        os.kill(os.getpid(), getattr(signal, how))
    did(word) if word else None

"""
)


class Project(AgentFolder):
    """A folder with an agent that breaks off the first time it runs."""

    def write(self, source: str, name: str = "agent.py") -> Path:
        return super().write(PRELUDE + source, name)

    def begin(self, source: str, *command: str, exit_code: int = -signal.SIGKILL) -> None:
        self.write(source)
        self.run(*command, exit_code=exit_code)

    def resume(
        self, in_flight: Callable[[Call], Happened | None] | None = None, *, redo_unrecorded: bool = False
    ) -> RunHandle:
        handle = agent_tt.resume("latest", store=self.store_path, in_flight=in_flight, redo_unrecorded=redo_unrecorded)
        assert handle.wait(PATIENCE_SECONDS) is not None
        return handle

    def read(self) -> tuple[Run, list[Call]]:
        with closing(open_store(self.store_path, read_only=True)) as store:
            run = store.run("latest")
            steps = store.steps(run.id)
            assert store.verify() == []
            return run, [call for step in steps for call in store.calls(run.id, step.number)]

    def check(self, *words: str) -> Run:
        """The run has succeeded, each of these was done once, and it replays as it is."""
        run, _ = self.read()
        assert run.status == "succeeded", (run.status, run.error)
        assert sorted(self.done()) == sorted(words)
        self.check_replay()
        return run


def happened(result: object = None) -> Callable[[Call], Happened]:
    return lambda call: Happened(result)


def not_happened(call: Call) -> None:
    return None
