"""Editing everything by keys, in the debugger over the sample runs: calls, messages, states, steps; then a fork."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended
from textual.widgets import Input

from agent_tt.errors import InvalidEdit
from agent_tt.model import Edit
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.running.fork import ForkDialog
from agent_tt_tui.viewmodel.edits.pending import Pending
from agent_tt_tui.viewmodel.edits.placing import insertion, insertion_text
from agent_tt_tui.viewmodel.edits.subjects import of_call
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.edit_form import EditArea


class Driven:
    """A debugger that is driven by keys."""

    def __init__(self, pilot, screen):
        self.pilot, self.app, self.screen = pilot, pilot.app, screen

    @property
    def text(self):
        return "\n".join(screen_text(self.app))

    @property
    def edits(self):
        pending = self.screen.model.pending
        return [] if pending is None else [(e.target, e.op, e.step, e.call, e.path) for e in pending.edits]

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await workers_ended(self.app)
        await self.pilot.pause()

    async def answer(self, key, text):
        """Give a line to the prompt that a key opens."""
        await self.press(key)
        self.app.screen.query_one(Input).value = text
        await self.press("enter")

    async def type_into(self, text):
        """Type into the edit dialog, and keep it."""
        await until(self.pilot, lambda: isinstance(self.app.screen, EditDialog))
        self.app.screen.query_one(EditArea).text = text
        await self.press("ctrl+s")


@asynccontextmanager
async def opened(source, run, step, size=(80, 24)):
    app = AgentTT(lambda: DebuggerScreen(source, source.run(run), step), look=Look())
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        await until(pilot, lambda: isinstance(screen, DebuggerScreen) and screen.time.view is not None)
        await workers_ended(app)
        yield Driven(pilot, screen)


async def test_a_calls_result_is_edited_or_made_an_error_and_one_of_another_step_is_refused_at_the_list(sample_store):
    async with opened(sample_store, "trip-planner", 6) as driven:
        await driven.press("2", "e")
        await driven.type_into("{")
        assert "not JSON" in driven.text
        await driven.type_into('{"hotel": "Ritz", "rating": 5}')
        assert driven.edits == [("result", "set", 6, 2, "")]
        assert "PENDING EDITS  1 in 6" in driven.text
        await driven.press("e", "ctrl+t")
        assert "TimeoutError: no answer" in driven.text
        await driven.type_into("NoSuchError")
        assert driven.edits == [("result", "set", 6, 2, "")]
        assert isinstance(driven.app.screen, EditDialog)
        await driven.type_into("ValueError: no such hotel")
        assert driven.edits == [("error", "set", 6, 2, "")]
        await driven.press("s")
        assert "cannot be muted" in driven.text
        await driven.press("u")
        assert driven.edits == []


async def test_a_models_answer_is_words_or_tool_calls(sample_store):
    run = sample_store.run("trip-planner")
    call = next(c for c in sample_store.calls(run.id, 1) if c.kind == "llm")
    subject = of_call(sample_store, run.id, call)
    forms = [subject.form, *(other.form for other in subject.others)]
    assert forms == ["tool calls", "error"]
    assert [asked["name"] for asked in subject.value] == ["find_traveller"]
    assert subject.check(subject.make("Ask somebody else.")) is None
    last = next(c for c in sample_store.calls(run.id, 11) if c.kind == "llm")
    words = of_call(sample_store, run.id, last)
    assert isinstance(words.value, str)
    assert words.other().value == {"text": words.value, "tool_calls": []}
    assert of_call(sample_store, run.id, last, [Edit("set", "", "No.", target="answer")]).value == "No."
    function = {"name": "pay", "arguments": '{"euros": 3}'}
    message = {"role": "assistant", "content": "I pay.", "tool_calls": [{"id": "a", "function": function}]}
    exchange = replace(
        last,
        args={
            "method": "POST",
            "url": "https://api.openai.com/v1/chat/completions",
            "body": {"model": "m", "messages": [{"role": "user", "content": "?"}]},
        },
        result={
            "status": 200,
            "headers": {"content-type": "application/json"},
            "body": {"choices": [{"message": message}]},
        },
    )
    both = {"text": "I pay.", "tool_calls": [{"name": "pay", "arguments": {"euros": 3}}]}
    assert of_call(sample_store, run.id, exchange).value == both


async def test_a_message_is_edited_and_removed_where_it_is_read(sample_store):
    async with opened(sample_store, "trip-planner", 6, (140, 40)) as driven:
        await driven.press("4", "tab", "g", "e")
        await driven.type_into("You plan cheap trips.")
        assert driven.edits == [("state", "set", None, None, "messages[0].content")]
        assert "You plan cheap trips." in driven.text
        await driven.press("delete")
        assert driven.edits[-1] == ("state", "delete", None, None, "messages[0]")


async def test_values_are_inserted_and_moved_and_each_edit_can_be_taken_out_of_the_list(sample_store):
    async with opened(sample_store, "trip-planner", 6, (140, 40)) as driven:
        await driven.press("tab")
        await driven.answer("a", "extra=[1]")
        await driven.answer("a", "extra=2")
        assert "is there already" in driven.text
        await driven.press("escape")
        await driven.answer("a", "extra[0]=0")
        await driven.answer("p", "moved")
        assert [op for _, op, *_ in driven.edits] == ["set", "insert", "move"]
        await driven.press("tab", "G", "g", "delete")
        assert "extra" in driven.text  # the second does not fit without the first
        assert len(driven.edits) == 3
        await driven.press("down", "down", "delete")
        assert len(driven.edits) == 2


async def test_a_muted_step_waits_in_the_list_and_the_fork_begins_where_one_looks(sample_store):
    async with opened(sample_store, "trip-planner", 5) as driven:
        await driven.press("s")
        assert driven.edits == [("step", "mute", 5, None, "")]
        assert "step 5, muted" in driven.text
        assert [row[:33].split()[1] for row in screen_text(driven.app) if row[:33].rstrip().endswith("±")] == ["5"]
        await driven.press("right", "right", "f")
        dialog = driven.app.screen
        assert isinstance(dialog, ForkDialog)
        await until(driven.pilot, lambda: not dialog.query_one(ActionRow).busy)
        assert "after step 7" in driven.text
        assert "muted: as if it had never happened" in driven.text
        await driven.press("escape", "left", "left", "s")
        assert driven.edits == []


async def test_what_a_fork_could_not_do_is_said_with_the_edits_as_soon_as_it_is_made(sample_store):
    async with opened(sample_store, "trip-planner", 6) as driven:
        driven.screen.editing.edit([Edit("set", "messages", []), Edit("set", "facts", {})])
        await driven.press("s")
        await until(driven.pilot, lambda: "✗ step 6 rating left nothing in the state" in driven.text)
        await driven.press("u")
        await until(driven.pilot, lambda: "left nothing" not in driven.text)


async def test_what_was_edited_runs_and_is_kept_with_the_fork(sample_store):
    async with opened(sample_store, "trip-planner", 6) as driven:
        await driven.press("2", "e")
        await driven.type_into('{"hotel": "Pensão Graça", "rating": 5}')
        await driven.press("f")
        dialog = driven.app.screen
        await until(driven.pilot, lambda: not dialog.query_one(ActionRow).busy)
        assert "in step 6, from its call 2 on" in driven.text
        await driven.press("F")
        await until(driven.pilot, lambda: isinstance(driven.app.screen, CompareScreen))
        assert driven.screen.model.pending is None
        await until(driven.pilot, lambda: not driven.app.forks.names())
    run = next(run for run in sample_store.runs() if run.fork_step == 5)
    assert [(edit.target, edit.value["rating"]) for edit in run.edits] == [("result", 5)]
    assert sample_store.state(run.id, 6)["facts"]["ratings"] == {"Pensão Graça": 5}
    assert sample_store.state(run.parent, 6)["facts"]["ratings"] == {"Pensão Graça": 3.4}


def test_states_are_edited_before_steps_are_muted_and_calls_bind_the_fork_to_their_step():
    mute = Edit("mute", "", "plan", target="step", step=2)
    call = Edit("set", "", 1, target="result", step=5, call=1)
    pending = Pending.begin(5, {"a": 1}).add([mute])
    assert (pending.fork_step(7), pending.fork_step(1)) == (7, 2)
    pending = pending.add([Edit("set", "a", 2)])
    assert [edit.target for edit in pending.edits] == ["state", "step"]
    assert pending.fork_step(7) == 5
    pending = pending.add([call])
    again = pending.add([Edit("set", "", "TimeoutError: late", target="error", step=5, call=1)])
    assert [edit.target for edit in again.edits] == ["state", "error", "step"]
    assert again.unmuted(2).muted() == frozenset()
    with pytest.raises(InvalidEdit, match="step 6 cannot be muted"):
        pending.add([Edit("mute", "", None, target="step", step=6)])


def test_what_is_typed_to_insert_begins_with_the_place_that_is_selected():
    state = {"items": [1], "trip": {"to": "Oslo"}}
    assert insertion_text(state, ("items", 0)) == "items[0]="
    assert insertion_text(state, ("trip", "to")) == "trip."
    assert insertion(state, "items[0]=2") == Edit("insert", "items[0]", 2)
    assert insertion(state, "trip.by=3") == Edit("set", "trip.by", 3)
