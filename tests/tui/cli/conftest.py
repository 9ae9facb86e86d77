from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did, MemorySource

import agent_tt.sources
from agent_tt.errors import StoreNotFound
from agent_tt.model import Edit, ErrorInfo
from agent_tt_tui.cli.root import run

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire

HOSTILE = "\x1b[31mred\x1b[0m \u202egnorw [bold]markup[/bold]\n" + "long " * 50


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Wire:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        return json.loads(self.err)["error"]


Command = Callable[..., Finished]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run a command line as the shell would, in an empty folder, without a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_TT_STORE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")

    def call(*arguments: str) -> Finished:
        code = run(arguments)
        captured = capsys.readouterr()
        return Finished(code, captured.out, captured.err)

    return call


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> MemorySource:
    """A store of three runs; commands open it whatever file they are told to open."""
    made = MemorySource()

    def open_source(path: Path, **_: object) -> MemorySource:
        if path.name == "missing.db":
            raise StoreNotFound(f"there is no store at {path}", hint="Record a run first.")
        return made

    search = {"docs": [], "count": 0}
    messages: list[Wire] = [{"role": "user", "content": "What is the refund policy?"}]
    loop = [
        Did(
            name="work",
            tool="search_docs",
            args={"query": "refund policy"},
            result=search,
            state={"messages": [*messages, {"role": "tool", "content": str(number)}], "attempts": number},
        )
        for number in range(1, 6)
    ]
    error = ErrorInfo("builtins:TimeoutError", "search_docs timed out")
    failure = Did(
        name="give up",
        status="error",
        error=error,
        state={"messages": messages, "attempts": 6},
    )
    made.add("support", [*loop, failure], status="failed", error=error, state={"messages": messages, "attempts": 0})
    made.add(
        "support/fork-1",
        [
            Did(
                name="answer",
                answer={"content": "no documents"},
                state={"messages": messages, "answer": "no documents"},
            )
        ],
        parent="support",
        fork_step=1,
        edits=(Edit("set", "attempts", 9, 1),),
    )
    made.add(
        HOSTILE,
        [Did(name=HOSTILE, tool=HOSTILE, args={HOSTILE: HOSTILE}, result=HOSTILE, state={HOSTILE: HOSTILE})],
        state={},
    )
    monkeypatch.setattr(agent_tt.sources, "open_source", open_source)
    return made
