"""Driving a sweep: runs are begun, so many at a time, until each sample has come to an outcome.

The driver is a thread, so that Ctrl-C, which Python raises in the main thread, meets no fork that is half begun. What
is to be done is read off the store at the beginning, which makes a resumed sweep the same as a new one.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, Literal, Protocol

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.warm.pool import WarmAgents
from agent_tt.store import open_store
from agent_tt.store.liveness import BEAT_S
from agent_tt.supervising.keeper import TerminalLost
from agent_tt.supervising.stopping import RunElsewhere
from agent_tt.sweeping.matrix import MatrixReader, place_of
from agent_tt.sweeping.plan import plan_cell, sample_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.protocols import Store
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.sweeping.definition import Definition
    from agent_tt.sweeping.matrix import Matrix, MatrixCell, Sample

__all__ = ["Ending", "SweepDriver"]

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.01
_ATTEMPTS: Final = 3
"""So often a sample is begun before it is left for the next time that the sweep is resumed."""

_GRACE_SECONDS: Final = 5.0

Ending = Literal["complete", "stopped", "too dear", "given up"]
"""Why the driver ended: each sample has an outcome; it was stopped; the budget is spent; some samples broke."""


def _refused(question: CallQuestion) -> Decision:
    return question.refuse("nobody is there to answer in a sweep")


class _Running(Protocol):
    @property
    def run_id(self) -> str: ...

    def poll(self) -> int | None: ...

    def stop(self, grace: float = ...) -> None: ...


@dataclass(frozen=True, slots=True)
class _Task:
    cell: MatrixCell
    sample: Sample

    @property
    def place(self) -> tuple[int, int]:
        return self.cell.cell.number, self.sample.number


class SweepDriver:
    """Drives a sweep that this process has claimed; when it has ended, the sweep is nobody's again.

    Args:
        path: the store.
        sweep_id: the sweep.
        definition: what it is.
    """

    def __init__(self, path: Path, sweep_id: str, definition: Definition) -> None:
        self._path, self._id, self._definition = path, sweep_id, definition
        self._stopping = threading.Event()
        self._killing = threading.Event()
        self._news: queue.SimpleQueue[Matrix | None] = queue.SimpleQueue()
        self._ending: Ending = "stopped"
        self._error: BaseException | None = None
        self._begun: Counter[tuple[int, int]] = Counter()
        self._active: dict[tuple[int, int], _Running] = {}
        self._planned: tuple[int, ForkPlan] | None = None
        self._warm = WarmAgents(expected=definition.run_count)
        self._is_followed = False
        self._thread = threading.Thread(target=self._drive, name=f"agent-tt sweep {sweep_id}", daemon=True)

    def run(self, report: Callable[[Matrix], None] | None = None, stopping: Callable[[], None] | None = None) -> Ending:
        """Drive it to its end, in this thread's time.

        Args:
            report: is told how far it is, at the beginning and whenever a run has begun or ended.
            stopping: is told that Ctrl-C was heard: it may take a few seconds until what is under way has ended.

        Returns:
            Why it ended. Ctrl-C stops what is under way; the second one kills it.

        Raises:
            AgentTTError: no run can be begun any more, or the store cannot be written.
        """
        self._is_followed = report is not None
        self._thread.start()
        while True:
            try:
                news = self._news.get()
                if news is None:
                    break
                if report is not None:
                    report(news)
            except KeyboardInterrupt as error:
                if self._stopping.is_set() or isinstance(error, TerminalLost):
                    self._killing.set()
                self._stopping.set()
                if stopping is not None:
                    stopping()
            except BaseException:  # whoever was told has failed: nothing is to be left running
                self._stopping.set()
                self._thread.join()
                raise
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._ending

    def stop(self) -> None:
        """Let it end soon: what is under way is interrupted."""
        self._stopping.set()

    # ---------------------------------------------------------------- the driver's thread

    def _drive(self) -> None:
        try:
            store = open_store(self._path)
            try:
                self._to_the_end(store)
            finally:
                try:
                    self._stop_all()
                finally:
                    self._warm.close()
                    store.release_sweep(self._id)
                    store.close()
        except BaseException as error:  # noqa: BLE001  raised again where somebody waits for it
            self._error = error
        finally:
            self._news.put(None)

    def _to_the_end(self, store: Store) -> None:
        reader = MatrixReader(store, self._id, self._definition)
        self._adopt(store)
        matrix = reader.read()
        todo = deque(
            _Task(cell, sample)
            for cell in matrix.cells
            for sample in cell.samples
            if not sample.is_done and (cell.cell.number, sample.number) not in self._active
        )
        self._news.put(matrix)
        beaten = time.monotonic()
        while (todo or self._active) and not self._stopping.is_set():
            if self._is_too_dear(matrix):
                todo.clear()
                self._ending = "too dear"
                if not self._active:
                    break
            begun = self._fill(store, matrix, todo)
            changed = self._reap() or (begun and self._is_followed)  # how far it is takes as long as there are runs
            if time.monotonic() - beaten > BEAT_S:
                beaten = time.monotonic()
                store.beat_sweep(self._id)
            if not changed:
                self._stopping.wait(_POLL_SECONDS)
                continue
            matrix = reader.read()
            todo.extend(self._again(matrix, todo))
            self._news.put(matrix)
        self._stop_all()
        matrix = reader.read()
        self._news.put(matrix)
        if matrix.total.done == matrix.total.samples:
            self._ending = "complete"
        elif self._ending != "too dear":
            self._ending = "stopped" if self._stopping.is_set() else "given up"

    def _adopt(self, store: Store) -> None:
        """Settle what was under way when the sweep was last driven: it goes on, or is over for good."""
        for fork in store.forks(store.sweep(self._id).run):
            place = place_of(fork, self._id)
            if place is not None and fork.ended_us is None:
                is_running = store.settle_run(fork.id) is not None
                if is_running and place not in self._active:
                    self._active[place] = RunElsewhere(self._path, fork.id)

    def _fill(self, store: Store, matrix: Matrix, todo: deque[_Task]) -> bool:
        """Begin runs while there is room."""
        changed = False
        while todo and len(self._active) < self._definition.jobs and not self._stopping.is_set():
            task = todo.popleft()
            if task.place in self._active:
                continue
            self._begun[task.place] += 1
            attempt = task.sample.begun + 1
            plan = sample_of(self._plan(store, matrix, task), matrix.sweep, task.cell.cell, task.sample.number, attempt)
            self._active[task.place] = start_fork(plan, asked=_refused, warm=self._warm)
            changed = True
        return changed

    def _plan(self, store: Store, matrix: Matrix, task: _Task) -> ForkPlan:
        """The fork of a cell, planned once for all samples that are begun one after the other."""
        number = task.cell.cell.number
        if self._planned is None or self._planned[0] != number:
            self._planned = number, plan_cell(store, matrix.sweep.run, self._definition, task.cell.cell)
        return self._planned[1]

    def _reap(self) -> bool:
        ended = [place for place, running in self._active.items() if running.poll() is not None]
        for place in ended:
            del self._active[place]
        return bool(ended)

    def _again(self, matrix: Matrix, todo: deque[_Task]) -> list[_Task]:
        """What broke off, and is begun once more; not for ever."""
        waiting = {task.place for task in todo}
        return [
            task
            for cell in matrix.cells
            for sample in cell.samples
            if sample.status == "broken"
            and (task := _Task(cell, sample)).place not in waiting
            and task.place not in self._active
            and self._begun[task.place] < _ATTEMPTS
            and self._ending != "too dear"
        ]

    def _is_too_dear(self, matrix: Matrix) -> bool:
        limit = self._definition.max_cost
        return limit is not None and matrix.spent_usd is not None and matrix.spent_usd >= limit

    def _stop_all(self) -> None:
        """Interrupt everything that is under way, all at once, and wait until it is over."""
        if not self._active:
            return
        running, self._active = list(self._active.values()), {}
        threads = [threading.Thread(target=self._stop_one, args=(each,), daemon=True) for each in running]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL_SECONDS)
                if self._killing.is_set():
                    self._killing.clear()
                    for each in running:
                        threading.Thread(target=self._stop_one, args=(each, 0.0), daemon=True).start()

    @staticmethod
    def _stop_one(running: _Running, grace: float = _GRACE_SECONDS) -> None:
        try:
            running.stop(grace)
        except AgentTTError as error:  # the store is gone: the process was ended all the same
            _LOG.warning("%s could not be stopped: %s", running.run_id, error)
