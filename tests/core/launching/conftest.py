"""A project on disk whose programs are run bare and recorded, in processes of their own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.warm_processes import warm_processes

from agent_tt.launching.tools.outside_tools import OUTSIDE
from agent_tt.store import open_store
from agent_tt_tui.cli.root import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_tt.model import Call, Run
    from agent_tt.protocols import Store

RECORD = (sys.executable, "-m", "agent_tt_tui", "record")


@dataclass(frozen=True)
class Finished:
    """What a process left behind; `told` is what agent-tt said on standard error."""

    code: int
    out: str
    err: str
    told: str


def _finished(code: int, out: str, err: str) -> Finished:
    lines = err.splitlines(keepends=True)
    ours = [line for line in lines if line.startswith("agent-tt:")]
    return Finished(code, out, "".join(li for li in lines if li not in ours), "".join(ours))


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.store_path = folder / "runs.db"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AGENT_TT", "PYTHON", "COLUMNS", "FORCE_COLOR"))
        }
        self.environment |= {"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), "NO_COLOR": "1"}
        self._store: Store | None = None

    def write(self, **files: str) -> None:
        """Write files; `__` in a name is a slash."""
        for name, text in files.items():
            path = self.folder / f"{name.replace('__', '/')}.py".replace("//", "__")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def bare(self, *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None) -> Finished:
        return self._run((sys.executable, *arguments), stdin, environment)

    def record(
        self,
        *arguments: str,
        options: Sequence[str] = (),
        program: str = sys.executable,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Record a program. It begins from nothing; the command that starts it has imported before what it needs."""
        with warm_processes():
            return self._run(self.command(*arguments, options=options, program=program), stdin, environment)

    def agent_tt(self, *arguments: str) -> Finished:
        """Any other command of ours, on the project's store; in this process, and what it starts in others."""
        said = io.BytesIO(), io.BytesIO()
        out, err = (io.TextIOWrapper(each, encoding="utf-8", write_through=True) for each in said)
        with (
            mock.patch.dict(os.environ, self.environment, clear=True),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = run(["--store", str(self.store_path), *arguments])
        return _finished(code, *(each.getvalue().decode() for each in said))

    def command(self, *arguments: str, options: Sequence[str] = (), program: str = sys.executable) -> list[str]:
        return [*RECORD, "--store", str(self.store_path), *options, "--", program, *arguments]

    def _run(self, command: Sequence[str], stdin: str, environment: Mapping[str, str] | None) -> Finished:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        return _finished(done.returncode, done.stdout, done.stderr)

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = open_store(self.store_path)
        return self._store

    def runs(self) -> list[Run]:
        """All runs, oldest first."""
        return self.store.runs()[::-1]

    def calls(self, run: Run) -> list[Call]:
        return [call for step in self.store.steps(run.id) for call in self.store.calls(run.id, step.number)]

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    before = list(sys.meta_path), sys.gettrace()
    yield
    OUTSIDE.undo()
    assert list(sys.meta_path) == before[0]
    assert sys.gettrace() == before[1]
