"""A comparison as the lines of the screen: pairs, folded repeats, rules where the runs part and meet again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.comparing.runs.comparison import Comparison, LanePair, Row, compare_runs
from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt.comparing.values.bookkeeping import without_bookkeeping
from agent_tt.comparing.values.edit_leaves import edit_changes
from agent_tt.errors import Interrupted, StepNotFound
from agent_tt.model import ACTING
from agent_tt_tui.format import counted
from agent_tt_tui.viewmodel.calls.first_argument import first_argument, first_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource

LineKind = Literal["pair", "fold", "edits", "input", "diverged", "rejoined"]

_SEVERAL: Final = 2
_PAGE: Final = 512
"""Steps whose calls are read at once."""

_FOLD_FROM: Final = 3
"""So many alike one-sided steps in a row, besides the first of them, are folded into one line; so are pairs that are
the same, besides the first and the last of them."""

Shown = Literal["folded", "differences", "all"]
"""How pairs are shown that are the same: their stretches folded, not at all, or one by one."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One step on one side.

    Attributes:
        step: The step.
        argument: What its first tool was asked, in a few words.
        tool: What that tool is called, with how many more there are; empty where it is called as the step is.
        denied: Whether a tool of it was held back.
    """

    step: Step
    argument: str = ""
    denied: bool = False
    tool: str = ""


@dataclass(slots=True)
class Spent:
    """What the calls of one name took in a run; denied ones are left out, and those that a fork has from the recording.

    Attributes:
        kind: What kind of step its glyph is that of.
        name: The tool or the model.
        calls: How many there were.
        duration_us: Microseconds of those of which that is known; None where it is of none.
    """

    kind: str
    name: str
    calls: int = 0
    duration_us: int | None = None

    def add(self, call: Call) -> None:
        """Count a call."""
        self.calls += 1
        if call.duration_us is not None:
            self.duration_us = (self.duration_us or 0) + call.duration_us


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the comparison.

    Attributes:
        kind: `pair` (one side may be empty) and `fold` can be selected; the others are rules between them.
        row: The pair; for a fold its first.
        more: The other rows that a fold stands for.
        text: What a rule says.
    """

    kind: LineKind
    row: Row | None = None
    more: tuple[Row, ...] = ()
    text: str = ""

    @property
    def count(self) -> int:
        """How many rows it stands for; 1 for a rule too."""
        return 1 + len(self.more)


@dataclass(frozen=True, slots=True)
class CompareView:
    """Two runs, compared and ready to be drawn.

    Attributes:
        comparison: The comparison.
        cells_a: The steps of A by number.
        cells_b: The steps of B by number.
        elsewhere: Of a row that has a step on one side only, the number under which the other run took it at another
            place.
        spent_a: What the calls of A took, by kind and name.
        spent_b: The same of B.
    """

    comparison: Comparison
    cells_a: Mapping[int, Cell]
    cells_b: Mapping[int, Cell]
    elsewhere: Mapping[Row, int] = field(default_factory=dict)
    spent_a: Mapping[tuple[str, str], Spent] = field(default_factory=dict)
    spent_b: Mapping[tuple[str, str], Spent] = field(default_factory=dict)

    def lines(self, shown: Shown = "folded") -> list[Line]:
        """The lines to draw, in order.

        Args:
            shown: What becomes of the pairs that are the same.
        """
        rows = [row for row in self.comparison.rows if not (shown == "differences" and row.kind == "same")]
        lines: list[Line] = []
        rules = self._rules()
        for line in self._folded(rows, rules, folds_same=shown == "folded"):
            lines += rules.get(line.row, ()) if line.row is not None else ()
            lines.append(line)
        return lines

    def opening_line(self, lines: Sequence[Line]) -> int:
        """The line to start on: where the runs part, else the last one."""
        for index, line in enumerate(lines):
            if line.kind == "diverged" and index + 1 < len(lines):
                return index + 1
        return next((index for index in range(len(lines) - 1, -1, -1) if lines[index].row is not None), 0)

    def states_at(self, row: Row) -> tuple[int, int]:
        """The checkpoints of A and B that belong beside each other at a row: of a missing side, the one before."""
        a = b = 0
        for each in self.comparison.rows:
            a, b = each.a if each.a is not None else a, each.b if each.b is not None else b
            if each == row:
                break
        return a, b

    def _rules(self) -> dict[Row | None, list[Line]]:
        comparison = self.comparison
        rules: dict[Row | None, list[Line]] = {}
        parting = next((row for row in comparison.rows if row.kind not in ("same", "pending")), None)
        if parting is not None:
            rules[parting] = [*self._edits(), Line("diverged", text=parting_text(comparison))]
        elif self._edits():
            after = next((row for row in comparison.rows if (row.b or 0) > comparison.shared), None)
            rules[after] = self._edits()
        elif comparison.rows and (comparison.because or comparison.unread):
            unread = [f"cannot be read: {', '.join(comparison.unread)}"] if comparison.unread else []
            text = "; ".join([*([comparison.because] if comparison.because else []), *unread])
            rules[comparison.rows[0]] = [Line("input", text=text)]
        if comparison.rejoined is not None:
            met = None if comparison.rejoined_row is None else comparison.rows[comparison.rejoined_row]
            rules.setdefault(met, []).append(Line("rejoined", text=rejoining_text(comparison)))
        return rules

    def _edits(self) -> list[Line]:
        run = self.comparison.b
        edits = run.edits if run.fork_step is not None else ()
        changes = [change for edit in edits for change in edit_changes(edit)]
        paths = ", ".join(dict.fromkeys(change.path or "the whole state" for change in changes))
        count = counted(len(edits), "edit")
        unmade = len(edits_without_effect(run))
        some = " without effect" if unmade == len(edits) else f", {unmade} of them without effect"
        without = some if unmade else ""
        return [Line("edits", text=f"{count}{without}: {paths}")] if edits else []

    def _folded(
        self, rows: Sequence[Row], rules: Mapping[Row | None, list[Line]], *, folds_same: bool
    ) -> Iterator[Line]:
        index = 0
        while index < len(rows):
            end = index + 1
            if folds_same and self._goes_on(rows[index]):
                while end < len(rows) and rows[end] not in rules and self._goes_on(rows[end]):
                    end += 1
                yield from _without_middle(rows[index:end])
                index = end
                continue
            while end < len(rows) and rows[end] not in rules and self._alike(rows[index], rows[end]):
                end += 1
            yield Line("pair", rows[index])
            if end - index - 1 >= _FOLD_FROM:
                yield Line("fold", rows[index + 1], tuple(rows[index + 2 : end]))
            else:
                yield from (Line("pair", row) for row in rows[index + 1 : end])
            index = end

    def _goes_on(self, row: Row) -> bool:
        """Whether nothing is to be seen at a pair: both did the same, and nothing went wrong."""
        cell = self.cells_a.get(row.a or 0)
        return row.kind == "same" and cell is not None and cell.step.status != "error"

    def _alike(self, first: Row, other: Row) -> bool:
        if first in self.elsewhere or other in self.elsewhere:
            return False
        sided = first.b is None, first.a is None
        if sided == (False, False) or sided != (other.b is None, other.a is None):
            return False
        cells = self.cells_a if first.b is None else self.cells_b
        one, two = (cells.get((row.a if first.b is None else row.b) or 0) for row in (first, other))
        if one is None or two is None:
            return False
        return _title(one) == _title(two)


def _without_middle(rows: Sequence[Row]) -> Iterator[Line]:
    """Pairs that are the same, in a row: the first and the last, and between them one line for all others."""
    middle = rows[1:-1]
    yield Line("pair", rows[0])
    if len(middle) >= _FOLD_FROM:
        yield Line("fold", middle[0], tuple(middle[1:]))
    else:
        yield from (Line("pair", row) for row in middle)
    if len(rows) > 1:
        yield Line("pair", rows[-1])


def _title(cell: Cell) -> tuple[str, ...]:
    return (cell.step.name, cell.tool, cell.argument, cell.step.status)


def tool_of(step: Step, calls: Sequence[Call]) -> str:
    """What a step's tools are called: `charge`, `charge +2`; empty for one that is called as the step is, and none."""
    names = list(dict.fromkeys(call.name for call in calls if call.kind in ACTING))
    if not names or names == [step.name]:
        return ""
    return names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}"


def parting_text(comparison: Comparison) -> str:
    """Why two runs part, and in which lane where there are several, and what becomes of it; empty where they do not."""
    lane = parting_lane(comparison)
    return "; ".join([*([comparison.because] if comparison.because else []), *([lane] if lane else [])])


def parting_lane(comparison: Comparison) -> str:
    """In which lane two runs part, where there are several, and what becomes of it: `in papers, rejoined at 7`."""
    row = next((row for row in comparison.rows if row.kind not in ("same", "pending")), None)
    if row is None or len(comparison.lanes) < _SEVERAL:
        return ""
    lane = next((lane for lane in comparison.lanes if (lane.a, lane.b) == row.lanes), None)
    fate = "" if lane is None else f", {lane_fate(lane)}"
    return f"in {row.lanes[0] or row.lanes[1]}{fate}"


def lane_fate(lane: LanePair) -> str:
    """What becomes of a lane: `rejoined at 7`, `not rejoined`; of one that did not part, what its states ended in."""
    if lane.diverged_at is None:
        return "" if not lane.final_changes else f"same moves, other state in {_paths(lane.final_changes)}"
    if lane.a is None or lane.b is None:
        return f"only in {'A' if lane.b is None else 'B'}"
    if lane.rejoined is not None:
        again = "" if lane.parted_again_at is None else f", parted again at {lane.parted_again_at}"
        return f"rejoined at {lane.rejoined_at}{again}"
    if lane.same_moves is not None:
        return "not rejoined: other state to the end"
    return "not rejoined"


def _paths(count: int) -> str:
    return counted(count, "path")


def rejoining_text(comparison: Comparison) -> str:
    """In which way two runs meet again."""
    again = "" if comparison.parted_again_at is None else f"; they part again at {comparison.parted_again_at}"
    if comparison.rejoined_state:
        return f"the states are equal again{again}"
    parted = [lane for lane in comparison.lanes if lane.diverged_at is not None]
    count = comparison.rejoined_changes
    if count is not None:
        return f"same moves again; the state still differs in {_paths(count)}{again}"
    if len(comparison.lanes) >= _SEVERAL and all(lane.rejoined_changes == 0 for lane in parted):
        return f"the states are equal again in each lane that parted{again}"
    return f"same moves again; whether the states are equal is not known{again}"


def read_comparison(
    source_a: RunSource,
    run_a: Run,
    source_b: RunSource,
    run_b: Run,
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> CompareView:
    """Compare two runs and read what their lines show.

    Raises:
        Interrupted: It was cancelled.
        AgentTTError: A run cannot be read.
    """
    comparison = compare_runs(source_a, run_a, source_b, run_b, cancelled=cancelled)
    spent_a: dict[tuple[str, str], Spent] = {}
    spent_b: dict[tuple[str, str], Spent] = {}
    cells_a, cells_b = _cells(source_a, run_a, spent_a, cancelled), _cells(source_b, run_b, spent_b, cancelled)
    return CompareView(comparison, cells_a, cells_b, elsewhere(comparison), spent_a, spent_b)


def read_states(sides: Sequence[tuple[RunSource, Run]], at: Sequence[int]) -> list[Wire]:
    """Read the states of A and B after one step of each.

    Raises:
        StepNotFound: No checkpoint of one of them is kept: what is read in its place is of an earlier step.
        AgentTTError: One of them cannot be read.
    """
    for letter, (source, run), number in zip("AB", sides, at, strict=True):
        if any(step.is_unkept for step in (source.steps(run.id, number, number + 1) if number else ())):
            raise StepNotFound(f"no checkpoint is kept of step {number} of {letter}")
    return [without_bookkeeping(source.state(run.id, number)) for (source, run), number in zip(sides, at, strict=True)]


def elsewhere(comparison: Comparison) -> dict[Row, int]:
    """For rows with a step on one side only the number under which the other run took it at another place."""
    in_b, in_a = dict(comparison.moved), {there: here for here, there in comparison.moved}
    found = {}
    for row in comparison.rows:
        number = in_b.get(row.a or 0) if row.b is None else in_a.get(row.b) if row.a is None else None
        if number is not None:
            found[row] = number
    return found


def _cells(
    source: RunSource, run: Run, spent: dict[tuple[str, str], Spent], cancelled: Callable[[], bool]
) -> dict[int, Cell]:
    """The steps of a run by number; what their calls took is added to `spent`."""
    cells = {}
    steps = source.steps(run.id)
    pages = source.capabilities.pages
    for start in range(0, len(steps), _PAGE):
        page = steps[start : start + _PAGE]
        by_step: defaultdict[int, list[Call]] = defaultdict(list)
        heads: defaultdict[int, list[Call]] = defaultdict(list)  # they have the times, and of models the names
        if pages:
            for call in source.call_page(run.id, page[0].number, page[-1].number + 1):
                by_step[call.step].append(call)
            for call in source.call_heads(run.id, page[0].number, page[-1].number + 1):
                heads[call.step].append(call)
        for step in page:
            if cancelled():
                raise Interrupted("the comparison was given up")
            if step.calls and not pages:
                by_step[step.number] += source.calls(run.id, step.number)
            calls = by_step[step.number]
            for call in [] if step.inherited else heads.get(step.number, calls):
                if (call.kind == "llm" or call.kind in ACTING) and call.status != "denied":
                    kind = call.effect or "read" if call.kind == "tool" else call.kind
                    name = call.facts.model or call.name if call.kind == "llm" else call.name
                    spent.setdefault((kind, name), Spent(kind, name)).add(call)
            denied = any(call.status == "denied" for call in calls)
            cells[step.number] = Cell(step, first_argument(first_tool(calls)), denied, tool_of(step, calls))
    return cells
