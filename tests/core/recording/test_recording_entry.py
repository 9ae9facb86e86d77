"""Where a recording finds the agent's entry point, and how that can be given a state."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import InvalidEntryPoint

AGENT = """
import contextlib
import functools
import agent_tt

def main(state=None):
    return agent_tt.record("x", state=state, version="3").code

async def amain(*, state=None):
    return agent_tt.record("x", state=state).code

def stateless(question="?"):
    return agent_tt.record("x", state={}).code

def positional(state, /):
    return agent_tt.record("x", state=state).code

def outer():
    def inner():
        return (lambda: agent_tt.record("x").code)()
    return inner()

def plain_decorator(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

@plain_decorator
def decorated(state=None):
    return agent_tt.record("x", state=state).code

@contextlib.contextmanager
def helper(state):
    yield agent_tt.record("x", state=state).code

def with_helper(state=None):
    with contextlib.ExitStack() as stack:
        return stack.enter_context(helper(state))

@contextlib.asynccontextmanager
async def async_helper(state):
    yield agent_tt.record("x", state=state).code

async def with_async_helper(state=None):
    async with async_helper(state) as code:
        return code

@contextlib.contextmanager
def around():
    yield

@around()
def inside_a_context(state=None):
    return agent_tt.record("x", state=state).code

def generator(state=None):
    yield agent_tt.record("x", state=state).code

def named(entry):
    return agent_tt.record("x", agent=entry).code

class Plain:
    def run(self):
        return agent_tt.record("x", state=self).code
    def other_state(self):
        return agent_tt.record("x", state={}).code
    def with_state(self, state=None):
        return agent_tt.record("x", state=state).code
    @classmethod
    def make(cls, state=None):
        return agent_tt.record("x", state=state).code
    @staticmethod
    def static(state=None):
        return agent_tt.record("x", state=state).code

class GivesOnly(Plain):
    def get_state(self):
        return {}

class Loadable(Plain):
    def load_state(self, state):
        pass

def local_class():
    class Local:
        def run(self):
            return agent_tt.record("x", state=self).code
    return Local().run()

if __name__ == "__main__":
    import dataclasses, json, asyncio
    print(json.dumps(dataclasses.asdict(main())))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package `trips` with the agent, importable from the folder."""
    package = tmp_path / "trips"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "agent.py").write_text(AGENT)
    (tmp_path / "script.py").write_text(AGENT)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("trips", "trips.agent"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path.resolve()
    for name in ("trips", "trips.agent"):
        sys.modules.pop(name, None)


@pytest.fixture
def agent(project):
    import trips.agent

    return trips.agent


def test_a_function_of_a_module_is_named_by_its_module(agent, project):
    code = agent.main()
    assert (code.entry, code.restore, code.version, code.root) == ("trips.agent:main", "state", "3", str(project))
    digest = hashlib.blake2b((project / "trips/agent.py").read_bytes(), digest_size=16).hexdigest()
    assert (code.fingerprint, code.cwd, code.interpreter) == (digest, str(Path.cwd()), sys.executable)


@pytest.mark.parametrize(
    ("call", "entry", "restore"),
    [
        ("stateless", "stateless", None),
        ("outer", "outer", None),
        ("decorated", "decorated", "state"),
        ("with_helper", "with_helper", "state"),
        ("inside_a_context", "inside_a_context", "state"),
        ("generator().__next__", "generator", "state"),
        ("local_class", "local_class", None),
        ("Plain().run", "Plain.run", "attributes"),
        ("Plain().other_state", "Plain.other_state", None),
        ("Plain().with_state", "Plain.with_state", "state"),
        ("Plain.make", "Plain.make", "state"),
        ("Plain.static", "Plain.static", "state"),
        ("GivesOnly().run", "GivesOnly.run", None),
        ("Loadable().run", "Loadable.run", "load_state"),
        ("Loadable().other_state", "Loadable.other_state", "load_state"),
        ("Loadable.make", "Loadable.make", "state"),
    ],
)
def test_how_the_caller_can_be_called_again(agent, call, entry, restore):
    code = eval(f"agent.{call}()", {"agent": agent})
    assert (code.entry, code.restore) == (f"trips.agent:{entry}", restore)


def test_a_parameter_that_takes_no_keyword_cannot_be_given_a_state(agent):
    assert agent.positional({}).restore is None


async def test_async_entry_points_are_named_alike(agent):
    for name in ("amain", "with_async_helper"):
        code = await getattr(agent, name)()
        assert (code.entry, code.restore) == (f"trips.agent:{name}", "state")


def test_the_agent_may_name_its_entry_point_itself(agent, project):
    ours = agent.named("trips.agent:Loadable.run")
    assert (ours.entry, ours.restore, ours.root) == ("trips.agent:Loadable.run", "load_state", str(project))
    assert ours.fingerprint == agent.main().fingerprint
    unknown = agent.named("not_loaded:main")
    assert (unknown.entry, unknown.restore, unknown.fingerprint) == ("not_loaded:main", None, None)
    by_file = agent.named(str(project / "trips/agent.py") + ":main")
    assert (by_file.restore, by_file.fingerprint) == ("state", ours.fingerprint)
    for wrong in ("main", "module:", ":main", "m:f.<locals>.g"):
        with pytest.raises(InvalidEntryPoint, match="does not name an entry point"):
            agent.named(wrong)


def test_a_module_loaded_under_a_name_that_leads_nowhere_is_named_by_its_file(project):
    spec = importlib.util.spec_from_file_location("loaded_by_path", project / "script.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["loaded_by_path"] = module
    try:
        spec.loader.exec_module(module)
        assert module.main().entry == "script.py:main"
        assert module.Plain().run().entry == "script.py:Plain.run"
    finally:
        del sys.modules["loaded_by_path"]


def run_python(project, *arguments, **environment):
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    return json.loads(result.stdout)


def test_a_script_is_named_by_its_file(project):
    code = run_python(project, "script.py")
    assert (code["entry"], code["root"], code["restore"]) == ("script.py:main", str(project), "state")


def test_a_script_in_a_folder_of_a_searched_project_is_named_from_the_project(project):
    code = run_python(project, "trips/agent.py", PYTHONPATH=str(project))
    assert (code["entry"], code["root"]) == ("trips/agent.py:main", str(project))


def test_a_module_run_with_m_is_named_by_its_module(project):
    code = run_python(project, "-m", "trips.agent")
    assert (code["entry"], code["root"]) == ("trips.agent:main", str(project))


def test_code_without_a_function_or_a_file_has_no_entry_point(project):
    (project / "bare.py").write_text(
        "import agent_tt, json, dataclasses\n"
        "print(json.dumps(dataclasses.asdict(agent_tt.record('x', state={}).code)))\n"
    )
    code = run_python(project, "bare.py")
    assert (code["entry"], code["restore"], code["root"]) == (None, None, str(project))
    assert code["fingerprint"]
    typed = run_python(project, "-c", (project / "bare.py").read_text())
    assert (typed["entry"], typed["root"], typed["fingerprint"]) == (None, None, None)


def test_finding_the_entry_point_imports_nothing():
    before = set(sys.modules)
    agent_tt.record("x", agent="antigravity_of_nobody:main")
    assert set(sys.modules) == before


HELPED = """
import contextlib
import agent_tt

def made(state):
    return agent_tt.record("x", state=state)

def made_twice(state):
    return made(state)

class Traced:
    def __init__(self, state):
        self.recording = agent_tt.record("x", state=state)

    def __enter__(self):
        return self.recording.__enter__()

    async def __aenter__(self):
        return await self.recording.__aenter__()

    def __exit__(self, *error):
        self.recording.__exit__(*error)

    async def __aexit__(self, *error):
        await self.recording.__aexit__(*error)

class Late(Traced):
    def __init__(self, state):
        self.state = state

    def __enter__(self):
        self.recording = agent_tt.record("x", state=self.state)
        return self.recording.__enter__()

def entered_elsewhere(recording):
    with recording as run:
        return run.code

def returned(state=None):
    with made(state) as run:
        return run.code

def returned_twice(state=None):
    with made_twice(state) as run:
        return run.code

async def awaited(state=None):
    async with made(state) as run:
        return run.code

def stacked(state=None):
    with contextlib.ExitStack() as stack:
        return stack.enter_context(made(state)).code

def traced(state=None):
    with Traced(state) as run:
        return run.code

async def traced_async(state=None):
    async with Traced(state) as run:
        return run.code

def late(state=None):
    with Late(state) as run:
        return run.code

def lent(state=None):
    return entered_elsewhere(agent_tt.record("x", state=state))
"""


@pytest.mark.parametrize(
    "name", ["returned", "returned_twice", "awaited", "stacked", "traced", "traced_async", "late", "lent"]
)
def test_helpers_that_make_or_enter_recordings_for_others_are_no_agents(store, project, monkeypatch, name):
    project.joinpath("helped.py").write_text(HELPED)
    monkeypatch.syspath_prepend(str(project))
    monkeypatch.delitem(sys.modules, "helped", raising=False)
    code = getattr(importlib.import_module("helped"), name)(state={"n": 1})
    if asyncio.iscoroutine(code):
        code = asyncio.run(code)
    assert (code.entry, code.restore) == (f"helped:{name}", "state")
