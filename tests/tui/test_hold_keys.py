"""Holding a running agent in the app: `Z` holds and lets go, what waits is asked about, its state can be changed."""

from contextlib import closing

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.model import Call, Edit, NewCall, NewRun, NewStep
from agent_tt.model.facts import RunFacts
from agent_tt.questions import NewQuestion
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.ask import AskDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.viewmodel.calls.decided import decided_lines


class Agent:
    """A run that goes on, whose agent is this process."""

    def __init__(self, store, *, attached=True):
        self.store = store
        self.writer = store.begin_run(
            NewRun("shop", metadata=RunFacts.attached.true() if attached else {}), {"log": []}
        )
        self.run = store.run(self.writer.run_id)

    def waits(self, **args):
        (hold,) = self.store.holds(self.run.id)
        step = self.writer.open_step(NewStep("pay"))
        call = self.writer.begin_call(step, NewCall("tool", "charge", args, "00" * 16, "write", lane="main/task.1"))
        new = NewQuestion(editable=tuple(args), hold=hold.id, state={"budget": 10}, can_edit_state=True)
        return self.writer.ask(step, call, new)


@pytest.fixture
def store(tmp_path):
    with closing(open_store(tmp_path / "runs.db", create=True)) as opened:
        yield opened


async def test_z_holds_a_run_its_state_is_changed_and_z_lets_go(store, monkeypatch):
    monkeypatch.setattr(AskDialog, "GRACE_SECONDS", 3600)
    agent = Agent(store)
    app = AgentTT(lambda: DebuggerScreen(store, agent.run), look=Look())
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "hold" in screen_text(app)[-1])
        await pilot.press("Z")
        await until(pilot, lambda: store.holds(agent.run.id))
        assert [hold.by for hold in store.holds(agent.run.id)] == ["app"]
        asked = agent.waits(amount=20)
        await until(pilot, lambda: isinstance(app.screen, AskDialog) and app.screen.is_mounted)
        dialog = app.screen
        dialog._be_ready()
        assert "charge is held in lane main/task.1" in "\n".join(screen_text(app))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press(*"budget=3", "enter")
        await until(pilot, lambda: app.screen is dialog and "state.budget" in "\n".join(screen_text(app)))
        await pilot.press("F")
        await until(pilot, lambda: asked.decision())
        decision = asked.decision()
        assert (decision.word, decision.by) == ("run", "app")
        assert decision.state == (Edit("set", "budget", 3, 10),)
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        await pilot.press("Z")
        await until(pilot, lambda: not store.holds(agent.run.id))


async def test_a_run_is_held_from_the_list_of_runs_too(store):
    agent = Agent(store)
    app = AgentTT(lambda: RunsScreen(store), look=Look())
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunsScreen) and app.screen.blocked("live.hold") is None)
        await pilot.press("Z")
        await until(pilot, lambda: store.holds(agent.run.id))


async def test_a_run_that_was_not_recorded_to_be_held_says_so(store):
    agent = Agent(store, attached=False)
    screen = DebuggerScreen(store, agent.run)
    app = AgentTT(lambda: screen, look=Look())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert "--attach" in screen.blocked("live.hold")
        agent.writer.finish("succeeded")


def test_a_call_that_was_held_says_what_was_decided_and_changed():
    def lines(**meta):
        call = Call(1, 1, "tool", "charge", "ok", args={"amount": 5}, meta=meta)
        return ["".join(text for text, _ in line.pieces).strip() for line in decided_lines(call, UNICODE)]

    edits = [{"op": "set", "path": "budget", "value": 3, "old": 10}]
    said = lines(hold={"number": 1, "state": edits}, answered={"word": "run", "by": "app"})
    assert said[-1] == "state.budget 10 → 3"
    assert "you let it go out" in said[1]
    assert "held, and let go" in lines(hold={"number": 1}, answered={"word": "run", "by": "nobody"})[1]
