"""A call that waits, in the app: every screen says so, the dialog opens where one watches, its answer counts."""

from contextlib import closing
from dataclasses import replace

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.model import Call, NewCall, NewFork, NewRun, NewStep
from agent_tt.questions import Decision, NewQuestion
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.running.ask import AskDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.viewmodel.calls.decided import decided_lines, waiting_line
from agent_tt_tui.widgets.dialogs.edit_form import EditArea

HOSTILE = "\x1b[31mred\x1b[0m \u202egnorw [bold]markup[/bold]"


class Fork:
    """A fork that is running, whose agent is this process."""

    def __init__(self, store):
        self.store = store
        original = store.begin_run(NewRun("shop"), {"log": []})
        original.finish("succeeded")
        self.original = store.run(original.run_id)
        run_id = store.begin_fork(NewFork(original.run_id, 0, state={"log": []}, new=NewRun("")))
        self.writer = store.adopt_run(run_id, NewRun(""), {})
        self.run = store.run(run_id)

    def ask(self, **args):
        """A step with a call that waits."""
        step = self.writer.open_step(NewStep("pay"))
        call = self.writer.begin_call(step, NewCall("tool", "charge", args, "00" * 16, "write"))
        return self.writer.ask(step, call, NewQuestion(editable=tuple(args)))

    def app(self, screen, **options):
        sources = {
            DebuggerScreen: lambda: DebuggerScreen(self.store, self.run),
            CompareScreen: lambda: CompareScreen(self.store, self.original, self.store, self.run),
            RunsScreen: lambda: RunsScreen(self.store),
        }
        return AgentTT(sources[screen], look=Look(**options))


@pytest.fixture
def fork(tmp_path):
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        yield Fork(store)


def text_of(app):
    return "\n".join(screen_text(app))


async def opened(app, pilot):
    await until(pilot, lambda: isinstance(app.screen, AskDialog) and app.screen.is_mounted)
    await pilot.pause()
    return app.screen


async def test_the_dialog_opens_by_itself_and_an_edited_argument_is_what_is_answered(fork, monkeypatch):
    monkeypatch.setattr(AskDialog, "GRACE_SECONDS", 3600)
    asked = fork.ask(amount=20, note=HOSTILE)
    app = fork.app(DebuggerScreen)
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = await opened(app, pilot)
        text = text_of(app)
        assert "charge waits for you" in text
        assert '"amount": 20' in text
        assert "it writes" in text
        assert "[bold]markup[/bold]" in text
        assert "\x1b[31m" not in text
        assert "\u202e" not in text
        await pilot.press("F")
        await pilot.pause()
        assert app.screen is dialog, "a key that was on its way to the screen below decides nothing"
        assert "just opened" in screen_text(app)[-1]
        assert "just opened" in dialog.blocked("ask.run")
        dialog.say("")  # as its time would, which is long here
        dialog._be_ready()
        assert dialog.blocked("ask.run") is None
        await pilot.press("e")
        await until(pilot, lambda: screen_text(app)[-1].endswith("esc stop typing  F1 help"))
        assert screen_text(app)[-1].startswith(" ^s done typing  ^r reset  ^e open in $EDITOR ")
        area = dialog.query_one(EditArea)
        area.text = '{"amount": 7'
        await until(pilot, lambda: "not JSON" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: screen_text(app)[-1].startswith(" F run  e edit"))
        await pilot.press("F")
        await until(pilot, lambda: dialog.blocked("ask.run") == "line 1, column 13: not JSON: expecting ',' delimiter")
        area.text = '{"amount": "7"}'
        await until(pilot, lambda: "amount was int, now str" in text_of(app))
        area.text = '{"amount": 7}'
        await until(pilot, lambda: "amount still an int" in text_of(app))
        assert "F run it as edited" in text_of(app)
        assert "amount 20 → 7" in text_of(app)
        assert asked.decision() is None
        await pilot.press("F")
        await until(pilot, asked.decision)
        assert asked.decision() == Decision("run", args={"amount": 7}, by="app")


@pytest.fixture
def ready_at_once(monkeypatch):
    monkeypatch.setattr(AskDialog, "GRACE_SECONDS", 0.01)


@pytest.mark.usefixtures("ready_at_once")
async def test_later_leaves_it_waiting_and_everything_says_so_until_it_is_decided(fork):
    first = fork.ask(amount=20)
    app = fork.app(DebuggerScreen)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        text = screen_text(app)
        assert "▲ waits for you" in text[0]
        assert any("pay" in line and "waits" in line and "▲" in line for line in text)
        fork.store.add_note(fork.run.id, None, "note", "the store has changed")
        await until(pilot, lambda: not app.screen.approvals.is_reading)
        assert isinstance(app.screen, DebuggerScreen), "it does not open by itself again"
        await pilot.press("Y")
        await opened(app, pilot)
        await pilot.press("d", *"late", "enter")
        await until(pilot, first.decision)
        assert first.decision() == Decision("refuse", why="late", by="app")
        second = fork.ask(amount=30)
        dialog = await opened(app, pilot)
        await until(pilot, lambda: dialog.blocked("ask.give") is None)
        await pilot.press("g", *"{", "enter")
        assert second.decision() is None
        await pilot.press("backspace", *"[1]", "enter")
        await until(pilot, second.decision)
        assert second.decision() == Decision("give", value=[1], by="app")
        await until(pilot, lambda: "waits for you" not in screen_text(app)[0])


@pytest.mark.usefixtures("ready_at_once")
async def test_beside_its_original_the_newest_question_opens_after_the_one_before(fork):
    questions = [fork.ask(amount=amount) for amount in (1, 2)]
    app = fork.app(CompareScreen)
    async with app.run_test(size=(140, 40)) as pilot:
        for number, asked in enumerate(questions, 1):
            dialog = await opened(app, pilot)
            text = text_of(app)
            assert f'"amount": {number}' in text
            assert "▲ waits for you" in screen_text(app)[0]
            assert any("▲ waits" in line and "pay" in line for line in screen_text(app))
            await until(pilot, lambda dialog=dialog: dialog.blocked("ask.error") is None)
            await pilot.press("x", *"OSError: no", "enter")
            await until(pilot, asked.decision)
            assert asked.decision().error.short == "OSError: no"
            await until(pilot, lambda dialog=dialog: app.screen is not dialog)


async def test_the_list_of_runs_names_the_run_and_a_question_that_is_gone_closes_its_dialog(fork):
    asked = fork.ask(amount=20)
    app = fork.app(RunsScreen, glyphs=ASCII)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: any("fork-1" in line and "^ waits" in line for line in screen_text(app)))
        assert isinstance(app.screen, RunsScreen), "where nobody watches the run, nothing opens by itself"
        await pilot.press("Y")
        await opened(app, pilot)
        asked.withdraw()
        await until(pilot, lambda: isinstance(app.screen, RunsScreen))
        assert "no longer needs a decision" in text_of(app)
        assert app.screen.blocked("live.answer") == "nothing waits for a decision here"


def said(call):
    lines = [*decided_lines(call, ASCII), waiting_line(call, ASCII, is_running=True)]
    return [text for line in lines if line is not None and (text := "".join(text for text, _ in line.pieces))]


def test_the_call_tells_what_was_decided_of_it():
    call = Call(1, 1, "tool", "charge", "ok", args={"amount": 7, "note": HOSTILE}, meta={"policy": {"word": "ask"}})
    assert said(call) == ["  ^ waits for you"]
    facts = {**call.meta, "answered": {"word": "run", "edited": ["amount"], "by": "app"}, "args_asked": {"amount": 20}}
    assert said(replace(call, meta=facts)) == ["^ you edited it, and let it go out", "  amount 20 > 7"]
    refused = {"answered": {"word": "refuse", "why": HOSTILE, "by": "terminal"}}
    (line,) = said(replace(call, meta=refused))
    assert line.startswith("^ you refused it: ")
    assert "\x1b" not in line
    assert said(replace(call, meta={"answered": {"word": "refuse", "why": "no terminal", "by": "nobody"}})) == [
        "^ it was refused, because nobody could be asked"
    ]
    by_program = {"word": "give", "by": "program"}
    assert said(replace(call, meta={"answered": by_program})) == ["^ it was not made: a program gave its answer"]
    assert said(replace(call, meta={"answered": "odd"})) == []
