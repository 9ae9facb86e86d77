"""Two runs side by side: which steps belong together, where they part, where they meet again, how each ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_tt.comparing.because import Deed, Reason, differences, explain, explain_code, explain_edits, explain_input
from agent_tt.comparing.lineage import shared_by_checkpoint, shared_by_lineage
from agent_tt.comparing.outcome import Difference, difference_of
from agent_tt.comparing.pairing import find_moved, pair_moves
from agent_tt.comparing.rejoining import rejoining_by_moves, rejoining_by_state
from agent_tt.comparing.rows import LanePair, Lanes, Row, RowKind, lane_pairs, mark_pending
from agent_tt.comparing.side import Side
from agent_tt.comparing.states import Change, compare_states
from agent_tt.comparing.updates import different_places
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agent_tt.comparing.moves import Move
    from agent_tt.comparing.outcome import Outcome
    from agent_tt.comparing.pairing import Couple
    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["Against", "Comparison", "LanePair", "Reason", "Row", "RowKind", "compare_runs"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, aligned by what their steps did.

    Attributes:
        a: The one run.
        b: The other.
        rows: Every step of both, each once, in the order in which A took them.
        shared: How many leading steps are one and the same (a fork and its parent).
        diverged_at: Number of the step at which they part (in A, or in B where A took none); None where no move
            differs. With several lanes, of the earliest parting in A's order.
        because: Why they part, in a few words; empty when they do not.
        reasons: The same as data, the first cause first; empty when they do not part.
        rejoined_at: Number, in A, of the step at which they meet again: after which their states are equal again, else
            from which they make the same moves again. None if they never do.
        rejoined: That step in both runs, (a, b).
        rejoined_state: Whether the states are equal again as well.
        rejoined_changes: In how many paths the states differ at that step; 0 where they are equal, None where they
            cannot be read or the runs do not meet again.
        moved: Steps of A that B took as well, at another place in its lane: (number in A, number in B). Each is in a
            row of its own, or beside another step.
        lanes: The lanes that belong together, in the order in which they begin.
        outcome_a: How A ended.
        outcome_b: How B ended.
        difference: What B has more than A: steps, tokens, cost, time.
        final_changes: What turns the final state of A into that of B.
    """

    a: Run
    b: Run
    rows: tuple[Row, ...]
    shared: int
    diverged_at: int | None
    because: str
    rejoined_at: int | None
    rejoined: tuple[int, int] | None
    rejoined_state: bool
    outcome_a: Outcome
    outcome_b: Outcome
    final_changes: tuple[Change, ...]
    reasons: tuple[Reason, ...] = ()
    rejoined_changes: int | None = None
    moved: tuple[tuple[int, int], ...] = ()
    lanes: tuple[LanePair, ...] = ()
    difference: Difference = field(default_factory=Difference)

    @property
    def pairs(self) -> list[tuple[int, int, bool]]:
        """Steps side by side: (number in A, number in B, whether they did the same with the same result)."""
        return [(row.a, row.b, row.kind == "same") for row in self.rows if row.a is not None and row.b is not None]

    @property
    def only_a(self) -> list[int]:
        """Numbers of the steps that only A took, so far."""
        return [row.a for row in self.rows if row.a is not None and row.b is None]

    @property
    def only_b(self) -> list[int]:
        """Numbers of the steps that only B took, so far."""
        return [row.b for row in self.rows if row.b is not None and row.a is None]

    @property
    def differs(self) -> bool:
        """Whether the runs differ at all: in a move, a result, how they ended, or the final state."""
        ended = (self.outcome_a.status, self.outcome_b.status)
        return self.diverged_at is not None or bool(self.final_changes) or ended[0] != ended[1]


def compare_runs(
    source_a: RunSource,
    run_a: Run,
    source_b: RunSource,
    run_b: Run,
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> Comparison:
    """Compare two runs; either may still be running.

    Args:
        source_a: Where run A is.
        run_a: Run A.
        source_b: Where run B is; may be the same.
        run_b: Run B.
        cancelled: Asked now and then; once it says yes, the comparison is given up.

    Raises:
        Interrupted: It was cancelled.
        AgentTTError: A run cannot be read.
    """
    return Against(source_a, run_a).compare(source_b, run_b, cancelled=cancelled)


class Against:
    """One run, read once, that any number of others are compared with.

    For one thread at a time. While the run still runs, what was read of it grows old.

    Args:
        source: Where the run is.
        run: The run; A of every comparison.
    """

    def __init__(self, source: RunSource, run: Run) -> None:
        self._side = Side(source, run)

    def compare(self, source: RunSource, run: Run, *, cancelled: Callable[[], bool] = lambda: False) -> Comparison:
        """Compare it with another run, as `compare_runs` does.

        Raises:
            Interrupted: It was cancelled.
            AgentTTError: One of the two cannot be read.
        """
        a, b = self._side, Side(source, run)
        a.cancelled = b.cancelled = cancelled
        shared = _shared(a, b)
        begun = {step.lane for step in a.steps[:shared]}
        couples = pair_moves(a.moves(shared), b.moves(shared), begun, a.check)
        rows = _lined_up(a, b, shared, begun, couples)
        parting = next((index for index, row in enumerate(rows) if row.kind not in ("same", "pending")), None)
        moved = find_moved(couples)
        reasons: tuple[Reason, ...] = ()
        rejoined = None
        if parting is not None:
            reasons = tuple(_reasons(a, b, rows[parting], shared, moved))
            rejoined = rejoining_by_state(a, b, rows, parting)
            rejoined = rejoined or rejoining_by_moves(rows, parting, over=not (a.live or b.live))
        b.share(a, shared)
        apart = None if rejoined is None else _apart(a, b, rejoined)
        return Comparison(
            a=a.run,
            b=run,
            rows=tuple(rows),
            shared=shared,
            diverged_at=None if parting is None else rows[parting].a or rows[parting].b,
            because="; ".join(reason.text for reason in reasons),
            reasons=reasons,
            rejoined_at=None if rejoined is None else rejoined[0],
            rejoined=rejoined,
            rejoined_state=apart == 0,
            rejoined_changes=apart,
            moved=tuple(moved),
            lanes=lane_pairs(rows),
            outcome_a=a.outcome,
            outcome_b=b.outcome,
            difference=difference_of(a.outcome, b.outcome),
            final_changes=tuple(compare_states(a.final_state, b.final_state)),
        )


def _shared(a: Side, b: Side) -> int:
    """Count the leading steps that both runs hold as one and the same."""
    shared = shared_by_checkpoint(a.steps, b.steps)
    if a.source.path == b.source.path:
        shared = max(shared, shared_by_lineage(a.source, a.run, b.run))
    return min(shared, len(a.steps), len(b.steps))


def _lined_up(a: Side, b: Side, shared: int, begun: Collection[str], couples: Sequence[Couple]) -> list[Row]:
    """All steps of both in rows; `begun` names the lanes that both share."""

    def whole(lanes: Lanes) -> Lanes:
        """Names of lanes of which only one goes on behind what both share."""
        known = lanes[1] if lanes[0] is None else lanes[0]
        return (known, known) if None in lanes and known in begun else lanes

    of_a = {couple.lanes[0]: couple.lanes for couple in couples if couple.lanes[0] is not None}
    of_b = {couple.lanes[1]: couple.lanes for couple in couples if couple.lanes[1] is not None}

    def lanes_a(step: Step) -> Lanes:
        return whole(of_a.get(step.lane, (step.lane, None)))

    def lanes_b(step: Step) -> Lanes:
        return whole(of_b.get(step.lane, (None, step.lane)))

    rows = [Row("same", step.number, step.number, lanes_a(step)) for step in a.steps[:shared]]
    rows += [_row(couple, a, b, whole(couple.lanes)) for couple in couples]
    rows += [Row("pending", step.number, None, lanes_a(step)) for step in a.unfinished(shared)]
    rows += [Row("pending", None, step.number, lanes_b(step)) for step in b.unfinished(shared)]
    return mark_pending(rows, live_a=a.live, live_b=b.live)


def _row(couple: Couple, a: Side, b: Side, lanes: Lanes) -> Row:
    one, other = couple.a, couple.b
    if one is None or other is None:
        is_a = other is None
        return Row("only_a" if is_a else "only_b", one.number if one else None, other.number if other else None, lanes)
    same = one.did == other.did and one.came_back == other.came_back and not _written(a, b, one, other)
    return Row("same" if same else "different", one.number, other.number, lanes)


def _written(a: Side, b: Side, one: Move, other: Move) -> list[str]:
    """Where two moves wrote different things to the state; asked only of moves of which nothing else is known."""
    if not (one.is_silent and other.is_silent):
        return []
    return different_places(a.updates(one.step), b.updates(other.step))


def _reasons(a: Side, b: Side, row: Row, shared: int, moved: Sequence[tuple[int, int]]) -> Iterator[Reason]:
    """Why the runs part at a row: what they began with, what is different there, what a person changed before."""
    first = _input_changes(a, b) if not shared else []
    reasons = [explain_input(first), _ending(a, b, row) or _swap(a, b, row, moved) or _explain(a, b, row)]
    # Edits count where they are the last thing before the runs went their own ways.
    reasons += [
        explain_edits(side.run, of_b=side is b) for side in (a, b) if side.run.parent and side.run.fork_step == shared
    ]
    if shared:
        reasons.append(explain_code(a.run, b.run))
    return (reason for reason in reasons if reason is not None)


def _input_changes(a: Side, b: Side) -> list[Change]:
    try:
        if a.source.digest(a.run.id, 0) == b.source.digest(b.run.id, 0) is not None:
            return []
        return differences(a.state(0), b.state(0))
    except AgentTTError:  # a damaged beginning must not hide what the steps did
        return []


def _explain(a: Side, b: Side, row: Row) -> Reason | None:
    one, other = (
        None if number is None else Deed(side.by_number[number], side.calls(number))
        for side, number in ((a, row.a), (b, row.b))
    )
    written: list[Change] = []
    if row.a is not None and row.b is not None:
        places = _written(a, b, a.move(row.a), b.move(row.b))
        written = _changes_at(a, b, row.a, row.b, places)
    return explain(one, other, written)


def _changes_at(a: Side, b: Side, step_a: int, step_b: int, places: Sequence[str]) -> list[Change]:
    """What the states hold at the places to which two steps wrote different things."""
    found: list[Change] = []
    if places:
        try:
            found = differences(a.state(step_a), b.state(step_b))
        except AgentTTError:
            found = []
    return [
        next((change for change in found if _is_within(change.path, place)), Change("change", place))
        for place in places
    ]


def _is_within(path: str, place: str) -> bool:
    return path == place or (path.startswith(place) and (not place or path[len(place)] in ".["))


def _ending(a: Side, b: Side, row: Row) -> Reason | None:
    """Say so where one run was simply over."""
    ends = (len(a.steps), len(b.steps))
    if row.b is None and (not b.steps or row.a == len(b.steps) + 1):
        return Reason("ending", f"B ends after step {len(b.steps)}", *ends)
    if row.a is None and (not a.steps or row.b == len(a.steps) + 1):
        return Reason("ending", f"A ends after step {len(a.steps)}", *ends)
    return None


def _swap(a: Side, b: Side, row: Row, moved: Sequence[tuple[int, int]]) -> Reason | None:
    """Say so where a step was taken by both, at different places; `swapped` where two in a row changed places."""
    for number_a, number_b in moved:
        if row.a != number_a and row.b != number_b:
            continue
        title = a.move(number_a).title
        for way in (1, -1):
            passed_a, passed_b = a.beside(number_a, way), b.beside(number_b, -way)
            if passed_a is not None and passed_b is not None and passed_a.did == passed_b.did:
                first, second = sorted((number_a, passed_a.number))
                names = [a.move(number).title for number in (first, second)]
                text = f"steps {first} and {second} are swapped in B: {names[0]}, {names[1]}"
                return Reason("swapped", text, number_a, number_b, title, number_a, number_b)
        if row.kind == "different":  # then more is known than that
            return None
        text = f"{title} is step {number_a} in A, step {number_b} in B"
        return Reason("moved", text, number_a, number_b, title, number_a, number_b)
    return None


def _apart(a: Side, b: Side, at: tuple[int, int]) -> int | None:
    """In how many paths the states differ after two steps; None where they cannot be read."""
    one, other = a.digest(at[0], start=at[0]), b.digest(at[1], start=at[1])
    if one is not None and one == other:
        return 0
    try:
        return len(differences(a.state(at[0]), b.state(at[1])))
    except AgentTTError:
        return None
