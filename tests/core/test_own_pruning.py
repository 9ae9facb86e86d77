"""A store that prunes itself, because its settings ask for it; and kills anywhere in pruning."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.store.recordings import new_store
from tests.core.test_pruning import NOW, a_run, make
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt import _prune
from agent_tt.errors import UsageError
from agent_tt.model.retention import Retention, retention_of
from agent_tt.pruning import plan_pruning, prune
from agent_tt.recording.runs import own_pruning
from agent_tt.store import open_store
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.liveness import now_us
from agent_tt.store.own_pruning import last_turn, take_turn

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

DAY = 86_400 * 1_000_000
SETTINGS = '[tool.agent-tt.retention]\nsuccess = "0s"\n'


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    found: list[Any] = []
    original = subprocess.Popen

    def start(*args: Any, **options: Any) -> Any:
        process = original(*args, **options)
        found.append(process)
        return process

    monkeypatch.setattr(own_pruning.subprocess, "Popen", start)
    monkeypatch.chdir(tmp_path)
    return found


def record(path: Path, **options: Any) -> str:
    with agent_tt.record("shop", store=path, **options) as run:
        pass
    return run.id


def test_nothing_is_pruned_by_itself_unless_the_settings_ask_for_it(started: list[Any], tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    record(tmp_path / "runs.db")
    assert started == []


def test_once_a_day_a_recording_that_ends_has_its_store_pruned(
    started: list[Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "runs.db"
    kept = record(path, keep="30d")
    (tmp_path / "pyproject.toml").write_text(SETTINGS + "automatic = true\n")
    with caplog.at_level(logging.INFO, "agent_tt"):
        gone = record(path)
    (process,) = started
    assert f"process {process.pid} is to prune {path}" in caplog.text
    assert process.wait(PATIENCE_SECONDS) == 0
    with closing(open_store(path)) as store:
        assert [run.id for run in store.runs()] == [kept], f"not {gone}"
        assert store.verify() == []
        assert last_turn(store.database)[1] == 1
    record(path)
    assert len(started) == 1, "less than a day later"


def test_of_many_at_once_one_takes_the_turn_and_a_day_later_one_again(tmp_path: Path):
    path = tmp_path / "runs.db"
    new_store(tmp_path).close()
    store = next(tmp_path.glob("*.db"))
    for now in (DAY * 9, DAY * 10):
        taken: list[bool] = []
        threads = [threading.Thread(target=lambda: taken.append(take_turn(store, now))) for _ in range(8)]  # noqa: B023
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        assert sorted(taken) == [False] * 7 + [True]
    assert not take_turn(store, DAY * 11 - 1)
    assert take_turn(store, DAY * 9), "the clock was set back"
    assert path.parent == store.parent


def test_what_cannot_be_pruned_is_said_in_the_log_and_nothing_is_raised(
    started: list[Any], tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object, **__: object) -> None:
        raise OSError("no process can be started")

    (tmp_path / "pyproject.toml").write_text(SETTINGS + "automatic = true\n")
    monkeypatch.setattr(own_pruning.subprocess, "Popen", fail)
    record(tmp_path / "runs.db")
    assert "could not be pruned" in caplog.text
    assert _prune.main([json.dumps({"store": str(tmp_path / "none.db"), "retention": {}})]) == 3
    with pytest.raises(UsageError, match="true or false"):
        retention_of({"automatic": "daily"})


def test_it_goes_by_the_same_rules_as_the_command(tmp_path: Path):
    with closing(new_store(tmp_path)) as store:
        ids = make(store, [a_run(age=age, pinned=age == 3) for age in range(5)])
        path = store.path
        said = [each.run.id for each in plan_pruning(store, retention_of({"keep_last": 2}), now_us()).going]
    take_turn(path, now_us())
    assert _prune.main([json.dumps({"store": str(path), "retention": {"keep_last": 2, "automatic": True}})]) == 0
    with closing(open_store(path)) as store:
        assert {run.id for run in store.runs()} == set(ids) - set(said)
        assert store.verify() == []
        assert last_turn(store.database)[1] == len(said)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_kill_at_any_of_fifty_moments_leaves_a_sound_store(tmp_path: Path):
    """Each process is killed before another statement of its pruning, over the whole of it."""
    with closing(new_store(tmp_path)) as store:
        ids = make(store, [a_run(age=20), a_run(age=0, parent=0), *(a_run(age=age) for age in range(1, 11))])
        path = store.path
    last = statements(shutil.copy(path, tmp_path / "counted.db"))
    assert last > 50
    for moment in range(50):
        copy = tmp_path / f"{moment}.db"
        shutil.copy(path, copy)
        child = os.fork()
        if not child:
            killed_at(copy, 1 + moment * last // 50)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        with closing(open_store(copy)) as store:
            assert store.verify() == []
            runs = store.runs()
            assert {*ids[:3]} <= {run.id for run in runs}, "the newest, and what one of them was forked from"
            assert all(store.state(run.id, run.steps) for run in runs)
        copy.unlink()


def prune_all(path: Any) -> None:
    with closing(open_store(path)) as store:
        prune(store, plan_pruning(store, Retention(None, keep_last=2), NOW), is_gentle=True)


def statements(path: Any) -> int:
    count = 0

    def counted(method: Any) -> Any:
        def call(*args: Any) -> Any:
            nonlocal count
            count += 1
            return method(*args)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("execute", "query"):
            patch.setattr(Transaction, name, counted(getattr(Transaction, name)))
        prune_all(path)
    return count


def killed_at(path: Any, moment: int) -> None:
    left = moment

    def fatal(method: Any) -> Any:
        def call(*args: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), 9)
            return method(*args)

        return call

    try:
        for name in ("execute", "query"):
            setattr(Transaction, name, fatal(getattr(Transaction, name)))
        prune_all(path)
    finally:
        os._exit(0)
