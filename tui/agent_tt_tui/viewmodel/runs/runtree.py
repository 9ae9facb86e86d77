"""Runs as the browser lists them: sorted, filtered, forks below what they were forked from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent_tt.model import Run

SortKey = Literal["age", "name", "status", "steps", "cost"]

SORT_KEYS: Final[tuple[SortKey, ...]] = ("age", "name", "status", "steps", "cost")
"""What runs can be sorted by, in the order in which a key goes through them."""

PINNED: Final = "pinned"
ARCHIVED: Final = "archived"
"""Words that find runs by what a person did with them."""

_STATUS_RANK: Final = {"running": 0, "failed": 1, "crashed": 2, "interrupted": 3, "unknown": 4, "succeeded": 5}


@dataclass(frozen=True, slots=True)
class SweepGroup:
    """The runs of a sweep, which stand together.

    Attributes:
        id: The sweep's id.
        runs: Its runs, those that broke off too, in the order in which they were begun.
    """

    id: str
    runs: tuple[Run, ...]

    @property
    def running(self) -> bool:
        """Whether one of them runs."""
        return any(run.status == "running" for run in self.runs)

    @property
    def summary(self) -> str:
        """`15 runs, 10 succeeded`."""
        well = sum(run.status == "succeeded" for run in self.runs)
        return f"{counted(len(self.runs), 'run')}, {well:,} succeeded"


@dataclass(frozen=True, slots=True)
class RunRow:
    """One row of the browser.

    Attributes:
        run: The run; of a group the first of it.
        label: Its name; for a fork only the last part, `fork-1`; of a run of a sweep `2.3`, of the group `sweep-1`.
        last: For each level of nesting, outermost first, whether the branch drawn there is the last of its parent.
        group: The runs of a sweep, where the row stands for all of them.
    """

    run: Run
    label: str
    last: tuple[bool, ...] = ()
    group: SweepGroup | None = None


def run_rows(
    runs: Sequence[Run],
    *,
    sort: SortKey = "age",
    text: str = "",
    archived: bool = True,
    sweeps: Literal["apart", "grouped", "folded"] = "apart",
) -> list[RunRow]:
    """Order runs as a tree.

    Args:
        runs: All runs of a store.
        sort: What root runs are ordered by; forks always stand in the order in which they were made.
        text: Only runs that hold this in their name, id, status, agent, tags or facts, upper and lower case alike, and
            what they were forked from; `pinned` and `archived` find those that are; empty for all.
        archived: Whether archived runs are among them; where they are asked for by `text`, they are.
        sweeps: Whether the runs of a sweep stand among the other forks, together below a row of their own, or that row
            alone stands for them.
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
        if row.group is None:
            below = _below(row, children.get(row.run.id, []), grouped=sweeps != "apart")
        else:
            below = [] if sweeps == "folded" else _members(row, row.group)
        pending += reversed(below)
    return rows


def _below(row: RunRow, forks: Sequence[Run], *, grouped: bool) -> list[RunRow]:
    """The rows of a run's forks; a sweep stands where its first run does."""
    groups: dict[str, list[Run]] = {}
    order: list[tuple[str | None, Run]] = []
    for fork in forks:
        sweep = fork.facts.fork_sweep.id if grouped else None
        if sweep is None or sweep not in groups:
            order.append((sweep, fork))
        if sweep is not None:
            groups.setdefault(sweep, []).append(fork)
    rows = []
    for index, (sweep, fork) in enumerate(order):
        label, last = _label(fork, row.run), (*row.last, index == len(order) - 1)
        if sweep is None:
            rows.append(RunRow(fork, label, last))
        else:
            rows.append(RunRow(fork, label.rpartition("/")[0] or label, last, SweepGroup(sweep, tuple(groups[sweep]))))
    return rows


def _members(row: RunRow, group: SweepGroup) -> list[RunRow]:
    return [RunRow(run, run.name.rpartition("/")[2], (*row.last, run is group.runs[-1])) for run in group.runs]


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
