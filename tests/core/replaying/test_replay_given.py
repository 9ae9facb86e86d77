"""Answers given by hand for dotted paths, and what is looked at before a replay."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest

from agent_tt.errors import UsageError
from agent_tt.replaying import given, in_order
from agent_tt.replaying.preflight import preflight
from agent_tt.store import open_store

API = """
class Client:
    def charge(self, amount):
        return ("real", amount)

    @staticmethod
    def tax(amount):
        return "real"


def charge(amount):
    return ("real", amount)


async def charge_later(amount):
    return ("real", amount)


RATE = 3
"""


@pytest.fixture
def api(tmp_path, monkeypatch):
    (tmp_path / "given_api.py").write_text(API)
    (tmp_path / "given_app.py").write_text("from given_api import charge as pay, Client\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import given_api
    import given_app

    yield given_api, given_app
    for name in ("given_api", "given_app"):
        del sys.modules[name]


def test_a_function_gives_the_answer_under_every_name(api):
    module, app = api
    with given({"given_api.charge": {"id": 7}}):
        assert module.charge(1) == app.pay(2) == {"id": 7}
    assert module.charge(1) == app.pay(1) == ("real", 1)
    assert app.pay is module.charge


async def test_async_functions_methods_and_errors(api):
    module, app = api
    answers = {
        "given_api.charge_later": "later",
        "given_api.Client.charge": lambda self, amount: amount * 2,
        "given_api.Client.tax": 19,
        "given_api.charge": OSError(5, "no"),
    }
    with given(answers):
        assert await module.charge_later(1) == "later"
        assert app.Client().charge(4) == 8
        assert app.Client.tax(1) == app.Client().tax(1) == 19
        with pytest.raises(OSError, match="no"):
            app.pay(1)
    assert await module.charge_later(1) == ("real", 1)
    assert app.Client().charge(4) == ("real", 4)
    assert app.Client().tax(1) == "real"


@pytest.mark.parametrize(
    "path", ["given_api.nothing", "given_api.RATE", "no_such_package.f", "charge", "given_api.X.y"]
)
def test_what_leads_nowhere_is_refused(api, path):
    with pytest.raises(UsageError), given({path: 1}):
        raise AssertionError("unreachable")


AGENT = """
import agent_tt
import agent_parts

@agent_tt.llm
def think(text): return text

@agent_tt.tool(effect="write", name="pay-out")
def pay(amount): return amount

@agent_tt.tool
def never(): ...

def main(state=None):
    with agent_tt.record("agent", state={"a": 1}) as run:
        with run.step("one"): think("x")
        with run.step("two"):
            think("y"); pay(3)
            try: agent_parts.fails()
            except OSError: pass
"""
PARTS = """
import agent_tt

@agent_tt.tool(effect="read")
def fails(): raise OSError("no")

@agent_tt.tool(effect="read")
def unused(): ...
"""


def test_the_preflight_says_what_there_are_answers_for(tmp_path, monkeypatch):
    (tmp_path / "agent_whole.py").write_text(AGENT)
    (tmp_path / "agent_parts.py").write_text(PARTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    import agent_whole

    agent_whole.main()
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as store:
        plan = preflight(store, store.run("latest"), from_step=1)
    rows = [(row.name, row.kind, row.recorded, row.from_here, row.results, row.errors) for row in plan.answers]
    assert rows == [("pay-out", "tool", 1, 1, 1, 0), ("think", "llm", 2, 1, 2, 0), ("fails", "tool", 1, 1, 0, 1)]
    assert sorted(plan.without) == ["tool never", "tool unused"]
    assert plan.problems == ()
    assert plan.to_json()["answers"][0]["name"] == "pay-out"
    for name in ("agent_whole", "agent_parts"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("given_api.chrage", "given_api.charge"),
        ("given_api.Client.chrge", "given_api.Client.charge"),
        ("given_api.Cleint.charge", "given_api.Client.charge"),
        ("given_apii.charge", "given_api.charge"),
    ],
)
def test_the_nearest_names_are_offered_for_one_that_leads_nowhere(api, path, near):
    with pytest.raises(UsageError, match="leads to no function") as refused, given({path: 1}):
        pass
    assert near in refused.value.hint


def test_answers_in_order_are_given_one_for_each_call_and_no_more(api):
    module, app = api
    with given({"given_api.charge": in_order(1, OSError(5, "no"), lambda amount: amount + 1, [4])}):
        assert module.charge(0) == 1
        with pytest.raises(OSError, match="no"):
            app.pay(0)
        assert module.charge(2) == 3
        assert module.charge(0) == [4]
        with pytest.raises(UsageError, match="4 answers in order, and is called once more"):
            module.charge(0)


async def test_any_iterator_gives_answers_in_order_and_a_list_is_a_value(api):
    module, _ = api
    with given({"given_api.charge_later": iter(["a", "b"]), "given_api.charge": [1, 2]}):
        assert [await module.charge_later(0), await module.charge_later(0)] == ["a", "b"]
        assert module.charge(0) == module.charge(0) == [1, 2]
