from hypothesis import given
from hypothesis import strategies as st

from agent_tt.model import Run
from agent_tt_tui.viewmodel.runs.runtree import SORT_KEYS, RunIndex, run_rows


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


TREES = st.lists(
    st.tuples(st.integers(-1, 8), st.text("ab-", max_size=4), st.booleans(), st.sampled_from(["running", "failed"])),
    max_size=9,
)


@given(TREES, st.lists(st.text("ab-1", max_size=3), max_size=8), st.booleans())
def test_what_is_typed_and_taken_back_letter_by_letter_finds_what_it_finds_alone(parents, texts, archived):
    runs = [
        run(str(n), f"{name}{n}", n, str(parent) if 0 <= parent < n else None, archived=is_archived, status=status)
        for n, (parent, name, is_archived, status) in enumerate(parents)
    ]
    index = RunIndex(runs)
    for text in (
        part for typed in texts for part in (typed[:1], typed[:2], typed, typed[:2], typed[1:], "archived", "")
    ):
        found = index.rows(text=text, archived=archived)
        alone = run_rows(runs, text=text, archived=archived)
        assert list(found) == list(alone)
        assert {row.run.id for row in found} == kept_by(runs, text, archived=archived)
        assert [found.index_of(row) for row in found] == list(range(len(found)))
        assert found.running is any(row.run.status == "running" for row in found)


def kept_by(runs, text, *, archived) -> set[str]:
    """Ids of the runs that hold a text, and of those that they were forked from, one after another."""
    there = {each.id: each for each in runs if archived or text == "archived" or not each.archived}
    kept = set()
    for each in there.values():
        words = [each.name, each.id, each.status, "archived" if each.archived else ""]
        at = each if any(text in word for word in words) else None
        while at is not None:
            kept.add(at.id)
            at = there.get(at.parent)
    return kept


def test_a_further_letter_is_looked_for_in_what_the_letters_before_found():
    index = RunIndex(RUNS).prepare("age", archived=True)

    def looks_at(text: str) -> int:
        return index.looks_at(sort="age", text=text, archived=True, sweeps="grouped")

    assert looks_at("fo") == len(RUNS)
    found = len(index.rows(text="fo", sweeps="grouped"))
    assert looks_at("fo") == 0
    assert looks_at("for") == found == len(RUNS) - 1
    assert looks_at("p") == len(RUNS)
