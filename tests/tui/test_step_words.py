"""What is typed after `:` in the debugger: counts, times since the beginning, and questions in a word."""

from contextlib import suppress

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled
from fake_source import refund_loop
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.waiting import until

from agent_tt.errors import UsageError
from agent_tt.model import Step
from agent_tt.querying.predicates import parse_predicate
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.viewmodel.debugger.step_words import EXAMPLES, WORDS, StepWords, read_words, step_at


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("+3", StepWords("count", number=3)),
        (" -12 ", StepWords("count", number=-12)),
        ("7", StepWords("name", text="7")),
        ("~1", StepWords("name", text="~1")),
        ("@error", StepWords("name", text="@error")),
        ("@1m30s", StepWords("time", us=90_000_000)),
        ("@250ms", StepWords("time", us=250_000)),
        ("search docs", StepWords("name", text="search docs")),
        ("errors", StepWords("question", text="error")),
        ("writes", StepWords("question", text='call.effect == "write"')),
        ("models", StepWords("question", text='call.kind == "llm"')),
        ("writes it down", StepWords("name", text="writes it down")),
        ('calls a"b', StepWords("question", text='tool == "a\\"b"')),
        ("changes budget.left", StepWords("question", text="changed(state.budget.left)")),
    ],
)
def test_what_is_typed_is_a_count_a_time_a_question_or_a_name(typed, words):
    assert read_words(typed) == words


@given(st.text(max_size=30))
def test_whatever_is_typed_is_read_or_refused_in_words(typed):
    with suppress(UsageError):
        words = read_words(typed)
        if words.kind == "question":
            assert parse_predicate(words.text)


@pytest.mark.parametrize("word", WORDS)
def test_each_row_of_the_table_is_read_as_it_says(word):
    words = read_words(word.example.replace("NAME", "search_docs").replace("PATH", "budget.left"))
    assert (words.kind == "question") == (word.question is not None)


def test_the_examples_fit_into_the_dialog_of_a_small_terminal():
    assert len(EXAMPLES) <= 74
    assert all(word.example in EXAMPLES for word in WORDS if word.question is not None)


@pytest.mark.parametrize("typed", ["calls", "changes", "changes [", "changes  "])
def test_a_question_about_nothing_is_refused(typed):
    with pytest.raises(UsageError, match="which"):
        read_words(typed)


@given(st.lists(st.integers(0, 1000), max_size=20).map(sorted), st.integers(-10, 1100))
def test_the_step_of_a_time_is_the_last_that_had_begun(times, us):
    run = refund_loop().runs()[0]
    begun = run.started_us
    steps = [Step(number, "s", "tool", started_us=begun + time) for number, time in enumerate(times, 1)]
    assert step_at(run, steps, us) == (
        max((step.number for step in steps if step.started_us - begun <= us), default=None)
    )


async def typed(pilot, text):
    await pilot.press(":")
    await pilot.pause()
    await pilot.press(*text, "enter")
    return await settled(pilot)


async def test_a_count_goes_on_from_here_and_one_that_leads_out_of_the_run_is_refused():
    async with debugger(refund_loop(), step=5).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        screen = await typed(pilot, "+3")
        assert screen.time.number == 8
        screen = await typed(pilot, "-2")
        assert screen.time.number == 6
        await pilot.press(":", *"+99", "enter")
        assert "there is no step 105" in "\n".join(screen_text(pilot.app))


async def test_a_time_goes_to_the_step_that_ran_then():
    source = refund_loop()
    run = source.runs()[-1]
    async with debugger(source, step=1).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        screen = await typed(pilot, "@1h")
        assert screen.time.number == len(source.steps(run.id))


async def test_errors_are_listed_where_questions_are_answered(sample_store):
    run = sample_store.run("refund-loop")
    app = AgentTT(lambda: DebuggerScreen(sample_store, run, 1), look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        screen = await typed(pilot, "errors")
        await until(pilot, lambda: screen.time.number == 21)
        assert "?error" in "\n".join(screen_text(pilot.app))
