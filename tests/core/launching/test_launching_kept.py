"""Functions that were kept before they are named: every reference is caught, and each stays what it was."""

from __future__ import annotations

import asyncio
import collections
import functools
import importlib
import inspect
import itertools
import json
import pickle
import sys
import traceback
from contextlib import closing
from typing import NamedTuple

import pytest

import agent_tt
from agent_tt.launching.tools.outside_tools import OUTSIDE, UnrecordedCalls
from agent_tt.store import open_store

MODULE = """
import functools
from operator import neg as builtin

def outer(offset):
    def closure(n): return n + offset
    return closure
def keeping(f):
    @functools.wraps(f)
    def w(*args, **kwargs): return f(*args, **kwargs)
    return w
def sync(n, *rest, extra=0, **more): return n
async def coroutine(n): return n
def generator(n):
    got = yield n
    return got
async def asyncgen(n): yield n
closure = outer(0)
@keeping
def wrapped(n): return n
@functools.lru_cache
def cached(n): return n
class Api:
    def method(this, n): return n
    @classmethod
    def cm(cls, n): return n
    @staticmethod
    def sm(n): return n
    async def amethod(self, n): return n
class Caller:
    __slots__ = ("__weakref__",)
    def __call__(self, n): return n
api, caller, other = Api(), Caller(), Caller()
api.own = outer(0)
part = functools.partial(sync, extra=1)
"""
NUMBERS = itertools.count()

KINDS = {  # the path, and what is kept of it
    "sync": "sync", "coroutine": "coroutine", "generator": "generator", "asyncgen": "asyncgen", "closure": "closure",
    "wrapped": "wrapped", "inside the wrapper": "wrapped", "cached": "cached", "builtin": "builtin", "partial": "part",
    "method": "Api.method", "classmethod": "Api.cm", "staticmethod": "Api.sm", "async method": "Api.amethod",
    "an object's method": "api.method", "an object's own function": "api.own", "callable object": "caller",
}  # fmt: skip


class Holder:
    pass


class Slotted:
    __slots__ = ("f",)


class Pair(NamedTuple):
    name: str
    f: object


def _object(f):
    holder = Holder()
    holder.f = f
    return lambda n: holder.f(n)


def _slot(f):
    holder = Slotted()
    holder.f = f
    return lambda n: holder.f(n)


def _dict(f):
    table = {"f": f}
    return lambda n: table["f"](n)


def _list(f):
    table = [f]
    return lambda n: table[0](n)


def _deque(f):
    table = collections.deque([f])
    return lambda n: table[0](n)


def _set(f):
    table = {f}
    return lambda n: next(iter(table))(n)


def _tuple(f):
    table = {"f": ("f", ("deep", f))}
    return lambda n: table["f"][1][1](n)


def _named_tuple(f):
    table = [Pair("f", f)]
    return lambda n: table[0].f(n)


def _default(f):
    def default(n, g=f):
        return g(n)

    return default


def _keyword_default(f):
    def default(n, *, g=f):
        return g(n)

    return default


def _partial(f):
    return functools.partial(f)


def _argument(f):
    return functools.partial(lambda g, n: g(n), f)


def _class(f):
    kept = staticmethod(f) if hasattr(type(f), "__get__") else f
    owner = type("Owner", (), {"f": kept})
    return lambda n: owner().f(n)


def _closure(f):
    return lambda n: f(n)


PLACES = {
    "object": _object, "slot": _slot, "dict": _dict, "list": _list, "deque": _deque, "set": _set, "tuple": _tuple,
    "named tuple": _named_tuple, "default": _default, "keyword default": _keyword_default, "partial": _partial,
    "argument of a partial": _argument, "class attribute": _class, "closure": _closure,
}  # fmt: skip


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"kept{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    OUTSIDE.undo()
    sys.modules.pop(name, None)


def found(module, kind):
    if kind == "inside the wrapper":
        return module.wrapped.__wrapped__
    path = KINDS[kind].replace("Api.", "api.")
    return functools.reduce(getattr, path.split("."), module)


def outcome(result):
    """What a call of any kind gives in the end."""
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    if inspect.isgenerator(result):
        return next(result)
    if inspect.isasyncgen(result):

        async def collect():
            return [item async for item in result]

        return asyncio.run(collect())[0]
    return result


def recorded_calls(tmp_path, function):
    with agent_tt.record("test", store=tmp_path / "runs.db") as run:
        function()
    with closing(open_store(tmp_path / "runs.db")) as store:
        return [call for step in store.steps(run.id) for call in store.calls(run.id, step.number)]


@pytest.mark.parametrize("kind", KINDS)
def test_who_kept_a_function_before_it_was_named_is_recorded_too(module, tmp_path, recwarn, kind):
    places = {name: keep for name, keep in PLACES.items() if (kind, name) != ("partial", "partial")}  # it is copied
    kept = {name: keep(found(module, kind)) for name, keep in places.items()}
    sign = -1 if kind == "builtin" else 1
    assert {name: outcome(keep(3)) for name, keep in kept.items()} == dict.fromkeys(kept, 3 * sign)
    agent_tt.register(f"{module.__name__}.{KINDS[kind]}", effect="write")
    assert [str(warning.message) for warning in recwarn if warning.category is UnrecordedCalls] == []
    results = {}

    def use():
        for number, (name, keep) in enumerate(kept.items()):
            results[name] = outcome(keep(number))

    calls = recorded_calls(tmp_path, use)
    assert results == {name: number * sign for number, name in enumerate(kept)}
    assert [call.effect for call in calls] == ["write"] * len(kept), results
    OUTSIDE.undo()
    assert recorded_calls(tmp_path, use) == []


NATURES = [
    inspect.isfunction, inspect.ismethod, inspect.iscoroutinefunction, inspect.isgeneratorfunction,
    inspect.isasyncgenfunction, inspect.isbuiltin, inspect.isroutine, callable, inspect.signature,
    asyncio.iscoroutinefunction, type, inspect.getsource, inspect.getdoc, repr,
]  # fmt: skip


def nature(value):
    shown = []
    for ask in NATURES:
        try:
            shown.append(str(ask(value)))
        except (TypeError, OSError, ValueError) as error:
            shown.append(type(error).__name__)
    return shown


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("builtin", "partial", "cached")])
def test_a_function_that_is_redirected_stays_what_it_was(module, kind):
    before = found(module, kind)
    expected = nature(before)
    agent_tt.register(f"{module.__name__}.{KINDS[kind]}", effect="write")
    after = found(module, kind)
    assert after == before
    assert nature(after) == expected


def test_defaults_keywords_and_wrong_arguments_go_through(module, tmp_path):
    agent_tt.register(f"{module.__name__}.sync", effect="write")
    (call,) = recorded_calls(tmp_path, lambda: module.sync(1, 2, 3, extra=4, other=5))
    assert call.args == {"n": 1, "rest": [2, 3], "extra": 4, "more": {"other": 5}}
    with pytest.raises(TypeError, match=r"sync\(\) missing 1 required positional argument: 'n'"):
        module.sync()
    module.sync.__kwdefaults__["extra"] = 9
    (call,) = recorded_calls(tmp_path, lambda: module.sync(1))
    assert call.args == {"n": 1, "rest": [], "extra": 9, "more": {}}


def test_it_can_be_pickled_and_its_errors_point_into_its_source(module, tmp_path):
    (tmp_path / "broken.py").write_text("def fail(n):\n    raise ValueError(n)\n")
    broken = importlib.import_module("broken")
    agent_tt.register("broken.fail", effect="write")
    assert pickle.loads(pickle.dumps(broken.fail)) is broken.fail
    with pytest.raises(ValueError, match="1") as raised:
        broken.fail(1)
    assert traceback.extract_tb(raised.value.__traceback__)[-1].line == "raise ValueError(n)"
    sys.modules.pop("broken")


def test_only_the_object_that_is_named_is_recorded(module, tmp_path):
    agent_tt.register(f"{module.__name__}.caller", effect="write")
    agent_tt.register(f"{module.__name__}.api.method", effect="write")
    calls = recorded_calls(
        tmp_path, lambda: (module.caller(1), module.other(2), module.api.method(3), module.Api().method(4))
    )
    assert [(call.name, call.args) for call in calls] == [("caller", {"n": 1}), ("api.method", {"n": 3})]


def test_a_decorator_that_kept_what_it_was_given_makes_one_call_and_not_two(module, tmp_path):
    inner = module.wrapped.__wrapped__
    agent_tt.register(f"{module.__name__}.wrapped", effect="write")
    calls = recorded_calls(tmp_path, lambda: (module.wrapped(1), inner(2)))
    assert [call.args for call in calls] == [{"n": 1}, {"n": 2}]


def test_a_generator_can_be_sent_to_and_gives_its_value(module, tmp_path):
    agent_tt.register(f"{module.__name__}.generator", effect="write")

    def use():
        made = module.generator(1)
        assert next(made) == 1
        with pytest.raises(StopIteration) as stop:
            made.send("x")
        assert stop.value.value == "x"

    assert len(recorded_calls(tmp_path, use)) == 1


def test_what_keeps_a_c_function_where_it_cannot_be_replaced_is_told(module):
    kept = map(module.builtin, [1, 2])  # an object of the interpreter's own
    with pytest.warns(UnrecordedCalls, match="is also held by a map"):
        agent_tt.register(f"{module.__name__}.builtin", effect="write")
    assert next(kept) == -1


SCRIPT = """
import asyncio, functools, json, sys
kept = []
def keep(f):
    kept.append((f.__name__, f))
    return f
def write(word):
    with open("written.log", "a") as file: file.write(word + "\\n")
@keep
def sync(n): write("sync"); return n
@keep
async def coroutine(n): write("coroutine"); return n
@keep
def generator(n): write("generator"); yield n
@keep
async def asyncgen(n): write("asyncgen"); yield n
class Api:
    def method(self, n): write("method"); return n
    @classmethod
    def cm(cls, n): write("cm"); return n
    @staticmethod
    def sm(n): write("sm"); return n
class Caller:
    def __call__(self, n): write("caller"); return n
api = Api()
for f in (api.method, Api.cm, api.sm): kept.append((f.__name__, f))
caller = Caller()
kept.append(("caller", caller))
async def collect(f): return [item async for item in f(1)]
def main():
    out = {}
    for name, f in kept:
        try:
            if name == "coroutine": out[name] = asyncio.run(f(1))
            elif name == "generator": out[name] = list(f(1))
            elif name == "asyncgen": out[name] = asyncio.run(collect(f))
            else: out[name] = f(1)
        except Exception as error:
            out[name] = type(error).__name__
    print(json.dumps(out))
main()
"""
NAMED = ["sync", "coroutine", "generator", "asyncgen", "Api.method", "Api.cm", "Api.sm", "caller"]


def test_a_replay_gives_what_was_kept_its_answer_and_a_fork_denies_it(project):
    project.write(kept=SCRIPT)
    options = ["--name", "kept", *itertools.chain.from_iterable(("--call", f"__main__.{name}=write") for name in NAMED)]
    bare = project.bare("kept.py")
    log = project.folder / "written.log"
    assert len(log.read_text().split()) == len(NAMED)
    assert project.record("kept.py", options=options).out == bare.out
    written = log.read_text()
    (run,) = project.runs()
    assert [call.name for call in project.calls(run)] == NAMED
    replayed = project.agent_tt("replay", "kept", "--json")
    assert (replayed.code, json.loads(replayed.out)["output"]) == (0, bare.out)
    assert log.read_text() == written
    forked = project.agent_tt("fork", "kept", "--at", "0", "--json")
    assert log.read_text() == written, forked
    fork = project.runs()[-1]
    assert [call.status for call in project.calls(fork)] == ["denied"] * len(NAMED)


UNCALLED = """
import httpx
def charge(n): return n
def refund(n): return n
def main(): print(charge(1))
main()
"""


def test_a_path_that_matched_no_call_is_told_kept_and_a_reservation_of_the_replay(project):
    project.write(shop=UNCALLED, helper="def never(): pass\n")
    options = []
    for path in ("__main__.charge", "__main__.refund", "helper.never"):
        options += ["--call", f"{path}=write"]
    told = project.record("shop.py", options=options).told
    (run,) = project.runs()
    assert "__main__.refund matched no call" in told
    assert "helper.never matched no call" in told
    assert "__main__.charge" not in told
    assert run.metadata["calls_unmatched"] == ["__main__.refund", "helper.never"]
    notes = json.loads(project.agent_tt("replay", "latest", "--json").out)["notes"]
    assert [note["text"] for note in notes if note["kind"] == "call not matched"] == [
        "__main__.refund was named to be recorded, and no call of it was made",
        "helper.never was named to be recorded, and no call of it was made",
    ]
    plan = json.loads(project.agent_tt("fork", "latest", "--at", "0", "--dry-run", "--json").out)
    rows = {row["name"]: (row["effect"], row["seen"], row["policy"], row["known_by"]) for row in plan["boundary"]}
    assert rows["refund"] == ("write", 0, "deny", "named")
    assert rows["charge"] == ("write", 1, "deny", "called")


HELD = """
import os as first
kept = map(first.mkdir, ["made"])
import os
def main():
    os.mkdir("first")
    list(kept)
main()
"""


def test_a_write_that_cannot_be_held_is_told_and_neither_a_replay_nor_a_fork_runs_it(project):
    project.write(held=HELD)
    done = project.record("held.py", options=["--call", "__main__.os.mkdir=write"])
    assert (project.folder / "made").is_dir(), done
    assert "is also held by a map" in done.told
    (run,) = project.runs()
    assert list(run.metadata["calls_held"]) == ["__main__.os.mkdir"]
    (project.folder / "made").rmdir()
    (project.folder / "first").rmdir()
    replayed = project.agent_tt("replay", "latest")
    assert replayed.code == 2
    assert "is also held by a map" in replayed.err + replayed.told
    forked = project.agent_tt("fork", "latest", "--at", "0")
    assert forked.code == 2
    assert not (project.folder / "made").exists()


OWN = """
import agent_tt
def charge(n):
    with open("written.log", "a") as file: file.write("charge\\n")
    return n
def main(state=None):
    state = state or {"n": 0}
    with agent_tt.record("own", state=state) as run:
        for _ in range(2):
            with run.step("turn", state):
                state["n"] += charge(1)
    return state
if __name__ == "__main__": main()
"""


def test_what_was_named_is_held_in_a_program_that_records_itself_too(project):
    project.write(own=OWN)
    assert project.record("own.py", options=["--call", "__main__.charge=write"]).code == 0
    log = project.folder / "written.log"
    run = next(run for run in project.runs() if run.name == "own")
    assert run.metadata["calls"] == {"__main__.charge": "write"}
    assert [call.name for call in project.calls(run)] == ["charge", "charge"]
    assert project.agent_tt("replay", run.id).code == 0
    project.agent_tt("fork", run.id, "--at", "1")
    assert log.read_text() == "charge\n" * 2
    assert project.agent_tt("fork", run.id, "--at", "1", "--allow", "charge").code == 0
    assert log.read_text() == "charge\n" * 4  # its loop goes round twice
