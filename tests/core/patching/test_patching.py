"""Draws of the agent's own modules are recorded and come again; every name is the original's again afterwards."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import datetime as dt
import logging
import os
import pickle
import random
import sys
import time
import uuid
from pathlib import Path

import pydantic
import pytest

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.model.facts import RunFacts
from agent_tt.patching import patched, patches
from agent_tt.patching.clock import CLOCK
from agent_tt.patching.environment import HIDDEN
from agent_tt.patching.patches import KINDS, moving_clock
from agent_tt.patching.replacements import Replacements
from agent_tt.recording.session import SESSION
from agent_tt.replaying import Divergence, served
from agent_tt.replaying.clock.virtual_time import MovedClock

HIDING = (Path(__file__).parent / "hiding_agent.txt").read_text()


def names_of(*modules):
    return [dict(vars(module)) for module in modules]


def are_same(before, *modules):
    for names, module in zip(before, modules, strict=True):
        now = vars(module)
        changed = [name for name, value in names.items() if name != "__builtins__" and now.get(name) is not value]
        assert changed == []
        assert set(now) == set(names)
    return True


@pytest.fixture(autouse=True)
def probe(monkeypatch):
    monkeypatch.setenv("PROBE", "one")
    monkeypatch.delenv("PROBE_ABSENT", raising=False)


def disturb(monkeypatch):
    """What is different by the time of the replay."""
    random.seed(99)
    monkeypatch.setenv("PROBE", "two")
    monkeypatch.setenv("PROBE_ABSENT", "there now")


def test_every_draw_comes_again_and_every_name_is_restored(project, drawing, monkeypatch):
    before = names_of(drawing)
    original_state = drawing.GENERATOR.getstate()

    def work():
        with patched(root=project.root):
            return [drawing.draw() for _ in range(3)]

    run_id, recorded = project.record(work)
    assert are_same(before, drawing)
    assert recorded[0] != recorded[1]
    assert recorded[0]["fixed gmtime"] == 1970
    drawing.GENERATOR.seed(5)
    drawing.SEEDED.seed(7)
    disturb(monkeypatch)
    replayed = project.replay(run_id, work)
    assert replayed == recorded
    assert are_same(before, drawing)
    assert drawing.GENERATOR.getstate() != original_state
    drawn = {(call.kind, call.name) for call in project.calls(run_id)}
    assert len(drawn) >= 26
    assert {kind for kind, _ in drawn} == {"clock", "rng", "id", "env"}
    assert sum(1 for _ in project.calls(run_id)) >= 77


def test_without_a_recording_and_after_patching_the_values_are_live(project, drawing):
    with patched(root=project.root):
        born = project.load("born_for_tests", HIDING)
        assert abs(drawing.now() - time.time()) < 5
        assert drawing.draw()["item"] == "one"
    assert abs(born.default() - time.time()) < 5  # it keeps a stand-in, which does what the original does
    assert abs(born.TABLE["time"]() - time.time()) < 5


@pytest.mark.parametrize("moment", ["first name", "listing", "block"])
def test_after_an_exception_in_the_middle_every_name_is_the_original(project, drawing, monkeypatch, moment):
    before = names_of(drawing)
    original = patches.Patching._begin_generators

    def begin_and_fail(self, name, module):
        original(self, name, module)
        raise ZeroDivisionError

    def work():
        with patched(root=project.root):
            drawing.draw()
            raise ZeroDivisionError

    if moment == "first name":
        monkeypatch.setattr(patches.Patching, "_begin_generators", begin_and_fail)
    elif moment == "listing":
        monkeypatch.setattr(patches, "unreached_places", lambda *_: 1 / 0)
    imported = builtins.__import__
    with pytest.raises(ZeroDivisionError):
        project.record(work)
    assert are_same(before, drawing)
    assert builtins.__import__ is imported
    monkeypatch.undo()
    with patched("clock", root=project.root):  # nothing is in the way of the next
        assert drawing.now is not time.time


def test_places_that_binding_names_does_not_reach_are_listed_and_none_is_left_when_born_patched(project):
    hiding = project.load("hiding_for_tests", HIDING)
    with patched(root=project.root) as patching:
        assert patching.unreached == tuple(
            f"hiding_for_tests.{place}"
            for place in (
                "Agent.clock",
                "Agent.method(clock=)",
                "BOUND['func']",
                "CLOSED.<locals>.clock",
                "LISTED[0]",
                "Made.id",
                "TABLE['time']",
                "default(clock=)",
                "keyword(clock=)",
            )
        )
    del hiding
    project.forget()

    def work():
        with patched(root=project.root) as patching:
            born = project.load("hiding_for_tests", HIDING)
            assert patching.unreached == ()
            return born.everything()

    run_id, recorded = project.record(work)
    assert len(project.calls(run_id)) == 10
    born = sys.modules["hiding_for_tests"]
    assert (born.time, born.random, born.uuid) == (time, random, uuid)
    assert born.time is time
    project.forget()
    assert project.replay(run_id, work) == recorded


def test_functions_in_classes_take_no_self_where_the_originals_take_none(project):
    with patched(root=project.root):
        agent = project.load(
            "bound_for_tests",
            "import os, random, secrets, time\n\nclass Agent:\n    clock = time.time\n    draw = random.random\n"
            "    bits = secrets.randbits\n    bytes = os.urandom\n",
        )
        one = agent.Agent()
        assert isinstance(one.clock(), float)
        assert isinstance(one.draw(), float)
        assert isinstance(one.bits(8), int)
        assert len(one.bytes(3)) == 3
        assert one.clock.__name__ == "time"


def test_an_import_in_a_function_of_a_loaded_module_is_covered(project):
    hiding = project.load("hiding_for_tests", HIDING)

    def work():
        with patched("clock", root=project.root):
            return hiding.local()

    run_id, recorded = project.record(work)
    assert project.replay(run_id, work) == recorded


def test_only_the_agents_own_modules_are_patched(project):
    installed = project.root / "venv" / "lib" / "site-packages"
    installed.mkdir(parents=True)
    project.load("own_for_tests", "import time")
    source = "import time\nfrom time import time as now\n"
    library = project.load("venv/lib/site-packages/library_for_tests", source)
    named = project.load("venv/lib/site-packages/named_for_tests", source)
    with patched("clock", root=project.root, also=("venv/lib/site-packages/named_for_tests",)):
        assert sys.modules["own_for_tests"].time is not time
        assert library.time is time
        assert library.now is time.time
        assert named.time is not time
        assert dt.datetime.__module__ == "datetime"
        assert time.time is sys.modules["time"].time


def test_the_stand_in_for_datetime_is_nearly_one(project):
    source = """
from datetime import datetime, date, timedelta
import datetime as module
import dataclasses

import pydantic

class Own(datetime):
    pass

class Model(pydantic.BaseModel):
    at: datetime
    day: date = date(2020, 1, 2)

@dataclasses.dataclass
class Data:
    at: datetime

def kinds(x):
    match x:
        case datetime():
            return "datetime"
        case date():
            return "date"
"""
    with patched("clock", root=project.root):
        agent = project.load("dates_for_tests", source)
        assert agent.datetime is not dt.datetime
        moment = agent.datetime(2020, 1, 2, 3)
        assert type(moment) is dt.datetime
        assert isinstance(moment, agent.datetime)
        assert isinstance(moment, agent.date)
        assert isinstance(dt.date(2020, 1, 1), agent.date)
        assert not isinstance(dt.date(2020, 1, 1), agent.datetime)
        assert issubclass(dt.datetime, agent.date)
        assert agent.datetime == dt.datetime
        assert {dt.datetime: 1}[agent.datetime] == 1
        assert type(agent.datetime.now()) is type(agent.datetime.fromisoformat("2020-01-01")) is dt.datetime
        assert type(agent.datetime.fromtimestamp(0)) is dt.datetime
        assert type(agent.datetime.strptime("2020", "%Y")) is dt.datetime
        assert type(agent.date.today()) is dt.date
        assert type(agent.module.date.fromordinal(5)) is dt.date
        assert type(agent.datetime.now() - agent.timedelta(1)) is dt.datetime
        assert agent.datetime.max is dt.datetime.max  # noqa: DTZ901
        assert type(agent.Own.now()) is type(agent.Own(2020, 1, 1)) is type(agent.Own.utcnow()) is agent.Own
        assert agent.Model(at="2020-01-02T03:00:00").at == moment
        with pytest.raises(pydantic.ValidationError):
            agent.Model(at="no")
        assert (agent.kinds(moment), agent.kinds(dt.date(2020, 1, 1))) == ("datetime", "date")
        assert pickle.loads(pickle.dumps(moment)) == copy.copy(moment) == moment
        assert "datetime.datetime" in repr(agent.datetime)
    assert agent.datetime is dt.datetime
    assert agent.module is dt


def test_generators_are_generators(project):
    agent = project.load(
        "random_for_tests", "import random\nfrom random import Random\n\nclass Own(Random):\n    pass\n"
    )
    with patched("random", root=project.root):
        made = agent.Random()
        assert isinstance(made, random.Random)
        assert isinstance(random.Random(), agent.Random)
        assert agent.Random(7).random() == random.Random(7).random()
        assert pickle.loads(pickle.dumps(made)).random() == made.random()
        assert isinstance(agent.random.SystemRandom().random(), float)
        assert agent.random.seed is random.seed
        with pytest.raises(IndexError):
            agent.random.choice([])
        with pytest.raises(ValueError, match="larger"):
            agent.random.sample([1], 2)
        assert agent.random.sample([1, 2], 3, counts=[2, 2]).count(1) >= 1


def test_secrets_of_the_environment_are_not_recorded(project, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:pw@host/db")
    agent = project.load(
        "env_for_tests",
        "import os\n\ndef read():\n    return os.environ['OPENAI_API_KEY'], os.getenv('DATABASE_URL'), "
        "dict(os.environ.items())['OPENAI_API_KEY'], os.environ.get('NO_TOKEN')\n",
    )

    def work():
        with patched("env", root=project.root):
            return agent.read()

    run_id, recorded = project.record(work)
    assert recorded == ("sk-1234", "postgres://me:pw@host/db", "sk-1234", None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.delenv("DATABASE_URL")
    assert project.replay(run_id, work) == ("sk-other", HIDDEN, "sk-other", None)
    assert b"sk-1234" not in project.store.read_bytes()
    assert [call.result for call in project.calls(run_id)][:2] == [HIDDEN, HIDDEN]
    with patched("env", root=project.root):
        agent.os.environ["PROBE_NEW"] = "x"
        assert os.environ["PROBE_NEW"] == "x"
        assert (agent.os.environ | {"a": "b"})["a"] == "b"
        assert len(agent.os.environ) == len(os.environ)
        del agent.os.environ["PROBE_NEW"]
        with pytest.raises(KeyError, match="PROBE_NEW"):
            agent.os.environ["PROBE_NEW"]
        assert agent.os.path is os.path
        assert agent.os.getcwd is os.getcwd


def test_a_draw_too_many_is_an_extra_call_and_one_too_few_a_missing_one(project):
    agent = project.load("count_for_tests", "import time\n\ndef draw(n):\n    return [time.time() for _ in range(n)]\n")

    def work(count):
        with patched("clock", root=project.root):
            return agent.draw(count)

    run_id, _ = project.record(lambda: work(3))
    found = []
    for count in (4, 2):
        with pytest.raises(Divergence) as raised:
            project.replay(run_id, lambda count=count: work(count))
        found.append(raised.value.finding.kind)
    assert found == ["extra call", "missing call"]


def test_a_deadline_loop_ends_where_no_clock_was_recorded(project):
    agent = project.load(
        "deadline_for_tests",
        "import time\nfrom datetime import datetime\n\n"
        "def wait(pause):\n    started, rounds = datetime.now(), 0\n    deadline = time.monotonic() + 60\n"
        "    while time.monotonic() < deadline:\n        pause()\n        rounds += 1\n"
        "    return rounds, (datetime.now() - started).total_seconds(), time.time_ns()\n",
    )
    moved = [0.0]

    def pause():
        moved[0] += 10

    SESSION.join(MovedClock(lambda: moved[0]))
    try:
        with moving_clock(project.root):
            rounds, seconds, nanoseconds = agent.wait(pause)
            assert (rounds, int(seconds)) == (6, 60)
            assert nanoseconds - time.time_ns() > 59 * 10**9
            # A recording that draws its clock may begin inside; afterwards clocks only move again.
            with patched("clock", "ids", root=project.root):
                assert CLOCK.is_drawn
            assert not CLOCK.is_drawn
            assert agent.time is not time
            assert agent.datetime is not dt.datetime
    finally:
        SESSION.start()
    assert CLOCK.is_drawn
    assert agent.time is time


def test_a_moving_clock_leaves_dates_alone_where_nobody_asks_for_the_present(project):
    only_types = "import datetime\nfrom datetime import date\nimport time\n"
    loaded = project.load("types_for_tests", only_types)
    with moving_clock(project.root):
        born = project.load("born_types_for_tests", only_types)
        asking = project.load(
            "asking_for_tests", "from datetime import datetime\n\ndef f():\n    return datetime.now()\n"
        )
        for module in (loaded, born):
            assert module.date is dt.date
            assert module.datetime is dt
            assert module.time is not time
        assert asking.datetime is not dt.datetime
    assert asking.datetime is dt.datetime


def test_a_replay_moves_the_clocks_of_an_agent_that_sleeps(project):
    agent = project.load(
        "sleeper_for_tests",
        "import time\n\ndef wait():\n    deadline, rounds = time.monotonic() + 600, 0\n"
        "    while time.monotonic() < deadline:\n        time.sleep(60)\n        rounds += 1\n    return rounds\n",
    )
    from agent_tt.replaying.clock.virtual_time import virtual_time

    with virtual_time(), moving_clock(project.root):
        assert agent.wait() == 10


def test_one_recording_patches_at_a_time_and_only_what_there_is(project):
    with patched("clock", root=project.root):
        with pytest.raises(UsageError, match="clock is patched already"), patched("ids", "clock", root=project.root):
            pass
        with pytest.raises(UsageError, match="clock is patched already"), moving_clock(project.root):
            pass
        with patched("ids", root=project.root):
            pass
    with pytest.raises(UsageError, match="'clocks'"), patched("clocks", root=project.root):
        pass


def test_draws_inside_tools_belong_to_them(project):
    agent = project.load("tool_for_tests", "import time\n\ndef tool():\n    return time.time()\n")
    tool = agent_tt.tool(effect="read")(agent.tool)

    def work():
        with patched("clock", root=project.root):
            return tool()

    run_id, recorded = project.record(work)
    assert project.replay(run_id, work) == recorded


def test_others_who_patch_imports_meanwhile_keep_theirs(project, monkeypatch, caplog):
    original = builtins.__import__

    def theirs(*args, **kwargs):
        return ours(*args, **kwargs)

    with caplog.at_level(logging.DEBUG, "agent_tt"):
        with patched("clock", root=project.root):
            ours = builtins.__import__
            builtins.__import__ = theirs
        assert builtins.__import__ is theirs
        agent = project.load("after_for_tests", "import time")
        assert agent.time is time
    builtins.__import__ = original


def test_every_replacement_is_told_from_its_original():
    replacements = Replacements(KINDS)
    assert replacements.modules == {"time", "datetime", "random", "secrets", "uuid", "os"}
    stand_in = replacements.replacement(time)
    assert replacements.original(stand_in) is time
    assert replacements.replacement(time.time) is stand_in.time
    assert replacements.replacement(object()) is None
    assert repr(stand_in) == repr(time)
    assert dir(stand_in) == dir(time)
    assert stand_in.sleep is time.sleep


def test_what_was_patched_around_a_run_is_patched_around_its_replay(project, monkeypatch):
    """As `agent-tt record --patch` does it: the agent itself says nothing."""
    agent = project.load(
        "silent_for_tests", "import os\nimport uuid\n\ndef draw():\n    return uuid.uuid4(), os.getenv('PROBE')\n"
    )
    with (
        agent_tt.record("silent", store=project.store, metadata={RunFacts.patched.key: ["ids", "env"]}) as run,
        patched("ids", "env", root=project.root),
        run.step("draw"),
    ):
        recorded = agent.draw()
    monkeypatch.setenv("PROBE", "two")
    source = agent_tt.open_source(project.store)
    recorded_run = source.run(run.id)
    source.close()
    here = dataclasses.replace(recorded_run, code=dataclasses.replace(recorded_run.code, root=str(project.root)))
    with served(here, store=project.store), agent_tt.record("silent") as again, again.step("draw"):
        assert agent.draw() == recorded
        assert agent.os is not os
    assert agent.os is os


def test_draws_between_steps_wait_for_the_next_one(project):
    agent = project.load("between_for_tests", "import time\n\ndef draw():\n    return time.time()\n")

    def work(run):
        drawn = [agent.draw(), agent.draw()]
        with run.step("first"):
            drawn.append(agent.draw())
        drawn.append(agent.draw())
        with run.step("second"):
            pass
        return [*drawn, agent.draw()]

    with agent_tt.record("between", store=project.store) as run, patched("clock", root=project.root):
        recorded = work(run)
    source = agent_tt.open_source(project.store)
    assert [(step.name, step.calls) for step in source.steps(run.id)] == [("first", 3), ("second", 1), ("draws", 1)]
    source.close()
    with (
        served(run.id, store=project.store),
        agent_tt.record("between") as again,
        patched("clock", root=project.root),
    ):
        assert work(again) == recorded


def test_draws_of_lanes_are_their_own(project):
    agent = project.load(
        "lanes_for_tests",
        "import random\nimport time\nimport uuid\nfrom concurrent.futures import ThreadPoolExecutor\n\n"
        "def job(_):\n    return [uuid.uuid4(), random.random(), time.time()]\n\n"
        "def draw():\n    with ThreadPoolExecutor(4) as pool:\n        return list(pool.map(job, range(12)))\n",
    )

    def work():
        with patched("clock", "ids", "random", root=project.root):
            return agent.draw()

    run_id, recorded = project.record(work)
    for _ in range(5):
        assert project.replay(run_id, work) == recorded
