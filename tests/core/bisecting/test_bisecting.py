"""Bisecting: the fewest probes, forks that really run, and results that are found again."""

from __future__ import annotations

import math
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.agent_folder import AgentFolder
from tests.core.memory_store import Did, MemorySource

import agent_tt
from agent_tt import samples
from agent_tt.bisecting.live import bisect_live, first_where
from agent_tt.bisecting.recorded import bisect_recorded
from agent_tt.errors import AgentFailed, InvalidExpression, UsageError
from agent_tt.forking.request import ForkRequest
from agent_tt.model import Edit
from agent_tt.model.facts import RunFacts

pytestmark = pytest.mark.warm


@given(st.integers(0, 200), st.integers(0, 220))
def test_the_first_place_is_found_with_the_fewest_questions(last, first):
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number >= first

    assert first_where(0, last, holds) == (first if first <= last else None)
    assert len(asked) <= 1 + math.ceil(math.log2(last + 1))
    assert len(set(asked)) == len(asked)


def test_recorded_states_are_bisected_and_what_does_not_last_is_said(tmp_path):
    path = tmp_path / "runs.db"
    samples.ensure("flaky-checkout", path)
    with closing(agent_tt.open_source(path)) as source:
        run = source.run("flaky-checkout")
        found = bisect_recorded(source, run, "state.payment.amount > 1500")
        assert (found.first, found.last_without, found.is_monotone) == (6, 5, True)
        found = bisect_recorded(source, run, "error")
        assert (found.first, found.is_monotone) == (7, False)
        found = bisect_recorded(source, run, "state.nothing")
        assert (found.first, found.last_without, found.is_monotone) == (None, None, True)
        with pytest.raises(InvalidExpression):
            bisect_recorded(source, run, "state.")


def test_a_step_of_which_nothing_is_known_is_not_one_without():
    source = MemorySource()
    kept, lost = [Did("s", state={"n": number}) for number in range(4)], Did("s", is_kept=False)
    run = source.add("run", [kept[1], lost, lost, kept[3], lost, kept[3]], state={"n": 0})
    found = bisect_recorded(source, run, "state.n == 3")
    assert (found.first, found.last_without, found.doubtful) == (4, 1, (2, 3))
    assert (found.unknown, found.is_monotone) == ((2, 3, 5), True)
    assert not bisect_recorded(source, run, "state.n == 1").is_monotone
    known = bisect_recorded(source, run, "step > 2")
    assert (known.first, known.last_without, known.unknown) == (3, 2, ())


DYING = """
import os
import agent_tt

with agent_tt.record("dying", state={"n": 0}) as run:
    for number in (1, 2, 3):
        with run.step("count", {"n": number}):
            look(number)
            if number == 3 and os.path.exists("die"):
                os._exit(9)
"""


def test_a_fork_that_broke_off_has_not_answered(tmp_path):
    folder = AgentFolder(tmp_path)
    look = '@agent_tt.tool(effect="read")\ndef look(number):\n    return number\n'
    folder.write(DYING.replace("\n\nwith", f"\n\n{look}\nwith"))
    folder.run("agent.py")
    with closing(agent_tt.open_source(folder.store_path)) as source:
        run = source.run("dying")
        folder.put("die", "")
        with pytest.raises(AgentFailed, match="is not known: it is crashed"):
            bisect_live(source, run, "state.n > 9", ForkRequest())
        assert not any(fork.facts.bisected.key for fork in source.forks(run.id))


def test_what_is_for_forks_is_refused_without_them(tmp_path):
    path = tmp_path / "runs.db"
    samples.ensure("flaky-checkout", path)
    with pytest.raises(UsageError, match="most_forks is for forks"):
        agent_tt.bisect("flaky-checkout", "error", store=path, most_forks=3)
    with pytest.raises(UsageError, match="allow is for forks"):
        agent_tt.bisect("flaky-checkout", "error", store=path, allow=["charge_card"])


@pytest.mark.parametrize(
    "edit", [Edit("set", "count", 3, target="result", step=3, call=2), Edit("mute", "", target="step", step=3)]
)
def test_live_forks_cannot_all_begin_with_an_edit_of_one_step(tmp_path, edit):
    path = tmp_path / "runs.db"
    samples.ensure("refund-loop", path)
    with closing(agent_tt.open_source(path)) as source:
        run = source.run("refund-loop")
        with pytest.raises(UsageError, match="each probe begins after another step"):
            bisect_live(source, run, "state.answer", ForkRequest(edits=[edit]))
        assert source.forks(run.id) == []


def test_live_forks_find_where_it_is_too_late_and_are_found_again(tmp_path):
    """The budget of searches is lowered to 3 in each fork: from step 4 on more of them are used up already."""
    path = tmp_path / "runs.db"
    samples.ensure("refund-loop", path)
    with closing(agent_tt.open_source(path)) as source:
        run = source.run("refund-loop")
        changes = {"budget.max_searches": 3}
        begun = bisect_live(source, run, "state.attempts > 3", ForkRequest(changes=changes), most=2)
        assert [probe.step for probe in begun.probes] == [20, 10]
        assert (begun.first, begun.last_without) == (10, None)
        assert begun.stopped == "2 forks were run, and no more were wanted"
        found = bisect_live(source, run, "state.attempts > 3", ForkRequest(changes=changes))
        assert found.first == 4
        assert found.last_without == 3
        assert found.stopped == ""
        assert [probe.known for probe in found.probes][:3] == [True, True, False]
        assert len(found.probes) <= 6
        assert found.to_json()["probes"][0] == begun.probes[0].to_json() | {"known": True}
        runs = len(source.forks(run.id))
        again = bisect_live(source, run, "state.attempts > 3", ForkRequest(changes=changes))
        assert again.first == 4
        assert all(probe.known for probe in again.probes)
        assert len(source.forks(run.id)) == runs
        kept = source.run(found.probes[0].run).metadata[RunFacts.bisected.key]
        assert isinstance(kept, dict)
        assert (kept["step"], kept["holds"]) == (20, True)
