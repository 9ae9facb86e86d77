"""What `help()` says of a public name is enough to use it: an example that works, what it takes, and how it fails."""

from __future__ import annotations

import contextlib
import inspect
import re
import shutil

import pytest

import agent_tt
from agent_tt import samples

CALLABLES = sorted(set(agent_tt.__all__) - {"AgentTTError", "ToolDenied", "__version__"})
STARTS_AGENTS = {"fork", "register", "replay", "resume", "sweep"}
"""Their examples run agents, or replace functions for good: the tests of each do so with agents of their own."""


def example(name: str) -> str:
    """The code that a name's documentation shows."""
    found = re.search(r"```python\n(.*?)```", inspect.getdoc(getattr(agent_tt, name)) or "", re.DOTALL)
    assert found, f"agent_tt.{name} shows no example"
    return found[1]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory):
    """A store with the runs that the examples name."""
    path = tmp_path_factory.mktemp("examples") / "runs.db"
    for name in ("refund-loop", "flaky-checkout", "trip-planner"):
        samples.ensure(name, path)
    return path


@pytest.fixture
def store(shipped, tmp_path):
    """One of its own for each example: some record runs, of the same names."""
    return shutil.copytree(shipped.parent, tmp_path / "examples") / shipped.name


@pytest.mark.parametrize("name", CALLABLES)
def test_help_says_what_each_takes_and_shows_it(name: str) -> None:
    said = inspect.getdoc(getattr(agent_tt, name)) or ""
    assert "Args:" in said
    compile(example(name), name, "exec")
    assert f"agent_tt.{name}" in example(name)


@pytest.mark.parametrize("name", sorted(set(CALLABLES) - STARTS_AGENTS))
def test_the_example_works(name: str, store, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("AGENT_TT_STORE", str(store))
    monkeypatch.chdir(store.parent)
    monkeypatch.setattr("agent_tt.forking.entry.executors.EXECUTORS._added", {})
    code = example(name)
    exec(compile(code, name, "exec"), {"agent_tt": agent_tt, "contextlib": contextlib})
    for line, promised in re.findall(r"^(.*?)  # ((?:\[|\d).*)$", code, re.MULTILINE):  # what it says comes out
        shown = capsys.readouterr().out.strip() if line.startswith("print") else repr(eval(line))
        assert shown.splitlines()[-1] == promised
