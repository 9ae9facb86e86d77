"""What SDKs make of functions: the function inside is recorded, by its own name and with the model's arguments."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import sys
from contextlib import closing

import pytest

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.launching.tools.outside_tools import OUTSIDE
from agent_tt.store import open_store

SDK = """
import dataclasses, functools, inspect, json
@dataclasses.dataclass
class FunctionTool:
    name: str
    on_invoke_tool: object
def function_tool(f):
    class Invoker:
        __slots__ = ("run",)
        def __init__(self, run): self.run = run
        async def __call__(self, ctx, text): return await self.run(ctx, text)
    async def run(ctx, text):
        found = f(**json.loads(text))
        return await found if inspect.isawaitable(found) else found
    return FunctionTool(f.__name__, Invoker(run))
class Structured:
    def __init__(self, func=None, coroutine=None): self.func, self.coroutine = func, coroutine
    def invoke(self, given): return self.func(**given)
def wrapping(f):
    @functools.wraps(f)
    def inner(**given): return f(**given)
    return Structured(func=inner)
class Empty:
    def invoke(self, given): return given
"""
AGENT = """
from {sdk} import Empty, Structured, function_tool, wrapping
@function_tool
def charge(amount): return f"charged {{amount}}"
@function_tool
async def acharge(amount): return f"acharged {{amount}}"
@wrapping
def wrapped(amount): return f"wrapped {{amount}}"
def plain(amount): return f"plain {{amount}}"
def other(amount): return amount
named_otherwise = Structured(func=plain)
several = Structured(func=plain, coroutine=other)
empty = Empty()
"""
NUMBERS = itertools.count()


@pytest.fixture
def agent(tmp_path, monkeypatch):
    number = next(NUMBERS)
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / f"sdk{number}.py").write_text(SDK)
    (tmp_path / f"agent{number}.py").write_text(AGENT.format(sdk=f"sdk{number}"))
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(f"agent{number}")
    OUTSIDE.undo()
    for name in (f"sdk{number}", f"agent{number}"):
        sys.modules.pop(name)


def recorded(tmp_path, function):
    with agent_tt.record("test", store=tmp_path / "runs.db") as run:
        function()
    with closing(open_store(tmp_path / "runs.db")) as store:
        return [(c.name, c.args, c.result) for s in store.steps(run.id) for c in store.calls(run.id, s.number)]


@pytest.mark.parametrize("name", ["charge", "acharge"])
def test_the_function_of_a_tool_is_recorded_by_its_name(agent, tmp_path, name):
    agent_tt.register(f"{agent.__name__}.{name}", effect="write")
    tool = getattr(agent, name)
    assert type(tool).__name__ == "FunctionTool"
    calls = recorded(tmp_path, lambda: asyncio.run(tool.on_invoke_tool(object(), json.dumps({"amount": 3}))))
    assert calls == [(name, {"amount": 3}, f"{name}d 3")]


def test_a_tool_that_wraps_its_function_makes_one_call(agent, tmp_path):
    agent_tt.register(f"{agent.__name__}.wrapped", effect="write")
    assert recorded(tmp_path, lambda: agent.wrapped.invoke({"amount": 3})) == [("wrapped", {"amount": 3}, "wrapped 3")]


def test_a_tool_under_another_name_is_known_by_the_one_function_of_the_agents_in_it(agent, tmp_path):
    agent_tt.register(f"{agent.__name__}.named_otherwise", effect="write")
    calls = recorded(tmp_path, lambda: agent.named_otherwise.invoke({"amount": 3}))
    assert calls == [("named_otherwise", {"amount": 3}, "plain 3")]


@pytest.mark.parametrize("name", ["several", "empty"])
def test_what_a_tool_was_made_of_is_not_guessed(agent, name):
    with pytest.raises(UsageError, match="which is more than a function") as raised:
        agent_tt.register(f"{agent.__name__}.{name}", effect="write")
    assert raised.value.hint.endswith(f"{name}.invoke")


def test_the_method_of_a_tool_can_be_named_and_its_context_is_no_part_of_the_question(agent, tmp_path):
    agent_tt.register(f"{agent.__name__}.charge.on_invoke_tool", effect="write")
    calls = recorded(
        tmp_path, lambda: [asyncio.run(agent.charge.on_invoke_tool(object(), '{"amount": 3}')) for _ in "12"]
    )
    assert [name for name, _, _ in calls] == ["charge.on_invoke_tool"] * 2
    assert calls[0] == calls[1]
    assert calls[0][1]["text"] == '{"amount": 3}'
