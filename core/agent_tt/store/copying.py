"""Copying runs between stores, whatever each is: a file, or a database of a server.

What a person wrote down goes along: names, notes, tags, pins, what checkpoints are called, replays, sweeps; and what a
run was forked from. A run keeps its id, unless the target has another one of that id. What is there already stays as it
is there. Each copy is compared with its original, and checked as `verify` does.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import field
from itertools import groupby
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import Address, identity_of
from agent_tt.errors import IsRunning, UsageError
from agent_tt.model import Problem
from agent_tt.store.file.provenance import is_made_here, stamp_run
from agent_tt.store.store import open_store
from agent_tt.store.transfer import copy_runs, ends_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.store.store import SqliteStore

__all__ = ["Copied", "copy_between"]

_AT_ONCE: Final = 20
"""So many runs are copied in one transaction: others write between two of them."""


@dataclass(slots=True)
class Copied:
    """What came of copying.

    Attributes:
        copies: the ids of the copies, by those of their originals.
        there: ids of runs that the target had already.
        left: names of runs that still run, and were left out.
        foreign: ids of copies that name no program, because their originals were not recorded by this user here.
        problems: what is wrong with copies.
    """

    copies: dict[str, str] = field(default_factory=dict)
    there: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def copy_between(
    source_path: Path,
    target_path: Path,
    refs: Sequence[str] | None = None,
    report: Callable[[int, int], None] = lambda _done, _all: None,
) -> Copied:
    """Copy runs from one store into another.

    A run that was recorded elsewhere arrives without the program that it names: it would run in the target unasked.

    Args:
        source_path: the store that holds the runs.
        target_path: the store to copy into, made where there is none.
        refs: the runs; those that they were forked from go along. None for all.
        report: told (runs done, in all).

    Raises:
        UsageError: both are the same.
        RunNotFound: the source has no such run.
        IsRunning: one of the runs is still being recorded.
        Damaged: something that a run needs is missing in the source; what was copied before stays.
        StoreNotFound, StoreUnreadable: one of them cannot be opened.
    """
    if identity_of(source_path) == identity_of(target_path):
        raise UsageError(f"{source_path} is both the store to copy from and the one to copy into")
    done = Copied()
    with closing(open_store(source_path, read_only=True)) as source:
        runs = _chosen(source, refs, done)
        with closing(open_store(target_path, create=True)) as target:
            count = 0
            whose = _Whose(source_path)
            for is_ours, some in groupby(runs, key=whose.is_ours):
                alike = list(some)
                for first in range(0, len(alike), _AT_ONCE):
                    part = alike[first : first + _AT_ONCE]
                    _copy(source, target, [run.id for run in part], done, is_ours=is_ours)
                    count += len(part)
                    report(count, len(runs))
    return done


class _Whose:
    """Tells whether this user recorded a run on this machine. All runs of a store in a file have the same answer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._all = None if isinstance(path, Address) else is_made_here(path)

    def is_ours(self, run: Run) -> bool:
        return is_made_here(self._path, run.id) if self._all is None else self._all


def _chosen(source: SqliteStore, refs: Sequence[str] | None, done: Copied) -> list[Run]:
    """The runs to copy, what others were forked from before those."""
    if refs is None:
        known = {run.id: run for run in source.runs(archived=True)}
        running = {run.id for run in known.values() if run.status == "running"}
        left = running | {fork.id for each in running for fork in source.forks(each, deep=True)}
        done.left += [run.name for run in known.values() if run.id in left]
        return sorted(
            (run for run in known.values() if run.id not in left), key=lambda run: source.lineage.number(run.id)
        )
    wanted: dict[int, None] = {}
    for ref in refs:
        number = source.lineage.number(source.run(ref).id)
        wanted.update(dict.fromkeys(stretch.run for stretch in source.lineage.stretches(number)))
    runs = [source.run(source.run_id(number)) for number in wanted]
    for run in runs:
        if run.status == "running":
            raise IsRunning(f"{run.name} is still being recorded", runs=(run.name,), hint="Copy it when it is over.")
    return runs


def _copy(source: SqliteStore, target: SqliteStore, run_ids: Sequence[str], done: Copied, *, is_ours: bool) -> None:
    copies = copy_runs(source, target, run_ids, origin=None if is_ours else source.path)
    done.copies.update(copies)
    done.there += [run_id for run_id in run_ids if run_id not in copies]
    if not is_ours:
        done.foreign += copies.values()
    elif copies and not target.database.is_file:
        with target.database.transaction() as tx:
            for copy in copies.values():
                stamp_run(target.database, tx, target.lineage.number(copy))
    for run_id, copy in copies.items():
        done.problems += target.verify(copy)
        if ends_of(source, run_id) != ends_of(target, copy):
            done.problems.append(
                Problem(copy, None, f"its states are not those of run {run_id}, which it is a copy of")
            )
