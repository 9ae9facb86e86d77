"""The compare screen, over a real fork of a real sample run."""

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
from agent_tt_tui.widgets.runs.compare_steps import CompareSteps


@pytest.fixture
def forked(sample_store):
    """refund-loop beside its fork at step 1 with version 2."""
    handle = start_fork(plan_fork(sample_store, "refund-loop", ForkRequest(1, agent="refund_loop.py:main_v2")))
    handle.result()
    parent, fork = sample_store.run("refund-loop"), sample_store.run(handle.run_id)
    return AgentTT(lambda: CompareScreen(sample_store, parent, sample_store, fork), look=Look())


async def read(app, pilot):
    await until(pilot, lambda: app.screen.query_one(CompareSteps).line_count)
    return app.screen.query_one(CompareSteps)


@pytest.mark.parametrize("size", [(80, 24), (140, 40), (60, 24)])
async def test_the_divergence_is_marked_and_selected_with_both_outcomes_in_view(forked, size):
    async with forked.run_test(size=size) as pilot:
        steps = await read(forked, pilot)
        assert 2 in (steps.current.row.a, steps.current.row.b)
        text = "\n".join(screen_text(forked))
        assert "diverged at 2" in text
        assert "failed" in text
        assert "succeeded" in text


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


@pytest.fixture
def late(tmp_path):
    """Two runs of sixty steps that part at the forty-first."""
    path = tmp_path / "late.db"
    for name, parts_at in (("first", None), ("second", 41)):
        state = {"messages": []}
        with agent_tt.record(name, state=state, store=path) as run:
            for number in range(1, 61):
                with run.step(f"step {number}", state):
                    state["messages"].append({"role": "user", "content": f"word {number}"})
                    if number == parts_at:
                        state["messages"].append({"role": "user", "content": "something else"})
    store = open_store(path, read_only=True)
    first, second = store.run("first"), store.run("second")
    yield AgentTT(lambda: CompareScreen(store, first, store, second), look=Look())
    store.close()


async def test_a_late_divergence_is_scrolled_into_view_and_both_ends_are_one_key_away(late):
    async with late.run_test(size=(80, 24)) as pilot:
        steps = await read(late, pilot)
        await pilot.pause()
        assert any(row.startswith("▌") and "step 41" in row for row in screen_text(late))
        assert any("diverged at 41" in row for row in screen_text(late))
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
