"""What happens to an open store's files is told before the next transaction."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.store.recordings import begin, new_store, step

from agent_tt.store.file import connection
from agent_tt.store.file.in_place import Openings, Place, keep_forever, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Opened:
    """A database in WAL mode, opened as a store's is, whose folder was last changed long ago."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.path = folder / "runs.db"
        with closing(sqlite3.connect(self.path)) as made:
            made.execute("PRAGMA journal_mode = wal")
            made.execute("CREATE TABLE t(x)")
        before = open_descriptors()
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("INSERT INTO t VALUES(1)")
        self.place = Place.of(self.path, before)
        self.settle()
        self.numbers = [number for number in self.place.numbers if number is not None]

    def settle(self) -> None:
        """Let the folder's last change be long ago, and have it looked at."""
        os.utime(self.path.parent, ns=(0, 10**18))
        assert self.place.trouble() is None

    @property
    def log(self) -> Path:
        return self.path.with_name("runs.db-wal")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    made = Opened(tmp_path / "folder")
    assert len(made.numbers) == 3
    yield made
    keep_forever(made.connection)  # its descriptors may be another's by now


def replace(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.replace(path)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"something else, longer than the header of a database" * 2)


def hand_over(number: int, path: Path) -> None:
    """Close a descriptor, and open another file under its number."""
    other = os.open(path.with_name("other"), os.O_CREAT | os.O_RDWR)
    os.write(other, b"x" * 100)
    os.dup2(other, number)
    os.close(other)


HAPPENS: dict[str, tuple[Callable[[Opened], object], str]] = {
    "the file is removed": (lambda it: it.path.unlink(), "removed"),
    "the file is moved": (lambda it: it.path.rename(it.path.with_name("moved")), "removed"),
    "the file is replaced": (lambda it: replace(it.path), "removed"),
    "the folder is moved": (lambda it: it.path.parent.rename(it.path.parent.with_name("moved")), "removed"),
    "the folder is removed": (lambda it: shutil.rmtree(it.path.parent), "removed"),
    "the file is overwritten": (lambda it: overwrite(it.path), "overwritten"),
    "the file is emptied": (lambda it: os.truncate(it.path, 0), ""),
    "the log is removed": (lambda it: it.log.unlink(), "log removed"),
    "the log is moved": (lambda it: it.log.rename(it.log.with_name("moved")), "log removed"),
    "the log is replaced": (lambda it: replace(it.log), "log replaced"),
    "the descriptors are closed": (lambda it: [os.close(number) for number in it.numbers], "closed"),
    **{
        f"descriptor {at} is closed": (lambda it, at=at: os.close(it.numbers[at]), "closed")  # type: ignore[misc]
        for at in range(3)
    },
    **{
        f"descriptor {at} is another file's": (lambda it, at=at: hand_over(it.numbers[at], it.path), "closed")  # type: ignore[misc]
        for at in range(3)
    },
}


@pytest.mark.parametrize("happens", HAPPENS)
def test_what_happens_to_the_files_is_told_at_once_and_again(opened, happens):
    deed, expected = HAPPENS[happens]
    deed(opened)
    assert (opened.place.trouble() or "") == expected
    assert (opened.place.trouble() or "") == expected


def test_other_files_may_come_and_go(opened):
    other = opened.path.with_name("other")
    for _ in range(3):
        other.write_text("x")
        assert opened.place.trouble() is None
        other.unlink()
        assert opened.place.trouble() is None
        opened.connection.execute("INSERT INTO t VALUES(2)")
        opened.settle()
        opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert opened.place.trouble() is None


def test_a_folder_changed_just_now_is_looked_at_in_full(opened):
    """Its times may be as coarse as a tick: a second change within it reads as the first."""
    opened.path.with_name("other").write_text("x")
    assert opened.place.trouble() is None
    changed = opened.path.parent.stat().st_mtime_ns
    opened.log.unlink()
    os.utime(opened.path.parent, ns=(changed, changed))
    assert opened.place.trouble() == "log removed"


def test_a_store_that_nobody_touches_is_asked_with_few_questions(tmp_path, monkeypatch):
    store = new_store(tmp_path / "folder")
    writer = begin(store, {})
    step(writer, {"n": 1})
    os.utime(tmp_path / "folder", ns=(0, 10**18))
    step(writer, {"n": 2})
    asked: list[object] = []
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **how: (asked.append(path), real(path, **how))[1])
    step(writer, {"n": 3})
    assert asked == [str(tmp_path / "folder")] * 2
    store.close()


def test_a_folder_whose_times_are_whole_seconds_settles_later(opened, monkeypatch):
    now = 2 * 10**18
    monkeypatch.setattr(time, "time_ns", lambda: now)
    for ago, is_settled in ((10**9 + 1, True), (10**9, False), (3 * 10**9, True), (10**6, False)):
        os.utime(opened.path.parent, ns=(0, now - ago))
        assert opened.place.trouble() is None
        opened.log.rename(opened.log.with_name("moved"))
        os.utime(opened.path.parent, ns=(0, now - ago))
        assert opened.place.trouble() == (None if is_settled else "log removed")
        opened.log.with_name("moved").rename(opened.log)


def test_descriptors_that_another_thread_opened_meanwhile_are_not_taken_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite gives it one that another connection has left; the other thread closes its own afterwards."""
    kept, meanwhile = new_store(tmp_path), []
    path, inner = kept.path, connection.connect

    def another_opens(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(connection, "connect", inner)
        made = inner(*arguments, **options)  # type: ignore[arg-type]
        meanwhile.append(connection.Database(path))
        return made

    with kept.database.transaction():  # while locks are held, descriptors that are closed are only set aside
        with closing(sqlite3.connect(path)) as left:
            left.execute("SELECT count(*) FROM runs").fetchone()
        monkeypatch.setattr(connection, "connect", another_opens)
        ours = connection.Database(path)
    for other in meanwhile:
        other.close()
    with ours.transaction() as tx:
        assert tx.query("SELECT count(*) FROM runs") == [(0,)]
    ours.close()
    kept.close()


def test_only_an_opening_during_which_no_other_one_was_under_way_is_alone() -> None:
    openings = Openings()
    begun = openings.before()
    with openings.one():
        assert openings.before() is None
    assert openings.was_alone(begun)
    with openings.one():
        pass
    assert not openings.was_alone(begun)
    assert not openings.was_alone(None)
