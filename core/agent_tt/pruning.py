"""Making a store smaller by rules: which runs go, and letting them go.

What goes is decided once, from what a store holds and a moment in time. Carrying it out takes away these runs and no
others: a dry run and the real one agree, unless somebody changed the store between the two. Then what has become
something to keep (pinned, running, a run with new forks) stays, and is counted.

A fork cannot be read without the runs that it was forked from: they stay as long as it does.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.model.retention import age_of, class_of, kept_always
from agent_tt.sources import space_in
from agent_tt.store.space import store_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from agent_tt.model import Run
    from agent_tt.model.retention import Retention, RunClass
    from agent_tt.protocols import RunSource, Store

    Report: TypeAlias = Callable[[int, int], None]

__all__ = ["Going", "PrunePlan", "Pruned", "Why", "plan_pruning", "prune"]

Why: TypeAlias = Literal["age", "count", "size"]


@dataclass(frozen=True, slots=True)
class Going:
    """A run that is to go.

    Attributes:
        run: the run.
        group: its class.
        why: which rule says so first.
        bytes: what its rows and what only they name hold in the file.
    """

    run: Run
    group: RunClass
    why: Why
    bytes: int


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What is to become of a store.

    Attributes:
        going: the runs that go, forks before what they were forked from.
        stay: how many stay that a rule would let go, by the reason in words.
        untouched: how many stay because no rule lets them go.
        file_bytes: how large the file is.
    """

    going: Sequence[Going]
    stay: Mapping[str, int]
    untouched: int
    file_bytes: int

    @property
    def bytes(self) -> int:
        """About how much smaller the file gets."""
        return sum(each.bytes for each in self.going)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was done.

    Attributes:
        runs: ids of the runs that are gone.
        stayed: how many of the plan stayed, because somebody changed them meanwhile.
        file_bytes: how large the file is now.
    """

    runs: Sequence[str]
    stayed: int
    file_bytes: int


def plan_pruning(
    source: RunSource, retention: Retention, now_us: int, report: Report = lambda _done, _all: None
) -> PrunePlan:
    """Work out which runs go. Nothing is changed.

    Args:
        source: a store of ours.
        retention: the rules.
        now_us: the time from which ages count.
        report: told (rows measured, in all).
    """
    space = space_in(source.path, report)
    sizes = {owner.name: owner.bytes for owner in space.owners}
    runs = {run.id: run for run in source.runs(archived=True)}
    always = {run_id: why for run_id, run in runs.items() if (why := kept_always(run)) is not None}
    stay: Counter[str] = Counter()
    wanted: dict[str, Why] = {}
    for place, run in enumerate(sorted(runs.values(), key=_end, reverse=True)):
        why = _why(run, place, retention, now_us)
        if why is not None and run.id in always:
            stay[always[run.id]] += 1
        elif why is not None:
            wanted[run.id] = why
    needed = _ancestors(runs, (run_id for run_id in runs if run_id not in wanted)) & wanted.keys()
    for run_id in needed:
        del wanted[run_id]
    if retention.max_bytes is not None:
        left = space.bytes - (space.free or 0) - sum(sizes.get(run_id, 0) for run_id in wanted)
        wanted |= _oldest(runs, wanted, always, sizes, left - retention.max_bytes)
    needed -= wanted.keys()
    if needed:
        stay["needed by forks that stay"] = len(needed)
    order = _forks_first(runs, wanted)
    going = [Going(runs[each], class_of(runs[each]), wanted[each], sizes.get(each, 0)) for each in order]
    return PrunePlan(going, dict(stay), len(runs) - len(going) - stay.total(), space.bytes)


def prune(
    store: Store, plan: PrunePlan, report: Report = lambda _done, _all: None, *, is_gentle: bool = False
) -> Pruned:
    """Carry out a plan. After a kill at any moment the store is sound, and some of the runs are gone.

    Args:
        store: the store.
        plan: what goes.
        report: told (runs done, in all).
        is_gentle: hold others up as little as can be: the file is only made smaller where that is quick.
    """
    ids = [each.run.id for each in plan.going]
    gone = store.prune_runs(ids, report, is_gentle=is_gentle)
    return Pruned(gone, len(ids) - len(gone), store_bytes(store.path))


def _why(run: Run, place: int, retention: Retention, now_us: int) -> Why | None:
    age = age_of(run, retention.ages)
    if age is not None and now_us - _end(run) >= age:
        return "age"
    return "count" if retention.keep_last is not None and place >= retention.keep_last else None


def _end(run: Run) -> int:
    return run.started_us if run.ended_us is None else run.ended_us


def _ancestors(runs: Mapping[str, Run], of: Iterable[str]) -> set[str]:
    """All runs that some runs descend from."""
    found: set[str] = set()
    for run_id in of:
        parent = runs[run_id].parent
        while parent is not None and parent in runs and parent not in found:
            found.add(parent)
            parent = runs[parent].parent
    return found


def _oldest(
    runs: Mapping[str, Run], going: Collection[str], always: Collection[str], sizes: Mapping[str | None, int], over: int
) -> dict[str, Why]:
    """The oldest runs beside those that go already, until they hold as much as is too much.

    A run is only looked at when all of its forks are gone.
    """
    forks = Counter(run.parent for run in runs.values() if run.id not in going and run.parent is not None)
    open_runs = [run for run in runs.values() if run.id not in going and run.id not in always]
    waiting = [(_end(run), run.id) for run in open_runs if not forks[run.id]]
    heapq.heapify(waiting)
    found: dict[str, Why] = {}
    while over > 0 and waiting:
        _, run_id = heapq.heappop(waiting)
        found[run_id] = "size"
        over -= sizes.get(run_id, 0)
        parent = runs[run_id].parent
        if parent is not None and parent in runs:
            forks[parent] -= 1
            if not forks[parent] and parent not in always and parent not in going:
                heapq.heappush(waiting, (_end(runs[parent]), parent))
    return found


def _forks_first(runs: Mapping[str, Run], going: Collection[str]) -> list[str]:
    """Runs in an order in which each comes after all that were forked from it, the oldest first."""
    forks = Counter(runs[run_id].parent for run_id in going)
    ready = [(_end(runs[run_id]), run_id) for run_id in going if not forks[run_id]]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        _, run_id = heapq.heappop(ready)
        order.append(run_id)
        parent = runs[run_id].parent
        forks[parent] -= 1
        if parent is not None and parent in going and not forks[parent]:
            heapq.heappush(ready, (_end(runs[parent]), parent))
    return order
