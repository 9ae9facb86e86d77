"""The log: what was run from the app with its commands, what went out, and what undo takes back."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from fake_source import refund_loop
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.waiting import until, workers_ended

from agent_tt.config import OwnCommand
from agent_tt.errors import UsageError
from agent_tt.forking.outside import ledger
from agent_tt.model import Edit
from agent_tt.resuming.plan import Happened, ResumePlan
from agent_tt_tui.app import AgentTT
from agent_tt_tui.cli.running.fork import command as fork
from agent_tt_tui.cli.running.replay import command as replay
from agent_tt_tui.cli.running.resume import command as resume
from agent_tt_tui.cli.sweeping.sweep import command as sweep
from agent_tt_tui.look import Look
from agent_tt_tui.ran import RanLog
from agent_tt_tui.screens.debugger.features import own_commands as feature
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.log import LogDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.screens.running.replay import ReplayDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.viewmodel.running.as_command import edit_words, pdb_command, resume_command, sweep_resume_command


def said(command, text):
    words = shlex.split(text)
    assert words[0] == "agent-tt"
    return dict(command.make_context(words[1], words[2:]).params)


def shown(app) -> str:
    return "\n".join(screen_text(app))


async def log(pilot) -> LogDialog:
    await pilot.press("!")
    await until(pilot, lambda: isinstance(pilot.app.screen, LogDialog))
    await workers_ended(pilot.app)
    await pilot.pause()
    return pilot.app.screen


@pytest.mark.warm
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_fork_is_there_with_its_command_with_what_went_out_and_its_run_opens(sample_store, size):
    app, handles = AgentTT(lambda: RunsScreen(sample_store), look=Look()), []
    async with app.run_test(size=size) as pilot:
        edit = Edit("set", "budget.max_searches", 19)
        dialog = ForkDialog(sample_store, sample_store.run("refund-loop"), 19, (edit,))
        app.push_screen(dialog, handles.append)
        await until(pilot, lambda: dialog.is_mounted and dialog.plan is not None)
        await workers_ended(app)
        await pilot.press("F")
        await until(pilot, lambda: bool(handles))
        handles[0].wait()
        await log(pilot)
        (ran,) = app.ran.newest_first
        assert said(fork, ran.command)["run"] == "refund-loop"
        assert "budget.max_searches=19" in ran.command
        assert "refund-loop, from step 19" in shown(app)
        assert "agent-tt fork refund-loop" in shown(app)
        assert "nothing that was recorded" in shown(app)
        assert "takes back no run" in " ".join(shown(app).split())
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        assert app.screen.model.run.id == handles[0].run_id


async def test_what_went_out_is_said_of_the_run_and_what_cannot_be_read_is_not_known(sample_store, monkeypatch):
    run = sample_store.run("flaky-checkout")
    app = AgentTT(lambda: RunsScreen(sample_store), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        app.ran.add("fork", "mine", lambda: "agent-tt fork x", source=sample_store, run_id=run.id)
        await log(pilot)
        assert "failed: charge_card ×3" in shown(app)
        await pilot.press("escape")

        def unreadable(*_args, **_names):
            raise UsageError("it is gone")

        monkeypatch.setattr(ledger, "effects_of", unreadable)
        await log(pilot)
        assert "not known: it is gone" in shown(app)


async def test_an_edit_says_how_undo_takes_it_back_and_that_nothing_went_out(sample_store):
    app = AgentTT(lambda: DebuggerScreen(sample_store, sample_store.run("refund-loop"), 3), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        for edit in (Edit("set", "attempts", 7), Edit("delete", "notes")):
            screen.editing.edit([edit])
            await settled(pilot)
        await log(pilot)
        rows = [row for row in shown(app).splitlines() if "edit  " in row]
        assert ["delete notes" in rows[0], "set attempts=7" in rows[1]] == [True, True]
        assert "u pressed once in the debugger takes it back" in shown(app)
        await pilot.press("down")
        await pilot.pause()
        assert "u pressed 2 times" in shown(app)
        assert "no fork has run with it yet" in shown(app)
        await pilot.press("y")
        assert "an edit is no command" in shown(app)


@pytest.mark.warm
async def test_a_replay_is_there_with_its_command_once_it_has_a_result(sample_store):
    app, ended = AgentTT(lambda: RunsScreen(sample_store), look=Look()), []
    async with app.run_test(size=(120, 40)) as pilot:
        dialog = ReplayDialog(sample_store, sample_store.run("refund-loop"))
        app.push_screen(dialog, ended.append)
        await until(pilot, lambda: dialog.is_mounted and dialog.blocked("replay.run") is None)
        assert not app.ran.newest_first
        await pilot.press("enter")
        await until(pilot, lambda: bool(ended))
        (ran,) = app.ran.newest_first
        assert (ran.kind, ran.what, said(replay, ran.command)["run"]) == ("replay", "refund-loop", "refund-loop")


async def test_a_replay_that_was_stopped_is_there_and_one_that_could_not_begin_is_not(sample_store):
    app = AgentTT(lambda: RunsScreen(sample_store), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        dialog = ReplayDialog(sample_store, sample_store.run("refund-loop"))
        app.push_screen(dialog)
        await until(pilot, lambda: dialog.is_mounted and dialog.blocked("replay.run") is None)
        dialog._replay = lambda *_args, **_names: None
        await pilot.press("enter", "escape")
        await until(pilot, lambda: bool(app.ran.newest_first))
        assert [ran.what for ran in app.ran.newest_first] == ["refund-loop, stopped"]
        dialog._ended(None, None, ("it cannot begin", ""))
        assert len(app.ran.newest_first) == 1


async def test_commands_of_the_users_own_are_there_as_they_were_run_and_nothing_more_is_claimed(monkeypatch):
    monkeypatch.setattr(feature, "_call", lambda _words: 0)
    monkeypatch.setattr("agent_tt_tui.screens.dialogs.external.with_terminal", lambda _app, work: work())
    mine = {"tell": OwnCommand("tell {step} 'two words'", "f9")}
    async with debugger(refund_loop(), step=2, look=Look(commands=mine)).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("f9")
        await settled(pilot)
        await log(pilot)
        text = shown(pilot.app)
        assert "tell 2 'two words'" in text
        assert text.count("not known: agent-tt does not look into commands of your own") == 2
        await pilot.press("y")
        assert pilot.app.clipboard == "tell 2 'two words'"


async def test_where_nothing_was_run_that_is_said(sample_store):
    app = AgentTT(lambda: RunsScreen(sample_store), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await log(pilot)
        assert "nothing was run from here yet" in shown(app)
        await pilot.press("y", "enter", "escape")
        await until(pilot, lambda: isinstance(app.screen, RunsScreen))


def test_what_no_command_says_has_the_reason_and_the_newest_is_first():
    def refused():
        raise UsageError("its store is on a server")

    kept = RanLog()
    kept.add("fork", "one", lambda: "agent-tt fork a")
    kept.add("fork", "two", refused)
    assert [(ran.what, ran.command, ran.why) for ran in kept.newest_first] == [
        ("two", "", "its store is on a server"),
        ("one", "agent-tt fork a", ""),
    ]


def test_commands_of_resumes_sweeps_and_pdb_read_back_as_they_were_run(sample_store):
    run = sample_store.run("refund-loop")
    decided = {(2, 1): Happened({"id": "é"}), (3, 1): None}
    plan = ResumePlan(sample_store.path, run, 1, (), (), decided=decided)
    read = said(resume, resume_command(sample_store, plan))
    assert (read["run"], read["not_happened"], read["redo_unrecorded"]) == ("refund-loop", ("3.1",), False)
    assert read["happened"] == ('2.1={"id": "é"}',)
    assert said(resume, resume_command(sample_store, replace(plan, redo_unrecorded=True)))["redo_unrecorded"]
    assert said(sweep, sweep_resume_command(sample_store, "s7"))["resume"] == "s7"
    read = said(replay, pdb_command(sample_store, run, 3))
    assert (read["run"], read["with_pdb"], read["at"]) == ("refund-loop", True, "3")


def test_an_edit_that_no_option_says_is_named_by_its_place():
    assert edit_words(Edit("set", "budget.left", 3)) == "set budget.left=3"
    odd = Edit("delete", "x", target="result", step=3, call=1)
    assert edit_words(odd) == "delete result of call 1 in step 3, x"
