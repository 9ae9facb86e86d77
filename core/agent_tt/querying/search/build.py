"""Filling an index: run by run, and then what was recorded since.

What was written is there to be searched at once, and stays where the process is killed: a batch of steps, or the last
ones of many short runs, are one transaction, which also says how far each run is indexed. Processes that do the same
work do not get in each other's way: each batch goes on from where the file says that the run is, whoever brought it
there.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, RunNotFound
from agent_tt.querying.search.cache import MOST_BYTES, Indexed
from agent_tt.querying.search.read import steps_of
from agent_tt.querying.search.recorded import RunTexts
from agent_tt.querying.search.write import Brought, digest_of, forget, write_requests, write_texts
from agent_tt.querying.unread import unread_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.cache import Cache
    from agent_tt.querying.search.recorded import Text
    from agent_tt.querying.search.requests import Request

__all__ = ["Builder", "IndexFull"]

_FIRST_BATCH: Final = 2_000
_BATCH: Final = 10_000
"""Texts that are written at once: of four times as many an app holds 60 MB more, and they are not indexed sooner."""

_LONGEST_S: Final = 1.0
"""Seconds after which the ends of short runs are written, however few they are."""

_BATCH_CHARACTERS: Final = 2_000_000
_SETTLE_EVERY: Final = 8
_MARKED: Final = 20
"""Steps that tell whether a run of ours is still what was indexed; of other systems' databases all its own are read."""

_NOTED_US: Final = 3_600_000_000


class IndexFull(Exception):
    """The file may not grow further."""


class _Elsewhere(Exception):
    """Somebody else wrote about the run meanwhile."""


class Builder:
    """Keeps an index up to date. It belongs to one thread at a time.

    Attributes:
        done, of: steps that are indexed, and how many there are, of the runs that were last asked for.
    """

    def __init__(self, cache: Cache, source: RunSource) -> None:
        self._cache = cache
        self._source = source
        self._begun = _now()
        self._is_ours = source.capabilities.redacted
        self._fingerprint = None if self._is_ours else source.fingerprint()
        self._waiting: list[_Waiting] = []
        self._texts_waiting = 0
        self._again: list[Run] = []
        self._written_s = time.monotonic()
        self._batches = 0
        self.done = self.of = 0

    def update(self, runs: Sequence[Run], *, cancelled: Callable[[], bool]) -> Iterator[None]:
        """Index what is not indexed yet of some runs, and of what they descend from themselves.

        Args:
            runs: runs, each with the ancestors that it shows steps of.
            cancelled: asked once a step; the work ends when it says yes.

        Yields:
            Whenever there is more to be searched.

        Raises:
            CacheLost: the file cannot be used.
            IndexFull: it may not grow further.
        """
        self.of = sum(map(_size, runs))
        self.done = 0
        known = self._cache.runs()
        self._note_use(known[run.id] for run in runs if run.id in known)
        todo = deque(runs)
        while (todo and not cancelled()) or self._waiting:
            if todo and not cancelled():
                yield from self._one(todo, known, cancelled)
            if not todo or self._is_due() or cancelled():
                self._write()
                yield
            todo += self._again
            self.done -= sum(map(_size, self._again))
            self._again.clear()
        self._cache.settle()

    def _one(self, todo: deque[Run], known: Mapping[str, Indexed], cancelled: Callable[[], bool]) -> Iterator[None]:
        """Look at the next run."""
        run = todo.popleft()
        before, looks = self.done, self._looks_of(run)
        if looks is None or run.id not in known or known[run.id].seen != looks:
            try:
                batches = self._index(run, looks, cancelled)
                while (step := self._next_of(batches)) is not None:
                    self.done = before + step - _own_start(run)
                    yield
            except _Elsewhere:
                todo.appendleft(run)
                self.done = before
                return
            except RunNotFound:
                pass
        self.done = before + _size(run)

    def _next_of(self, batches: Iterator[int]) -> int | None:
        """The last step of the next batch, which is read as of one moment; None after the last one."""
        with self._source.one_moment():
            return next(batches, None)

    def _looks_of(self, run: Run) -> str | None:
        """Give a text that stays the same as long as a run has nothing new to index; None where nothing tells that.

        A run of ours has one once it is over; one of another system has that of its file.
        """
        if not self._is_ours:
            return self._fingerprint
        return None if run.status == "running" else f"{run.status} {run.steps} {run.ended_us}"

    def _note_use(self, runs: Iterable[Indexed]) -> None:
        """Write down that runs are searched, unless that was said a short time ago."""
        due = [(self._begun, run.number) for run in runs if (run.used_us or 0) < self._begun - _NOTED_US]
        if due:
            with self._cache.writing() as connection:
                connection.executemany("UPDATE runs SET used_us = ? WHERE no = ?", due)

    def forget_missing(self, keep: Iterable[str]) -> None:
        """Delete what is indexed of runs that are not there any more."""
        gone = set(self._cache.runs()) - set(keep)
        if gone:
            forget(self._cache, gone)

    # -------------------------------------------------------------------- one run

    def _index(self, run: Run, looks: str | None, cancelled: Callable[[], bool]) -> Iterator[int]:
        """Write what is not indexed of a run, but for its last batch: that waits for others."""
        end = self._source.step_count(run.id)
        row = self._cache.run(run.id)
        if row is not None and not self._is_same(run, row):
            forget(self._cache, [run.id])
            row = None
        if row is None:
            texts = RunTexts(self._source, run)
            row = Indexed(run.id, 0, texts.first, -1, 0, "[]", None, None, "[]", None)
        else:
            row = self._index_opened(run, row)
            if row.upto >= end:
                if looks is not None:
                    self._wait(run, row, None, looks)
                return
            texts = RunTexts(self._source, run, row.upto + 1)
        damaged = texts.damaged if row.upto < 0 else None
        for batch in self._batches_of(run, row, texts, end, cancelled):
            self._wait(run, row, batch, looks if batch.upto >= end else None, damaged)
            if not batch.is_last:
                row = self._write_now(run)
                yield row.upto

    def _index_opened(self, run: Run, row: Indexed) -> Indexed:
        """Index steps that were not over when they were looked at, and are now; say what is indexed then."""
        waiting: list[int] = json.loads(row.still_open)
        brought: list[tuple[int, int, Text]] = []
        requests: list[Request] = []
        left: list[int] = []
        for number in waiting:
            texts = RunTexts(self._source, run, number)
            step = next(iter(texts.steps(number, number + 1)), None)
            found, settled = texts.step(step) if step is not None else ([], False)
            if settled or run.status != "running":
                brought += ((number, order, text) for order, text in enumerate(found))
                requests += texts.requests
            else:
                left.append(number)
        if len(left) == len(waiting):
            return row
        self._wait(run, row, _Batch(brought, row.upto, left, requests), None)
        return self._write_now(run)

    def _batches_of(
        self, run: Run, row: Indexed, texts: RunTexts, end: int, cancelled: Callable[[], bool]
    ) -> Iterator[_Batch]:
        batch = _Batch([], row.upto, json.loads(row.still_open))
        most, characters = _FIRST_BATCH, 0
        if row.upto < 0:
            batch.upto = texts.first
            batch.texts += ((texts.first, order, text) for order, text in enumerate(texts.begin(), texts.first_order))
        for step in steps_of(texts, batch.upto + 1, end):
            if cancelled():
                break
            found, settled = texts.step(step)
            if settled or run.status != "running":
                batch.texts += ((step.number, order, text) for order, text in enumerate(found))
                batch.requests += texts.requests
                characters += sum(len(text.text) for text in found)
            else:
                batch.open.append(step.number)
            batch.upto = step.number
            if len(batch.texts) >= most or characters >= _BATCH_CHARACTERS:
                yield batch
                batch = _Batch([], step.number, list(batch.open))
                most, characters = _BATCH, 0
        batch.is_last = True
        yield batch

    # -------------------------------------------------------------------- writing

    def _wait(
        self, run: Run, row: Indexed, batch: _Batch | None, looks: str | None, damaged: Collection[int] | None = None
    ) -> None:
        """Have a batch of a run written, or that it was looked at, with what is written next.

        Args:
            run: the run.
            row: what was indexed of it when the batch was read.
            batch: what to write; None where all was indexed.
            looks: what the run looks like if all of it is indexed then.
            damaged: its steps with damaged calls, where all of them were looked at.
        """
        if batch is not None:
            row = row._replace(mark=self._mark(run, batch.upto, batch.open))
            self._texts_waiting += len(batch.texts)
        if looks is not None and not self._is_ours:
            row = row._replace(unread=json.dumps(unread_in(self._source, run, own_only=True, damaged=damaged)))
        self._waiting.append(_Waiting(run, row, batch, looks))

    def _is_due(self) -> bool:
        """Whether as much waits as is to be written at once."""
        most = _BATCH if self._batches else _FIRST_BATCH
        return self._texts_waiting >= most or time.monotonic() > self._written_s + _LONGEST_S

    def _write_now(self, run: Run) -> Indexed:
        """Write what waits; say what is indexed of a run then.

        Raises:
            _Elsewhere: somebody else wrote about the run meanwhile.
        """
        self._write()
        row = self._cache.run(run.id)
        if row is None or run in self._again:
            self._again = [each for each in self._again if each is not run]
            raise _Elsewhere
        return row

    def _write(self) -> None:
        """Write what waits in one transaction; runs about which somebody else wrote meanwhile are to be read again."""
        waiting, self._waiting, self._texts_waiting = self._waiting, [], 0
        brought: list[Brought] = []
        with self._cache.writing() as connection:
            for run, row, batch, looks in waiting:
                if row.upto < 0:
                    new = "INSERT OR IGNORE INTO runs(id, first, upto) VALUES(?, ?, -1)"
                    connection.execute(new, (run.id, row.first))
                now = self._cache.run(run.id)
                if now is None or (now.upto, now.part) != (row.upto, row.part) or row.number not in (0, now.number):
                    self._again.append(run)
                    continue
                if batch is not None:
                    brought.append(Brought(now.number, now.part, batch.texts))
                    write_requests(connection, now.number, now.part, batch.requests)
                    connection.execute(
                        "UPDATE runs SET upto = ?, part = ?, open = ?, mark = ?, used_us = ? WHERE no = ?",
                        (batch.upto, now.part + 1, json.dumps(batch.open), row.mark, _now(), now.number),
                    )
                if looks is not None:
                    seen = (looks, row.unread, now.number)
                    connection.execute("UPDATE runs SET seen = ?, unread = ? WHERE no = ?", seen)
            write_texts(connection, brought)
        self._written_s = time.monotonic()
        self._batches += 1
        if self._batches % _SETTLE_EVERY == 0:
            self._cache.settle()
            self._make_room([each.run for each in waiting])

    def _make_room(self, written: Sequence[Run]) -> None:
        """Drop the runs that were searched longest ago, and not now, while the file is too large."""
        while self._cache.size() > MOST_BYTES:
            with self._cache.using() as connection:
                others = connection.execute(
                    "SELECT id FROM runs WHERE used_us < ? ORDER BY used_us LIMIT 1", (self._begun,)
                ).fetchall()
            if not others:
                raise IndexFull
            forget(self._cache, [others[0][0]])
            if written and self._cache.run(written[-1].id) is None:  # all of it was thrown away
                self._again += written
                return

    # -------------------------------------------------------------------- whether it is still the same run

    def _is_same(self, run: Run, row: Indexed) -> bool:
        if row.first != RunTexts(self._source, run).first:
            return False
        if row.mark is None:
            return True
        return row.mark == self._mark(run, row.upto, json.loads(row.still_open), int(json.loads(row.mark)["from"]))

    def _mark(self, run: Run, upto: int, still_open: Sequence[int], start: int | None = None) -> str:
        """What tells whether the steps that were indexed have changed."""
        if start is None:
            start = max(1, upto - _MARKED + 1) if self._is_ours else _own_start(run) + 1
        facts: list[object] = []
        try:
            facts += (
                _facts(step) for step in self._source.steps(run.id, start, upto + 1) if step.number not in still_open
            )
            if not self._is_ours:
                facts.append((self._source.digest(run.id, upto) or b"").hex())
        except AgentTTError:
            facts.append("unreadable")
        return json.dumps({"from": start, "digest": digest_of(orjson.dumps(facts, default=str)).hex()})


@dataclass(slots=True)
class _Batch:
    """Texts to be written, each with its step and position, the requests, and how far the run is indexed then."""

    texts: list[tuple[int, int, Text]]
    upto: int
    open: list[int]
    requests: list[Request] = field(default_factory=list)
    is_last: bool = False


class _Waiting(NamedTuple):
    """What is to be written about a run: see `Builder._wait`."""

    run: Run
    row: Indexed
    batch: _Batch | None
    looks: str | None


def _facts(step: Step) -> list[object]:
    return [
        step.number,
        step.name,
        step.status,
        step.calls,
        step.seq,
        step.lane,
        step.ended_us,
        step.facts.checkpoint_id,
    ]


def _size(run: Run) -> int:
    """The steps that a run recorded itself, and its beginning."""
    return max(0, run.steps - _own_start(run)) + 1


def _own_start(run: Run) -> int:
    return (run.fork_step or 0) if run.parent is not None else 0


def _now() -> int:
    return time.time_ns() // 1_000
