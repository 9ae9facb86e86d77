"""Sweeps in the store: named, driven by one process at a time, deleted, copied and verified with their run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.store.rows import update
from tests.core.sweeping.by_hand import GONE

from agent_tt.errors import IsRunning, RunNotFound, StoreUnreadable, UsageError
from agent_tt.forking.request import ForkRequest
from agent_tt.model import NewFork, NewRun
from agent_tt.store import copy_run, open_store
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.matrix import MatrixReader

if TYPE_CHECKING:
    from pathlib import Path

    from tests.core.sweeping.by_hand import ByHand

SWEEP = Definition((Axis("set", "temperature", (0, 1)),), fork=ForkRequest(1))


def test_a_sweep_is_found_by_name_id_beginning_and_latest(by_hand: ByHand) -> None:
    one, two = by_hand.begin(SWEEP), by_hand.begin(SWEEP)
    assert (one.name, two.name) == ("guess/sweep-1", "guess/sweep-2")
    found = {ref: by_hand.store.sweep(ref).id for ref in (one.name, one.id, one.id.upper(), two.id[:8], "latest")}
    assert list(found.values()) == [one.id, one.id, one.id, two.id, two.id]
    by_hand.store.rename_run(by_hand.run.id, "riddle")
    assert by_hand.store.sweep("riddle/sweep-1").id == one.id
    assert by_hand.store.sweep("guess/sweep-1").id == one.id, "the old name of the run still names its sweep"
    for odd in ("guess/sweep-3", "guess/sweep-", "nobody/sweep-1", "/sweep-1"):
        with pytest.raises(RunNotFound):
            by_hand.store.sweep(odd)


def test_only_one_process_drives_a_sweep(by_hand: ByHand) -> None:
    sweep = by_hand.begin(SWEEP)
    with pytest.raises(IsRunning, match=r"guess/sweep-1 is being run, by process \d+"):
        by_hand.store.claim_sweep(sweep.id)
    by_hand.store.release_sweep(sweep.id)
    assert not by_hand.store.sweep(sweep.id).driven
    by_hand.store.claim_sweep(sweep.id)
    assert by_hand.store.sweep(sweep.id).driven
    by_hand.drop(sweep)
    assert not by_hand.store.sweep(sweep.id).driven
    by_hand.store.claim_sweep(sweep.id)


def test_another_process_that_took_it_over_is_not_put_out(by_hand: ByHand) -> None:
    sweep = by_hand.begin(SWEEP)
    by_hand.drop(sweep)
    by_hand.store.release_sweep(sweep.id)
    with closing(sqlite3.connect(by_hand.path)) as connection:
        assert connection.execute("SELECT owner FROM sweeps").fetchall() == [(GONE,)]


def test_a_run_whose_process_is_gone_is_settled_and_nobody_fills_it_later(by_hand: ByHand) -> None:
    sweep = by_hand.begin(SWEEP)
    gone = by_hand.took(sweep, 1, 1, "running")
    assert by_hand.store.settle_run(gone) is None
    with pytest.raises(StoreUnreadable, match="is over"):  # its process came too late
        by_hand.store.adopt_run(gone, NewRun(name=""), None)


def test_a_run_whose_process_is_there_is_left_alone(by_hand: ByHand) -> None:
    here = by_hand.store.begin_fork(NewFork(by_hand.run.id, 1, state={}, new=NewRun(name="")))
    owner = by_hand.store.settle_run(here)
    assert owner is not None
    by_hand.store.adopt_run(here, NewRun(name=""), None).finish("succeeded")
    assert by_hand.store.settle_run(here) is None


def test_a_deleted_run_takes_its_sweeps_along_and_nothing_is_left_over(by_hand: ByHand) -> None:
    sweep = by_hand.begin(SWEEP)
    by_hand.took(sweep, 1, 1, state={"a": 1})
    by_hand.store.delete_runs([by_hand.run.id], with_forks=True)
    assert by_hand.store.sweeps() == []
    assert by_hand.store.verify() == []


def test_a_row_that_belongs_to_no_run_is_found_by_verify(by_hand: ByHand) -> None:
    by_hand.begin(SWEEP)
    with by_hand.store.database.transaction() as tx:
        update(tx, "sweeps", run=99)
    assert "1 row of sweeps belongs to no run" in [problem.what for problem in by_hand.store.verify()]


def test_a_copy_of_a_run_of_a_sweep_brings_the_sweep_and_nobody_drives_it_there(
    by_hand: ByHand, tmp_path: Path
) -> None:
    sweep = by_hand.begin(SWEEP)
    taken = [by_hand.took(sweep, cell, 1, state={"budget": cell}) for cell in (1, 2)]
    with closing(open_store(tmp_path / "copy.db", create=True)) as target:
        for run_id in taken:
            copy_run(by_hand.store, target, run_id)
        there = target.sweeps()
        assert [(each.id, each.name, each.driven) for each in there] == [(sweep.id, sweep.name, False)]

        assert MatrixReader(target, sweep.id).read().status == "complete"
        assert target.verify() == []


def test_nobody_else_may_be_called_as_a_run_of_a_sweep(by_hand: ByHand) -> None:
    fork = by_hand.store.begin_fork(NewFork(by_hand.run.id, 1, state={}, new=NewRun(name="")))
    for name in ("guess/sweep-1/2.3", "guess/sweep-1/2.3.2", "guess/sweep-1"):
        with pytest.raises(UsageError, match="reads as a run of a sweep"):
            by_hand.store.rename_run(fork, name)
    by_hand.store.set_run_status(fork, "succeeded")


def test_secrets_among_the_values_do_not_reach_the_file(by_hand: ByHand) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6" * 4
    by_hand.begin(Definition((Axis("set", "key", (key, "none")),), fork=ForkRequest(1)))
    with closing(sqlite3.connect(by_hand.path)) as connection:
        ((kept,),) = connection.execute("SELECT definition FROM sweeps").fetchall()
    assert key not in kept
