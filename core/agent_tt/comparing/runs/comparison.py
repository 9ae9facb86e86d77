"""Two runs side by side: which steps belong together, where they part, where they meet again, how each ended."""

from __future__ import annotations

from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.codec.collector import collector_paused
from agent_tt.comparing.runs.divergence import reasons_to_part
from agent_tt.comparing.runs.divergence_reason import Reason, differences
from agent_tt.comparing.runs.lane_ends import lane_ends
from agent_tt.comparing.runs.lineage import shared_by_checkpoint, shared_by_lineage
from agent_tt.comparing.runs.pairing import find_moved, pair_moves
from agent_tt.comparing.runs.rejoining import changes_between, rejoin_lanes, rejoin_runs
from agent_tt.comparing.runs.rows import LanePair, Lanes, Row, RowKind, lane_pairs, mark_pending
from agent_tt.comparing.runs.run_view import RunView
from agent_tt.comparing.steps.outcome import Difference, difference_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.runs.pairing import Couple
    from agent_tt.comparing.runs.rejoining import Rejoining
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.comparing.values.states import Change
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
        because: Why they part, in a few words. Where they do not part: what they began with otherwise, empty where
            that is the same too.
        reasons: The same as data: what is certain to be a cause first, then what came of it.
        rejoined_at: Number, in A, of the step at which they meet again: after which their states are equal again, else
            from which they make the same moves again. None if they never do. Of several lanes each that parts has to.
        rejoined: That step in both runs, (a, b). They stand in one row but where, at the very end, one run took more
            steps than the other to come to the same state: then each is the last of its run.
        rejoined_state: Whether the states are equal again as well.
        rejoined_changes: In how many paths the states differ at that step; 0 where they are equal, None where that is
            not known or the runs do not meet again.
        parted_again_at: Number of the step at which they part again after that, as `diverged_at`; None if they do not.
        moved: Steps of A that B took as well, at another place in its lane: (number in A, number in B). Each is in a
            row of its own, or beside another step.
        lanes: The lanes that belong together, in the order in which they begin.
        outcome_a: How A ended.
        outcome_b: How B ended.
        difference: What B has more than A: steps, tokens, cost, time.
        final_changes: What turns the final state of A, after its last step in any lane, into that of B; another order
            of keys is not a change. Each lane has a count of its own.
        unread: What could not be read, in words: of that nobody knows whether it is the same.
        unkept: What of that is not damaged: no checkpoint of it is kept.
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
    parted_again_at: int | None = None
    moved: tuple[tuple[int, int], ...] = ()
    lanes: tuple[LanePair, ...] = ()
    difference: Difference = field(default_factory=Difference)
    unread: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()

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
    def rejoined_row(self) -> int | None:
        """Index of the row at which they meet again; None if they never do."""
        if self.rejoined is None:
            return None
        a, b = self.rejoined
        return max(index for index, row in enumerate(self.rows) if row.a == a or row.b == b)

    @property
    def final_equal(self) -> bool | None:
        """Whether the states after the last step, and after the last step of each lane, are equal; None if unknown.

        Of a run that goes on nobody knows its last state.
        """
        if not self.is_over:
            return None
        if self.final_changes or any(lane.final_changes for lane in self.lanes):
            return False
        return None if self.unread else True

    @property
    def is_over(self) -> bool:
        """Whether both runs have ended."""
        return "running" not in (self.outcome_a.status, self.outcome_b.status)

    @property
    def differs(self) -> bool:
        """Whether the runs differ at all: in their input, a question, a move, a result, how they or a lane ended.

        False says that no difference is known; see `unread`, and `is_over`.
        """
        is_other_end = self.is_over and self.outcome_a.status != self.outcome_b.status
        return bool(self.diverged_at or self.reasons) or self.final_equal is False or is_other_end

    def to_json(self) -> dict[str, Wire]:
        """`{a, b, diverged_at, because, rejoined_at, pairs: [[a, b, same]], only_a, only_b, …}`.

        `a` and `b` are ids; `reasons`: `[{kind, text, a, b, where, old, new}]`, the table of kinds is
        `agent_tt.comparing.runs.divergence_reason.Reason`; `moved`: `[[a, b]]`; `lanes`: `[{a, b, same, different,
        only_a, only_b, diverged_at, rejoined_at, outcome_a, outcome_b, final_changes, …}]`, as `LanePair.to_json`;
        `difference`: `{steps, tokens, cost_usd, duration_ms}`; `final_changes`: `[{op, path, old, new}]`; `unread`: in
        words.
        """
        return {
            "a": self.a.id,
            "b": self.b.id,
            "diverged_at": self.diverged_at,
            "because": self.because,
            "rejoined_at": self.rejoined_at,
            "rejoined": None if self.rejoined is None else list(self.rejoined),
            "rejoined_state": self.rejoined_state,
            "rejoined_changes": self.rejoined_changes,
            "parted_again_at": self.parted_again_at,
            "shared": self.shared,
            "pairs": [list(pair) for pair in self.pairs],
            "only_a": [*self.only_a],
            "only_b": [*self.only_b],
            "moved": [list(pair) for pair in self.moved],
            "reasons": [asdict(reason) for reason in self.reasons],
            "lanes": [lane.to_json() for lane in self.lanes],
            "difference": self.difference.to_json(),
            "outcome_a": self.outcome_a.to_json(),
            "outcome_b": self.outcome_b.to_json(),
            "final_changes": [change.to_json() for change in self.final_changes],
            "unread": [*self.unread],
        }


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
        with collector_paused():
            self._side = RunView(source, run)

    def compare(self, source: RunSource, run: Run, *, cancelled: Callable[[], bool] = lambda: False) -> Comparison:
        """Compare it with another run, as `compare_runs` does.

        Raises:
            Interrupted: It was cancelled.
            AgentTTError: One of the two cannot be read.
        """
        with collector_paused():
            return self._compare(RunView(source, run), cancelled)

    def _compare(self, b: RunView, cancelled: Callable[[], bool]) -> Comparison:
        a = self._side
        a.cancelled = b.cancelled = cancelled
        shared = _shared(a, b)
        begun = {step.lane for step in a.steps[:shared]}
        couples = pair_moves(a.moves(shared), b.moves(shared), begun, a.check)
        rows = _lined_up(a, b, shared, begun, couples)
        parting = next((index for index, row in enumerate(rows) if row.kind not in ("same", "pending")), None)
        moved = find_moved(couples)
        reasons = reasons_to_part(a, b, rows, parting, shared, moved)
        rejoinings = rejoin_lanes(a, b, rows, over=not (a.live or b.live))
        met = rejoin_runs(a, b, rows, rejoinings)
        outcome_a = a.outcome
        b.share(a, shared)  # once A has read its calls
        lanes = _lanes(a, b, rows, rejoinings)
        known = a.knows_final_state and b.knows_final_state
        final_changes = tuple(differences(a.final_state, b.final_state)) if known else ()
        return Comparison(
            a=a.run,
            b=b.run,
            rows=tuple(rows),
            shared=shared,
            diverged_at=None if parting is None else rows[parting].a or rows[parting].b,
            because="; ".join(reason.text for reason in reasons),
            reasons=reasons,
            rejoined_at=None if met is None else met.a,
            rejoined=None if met is None else (met.a, met.b),
            rejoined_state=met is not None and met.changes == 0,
            rejoined_changes=None if met is None else met.changes,
            parted_again_at=None if met is None else met.parted_again,
            moved=tuple(moved),
            lanes=lanes,
            outcome_a=outcome_a,
            outcome_b=b.outcome,
            difference=difference_of(outcome_a, b.outcome),
            final_changes=final_changes,
            unread=(*(f"{what} of A" for what in a.unread), *(f"{what} of B" for what in b.unread)),
            unkept=(*(f"{what} of A" for what in a.unkept), *(f"{what} of B" for what in b.unkept)),
        )


def _shared(a: RunView, b: RunView) -> int:
    """Count the leading steps that both runs hold as one and the same."""
    shared = shared_by_checkpoint(a.steps, b.steps)
    if a.source.path == b.source.path:
        shared = max(shared, shared_by_lineage(a.source, a.run, b.run))
    return min(shared, len(a.steps), len(b.steps))


def _lined_up(a: RunView, b: RunView, shared: int, begun: Collection[str], couples: Sequence[Couple]) -> list[Row]:
    """All steps of both in rows; `begun` names the lanes that both share."""

    def whole(lanes: Lanes) -> Lanes:
        """Names of lanes of which only one goes on behind what both share."""
        known = lanes[0] or lanes[1]
        return (known, known) if None in lanes and known in begun else lanes

    of_a = {couple.lanes[0]: couple.lanes for couple in couples}
    of_b = {couple.lanes[1]: couple.lanes for couple in couples}

    def lanes_a(step: Step) -> Lanes:
        return whole(of_a.get(step.lane, (step.lane, None)))

    def lanes_b(step: Step) -> Lanes:
        return whole(of_b.get(step.lane, (None, step.lane)))

    rows = [Row("same", step.number, step.number, lanes_a(step)) for step in a.steps[:shared]]
    rows += [_row(couple, whole(couple.lanes)) for couple in couples]
    rows += [Row("pending", step.number, None, lanes_a(step)) for step in a.unfinished(shared)]
    rows += [Row("pending", None, step.number, lanes_b(step)) for step in b.unfinished(shared)]
    return mark_pending(rows, live_a=a.live, live_b=b.live)


def _row(couple: Couple, lanes: Lanes) -> Row:
    one, other = couple.a, couple.b
    if one is None or other is None:
        is_a = other is None
        return Row("only_a" if is_a else "only_b", one.number if one else None, other.number if other else None, lanes)
    return Row("same" if one.is_same_as(other) else "different", one.number, other.number, lanes)


def _lanes(a: RunView, b: RunView, rows: Sequence[Row], rejoinings: Mapping[Lanes, Rejoining]) -> tuple[LanePair, ...]:
    """Pair the lanes of both runs, and tell for each pair where it diverged and how it ended."""
    ends_a, ends_b = lane_ends(a), lane_ends(b)
    found: list[LanePair] = []
    for pair in lane_pairs(rows):
        rejoining = rejoinings.get((pair.a, pair.b))
        met = None if rejoining is None else rejoining.meeting
        end_a, end_b = ends_a.get(pair.a or ""), ends_b.get(pair.b or "")
        ended = None if end_a is None or end_b is None else (end_a.last, end_b.last)
        found.append(
            replace(
                pair,
                rejoined=None if met is None else (met.a, met.b),
                rejoined_changes=None if met is None else met.changes,
                same_moves=None if rejoining is None else rejoining.same_moves,
                parted_again_at=None if met is None else met.parted_again,
                outcome_a=end_a,
                outcome_b=end_b,
                final_changes=None if ended is None else changes_between(a, b, *ended),
            )
        )
    return tuple(found)
