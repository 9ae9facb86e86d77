"""The compare screen, over a real fork of a real sample run."""

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import until

from agent_tt.forking.launch import start_fork
from agent_tt.forking.plan import plan_fork
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.compare import CompareScreen
from agent_tt_tui.widgets.compare_steps import CompareSteps


@pytest.fixture
def forked(sample_store):
    """refund-loop beside its fork at step 1 with version 2."""
    handle = start_fork(plan_fork(sample_store, "refund-loop", 1, agent="refund_loop.py:main_v2"))
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


async def test_arrows_go_from_pair_to_pair_and_pass_over_the_rule(forked):
    async with forked.run_test(size=(80, 24)) as pilot:
        steps = await read(forked, pilot)
        await pilot.press("left")
        assert steps.current.row.a == 1
        await pilot.press("right")
        assert steps.current.row.a == 2


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
    handle = start_fork(plan_fork(sample_store, "refund-loop", 1, agent=f"{agent}:main"))
    parent, fork = sample_store.run("refund-loop"), sample_store.run(handle.run_id)
    app = AgentTT(lambda: CompareScreen(sample_store, parent, sample_store, fork, handle), look=Look())
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "ZeroDivisionError" in "\n".join(screen_text(app)))
        await read(app, pilot)
