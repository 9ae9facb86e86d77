"""`agent-tt open --web`: what each tab's process is started with; no password stands in its command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_tt_tui.web import server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.core.memory_store import MemorySource
    from tests.tui.cli.conftest import Command

URL = "postgresql://me:hush-4711@db.example/runs"
SHOWN = "postgresql://me:***@db.example/runs"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, command: Command) -> list[tuple[Sequence[str], str]]:
    """The words that the app of a tab is started with, and the store of its environment."""
    calls: list[tuple[Sequence[str], str]] = []
    monkeypatch.setenv("AGENT_TT_STORE", "")
    monkeypatch.setattr(server, "serve", lambda words, *_: calls.append((list(words), os.environ["AGENT_TT_STORE"])))
    return calls


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    "arguments", [("support", "--at", "2", "--store", URL), (f"{URL}:support", "--at", "2")], ids=["option", "run"]
)
def test_a_store_on_a_server_is_handed_over_by_the_environment(
    command: Command, served: list[tuple[Sequence[str], str]], arguments: tuple[str, ...]
) -> None:
    done = command("open", *arguments, "--web")
    assert done.code == 0, done.err
    assert served == [(["open", "support", "--at", "2", "--store", SHOWN], URL)]
    assert done.err == "agent-tt: open this address in a browser on this machine; Ctrl-C stops serving\n"


def test_a_file_is_named(command: Command, source: MemorySource, served: list[tuple[Sequence[str], str]]) -> None:
    assert command("open", "support", "--store", "any.db", "--web").code == 0
    assert command("open", "--store", "any.db", "--web").code == 0
    assert served == [(["open", "support", "--store", "any.db"], ""), (["open", "--store", "any.db"], "")]
