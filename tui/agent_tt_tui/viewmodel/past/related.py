"""Which runs stand around a run: those that it is likely to be compared with, its forks, what it was forked from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt.errors import RunNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource


class Kin(NamedTuple):
    """A run that has steps in common with another.

    Attributes:
        run: The run.
        words: What it is to the other.
        step: The last step that both have, where they are best looked at together.
    """

    run: Run
    words: str
    step: int


def kin_of(source: RunSource, run: Run, number: int) -> list[Kin]:
    """The forks of a run, its parent, and that one's other forks; forks that begin at a step first.

    Raises:
        AgentTTError: They cannot be read.
    """
    forks = [Kin(fork, f"forked after step {fork.fork_step}", fork.fork_step or 0) for fork in source.forks(run.id)]
    forks.sort(key=lambda kin: kin.step != number)
    if run.parent is None or run.fork_step is None:
        return forks
    try:
        parent = source.run(run.parent)
    except RunNotFound:  # a copy of a fork may have come without it
        return forks
    at = run.fork_step
    around = [Kin(parent, f"its parent, forked after step {at}", at)]
    around += [
        Kin(other, "forked from the same run", min(at, other.fork_step or 0))
        for other in source.forks(parent.id)
        if other.id != run.id
    ]
    return [*forks, *around] if forks and forks[0].step == number else [*around[:1], *forks, *around[1:]]


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


def forks_among(run: Run, runs: Sequence[Run]) -> int:
    """How many runs were forked from one, directly or through other forks."""
    parents = {other.id: other.parent for other in runs if other.id != run.id}
    known = {run.id}
    while more := {each for each, parent in parents.items() if parent in known} - known:
        known |= more
    return len(known) - 1
