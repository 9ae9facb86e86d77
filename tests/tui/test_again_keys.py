"""Asking a model again from the app: what is said before, what the server got, and the answers on screen."""

from __future__ import annotations

import json
import shlex
from contextlib import closing

import pytest
from tests.core.asking_again.model_server import Given, model_server
from tests.core.asking_again.recorded_talk import KEY, record_openai
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import settled
from tests.tui.waiting import until

import agent_tt
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.cli.root import run as run_command
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.again import AgainDialog
from agent_tt_tui.screens.running.answers import AnswersScreen
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.edit_form import EditArea

pytestmark = pytest.mark.warm


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server():
    with model_server() as server:
        yield server


@pytest.fixture
def store(server, tmp_path):
    record_openai(tmp_path / "runs.db", server.address, "What does it cost?", temperature=1)
    with closing(open_store(tmp_path / "runs.db")) as opened:
        yield opened


def app_of(store, name="talk", look=None):
    run = store.run(name)
    return AgentTT(lambda: DebuggerScreen(store, run, 1), look=look or Look())


def text_of(app) -> str:
    return "\n".join(screen_text(app))


async def opened(app, pilot) -> AgainDialog:
    """Press the key, and wait until all is said."""
    await settled(pilot)
    await pilot.press("Q")
    await until(pilot, lambda: isinstance(app.screen, AgainDialog))
    await said(app, pilot)
    return app.screen


async def said(app, pilot) -> None:
    await until(pilot, lambda: isinstance(app.screen, AgainDialog) and not app.screen.query_one(ActionRow).busy)
    await pilot.pause()


async def answered(app, pilot) -> AnswersScreen:
    await until(pilot, lambda: isinstance(app.screen, AnswersScreen) and app.screen.answers is not None)
    await until(pilot, lambda: app.screen.answers.is_over and app.screen._looking is None)
    await pilot.pause()
    return app.screen


async def test_all_is_said_before_and_only_the_key_sends(store, server):
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("right", "right")
        await said(app, pilot)
        shown = text_of(app)
        for words in (
            "nothing was sent yet",
            f"POST {server.address}/v1/chat/completions",
            "(this machine), with the key in",
            "OPENAI_API_KEY",
            "live (default)",
            "7 tok each, as the recorded answer; <$0.001 in all at the list",
            "nothing: as it was recorded",
        ):
            assert words in shown
        assert KEY not in shown
        assert [line.split()[1] for line in shown.splitlines() if "│  times" in line] == ["times"]
        assert app.screen.asked.times == 3
        await pilot.press("escape")
        assert len(server.asked) == 1
    assert len(store.runs()) == 1


async def test_the_answers_stand_beside_the_recorded_one_and_are_there_later(store, server):
    server.next = [
        Given("Hello."),
        Given("Hello, \x1b[31mthere\x1b[0m."),
        Given("Hello.", ("search", {"query": "x"})),
        Given("slow down", status=429),
    ]
    app = app_of(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press(*["right"] * 4)
        await said(app, pilot)
        await pilot.press("F")
        screen = await answered(app, pilot)
        assert len(server.asked) == 1 + 4
        (ran,) = app.ran.newest_first
        assert (ran.kind, ran.what, ran.run_id) == ("again", "talk, step 1, 5 times", screen._run.id)
        assert ran.command.startswith("agent-tt again talk 1")
        assert [each.status for each in screen.answers.answers] == ["answered"] * 3 + ["failed", "not sent"]
        shown = text_of(app)
        for words in ("≡ the same", "≠ differs", "429 slow down", "· not sent", "3 of 5 answers came", "2 differ"):
            assert words in shown
        assert "\x1b" not in shown
        await pilot.press("down", "down", "down")
        await pilot.pause()
        assert '+ search({"query": "x"})' in text_of(app)
        await pilot.press("y")
        assert app.clipboard == f"agent-tt again talk/again-1.1 --store {store.path}"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and app.screen.model.run.name != "talk")
        assert (await settled(pilot)).time.number == 3
    again = app_of(store, "talk/again-1.1")
    async with again.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("Q")
        await answered(again, pilot)
        assert text_of(again).partition("\n")[2].splitlines()[:6] == shown.partition("\n")[2].splitlines()[:6]
    assert len(server.asked) == 1 + 4


async def test_an_edited_request_goes_out_and_is_copied_as_a_command(store, server, capsys):
    app = app_of(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditDialog))
        area = app.screen.query_one(EditArea)
        area.text = area.text.replace("What does it cost?", "Is it dear?").replace('"temperature": 1', '"top_p": 0.5')
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, AgainDialog) and len(app.screen.asked.edits) == 3)
        await said(app, pilot)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        app.screen.query_one("Input").value = "gpt-4o"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, AgainDialog) and app.screen.asked.model == "gpt-4o")
        await said(app, pilot)
        shown = text_of(app)
        assert "gpt-4o, in place of gpt-4o-mini" in shown
        assert "messages[0].content" in shown
        assert "Is it dear?" in shown
        await pilot.press("y")
        command = app.clipboard
        await pilot.press("F")
        screen = await answered(app, pilot)
        assert screen.answers.asked.model == "gpt-4o"
    sent = server.asked[-1].body
    assert (sent["model"], sent["messages"][0]["content"], sent["top_p"]) == ("gpt-4o", "Is it dear?", 0.5)
    assert "temperature" not in sent
    assert run_command([*shlex.split(command)[1:], "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["body"], plan["times"], plan["url"]) == (sent, 1, f"{server.address}/v1/chat/completions")


async def test_a_part_that_was_redacted_is_not_sent_until_it_is_edited(server, tmp_path):
    record_openai(tmp_path / "runs.db", server.address, f"my key is {KEY}")
    with closing(open_store(tmp_path / "runs.db")) as store:
        app = app_of(store)
        async with app.run_test(size=(120, 40)) as pilot:
            await opened(app, pilot)
            assert "messages[0].content was redacted" in text_of(app)
            assert "write what is to be sent there (e), or leave it out (e)" in text_of(app)
            await pilot.press("F")
            await pilot.pause()
            assert isinstance(app.screen, AgainDialog)
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, EditDialog))
            area = app.screen.query_one(EditArea)
            area.text = json.dumps({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "none"}]})
            await pilot.press("ctrl+s")
            await until(pilot, lambda: isinstance(app.screen, AgainDialog) and app.screen.plan is not None)
            await pilot.pause()
            assert app.screen.query_one(ActionRow).trouble == ("", "")
            assert 'changed   messages[0].content  "my key is <redacted>" → "none"' in text_of(app)
            await pilot.press("F")
            await answered(app, pilot)
    assert [each.body["messages"][0]["content"] for each in server.asked[1:]] == ["none"]


async def test_a_key_that_is_not_set_is_said_and_a_key_itself_is_never_taken(store, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gate.example/v1")
    app = app_of(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        assert "OPENAI_API_KEY is not set, so gate.example cannot be asked" in text_of(app)
        await pilot.press("k")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        app.screen.query_one("Input").value = KEY
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, PromptDialog)
        assert "name the variable, not the key" in text_of(app)
        monkeypatch.setenv("MINE", "any")
        app.screen.query_one("Input").value = "MINE"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, AgainDialog) and app.screen.plan is not None)
        await pilot.pause()
        assert "with the key in MINE" in text_of(app)
    assert len(server.asked) == 1


async def test_what_waits_is_stopped_by_a_key(store, server):
    server.next = [Given(), Given(waits=True)]
    app = app_of(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("right", "right")
        await said(app, pilot)
        await pilot.press("F")
        await until(pilot, lambda: len(server.asked) == 3)
        await until(pilot, lambda: isinstance(app.screen, AnswersScreen) and app.screen.answers is not None)
        await pilot.press("S")
        screen = await answered(app, pilot)
        assert [each.status for each in screen.answers.answers] == ["answered", "stopped", "not sent"]
        assert "1 stopped" in text_of(app)
    assert store.runs()[0].status == "interrupted"


async def test_what_is_left_while_it_runs_goes_on_and_is_not_lost(store, server):
    server.next = [Given(waits=True)]
    app = app_of(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("F")
        await until(pilot, lambda: len(server.asked) == 2)
        await until(pilot, lambda: isinstance(app.screen, AnswersScreen) and app.screen.answers is not None)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        assert "goes on running; the list of runs has it again" in screen_text(app)[-1]
        server.goes_on.set()
        await until(pilot, lambda: store.runs()[0].status == "succeeded")


async def test_a_step_that_asked_no_model_and_calls_without_a_request_say_so(tmp_path):
    @agent_tt.llm
    def think(question):
        return "yes"

    with agent_tt.record("plain", store=tmp_path / "plain.db") as run:
        with run.step("think"):
            think("?")
        with run.step("rest"):
            pass
    with closing(open_store(tmp_path / "plain.db")) as store:
        app = app_of(store, "plain")
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(app, pilot)
            assert "cannot be sent again" in text_of(app)
            await pilot.press("F", "e")
            await pilot.pause()
            assert isinstance(app.screen, AgainDialog)
            await pilot.press("escape", "right")
            screen = await settled(pilot)
            assert screen.blocked("again.open") == "this step asked no model"
