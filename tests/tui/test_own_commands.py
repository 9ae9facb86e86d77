"""Commands of the user's own: what stands in braces is handed on as one word each, and no shell reads it."""

import shlex
import string
import sys

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled
from fake_source import FakeSource, refund_loop
from hypothesis import given
from hypothesis import strategies as st

from agent_tt import config
from agent_tt.config import OwnCommand
from agent_tt.errors import UsageError
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.features import own_commands as feature
from agent_tt_tui.settings import chosen_look
from agent_tt_tui.viewmodel.own_commands import NAMES, filled, read_line

VALUE = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)


@given(st.fixed_dictionaries(dict.fromkeys(NAMES, VALUE)))
def test_each_value_is_one_word_whatever_it_holds(values):
    line = "show --at={step} '{value}' {path}{name} {run} {store}"
    at, value, both, run, store = filled(line, "show", values)[1:]
    assert at == f"--at={values['step']}"
    assert (value, both, run, store) == (
        values["value"], values["path"] + values["name"], values["run"], values["store"],
    )  # fmt: skip


@given(st.text(string.printable, max_size=20))
def test_any_line_is_read_or_refused_by_the_name_of_its_command(line):
    try:
        words = read_line(line, "mine")
    except UsageError as error:
        assert "commands.mine" in error.message  # noqa: PT017 - a refusal in words is a good end
    else:
        assert words == shlex.split(line)


def test_what_is_not_there_or_cannot_be_given_is_refused():
    with pytest.raises(UsageError, match="none is selected"):
        filled("x {value}", "x", dict.fromkeys(NAMES))
    with pytest.raises(UsageError, match="no program can be given"):
        filled("x {value}", "x", dict.fromkeys(NAMES, "a\0b"))


def settings(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    return config.read_user(path)


def test_they_stand_in_the_users_own_settings_alone(tmp_path):
    found = settings(tmp_path, 'commands = { log = "less {run}.log", issue = { run = "gh issue", key = "f9" } }')
    assert found.commands == {"log": OwnCommand("less {run}.log"), "issue": OwnCommand("gh issue", "f9")}
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.agent-tt]\ncommands = { log = "rm -rf /" }\n')
    with pytest.raises(UsageError, match="your own settings alone"):
        config.read_project(project)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('commands = { a = "x {colour}" }', "no {colour}"),
        ('commands = { a = "x \'y" }', "cannot be read"),
        ('commands = { a = { run = "x", key = "e" } }', "is the key of edit.value"),
        ('commands = { a = { run = "x", key = "no such" } }', "there is none"),
        ('commands = { a = { run = "x", key = "f9" }, b = { run = "y", key = "f9" } }', "is the key of commands.a"),
        ("commands = { a = 1 }", "a line or a table"),
        ('commands = { a = { run = "" } }', "not empty"),
        ("commands = 1", "must be a table"),
    ],
)
def test_what_makes_no_sense_is_refused_when_the_settings_are_read(tmp_path, text, why):
    with pytest.raises(UsageError, match=why.replace("{", r"\{")):
        chosen_look(settings(tmp_path, text))


async def test_the_palette_and_a_key_run_them_on_what_is_shown(monkeypatch):
    called = []
    monkeypatch.setattr(feature, "_call", lambda words: called.append(words) or 0)
    monkeypatch.setattr("agent_tt_tui.screens.dialogs.external.with_terminal", lambda _app, work: work())
    mine = {"tell me": OwnCommand("tell {step} {path}", "f9"), "value": OwnCommand("say {value}")}
    async with debugger(refund_loop(), step=2, look=Look(commands=mine)).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        screen.panes.inspector.show_value(("notes",))
        await settled(pilot)
        await pilot.press("f9")
        await settled(pilot)
        assert called == [["tell", "2", "notes"]]
        await pilot.press("ctrl+p", *"tell")
        assert "YOUR OWN" in "\n".join(screen_text(pilot.app))
        await pilot.press("enter")
        await settled(pilot)
        assert called == [["tell", "2", "notes"]] * 2
        assert "tell me is done" in screen_text(pilot.app)[-1]


@pytest.mark.parametrize("key", [EOFError, KeyboardInterrupt])
def test_ctrl_d_and_ctrl_c_go_back_from_what_it_wrote(monkeypatch, key):
    def pressed(_words):
        raise key

    monkeypatch.setattr("builtins.input", pressed)
    assert feature._call([sys.executable, "-c", "raise SystemExit(3)"]) == 3


async def test_a_command_about_a_value_says_that_none_is_selected():
    mine = {"value": OwnCommand("say {value}", "f9")}
    async with debugger(FakeSource([None]), look=Look(commands=mine)).run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("f9")
        assert "none is selected" in screen_text(pilot.app)[-1]
