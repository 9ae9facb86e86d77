"""`compare` of one run with many: the table for people and for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did

from agent_tt.errors import Damaged
from agent_tt.model import Edit
from agent_tt_tui.text import width

if TYPE_CHECKING:
    from tests.core.memory_store import MemorySource
    from tests.tui.cli.conftest import Command

ROW = {
    "run", "name", "parent", "fork_step", "depth", "changed", "edits", "diverged_at", "because", "rejoined_at",
    "rejoined_state", "shared", "only_base", "only_run", "final_changes", "final_equal", "differs", "letter",
    "outcome", "difference", "effects", "damaged", "error",
}  # fmt: skip


@pytest.fixture
def forked(source: MemorySource) -> MemorySource:
    """`support` with three forks; the third books a hotel and is forked again."""
    searched = Did(
        name="work",
        tool="search_docs",
        args={"query": "refund policy"},
        result={"docs": [], "count": 0},
        state=source.state("support", 3),
    )
    answer = Did("answer", answer={"content": "no documents"}, state={"answer": "no documents"})
    source.add("support/fork-2", [searched, answer], parent="support", fork_step=2)
    booked = Did("book", tool="book_hotel", args={"nights": 2}, result="ok", state={"answer": "booked"})
    source.add("support/fork-3", [booked], parent="support", fork_step=2, edits=(Edit("set", "attempts", 0, 3),))
    source.add("support/fork-3/fork-1", [], parent="support/fork-3", fork_step=3, status="crashed")
    return source


@pytest.mark.usefixtures("forked")
def test_the_forks_of_a_run_are_a_table_of_a_documented_shape(command: Command) -> None:
    done = command("compare", "support", "--forks", "--json")
    assert done.code == 1
    assert done.json.keys() == {"base", "rows", "answers"}
    base, rows = done.json["base"], done.json["rows"]
    assert (base["run"], base["letter"], base["outcome"]["status"]) == ("support", "-", "failed")
    assert all(row.keys() == ROW for row in rows)
    first = rows[0]
    assert (first["name"], first["depth"], first["fork_step"]) == ("support/fork-1", 1, 1)
    assert (first["changed"], first["edits"][0]["value"]) == (["attempts = 9"], 9)
    assert (first["diverged_at"], first["only_base"], first["only_run"]) == (2, 4, 0)
    assert (first["outcome"]["answer"], first["letter"], first["error"]) == ("no documents", "a", None)
    assert first["difference"] == {"steps": -4, "tokens": None, "cost_usd": None, "duration_ms": 0}
    by_name = {row["name"]: row for row in rows}
    assert by_name["support/fork-3"]["effects"] == {"went out": {"book_hotel": 1}}
    assert by_name["support/fork-3/fork-1"]["depth"] == 2
    assert done.json["answers"] == [
        {"letter": "a", "count": 2, "text": "no documents", "failed": False},
        {"letter": "b", "count": 1, "text": "booked", "failed": False},
        {"letter": "-", "count": 1, "text": "TimeoutError: search_docs timed out", "failed": True},
        {"letter": "-", "count": 1, "text": "crashed", "failed": True},
    ]


@pytest.mark.usefixtures("forked")
def test_each_row_agrees_with_comparing_the_two(command: Command) -> None:
    for row in command("compare", "support", "--forks", "--json").json["rows"]:
        two = command("compare", "support", row["name"], "--json").json
        for key in ("diverged_at", "because", "rejoined_at", "rejoined_state", "shared"):
            assert row[key] == two[key]
        assert (row["only_base"], row["only_run"]) == (len(two["only_a"]), len(two["only_b"]))
        assert (row["final_changes"], row["outcome"]) == (len(two["final_changes"]), two["outcome_b"])


@pytest.mark.usefixtures("forked")
def test_rows_are_sorted_and_named_runs_stand_in_the_order_in_which_they_are_named(command: Command) -> None:
    def names(*arguments: str) -> list[str]:
        return [row["name"].removeprefix("support/") for row in command("compare", *arguments, "--json").json["rows"]]

    assert names("support", "--forks", "--sort", "diverged") == ["fork-1", "fork-3", "fork-3/fork-1", "fork-2"]
    assert names("support", "--forks", "--sort", "answer") == ["fork-1", "fork-2", "fork-3", "fork-3/fork-1"]
    assert names("support", "--forks", "--sort", "status")[0] == "fork-3/fork-1"
    assert names("support", "support/fork-3", "support/fork-1") == ["fork-3", "fork-1"]


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("columns", [80, 140])
def test_the_table_fits_and_says_what_was_changed_and_what_came_of_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = command("compare", "support", "--forks")
    lines = done.out.splitlines()
    assert all(width(line) <= columns for line in lines)
    row = next(line for line in lines if line.startswith("fork-1"))
    assert row.split()[:2] == ["fork-1", "✓"]
    assert "attempts = 9" in row
    assert "4<" in row
    assert next(line for line in lines if line.startswith("support ")).endswith("6 steps") or "the base" in done.out
    assert "went out: book_hotel ×1" in done.out
    assert "4 runs, 4 differ, 2 different answers" in done.out
    assert any(line.startswith("a    2×  no documents") for line in lines)
    assert ("succeeded" in row) == (columns == 140)


def test_one_run_that_cannot_be_read_is_a_row_and_decides_the_exit_code(
    command: Command, forked: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = forked.steps

    def damaged(run_id: str, *rest: int) -> list:
        if run_id == "support/fork-2":
            raise Damaged("step 3 cannot be read", hint="verify says more")
        return steps(run_id, *rest)

    monkeypatch.setattr(forked, "steps", damaged)
    done = command("compare", "support", "--forks", "--json")
    assert done.code == 4
    assert [row["outcome"] is None for row in done.json["rows"]] == [False, True, False, False]
    assert done.json["rows"][1]["error"] == {
        "kind": "damaged",
        "message": "step 3 cannot be read",
        "hint": "verify says more",
    }
    shown = command("compare", "support", "--forks").out
    assert "step 3 cannot be read" in shown
    assert "1 cannot be read" in shown


def test_where_nothing_differs_the_answer_is_yes(command: Command, source: MemorySource) -> None:
    source.add("same", [], parent="support/fork-1", fork_step=2)
    assert command("compare", "support/fork-1", "same", "support/fork-1", "--json").code == 0
    assert command("compare", "support/fork-1", "--forks").code == 0
    nothing = command("compare", "same", "--forks")
    assert (nothing.code, "Nothing was forked from it yet" in nothing.out) == (0, True)


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("support",), 2),
        ((), 2),
        (("support", "support/fork-1", "--forks"), 2),
        (("support", "support/fork-1", "--sort", "cost"), 2),
        (("support", "support/fork-1", "--all"), 2),
        (("support", "--forks", "--sort", "beauty"), 2),
        (("support", "support/fork-1", "nobody"), 3),
    ],
)
def test_what_makes_no_sense_is_refused(command: Command, arguments: tuple[str, ...], code: int) -> None:
    done = command("compare", *arguments, "--json")
    assert done.code == code
    assert done.error["message"]


def test_archived_forks_stand_in_it_only_where_they_are_asked_for(command: Command, source: MemorySource) -> None:
    source.save("support/fork-1", replace(source.run("support/fork-1"), archived=True))
    assert "All its forks are archived: --all lists them." in command("compare", "support", "--forks").out
    asked = command("compare", "support", "--forks", "--all", "--json").json
    assert [row["name"] for row in asked["rows"]] == ["support/fork-1"]
    named = command("compare", "support", "support", "support/fork-1", "--json").json
    assert [row["differs"] for row in named["rows"]] == [False, True]
