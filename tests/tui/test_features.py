"""Screens are composed of features: no long chains of classes, and each command is answered once."""

import importlib
import inspect
import pkgutil
from types import SimpleNamespace

import pytest
from textual.actions import parse
from textual.message import Message
from textual.widget import Widget

import agent_tt_tui
from agent_tt_tui.feature import Feature, hearing, hears
from agent_tt_tui.keymaps import COMPARE, DEBUGGER, RUNS, SWEEP, TABLE
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.compare.table import TableScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.screens.sweep.screen import SweepScreen

MOST_BASES = 2


def classes(kind):
    """Every class of the package that is a kind of another."""
    found = set()
    for module in pkgutil.walk_packages(agent_tt_tui.__path__, "agent_tt_tui."):
        if not module.name.endswith("__main__"):
            members = vars(importlib.import_module(module.name)).values()
            found |= {each for each in members if inspect.isclass(each) and issubclass(each, kind)}
    return {each for each in found if each.__module__.startswith("agent_tt_tui")}


def own_bases(each):
    return [base for base in each.__mro__[1:] if base.__module__.startswith("agent_tt_tui")]


@pytest.mark.parametrize("kind", [Widget, Feature])
def test_nothing_inherits_through_more_than_two_classes_of_ours(kind):
    found = classes(kind)
    assert len(found) > 20
    long = {each.__name__: [base.__name__ for base in own_bases(each)] for each in found}
    assert {name: bases for name, bases in long.items() if len(bases) > MOST_BASES} == {}


@pytest.fixture
def screens(sample_store):
    """Every screen that is composed of features, with its context."""
    run = sample_store.run("refund-loop")
    return [
        (DebuggerScreen(sample_store, run), DEBUGGER),
        (RunsScreen(sample_store), RUNS),
        (CompareScreen(sample_store, run, sample_store, run), COMPARE),
        (TableScreen(sample_store, run), TABLE),
        (SweepScreen(sample_store, "a sweep"), SWEEP),
    ]


def test_each_command_is_answered_by_one_feature_or_by_the_screen(screens):
    for screen, context in screens:
        commands = [command for command in context.commands if command.scope == "screen"]
        assert {each for feature in screen.features for each in feature.COMMANDS} <= {
            command.id for command in commands
        }
        for command in commands:
            owners = [feature for feature in screen.features if command.id in feature.COMMANDS]
            assert len(owners) <= 1, command.id
            namespace, name, arguments = parse(command.action)
            if namespace:
                assert (namespace, owners) == ("app", []), command.id
                continue
            owner = owners[0] if owners else screen
            assert owner is screen or not hasattr(screen, f"action_{name}"), f"{command.id} is answered twice"
            inspect.signature(getattr(owner, f"action_{name}")).bind(*arguments)


def test_every_feature_is_listed_by_a_screen(screens):
    listed = {type(feature) for screen, _ in screens for feature in screen.features}
    of_dialogs = {each for each in classes(Feature) if each.__name__ in ("Attempt", "DialogRows")}
    bases = {base for each in listed for base in own_bases(each)}
    assert classes(Feature) == listed | of_dialogs | bases


class Said(Message):
    """A message of a test."""


class Other(Said):
    """A kind of it, which is another."""


class Listening(Feature):
    def __init__(self):
        self.heard = []

    @hears(Said)
    def _on_said(self, message):
        self.heard.append(message)

    @hears(Said)
    def _on_said_too(self, message):
        self.heard.append(message)

    def action_move(self, rows, *, far=False):
        self.heard.append((rows, far))


def test_a_feature_hears_messages_of_exactly_the_kinds_that_it_names():
    feature, said = Listening(), Said()
    hear = hearing([feature])
    for message in (said, Other()):
        for each in hear.get(type(message), ()):
            each(message)
    assert feature.heard == [said, said]


def test_a_feature_runs_the_action_that_the_command_names():
    feature = Listening()
    feature.run(SimpleNamespace(action="move(-3)"))
    assert feature.heard == [(-3, False)]
