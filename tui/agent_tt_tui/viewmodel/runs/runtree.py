"""Runs as the browser lists them: sorted, filtered, forks below what they were forked from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, overload

from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

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


class ListedRuns(Sequence[RunRow]):
    """Rows of the browser. That of a run without forks, as nearly all are, is made when it is asked for."""

    def __init__(self, items: Sequence[Run | RunRow], *, running: bool) -> None:
        """Hold the rows.

        Args:
            items: In order, rows, and runs that stand for a row of theirs.
            running: Whether one of the runs runs, as far as that is known without looking at each.
        """
        self._items = items
        self._may_run = running

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> RunRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RunRow]: ...
    def __getitem__(self, index: int | slice) -> RunRow | Sequence[RunRow]:
        found = self._items[index]
        if isinstance(found, Sequence):
            return ListedRuns(found, running=self._may_run)
        return found if isinstance(found, RunRow) else RunRow(found, found.name)

    @property
    def total(self) -> int:
        """How many runs the rows stand for."""
        groups = (item.group for item in self._items if isinstance(item, RunRow) and item.group is not None)
        return len(self) + sum(len(group.runs) - 1 for group in groups)

    @property
    def running(self) -> bool:
        """Whether one of the runs runs."""
        return self._may_run and any(
            row.run.status == "running" or (row.group is not None and row.group.running) for row in self
        )

    def runs(self, ids: Container[str]) -> list[Run]:
        """The runs that are named, in the order of their rows."""
        shown = (item.run if isinstance(item, RunRow) else item for item in self._items)
        return [run for run in shown if run.id in ids]

    def index_of(self, row: RunRow) -> int | None:
        """Where the run of a row stands, or its sweep; None where it does not."""
        wanted, group = row.run.id, row.group.id if row.group is not None else None
        for index, item in enumerate(self._items):
            if not isinstance(item, RunRow):
                if item.id == wanted and group is None:
                    return index
            elif (item.group.id == group) if item.group is not None else (group is None and item.run.id == wanted):
                return index
        return None


class RunIndex:
    """All runs of a store, made ready once for what is asked with each key: an order, and what is looked for."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """Look at all runs."""
        self.runs = runs
        """The runs, as they were read."""
        self.archived = sum(run.archived for run in runs)
        """How many of them are archived."""
        self.running = any(run.status == "running" for run in runs)
        """Whether one of them runs."""
        parents = {run.parent for run in runs if run.parent is not None}
        self._has_forks = any(run.id in parents for run in runs) if parents else False
        self._known = {run.id: run for run in runs} if self._has_forks else {}
        self._orders: dict[SortKey, tuple[list[Run], list[str]]] = {}

    def is_ready(self, sort: SortKey) -> bool:
        """Whether an order is known."""
        return sort in self._orders

    def prepare(self, sort: SortKey) -> RunIndex:
        """Find out an order, which takes a while for very many runs."""
        self._ordered(sort)
        return self

    def _ordered(self, sort: SortKey) -> tuple[list[Run], list[str]]:
        if sort not in self._orders:
            runs = sorted(self.runs, key=_order(sort))
            self._orders[sort] = runs, [_text(run) for run in runs]
        return self._orders[sort]

    def rows(
        self,
        *,
        sort: SortKey = "age",
        text: str = "",
        archived: bool = True,
        sweeps: Literal["apart", "grouped", "folded"] = "apart",
    ) -> ListedRuns:
        """Order runs as a tree; see `run_rows`."""
        runs, texts = self._ordered(sort)
        text = text.lower()
        found, known = runs, self._known
        if text:
            found = [run for run, words in zip(runs, texts, strict=True) if text in words]
        if self.archived and not archived and text != ARCHIVED:
            found = [run for run in found if not run.archived]
            known = {run_id: run for run_id, run in known.items() if not run.archived}
        if not self._has_forks:
            return ListedRuns(found, running=self.running)
        kept = _with_ancestors(known, found) if text else set(known)
        children: dict[str | None, list[Run]] = {}
        for run in runs:
            if run.id in kept:
                children.setdefault(run.parent if run.parent in kept else None, []).append(run)
        roots = children.pop(None, [])
        for forks in children.values():
            forks.sort(key=_made)
        return ListedRuns(list(_items(roots, children, sweeps)), running=self.running)


def run_rows(
    runs: Sequence[Run],
    *,
    sort: SortKey = "age",
    text: str = "",
    archived: bool = True,
    sweeps: Literal["apart", "grouped", "folded"] = "apart",
) -> ListedRuns:
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
    return RunIndex(runs).rows(sort=sort, text=text, archived=archived, sweeps=sweeps)


def _items(
    roots: Sequence[Run],
    children: Mapping[str | None, Sequence[Run]],
    sweeps: Literal["apart", "grouped", "folded"],
) -> Iterator[Run | RunRow]:
    """The rows of runs with those of their forks."""
    for root in roots:
        if root.id not in children:
            yield root
            continue
        # An explicit stack: a chain of forks of forks may be longer than Python's own stack is deep.
        pending = [RunRow(root, root.name)]
        while pending:
            row = pending.pop()
            yield row
            if row.group is None:
                below = _below(row, children.get(row.run.id, []), grouped=sweeps != "apart")
            else:
                below = [] if sweeps == "folded" else _members(row, row.group)
            pending += reversed(below)


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


def _text(run: Run) -> str:
    """All words that find a run, in small letters, each on a line."""
    words = [run.name, run.id, run.status, run.agent or "", *run.tags, *run.former_names]
    words += [word for word, holds in ((PINNED, run.pinned), (ARCHIVED, run.archived)) if holds]
    words += [value for value in run.metadata.values() if isinstance(value, str)]
    return "\n".join(words).lower()


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
