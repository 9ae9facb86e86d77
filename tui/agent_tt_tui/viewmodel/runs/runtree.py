"""Runs as the browser lists them: sorted, filtered, forks below what they were forked from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import compress, count, repeat
from operator import attrgetter, contains, or_
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, overload

from agent_tt._dataclass import dataclass
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from agent_tt.model import Run

SortKey = Literal["age", "name", "status", "steps", "cost"]
Sweeps = Literal["apart", "grouped", "folded"]
"""How the runs of a sweep stand in a list; see `run_rows`."""

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

    @property
    def id(self) -> str:
        """The id of what it stands for: the run's, or the sweep's."""
        return self.run.id if self.group is None else self.group.id


class ListedRuns(Sequence[RunRow]):
    """Rows of the browser. That of a run without forks, as nearly all are, is made when it is asked for."""

    def __init__(self, items: Sequence[Run | RunRow], *, running: Collection[str]) -> None:
        """Hold the rows.

        Args:
            items: In order, rows, and runs that stand for a row of theirs.
            running: The ids of all runs that run, whether they are among these or not.
        """
        self._items = items
        self._running = running

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> RunRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RunRow]: ...
    def __getitem__(self, index: int | slice) -> RunRow | Sequence[RunRow]:
        found = self._items[index]
        if isinstance(found, Sequence):
            return ListedRuns(found, running=self._running)
        return found if isinstance(found, RunRow) else RunRow(found, found.name)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """Where each run stands, and each sweep, by its id."""
        return dict(zip(map(attrgetter("id"), self._items), count()))

    @cached_property
    def _groups(self) -> Sequence[SweepGroup]:
        rows = (item for item in self._items if isinstance(item, RunRow))
        return [row.group for row in rows if row.group is not None]

    @cached_property
    def total(self) -> int:
        """How many runs the rows stand for."""
        return len(self) + sum(len(group.runs) - 1 for group in self._groups)

    @cached_property
    def running(self) -> bool:
        """Whether one of the runs runs."""
        return bool(self._running) and (
            any(run in self._places for run in self._running) or any(group.running for group in self._groups)
        )

    def runs(self, ids: Iterable[str]) -> list[Run]:
        """The runs that are named and have a row of their own, in the order of their rows."""
        return [self[place].run for place in sorted(self._places[run] for run in ids if run in self._places)]

    def index_of(self, row: RunRow) -> int | None:
        """Where the run of a row stands, or its sweep; None where it does not."""
        # Each letter of a filter asks it once, mostly of a row near the first: that is no reason to note all places.
        return next(compress(count(), map(row.id.__eq__, map(attrgetter("id"), self._items))), None)


class RunIndex:
    """All runs of a store, made ready once for what is asked with each key: an order, and what is looked for."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """Look at all runs."""
        self.runs = runs
        """The runs, as they were read."""
        self.archived = sum(run.archived for run in runs)
        """How many of them are archived."""
        self.running: Collection[str] = frozenset(run.id for run in runs if run.status == "running")
        """The ids of those that run."""
        self._orders: dict[tuple[SortKey, bool], _Order] = {}

    def looks_at(self, *, sort: SortKey, text: str, archived: bool, sweeps: Sweeps) -> int:
        """How many runs are looked at to give rows: all, where their order is not known yet."""
        text = text.lower()
        order = self._orders.get((sort, archived or text == ARCHIVED or not self.archived))
        return len(self.runs) if order is None else order.looks_at(text, sweeps)

    def prepare(self, sort: SortKey, *, archived: bool) -> RunIndex:
        """Find out an order and lay out all of it, which takes a while for very many runs."""
        self.rows(sort=sort, archived=archived, sweeps="folded")
        return self

    def _ordered(self, sort: SortKey, *, archived: bool) -> _Order:
        key = sort, archived or not self.archived
        if key not in self._orders:
            shown = self.runs if key[1] else [run for run in self.runs if not run.archived]
            self._orders[key] = _Order(sorted(shown, key=_order(sort)), self.running)
        return self._orders[key]

    def rows(
        self, *, sort: SortKey = "age", text: str = "", archived: bool = True, sweeps: Sweeps = "apart"
    ) -> ListedRuns:
        """Order runs as a tree; see `run_rows`."""
        text = text.lower()
        return self._ordered(sort, archived=archived or text == ARCHIVED).rows(text, sweeps)


class _Answer(NamedTuple):
    """What a text finds, and what that was forked from.

    Attributes:
        text: The text.
        roots: Those of them that are no forks, in order.
        words: The words of each.
        forks: The others.
        before: What a part of the text finds, among which it was looked for; None for all runs.
    """

    text: str
    roots: Sequence[Run]
    words: Sequence[str]
    forks: Sequence[Run]
    before: _Answer | None = None


class _Order:
    """Runs in an order. What one looks for with each further letter is found among what was found before it."""

    def __init__(self, runs: Sequence[Run], running: Collection[str]) -> None:
        self._running = running
        known = {run.id for run in runs}
        forks = [run for run in runs if run.parent in known]
        self._parents = {run.id: run.parent for run in forks}
        roots = [run for run in runs if run.id not in self._parents]
        self._words = {run.id: _text(run) for run in forks}
        self._all = self._last = _Answer("", roots, [_text(run) for run in roots], forks)
        self._laid: Mapping[tuple[str, Sweeps], ListedRuns] = {}
        """Of all runs, and of the text that was asked for last."""

    def looks_at(self, text: str, sweeps: Sweeps) -> int:
        """How many runs are looked at to give the rows of what a text finds."""
        known = self._nearest(text)
        return 0 if (text, sweeps) in self._laid else len(known.roots) + len(known.forks)

    def rows(self, text: str, sweeps: Sweeps) -> ListedRuns:
        """The rows of what a text finds."""
        rows = self._laid.get((text, sweeps))
        if rows is None:
            answer = self._answer(text)
            children: dict[str | None, list[Run]] = {}
            for fork in answer.forks:
                children.setdefault(fork.parent, []).append(fork)
            for forks in children.values():
                forks.sort(key=_made)
            rows = ListedRuns(_items(answer.roots, children, sweeps), running=self._running)
            # What is kept never changes, so that nobody is in the way of a thread that looks for another text.
            self._laid = {key: laid for key, laid in self._laid.items() if not key[0]} | {(text, sweeps): rows}
        return rows

    def _answer(self, text: str) -> _Answer:
        before = self._nearest(text)
        if text == before.text:
            return before
        holds = list(map(contains, before.words, repeat(text)))
        forks = before.forks
        if forks:
            kept = self._with_ancestors(fork.id for fork in forks if text in self._words[fork.id])
            forks = [fork for fork in forks if fork.id in kept]
            above = kept - self._parents.keys()
            if above:
                holds = list(map(or_, holds, map(above.__contains__, map(attrgetter("id"), before.roots))))
        roots, words = list(compress(before.roots, holds)), list(compress(before.words, holds))
        self._last = _Answer(text, roots, words, forks, before)
        return self._last

    def _nearest(self, text: str) -> _Answer:
        """The answer to the longest part of a text that is known: letters are added and taken back at the end."""
        answer: _Answer | None = self._last
        while answer is not None and answer.text not in text:
            answer = answer.before
        return answer or self._all

    def _with_ancestors(self, forks: Iterable[str]) -> set[str]:
        """The ids of forks and of what they were forked from."""
        kept: set[str] = set()
        for fork in forks:
            run: str | None = fork
            while run is not None and run not in kept:
                kept.add(run)
                run = self._parents.get(run)
        return kept


def run_rows(
    runs: Sequence[Run],
    *,
    sort: SortKey = "age",
    text: str = "",
    archived: bool = True,
    sweeps: Sweeps = "apart",
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
    roots: Sequence[Run], children: Mapping[str | None, Sequence[Run]], sweeps: Sweeps
) -> Sequence[Run | RunRow]:
    """The rows of runs with those of their forks."""
    if not children:
        return roots
    items: list[Run | RunRow] = []
    done = 0
    for at in compress(count(), map(children.__contains__, map(attrgetter("id"), roots))):
        items += roots[done:at]
        items += _tree(roots[at], children, sweeps)
        done = at + 1
    return [*items, *roots[done:]]


def _tree(root: Run, children: Mapping[str | None, Sequence[Run]], sweeps: Sweeps) -> Iterator[RunRow]:
    """The rows of a run and of its forks."""
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
