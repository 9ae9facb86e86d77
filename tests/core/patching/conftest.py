"""Agents on disk whose names are patched, recorded into a store, and replayed from it."""

from __future__ import annotations

import builtins
import importlib.util
import sys
from pathlib import Path

import pytest

import agent_tt
from agent_tt.replaying import served

DRAWING = (Path(__file__).parent / "drawing_agent.txt").read_text()


class Project:
    """A project folder with agents in it, and a store."""

    def __init__(self, root):
        self.root = root
        self.store = root / "store" / "runs.db"
        self.names = []

    def load(self, name, source):
        """Write a module and import it, as the agent's own."""
        file = self.root / f"{name}.py"
        file.write_text(source)
        self.names.append(name)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def forget(self):
        for name in self.names:
            sys.modules.pop(name, None)
        self.names = []

    def record(self, work, **options):
        """Run `work` inside a step of a recording; the run's id and what it gave."""
        with agent_tt.record("draws", store=self.store, **options) as run, run.step("draw"):
            got = work()
        return run.id, got

    def replay(self, run_id, work, **options):
        """The same with every call answered from that run."""
        with served(run_id, store=self.store), agent_tt.record("draws", **options) as run, run.step("draw"):
            return work()

    def calls(self, run_id):
        source = agent_tt.open_source(self.store)
        try:
            steps = source.step_count(run_id)
            return [call for step in range(1, steps + 1) for call in source.calls(run_id, step)]
        finally:
            source.close()


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    imported = builtins.__import__
    yield made
    made.forget()
    assert builtins.__import__ is imported


@pytest.fixture
def drawing(project):
    """The module of an agent that draws from everything."""
    return project.load("drawing_agent_for_tests", DRAWING)
