"""The threads of a store: one at a time, with what others have written, and their checkpoints in order of ids."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.langgraph.thread import Thread
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.interop.threads.entries import Entry
    from agent_tt.store.threads import ThreadStore

__all__ = ["KEPT", "Threads"]

KEPT: Final = 64
"""Threads of which this process remembers where their checkpoints lie."""
_MOMENT_S: Final = 2e-3
"""As long as LangGraph takes to put a checkpoint after the last task, and about as long as a commit."""
_SELDOM: Final = 31
"""How often, at most, nobody is waited for after nobody came: once, then three times, seven, fifteen."""
_MOST_ALONE: Final = 4096
"""Threads of which that is remembered."""


@dataclass(slots=True, eq=False)
class _Asked:
    """Something to write to a thread, and what has become of it.

    Attributes:
        write: writes it.
        checkpoint: the checkpoint that it is, or that it is on top of; ids grow with time.
        is_done: whether it is in the file.
        is_alone: whether a transaction failed that it was a part of.
        is_open: held until one of these is so.
    """

    write: Callable[[Thread], None]
    checkpoint: str
    is_done: bool = False
    is_alone: bool = False
    is_open: threading.Lock = field(default_factory=threading.Lock)


class Threads:
    """The threads of a store, as this process knows them. Safe to use from several threads of it.

    Attributes:
        store: the store.
        lock: held while one of them is used.
    """

    def __init__(self, store: ThreadStore) -> None:
        self.store = store
        self.lock = threading.RLock()
        self._known: OrderedDict[str, Thread] = OrderedDict()
        self._gate = threading.Lock()
        self._asked: dict[str, list[_Asked]] = {}
        self._alone: dict[str, tuple[int, int]] = {}

    @contextmanager
    def use(self, thread_id: str, *, to_write: bool = False) -> Iterator[Thread]:
        """A thread, with what others have written; one that is used to write alone learns that in its transaction."""
        with self.lock, self.store.database.lock:
            thread = self._known.get(thread_id)
            if thread is None:
                thread = self._known[thread_id] = Thread(self.store, thread_id)
                if len(self._known) > KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(thread_id)
            if not to_write:
                thread.refresh()
            yield thread

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is written to threads while the block lasts is one transaction: all of it, or nothing."""
        with self.lock:
            try:
                with self.store.database.as_one():
                    yield
            except BaseException:
                self._known.clear()  # they may be ahead of the file
                raise
            self.store.database.checkpoint("FULL")  # it is due after so many commits, each of which was small

    def write(self, thread_id: str, write: Callable[[Thread], None], *, checkpoint: str, gather: bool = False) -> None:
        """Write to a thread, durably; all that is asked for at the same time is one transaction.

        What the tasks of a superstep wrote and the checkpoint that came of it are, as a rule, for LangGraph saves both
        in threads of their own.

        Args:
            thread_id: the thread.
            write: writes to it, each time as if for the first time: where one fails, each is done by itself.
            checkpoint: the checkpoint that it is, or that it is on top of. What is written together is written in the
                order of these, whichever of LangGraph's threads was first.
            gather: whether to wait a moment for somebody who writes more, and this with it; not where nobody came the
                last time, as when LangGraph itself waits for what tasks wrote before it puts a checkpoint.
        """
        asked = _Asked(write, checkpoint)
        asked.is_open.acquire()
        with self._gate:
            self._asked.setdefault(thread_id, []).append(asked)
        if gather and self._is_written_by_another(thread_id, asked):
            return
        with self.use(thread_id, to_write=True) as thread:
            if not (asked.is_done or asked.is_alone):
                self._write_together(thread, asked)
            if not asked.is_done:
                with thread.whole():
                    write(thread)

    def _is_written_by_another(self, thread_id: str, asked: _Asked) -> bool:
        """Wait a moment for somebody who writes it, where that happens in the thread, and until it is in the file."""
        left, times = self._alone.pop(thread_id, (0, 0))
        if left:
            self._alone[thread_id] = left - 1, times
            return False
        is_over = asked.is_open.acquire(timeout=_MOMENT_S)
        if not is_over:
            with self._gate:
                is_taken = asked not in self._asked.get(thread_id, ())
            is_over = is_taken and asked.is_open.acquire()
        if not is_over:
            if len(self._alone) > _MOST_ALONE:
                self._alone.clear()
            times = min(2 * times + 1, _SELDOM)
            self._alone[thread_id] = times, times
        return asked.is_done

    def _write_together(self, thread: Thread, own: _Asked) -> None:
        """Write what is asked for until nothing more is; where one of several fails, nothing is written."""
        taken: list[_Asked] = []
        try:
            with thread.whole():
                while more := self._take(thread.id):
                    taken += more
                    for asked in more:
                        asked.write(thread)
        except BaseException as error:
            taken = taken or self._take(thread.id)
            for asked in taken:
                asked.is_alone = True
            if taken == [own] or not isinstance(error, Exception):
                raise
        else:
            for asked in taken:
                asked.is_done = True
        finally:
            for asked in taken:
                asked.is_open.release()

    def _take(self, thread_id: str) -> list[_Asked]:
        with self._gate:
            return sorted(self._asked.pop(thread_id, []), key=lambda asked: asked.checkpoint)

    def ids(self) -> list[str]:
        """List the ids of all threads, the oldest thread first."""
        found = (RunFacts(facts).langgraph_thread for facts in self.store.all_run_facts())
        return [thread_id for thread_id in found if thread_id is not None]

    def newest_first(self, thread_id: str | None, before: str | None) -> Iterator[tuple[str, Entry]]:
        """Give checkpoints with the ids of their threads, those with the greatest ids first.

        Args:
            thread_id: of which thread; None for all.
            before: only those whose ids are smaller.
        """
        if thread_id is None:
            for checkpoint_id, run, step, name in self.store.checkpoints(before):
                with self.use(name) as thread:
                    entry = thread.at(checkpoint_id, run, step)
                if entry is not None:
                    yield name, entry
            return
        with self.use(thread_id) as thread:
            entries = [entry for of_namespace in thread.entries.values() for entry in of_namespace.values()]
        for entry in sorted(entries, key=lambda entry: entry.id, reverse=True):
            if before is None or entry.id < before:
                yield thread_id, entry

    def close(self) -> None:
        """Let go of the file."""
        with self.lock:
            for thread in self._known.values():
                thread.interrupt()
            self._known.clear()
            self.store.close()
