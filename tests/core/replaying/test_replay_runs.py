"""Whole runs replayed in a process of their own, as the command and `agent_tt.replay` do."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.agent_folder import AgentFolder
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt import samples
from agent_tt.errors import AgentFailed, InvalidEntryPoint, RunNotFound, StoreBusy
from agent_tt.rerunning.replay import run_replay
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm


class Project(AgentFolder):
    """A folder with an agent and a store."""

    def hits(self) -> int:
        """How often a real function wrote that it ran."""
        file = self.folder / "hits"
        return len(file.read_text()) if file.exists() else 0


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def recorded_shop(tmp_path_factory) -> Project:
    shop = Project(tmp_path_factory.mktemp("shop"))
    shop.write(WITH_STATE)
    shop.run()
    assert shop.hits() == 5
    return shop


@pytest.fixture
def shop(recorded_shop: Project):
    """The shop's agent, recorded once; no replay of it may run a function, or write anything but what came of it."""
    recorded_shop.write(WITH_STATE)
    before = what_was_recorded(recorded_shop)
    yield recorded_shop
    assert recorded_shop.hits() == 5
    assert what_was_recorded(recorded_shop) == before


def what_was_recorded(shop: Project) -> dict[str, list[tuple[object, ...]]]:
    """All rows of the store but those of replays, and of what shows that none is missing."""
    with closing(sqlite3.connect(shop.store_path)) as rows:
        tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: rows.execute(f"SELECT * FROM {name}").fetchall() for name in tables if name != "sqlite_sequence"}
    found["notes"] = [row for row in found["notes"] if row[3] != "replay"]
    found["seals"] = [row for row in found["seals"] if row[0] != "notes"]
    return found


AGENT = """
import asyncio, dataclasses, sys
import agent_tt


def hit():
    with open("hits", "a") as file:
        file.write(".")


@dataclasses.dataclass
class Order:
    id: str
    amount: int


class PaymentError(Exception):
    def __init__(self, code):
        super().__init__(f"refused with {code}")
        self.code = code


@agent_tt.tool(effect="read")
def find_order(order_id):
    hit()
    return Order(order_id, 30)


@agent_tt.tool(effect="write")
def charge(order):
    hit()
    raise PaymentError(402)


@agent_tt.llm(model="m")
async def think(messages):
    hit()
    await asyncio.sleep(0.001)
    return {"content": f"thought about {len(messages)}", "usage": {"tokens_in": 1, "tokens_out": 2}}


async def work(state, run):
    with run.step("look", state):
        state["order"] = find_order("K-1")
        thoughts = await asyncio.gather(*(think([{"role": "user", "content": str(n)}] * n) for n in range(3)))
        state["thoughts"] = [thought["content"] for thought in thoughts]
    with run.step("pay", state):
        try:
            charge(state["order"])
        except PaymentError as error:
            state["code"] = error.code
"""

WITH_STATE = f"""{AGENT}

def main(state=None):
    state = state or {{"order": None}}
    with agent_tt.record("shop", state=state) as run:
        asyncio.run(work(state, run))


if __name__ == "__main__":
    main()
"""


WITH_CLIENT = """
import agent_tt


class Client:
    def find(self, word):
        return word.upper()


@agent_tt.tool(effect="read")
def find(client, word):
    return client.find(word)


def main(state=None):
    state = state or {"client": Client(), "found": None}
    with agent_tt.record("clerk", state=state) as run:
        with run.step("look", state):
            state["found"] = find(state["client"], "tea")
        with run.step("again", state):
            state["found"] = find(state["client"], state["found"])


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("launched", [False, True])
def test_an_agent_whose_first_state_is_known_only_as_text_makes_it_again(project: Project, launched: bool):
    project.write(WITH_CLIENT)
    started = ("-m", "agent_tt_tui", "record", "--", sys.executable, "agent.py") if launched else ()
    project.run(*started)
    report = project.replay()
    assert report.is_faithful, (report.divergences, report.agent)
    assert (report.served, report.recorded) == (2, 2)
    forked = agent_tt.fork("latest", 1, by="replay", store=project.store_path)
    assert forked.wait(PATIENCE_SECONDS) == 0


def test_an_agent_that_takes_a_state_is_replayed_from_it(shop):
    report = shop.replay()
    assert report.is_faithful, report.divergences
    assert (report.served, report.recorded) == (5, 5)
    assert report.notes == (), "the states are those that were recorded"
    assert report.agent.status == "ended"
    assert report.agent.as_recorded
    assert not (shop.folder / ".agent-tt").exists()


def test_a_changed_agent_diverges_at_its_step_and_writes_nothing(shop):
    shop.write(WITH_STATE.replace('charge(state["order"])', 'charge(Order("K-2", 30))'))
    report = shop.replay()
    (finding,) = report.divergences
    assert (finding.kind, finding.step, finding.call, finding.name) == ("changed request", 2, 1, "charge")
    assert [change.path for change in finding.changes] == ["order.id"]
    assert finding.source.startswith("agent.py:")
    assert report.agent.status == "halted"
    assert shop.hits() == 5


def test_an_observed_agent_goes_on_and_its_state_is_not_blamed(shop):
    shop.write(WITH_STATE.replace('find_order("K-1")', 'find_order("K-7")'))
    report = shop.replay(observe=True)
    assert [(finding.kind, finding.step) for finding in report.divergences] == [("changed request", 1)]
    assert report.served == 5
    assert report.failure is None
    assert report.agent.status == "ended"


def test_a_script_that_takes_no_state_is_run_as_a_script(project):
    project.write(
        AGENT
        + """
if __name__ == "__main__":
    with agent_tt.record("script", state={"words": sys.argv[1:]}) as run:
        asyncio.run(work({}, run))
        print("said", *sys.argv[1:], Order.__module__)
"""
    )
    project.run("agent.py", "--fast", "x y")
    report = project.replay()
    assert report.is_faithful, report.output
    assert report.output.strip() == "said --fast x y __main__"
    assert project.hits() == 5
    other = project.replay(arguments=["--slow"])
    assert other.output.strip() == "said --slow __main__"


def test_a_function_without_state_is_called(project):
    project.write("import shop_agent\nshop_agent.main()\n", "start.py")
    project.write(AGENT + "\ndef main():\n    with agent_tt.record('r') as run:\n        asyncio.run(work({}, run))\n")
    (project.folder / "agent.py").rename(project.folder / "shop_agent.py")
    project.run("start.py")
    report = project.replay()
    assert report.is_faithful, report.output
    assert report.served == 5


def test_an_agent_that_fails_otherwise_says_so_and_one_that_fails_again_is_faithful(project):
    fails = WITH_STATE.replace("state = state or", 'state = state or {"order": None}\n    1 / 0\n    state = state or')
    raises = WITH_STATE.replace(
        "asyncio.run(work(state, run))", "asyncio.run(work(state, run))\n        raise OSError(5, 'x')"
    )
    project.write(raises)
    project.run(exit_code=1)
    again = project.replay()
    assert again.is_faithful
    assert again.agent.status == "raised"
    assert again.agent.as_recorded
    project.write(fails)
    otherwise = project.replay()
    assert otherwise.agent.error == "ZeroDivisionError: division by zero"
    assert otherwise.agent.as_recorded is False
    assert "agent.py" in otherwise.agent.traceback
    assert "agent_tt" not in otherwise.agent.traceback
    assert otherwise.failed_before_asking
    assert (otherwise.divergences, otherwise.failure, otherwise.served) == ((), None, 0)
    with pytest.raises(AgentFailed, match="ZeroDivisionError"):
        otherwise.check()


def test_all_calls_as_recorded_and_another_ending_is_not_faithful(project):
    project.write(WITH_STATE)
    project.run()
    calls = "asyncio.run(work(state, run))"
    project.write(WITH_STATE.replace(calls, f"{calls}\n        1 / 0"))
    crashed = project.replay()
    assert (crashed.divergences, crashed.served) == ((), crashed.recorded)
    assert not crashed.is_faithful
    assert crashed.to_json()["faithful"] is False
    with pytest.raises(AgentFailed, match="ZeroDivisionError: division by zero"):
        crashed.check()


def test_an_agent_that_ends_well_where_it_failed_then_is_not_faithful(project):
    calls = "asyncio.run(work(state, run))"
    project.write(WITH_STATE.replace(calls, f"{calls}\n        1 / 0"))
    project.run(exit_code=1)
    project.write(WITH_STATE)
    mended = project.replay()
    assert (mended.agent.status, mended.agent.as_recorded, mended.divergences) == ("ended", False, ())
    assert not mended.is_faithful
    mended.check()


def test_an_agent_that_swallows_everything_is_not_faithful(shop):
    shop.write(
        WITH_STATE.replace("except PaymentError as error:", "except BaseException as error:").replace(
            'charge(state["order"])', 'charge("something else")'
        )
    )
    report = shop.replay()
    assert not report.is_faithful
    assert report.failure is not None


def test_an_agent_that_kills_its_process_is_a_failure_of_the_agent(shop):
    shop.write(
        WITH_STATE.replace("def main(state=None):", "def main(state=None):\n    import os; os.kill(os.getpid(), 9)")
    )
    with pytest.raises(AgentFailed, match="killed by signal 9"):
        shop.replay()


def test_an_agent_that_never_ends_is_stopped(shop):
    shop.write(WITH_STATE.replace("def main(state=None):", "def main(state=None):\n    while True: pass"))
    with pytest.raises(AgentFailed, match="stopped after 1"):
        agent_tt.replay("latest", store=shop.store_path, timeout=1)


@pytest.mark.parametrize(("wanted_for", "said"), [(3, "was stopped"), (10_000, "stopped after 1")])
def test_a_replay_that_is_not_wanted_any_more_is_stopped_and_a_wanted_one_has_its_time(shop, wanted_for, said):
    shop.write(WITH_STATE.replace("def main(state=None):", "def main(state=None):\n    while True: pass"))
    asked = iter(range(wanted_for))
    with closing(open_store(shop.store_path, read_only=True)) as store, pytest.raises(AgentFailed, match=said):
        run_replay(store, store.run("latest"), timeout=1, cancelled=lambda: next(asked, None) is None)


def test_what_came_of_each_replay_is_kept_with_the_run_but_of_a_stopped_one(shop, tmp_path, monkeypatch):
    path = shutil.copy(shop.store_path, tmp_path / "runs.db")
    with closing(open_store(path)) as store:
        run = store.run("latest")
        assert run_replay(store, run).is_faithful
        source = WITH_STATE.replace('charge(state["order"])', 'charge(Order("K-2", 30))')
        file = shop.write(source)
        found = run_replay(store, run, observe=True).divergences[0]
        shop.write(f"import no_such_module\n{WITH_STATE}")
        assert run_replay(store, run).failed_before_asking
        begun = store.replays(run.id)[0]
        assert (begun.verdict, begun.served, begun.divergences) == ("failed", 0, 0)
        assert begun.message.startswith("ModuleNotFoundError")
        shop.write(WITH_STATE.replace("def main(state=None):", "def main(state=None):\n    import os; os._exit(3)"))
        with pytest.raises(InvalidEntryPoint):
            run_replay(store, run, agent=f"{file}:nobody")
        with pytest.raises(AgentFailed):
            run_replay(store, run, cancelled=lambda: True)
        shop.write(WITH_STATE)
        with monkeypatch.context() as patch:
            patch.setattr(store, "keep_replay", raising(StoreBusy("somebody writes")))
            assert run_replay(store, run).is_faithful, "it does not fail because it cannot be kept"
        failed, _, changed, well = store.replays(run.id)[:4]
        assert [each.verdict for each in (well, changed, failed)] == ["as_recorded", "diverged", "failed"]
        assert (well.recorded, well.served, well.mode, well.divergence) == (5, 5, "halt", None)
        assert (changed.mode, changed.divergence, changed.step) == ("observe", found.kind, found.step)
        assert (changed.message, changed.call) == (found.message, found.call)
        assert (failed.agent, failed.served) == (f"{file.resolve()}:nobody", None)
        assert well.fingerprint == run.code.fingerprint != changed.fingerprint == fingerprint_of(source)
        assert 0 < well.duration_us < PATIENCE_SECONDS * 1_000_000
        assert run == store.run("latest")
        assert store.verify() == []
    with closing(open_store(path, read_only=True)) as store:
        assert run_replay(store, run).is_faithful
        assert store.replays()[0] == failed


def raising(error: Exception):
    def fail(_: object) -> None:
        raise error

    return fail


def fingerprint_of(source: str) -> str:
    return hashlib.blake2b(source.encode(), digest_size=16).hexdigest()


def test_what_cannot_be_started_says_why(shop):
    with pytest.raises(RunNotFound):
        shop.replay("nobody")
    (shop.folder / "agent.py").unlink()
    with pytest.raises(InvalidEntryPoint, match=r"agent\.py"):
        shop.replay()


def test_a_fork_is_replayed_from_its_edited_state(project):
    project.write(WITH_STATE)
    project.run()
    handle = agent_tt.fork("latest", 1, {"order": None}, store=project.store_path, allow=["charge"])
    handle.wait()
    before = project.hits()
    report = project.replay(handle.run_id)
    assert report.is_faithful, (report.divergences, report.output)
    assert project.hits() == before


@pytest.fixture(scope="module")
def sample_store(tmp_path_factory) -> Path:
    store = tmp_path_factory.mktemp("samples") / "runs.db"
    for sample in samples.names():
        if sample.prebuilt:
            samples.ensure(sample.name, store)
    return store


@pytest.mark.parametrize("name", ["refund-loop", "trip-planner", "flaky-checkout", "research-team"])
def test_the_shipped_runs_of_the_samples_replay_faithfully(name, sample_store):
    report = agent_tt.replay(name, store=sample_store, timeout=PATIENCE_SECONDS)
    assert report.is_faithful, (report.divergences, report.output)
    assert report.served == report.recorded > 10
    assert report.agent.as_recorded


def test_a_concurrent_sample_replays_to_the_same_states(tmp_path):
    shutil.copytree(samples.folder(), tmp_path / "samples", ignore=shutil.ignore_patterns("*.db", "__pycache__"))
    project = Project(tmp_path / "samples")
    project.run("research_team.py")
    report = project.replay()
    assert report.is_faithful
    assert report.notes == ()


def test_a_changed_sample_diverges_at_the_right_step(tmp_path):
    shutil.copytree(samples.folder(), tmp_path / "samples", ignore=shutil.ignore_patterns("*.db", "__pycache__"))
    project = Project(tmp_path / "samples")
    project.run("refund_loop.py", exit_code=1)  # it gives up in the end: that is what it shows
    file = project.folder / "refund_loop.py"
    file.write_text(
        file.read_text().replace(
            "result = search_docs(**arguments)",
            'result = search_docs(query=arguments["query"] + ("!" if state["attempts"] == 3 else ""))',
        )
    )
    report = project.replay()
    (finding,) = report.divergences
    assert (finding.kind, finding.step, finding.name) == ("changed request", 4, "search_docs")
    assert [change.path for change in finding.changes] == ["query"]
