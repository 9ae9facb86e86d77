"""What may be run: nothing without leave, and with leave no more than whoever started the server said."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.core.serving.asking import FLAKY, SAMPLES
from tests.core.serving.slow_agent import record_slow
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt import samples
from agent_tt.errors import Damaged, InvalidEntryPoint, UsageError
from agent_tt.serving.debugger import Debugger
from agent_tt.serving.running import Leave, Runner
from agent_tt.serving.starting import Starter

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    samples.ensure(FLAKY, tmp_path / "runs.db")
    return tmp_path / "runs.db"


def answered(debugger, tool, **arguments):
    return json.loads(debugger.answer(tool, arguments).text)


EVERYTHING = """
import sys
started = []
def hook(event, arguments):
    if event in ("subprocess.Popen", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system"):
        started.append(event)
sys.addaudithook(hook)
from pathlib import Path
from agent_tt.serving.debugger import Debugger
debugger = Debugger(Path(sys.argv[1]))
run = "flaky-checkout"
calls = {
    "runs": {}, "overview": {"run": run}, "oddities": {"run": run}, "step": {"at": run + "@6"},
    "state": {"at": run}, "call": {"at": run + "@6#2"}, "effects": {"run": run},
    "blame": {"at": run, "path": "answer"}, "find": {"text": "refused"},
    "where": {"run": run, "expression": "error"}, "diff": {"a": run + "@1", "b": run},
    "compare": {"a": run, "b": "refund-loop"}, "context": {"at": run + "@7"},
    "links": {"at": run + "@7"}, "range": {"at": run + "@2..5"},
}
assert set(calls) == set(debugger.tools), set(debugger.tools) ^ set(calls)
for name, arguments in calls.items():
    assert not debugger.answer(name, arguments).is_error, name
for name in ("fork", "replay"):
    assert debugger.answer(name, {"at": run + "@6", "run": run, "dry_run": False}).is_error
could = ("agent_tt.rerunning", "agent_tt.serving.running", "mcp")
print(started, [name for name in sys.modules if name.startswith(could)])
"""


@pytest.mark.cold
def test_without_leave_no_tool_starts_a_process_or_loads_what_could(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING, str(SAMPLES)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["[]", "[]"]


def test_a_dry_run_is_the_answer_unless_it_is_said_otherwise_and_runs_nothing(store):
    runner = Runner(Leave())
    debugger = Debugger(store, runner.tools())
    plan = answered(debugger, "fork", at=f"{FLAKY}@6", edits=["set payment.amount=136.84"])
    assert plan["dry_run"] is True
    assert {call["name"]: call["policy"] for call in plan["calls"]}["charge_card"] == "deny"
    assert runner.started == 0
    assert answered(debugger, "replay", run=FLAKY, dry_run=True)["answers"]
    with closing(agent_tt.open_source(store)) as source:
        assert len(source.runs()) == 1


def test_as_many_agents_are_started_as_were_allowed(store):
    runner = Runner(Leave(runs=2))
    debugger = Debugger(store, runner.tools())
    assert answered(debugger, "replay", run=FLAKY)["verdict"] == "as_recorded"
    assert answered(debugger, "fork", at=f"{FLAKY}@9", dry_run=False, wait=300)["status"] == "succeeded"
    assert "2 agents were started" in answered(debugger, "replay", run=FLAKY)["error"]["message"]
    assert answered(debugger, "fork", at=f"{FLAKY}@9")["dry_run"] is True


def test_what_is_refused_or_cannot_be_started_uses_up_no_agent(store, tmp_path):
    starter = Starter(Leave(runs=1))
    with closing(agent_tt.open_source(store)) as source:
        run = source.run(FLAKY)
        plan = starter.plan(source, run, 9, [])
        boundary = tuple(replace(row, kept_by="a list") for row in plan.boundary)
        with pytest.raises(UsageError, match="cannot hold"):
            starter.fork(replace(plan, boundary=boundary))
        with pytest.raises(InvalidEntryPoint):
            starter.fork(replace(plan, code=replace(plan.code, interpreter=str(tmp_path / "none"))))
        with closing(sqlite3.connect(store)) as plain, plain:
            plain.execute("UPDATE calls SET name = name || 's' WHERE kind = 'tool'")
        with pytest.raises(Damaged):
            starter.replay(source, run, observe=False, seconds=300, cancelled=lambda: False)
        with closing(sqlite3.connect(store)) as plain, plain:
            plain.execute("UPDATE calls SET name = substr(name, 1, length(name) - 1) WHERE kind = 'tool'")
        assert starter.started == 0
        assert starter.fork(plan).wait(PATIENCE_SECONDS) is not None
        assert starter.started == 1
        with pytest.raises(UsageError, match="1 agents were started"):
            starter.fork(plan)


def test_a_client_may_deny_more_and_wait_less_and_never_the_other_way_round(store):
    runner = Runner(Leave(allow=("charge_card", "place_order"), seconds=5))
    debugger = Debugger(store, runner.tools())
    plan = answered(debugger, "fork", at=f"{FLAKY}@6", seconds=86_400, deny=["charge_card"])
    assert plan["limits"] == {"seconds": 5.0}
    policies = {call["name"]: call["policy"] for call in plan["calls"]}
    assert (policies["charge_card"], policies["place_order"]) == ("deny", "live")
    assert answered(debugger, "fork", at=f"{FLAKY}@6", seconds=1)["limits"] == {"seconds": 1.0}
    assert "pattern" in answered(debugger, "fork", at=f"{FLAKY}@6", deny=["*write"])["error"]["message"]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ("payment.amount=3", "is not an edit"),
        ("sett payment.amount=3", "no kind of edit"),
        ("set payment.amount", "PATH=VALUE"),
        ("set payment.amount={", "JSON"),
        ("mute ²", "number of a step"),
        ("set nothing.here=3", "nothing"),
    ],
)
def test_an_edit_that_cannot_be_read_is_a_clear_error(store, edit, says):
    error = answered(Debugger(store, Runner(Leave()).tools()), "fork", at=f"{FLAKY}@6", edits=[edit])["error"]
    assert says in error["message"]


def test_the_agents_of_a_store_from_elsewhere_do_not_run(store):
    from agent_tt.store import open_store

    with closing(open_store(store)) as opened:
        opened.set_metadata(opened.run(FLAKY).id, {})
    copied = store.with_name("copied.db")
    copied.write_bytes(SAMPLES.read_bytes())
    debugger = Debugger(copied, Runner(Leave()).tools())
    for tool, arguments in (("fork", {"at": f"{FLAKY}@6", "dry_run": False}), ("replay", {"run": FLAKY})):
        assert answered(debugger, tool, **arguments)["error"]["kind"] in ("untrusted", "invalid_entry_point")


def test_a_fork_that_takes_longer_than_anybody_waits_goes_on_and_ends_with_the_server(store):
    record_slow(store)
    (store.parent / "hold").touch()
    runner = Runner(Leave(seconds=600))
    debugger = Debugger(store, runner.tools())
    fork = answered(debugger, "fork", at="slow@1", dry_run=False, wait=1)
    assert fork["status"] == "running"
    assert answered(debugger, "fork", at="slow@1", dry_run=False)["error"]["message"] == "another agent runs"
    stopping = threading.Thread(target=runner.stop)
    stopping.start()
    stopping.join(PATIENCE_SECONDS)
    assert answered(debugger, "overview", run=fork["run"])["status"] == "interrupted"


def test_a_fork_is_stopped_after_the_time_that_was_allowed(store):
    record_slow(store)
    (store.parent / "hold").touch()
    debugger = Debugger(store, Runner(Leave(seconds=0.5)).tools())
    fork = answered(debugger, "fork", at="slow@1", dry_run=False, wait=300)
    assert fork["status"] == "interrupted"
    assert "limit" in json.dumps(fork["ended_with"]) or "time" in json.dumps(fork["error"])
