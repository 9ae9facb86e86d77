"""The lines of a comparison, and what is the same and what is not in each lane."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.runs.lane_ends import LaneEnd

__all__ = ["LanePair", "Lanes", "Row", "RowKind", "lane_pairs", "mark_pending"]

Lanes: TypeAlias = "tuple[str | None, str | None]"
"""Names of two lanes that belong together, None where a run has none there."""

RowKind: TypeAlias = Literal["same", "different", "only_a", "only_b", "pending"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a comparison.

    Attributes:
        kind: `same` where both did the same with the same result; `pending` for a step that still runs, or that the
            other run, which still runs, may yet come to.
        a: Number of the step in run A, None where it has none.
        b: Number of the step in run B.
        lanes: Names of the lanes that it is of, in A and in B.
    """

    kind: RowKind
    a: int | None
    b: int | None
    lanes: Lanes = ("main", "main")


@dataclass(frozen=True, slots=True)
class LanePair:
    """A lane of A and the lane of B that belongs beside it.

    Attributes:
        a: Name of the lane in A, None where it has none.
        b: Name of the lane in B.
        same: How many pairs are the same.
        different: How many differ.
        only_a: How many steps only A took.
        only_b: How many only B took.
        diverged_at: Number of the step at which the two part (in A, or in B where A took none); None where they do not.
        rejoined: The step of both, (a, b), at which they meet again; None if they never do.
        rejoined_changes: In how many paths the states differ there; 0 where they are equal, None where that is not
            known, or they do not meet again.
        same_moves: The step of both, (a, b), from which they make the same moves again, though their states differ to
            the end, so that they do not meet; None where that is not so.
        parted_again_at: Number of the step at which they part again after that, as `diverged_at`; None if they do not.
        outcome_a: How the lane of A ended; None where there is none.
        outcome_b: How that of B ended.
        final_changes: In how many paths the states after their last steps differ; None where one of them has no
            steps, or a state cannot be read.
    """

    a: str | None
    b: str | None
    same: int = 0
    different: int = 0
    only_a: int = 0
    only_b: int = 0
    diverged_at: int | None = None
    rejoined: tuple[int, int] | None = None
    rejoined_changes: int | None = None
    same_moves: tuple[int, int] | None = None
    parted_again_at: int | None = None
    outcome_a: LaneEnd | None = None
    outcome_b: LaneEnd | None = None
    final_changes: int | None = None

    @property
    def rejoined_at(self) -> int | None:
        """Number, in A, of the step at which they meet again."""
        return None if self.rejoined is None else self.rejoined[0]

    def to_json(self) -> dict[str, Wire]:
        """The attributes, with `rejoined_at`; outcomes as of `LaneEnd.to_json`, or null."""
        ends = (self.outcome_a, self.outcome_b)
        outcome_a, outcome_b = (None if end is None else end.to_json() for end in ends)
        return {
            "a": self.a,
            "b": self.b,
            "same": self.same,
            "different": self.different,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "diverged_at": self.diverged_at,
            "rejoined_at": self.rejoined_at,
            "rejoined": None if self.rejoined is None else list(self.rejoined),
            "rejoined_state": self.rejoined_changes == 0,
            "rejoined_changes": self.rejoined_changes,
            "same_moves": None if self.same_moves is None else list(self.same_moves),
            "parted_again_at": self.parted_again_at,
            "outcome_a": outcome_a,
            "outcome_b": outcome_b,
            "final_changes": self.final_changes,
        }


def lane_pairs(rows: Sequence[Row]) -> tuple[LanePair, ...]:
    """Sum up each two lanes, in the order in which they begin."""
    counts: dict[Lanes, Counter[str]] = {}
    diverged: dict[Lanes, int | None] = {}
    for row in rows:
        counts.setdefault(row.lanes, Counter())[row.kind] += 1
        if row.kind not in ("same", "pending"):
            diverged.setdefault(row.lanes, row.a or row.b)
    return tuple(
        LanePair(
            *lanes,
            same=kinds["same"],
            different=kinds["different"],
            only_a=kinds["only_a"],
            only_b=kinds["only_b"],
            diverged_at=diverged.get(lanes),
        )
        for lanes, kinds in counts.items()
    )


def mark_pending(rows: Sequence[Row], *, live_a: bool, live_b: bool) -> list[Row]:
    """Mark as pending what only one run has at its end while the other still runs: that is no difference yet."""
    marked = list(rows)
    for waiting, live in (("only_a", live_b), ("only_b", live_a)):
        for index in range(len(marked) - 1, -1, -1) if live else ():
            if marked[index].kind == waiting:
                marked[index] = replace(marked[index], kind="pending")
            elif marked[index].kind != "pending":
                break
    return marked
