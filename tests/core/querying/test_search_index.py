"""The file that an index lies in: private, thrown away when it is of no use, safe to be killed in."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.cache_files import cache_path
from agent_tt.model import CallEnd, NewCall, NewRun, NewStep, StepEnd
from agent_tt.querying.search import build, cache, lookup, write
from agent_tt.querying.search import finder as finder_module
from agent_tt.querying.search import hits as hits_module
from agent_tt.querying.search.cache import Cache
from agent_tt.querying.search.finder import Finder, forget_runs
from agent_tt.querying.search.query import parse
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.store import SqliteStore
    from agent_tt.store.writer import SqliteRunWriter

SECRET = "sk-proj-" + "A1b2C3d4E5f6G7h8" * 3


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = open_store(tmp_path / "runs.db", create=True, durability="normal")
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def begin(store: SqliteStore, name: str, steps: int, word: str) -> SqliteRunWriter:
    writer = store.begin_run(NewRun(name), {"count": 0})
    for number in range(steps):
        writer.open_step(NewStep(f"{word} {number}"))
        writer.close_step(number + 1, StepEnd("ok"), {"count": number})
    return writer


def steps_with(finder: Finder, text: str, run: str | None = None) -> list[int]:
    return [hit.step for hit in finder.found(parse(text), None if run is None else [run], by="step", limit=1_000).hits]


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_folder_and_file_are_the_users_alone_and_lie_beside_no_store(store: SqliteStore, folder: Path) -> None:
    begin(store, "run", 2, "work").finish("succeeded")
    before = set(store.path.parent.iterdir())
    finder = Finder(store, use_index=True, folder=folder)
    assert steps_with(finder, "work") == [1, 2]
    assert set(store.path.parent.iterdir()) - before == {folder}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    finder.close()


def test_an_index_follows_a_run_that_grows_and_reads_what_is_not_over(store: SqliteStore, folder: Path) -> None:
    writer = begin(store, "run", 2, "work")
    finder = Finder(store, use_index=True, folder=folder)
    assert steps_with(finder, "work") == [1, 2]
    step = writer.open_step(NewStep("more work"))
    call = writer.begin_call(step, NewCall("tool", "search", {"q": "work hours"}, "0" * 32, effect="read"))
    assert steps_with(finder, "work") == [1, 2, 3, 3]
    later = writer.open_step(NewStep("later work", lane="other"))
    writer.close_step(later, StepEnd("ok"), {"count": 9})
    writer.end_call(step, call, CallEnd("ok", "hard work"))
    assert steps_with(finder, "work") == [1, 2, 3, 3, 3, 4]
    writer.close_step(step, StepEnd("ok", decision="work on"), {"count": 10})
    writer.finish("succeeded")
    assert steps_with(finder, "work") == [1, 2, 3, 3, 3, 3, 4]
    assert steps_with(finder, "work") == steps_with(Finder(store, use_index=False), "work")
    with Cache(store.path, folder).using() as connection:
        assert connection.execute("SELECT upto, open FROM runs").fetchall() == [(4, "[]")]
    finder.close()


def test_a_text_of_a_step_that_was_over_late_is_shown_where_it_first_stands(store: SqliteStore, folder: Path) -> None:
    writer = store.begin_run(NewRun("run"), {"count": 0})
    late = writer.open_step(NewStep("the same work", lane="one"))
    writer.close_step(writer.open_step(NewStep("the same work", lane="two")), StepEnd("ok"), {"count": 1})
    finder = Finder(store, use_index=True, folder=folder)
    assert steps_with(finder, "same") == [1, 2]
    writer.close_step(late, StepEnd("ok"), {"count": 2})
    writer.finish("succeeded")
    found = finder.found(parse("same"))
    assert [(hit.step, hit.times, hit.last) for hit in found.hits] == [(1, 2, 2)]
    assert found == Finder(store, use_index=False).found(parse("same"))
    finder.close()


def test_the_chosen_runs_alone_are_searched_also_where_they_are_many(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [begin(store, name, 2, f"work {name}") for name in ("a", "b", "c", "d", "e")]
    for writer in runs:
        writer.finish("succeeded")
    chosen = [writer.run_id for writer in runs[::2]]
    finder = Finder(store, use_index=True, folder=folder)
    assert len(finder.found(parse("work"), None, by="step").hits) == 10
    for most in (32, 2, 1):
        monkeypatch.setattr(lookup, "_MOST_RANGES", most)
        found = finder.found(parse("work"), chosen, by="step").hits
        assert sorted((hit.run, hit.step) for hit in found) == sorted((run, step) for run in chosen for step in (1, 2))
    finder.close()


def test_texts_that_repeat_are_kept_once(store: SqliteStore, folder: Path) -> None:
    writer = store.begin_run(NewRun("run"), {"count": 0})
    for number in range(1, 50):
        writer.open_step(NewStep("the same long name every time"))
        writer.close_step(number, StepEnd("ok"), {"count": number})
    writer.finish("succeeded")
    finder = Finder(store, use_index=True, folder=folder)
    assert len(steps_with(finder, "every time")) == 49
    with Cache(store.path, folder).using() as connection:
        kept = connection.execute("SELECT uses, first, last FROM texts WHERE text LIKE '%every time'").fetchall()
    assert kept == [(49, 1, 49)]
    finder.close()


@pytest.mark.parametrize("kept_to", ["step:7-30", "step:8", "step:-23", "step:45-", "step:99-", "step:3-5"])
def test_steps_of_a_text_that_is_everywhere_are_counted_without_reading_all(
    kept_to: str, store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "_MOST_PLACES", 5)
    monkeypatch.setattr(lookup, "_MOST_NEAR", 0)
    writer = store.begin_run(NewRun("run"), {})
    for number in range(1, 50):
        writer.open_step(NewStep("the same name"))
        writer.close_step(number, StepEnd("ok"), {})
    writer.finish("succeeded")
    indexed, reading = Finder(store, use_index=True, folder=folder), Finder(store, use_index=False)
    for by in ("rank", "step"):
        query = parse(f"{kept_to} same")
        assert indexed.found(query, by=by) == reading.found(query, by=by)
    indexed.close()


@pytest.mark.parametrize("mask", [0o000, 0o777])
def test_no_umask_opens_the_file_to_others(mask: int, store: SqliteStore, folder: Path) -> None:
    begin(store, "run", 2, "work").finish("succeeded")
    folder.mkdir()
    folder.chmod(0o777)
    before = os.umask(mask)
    try:
        finder = Finder(store, use_index=True, folder=folder)
        assert steps_with(finder, "work") == [1, 2]
        assert finder.uses_index
        with Cache(store.path, folder).writing():
            assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        finder.close()
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "what", ["folder leads elsewhere", "folder of another", "file leads elsewhere", "pipe", "link"]
)
def test_nothing_is_written_to_what_is_not_the_users_own(
    what: str, store: SqliteStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store, "run", 2, "work").finish("succeeded")
    elsewhere, path = tmp_path / "elsewhere", cache_path(store.path, folder)
    if what == "folder leads elsewhere":
        elsewhere.mkdir(mode=0o755)
        folder.symlink_to(elsewhere)
    elif what == "folder of another":
        folder.mkdir(mode=0o755)
        monkeypatch.setattr(os, "getuid", lambda: 1 + folder.stat().st_uid)
    else:
        folder.mkdir()
        elsewhere.write_bytes(b"mine")
        if what == "pipe":
            os.mkfifo(path)
        elif what == "link":
            path.hardlink_to(elsewhere)
        else:
            path.symlink_to(elsewhere)
    finder = Finder(store, use_index=True, folder=folder)
    assert steps_with(finder, "work") == [1, 2]
    if "folder" in what:
        assert not finder.uses_index
        assert list(folder.iterdir()) == []
        assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    else:
        assert finder.uses_index
        assert elsewhere.read_bytes() == b"mine"
        assert stat.S_ISREG(path.lstat().st_mode)
    finder.close()


def test_what_somebody_else_made_anew_is_not_thrown_away(store: SqliteStore, folder: Path) -> None:
    old, other = Cache(store.path, folder), Cache(store.path, folder)
    other.start_over()
    made = other.path.stat().st_ino
    old.throw_away()
    assert other.path.stat().st_ino == made
    with other.using() as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)
    other.close()


def test_a_pattern_that_is_read_through_gives_what_it_found_so_far(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store, "run", 300, "work").finish("succeeded")
    monkeypatch.setattr(finder_module, "FIRST_SNAPSHOT_S", 0.0)
    monkeypatch.setattr(finder_module, "SNAPSHOT_S", 0.0)
    finder = Finder(store, use_index=True, folder=folder)
    for _ in finder.update():
        pass
    whole = Finder(store, use_index=False).search(parse(r"[12]\d[34]", regex=True))
    given = list(finder.searching(parse(r"[12]\d[34]", regex=True), limit=500))
    assert len(given) > 3
    assert given[0].searched < given[-2].searched < 1 == given[-1].searched
    assert 0 < given[1].total < given[-1].total == whole.total
    assert [hits.total for hits in given] == sorted(hits.total for hits in given)
    cut_short = finder.searching(parse(r"[12]\d[34]", regex=True))
    next(cut_short)
    cut_short.close()
    assert finder.search(parse("work")).total == 300
    finder.close()


def test_a_search_by_reading_keeps_no_more_than_may_be_in_memory(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store, "run", 300, "work").finish("succeeded")
    monkeypatch.setattr(hits_module, "_MOST_MATCHED", 50)
    found = Finder(store, use_index=False).search(parse("work"), by="step", limit=500)
    assert [hit.step for hit in found.hits] == list(range(1, 51))
    assert not found.is_complete


def test_what_is_deleted_leaves_the_file(store: SqliteStore, folder: Path) -> None:
    gone = begin(store, "gone", 3, "vanishingword")
    gone.finish("succeeded")
    begin(store, "kept", 40, "stayingword").finish("succeeded")
    finder = Finder(store, use_index=True, folder=folder)
    assert steps_with(finder, "vanishingword") == [1, 2, 3]
    finder.close()
    assert b"vanishingword" in bytes_of(folder)
    store.delete_runs([gone.run_id])
    forget_runs(store.path, [gone.run_id], folder=folder)
    left = bytes_of(folder)
    assert b"vanishingword" not in left
    assert b"ishi" not in left  # a piece of the tree of grams: what comes after the shared beginning of its neighbour
    with Cache(store.path, folder).using() as connection:
        assert connection.execute("SELECT count(*) FROM gram_rows WHERE term = 'van'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM gram_rows WHERE term = 'sta'").fetchone() == (40,)
    finder = Finder(store, use_index=True, folder=folder)
    assert len(steps_with(finder, "stayingword")) == 40
    finder.close()


def test_a_run_that_somebody_else_deleted_is_forgotten_with_the_next_search(store: SqliteStore, folder: Path) -> None:
    gone = begin(store, "gone", 3, "vanishingword")
    gone.finish("succeeded")
    begin(store, "kept", 1, "stayingword").finish("succeeded")
    finder = Finder(store, use_index=True, folder=folder)
    assert steps_with(finder, "vanishingword")
    store.delete_runs([gone.run_id])
    assert steps_with(finder, "vanishingword") == []
    finder.close()
    assert b"vanishingword" not in bytes_of(folder)


@pytest.mark.parametrize("what", ["cut", "garbled", "no database", "version", "another store"])
def test_a_file_that_is_of_no_use_is_made_anew(what: str, store: SqliteStore, folder: Path) -> None:
    begin(store, "run", 200, "work").finish("succeeded")
    finder = Finder(store, use_index=True, folder=folder)
    assert len(steps_with(finder, "work")) == 200
    finder.close()
    path = cache_path(store.path, folder)
    data = bytearray(path.read_bytes())
    if what == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif what == "garbled":
        data[4096 : len(data) - 100] = os.urandom(len(data) - 4196)
        path.write_bytes(data)
    elif what == "no database":
        path.write_bytes(b"words" * 1000)
    else:
        with sqlite3.connect(path) as connection:
            key, value = ("version", "0") if what == "version" else ("file", "1:1")
            connection.execute("UPDATE about SET value = ? WHERE key = ?", (value, key))
            connection.execute("UPDATE texts SET text = 'wrong'")
        connection.close()
    again = Finder(store, use_index=True, folder=folder)
    assert len(steps_with(again, "work")) == 200
    assert len(steps_with(again, "work")) == 200
    assert again.uses_index
    again.close()


def test_a_folder_that_cannot_be_written_means_reading(store: SqliteStore, tmp_path: Path) -> None:
    begin(store, "run", 2, "work").finish("succeeded")
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    finder = Finder(store, use_index=True, folder=tmp_path / "file" / "cache")
    assert steps_with(finder, "work") == [1, 2]
    assert not finder.uses_index


def test_an_index_that_may_not_grow_means_reading(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store, "small", 5, "work").finish("succeeded")
    begin(store, "large", 300, "work").finish("succeeded")
    monkeypatch.setattr(build, "_FIRST_BATCH", 10)
    monkeypatch.setattr(build, "_BATCH", 10)
    monkeypatch.setattr(build, "_SETTLE_EVERY", 1)
    monkeypatch.setattr(build, "MOST_BYTES", 100_000)
    finder = Finder(store, use_index=True, folder=folder)
    assert len(steps_with(finder, "work")) == 305
    assert not finder.uses_index
    finder.close()
    assert cache_path(store.path, folder).stat().st_size < 200_000


def test_a_file_that_is_too_large_loses_the_runs_that_were_searched_longest_ago(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        begin(store, name, 150, f"work of {name}").finish("succeeded")
    monkeypatch.setattr(build, "_SETTLE_EVERY", 1)
    for name in ("one", "two", "three"):
        finder = Finder(store, use_index=True, folder=folder)
        assert len(steps_with(finder, "work", store.run(name).id)) == 150
        assert finder.uses_index
        finder.close()
        if name == "one":
            monkeypatch.setattr(build, "MOST_BYTES", Cache(store.path, folder).size() * 3 // 2)
    kept = Cache(store.path, folder)
    assert store.run("three").id in kept.runs()
    assert store.run("one").id not in kept.runs()
    kept.close()


def test_files_of_other_stores_go_when_nobody_used_them_for_long(store: SqliteStore, folder: Path) -> None:
    folder.mkdir()
    for name, used in (("old", 0), ("new", None)):
        path = folder / f"{name}.db"
        path.touch()
        if used is not None:
            os.utime(path, (used, used))
    Cache(store.path, folder).close()
    assert {path.name for path in folder.glob("*.db")} == {"new.db", cache_path(store.path, folder).name}


def test_no_secret_of_another_systems_database_reaches_the_file(folder: Path) -> None:
    source = MemorySource()
    asked = {"messages": [{"role": "user", "content": f"my key is {SECRET}"}], "api_key": "hunter2hunter2"}
    source.add(
        "run",
        [
            Did(
                name=f"use {SECRET}",
                tool="fetch",
                args={"headers": {"Authorization": f"Bearer {SECRET}"}},
                result={"set": {SECRET: "value of a key"}},
                asked=asked,
                answer=f"I use {SECRET}",
                decision=f"take {SECRET}",
                state={"token": "hunter2hunter2", "log": SECRET[:20]},
            ),
            Did(name="grow", state={"token": "hunter2hunter2more", "log": SECRET}),
        ],
        state={"password": "hunter2hunter2"},
    )
    finder = Finder(source, use_index=True, folder=folder)
    for text in ("key", "use", SECRET, "hunter2", SECRET[20:]):
        by_reading = Finder(source, use_index=False).found(parse(text), ["run"], by="step")
        assert finder.found(parse(text), ["run"], by="step") == by_reading
        assert (by_reading.total > 0) is (len(text) == 3)
    finder.close()
    kept = bytes_of(folder)
    for secret in (SECRET, SECRET[8:], "hunter2"):
        assert secret.encode() not in kept


def test_no_secret_of_an_object_that_many_states_hold_reaches_the_file(folder: Path) -> None:
    source = MemorySource()
    held = {"first": "hunter2hunter2", "said": f"word {SECRET}"}
    states = [{"log": [{"first": "plain"}]}, {"log": [held, held]}, {"password": held}, {"password": [held], "n": 1}]
    source.add("run", [Did(name="go on", asked=state, state=state) for state in states], state={"password": held})
    finder = Finder(source, use_index=True, folder=folder)
    assert {"word", "hunter2"} == {text for text in ("word", "hunter2", SECRET[:20]) if steps_with(finder, text)}
    assert {*steps_with(finder, "hunter2")} == {2}
    finder.close()
    assert SECRET[8:].encode() not in bytes_of(folder)


def test_two_builders_at_once_leave_each_text_once(store: SqliteStore, folder: Path) -> None:
    begin(store, "run", 400, "work").finish("succeeded")
    begin(store, "other", 100, "work").finish("succeeded")
    both = threading.Barrier(2)
    failed: list[BaseException] = []

    def build_it() -> None:
        own = open_store(store.path, read_only=True)
        finder = Finder(own, use_index=True, folder=folder)
        both.wait()
        try:
            assert len(steps_with(finder, "work")) == 500
            assert finder.uses_index
        except BaseException as error:
            failed.append(error)
        finally:
            finder.close()
            own.close()

    threads = [threading.Thread(target=build_it) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with Cache(store.path, folder).using() as connection:
        assert connection.execute("SELECT sum(uses) FROM texts WHERE text LIKE 'work%'").fetchone() == (500,)


KILLED = """
import os, signal, sys
from pathlib import Path
from agent_tt.querying.search import build
from agent_tt.querying.search.finder import Finder
from agent_tt.store import open_store
build._FIRST_BATCH = build._BATCH = 50
finder = Finder(open_store(Path(sys.argv[1]), read_only=True), use_index=True, folder=Path(sys.argv[2]))
for number, share in enumerate(finder.update()):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_builder_wrote_is_searched_and_gone_on_from(store: SqliteStore, folder: Path) -> None:
    begin(store, "run", 300, "work").finish("succeeded")
    done = subprocess.run([sys.executable, "-c", KILLED, str(store.path), str(folder)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    finder = Finder(store, use_index=True, folder=folder)
    found = finder.search(parse("work"), by="step", limit=1_000)
    assert 0 < found.searched < 1
    assert 0 < found.total < 300
    with Cache(store.path, folder).using() as connection:
        ((kept,),) = connection.execute("SELECT upto FROM runs")
    assert [hit.step for hit in found.hits] == list(range(1, kept + 1))
    assert steps_with(finder, "work") == list(range(1, 301))
    finder.close()


def test_a_run_that_is_another_one_now_is_indexed_anew(folder: Path) -> None:
    source = MemorySource()
    source.add("thread", [Did(name="first"), Did(name="second")], state={"note": "begun"})
    finder = Finder(source, use_index=True, folder=folder)
    assert steps_with(finder, "second") == [2]
    source.delete("thread")
    source.add("thread", [Did(name="first"), Did(name="other"), Did(name="second")], state={"note": "begun"})
    assert steps_with(finder, "second") == [3]
    finder.close()


def test_where_sqlite_lacks_what_it_takes_there_is_no_index(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_TABLES", ("CREATE VIRTUAL TABLE grams USING no_such_module(a)",))
    cache.can_index.cache_clear()
    try:
        finder = Finder(store, use_index=True, folder=folder)
        assert not finder.uses_index
        assert not folder.exists()
    finally:
        monkeypatch.undo()
        cache.can_index.cache_clear()


def test_the_settings_turn_the_index_off(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Finder(store).uses_index
    monkeypatch.setenv("AGENT_TT_SEARCH_INDEX", "off")
    assert not Finder(store).uses_index
