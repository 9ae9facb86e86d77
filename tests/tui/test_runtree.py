from hypothesis import given
from hypothesis import strategies as st

from agent_tt.model import Run
from agent_tt_tui.viewmodel.runs.runtree import SORT_KEYS, run_rows


def run(run_id: str, name: str, started: int, parent: str | None = None, **more) -> Run:
    return Run(id=run_id, name=name, status=more.pop("status", "succeeded"), started_us=started, parent=parent, **more)


RUNS = [
    run("d", "planner", 40),
    run("c", "loop/fork-2", 30, "a"),
    run("e", "loop/fork-1/fork-1", 35, "b"),
    run("b", "loop/fork-1", 20, "a"),
    run("a", "loop", 10, status="failed", steps=21),
]


def labels(rows) -> list[tuple[str, int]]:
    return [(row.label, len(row.last)) for row in rows]


def test_forks_stand_below_what_they_were_forked_from_in_the_order_they_were_made():
    assert labels(run_rows(RUNS)) == [("planner", 0), ("loop", 0), ("fork-1", 1), ("fork-1", 2), ("fork-2", 1)]


def test_the_last_fork_of_each_level_ends_its_branch():
    assert {row.run.id: row.last for row in run_rows(RUNS)} == {
        "d": (),
        "a": (),
        "b": (False,),
        "e": (False, True),
        "c": (True,),
    }


def test_a_filter_keeps_what_a_match_was_forked_from():
    assert labels(run_rows(RUNS, text="FORK-1/fork")) == [("loop", 0), ("fork-1", 1), ("fork-1", 2)]


def test_a_filter_finds_runs_by_status_and_leaves_out_the_rest():
    assert labels(run_rows(RUNS, text="failed")) == [("loop", 0)]


def test_sorting_orders_root_runs_and_leaves_their_forks_below_them():
    assert labels(run_rows(RUNS, sort="steps"))[0] == ("loop", 0)
    assert labels(run_rows(RUNS, sort="name"))[-1] == ("planner", 0)


def test_a_fork_whose_parent_is_gone_stands_on_its_own():
    assert labels(run_rows([run("z", "loop/fork-9", 1, "gone")])) == [("loop/fork-9", 0)]


def test_a_chain_of_a_thousand_forks_is_listed():
    chain = [run(f"r{n}", f"r{n}", n, f"r{n - 1}" if n else None) for n in range(1000)]
    assert [row.run.id for row in run_rows(chain)] == [f"r{n}" for n in range(1000)]


@given(st.lists(st.integers(-1, 8), max_size=9), st.sampled_from(SORT_KEYS))
def test_every_run_is_listed_exactly_once_and_after_its_parent(parents, sort):
    runs = [run(str(n), f"run {n}", n, str(parent) if 0 <= parent < n else None) for n, parent in enumerate(parents)]
    listed = [row.run.id for row in run_rows(runs, sort=sort)]
    assert sorted(listed) == sorted(r.id for r in runs)
    for r in runs:
        assert r.parent is None or listed.index(r.parent) < listed.index(r.id)
