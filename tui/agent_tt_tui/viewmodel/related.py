"""Which runs a run is likely to be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run


def related_runs(run: Run, runs: Sequence[Run]) -> list[tuple[Run, str]]:
    """All other runs, each with what it is to this one: its forks, its parent, its siblings, then the rest.

    Args:
        run: The run to compare.
        runs: All runs, newest first; each group keeps that order.
    """
    groups: dict[str, list[Run]] = {"fork": [], "parent": [], "sibling": [], "": []}
    for other in runs:
        if other.id == run.id:
            continue
        if other.parent == run.id:
            kin = "fork"
        elif other.id == run.parent:
            kin = "parent"
        else:
            kin = "sibling" if run.parent is not None and other.parent == run.parent else ""
        groups[kin].append(other)
    words = {"fork": "its fork", "parent": "its parent", "sibling": "forked from the same run", "": ""}
    return [(other, words[kin]) for kin, others in groups.items() for other in others]
