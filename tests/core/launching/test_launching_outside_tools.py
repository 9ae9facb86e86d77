"""Functions recorded by dotted path, in this process: found, replaced wherever they are, and put back."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import itertools
import os
import sys
import textwrap
from contextlib import closing

import pytest

import agent_tt
from agent_tt.errors import NotFound, UsageError
from agent_tt.launching.tools.outside_tools import OUTSIDE
from agent_tt.store import open_store

SHOP = """
import functools
import pydantic

def charge(order_id, amount=1, *, tag=None): return ("charged", order_id, amount)
async def acharge(order_id): return ("a", order_id)
def pages(n):
    got = yield 0
    for i in range(n): got = yield (i, got)
    return "end"
async def apages(n):
    for i in range(n): yield i
class Base:
    def inherited(self, q): return ("base", q)
class Api(Base):
    def call(self, q): return ("m", q)
    @classmethod
    def cm(cls, q): return ("cm", cls.__name__, q)
    @staticmethod
    def sm(q): return ("sm", q)
    async def acall(self, q): return ("am", q)
    def __call__(self, q): return ("dunder", q)
    @property
    def prop(self): return 1
class Made:
    def __init__(self): self.n = 0
class Slotted:
    __slots__ = ()
    def call(self, q): return q
class Model(pydantic.BaseModel):
    name: str = "m"
    def invoke(self, q): return (self.name, q)
client = Api()
slotted = Slotted()
model = Model()
LIMIT = 3
"""
USER = """
from {shop} import charge, client
def plain(): return charge("1")
TABLE = {{"c": charge}}
def table(): return TABLE["c"]("1")
def default(f=charge): return f("1")
"""
NUMBERS = itertools.count()


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The name of a module that nobody has imported yet; `NAME_user` uses it."""
    name = f"shop{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(SHOP)
    (tmp_path / f"{name}_user.py").write_text(textwrap.dedent(USER.format(shop=name)))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    for loaded in (name, f"{name}_user"):
        sys.modules.pop(loaded, None)


@pytest.fixture
def recorded(tmp_path):
    """Run something in a recording; gives the calls as `(kind, name, effect, args)`."""

    def record(function):
        with agent_tt.record("test", store=tmp_path / "runs.db") as run:
            function()
        with closing(open_store(tmp_path / "runs.db")) as store:
            steps = store.steps(run.id)
            return [call for step in steps for call in store.calls(run.id, step.number)]

    return record


def asked(calls):
    return [(call.name, call.args) for call in calls]


CHARGE = ("charge", {"order_id": "1", "amount": 1, "tag": None})


def test_a_function_that_is_registered_before_its_module_loads_is_recorded_whoever_calls_it(shop, recorded):
    agent_tt.register(f"{shop}.charge", effect="write")
    assert shop not in sys.modules
    module, user = importlib.import_module(shop), importlib.import_module(f"{shop}_user")
    calls = recorded(
        lambda: (module.charge("1"), module.charge(order_id="1"), user.plain(), user.table(), user.default())
    )
    assert asked(calls) == [CHARGE] * 5
    assert len({call.signature for call in calls}) == 1
    assert {call.effect for call in calls} == {"write"}


def test_a_function_that_is_registered_later_is_recorded_whoever_kept_it(shop, recorded):
    module, user = importlib.import_module(shop), importlib.import_module(f"{shop}_user")
    agent_tt.register(f"{shop}.charge", effect="read")
    calls = recorded(lambda: (module.charge("1"), user.plain(), user.table(), user.default()))
    assert asked(calls) == [CHARGE] * 4


def test_a_bound_method_that_was_kept_before_is_recorded(shop, recorded):
    module = importlib.import_module(shop)
    kept = module.client.call
    agent_tt.register(f"{shop}.Api.call", effect="read")
    assert asked(recorded(lambda: kept("q"))) == [("Api.call", {"q": "q"})]


def test_functions_of_the_standard_library_are_recorded_where_the_program_calls_them(recorded):
    """The recorder itself calls them too, while it records."""
    agent_tt.register("os.path.exists", effect="read")
    (call,) = recorded(lambda: os.path.exists("/"))  # noqa: PTH110  it is what is registered
    assert (call.name, call.result) == ("exists", True)


def test_everything_that_can_be_called(shop, recorded):
    names = ["acharge", "pages", "apages", "Api.call", "Api.cm", "Api.sm", "Api.acall", "Api.__call__", "Api.inherited"]
    for name in names:
        agent_tt.register(f"{shop}.{name}", effect="read")
    agent_tt.register(f"{shop}.model.invoke", effect="llm")
    m = importlib.import_module(shop)

    def use():
        assert list(m.pages(2)) == [0, (0, None), (1, None)]
        assert m.client.call("q") == ("m", "q")
        assert m.Api.cm("q") == m.client.cm("q") == ("cm", "Api", "q")
        assert m.Api.sm("q") == ("sm", "q")
        assert m.client("q") == ("dunder", "q")
        assert m.client.inherited("q") == ("base", "q")
        assert m.Base().inherited("q") == ("base", "q")  # not named: another class's
        assert m.model.invoke("q") == ("m", "q")
        assert m.Model().invoke("q") == ("m", "q")  # not named: another object

        async def later():
            assert await m.acharge("1") == ("a", "1")
            assert await m.client.acall("q") == ("am", "q")
            assert [page async for page in m.apages(2)] == [0, 1]

        asyncio.run(later())

    assert [(call.kind, call.name, call.args) for call in recorded(use)] == [
        ("tool", "pages", {"n": 2}),
        ("tool", "Api.call", {"q": "q"}),
        ("tool", "Api.cm", {"q": "q"}),
        ("tool", "Api.cm", {"q": "q"}),
        ("tool", "Api.sm", {"q": "q"}),
        ("tool", "Api.__call__", {"q": "q"}),
        ("tool", "Api.inherited", {"q": "q"}),
        ("llm", "model.invoke", {"q": "q"}),
        ("tool", "acharge", {"order_id": "1"}),
        ("tool", "Api.acall", {"q": "q"}),
        ("tool", "apages", {"n": 2}),
    ]
    assert inspect.isgeneratorfunction(m.pages)
    assert inspect.isasyncgenfunction(m.apages)
    assert inspect.iscoroutinefunction(m.acharge)
    generator = m.pages(2)
    assert (next(generator), generator.send("x")) == (0, (0, "x"))


def test_everything_is_put_back(shop):
    m = importlib.import_module(shop)

    def functions():
        owners = [vars(owner) for owner in (m, m.Base, m.Api, m.Model)]
        plain = [getattr(f, "__func__", f) for owner in owners for f in owner.values()]
        return [(f, f.__code__) for f in plain if inspect.isfunction(f)]

    before, names = functions(), {name: id(value) for name, value in vars(m).items()}
    for name in ("charge", "Api.cm", "Api.inherited", "client.call", "model.invoke", "client.__call__"):
        agent_tt.register(f"{shop}.{name}", effect="read")
    changed = [was.__name__ for (was, then), (_, now) in zip(before, functions(), strict=True) if now is not then]
    assert changed == ["charge", "inherited", "call", "cm", "__call__", "invoke"]
    assert {name: id(value) for name, value in vars(m).items()} == names
    OUTSIDE.undo()
    assert all(now is then for (_, then), (_, now) in zip(before, functions(), strict=True))


def test_a_function_itself_can_be_given(shop, recorded):
    m, user = importlib.import_module(shop), importlib.import_module(f"{shop}_user")
    agent_tt.register(m.charge, effect="read", name="pay")
    assert [call.name for call in recorded(lambda: (m.charge("1"), user.plain()))] == ["pay", "pay"]


def test_registered_twice_or_marked_already_it_is_recorded_once(shop, recorded):
    m = importlib.import_module(shop)
    m.marked = agent_tt.tool(effect="read")(lambda x: x)
    for _ in range(2):
        agent_tt.register(f"{shop}.acharge", effect="read")
        agent_tt.register(f"{shop}.client.call", effect="read")
        agent_tt.register(f"{shop}.marked", effect="read")
    calls = recorded(lambda: (asyncio.run(m.acharge("1")), m.client.call("q"), m.marked(1)))
    assert [call.name for call in calls] == ["acharge", "client.call", "<lambda>"]


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("chrge", NotFound, "has no 'chrge'"),
        ("Api.cal", NotFound, "Api has no 'cal'"),
        ("LIMIT", UsageError, "is a int, which cannot be called"),
        ("Api", UsageError, "is a class"),
        ("client", UsageError, "is a Api, which is more than a function"),
        ("Api.prop", UsageError, "is a property"),
        ("Made.__init__", UsageError, "makes objects"),
    ],
)
def test_what_leads_nowhere_or_cannot_be_called_is_an_error(shop, path, error, words, loaded):
    if loaded:
        importlib.import_module(shop)

    def register():
        agent_tt.register(f"{shop}.{path}", effect="read")
        importlib.import_module(shop)  # what the source did not tell is told at the latest now

    # A class whose bases are not known has names that its source does not say.
    with pytest.raises(error, match=words) as raised:
        register()
    if path == "chrge":
        assert raised.value.nearest[0] == f"{shop}.charge"


@pytest.mark.parametrize(
    ("path", "error"), [("nomod.f", NotFound), ("single", UsageError), ("a..b", UsageError), ("os.path.jion", NotFound)]
)
def test_paths_that_make_no_sense(path, error):
    with pytest.raises(error):
        agent_tt.register(path, effect="read")


def test_an_effect_is_one_of_three():
    with pytest.raises(UsageError, match="'send' is not an effect"):
        agent_tt.register("os.path.join", effect="send")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source",
    [
        "def __getattr__(name): return len",
        "from os.path import *",
        "globals()['f'] = len",
        "exec('f = len')",
        "if True:\n    try:\n        f = len\n    except ValueError: pass",
        "for f in [len]: pass",
        "(f := len)",
        "import os.path as f",
        "with open(__file__) as g, open(__file__) as f: pass\nf = len",
    ],
)
def test_names_that_a_module_binds_in_odd_ways_are_found(tmp_path, monkeypatch, source):
    name = f"odd{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    agent_tt.register(f"{name}.f", effect="read")


def test_packages_are_not_imported_to_look_into_them(tmp_path, monkeypatch):
    name = f"pack{next(NUMBERS)}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / name / "api.py").write_text("def f(): pass")
    monkeypatch.syspath_prepend(str(tmp_path))
    agent_tt.register(f"{name}.api.f", effect="read")
    with pytest.raises(NotFound, match="has no 'g'"):
        agent_tt.register(f"{name}.api.g", effect="read")
