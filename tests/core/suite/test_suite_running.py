"""Recorded runs are run again with the code as it is now, and each is judged by what really came."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.core.golden.desk import record, write

from agent_tt.errors import InvalidExpression, NotFound
from agent_tt.forking.request import ForkRequest
from agent_tt.model import NewFork, NewRun
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt.suite.choosing import choose_runs
from agent_tt.suite.running import Suite

pytestmark = pytest.mark.warm


@pytest.fixture
def desk(tmp_path):
    record(tmp_path)
    with closing(open_store(tmp_path / "runs.db")) as store:
        yield store


def tried(store, **about):
    (result,) = Suite(store.path, store, choose_runs(store, ()).runs, **about).results()
    return result


def test_an_unchanged_agent_is_equal_and_its_run_is_kept_beside_the_store(desk, tmp_path):
    result = tried(desk)
    assert (result.verdict, result.judged.because) == ("equal", "the same, also in steps, tokens, cost")
    with closing(open_source(tmp_path / "tests.db")) as kept:
        assert kept.run(result.new_run).name == "desk"
    assert [run.name for run in desk.runs()] == ["desk"]
    assert result.compare_command.startswith(f"agent-tt compare {result.run.id} {tmp_path / 'tests.db'}:")


@pytest.mark.parametrize(
    ("change", "expect", "verdict", "because"),
    [
        (("    return state", "        raise ValueError('no')\n    return state"), None, "worse", "failed where it"),
        (("cost_usd=0.001", "cost_usd=0.002"), None, "worse", "more cost"),
        (("EUR.", "dollars."), None, "unknown", "only an expectation"),
        (("EUR.", "dollars."), "paid > 50", "equal", "the same"),
        (("EUR.", "dollars."), '"EUR" in state.answer', "worse", "held then"),
        (('rate("EUR")', 'rate("USD")'), None, "unknown", "asks what was not recorded"),
        (
            ('with run.step("look up"', 'refund("K-1")\n        with run.step("look up"'),
            None,
            "unknown",
            "not recorded",
        ),
        (("import agent_tt", "import agent_tt, nowhere_to_be_found"), None, "unknown", "could not be run"),
    ],
)
def test_a_change_is_better_or_worse_only_where_that_is_known(desk, tmp_path, change, expect, verdict, because):
    write(tmp_path, change)
    result = tried(desk, expect=expect)
    assert result.verdict == verdict
    assert because in result.judged.because


def test_a_program_that_is_halted_before_its_run_begins_is_unknown_with_the_reason(desk, tmp_path):
    write(tmp_path, ('    with agent_tt.record("desk"', '    refund("K-1")\n    with agent_tt.record("desk"'))
    result = tried(desk)
    assert (result.verdict, result.new_run) == ("unknown", None)


def test_a_fork_runs_for_real_and_what_writes_is_held(desk, tmp_path):
    write(
        tmp_path,
        ("    return state", "        refund('K-1')\n    return state"),
        ('raise AssertionError("a golden never runs a tool")', 'open("paid", "w").close()'),
    )
    result = tried(desk, fork=ForkRequest(step=0))
    assert (result.verdict, result.now.outcome.denied) == ("worse", {"refund": 1})
    assert not (tmp_path / "paid").exists()
    assert desk.run(result.new_run).parent == result.run.id


def test_a_fork_that_cannot_begin_is_not_called_worse(desk, tmp_path):
    write(tmp_path, ("import agent_tt", "import agent_tt, nowhere_to_be_found"))
    result = tried(desk, fork=ForkRequest(step=0))
    assert result.verdict == "unknown"
    assert "nowhere_to_be_found" in result.judged.because


def test_filters_name_runs_agents_and_questions_and_forks_are_left_out(tmp_path):
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        for name, paid in (("one", True), ("two", False)):
            writer = store.begin_run(NewRun(name=name), {"paid": paid})
            writer.finish("succeeded")
        store.begin_run(NewRun(name="two-live"), {})
        store.begin_fork(NewFork(store.run("one").id, 0, state={"paid": True}, new=NewRun(name="one/fork-1")))

        def names(*filters):
            return [run.name for run in choose_runs(store, filters).runs]

        assert names() == ["one", "two"]
        assert names("two") == names("t*") == names("paid == false") == ["two"]
        assert names("one", "two") == ["one", "two"]
        chosen = choose_runs(store, ())
        assert (chosen.forks, chosen.running) == (1, 1)
        for nothing in ("paid == 3", "three", "x*"):
            with pytest.raises(NotFound):
                choose_runs(store, [nothing])
        with pytest.raises(InvalidExpression, match="paid =="):
            choose_runs(store, ["paid =="])
