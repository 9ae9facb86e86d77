"""What is asked for at the same time is one transaction, and what fails takes nothing else with it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from agent_tt.interop.threads.entries import Saved
from agent_tt.interop.threads.writes import Write
from agent_tt.langgraph import threads as module
from agent_tt.langgraph.threads import Threads
from agent_tt.store.threads import open_threads

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.langgraph.thread import Thread


def checkpoint(name: str, parent: str | None = None) -> Callable[[Thread], None]:
    saved = Saved("", name, parent, {"items": [name]}, {"checkpoint_id": name, "source": "loop"})
    return lambda thread: thread.put(saved)


def written(name: str, value: str | int, task: str = "task", number: int = 0) -> Callable[[Thread], None]:
    writes = [Write(task, "", number, "items", value)]
    return lambda thread: thread.put_writes("", name, writes)


def failing(_thread: Thread) -> None:
    raise ValueError("this one")


def all_at_once(
    threads: Threads, asked: list[Callable[[Thread], None]], checkpoints: str = "1111"
) -> list[BaseException | None]:
    """Ask for all of this while the first of it is being written; give what each raised."""

    def first(thread: Thread) -> None:
        if len(others) < len(asked) - 1:  # not again, where it is tried again
            for number, (write, at) in enumerate(zip(asked[1:], checkpoints[1:], strict=False)):
                others.append(pool.submit(threads.write, "t", write, checkpoint=at))
                while len(threads._asked.get("t", ())) <= number:
                    time.sleep(0)
        asked[0](thread)

    others: list[Any] = []
    with ThreadPoolExecutor(len(asked)) as pool:
        results = [pool.submit(threads.write, "t", first, checkpoint=checkpoints[0]), *others]
        results[0].exception()
        return [result.exception() for result in (results[0], *others)]


def kept(threads: Threads) -> dict[str, list[Any]]:
    """The values written on top of each checkpoint of the thread."""
    with threads.use("t") as thread:
        return {entry.id: [write.value for write in saved.writes] for entry, saved in thread.everything()}


def test_what_is_asked_for_at_once_is_one_commit(tmp_path: Path):
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads:
        threads.write("t", checkpoint("1"), checkpoint="1")
        before = threads.store.version()
        asked = [written("1", "one"), checkpoint("2", "1"), written("2", "two")]
        assert all_at_once(threads, asked) == [None, None, None]
        assert threads.store.version() == before + 1
        assert kept(threads) == {"1": ["one"], "2": ["two"]}
        assert threads.store.verify() == []


def test_what_is_asked_for_at_once_is_written_in_the_order_of_checkpoints(tmp_path: Path):
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads:
        threads.write("t", checkpoint("1"), checkpoint="1")
        asked = [written("1", "one"), checkpoint("3", "2"), checkpoint("2", "1")]
        assert all_at_once(threads, asked, "132") == [None, None, None]
        (run,) = threads.store.runs()
        assert [step.facts.checkpoint_id for step in threads.store.steps(run.id)] == ["1", "2", "3"]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_fails_takes_nothing_else_with_it(at: int, tmp_path: Path):
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads:
        threads.write("t", checkpoint("1"), checkpoint="1")
        asked = [written("1", "one"), checkpoint("2", "1"), written("2", "two")]
        raised = all_at_once(threads, [*asked[:at], failing, *asked[at:]])
        assert [str(error) for error in raised if error is not None] == ["this one"]
        assert isinstance(raised[at], ValueError)
        assert kept(threads) == {"1": ["one"], "2": ["two"]}
        assert threads.store.verify() == []


def test_what_could_not_begin_is_not_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads:
        threads.write("t", checkpoint("1"), checkpoint="1")

        def no_room(*_: object, **__: object) -> None:
            raise OSError("no room")

        with monkeypatch.context() as patched:
            patched.setattr(type(threads.store.database), "as_one", no_room)
            with pytest.raises(OSError, match="no room"):
                threads.write("t", written("1", "one"), checkpoint="1")
        threads.write("t", written("1", "two"), checkpoint="1")
        assert kept(threads) == {"1": ["two"]}


def test_threads_of_a_program_write_one_thread_at_once(tmp_path: Path):
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads:
        threads.write("t", checkpoint("1"), checkpoint="1")
        begun = threading.Barrier(8)

        def write(number: int) -> None:
            begun.wait()
            for at in range(8):
                threads.write("t", written("1", at, f"task {number}", at), checkpoint="1", gather=True)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        assert kept(threads) == {"1": [*range(8)] * 8}
        assert threads.store.verify() == []


def test_what_a_task_wrote_waits_for_the_checkpoint_and_is_one_commit_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_MOMENT_S", 600)
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads, ThreadPoolExecutor(1) as pool:
        threads.write("t", checkpoint("1"), checkpoint="1")
        before = threads.store.version()
        for name, after in (("1", "2"), ("2", "3")):
            waiting = pool.submit(threads.write, "t", written(name, "what it wrote"), checkpoint=name, gather=True)
            while not threads._asked.get("t"):
                time.sleep(0)
            threads.write("t", checkpoint(after, name), checkpoint=after)
            assert waiting.result() is None
        assert threads.store.version() == before + 2
        assert kept(threads) == {"1": ["what it wrote"], "2": ["what it wrote"], "3": []}


def test_where_nobody_came_the_next_one_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads:
        threads.write("t", checkpoint("1"), checkpoint="1")
        for at, skipped in enumerate((1, 3, 7)):
            monkeypatch.setattr(module, "_MOMENT_S", 1e-3)
            threads.write("t", written("1", at, f"a {at}"), checkpoint="1", gather=True)
            monkeypatch.setattr(module, "_MOMENT_S", 600)
            for number in range(skipped):
                threads.write("t", written("1", at, f"b {at}", number), checkpoint="1", gather=True)
        assert sorted(kept(threads)["1"]) == [0] * 2 + [1] * 4 + [2] * 8


def test_what_waits_for_one_that_fails_is_written_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MOMENT_S", 600)
    with closing(Threads(open_threads(tmp_path / "runs.db"))) as threads, ThreadPoolExecutor(1) as pool:
        threads.write("t", checkpoint("1"), checkpoint="1")
        waiting = pool.submit(threads.write, "t", written("1", "it"), checkpoint="1", gather=True)
        while not threads._asked.get("t"):
            time.sleep(0)
        with pytest.raises(ValueError, match="this one"):
            threads.write("t", failing, checkpoint="2")
        assert waiting.result() is None
        assert kept(threads) == {"1": ["it"]}
