"""One run against many."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

import agent_tt
from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.comparing.runs.edits import edit_words
from agent_tt.comparing.runs.equal_answers import group_answers
from agent_tt.comparing.runs.table import SORT_KEYS, Table, TableReader
from agent_tt.comparing.steps.outcome import NO_ANSWER
from agent_tt.errors import Damaged, Interrupted, RunNotFound
from agent_tt.model import AgentCode, Edit, ErrorInfo, NewFork, NewRun, NewStep, StepEnd
from agent_tt.model.facts import RunFacts
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path


def step(tool: str, query: str = "", result: str = "ok", **rest: object) -> Did:
    return Did(name="work", tool=tool, args={"query": query}, result=result, **rest)


moves = st.lists(
    st.builds(
        step,
        st.sampled_from(["look", "ask", "book"]),
        st.sampled_from(["p", "q"]),
        state=st.fixed_dictionaries({"answer": st.sampled_from(["", "yes", "no"]), "n": st.integers(0, 2)}),
    ),
    max_size=6,
)
forks = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), moves, st.sampled_from(["succeeded", "failed"])))


def table_of(source: MemorySource, base: str, others: list[str] | None = None) -> Table:
    reader = TableReader(source, source.run(base), None if others is None else [source.run(each) for each in others])
    assert [row.run.id for row in reader.read()] == [row.run.id for row in reader.table().rows]
    return reader.table()


@given(moves, forks)
@settings(max_examples=40, deadline=None)
def test_each_row_says_what_comparing_the_two_says(base: list[Did], made: list[tuple]) -> None:
    source = MemorySource()
    source.add("base", base, state={})
    names = ["base"]
    for of, at, steps, status in made:
        parent = names[of % len(names)]
        at = min(at, source.step_count(parent))
        names.append(source.add(f"fork-{len(names)}", steps, parent=parent, fork_step=at, status=status, state={}).id)
    table = table_of(source, "base")
    assert sorted(row.run.id for row in table.rows) == sorted(names[1:])
    for row in table.rows:
        one = compare_runs(source, source.run("base"), source, source.run(row.run.id))
        assert (row.shared, row.diverged_at, row.because) == (one.shared, one.diverged_at, one.because)
        assert (row.rejoined_at, row.rejoined_state) == (one.rejoined_at, one.rejoined_state)
        assert (row.only_base, row.only_run) == (len(one.only_a), len(one.only_b))
        assert (row.final_changes, row.differs) == (len(one.final_changes), one.differs)
        assert row.difference is not None
        assert row.difference.steps == one.outcome_b.steps - one.outcome_a.steps
        assert row.outcome is not None
        assert row.outcome.effects.groups() == one.outcome_b.effects.groups()
        assert replace(row.outcome, effects=one.outcome_b.effects) == one.outcome_b
        assert replace(table.outcome, effects=one.outcome_a.effects) == one.outcome_a
    assert table.differs == any(row.differs for row in table.rows)
    for one in table.rows:
        for other in table.rows:
            if one.outcome.status == other.outcome.status == "succeeded":
                same = (one.outcome.answer or NO_ANSWER) == (other.outcome.answer or NO_ANSWER)
                assert same == (table.letter(one.run.id) == table.letter(other.run.id))
            elif one.outcome.status == "failed":
                assert table.letter(one.run.id) == "-"


A, B, X = step("look"), step("ask"), step("something_else")


def family() -> MemorySource:
    """A base of four steps, two forks of it, and a fork of the second."""
    source = MemorySource()
    source.add("base", [A, B, A, replace(B, state={"answer": "7 days"})])
    edit = Edit("set", "limit", 3, 20)
    source.add("one", [X], parent="base", fork_step=2, edits=(edit,), status="failed")
    source.add("two", [A, replace(B, state={"answer": "7 days"})], parent="base", fork_step=2)
    source.add("two/one", [X, X, X], parent="two", fork_step=3, edits=(Edit("mute", "", target="step", step=1),))
    return source


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The steps whose calls were read, each with its run."""
    found: list[tuple[str, int]] = []
    calls = MemorySource.calls

    def reading(self: MemorySource, run_id: str, number: int) -> list:
        found.append((run_id, number))
        return calls(self, run_id, number)

    monkeypatch.setattr(MemorySource, "calls", reading)
    return found


def test_the_base_is_read_once_however_many_there_are(read: list[tuple[str, int]]) -> None:
    source = MemorySource()
    source.add("base", [A] * 50)
    for number in range(40):
        source.add(f"fork-{number}", [X], parent="base", fork_step=25)
    assert len(table_of(source, "base").rows) == 40
    # Where they part, both are looked at more closely: that is one step of each, once a row.
    of_base = [number for run_id, number in read if run_id == "base" and number != 26]
    assert len(of_base) <= 2 * 50
    assert len(read) - len(of_base) <= 5 * 40


def test_forks_of_forks_say_how_deep_they_are_and_what_was_changed_on_the_whole_way() -> None:
    rows = {row.run.id: row for row in table_of(family(), "base").rows}
    assert {name: row.depth for name, row in rows.items()} == {"one": 1, "two": 1, "two/one": 2}
    assert rows["one"].changed == ("limit = 3",)
    assert rows["two"].changed == ()
    assert rows["two/one"].changed == ("step 1 muted",)
    source = family()
    source.add("one/one", [X], parent="one", fork_step=3, edits=(Edit("delete", "notes"),))
    rows = {row.run.id: row for row in table_of(source, "base").rows}
    assert rows["one/one"].changed == ("limit = 3", "notes removed")


def test_runs_that_are_no_forks_can_stand_in_it_too_and_so_can_the_base() -> None:
    source = family()
    source.add("stranger", [X])
    table = table_of(source, "base", ["stranger", "base", "one"])
    assert [row.run.id for row in table.rows] == ["stranger", "base", "one"]
    assert [row.depth for row in table.rows] == [0, 0, 1]
    assert [row.differs for row in table.rows] == [True, False, True]


def test_rows_are_ordered_by_what_is_asked_for() -> None:
    source = family()
    source.add("three", [X, A, A], parent="base", fork_step=1)
    table = table_of(source, "base")

    def order(by: str) -> list[str]:
        return [row.run.id for row in table.ordered(by)]

    assert set(SORT_KEYS) >= {"diverged", "cost", "steps", "status", "answer"}
    assert order("made") == [row.run.id for row in table.rows]
    assert order("diverged") == ["three", "one", "two/one", "two"]
    assert order("status") == ["one", *(name for name in order("made") if name != "one")]
    assert order("steps") == ["two/one", "two", "three", "one"]
    letters = {row.run.id: table.letter(row.run.id) for row in table.rows}
    assert letters == {"one": "-", "two": "a", "two/one": "b", "three": "b"}
    assert order("answer") == ["two", *(name for name in order("made") if letters[name] == "b"), "one"]
    assert table.letter("base") == "a"


def test_equal_answers_share_a_letter_and_there_may_be_more_answers_than_letters() -> None:
    found = group_answers({number: f"answer {number // 2}" for number in range(60)}, ["died", "died"])
    assert [found.letters[number] for number in (0, 1, 2, 51, 52, 59)] == ["a", "a", "b", "z", "+", "+"]
    assert (found.different, found.succeeded) == (30, 60)
    assert (found.groups[-1].letter, found.groups[-1].count, found.groups[-1].failed) == ("-", 2, True)


def test_a_run_that_goes_on_is_read_again_and_others_are_not(read: list[tuple[str, int]]) -> None:
    source = family()
    source.add("live", [B], parent="base", fork_step=1, status="running")
    reader = TableReader(source, source.run("base"))
    list(reader.read())
    (live,) = (row for row in reader.table().rows if row.run.id == "live")
    assert (live.only_base, reader.table().letter("live"), live.difference.duration_us) == (0, "", None)
    source.add("live", [A, X, replace(X, state={"answer": "no"})], parent="base", fork_step=1)
    read.clear()
    reader.heads()
    assert reader.due == 1
    list(reader.read())
    (live,) = (row for row in reader.table().rows if row.run.id == "live")
    assert (live.outcome.status, live.outcome.steps, reader.due) == ("succeeded", 4, 0)
    assert {run_id for run_id, _ in read} - {"base"} == {"live"}
    source.add("late", [X], parent="live", fork_step=2)
    assert {row.run.id for row in reader.read()} == {"one", "two", "two/one", "live", "late"}


def test_what_the_base_does_while_it_goes_on_changes_every_row() -> None:
    source = family()
    source.add("base", [A, B, A], status="running")
    reader = TableReader(source, source.run("base"), [source.run("two")])
    (row,) = reader.read()
    assert row.only_run == 0  # the base may come to it yet
    source.add("base", [A, B, X])
    (row,) = reader.read()
    assert row.diverged_at == 3


def test_a_fork_that_is_damaged_or_deleted_is_a_row_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    source = family()
    reader = TableReader(source, source.run("base"))
    steps = source.steps

    def damaged(run_id: str, *rest: int) -> list:
        if run_id == "one":
            raise Damaged("step 3 of one cannot be read")
        return steps(run_id, *rest)

    monkeypatch.setattr(source, "steps", damaged)
    rows = {row.run.id: row for row in reader.read()}
    assert (rows["one"].trouble, rows["one"].outcome) == ("step 3 of one cannot be read", None)
    assert (rows["one"].changed, rows["two"].outcome is None) == (("limit = 3",), False)
    monkeypatch.undo()
    source.remove("two", source.run("two"))
    rows = {row.run.id: row for row in reader.read()}
    assert isinstance(rows["two"].error, RunNotFound)
    assert rows["one"].outcome is not None  # it can be read again
    assert [row.run.id for row in reader.table().ordered("steps")][-1] == "two"
    gone = TableReader(source, source.run("base"), [rows["two"].run, source.run("one")])
    assert [row.outcome is None for row in gone.read()] == [True, False]
    source.remove("base", source.run("base"))
    with pytest.raises(RunNotFound):
        reader.heads()


def test_what_is_wrong_with_a_run_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    source = family()
    (row,) = table_of(source, "base", ["two/one"]).rows
    assert (row.trouble, row.damaged) == ("", ())
    assert replace(row, damaged=(1, 2, 3)).trouble == "damaged at 1, 2, 3"
    assert replace(row, damaged=(1, 2, 3, 5)).trouble == "damaged at 1, 2, 3 and more"
    assert replace(row, damaged=(1,), error=Damaged("gone")).trouble == "gone"
    monkeypatch.setattr(source, "damaged_steps", lambda run_id: [4] if run_id == "two" else [])
    assert [each.damaged for each in table_of(source, "base", ["one", "two"]).rows] == [(), (4,)]
    # Its last step is damaged: nobody knows what it answered.
    assert table_of(source, "base", ["two"]).letter("two") == ""


def test_a_row_with_an_error_keeps_what_is_known_without_comparing(monkeypatch: pytest.MonkeyPatch) -> None:
    source = family()
    source.add("two/one", [X], parent="two", fork_step=3, edits=(Edit("mute", "", target="step", step=1),))
    reader = TableReader(source, source.run("base"))
    list(reader.read())
    steps = source.steps

    def damaged(run_id: str, *rest: int) -> list:
        if run_id == "two/one":
            raise Damaged("it cannot be read")
        return steps(run_id, *rest)

    monkeypatch.setattr(source, "steps", damaged)
    source.add("base", [A, B, A, X, X])  # so that all are compared again
    (row,) = (row for row in reader.read() if row.run.id == "two/one")
    assert (row.depth, row.changed, row.trouble) == (2, ("step 1 muted",), "it cannot be read")
    assert (row.diverged_at, row.outcome) == (None, None)
    assert [each.error for each in reader.heads() if each.run.id == "two/one"] == [None], "it will be tried again"
    assert reader.due == 1


def test_a_row_stays_as_it_was_until_it_is_compared_again() -> None:
    source = family()
    source.add("live", [X], parent="base", fork_step=1, status="running")
    reader = TableReader(source, source.run("base"))
    list(reader.read())
    source.add("live", [B, X], parent="base", fork_step=1, status="running")
    (row,) = (row for row in reader.heads() if row.run.id == "live")
    assert (row.diverged_at, row.run.steps) == (2, 3)
    (row,) = (row for row in reader.read() if row.run.id == "live")
    assert row.diverged_at == 3


def test_rows_hold_nothing_of_what_calls_carried() -> None:
    source = MemorySource()
    source.add("base", [Did("work", tool="book", args={"large": 1}, result="large")])
    source.add("one", [Did("work", tool="book", args={"large": 2}, result="large")])
    table = table_of(source, "base", ["one"])
    for outcome in (table.outcome, table.rows[0].outcome):
        (row,) = outcome.effects.rows
        assert (row.name, row.args, row.asked, row.result) == ("book", None, {}, None)


def test_it_can_be_given_up_and_gone_on_with() -> None:
    source = family()
    reader = TableReader(source, source.run("base"))
    seen: list[object] = []
    rows = reader.read(cancelled=lambda: bool(seen))
    first = next(rows)
    seen.append(first)
    with pytest.raises(Interrupted):
        list(rows)
    assert first.outcome is not None
    unread = [row.run.id for row in reader.table().rows if row.outcome is None]
    assert reader.due == len(unread) > 0
    assert all(row.outcome is not None for row in reader.read())


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (Edit("set", "budget.limit", 3, 20), "budget.limit = 3"),
        (Edit("set", "", {"a": 1}), 'the whole state = {"a": 1}'),
        (Edit("set", "q", "one two three four five six seven", "one two"), "q edited, +5 words"),
        (Edit("insert", "messages[2]", {"role": "user"}), 'messages[2] inserted: {"role": "user"}'),
        (Edit("delete", "notes", old=1), "notes removed"),
        (Edit("move", "a", to="b"), "a moved to b"),
        (Edit("set", "", "gpt-4o", "gpt-4", target="model"), 'model = "gpt-4o"'),
        (Edit("set", "temperature", 0, target="parameter"), "parameter temperature = 0"),
        (Edit("mute", "", target="step", step=3), "step 3 muted"),
    ],
)
def test_an_edit_is_said_in_few_words(edit: Edit, words: str) -> None:
    assert edit_words(edit) == words


def test_a_real_store_policies_terms_code_and_sorting_of_costs(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(open_store(path, create=True)) as store:
        code = AgentCode(entry="agent.py:main", fingerprint="1")
        writer = store.begin_run(NewRun("base", code=code), {"n": 0})
        number = writer.open_step(NewStep("think"))
        end = StepEnd("ok", tokens_in=10, tokens_out=1, cost_usd=0.1)
        writer.close_step(number, end, {"n": 1, "answer": "5 days"})
        writer.finish("succeeded")
        base = store.run("base")
        rules = {"*write": "deny", "charge": "live"}
        terms = {
            RunFacts.fork_terms.key: {
                "executor": "mock",
                "seed": 4,
                "overrides": {"mood": "calm"},
                "limits": {"steps": 3},
            }
        }
        for cost, policy, metadata, entry in ((0.3, rules, {}, "agent.py:main"), (0.4, {}, terms, "other.py:main")):
            new = NewRun("", metadata=metadata, code=AgentCode(entry=entry, fingerprint="1"))
            fork = store.begin_fork(NewFork(base.id, 0, state={"n": 0}, new=new, policy=policy))
            writer = store.adopt_run(fork, NewRun("", code=new.code), {"n": 0})
            number = writer.open_step(NewStep("think"))
            writer.close_step(number, StepEnd("ok", cost_usd=cost), {"n": 1, "answer": "7 days"})
            writer.finish("failed", ErrorInfo("builtins:ValueError", "no"))
    table = agent_tt.compare_many("base", store=path)
    assert [row.changed for row in table.rows] == [
        ("charge live",),
        ("executor mock, seed 4", 'mood = "calm"', "runs other.py:main"),
    ]
    assert [row.difference.cost_usd for row in table.rows] == pytest.approx([0.2, 0.3])
    assert [row.difference.tokens for row in table.rows] == [None, None]
    assert [row.run.name for row in table.ordered("cost")] == ["base/fork-2", "base/fork-1"]
    named = agent_tt.compare_many("base", ["base/fork-2"], store=path)
    assert named.rows == (table.rows[1],)
    with pytest.raises(RunNotFound):
        agent_tt.compare_many("base", ["nobody"], store=path)
