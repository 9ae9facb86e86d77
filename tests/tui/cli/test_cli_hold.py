"""`agent-tt hold`: a running agent waits, what waits is told, and the agent is let go."""

import json
import subprocess
import sys
import time
from contextlib import closing

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.model import NewCall, NewRun, NewStep
from agent_tt.model.facts import RunFacts
from agent_tt.questions import NewQuestion
from agent_tt.store import open_store

pytestmark = pytest.mark.warm

HOLD = "from agent_tt_tui.cli.root import main; main()"


class Agent:
    """A run of this process that can be held, and a call of it that waits once it is."""

    def __init__(self, store):
        self.store = store
        self.writer = store.begin_run(NewRun("shop", metadata=RunFacts.attached.true()), {})
        self.run_id = self.writer.run_id

    def hold(self):
        return self._until(lambda: next(iter(self.store.holds(self.run_id)), None))

    def waits(self, hold, **args):
        step = self.writer.open_step(NewStep("pay"))
        call = self.writer.begin_call(step, NewCall("tool", "charge", args, "00" * 16, "write", lane="main/task.1"))
        state = {"budget": 10}
        return self.writer.ask(
            step, call, NewQuestion(editable=("amount",), hold=hold.id, state=state, can_edit_state=True)
        )

    def let_go(self):
        self._until(lambda: not self.store.holds(self.run_id))

    def _until(self, look):
        ends = time.monotonic() + PATIENCE_SECONDS
        while not (found := look()):
            assert time.monotonic() < ends
            time.sleep(0.01)
        return found


@pytest.fixture
def agent(tmp_path):
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        yield Agent(store)


def held_by(agent, *options):
    command = [sys.executable, "-m", "agent_tt_tui", "hold", "shop", "--store", str(agent.store.path), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def test_a_call_that_is_held_is_told_answered_from_elsewhere_and_let_go(agent, command):
    store = ("--store", str(agent.store.path))
    holder = held_by(agent, "--json", "--once", "--when", "state.budget > 3")
    hold = agent.hold()
    assert (hold.when, hold.by) == ("state.budget > 3", "command")
    asked = agent.waits(hold, amount=5)
    assert json.loads(holder.stdout.readline()) == {"event": "held", "run": agent.run_id, "hold": hold.id}
    told = json.loads(holder.stdout.readline())
    assert (told["event"], told["tool"], told["lane"], told["hold"]) == ("call", "charge", "main/task.1", hold.id)
    assert (told["state"], told["can_edit_state"]) == ({"budget": 10}, True)
    assert "held" in command("runs", *store).out
    assert "held" in command("show", "shop", *store).out
    assert command("runs", "--json", *store).json[0]["held"] is True
    assert command("show", "shop", "--json", *store).json["run"]["held"] is True
    listed = command("answer", *store).out
    assert "charge  (writes)  is held, in lane main/task.1" in listed
    wrong = command("answer", "shop", "--set", "money=3", *store)
    assert wrong.code == 0  # a new key
    decision = asked.decision()
    assert (decision.word, [(edit.path, edit.value) for edit in decision.state]) == ("run", [("money", 3)])
    assert json.loads(holder.stdout.readline())["event"] == "let go"
    assert holder.wait(PATIENCE_SECONDS) == 0
    holder.stdout.close()
    agent.let_go()
    assert command("runs", "--json", *store).json[0]["held"] is False


def test_ctrl_c_and_let_go_end_a_hold_and_a_run_that_ends_ends_it_too(agent, command):
    first = held_by(agent)
    hold = agent.hold()
    assert "ctrl+c lets it go" in first.stdout.readline()
    agent.waits(hold, amount=5)
    assert "charge" in first.stdout.readline()
    let_go = command("hold", "shop", "--let-go", "--json", "--store", str(agent.store.path))
    assert let_go.json == {"event": "let go", "run": agent.run_id, "hold": None}
    assert first.stdout.read().endswith("shop is let go\n")
    assert first.wait(PATIENCE_SECONDS) == 0
    second = held_by(agent)
    agent.hold()
    agent.writer.finish("succeeded")
    assert second.stdout.read().endswith("shop is over\n")
    assert second.wait(PATIENCE_SECONDS) == 0
    first.stdout.close()
    second.stdout.close()


def test_a_run_that_ends_between_two_looks_at_it_is_over_and_not_let_go(agent, command, monkeypatch):
    def end_the_run_and_look(store, run_id):
        agent.writer.finish("succeeded")
        return look(store, run_id)

    look = type(agent.store).holds
    monkeypatch.setattr(type(agent.store), "holds", end_the_run_and_look)
    assert command("hold", "shop", "--store", str(agent.store.path)).out.endswith("shop is over\n")


def test_what_cannot_be_held_is_one_clear_line(agent, command):
    store = ("--store", str(agent.store.path))
    plain = agent.store.begin_run(NewRun("plain"), {})
    for arguments, words in (
        (("hold", "plain"), "plain cannot be held: it was not recorded to be"),
        (("hold", "shop", "--when", "state."), "cannot be asked"),
        (("hold", "shop", "--when", "changed(state.budget)"), "what has changed"),
    ):
        refused = command(*arguments, *store)
        assert refused.code == 2
        assert words in refused.err
    plain.finish("succeeded")
    assert "it is succeeded" in command("hold", "plain", *store).err
    assert command("hold", "shop", "--let-go", *store).out == "nobody holds shop\n"
    assert command("hold", "shop", "--let-go", "--json", *store).json["event"] == "not held"
    assert agent.store.holds() == []
