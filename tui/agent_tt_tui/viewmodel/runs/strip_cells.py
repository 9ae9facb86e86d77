"""Which steps stand for a run on a strip that has fewer cells than the run has steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Step


def buckets(steps: Sequence[Step], cells: int) -> list[Step]:
    """At most `cells` steps that stand for all: of each bucket the rarest kind, a failed step above everything."""
    if cells <= 0:
        return []
    if len(steps) <= cells:
        return list(steps)
    chosen = []
    for cell in range(cells):
        bucket = steps[cell * len(steps) // cells : (cell + 1) * len(steps) // cells]
        chosen.append(max(bucket, key=_rarity))
    return chosen


def _rarity(step: Step) -> int:
    if step.status == "error":
        return 3
    return {"write": 2, "human": 1}.get(step.kind or "", 0)
