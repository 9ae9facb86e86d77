"""The list of runs in the width it has, and the preview in its rows: what has room is shown, and whole."""

from __future__ import annotations

import pytest
from tests.tui.base_screens import screen_text
from tests.tui.waiting import workers_ended

from agent_tt.model import NewRun, NewStep, StepEnd
from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.run_list import Columns


@pytest.mark.parametrize("width", range(20, 260, 3))
def test_columns_take_no_more_than_there_is_and_go_whole(width):
    columns = Columns.of(width)
    rest = (columns.steps, columns.tokens, columns.cost, columns.took, columns.model, columns.age)
    assert columns.name + columns.status + sum(rest) <= max(width, 8 + 14)
    for given, whole in zip(rest, (6, 9, 9, 9, 18, 8), strict=True):
        assert given in (0, whole)
    assert not columns.model or columns.took
    assert not columns.took or columns.cost


@pytest.mark.parametrize(("columns", "heads"), [(120, "COST     AGE"), (160, "TOOK     AGE"), (200, "MODEL")])
async def test_a_wide_list_says_more_of_a_run_and_the_answer_is_whole(tmp_path, columns, heads):
    store = open_store(tmp_path / "runs.db", create=True, durability="normal")
    answer = " ".join(f"word{number}" for number in range(40))
    writer = store.begin_run(NewRun("talks"), {"messages": []})
    writer.open_step(NewStep("answer"))
    writer.close_step(1, StepEnd("ok"), {"messages": [{"role": "assistant", "content": answer}]})
    writer.finish("succeeded")
    async with AgentTT(lambda: RunsScreen(store), look=Look()).run_test(size=(columns, 40)) as pilot:
        for _ in range(3):
            await workers_ended(pilot.app)
            await pilot.pause(0.1)
        rows = screen_text(pilot.app)
        assert heads in rows[1]
        assert any("word39" in row for row in rows)
    store.close()
