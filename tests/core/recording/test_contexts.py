"""What a framework hands through its tools is shown and never compared; what is asked always is."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import sys
import threading
import uuid
from contextlib import closing

import pytest

import agent_tt
from agent_tt.codec.encode import encode
from agent_tt.comparing.values.states import compare_states
from agent_tt.recording.calls.signature import Parameters, signature_of_call
from agent_tt.store import open_store

FRAMEWORK = """
import dataclasses, itertools, threading, uuid
import pydantic

class Base:
    pass
@dataclasses.dataclass
class RunContextWrapper:
    usage: int
    id: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)
class ToolContext(RunContextWrapper):
    pass
class ToolRuntime(pydantic.BaseModel):
    id: str = pydantic.Field(default_factory=lambda: uuid.uuid4().hex)
class AsyncCallbackManagerForToolRun:
    pass
@dataclasses.dataclass
class Holds:
    text: str
    lock: object = dataclasses.field(default_factory=threading.Lock)
@dataclasses.dataclass
class Data:
    text: str
"""
NUMBERS = itertools.count()


@pytest.fixture
def framework(tmp_path, monkeypatch):
    """An installed library that nobody has heard of."""
    name, place = f"framework{next(NUMBERS)}", tmp_path / "site-packages"
    place.mkdir()
    (place / f"{name}.py").write_text(FRAMEWORK)
    monkeypatch.syspath_prepend(str(place))
    yield importlib.import_module(name)
    sys.modules.pop(name)


def tool(ctx, q):
    return q


def langchain_like(tool_input, callbacks=None, *, tags=None, metadata=None, run_id=None, config=None, **kwargs):
    return tool_input


def signature(function, *args, **kwargs):
    return signature_of_call("tool", "tool", Parameters(function).bind(args, kwargs))


def contexts(framework):
    class Subclass(framework.RunContextWrapper):
        pass

    return [
        lambda: framework.RunContextWrapper(next(NUMBERS)),
        lambda: framework.ToolContext(next(NUMBERS)),
        lambda: Subclass(next(NUMBERS)),
        framework.ToolRuntime,
        framework.AsyncCallbackManagerForToolRun,
        lambda: framework.Holds(str(next(NUMBERS))),
        lambda: {"callbacks": None, "metadata": {"at": next(NUMBERS)}},
        lambda: {"configurable": {"thread": str(uuid.uuid4())}, "run_id": uuid.uuid4()},
        threading.Lock,
        lambda: lambda x: x,
    ]


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"a": {"b": (x, 1)}}])
def test_what_is_handed_on_is_not_part_of_the_question(framework, number, wrap):
    make = contexts(framework)[number]
    assert signature(tool, wrap(make()), "q") == signature(tool, wrap(make()), "q")
    assert signature(tool, wrap(make()), "q") != signature(tool, wrap(make()), "another")
    assert signature(tool, wrap(make()), "q") != signature(tool, wrap(None), "q")


@dataclasses.dataclass
class OwnContext:
    user: str
    lock: object = dataclasses.field(default_factory=threading.Lock)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (OwnContext("ann"), OwnContext("ben")),
        ({"callback": 1}, {"callback": 2}),
        ({"metadata": {"a": 1}}, {"metadata": {"a": 2}}),
        ({"tags": ["a"], "run_name": "x"}, {"tags": ["b"], "run_name": "x"}),
        (["a"], ["b"]),
    ],
)
def test_the_agents_own_values_are_compared(one, other):
    assert signature(tool, one, "q") == signature(tool, one, "q")
    assert signature(tool, one, "q") != signature(tool, other, "q")


def test_data_of_a_library_is_compared(framework):
    assert signature(tool, framework.Data("a"), "q") != signature(tool, framework.Data("b"), "q")


def test_a_configuration_that_is_spread_over_parameters_is_not_part_of_the_question():
    first = signature(
        langchain_like, "q", [object()], tags=["a"], metadata={"at": 1}, run_id=uuid.uuid4(), config={"tags": ["a"]}
    )
    second = signature(
        langchain_like, "q", [object()], tags=["b"], metadata={"at": 2}, run_id=uuid.uuid4(), config={"tags": ["b"]}
    )
    assert first == second
    assert first != signature(langchain_like, "z", [object()], tags=["b"], metadata={"at": 2}, run_id=1, config={})


def test_a_context_is_shown_by_its_type(framework):
    named = Parameters(tool).bind((framework.ToolContext(1), "q"), {})
    assert named["q"] == "q"
    assert named["ctx"]["class"] == f"{framework.__name__}:ToolContext"
    assert named["ctx"]["repr"] == "<ToolContext>"


def test_addresses_are_neither_shown_nor_compared():
    assert " at 0x" not in encode(object())["repr"]
    assert encode([object(), lambda: 1]) == encode([object(), lambda: 1])
    one, other = (f"asked by <Client object at 0x7f{digit}ab09310>." for digit in "12")
    assert signature(tool, None, one) == signature(tool, None, other)
    assert signature(tool, None, "look at 0x7f12ab09310 now") != signature(tool, None, "look at 0x7f32ab09310 now")


class Counting:
    def __repr__(self):
        return f"<Counting {next(NUMBERS)}>"


def test_an_opaque_values_text_is_no_change():
    assert compare_states(encode({"c": Counting(), "n": 1}), encode({"c": Counting(), "n": 1})) == []
    assert [change.path for change in compare_states(encode({"c": Counting()}), encode({"c": object()}))] == ["c"]


def test_a_context_can_be_recorded_and_the_tool_gets_it(framework, tmp_path):
    given = framework.ToolContext(3)
    seen = []

    @agent_tt.tool(effect="read")
    def ask(ctx, q):
        seen.append(ctx)
        ctx.usage += 1
        return q

    with agent_tt.record("test", store=tmp_path / "runs.db") as run:
        assert ask(given, "q") == "q"
    assert seen[0] is given
    assert given.usage == 4
    with closing(open_store(tmp_path / "runs.db")) as store:
        (call,) = store.calls(run.id, 1)
    assert call.args["q"] == "q"
    assert "args_after" not in call.meta


def no_answer(*_: object) -> None:
    raise RuntimeError("a class that is not to be asked")


def unnamed(kind: type, name: str) -> object:
    return (
        no_answer()
        if name in ("__name__", "__qualname__", "__module__", "__mro__")
        else type.__getattribute__(kind, name)
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"__getattribute__": unnamed},
        {"__hash__": no_answer},
        {"__eq__": no_answer, "__hash__": type.__hash__},
        {"__instancecheck__": no_answer, "__subclasscheck__": no_answer, "__bool__": no_answer},
        {"__class__": property(no_answer)},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_whatever_a_class_does_when_it_is_asked_the_tool_that_takes_its_object_runs(tmp_path, asked):
    meta = type("Meta", (type,), asked)
    kind = type.__new__(meta, "Held", (), {"__module__": __name__})
    held = object.__new__(kind)

    @agent_tt.tool(effect="read")
    def takes(one, *, many):
        return one is held and many["a"][0] is held

    @agent_tt.tool(effect="read")
    def gives():
        return held

    with agent_tt.record("asked", state={"held": held}, store=tmp_path / "runs.db") as run:
        with run.step("takes", {"held": held, "kind": kind}):
            assert takes(held, many={"a": [held]})
        with run.step("gives", {"held": [held]}):
            assert gives() is held
            assert takes(held, many={"a": [held]})
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as store:
        assert [step.status for step in store.steps(run.id)] == ["ok", "ok"]
        assert [call.status for step in (1, 2) for call in store.calls(run.id, step)] == ["ok"] * 3
