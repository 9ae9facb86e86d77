"""Forks of small agents that really run again: what they get, what they do, and what is written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import agent_tt
from agent_tt.codec.encode import encode
from agent_tt.errors import InvalidEntryPoint
from agent_tt.model import Edit

if TYPE_CHECKING:
    from conftest import Project

pytestmark = pytest.mark.warm

TRIP = """
import os
import agent_tt

MOVES = ("look", "book", "pay")

@agent_tt.tool(effect="read")
def look(city): return {"city": city, "price": 10 * len(city)}

@agent_tt.tool(effect="write")
def book(city): return ledger("book " + city)

@agent_tt.tool(effect="write")
def pay(city): return ledger("pay " + city)

def ledger(line):
    with open(os.path.join(os.path.dirname(__file__), "ledger"), "a") as file:
        file.write(line + "\\n")
    return line

def main(state=None):
    state = state or {"city": "Rome", "log": []}
    with agent_tt.record("trip", state=state, version="1") as run:
        while len(state["log"]) < len(MOVES):
            move = MOVES[len(state["log"])]
            with run.step(move, state):
                try:
                    result = globals()[move](state["city"])
                except agent_tt.AgentTTError as error:
                    result = str(error)
                state["log"].append(result)

def hurry(state=None):
    with agent_tt.record("trip", state=state, version="2") as run:
        with run.step("give up", state):
            state["log"].append("home")
"""


@pytest.fixture
def trip(project: Project) -> agent_tt.model.Run:
    project.put("trip.py", TRIP)
    return project.record("-c", "import trip; trip.main()")


def ledger(project: Project) -> list[str]:
    return (project.folder / "ledger").read_text().splitlines()


def rows_of(project: Project, run_id: str) -> list[object]:
    """Every row that belongs to one run, as it lies in the file."""
    with closing(sqlite3.connect(project.store_path)) as connection:
        run = connection.execute("SELECT run FROM runs WHERE id = ?", (run_id,)).fetchone()[0]
        tracks = [row[0] for row in connection.execute("SELECT track FROM tracks WHERE run = ?", (run,))]
        rows: list[object] = []
        for table in ("runs", "steps", "calls", "tracks"):
            rows += connection.execute(f"SELECT * FROM {table} WHERE run = ? ORDER BY 1, 2, 3", (run,)).fetchall()
        for track in tracks:
            for table in ("deltas", "keyframes"):
                rows += connection.execute(f"SELECT * FROM {table} WHERE id >> 32 = ? ORDER BY id", (track,)).fetchall()
        return rows


def test_an_edited_state_changes_what_the_agent_does_and_the_parent_stays_as_it_was(
    project: Project, trip: agent_tt.model.Run
) -> None:
    before = rows_of(project, trip.id)
    run = project.fork(trip, 0, edits=[Edit("set", "city", "Oslo")]).result()
    assert (run.parent, run.fork_step, run.status, run.steps) == (trip.id, 0, "succeeded", 3)
    assert run.name == "trip/fork-1"
    assert run.edits == (Edit("set", "city", "Oslo", old="Rome"),)
    assert project.store.calls(run.id, 1)[0].args == {"city": "Oslo"}
    assert project.store.state(run.id, 0) == {"city": "Oslo", "log": []}
    assert rows_of(project, trip.id) == before


def test_steps_before_the_fork_are_kept_and_not_run_again(project: Project, trip: agent_tt.model.Run) -> None:
    run = project.fork(trip, 1).result()
    steps = project.store.steps(run.id)
    assert [step.name for step in steps] == ["look", "book", "pay"]
    assert [step.inherited for step in steps] == [True, False, False]
    assert project.store.digest(run.id, 1) == project.store.digest(trip.id, 1)


def test_tools_that_write_are_denied_and_the_agent_and_the_timeline_see_it(
    project: Project, trip: agent_tt.model.Run
) -> None:
    written = ledger(project)
    run = project.fork(trip, 0).result()
    assert ledger(project) == written
    assert [project.store.calls(run.id, step)[0].status for step in (1, 2, 3)] == ["ok", "denied", "denied"]
    final = project.store.state(run.id, 3)
    assert "--allow book" in str(final)


def test_an_allowed_tool_runs_exactly_once_a_call_and_only_it(project: Project, trip: agent_tt.model.Run) -> None:
    written = ledger(project)
    run = project.fork(trip, 0, allow=["book"]).result()
    assert ledger(project) == [*written, "book Rome"]
    assert [project.store.calls(run.id, step)[0].status for step in (1, 2, 3)] == ["ok", "ok", "denied"]


@pytest.mark.parametrize("agent", ["trip:hurry", "trip.py:hurry"])
def test_another_entry_point_can_take_over(project: Project, trip: agent_tt.model.Run, agent: str) -> None:
    run = project.fork(trip, 1, agent=agent).result()
    assert [step.name for step in project.store.steps(run.id)] == ["look", "give up"]
    assert run.agent == agent
    assert run.code.version == "2"
    assert project.plan(run, 1).code.changed is False


QUIET = """
import agent_tt

def main(state=None):
    with agent_tt.record("quiet", state=state or {"n": 0}, model={"model": "m-1", "top_p": 0.5}, user_id="ann") as run:
        with run.step("only"): pass

def second(state=None): return without_facts(state)

def without_facts(state):
    with agent_tt.record("quiet", state=state) as run:
        with run.step("only"): pass

if __name__ == "__main__":
    main()
"""


def test_a_fork_is_named_by_the_entry_point_that_was_asked_for_and_keeps_what_its_agent_does_not_say(
    project: Project,
) -> None:
    project.put("quiet.py", QUIET)
    parent = project.record("quiet.py")
    assert (parent.agent, project.fork(parent, 0).result().agent) == ("quiet.py:main", "quiet.py:main")
    run = project.fork(parent, 0, agent="quiet.py:second").result()
    assert run.agent == "quiet.py:second"
    assert (run.model, run.user_id, run.metadata) == (parent.model, "ann", {"model_parameters": {"top_p": 0.5}})
    assert project.fork(run, 0).result().agent == "quiet.py:second"


NESTED = """
import agent_tt

def main(state=None):
    state = state or {"log": []}
    with agent_tt.record("nested", state=state) as run:
        while len(state["log"]) < 6:
            with run.step("round", state):
                with run.step("look"): state["log"].append("look")
                state["log"].append("done")

if __name__ == "__main__":
    main()
"""


def test_a_fork_after_a_step_with_steps_inside_keeps_them_and_goes_on_from_its_end(project: Project) -> None:
    project.put("nested.py", NESTED)
    parent = project.record("nested.py")
    before = rows_of(project, parent.id)
    handle = project.fork(parent, 3, edits=[Edit("set", "log[0]", "edited")])
    run = handle.result()
    steps = project.store.steps(run.id)
    assert [(step.name, step.parent, step.inherited) for step in steps] == [
        ("round", None, True),
        ("look", 1, True),
        ("round", None, True),
        ("look", 3, True),
        ("round", None, False),
        ("look", 5, False),
    ]
    log = ["edited", "done", "look", "done"]
    assert [project.state(handle, step)["log"] for step in (4, 6, 5)] == [log, [*log, "look"], [*log, "look", "done"]]
    assert project.state(handle, 3) == project.store.state(parent.id, 3)
    assert project.store.verify(run.id) == []
    assert agent_tt.compare(parent.id, run.id, store=project.store_path).shared == 4
    assert project.fork(run, 5).result().steps == 6
    assert rows_of(project, parent.id) == before


def test_two_forks_run_at_once(project: Project, trip: agent_tt.model.Run) -> None:
    handles = [project.fork(trip, 1, edits=[Edit("set", "city", city)]) for city in ("Oslo", "Bern")]
    runs = [handle.result() for handle in handles]
    assert {run.name for run in runs} == {"trip/fork-1", "trip/fork-2"}
    for run, city in zip(runs, ("Oslo", "Bern"), strict=True):
        assert project.store.calls(run.id, 2)[0].args == {"city": city}


def test_a_fork_can_be_forked(project: Project, trip: agent_tt.model.Run) -> None:
    first = project.fork(trip, 1, edits=[Edit("set", "city", "Oslo")]).result()
    second = project.fork(first, 2, edits=[Edit("set", "city", "Bern")], allow=["pay"]).result()
    assert second.parent == first.id
    assert [step.name for step in project.store.steps(second.id)] == ["look", "book", "pay"]
    assert ledger(project)[-1] == "pay Bern"
    third = project.fork(
        second, 1, edits=[Edit("set", "city", "Graz")]
    ).result()  # a step that it shares with its parent
    assert project.store.state(third.id, 1)["city"] == "Graz"
    assert project.store.calls(third.id, 2)[0].args == {"city": "Graz"}


def test_the_documented_function_forks_by_name_and_python_values(project: Project, trip: agent_tt.model.Run) -> None:
    handle = agent_tt.fork("trip", "~2", {"city": "Oslo", "seen": (1, 2)}, store=project.store_path, name="to-oslo")
    project.handles.append(handle)
    run = handle.result()
    assert (run.name, run.fork_step) == ("to-oslo", 1)
    assert project.state(handle, 1)["seen"] == encode((1, 2))


def test_a_changed_file_runs_as_it_is_now_and_the_plan_says_so(project: Project, trip: agent_tt.model.Run) -> None:
    assert project.plan(trip, 1).code.changed is False
    project.put("trip.py", TRIP.replace('"pay")', '"pay", "look")'))
    plan = project.plan(trip, 1)
    assert plan.code.changed is True
    assert project.fork(trip, 1).result().steps == 4


SHAPES = """
import asyncio
import agent_tt

def once(name, state, kept=None):
    with agent_tt.record(name, state=state) as run:
        with run.step("only", state):
            state["seen"] = True

class Loads:
    def __init__(self): self.state = None
    def load_state(self, state): self.state = state
    def run(self): once("loads", self.state)

class Returns:
    def __init__(self, state): self.state = state
    @classmethod
    def load_state(cls, state): return cls(state)
    def run(self): once("returns", self.state)

class Attributes:
    def run(self): once("attributes", self.__dict__)

class Takes:
    def run(self, state=None): once("takes", state)

async def coroutine(state=None):
    async with agent_tt.record("coroutine", state=state) as run:
        async with run.step("only", state):
            await asyncio.sleep(0)
            state["seen"] = True

def generator(state=None):
    yield 1
    once("generator", state)
    yield 2

async def stream(state=None):
    yield 1
    once("stream", state)
    yield 2
"""


@pytest.mark.parametrize(
    "qualname",
    ["Loads.run", "Returns.run", "Attributes.run", "Takes.run", "coroutine", "generator", "stream"],
)
def test_agents_of_every_shape_get_their_state(project: Project, qualname: str) -> None:
    project.put("shapes.py", SHAPES)
    run = project.made(f"shapes:{qualname}", {"n": 1}, {"n": 2})
    handle = project.fork(run, 1, edits=[Edit("set", "n", 7)])
    assert handle.result().status == "succeeded", handle.output()
    assert project.state(handle, 2) == {"n": 7, "seen": True}


TYPED = """
import enum
from dataclasses import dataclass
import pydantic
import agent_tt
import helpers

class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"

@dataclass
class User:
    name: str
    mood: Mood

class Order(pydantic.BaseModel):
    id: int
    total: float = 0.0

def main(state=None):
    state = state or {"user": User("Ann", Mood.GOOD), "order": Order(id=1), "where": helpers.Place("x"), "n": 0}
    with agent_tt.record("typed", state=state) as run:
        while state["n"] < 2:
            with run.step("check", state):
                assert type(state["user"]) is User and type(state["user"].mood) is Mood
                assert type(state["order"]) is Order and state["order"].total == 0.0
                assert type(state["where"]) is helpers.Place
                state["n"] += 1

if __name__ == "__main__":
    main()
"""
HELPERS = """
from dataclasses import dataclass

@dataclass
class Place:
    name: str
"""


@pytest.mark.parametrize("how", [["-c", "import typed; typed.main()"], ["typed.py"]])
def test_typed_values_come_back_as_their_classes_and_stay_equal(project: Project, how: list[str]) -> None:
    project.put("typed.py", TYPED)
    project.put("helpers.py", HELPERS)
    run = project.record(*how)
    handle = project.fork(run, 1, edits=[Edit("set", "user.name", "Bo")])
    assert handle.result().status == "succeeded", handle.output()
    again = project.fork(run, 1).result()
    assert project.store.digest(again.id, 2) == project.store.digest(run.id, 2)


def test_a_script_in_a_package_keeps_its_relative_imports(project: Project) -> None:
    project.put("pkg/__init__.py", "")
    project.put("pkg/parts.py", "WORD = 'found'")
    project.put(
        "pkg/agent.py",
        "import agent_tt\nfrom .parts import WORD\n"
        "def main(state=None):\n"
        "    with agent_tt.record('a', state=state) as run:\n"
        "        with run.step('only', state):\n"
        "            state['word'] = WORD\n",
    )
    handle = project.fork(project.made("pkg/agent.py:main", {}), 0)
    handle.result()
    assert project.state(handle, 1) == {"word": "found"}


def test_a_script_named_like_a_standard_module_runs(project: Project) -> None:
    project.put(
        "types.py",
        "import agent_tt\ndef main(state=None):\n"
        "    with agent_tt.record('a', state=state) as run:\n"
        "        with run.step('only', state): pass\n",
    )
    assert project.fork(project.made(f"{project.folder}/types.py:main", {}), 0).result().steps == 1


def test_a_class_that_the_agent_no_longer_loads_is_named_with_its_path(project: Project) -> None:
    project.put("typed.py", TYPED)
    project.put("helpers.py", HELPERS)
    run = project.record("-c", "import typed; typed.main()")
    project.put("bare.py", "def main(state=None): ...")
    handle = project.fork(run, 1, agent="bare:main")
    with pytest.raises(InvalidEntryPoint, match="user"):
        handle.result()
    assert handle.poll() == 2


STARTS_OTHERS = """
import multiprocessing, os, pathlib, subprocess, sys
import agent_tt

@agent_tt.tool(effect="write")
def pay(who):
    pathlib.Path("paid").open("a").write(who + "\\n")

@agent_tt.tool(effect="write", name="note")
def write_down(who):
    pathlib.Path("noted").open("a").write(who + "\\n")

def act(who):
    for tool in (pay, write_down):
        try:
            tool(who)
        except agent_tt.errors.ToolDenied:
            pass

def main(state=None):
    with agent_tt.record("agent", state=state) as run:
        with run.step("only", state):
            for kind in ("fork", "spawn"):
                process = multiprocessing.get_context(kind).Process(target=act, args=(kind,))
                process.start()
                process.join()
            subprocess.run([sys.executable, "-c", "import starter; starter.act('command')"], check=True)
            act("itself")
"""


def test_the_policy_holds_in_every_process_that_the_agent_starts(project: Project) -> None:
    project.put("starter.py", STARTS_OTHERS)
    run = project.made("starter:main", {"n": 1})
    project.fork(run, 0, allow=["note", "*subprocess"]).result()
    assert not (project.folder / "paid").exists()
    assert (project.folder / "noted").read_text().split() == ["fork", "spawn", "command", "itself"]
