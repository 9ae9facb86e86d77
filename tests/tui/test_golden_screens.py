"""Keeping a run as a test and running it, by keys: the fork that mends refund-loop, and tests that cannot be run."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until, workers_ended

import agent_tt
from agent_tt import samples
from agent_tt.golden.golden_file import find_goldens, read_golden
from agent_tt.golden.kinds import KINDS
from agent_tt.golden.rule import passed
from agent_tt.golden.run_rules import AtMost, Ends
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.cli.root import run as run_command
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.glyphs import ASCII, UNICODE
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.golden.keep import KeepDialog
from agent_tt_tui.screens.golden.kept import GoldensScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.viewmodel.golden.keeping import Draft, DraftRule, check_rule, read_rule_text, what_kind, with_keys
from agent_tt_tui.viewmodel.golden.kept_tests import KeptTest, detail_lines
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.golden.keep_form import KeepRows, RuleTrials
from agent_tt_tui.widgets.golden.kept_list import GoldenList

pytestmark = pytest.mark.warm

SAMPLES = Path(__file__).parents[2] / "sample_runs"
MENDED = "refund-loop/fork-1"


@pytest.fixture(scope="module")
def mended(tmp_path_factory):
    """A store with refund-loop, and its fork that mends it."""
    path = tmp_path_factory.mktemp("mended") / "runs.db"
    samples.ensure("refund-loop", path)
    agent_tt.fork("refund-loop", 0, agent="refund_loop.py:main_v2", store=path).result()
    return path


@pytest.fixture
def store(mended, tmp_path, monkeypatch):
    """The store of a project with the sample's code, which is the working directory."""
    shutil.copy(mended, tmp_path / "runs.db")
    for name in ("refund_loop.py", "sample_model.py"):
        shutil.copy(SAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    with closing(open_store(tmp_path / "runs.db")) as opened:
        yield opened


def text_of(app) -> str:
    return "\n".join(screen_text(app))


def app_of(store, look=None):
    run = store.run(MENDED)
    return AgentTT(lambda: DebuggerScreen(store, run), look=look or Look())


async def proposed(app, pilot) -> KeepDialog:
    """Wait until the rules are proposed and tried."""
    await until(pilot, lambda: isinstance(app.screen, KeepDialog))
    dialog = app.screen
    await until(pilot, lambda: dialog.query_one(KeepRows).line_count > 4 and not dialog.query_one(ActionRow).busy)
    return dialog


async def typed(pilot, text: str) -> None:
    """Replace what stands in the line of a prompt, and accept it."""
    pilot.app.screen.query_one("Input").value = text
    await pilot.press("enter")


async def ended(app, pilot) -> KeptTest:
    """Wait until the test under the cursor has been run."""
    await until(pilot, lambda: app.screen.query_one(GoldenList).current is not None)
    await pilot.press("r")
    await until(pilot, lambda: not app.screen.query_one(GoldenList).current.under_way)
    return app.screen.query_one(GoldenList).current


async def test_the_fork_that_mends_an_agent_is_kept_by_keys_fails_on_version_1_and_passes_on_version_2(store, tmp_path):
    app = app_of(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t")
        await proposed(app, pilot)
        assert "held by 0 of 1" in text_of(app)
        await pilot.press("g", "e")
        await typed(pilot, "mended")
        await pilot.press("j", "j", "e")
        await typed(pilot, "refund_loop.py:main")
        assert "same as agent-tt golden save refund-loop/fork-1 --name mended" in text_of(app)
        await pilot.press("y")
        assert app.clipboard == f"agent-tt golden save {MENDED} --name mended --agent refund_loop.py:main"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        assert [path.name for path in find_goldens(tmp_path / "tests/agents")] == ["mended.toml"]
        assert "kept as tests/agents/mended.toml" in text_of(app)

        await pilot.press("T")
        await until(pilot, lambda: "not run yet" in text_of(app))
        assert (await ended(app, pilot)).state == "failed"
        text = text_of(app)
        assert "1 failed" in text
        assert "asks what was not recorded at step 2: support_model" in text
        assert "agent-tt compare" in text
        await pilot.press("u")
        assert "it asks what has no recording" in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and "parted at 2" in text_of(app))
        await pilot.press("q")

        code = tmp_path / "refund_loop.py"
        code.write_text(code.read_text() + "\n\nmain = main_v2\n")
        assert (await ended(app, pilot)).state == "passed"
        assert "✗✓" in text_of(app)
        await pilot.press("q", "T")
        await until(pilot, lambda: "1 of 1 passed" in text_of(app))
        assert "✗✓" in text_of(app)


async def test_rules_are_turned_off_changed_added_and_refused_in_place(store, tmp_path):
    app = app_of(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t")
        dialog = await proposed(app, pilot)
        rows, action = dialog.query_one(KeepRows), dialog.query_one(ActionRow)
        steps = next(at for at, each in enumerate(dialog._draft.rules) if each.rule == AtMost("steps", 3))
        rows.move_to_rule(steps)
        await pilot.press("e")
        await typed(pilot, 'of = "steps", limit = "many"')
        assert "limit: a number is needed" in text_of(app)
        await typed(pilot, 'of = "steps", limit = 1')
        await until(pilot, lambda: "took 2 steps" in action.trouble[0])
        await pilot.press("enter")
        assert app.screen is dialog
        assert not (tmp_path / "tests").exists()
        await pilot.press("space")
        assert action.trouble == ("", "")
        await pilot.press("a")
        assert all(kind in text_of(app) for kind in KINDS)
        await pilot.press(*["j"] * [*KINDS].index("expression"), "enter")
        await typed(pilot, 'holds = "state.attempts <= 1", at = "always"')
        await until(pilot, lambda: "after every step: state.attempts <= 1" in text_of(app) and not action.busy)
        await pilot.press("v")
        assert "# agent-tt golden 1" in text_of(app)
        await pilot.press("G")
        assert "the same from a shell" in text_of(app)
        assert 'holds = "state.attempts <= 1"' in text_of(app)
        await pilot.press("v", "y")
        assert 'kind = "expression"' in app.clipboard
        assert app.clipboard.count("--rule") == len(dialog._draft.chosen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
        golden = read_golden(tmp_path / "tests/agents/refund-loop-fork-1.toml")
        assert [kept.rule for kept in golden.rules] == list(dialog._draft.chosen)
        assert golden.rules[-1].rule.kind == "expression"

        await pilot.press("t")
        dialog = await proposed(app, pilot)
        assert "is there already" in text_of(app)
        assert "or replace that test" in text_of(app)
        await pilot.press("enter")
        assert app.screen is dialog
        await pilot.press("r")
        assert dialog.query_one(ActionRow).trouble == ("", "")
        assert dialog._draft.words()[-1] == "--replace"


async def test_a_run_is_kept_from_the_list_and_none_of_no_rule(store, tmp_path):
    app = AgentTT(lambda: RunsScreen(store), look=Look(glyphs=ASCII))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "refund-loop" in text_of(app))
        await pilot.press("j", "t")
        dialog = await proposed(app, pilot)
        assert text_of(app).translate(dict.fromkeys(map(ord, "“”"))).isascii()  # but for the answer's own quotes
        assert "enter keep as test" in text_of(app)
        # A row for each other run: the rows below the rules that are left are the rules'.
        await until(pilot, lambda: dialog.query_one(RuleTrials).size.height == max(1, len(dialog._others)) == 1)
        for _ in dialog._draft.rules:
            await pilot.press("delete")
        assert "no rule is on: nothing would be judged" in text_of(app)
        await pilot.press("enter", "escape")
        assert isinstance(app.screen, RunsScreen)
        assert not (tmp_path / "tests").exists()


async def test_a_rule_is_whole_while_the_cursor_is_on_it_however_few_rows_there_are(store):
    app = app_of(store)
    async with app.run_test(size=(80, 18)) as pilot:
        await pilot.press("t")
        dialog = await proposed(app, pilot)
        rows = dialog.query_one(KeepRows)
        whole = ("final answer is", "write to you.'")
        assert not all(words in text_of(app) for words in whole)
        for number in range(len(dialog._draft.rules)):
            assert rows.rule_index == number
            if dialog._draft.rules[number].rule.kind == "answer":
                assert all(words in text_of(app) for words in whole), text_of(app)
                break
            await pilot.press("j")
        else:
            pytest.fail("no rule about the answer was proposed")


def keep(*more: str) -> None:
    assert run_command(("golden", "save", MENDED, "--name", "mended", *more)) == 0


async def test_a_rule_that_fails_is_named_with_its_difference_and_updated_on_a_yes(store, tmp_path):
    keep("--rule", 'kind = "state", path = "attempts", equals = 1', "--rule", 'kind = "never", tools = ["pay"]')
    path = tmp_path / "tests/agents/mended.toml"
    path.write_text(path.read_text().replace("equals = 1", "equals = 2"))
    app = AgentTT(GoldensScreen, look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.query_one(GoldenList).current is not None)
        await pilot.press("u")
        assert "run it first: r" in text_of(app)
        assert (await ended(app, pilot)).state == "failed"
        text = text_of(app)
        assert text.count("attempts differs (step 2)") == 1
        assert "attempts  2 → 1" in text
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "attempts equals 2" in text_of(app)
        assert "attempts equals 1" in text_of(app)
        await pilot.press("n")
        assert "equals = 2" in path.read_text()
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        assert "equals = 1" in path.read_text()
        assert "its rules were changed" in text_of(app)


async def test_tests_that_cannot_be_run_say_why_and_are_neither_failed_nor_passed(store, tmp_path, capsys):
    keep()
    keep("--replace")
    folder = tmp_path / "tests/agents"
    (folder / "gone.toml").write_text((folder / "mended.toml").read_text().replace("mended.rec", "gone.rec"))
    (folder / "broken.toml").write_text("# agent-tt golden 1\nname = 3\n")
    recording = folder / "mended.recording.zst"
    recording.write_bytes(recording.read_bytes()[:-9])
    app = AgentTT(GoldensScreen, look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "3 could not be run or judged" in text_of(app))
        rows = {test.path.stem: test for test in app.screen.query_one(GoldenList).rows}
        at = []
        for _ in range(4):
            at.append(app.screen.query_one(GoldenList).current.path.stem)
            await pilot.press("}")
        assert at == ["broken", "gone", "mended", "broken"]
        assert "is missing" in rows["gone"].problem
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        text = text_of(app)
        assert " ".join(text.split()).count("recording") > 1
        assert not any(row.endswith("…") for row in text.splitlines()[1:9]), text
        await pilot.press("g", "j")
        assert app.screen.query_one(GoldenList).current.path.stem == "gone"
        await pilot.press("g")
        await pilot.resize_terminal(120, 40)
        assert "is damaged" in rows["mended"].problem
        assert rows["broken"].golden is None
        assert "failed" not in text_of(app).splitlines()[0]
        await pilot.press("R")
        await until(pilot, lambda: not any(test.under_way for test in app.screen.query_one(GoldenList).rows))
        assert {test.state for test in app.screen.query_one(GoldenList).rows} == {"unknown"}
        await pilot.press("enter")
        assert "no run came of it yet" in text_of(app)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_where_no_test_is_kept_it_is_said_how_one_is(tmp_path, monkeypatch, size):
    monkeypatch.chdir(tmp_path)
    app = AgentTT(GoldensScreen, look=Look(theme="tt-light"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "no test is kept here yet" in text_of(app))
        await pilot.press("R", "r", "u", "enter", "y")
        assert "no test is kept here yet" in text_of(app).splitlines()[-1]


async def test_escape_stops_what_runs_and_nothing_of_it_is_kept(store, tmp_path):
    keep()
    code = tmp_path / "refund_loop.py"
    golden = tmp_path / "tests/agents/mended.toml"
    code.write_text("import threading\n\n\ndef main(state=None):\n    threading.Event().wait()\n")
    lines = golden.read_text().splitlines()
    golden.write_text(
        "\n".join(f'agent = "{code}:main"' if line.startswith("agent =") else line for line in lines) + "\n"
    )
    app = AgentTT(GoldensScreen, look=Look())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen.query_one(GoldenList).current is not None)
        await pilot.press("r")
        await until(pilot, lambda: app.screen.query_one(GoldenList).current.under_way == "running")
        await pilot.press("r")
        assert "tests are being run: esc stops them" in text_of(app)
        await pilot.press("escape")
        assert "stopped" in text_of(app)
        await workers_ended(app)
        assert app.screen.query_one(GoldenList).current.state == "new"


def test_the_command_is_the_shortest_that_does_the_same(store):
    run = store.run(MENDED)
    rules = (Ends(), AtMost("steps", 3))
    draft = Draft(run, store.path, "x", rules=tuple(map(DraftRule, rules)), proposed=rules)
    assert draft.command == "agent-tt golden save refund-loop/fork-1 --name x"
    more = draft.with_rule(2, DraftRule(AtMost("tokens", 5)))
    assert more.words()[-2:] == ["--also", 'kind = "at_most", of = "tokens", limit = 5']
    less = more.with_rule(0, None)
    assert less.words()[6:] == [
        *("--rule", 'kind = "at_most", of = "steps", limit = 3'),
        *("--rule", 'kind = "at_most", of = "tokens", limit = 5'),
    ]
    judged = less.judged([DraftRule(AtMost("steps", 3), own=passed("took 2"))])
    assert [each.own is None for each in judged.rules] == [False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rules_can_be_added_by_what_it_says_of_itself(kind):
    about, keys = what_kind(kind)
    assert about
    assert keys
    assert "cannot be read" not in (check_rule(kind, "") or "")
    assert all(name in keys for name in with_keys(kind).replace(" = ", "").split(", ") if name)
    rule = AtMost("steps", 8)
    assert read_rule_text("at_most", with_keys("at_most", rule)) == rule


def test_a_test_of_which_nothing_is_known_says_its_problem_alone(tmp_path):
    rows = list(detail_lines(KeptTest(tmp_path / "x.toml", problem="it is broken"), None, 40, UNICODE))
    assert ["".join(text for text, _ in row) for row in rows] == ["it is broken", ""]
