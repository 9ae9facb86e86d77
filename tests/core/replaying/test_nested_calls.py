"""A call that another one made is not asked again, and what came behind it keeps its place."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from tests.core.replaying.recorded import record

import agent_tt
from agent_tt.replaying.tape.passes import WITH_ITS_OWN, given_out

if TYPE_CHECKING:
    from pathlib import Path

MADE = itertools.count()


@agent_tt.llm
async def ask(question: str) -> str:
    await asyncio.sleep(0.02)
    return f"{question} {next(MADE)}"


@agent_tt.tool(effect="read")
async def look() -> int:
    await asyncio.sleep(0.005)
    return next(MADE)


@agent_tt.tool(effect="read")
async def ponder() -> str:
    return await ask("why")


async def first_of_two() -> list[int]:
    """Count how many of two tools are done where the first one is."""
    seen = []
    for _ in range(5):
        tasks = {asyncio.create_task(look()), asyncio.create_task(ponder())}
        done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        seen.append(len(done))
        await asyncio.gather(*left)
    return seen


def test_a_tool_that_asked_a_model_ends_no_sooner_behind_another_than_it_did(tmp_path: Path):
    recorded = record(tmp_path, first_of_two)
    assert recorded.result == [1] * 5
    for _ in range(5):
        result, replay = recorded.replay(first_of_two)
        assert result == recorded.result
        assert replay.failure is None


def test_passes_behind_nested_answers_are_added_up():
    asked = {1: None, 4: 2, 5: WITH_ITS_OWN, 8: 3, 9: 1}
    nested = {2: 7, 3: 1, 6: None, 7: 4}
    assert list(given_out(asked, nested)) == [(1, None), (4, 10), (5, WITH_ITS_OWN), (8, None), (9, 1)]


PASSES = st.one_of(st.none(), st.just(WITH_ITS_OWN), st.integers(0, 9))


@given(st.dictionaries(st.integers(0, 30), PASSES))
def test_where_nothing_is_nested_everything_stays_as_it_was(asked: dict[int, int | None]):
    assert dict(given_out(asked, {})) == asked


def test_a_call_that_was_only_made_inside_another_is_not_said_to_be_unrecorded(tmp_path: Path):
    recorded = record(tmp_path, ponder)
    result, _ = recorded.replay(lambda: ask("why"))
    assert result.message == "the run has no recorded call of ask but inside of other calls"
    result, _ = recorded.replay(look)
    assert result.message == "the run has no recorded call of look"
