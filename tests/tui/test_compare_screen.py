"""The compare screen, over a real fork of a real sample run."""

import shutil
from contextlib import closing

import pytest
from tests.core.memory_store import Did, MemorySource
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

import agent_tt
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.rerunning.launch import start_fork
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.widgets.runs.compare_state import CompareState
from agent_tt_tui.widgets.runs.compare_steps import CompareSteps


@pytest.fixture(scope="module")
def forked_file(sample_runs_file, tmp_path_factory):
    """A store with a fork of refund-loop at step 1 with version 2; the screen only reads it."""
    path = tmp_path_factory.mktemp("forked") / "runs.db"
    shutil.copy(sample_runs_file, path)
    with closing(open_store(path)) as store:
        start_fork(plan_fork(store, "refund-loop", ForkRequest(1, agent="refund_loop.py:main_v2"))).result()
    return path


@pytest.fixture
def forked(forked_file):
    """refund-loop beside its fork."""
    with closing(open_store(forked_file, read_only=True)) as store:
        parent, fork = store.run("refund-loop"), store.run("refund-loop/fork-1")
        yield AgentTT(lambda: CompareScreen(store, parent, store, fork), look=Look())


async def read(app, pilot):
    await until(pilot, lambda: app.screen.query_one(CompareSteps).line_count)
    return app.screen.query_one(CompareSteps)


@pytest.mark.parametrize("size", [(80, 24), (140, 40), (60, 24)])
async def test_the_divergence_is_marked_and_selected_with_both_outcomes_in_view(forked, size):
    async with forked.run_test(size=size) as pilot:
        steps = await read(forked, pilot)
        assert 2 in (steps.current.row.a, steps.current.row.b)
        text = "\n".join(screen_text(forked))
        assert "parted at 2" in text
        assert "failed" in text
        assert "succeeded" in text


async def test_the_cause_that_is_certain_is_named_before_what_followed_from_it(forked):
    async with forked.run_test(size=(80, 24)) as pilot:
        await read(forked, pilot)
        rows = screen_text(forked)
        at = next(at for at, row in enumerate(rows) if "parted at 2" in row)
        assert "main_v2 ran instead; the model was asked" in rows[at]
        assert "otherwise: search_docs is offered only in A" in rows[at + 1]


async def test_at_least_eighteen_steps_are_shown_as_only_in_the_original(forked):
    async with forked.run_test(size=(140, 40)) as pilot:
        steps = await read(forked, pilot)
        only_a = sum(line.count for line in steps.lines if line.row is not None and line.row.kind == "only_a")
        assert only_a >= 18
        assert any("<" in line and "search_docs" in line for line in screen_text(forked))


async def test_on_a_narrow_screen_a_stands_above_b_and_the_cursor_takes_both_at_once(forked):
    async with forked.run_test(size=(60, 24)) as pilot:
        steps = await read(forked, pilot)
        text = screen_text(forked)
        at = next(index for index, line in enumerate(text) if " A     2 ● search_docs" in line)
        assert text[at + 1].startswith(" ≠ B     2 ◆ answer")
        assert text[at + 2].startswith(" < A     3 ")
        assert steps.current.row.a == steps.current.row.b == 2
        await pilot.press("right")
        assert (steps.current.row.a, steps.current.row.b) == (3, None)
        await pilot.press("left", "left")
        assert steps.current.row.a == 1
        await pilot.press("right_curly_bracket")
        assert steps.current.row.a == 2
        await pilot.resize_terminal(100, 24)
        await pilot.pause()
        assert steps.current.row.a == 2
        assert any("● search_docs" in line and "◆ answer" in line for line in screen_text(forked))


async def test_arrows_go_from_pair_to_pair_and_pass_over_the_rule(forked):
    async with forked.run_test(size=(80, 24)) as pilot:
        steps = await read(forked, pilot)
        await pilot.press("left")
        assert steps.current.row.a == 1
        await pilot.press("right")
        assert steps.current.row.a == 2


@pytest.fixture(scope="module")
def late_file(tmp_path_factory):
    """A store with two runs of sixty steps that part at the forty-first; the screen only reads it."""
    path = tmp_path_factory.mktemp("late") / "late.db"
    for name, parts_at in (("first", None), ("second", 41)):
        state = {"messages": []}
        with agent_tt.record(name, state=state, store=path) as run:
            for number in range(1, 61):
                with run.step(f"step {number}", state):
                    state["messages"].append({"role": "user", "content": f"word {number}"})
                    if number == parts_at:
                        state["messages"].append({"role": "user", "content": "something else"})
    return path


@pytest.fixture
def late(late_file):
    """These two runs side by side."""
    with closing(open_store(late_file, read_only=True)) as store:
        first, second = store.run("first"), store.run("second")
        yield AgentTT(lambda: CompareScreen(store, first, store, second), look=Look())


async def test_a_late_divergence_is_scrolled_into_view_and_both_ends_are_one_key_away(late):
    async with late.run_test(size=(80, 24)) as pilot:
        steps = await read(late, pilot)
        await pilot.pause()
        assert any(row.startswith("▌") and "step 41" in row for row in screen_text(late))
        assert any("parted at 41" in row for row in screen_text(late))
        await pilot.press("end")
        assert steps.current.row.a == 60
        assert any("step 60" in row for row in screen_text(late))
        await pilot.press("home")
        assert steps.current.row.a == 1


async def test_messages_that_differ_read_as_messages(late):
    async with late.run_test(size=(80, 24)) as pilot:
        await read(late, pilot)
        await until(pilot, lambda: any("user" in row and "something else" in row for row in screen_text(late)))
        assert not any('"role"' in row for row in screen_text(late))


async def test_a_message_that_became_another_shows_both_as_they_read(forked):
    async with forked.run_test(size=(140, 40)) as pilot:
        await read(forked, pilot)
        await until(pilot, lambda: any("messages[4]" in row for row in screen_text(forked)))
        row = next(row for row in screen_text(forked) if "messages[4]" in row)
        assert '→ search_docs(query="refund policy")' in row
        assert "≠ assistant Our help centre" in row


async def test_on_a_low_screen_steps_and_state_take_turns(late):
    async with late.run_test(size=(80, 12)) as pilot:
        await read(late, pilot)
        await pilot.pause()
        assert any(row.startswith("▌") and "step 41" in row for row in screen_text(late))
        assert screen_text(late)[-2].startswith(" 41/")
        await pilot.press("tab")
        await until(pilot, lambda: any("something else" in row for row in screen_text(late)))
        assert not any("step 41" in row for row in screen_text(late))
        assert screen_text(late)[-2].startswith(" 41/")


async def test_swapping_puts_the_fork_on_the_left(forked):
    async with forked.run_test(size=(80, 24)) as pilot:
        await read(forked, pilot)
        await pilot.press("s")
        await until(pilot, lambda: screen_text(forked)[0].index("fork-1") < 30)


async def test_only_differences_hides_the_shared_beginning(forked):
    async with forked.run_test(size=(80, 24)) as pilot:
        steps = await read(forked, pilot)
        await pilot.press("o")
        assert all(line.row is None or line.row.kind != "same" for line in steps.lines)


async def test_one_key_leaves_out_what_is_the_same_then_shows_every_pair_then_folds_it_again(late):
    async with late.run_test(size=(80, 24)) as pilot:
        steps = await read(late, pilot)
        counts = [len(steps.lines)]
        assert any("┊ 38 steps the same" in row for row in screen_text(late))
        for _ in range(3):
            await pilot.press("o")
            counts.append(len(steps.lines))
        assert counts == [9, 2, 62, 9]  # with the rules


async def test_each_kind_of_pair_is_counted_under_its_glyph(forked):
    async with forked.run_test(size=(80, 24)) as pilot:
        await read(forked, pilot)
        assert screen_text(forked)[-2].endswith("1 ≡  1 ≠  19 <")


async def test_a_step_that_the_other_run_may_still_take_differs_in_nothing_yet():
    source = MemorySource()
    took = [Did("work", state={"n": n}) for n in (1, 2, 3)]
    runs = [source.add("one", took), source.add("two", took[:1], status="running")]
    app = AgentTT(lambda: CompareScreen(source, runs[0], source, runs[1]), look=Look())
    async with app.run_test(size=(80, 24)) as pilot:
        await read(app, pilot)
        await pilot.press("end")
        await until(pilot, lambda: any("B has not come to this step yet" in row for row in screen_text(app)))
        text = screen_text(app)
        assert text[-2].endswith("1 ≡  2 ·")
        assert not any("≠" in row for row in text)


@pytest.mark.parametrize("size", [(80, 24), (80, 40), (120, 40), (200, 50)])
async def test_last_words_and_why_they_parted_are_read_to_their_end(forked, size):
    async with forked.run_test(size=size) as pilot:
        await read(forked, pilot)
        for words in (
            "I have asked a colleague to write to you.",
            "asked for something else",
            "gave up after 20 searches without an answer",
        ):
            await until(pilot, lambda words=words: words in " ".join(_read_across(forked).split()))


def _read_across(app):
    """The rows of the screen, then those of its left column, in which sentences go on; without lines."""
    rows, left = screen_text(app), app.screen.query_one("#compare-left").region.right
    return " ".join([*rows, *(row[:left] for row in rows)]).replace("─", " ")


async def test_one_key_puts_a_above_b_in_steps_and_state_and_back(forked):
    async with forked.run_test(size=(120, 40)) as pilot:
        steps = await read(forked, pilot)
        await until(pilot, lambda: any("messages[4]" in row for row in screen_text(forked)))
        beside = screen_text(forked)
        here = steps.current.row
        await pilot.press("v")
        above = screen_text(forked)
        at = next(index for index, row in enumerate(above) if " A     2 ● search_docs" in row)
        assert above[at + 1].startswith(" ≠ B     2 ◆ answer")
        at = next(index for index, row in enumerate(above) if "messages[4]" in row)
        assert above[at + 1].strip().startswith("A → search_docs")
        assert above[at + 2].strip().startswith("≠ B assistant Our help centre")
        assert steps.current.row == here
        await pilot.press("v")
        assert screen_text(forked)[:-1] == beside[:-1]


async def test_the_change_under_the_cursor_is_shown_in_full_where_rows_are_scarce(forked):
    async with forked.run_test(size=(80, 24)) as pilot:
        await read(forked, pilot)
        state = forked.screen.query_one(CompareState)
        await until(pilot, lambda: state.changes)
        folded = state.line_count
        await pilot.press("tab")
        for _ in range(2):
            await pilot.press("down")
        assert state.line_count > folded
        text = " ".join(" ".join(screen_text(forked)).replace("▌", " ").split())
        assert text.count("I have asked a colleague to write to you.") == 2  # the outcome says it too
        for _ in range(3):
            await pilot.press("up")
        assert state.line_count == folded


async def test_a_fork_that_crashes_leaves_the_screen_whole_and_says_so(sample_store, tmp_path):
    agent = tmp_path / "broken.py"
    agent.write_text(
        "import agent_tt\ndef main(state=None):\n    with agent_tt.record('x', state=state):\n        1 / 0\n"
    )
    handle = start_fork(plan_fork(sample_store, "refund-loop", ForkRequest(1, agent=f"{agent}:main")))
    parent, fork = sample_store.run("refund-loop"), sample_store.run(handle.run_id)
    app = AgentTT(lambda: CompareScreen(sample_store, parent, sample_store, fork, handle), look=Look())
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "ZeroDivisionError" in "\n".join(screen_text(app)))
        await read(app, pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_of_a_call_that_came_back_with_something_else_the_difference_is_shown(size):
    source = MemorySource()
    runs = [
        source.add(name, [Did("work", tool="rate", args={"q": "a"}, result={"eur": eur}, state={"n": 1})])
        for name, eur in (("one", 1.5), ("two", 1.7))
    ]
    app = AgentTT(lambda: CompareScreen(source, runs[0], source, runs[1]), look=Look())
    async with app.run_test(size=size) as pilot:
        await read(app, pilot)
        await until(pilot, lambda: any("rate result.eur" in line for line in screen_text(app)))
        text = screen_text(app)
        assert not any("equal here" in line for line in text)
        assert any("1.5" in line and "1.7" in line for line in text)
        assert any("work rate" in line for line in text)
