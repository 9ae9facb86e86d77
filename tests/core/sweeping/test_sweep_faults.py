"""Each tool answers wrongly in turn; what the agent does with it is said no further than it is known."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.core.agent_folder import DID, AgentFolder

from agent_tt.errors import InvalidExpression, NotFound
from agent_tt.forking.request import ForkRequest
from agent_tt.model import NewRun
from agent_tt.store import open_store
from agent_tt.sweeping.faults import faults_of, try_faults

pytestmark = pytest.mark.warm

SHOP = (
    DID
    + """
import sys
import agent_tt

@agent_tt.tool(effect="read")
def look_up(order):
    did("look")
    return {"order": order, "price": {"K-1001": 59.9, "K-2002": 88.5}[order]}

@agent_tt.tool(effect="write")
def charge(amount):
    did("charge")
    return {"paid": amount}

state = {"answer": None}
with agent_tt.record("shop", state=state) as run:
    with run.step("look", state):
        first = look_up(sys.argv[1])
    with run.step("pay", state):
        FIRST
        charge(first["price"])
        state["answer"] = "Thank you."
"""
)


@pytest.fixture
def shop(tmp_path):
    def recorded(first: str = "pass") -> AgentFolder:
        folder = AgentFolder(tmp_path)
        folder.write(SHOP.replace("FIRST", first))
        folder.run("agent.py", "K-2002")
        folder.run("agent.py", "K-1001")
        return folder

    return recorded


def reactions(folder: AgentFolder, expect: str | None = None, **about) -> dict[tuple[str, str], tuple]:
    with closing(open_store(folder.store_path)) as store:
        run = store.run("shop")
        tried = list(try_faults(store, run, ForkRequest(**about), faults_of(store, run), expect=expect))
    return {(each.fault.call.name, each.fault.kind): (each.reaction, each.how) for each in tried}


def test_faults_are_noticed_passed_on_or_unknown_and_what_writes_is_held(shop):
    folder = shop()
    found = reactions(folder)
    assert {key: reaction for key, (reaction, _) in found.items()} == {
        ("look_up", "nothing"): "noticed",
        ("look_up", "error"): "noticed",
        ("look_up", "cut"): "passed on",
        ("look_up", "stale"): None,
        ("look_up", "foreign"): "passed on",
        ("charge", "nothing"): "passed on",
        ("charge", "error"): "noticed",
        ("charge", "cut"): None,
        ("charge", "stale"): None,
        ("charge", "foreign"): "passed on",
    }
    assert "TypeError" in found["look_up", "nothing"][1]
    assert 'charge with "88.5"' in found["look_up", "foreign"][1]
    assert "asks and answers the same" in found["charge", "nothing"][1]
    assert folder.done().count("charge") == 2


def test_who_asks_again_has_noticed_and_who_does_otherwise_may_not_have(shop):
    again = shop("first = first or look_up(sys.argv[1])")
    assert reactions(again)["look_up", "nothing"] == ("noticed", "it asks look_up again")


def test_who_asks_again_without_a_fault_too_has_not_noticed(shop):
    folder = shop('first["price"] if first else None; look_up("K-2002") if first else None; look_up(sys.argv[1])')
    folder.write((folder.folder / "agent.py").read_text().replace('charge(first["price"])', "charge(59.9)"))
    reaction, how = reactions(folder)["look_up", "nothing"]
    assert (reaction, how.partition("(")[0]) == ("unknown", "it asks otherwise: look_up")


def test_a_program_that_only_the_fault_starts_is_not_passed_over(shop):
    folder = shop('import subprocess; first or subprocess.run(["true"]); first = first or {"price": 59.9}')
    reaction, how = reactions(folder, allow=("subprocess *",))["look_up", "nothing"]
    assert reaction == "unknown"
    assert "it asks otherwise" in how


def test_another_final_answer_is_unknown_until_somebody_says_what_it_is_to_say(shop):
    careful = 'first = first if first else {"price": 59.9, "sorry": state.update(answer="Sorry.")}'
    folder = shop(careful.replace("first = ", "first = ") + '; note = "Sorry." if "sorry" in first else "Thank you."')
    folder.write((folder.folder / "agent.py").read_text().replace('= "Thank you."\n', "= note\n"))
    assert reactions(folder)["look_up", "nothing"] == ("unknown", 'another final answer: "Sorry."')
    hoped = reactions(folder, '"Sorry" in state.answer')
    assert hoped["look_up", "nothing"][0] == "noticed"
    assert hoped["look_up", "cut"][0] == "passed on"


def test_a_run_that_ends_otherwise_without_any_fault_lets_nothing_be_said(shop):
    folder = shop()
    folder.write((folder.folder / "agent.py").read_text().replace('"Thank you."', 'nowhere["x"]'))
    found = reactions(folder)
    assert {reaction for reaction, _ in found.values()} == {"unknown", None}
    assert "does not end as recorded" in found["look_up", "error"][1]


def test_a_run_without_tools_and_an_expectation_that_cannot_be_read_are_refused(shop, tmp_path):
    folder = shop()
    with closing(open_store(folder.store_path)) as store:
        writer = store.begin_run(NewRun(name="bare"), {})
        writer.finish("succeeded")
        with pytest.raises(NotFound, match="no tool of bare"):
            faults_of(store, store.run("bare"))
    with pytest.raises(InvalidExpression):
        reactions(folder, "paid ==")
