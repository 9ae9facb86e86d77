"""The matrix of a sweep on the screen: shown, walked through, growing, opened, compared, stopped and resumed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from tests.core.sweeping.by_hand import ByHand
from tests.patience import PATIENCE_SECONDS
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

from agent_tt.forking.request import ForkRequest
from agent_tt.model import Edit, ErrorInfo, NewFork, NewRun
from agent_tt.sweeping.axes import Axis, axis_of
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.matrix import MatrixReader
from agent_tt_tui.app import AgentTT
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.keymaps.sweep import SWEEP_OPEN
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.pick import PickDialog
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.screens.sweep import driving
from agent_tt_tui.screens.sweep import opening as sweeps_screen
from agent_tt_tui.screens.sweep.form import SweepDialog
from agent_tt_tui.screens.sweep.screen import SweepScreen
from agent_tt_tui.sweep_process import SweepProcess
from agent_tt_tui.viewmodel.runs.runtree import run_rows
from agent_tt_tui.viewmodel.runs.sweep_form import FormRow, SweepDraft, axes_of_edits, axis_line, check_line
from agent_tt_tui.viewmodel.runs.sweeps import answers_of
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.runs.run_list import RunList
from agent_tt_tui.widgets.runs.sweep_matrix import SweepLayout, SweepMatrix, fair_label

pytestmark = pytest.mark.warm

TIMEOUT = ErrorInfo("builtins:TimeoutError", "search_docs did not answer")
THREE = Definition((Axis("set", "temperature", (0, 0.4, 0.8)),), fork=ForkRequest(1), samples=5, jobs=4, max_cost=50.0)
ANSWERS = ("5 days", "", "5 days", "7 days", "")


@pytest.fixture
def by_hand(tmp_path):
    made = ByHand(tmp_path)
    with closing(made.store):
        yield made


@pytest.fixture
def sweep(by_hand):
    """0 of 5, 3 of 5, then 3 of 3 with one that was begun twice; one is waiting for each of two."""
    made = by_hand.begin(THREE)
    for number in range(1, 6):
        by_hand.took(made, 1, number, "failed", {"budget": -1}, error=TIMEOUT)
    for number, answer in enumerate(ANSWERS, start=1):
        status = "succeeded" if answer else "failed"
        by_hand.took(made, 2, number, status, {"answer": answer}, error=None if answer else TIMEOUT)
    by_hand.took(made, 3, 1, state={"answer": "5 days"})
    by_hand.took(made, 3, 2, state={"answer": "5 days"})
    by_hand.took(made, 3, 3, "interrupted")
    by_hand.took(made, 3, 3, state={"answer": "7 days"})
    return made


def app_of(by_hand, sweep, look=None):
    return AgentTT(lambda: SweepScreen(by_hand.store, sweep.id), look=look or Look())


async def shown(app, pilot):
    await until(pilot, lambda: app.screen.query_one(SweepMatrix).line_count > 0)
    await pilot.pause()
    return app.screen.query_one(SweepMatrix)


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_each_row_shows_its_samples_and_how_many_ended_well(by_hand, sweep, size):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=size) as pilot:
        await shown(app, pilot)
        text = screen_text(app)
        assert "sweep temperature" in text[0]
        assert "13 of 15" in text[0]
        rows = {line.split()[0]: line for line in text[2:5]}
        assert [("0/5" in rows["0"]), ("3/5" in rows["0.4"]), ("3/3" in rows["0.8"])] == [True] * 3
        assert rows["0"].count("✗") >= 3
        assert "✓" in rows["0.8"]
        assert any("a   4×  5 days" in line for line in text)
        assert any("TimeoutError: search_docs did not answer" in line for line in text)


async def test_glyphs_move_only_while_a_sample_runs(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        matrix = await shown(app, pilot)
        assert not matrix.matrix.running
        assert not list(matrix._timers)
        ended, (first, *others) = matrix.matrix, matrix.matrix.cells
        goes_on = replace(first, samples=(replace(first.samples[0], status="running"), *first.samples[1:]))
        matrix.show(replace(ended, cells=(goes_on, *others)), {}, {}, frozenset(), {})
        assert len(matrix._timers) == 1
        await until(pilot, lambda: any(glyph in screen_text(app)[2] for glyph in UNICODE.running))
        matrix.show(ended, {}, {}, frozenset(), {})
        await until(pilot, lambda: not any(timer._active.is_set() for timer in matrix._timers))


async def test_the_interval_stands_beside_the_rate_where_there_is_room(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app, pilot)
        assert "23-88 %" in screen_text(app)[3]


async def test_without_colour_or_unicode_nothing_is_lost(by_hand, sweep):
    app = app_of(by_hand, sweep, Look(glyphs=ASCII))
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        text = screen_text(app)
        assert text[2].count("x") >= 5
        assert text[4].count("v") >= 3
        assert all(line.isascii() for line in text)


async def test_arrows_go_through_samples_and_values_and_the_answer_follows(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        matrix = await shown(app, pilot)
        await pilot.press("left", "right", "right", "right", "down")
        assert (matrix.cursor, matrix.sample) == (1, 3)
        await until(pilot, lambda: "parts from 0.4 / 1" in "\n".join(screen_text(app)))
        text = screen_text(app)
        assert any("0.4 / 4" in line and "succeeded" in line and "2 steps" in line for line in text)
        await pilot.press("right", "right", "right")
        assert matrix.sample == 4


async def test_more_samples_than_fit_come_into_view_with_the_cursor(by_hand):
    made = by_hand.begin(Definition((Axis("set", "a", (1, 2)),), fork=ForkRequest(1), samples=20, new_keys=True))
    by_hand.took(made, 1, 20, state={"answer": "the last"})
    app = app_of(by_hand, made)
    async with app.run_test(size=(60, 20)) as pilot:
        await shown(app, pilot)
        assert "…" in screen_text(app)[1]
        assert " 20 " not in screen_text(app)[1]
        await pilot.press(*["right"] * 19)
        assert " 20 " in screen_text(app)[1]
        assert "✓" in screen_text(app)[2]


async def test_enter_opens_the_run_and_asks_which_where_several_were_begun(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        await pilot.press("enter")
        assert isinstance(app.screen, DebuggerScreen)
        assert app.screen.model.run.name == "guess/sweep-1/1.1"
        await pilot.press("q")
        await pilot.press("down", "down", "right", "right", "enter")
        assert isinstance(app.screen, PickDialog)
        text = "\n".join(screen_text(app))
        assert "the one that counts" in text
        assert "broke off" in text
        await pilot.press("enter")
        assert isinstance(app.screen, DebuggerScreen)
        assert app.screen.model.run.status == "succeeded"


async def test_where_nothing_was_begun_keys_say_so(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        await pilot.press("G", *["right"] * 4)
        for key in ("enter", "space", "c"):
            await pilot.press(key)
            assert isinstance(app.screen, SweepScreen)
            assert "no run was begun here yet" in screen_text(app)[-1]


async def test_c_compares_with_the_parent_or_the_two_marked_runs(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        await pilot.press("down", "c")
        assert isinstance(app.screen, CompareScreen)
        assert [run.name for run in app.screen.shown_runs()] == ["guess", "guess/sweep-1/2.1"]
        await pilot.press("q")
        await pilot.press("space", "right", "c")
        assert [run.name for run in app.screen.shown_runs()] == ["guess/sweep-1/2.1", "guess/sweep-1/2.2"]
        await pilot.press("q")
        await pilot.press("right", "space", "down", "c")
        assert [run.name for run in app.screen.shown_runs()] == ["guess/sweep-1/2.1", "guess/sweep-1/2.3"]


async def test_the_matrix_grows_while_the_sweep_goes_on(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        matrix = await shown(app, pilot)
        await pilot.press("down")
        by_hand.took(sweep, 3, 4, state={"answer": "9 days"})
        await until(pilot, lambda: "14 of 15" in screen_text(app)[0])
        assert matrix.cursor == 1
        assert any("9 days" in line for line in screen_text(app))
        by_hand.took(sweep, 3, 5, state={"answer": "9 days"})
        by_hand.store.release_sweep(sweep.id)
        await until(pilot, lambda: "complete, 15 of 15" in screen_text(app)[0])
        await pilot.press("R")
        assert "it is complete" in screen_text(app)[-1]


async def test_a_sweep_of_which_nothing_has_run_yet_says_so(by_hand):
    made = by_hand.begin(THREE)
    app = app_of(by_hand, made)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        assert any("no run has ended yet" in line for line in screen_text(app))
        assert screen_text(app)[2].count("·") == 5


@pytest.fixture
def driver(by_hand, monkeypatch):
    """Stands for the process that drives a sweep; the ids of those that were driven."""
    started = []

    class Driver(SweepProcess):
        def __init__(self, store, sweep_id):
            self.run_id, self.code = sweep_id, None
            by_hand.store.claim_sweep(sweep_id)
            started.append(sweep_id)

        def poll(self):
            return self.code

        def stop(self, grace=0.0):
            self.code = 130
            by_hand.store.release_sweep(self.run_id)

        def output(self, limit=0):
            return "agent-tt: guess/sweep-1 was stopped: 13 of 15 runs are done"

    for module in (driving, sweeps_screen):
        monkeypatch.setattr(module, "SweepProcess", Driver)
    monkeypatch.setattr(driving, "check_made_here", lambda *_: None)
    return started


async def test_an_interrupted_sweep_is_resumed_and_stopped_from_the_screen(by_hand, sweep, driver):
    by_hand.drop(sweep)
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        assert "interrupted, 13 of 15" in screen_text(app)[0]
        assert "R resume" in screen_text(app)[-1]
        await pilot.press("R")
        await until(pilot, lambda: "interrupted" not in screen_text(app)[0])
        assert driver == [sweep.id]
        await pilot.press("R")
        assert "it is running" in screen_text(app)[-1]
        await pilot.press("S")
        await until(pilot, lambda: "interrupted, 13 of 15" in screen_text(app)[0])
        await until(pilot, lambda: "was stopped" in screen_text(app)[-1])


async def test_what_is_complete_is_not_offered_to_be_stopped_though_its_process_still_ends(by_hand, sweep, driver):
    by_hand.drop(sweep)
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        await pilot.press("R")
        await until(pilot, lambda: "going on" in screen_text(app)[-1])
        app.screen.say("")  # as its time would, which is long here
        await until(pilot, lambda: "S stop" in screen_text(app)[-1])
        by_hand.took(sweep, 3, 4, state={"answer": "9 days"})
        by_hand.took(sweep, 3, 5, state={"answer": "9 days"})
        by_hand.store.release_sweep(sweep.id)
        await until(pilot, lambda: "complete, 15 of 15" in screen_text(app)[0])
        await until(pilot, lambda: "S stop" not in screen_text(app)[-1])


async def test_where_there_is_no_sweep_the_key_that_begins_one_is_named(by_hand):
    app = AgentTT(lambda: RunsScreen(by_hand.store), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.query_one(RunList).line_count == 1)
        await pilot.press("V")
        key = SWEEP_OPEN.keys[0]
        assert f"no sweep yet: {key} in the debugger begins one" in screen_text(app)[-1]


def test_the_process_that_drives_a_sweep_says_why_it_could_not(by_hand):
    process = SweepProcess(by_hand.path, "nobody")
    process._process.wait(PATIENCE_SECONDS)
    assert process.poll() == 3
    assert process.trouble().startswith("no sweep 'nobody'")
    process.stop()


async def test_a_sweep_that_was_started_elsewhere_is_not_stopped_here(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        await pilot.press("S")
        assert "it was started elsewhere" in screen_text(app)[-1]


async def test_o_shows_the_next_outcome_with_its_rate(by_hand):
    made = by_hand.begin(Definition(THREE.axes, fork=ForkRequest(1), samples=2, outcomes=("answer", "budget < 0")))
    by_hand.took(made, 1, 1, state={"answer": "yes", "budget": -1})
    by_hand.took(made, 1, 2, state={"answer": "no", "budget": 1})
    app = app_of(by_hand, made)
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot)
        text = "\n".join(screen_text(app))
        assert "answer  1 of 2" in text
        assert "2/2" in screen_text(app)[2]
        await pilot.press("o")
        text = "\n".join(screen_text(app))
        assert "budget < 0  2 of 2" in text
        assert "does not hold" in text
        assert "1/2" in screen_text(app)[2]


def test_equal_answers_share_a_letter_and_what_went_wrong_has_none(by_hand, sweep):
    answers = answers_of(MatrixReader(by_hand.store, sweep.id).read())
    assert [(group.letter, group.count, group.text) for group in answers.groups] == [
        ("a", 4, "5 days"),
        ("b", 2, "7 days"),
        ("-", 7, "TimeoutError: search_docs did not answer"),
    ]
    assert (answers.different, answers.succeeded) == (2, 6)


@pytest.mark.parametrize(
    ("labels", "columns", "shown"),
    [
        (("live", "b"), 18, "live, b"),
        (('stub:{"ok": true}', "b"), 18, 'stub:{"ok": tr…, b'),
        (("0", "a long model name", "another one"), 16, "0, a lo…, anot…"),
        ((), 18, ""),
    ],
)
def test_each_value_of_a_row_is_seen_though_some_are_long(labels, columns, shown):
    assert fair_label(labels, columns, "…") == shown


def test_a_narrow_row_keeps_the_rate_to_the_last(by_hand, sweep):
    matrix = MatrixReader(by_hand.store, sweep.id).read()
    layouts = [SweepLayout.of(matrix, columns) for columns in (118, 78, 58, 30)]
    assert [layout.shown for layout in layouts] == [5, 5, 3, 1]
    assert [bool(layout.interval) for layout in layouts] == [True, True, True, False]
    assert [bool(layout.bar) for layout in layouts] == [True, False, False, False]
    assert [layout.cell for layout in layouts] == [9, 9, 9, 9]
    longest = max(answer for answer in range(1, 60) if SweepLayout.of(matrix, 198, answer).cell > 9)
    wide = SweepLayout.of(matrix, 198, longest)
    used = wide.label + wide.shown * wide.cell + wide.bar + wide.interval + wide.steps + wide.tokens + wide.cost
    assert 198 - wide.shown - 6 <= used + 6 <= 198
    assert wide.cell - 10 == longest, "what a sample says fits into it"
    assert SweepLayout.of(matrix, 198, longest + 1).cell == 9


def test_the_names_of_what_is_varied_give_way_before_a_sample_does(by_hand, sweep):
    matrix = MatrixReader(by_hand.store, sweep.id).read()
    axis = replace(matrix.definition.axes[0], place="conversation.settings.temperature")
    matrix = replace(matrix, definition=replace(matrix.definition, axes=(axis, *matrix.definition.axes[1:])))
    layout = SweepLayout.of(matrix, 78)
    assert (layout.shown, bool(layout.interval)) == (5, True)
    assert SweepLayout.of(matrix, 118).label > layout.label >= 8


async def test_a_wide_matrix_says_each_answer_in_words(by_hand, sweep):
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(200, 40)) as pilot:
        await shown(app, pilot)
        row = next(line for line in screen_text(app) if line.strip().startswith("0.4"))
        assert row.count("5 days") == 2
        assert row.count("7 days") == 1
    app = app_of(by_hand, sweep)
    async with app.run_test(size=(100, 40)) as pilot:
        await shown(app, pilot)
        assert "days" not in next(line for line in screen_text(app) if line.strip().startswith("0.4"))


async def test_answers_are_shown_to_their_end_where_rows_are_free(by_hand):
    made, last = by_hand.begin(THREE), "and that is the last word"
    by_hand.took(made, 1, 1, state={"answer": f"{'It takes some days. ' * 4}{last}"})
    app = app_of(by_hand, made)
    async with app.run_test(size=(80, 40)) as pilot:
        await shown(app, pilot)
        text = " ".join(" ".join(screen_text(app)).replace("▌", " ").split())
        assert last in text, "\n".join(screen_text(app))


# The tree.


def test_a_sweep_is_one_group_in_the_tree(by_hand, sweep):
    by_hand.store.begin_fork(NewFork(by_hand.run.id, 1, state={}, new=NewRun(name="")))
    runs = by_hand.store.runs()
    folded = run_rows(runs, sweeps="folded")
    assert [(row.label, len(row.last), row.group is not None) for row in folded] == [
        ("guess", 0, False),
        ("sweep-1", 1, True),
        ("fork-1", 1, False),
    ]
    assert folded[1].group.summary == "14 runs, 6 succeeded"
    grouped = run_rows(runs, sweeps="grouped")
    assert [row.label for row in grouped][:4] == ["guess", "sweep-1", "1.1", "1.2"]
    assert [len(row.last) for row in grouped][:4] == [0, 1, 2, 2]
    assert len(run_rows(runs)) == len(runs)


async def test_the_list_of_runs_opens_a_sweep_and_offers_nothing_else_on_its_row(by_hand, sweep):
    app = AgentTT(lambda: RunsScreen(by_hand.store), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.query_one(RunList).line_count == 2)
        await pilot.press("j", "p")
        assert "this row is a sweep: enter opens it" in screen_text(app)[-1]
        await pilot.press("enter")
        assert isinstance(app.screen, SweepScreen)
        await pilot.press("q")
        await pilot.press("slash", *"1.2")
        await until(pilot, lambda: any("1.2" in line for line in screen_text(app)))


# The form.


def test_lines_are_read_as_the_options_of_the_command():
    assert axis_line("temperature=0,1") == axis_of("set", "temperature=0,1")
    assert axis_line("model a,b") == axis_line("--model a,b") == axis_of("model", "a,b")
    assert axis_line("model=1,2") == axis_of("set", "model=1,2")


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("vary", "temperature=0,,1", "a value is missing"),
        ("vary", "budget=2", "budget is varied twice"),
        ("samples", "0", "from 1"),
        ("jobs", "many", "from 1"),
        ("outcome", "budget <", "a value is expected"),
        ("cost", "a lot", "dollars"),
    ],
)
def test_what_makes_no_sense_in_a_row_is_said_before_it_is_taken(kind, text, why):
    draft = SweepDraft(1, lines=("budget=1,2",))
    assert why in check_line(draft, FormRow(kind, -1, ""), text)


def test_pending_edits_of_every_kind_hold_for_all_runs():
    edits = (
        Edit("set", "budget", 1),
        Edit("set", "city", "Oslo"),
        Edit("set", "budget", 2),
        Edit("mute", "", target="step", step=1),
        Edit("mute", "", target="step", step=2),
        Edit("set", "", "m-1", target="model"),
        Edit("set", "price", 3, target="result", step=2, call=1),
    )
    definition = SweepDraft(2, axes_of_edits(edits), ("temperature=0,1",)).definition()
    assert [(axis.kind, axis.place, axis.values) for axis in definition.axes] == [
        ("set", "city", ("Oslo",)),
        ("set", "budget", (2,)),
        ("mute", "", ("1",)),
        ("mute", "", ("2",)),
        ("model", "", ("m-1",)),
        ("result", "2.1.price", (3,)),
        ("set", "temperature", (0, 1)),
    ]
    assert definition.run_count == 6


def test_a_draft_becomes_the_definition():
    draft = SweepDraft(3, fixed=(Axis("set", "city", ("Oslo",)),))
    for kind, text in (
        ("vary", "temperature=0,1"),
        ("samples", "5"),
        ("jobs", "4"),
        ("cost", "$0.5"),
        ("allow", "pay, book"),
    ):
        row = FormRow(kind, -1 if kind == "vary" else 0, "")
        assert check_line(draft, row, text) is None
        draft = draft.said(row, text)
    axes = (Axis("set", "city", ("Oslo",)), Axis("set", "temperature", (0, 1)))
    fork = ForkRequest(3, allow=("pay", "book"))
    assert draft.definition() == Definition(axes, fork=fork, samples=5, jobs=4, max_cost=0.5)


async def test_a_sweep_is_begun_from_the_debugger_and_only_f_starts_it(by_hand, driver):
    (by_hand.path.parent / "guess.py").write_text("def main(state=None): ...\n")
    app = AgentTT(lambda: DebuggerScreen(by_hand.store, by_hand.run, 1), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await workers_ended(app)
        await pilot.press("V")
        assert isinstance(app.screen, SweepDialog)
        await pilot.press("enter", "ctrl+a", "ctrl+k", *"budget=1,2", "enter")
        await until(pilot, lambda: any("2 × 3 samples" in line for line in screen_text(app)))
        await pilot.press("down", "enter", "backspace", "2", "enter")
        await until(pilot, lambda: any("2 × 2 samples" in line for line in screen_text(app)))
        assert by_hand.store.sweeps() == []
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, SweepScreen))
        assert driver == [by_hand.store.sweep("latest").id]
        matrix = await shown(app, pilot)
        assert matrix.line_count == 2
        await pilot.press("q")
        assert "goes on running" in screen_text(app)[-1]


async def test_a_form_that_cannot_run_says_why_and_f_does_nothing(by_hand):
    (by_hand.path.parent / "guess.py").write_text("def main(state=None): ...\n")
    app = AgentTT(lambda: DebuggerScreen(by_hand.store, by_hand.run, 1), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await workers_ended(app)
        await pilot.press("V", "enter", "ctrl+a", "ctrl+k", *"bugdet=1,2", "enter")
        await until(pilot, lambda: app.screen.query_one(ActionRow).trouble[0])
        text = "\n".join(screen_text(app))
        assert "bugdet is not in the state after step 1" in text
        assert "Did you mean budget?" in text
        await pilot.press("F")
        assert isinstance(app.screen, SweepDialog)
        assert by_hand.store.sweeps() == []
