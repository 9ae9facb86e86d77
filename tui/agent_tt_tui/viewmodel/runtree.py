"""Runs as the browser lists them: sorted, filtered, forks below what they were forked from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent_tt.model import Run

SortKey = Literal["age", "name", "status", "steps", "cost"]

SORT_KEYS: Final[tuple[SortKey, ...]] = ("age", "name", "status", "steps", "cost")
"""What runs can be sorted by, in the order in which a key goes through them."""

PINNED: Final = "pinned"
ARCHIVED: Final = "archived"
"""Words that find runs by what a person did with them."""

_STATUS_RANK: Final = {"running": 0, "failed": 1, "crashed": 2, "interrupted": 3, "succeeded": 4}


@dataclass(frozen=True, slots=True)
class RunRow:
    """One row of the browser.

    Attributes:
        run: The run.
        label: Its name; for a fork only the last part, `fork-1`.
        last: For each level of nesting, outermost first, whether the branch drawn there is the last of its parent.
    """

    run: Run
    label: str
    last: tuple[bool, ...] = ()


def run_rows(runs: Sequence[Run], *, sort: SortKey = "age", text: str = "", archived: bool = True) -> list[RunRow]:
    """Order runs as a tree.

    Args:
        runs: All runs of a store.
        sort: What root runs are ordered by; forks always stand in the order in which they were made.
        text: Only runs that hold this in their name, id, status, agent, tags or facts, upper and lower case alike, and
            what they were forked from; `pinned` and `archived` find those that are; empty for all.
        archived: Whether archived runs are among them; where they are asked for by `text`, they are.
    """
    if not archived and text.lower() != ARCHIVED:
        runs = [run for run in runs if not run.archived]
    known = {run.id: run for run in runs}
    kept = set(known) if not text else _with_ancestors(known, (run for run in runs if _matches(run, text.lower())))
    children: dict[str | None, list[Run]] = {}
    for run in runs:
        if run.id in kept:
            children.setdefault(run.parent if run.parent in kept else None, []).append(run)
    for parent, forks in children.items():
        forks.sort(key=_order(sort) if parent is None else _made)
    rows: list[RunRow] = []
    # An explicit stack: a chain of forks of forks may be longer than Python's own stack is deep.
    pending = [RunRow(run, run.name) for run in reversed(children.get(None, []))]
    while pending:
        row = pending.pop()
        rows.append(row)
        forks = children.get(row.run.id, [])
        pending += (RunRow(fork, _label(fork, row.run), (*row.last, fork is forks[-1])) for fork in reversed(forks))
    return rows


def _label(fork: Run, parent: Run) -> str:
    shorter = fork.name.removeprefix(f"{parent.name}/")
    return shorter or fork.name


def _matches(run: Run, text: str) -> bool:
    words = [run.name, run.id, run.status, run.agent or "", *run.tags, *run.former_names]
    words += [word for word, holds in ((PINNED, run.pinned), (ARCHIVED, run.archived)) if holds]
    words += [value for value in run.metadata.values() if isinstance(value, str)]
    return any(text in word.lower() for word in words)


def _with_ancestors(known: dict[str, Run], found: Iterable[Run]) -> set[str]:
    kept: set[str] = set()
    for run in found:
        at: Run | None = run
        while at is not None and at.id not in kept:
            kept.add(at.id)
            at = known.get(at.parent) if at.parent else None
    return kept


def _made(run: Run) -> tuple[int, str]:
    return run.started_us, run.name


def _order(sort: SortKey) -> Callable[[Run], tuple[float | str, float]]:
    """The key that puts first what is looked for first: newest, failed, longest, dearest."""
    keys: dict[SortKey, Callable[[Run], float | str]] = {
        "age": lambda _run: 0,
        "name": lambda run: run.name.lower(),
        "status": lambda run: _STATUS_RANK[run.status],
        "steps": lambda run: -run.steps,
        "cost": lambda run: -(run.cost_usd or 0),
    }
    first = keys[sort]
    return lambda run: (first(run), -run.started_us)
