"""A folder with agents and a store: agents are really run there, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.patience import PATIENCE_SECONDS

import agent_tt

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.replaying.report import ReplayReport

DID = """
def did(word):
    with open("did", "a") as file:
        file.write(word + "\\n")
"""
"""What an agent calls to leave a word behind that it really did something; see `AgentFolder.done`."""


class AgentFolder:
    """The base of what tests call a project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store_path = folder / "runs.db"

    def put(self, name: str, source: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
        return file

    def write(self, source: str, name: str = "agent.py") -> Path:
        return self.put(name, source)

    def start(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a script with its arguments, or `-c` and code; `agent.py` where nothing is said."""
        return subprocess.run(
            [sys.executable, *(command or ("agent.py",))],
            cwd=self.folder,
            env={**os.environ, "AGENT_TT_STORE": str(self.store_path)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def run(self, *command: str, exit_code: int = 0) -> str:
        """The same; what it printed."""
        ended = self.start(*command)
        assert ended.returncode == exit_code, ended.stdout + ended.stderr
        return ended.stdout

    def done(self) -> list[str]:
        """What the agents really did so far."""
        file = self.folder / "did"
        return file.read_text().split() if file.exists() else []

    def replay(self, run: str | Run = "latest", **options: object) -> ReplayReport:
        return agent_tt.replay(run, store=self.store_path, timeout=PATIENCE_SECONDS, **options)

    def check_replay(self, run: str | Run = "latest") -> None:
        """The run replays as it is; nothing is done."""
        before = self.done()
        report = self.replay(run)
        assert report.is_faithful, report.divergences
        assert not [note for note in report.notes if note.kind == "state differs"]
        assert self.done() == before
