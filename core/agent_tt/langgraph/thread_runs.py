"""The runs of a thread: its first one, a branch for each way that parted from it, and what writes each."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, cast

from agent_tt._dataclass import dataclass
from agent_tt.interop.threads.entries import Chain
from agent_tt.model import NewRun
from agent_tt.model.facts import RunFacts
from agent_tt.protocols.references import id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.model import ErrorInfo, RunStatus
    from agent_tt.store.threads import ThreadStore, ThreadWriter

__all__ = ["KnownRun", "ThreadRuns"]


@dataclass(slots=True)
class KnownRun:
    """A run of a thread as this process knows it: its steps up to one, and its open end."""

    id: str
    seen: int
    chain: Chain = field(default_factory=Chain)
    writer: ThreadWriter | None = None
    status: RunStatus | None = None
    error: ErrorInfo | None = None


class ThreadRuns:
    """The runs of one thread by their row numbers.

    Attributes:
        first_id: the id of the first one, which may not be there yet.
        has_written: whether a step of them was written, or changed, in the transaction that goes on.
    """

    def __init__(self, store: ThreadStore, thread_id: str) -> None:
        self.first_id = id_of("langgraph thread", thread_id)
        self._store = store
        self._thread_id = thread_id
        self._known: dict[int, KnownRun] = {}
        self.has_written = False

    def __getitem__(self, number: int) -> KnownRun:
        """Give one that is known."""
        return self._known[number]

    def __iter__(self) -> Iterator[int]:
        """Give the row numbers of those that are known."""
        return iter(self._known)

    def values(self) -> Iterable[KnownRun]:
        """Give those that are known."""
        return self._known.values()

    def stored(self) -> list[int]:
        """Give the row numbers of those in the file."""
        return self._store.thread_runs(self.first_id, self._thread_id)

    def learn(self, numbers: Iterable[int]) -> None:
        """Know runs of the file, none of their steps yet."""
        for number, run_id in self._store.run_ids(number for number in numbers if number not in self._known).items():
            self._add(number, run_id)

    def ensure(self) -> int:
        """Give the first one, which is begun where it is missing."""
        if self._known:
            return min(self._known)
        writer = self._store.begin_run(self._new(), {}, run_id=self.first_id, beats=False)
        number = self._begun(self.first_id)
        self._known[number].writer = cast("ThreadWriter", writer)  # which knows its end: nothing has to be read again
        return number

    def latest(self) -> int:
        """Give the one that was begun last; the first is begun where there is none."""
        return max(self._known, default=None) or self.ensure()

    def branch(self, run: int, step: int) -> int:
        """Begin one that goes on from a step of another."""
        return self._begun(self._store.begin_branch(self._known[run].id, step, self._new()))

    def writer(self, run: int) -> ThreadWriter:
        """Give what writes to a run."""
        known = self._known[run]
        if known.writer is None:
            known.writer = self._store.write_run(known.id)
        return known.writer

    def ask_again(self) -> None:
        """Take nothing about the ends of the runs for granted: others may have written."""
        for run in self._known.values():
            if run.writer is not None:
                run.writer.ask_again()

    def _begun(self, run_id: str) -> int:
        number = self._store.lineage.number(run_id)
        self._add(number, run_id)
        return number

    def _add(self, number: int, run_id: str) -> None:
        _, fork_step = self._store.lineage.origin(number)
        self._known[number] = KnownRun(run_id, fork_step)

    def _new(self) -> NewRun:
        return NewRun(name=self._thread_id or "(no name)", metadata=RunFacts.langgraph_thread.entry(self._thread_id))
