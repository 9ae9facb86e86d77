"""A store that keeps its runs in memory: what a second backend takes, and the source of tests that need no file.

`MemoryStore` is the whole backend. `MemorySource` writes down runs as a test tells them, record by record.
"""

from __future__ import annotations

import itertools
import threading
from bisect import bisect_left, bisect_right, insort
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tt.errors import RunNotFound
from agent_tt.model import Call, Edit, ErrorInfo, Problem, Run, Step
from agent_tt.model.facts import StepFacts
from agent_tt.protocols import Capabilities
from agent_tt.store.liveness import current_owner
from agent_tt.store.records import Checkpoint, Recorder, RecordStore, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.store.records import Record

_LARGEST = 1 << 62


class _Table:
    """The records of one run and kind, in the order of their keys."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, ...], Any] = {}
        self._keys: list[tuple[int, ...]] = []

    def put(self, key: tuple[int, ...], record: Record | None) -> Record | None:
        """Put a record in place of another, or with None take it away; gives what was there."""
        before = self.rows.pop(key, None)
        if record is not None:
            self.rows[key] = record
        if before is None and record is not None:
            insort(self._keys, key)
        elif before is not None and record is None:
            self._keys.remove(key)
        return before

    def between(self, first: int, last: int | None) -> list[Any]:
        if self._keys == [()]:
            return [*self.rows.values()]
        end = len(self._keys) if last is None else bisect_right(self._keys, (last, _LARGEST))
        return [self.rows[key] for key in self._keys[bisect_left(self._keys, (first,)) : end]]


class MemoryStore(RecordStore):
    """A backend: seven methods."""

    def __init__(self, path: Path | str = "memory.db") -> None:
        self._path = Path(path)
        self._tables: dict[str, dict[type, _Table]] = {}
        self._lock = threading.RLock()
        self._undo: list[tuple[str, Any, tuple[int, ...], Any]] | None = None
        self._version = 0
        self._numbers = itertools.count(1)

    @property
    def path(self) -> Path:
        return self._path

    def version(self) -> int:
        with self._lock:
            return self._version

    def new_number(self) -> int:
        return next(self._numbers)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if self._undo is not None:
                yield
                return
            self._undo = []
            try:
                yield
            except BaseException:
                for run_id, kind, key, before in reversed(self._undo):
                    self._put(run_id, kind, key, before)
                self._undo.clear()
                raise
            finally:
                self._version += bool(self._undo)
                self._undo = None

    def find(self, kind: type[Any], run_id: str | None = None, first: int = 0, last: int | None = None) -> list[Any]:
        with self._lock:
            tables = self._tables.values() if run_id is None else [self._tables.get(run_id, {})]
            return [row for each in tables if kind in each for row in each[kind].between(first, last)]

    def save(self, run_id: str, record: Record) -> None:
        self._put(run_id, type(record), key_of(record), record)

    def remove(self, run_id: str, record: Record | None = None) -> None:
        if record is not None:
            self._put(run_id, type(record), key_of(record), None)
            return
        for kind, table in self._tables[run_id].items():
            for key in [*table.rows]:
                self._put(run_id, kind, key, None)

    def _put(self, run_id: str, kind: type[Any], key: tuple[int, ...], record: Any) -> None:
        with self._lock:
            before = self._tables.setdefault(run_id, {}).setdefault(kind, _Table()).put(key, record)
            if self._undo is not None:
                self._undo.append((run_id, kind, key, before))


@dataclass
class Did:
    """One step as a test writes it down."""

    name: str
    tool: str | None = None
    args: Wire = None
    result: Wire = None
    answer: Wire = None
    agent: str | None = None
    lane: str = "main"
    decision: str | None = None
    error: ErrorInfo | None = None
    status: str = "ok"
    state: Wire = field(default_factory=dict)
    asked: Wire = None
    failed: ErrorInfo | None = None
    """What its model call raised."""
    is_kept: bool = True
    """Whether there is a checkpoint of its state."""
    tokens: tuple[int | None, int | None] = (None, None)
    cost_usd: float | None = None

    def calls(self, step: int) -> list[Call]:
        made = []
        if self.answer is not None or self.failed is not None:
            status = "ok" if self.failed is None else "error"
            about = {"args": self.asked, "result": self.answer, "error": self.failed, "lane": self.lane}
            made.append(Call(step, 1, "llm", "model", status, **about))
        if self.tool is not None:
            effect = "write" if self.tool.startswith("book") else "read"
            number = len(made) + 1
            made.append(Call(step, number, "tool", self.tool, "ok", effect, args=self.args, result=self.result))
        return made


class MemorySource(MemoryStore):
    """Runs as a test tells them, named by their ids; like those of another system, they may hold anything."""

    capabilities = Capabilities()

    def __init__(self, path: str = "memory.db") -> None:
        super().__init__(path)
        self.calls_read = 0
        self.problems: list[Problem] = []

    def add(
        self,
        name: str,
        steps: list[Did],
        *,
        status: str = "succeeded",
        state: Wire = None,
        parent: str | None = None,
        fork_step: int | None = None,
        edits: tuple[Edit, ...] = (),
        error: ErrorInfo | None = None,
    ) -> Run:
        run = Run(
            *(name, name, status, 0),
            ended_us=None if status == "running" else 5_000_000,
            parent=parent,
            fork_step=fork_step,
            steps=fork_step or 0,
            edits=edits,
            error=error,
        )
        with self.transaction():
            if name in self.names():
                self.remove(name)
            self.save(name, run)
            self.save(name, Recorder(current_owner(), 0))
            if parent is None:
                self.save(name, Checkpoint(0, "main", 0, state))
            for did in steps:
                self.append(name, did)
        return self._row(name)

    def append(self, name: str, did: Did) -> None:
        run = self._row(name)
        number = run.steps + 1
        calls = did.calls(number)
        step = Step(
            *(number, did.name, did.status),
            agent=did.agent,
            lane=did.lane,
            decision=did.decision,
            error=did.error,
            seq=number if did.is_kept else None,
            calls=len(calls),
            tokens_in=did.tokens[0],
            tokens_out=did.tokens[1],
            cost_usd=did.cost_usd,
            extra={} if did.is_kept else StepFacts.without_checkpoint.true(),
        )
        kept = [Checkpoint(number, "main", number, did.state)] if did.is_kept else []
        with self.transaction():
            for record in (replace(run, steps=number), step, *calls, *kept):
                self.save(name, record)

    def run(self, ref: str) -> Run:
        """A run by its whole id: ids are words here, of which one may begin another."""
        if ref not in self.names():
            raise RunNotFound(f"there is no run {ref!r}", nearest=tuple(self.names()))
        return self._row(ref)

    def names(self) -> set[str]:
        return {run.id for run in self.find(Run)}

    def delete(self, name: str) -> None:
        with self.transaction():
            for run in [*self.forks(name, deep=True), self._row(name)]:
                self.remove(run.id)

    def calls(self, run_id: str, step: int) -> list[Call]:
        self.calls_read += 1
        return super().calls(run_id, step)

    def verify(self, run_id: str | None = None) -> list[Problem]:
        return [problem for problem in self.problems if run_id in (None, problem.run)]
