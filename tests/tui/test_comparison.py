"""What the compare screen shows, given two runs."""

from pathlib import Path

import pytest
from tests.core.memory_store import Did, MemorySource
from textual.app import App

from agent_tt.comparing.runs.comparison import LanePair
from agent_tt.errors import StepNotFound
from agent_tt.model import Call, Edit, Run, Step
from agent_tt.protocols import RunSource
from agent_tt_tui.viewmodel.runs.comparison import read_comparison, read_states
from agent_tt_tui.widgets.runs.compare_frame import SideTitles


class Runs(RunSource):
    """Two or more runs in memory, each a list of (tool, argument, status)."""

    path = Path("memory")

    def __init__(self, runs: dict[str, list[tuple[str, str, str]]]) -> None:
        self.moves = runs

    def version(self):
        return 1

    def runs(self, *, archived=False, limit=None):
        return [self.run(run_id) for run_id in self.moves][:limit]

    def steps(self, run_id, start=1, stop=None):
        moves = self.moves[run_id]
        return [
            Step(number=n, name=tool, status=status, kind="read", calls=1, inherited=run_id == "b" and n == 1)
            for n, (tool, _, status) in enumerate(moves, 1)
        ][start - 1 : None if stop is None else stop - 1]

    def calls(self, run_id, step):
        tool, argument, _ = self.moves[run_id][step - 1]
        return [Call(step=step, number=1, kind="tool", name=tool, status="ok", effect="read", args={"query": argument})]

    def notes(self, run_id):
        return []

    def run(self, run_id):
        return run(run_id, steps=len(self.moves[run_id]))

    def step_count(self, run_id):
        return len(self.moves[run_id])

    def state(self, run_id, step):
        return {"n": step}

    def digest(self, run_id, step):
        return None


def run(run_id: str, **more) -> Run:
    return Run(id=run_id, name=run_id, status=more.pop("status", "succeeded"), started_us=0, ended_us=1, **more)


SEARCH = ("search", "refund", "ok")
LOOP = [SEARCH] * 20 + [("search", "refund", "error")]
EDITS = (Edit("set", "budget", 3, 20),)


def view(a, b, **more):
    source = Runs({"a": a, "b": b})
    child = run("b", parent="a", fork_step=1, steps=len(b), **more)
    return read_comparison(source, run("a", steps=len(a)), source, child)


def kinds(lines) -> list[str]:
    return [line.kind for line in lines]


def test_repeats_that_only_one_side_has_are_folded_but_the_failed_step_stands_alone():
    lines = view(LOOP, [SEARCH, ("answer", "", "ok")]).lines()
    fold = next(line for line in lines if line.kind == "fold")
    assert fold.row.a > 2
    assert fold.more[-1].a == 20
    assert lines[-1].row.a == 21
    assert sum(line.count for line in lines if line.row is not None and line.row.b is None) >= 18


def test_the_rule_and_the_edits_stand_right_before_the_pair_at_which_the_runs_part():
    compared = view(LOOP, [SEARCH, ("answer", "", "ok")], edits=EDITS)
    lines = compared.lines()
    rule = kinds(lines).index("diverged")
    assert kinds(lines)[rule - 1] == "edits"
    assert "budget" in lines[rule - 1].text
    assert compared.comparison.diverged_at == 2
    assert 2 in (lines[rule + 1].row.a, lines[rule + 1].row.b)


def test_it_opens_at_the_divergence_and_else_at_the_end():
    compared = view(LOOP, [SEARCH, ("answer", "", "ok")])
    lines = compared.lines()
    assert lines[compared.opening_line(lines) - 1].kind == "diverged"
    same = view([SEARCH, SEARCH], [SEARCH, SEARCH])
    assert same.opening_line(same.lines()) == 1


def test_only_differences_leaves_out_equal_pairs():
    lines = view([SEARCH, ("book", "x", "ok")], [SEARCH, ("book", "y", "ok")]).lines("differences")
    assert [line.row.kind for line in lines if line.row is not None] == ["different"]


def test_of_a_stretch_that_is_the_same_the_first_and_the_last_pair_are_shown_and_every_failed_one():
    moves = [("look", str(number), "ok") for number in range(1, 21)]
    moves[9] = ("look", "10", "error")
    compared = view([*moves, SEARCH], [*moves, ("answer", "", "ok")])
    lines = [line for line in compared.lines() if line.row is not None]
    assert [(line.kind, line.row.a, line.count) for line in lines] == [
        ("pair", 1, 1),
        ("fold", 2, 7),
        ("pair", 9, 1),
        ("pair", 10, 1),
        ("pair", 11, 1),
        ("fold", 12, 8),
        ("pair", 20, 1),
        ("pair", 21, 1),
    ]
    assert sum(line.count for line in lines) == len(compared.comparison.rows)
    assert [line.kind for line in compared.lines("all") if line.row is not None] == ["pair"] * 21


def test_a_step_without_a_partner_is_shown_beside_the_state_that_the_other_side_had_then():
    compared = view([SEARCH, ("book", "x", "ok"), SEARCH], [SEARCH, SEARCH])
    row = next(row for row in compared.comparison.rows if row.b is None)
    assert compared.states_at(row) == (row.a, row.a - 1)


def test_a_step_that_was_moved_names_its_number_on_the_other_side_and_is_not_folded():
    compared = view(
        [SEARCH, ("read", "x", "ok"), ("book", "x", "ok")], [SEARCH, ("book", "x", "ok"), ("read", "x", "ok")]
    )
    lines = compared.lines()
    assert next(line.text for line in lines if line.kind == "diverged").startswith("steps 2 and 3 are swapped in B")
    there = {(row.a, row.b): number for row, number in compared.elsewhere.items()}
    assert there in ({(2, None): 3, (None, 3): 2}, {(3, None): 2, (None, 2): 3})


def test_the_rule_where_runs_meet_again_says_in_how_many_paths_the_state_still_differs():
    a, b = (
        [SEARCH, ("book", "x", "ok")] + [SEARCH] * 3,
        [SEARCH, ("read", "y", "ok"), ("read", "z", "ok")] + [SEARCH] * 3,
    )
    text = next(line.text for line in view(a, b).lines() if line.kind == "rejoined")
    assert text == "same moves again; the state still differs in 1 path"


def test_edits_are_named_even_where_the_runs_do_not_part():
    lines = view([SEARCH, SEARCH], [SEARCH, SEARCH], edits=EDITS).lines()
    assert kinds(lines) == ["pair", "edits", "pair"]


def test_steps_that_the_running_side_may_still_take_are_folded_like_others():
    lines = view(LOOP, [SEARCH, ("answer", "", "ok")], status="running").lines()
    assert "fold" in kinds(lines)


def test_hostile_arguments_are_shortened_not_rendered():
    compared = view([("search", "x" * 1_000_000, "ok")], [("search", "[red]\x1b[31m", "ok")])
    assert len(compared.cells_a[1].argument) < 100


def test_runs_that_only_began_otherwise_have_a_rule_that_says_so_before_the_first_pair():
    source = Runs({"a": [SEARCH], "b": [SEARCH]})
    source.state = lambda run_id, step: {"budget": 1 if run_id == "a" else 2}
    lines = read_comparison(source, run("a", steps=1), source, run("b", steps=1)).lines()
    assert kinds(lines) == ["input", "pair"]
    assert lines[0].text == "the input differs at budget"


async def test_the_titles_of_the_steps_name_the_lanes_that_part_as_far_as_there_is_room():
    lanes = (LanePair("main", "main", same=2), LanePair("web", "web", different=1, diverged_at=5))

    class Titles(App):
        def compose(self):
            yield SideTitles()

        def text(self):
            return "".join(segment.text for segment in self.query_one(SideTitles).render_line(0))

    app = Titles()
    async with app.run_test(size=(100, 5)) as pilot:
        titles = app.query_one(SideTitles)
        titles.runs = (run("a", steps=3), run("b", steps=3))
        titles.lanes = lanes
        await pilot.pause()
        assert app.text().rstrip().endswith("1/2 lanes ≠  web at 5")
        titles.lanes = lanes[1:]
        await pilot.pause()
        assert "lanes" not in app.text(), "one lane is the run"
        titles.lanes = lanes
        await pilot.resize_terminal(24, 5)
        await pilot.pause()
        assert "lanes" not in app.text()


def test_the_state_of_an_earlier_step_is_not_shown_for_one_that_was_not_kept():
    source = MemorySource()
    one, lost = Did("a", state={"n": 1}), Did("b", is_kept=False)
    runs = [source.add(name, [one, last]) for name, last in (("a", Did("b", state={"n": 1})), ("b", lost))]
    sides = [(source, run) for run in runs]
    assert read_states(sides, (1, 1)) == [{"n": 1}, {"n": 1}]
    with pytest.raises(StepNotFound, match="no checkpoint is kept of step 2 of B"):
        read_states(sides, (2, 2))
    assert read_states(sides, (2, 0))[1] is None
