"""Filling an index: run by run, and then what was recorded since.

What was written is there to be searched at once, and stays where the process is killed: each batch of steps is one
transaction, which also says how far the run is indexed. Processes that do the same work do not get in each other's way:
each batch goes on from where the file says that the run is, whoever brought it there.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt.errors import AgentTTError, RunNotFound
from agent_tt.querying.search.cache import MOST_BYTES
from agent_tt.querying.search.read import steps_of
from agent_tt.querying.search.recorded import RunTexts
from agent_tt.querying.search.write import digest_of, forget, write_requests, write_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.cache import Cache, Indexed
    from agent_tt.querying.search.recorded import Text
    from agent_tt.querying.search.requests import Request

__all__ = ["Builder", "IndexFull"]

_FIRST_BATCH: Final = 2_000
_BATCH: Final = 40_000
"""Texts that are written at once."""

_BATCH_CHARACTERS: Final = 8_000_000
_SETTLE_EVERY: Final = 8
_MARKED: Final = 20
"""Steps that tell whether a run of ours is still what was indexed; of other systems' databases all are looked at."""

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
        self.of = sum(max(0, run.steps - _own_start(run)) + 1 for run in runs)
        self.done = 0
        known = self._cache.runs()
        self._note_use(known[run.id] for run in runs if run.id in known)
        for run in runs:
            before = self.done
            looks = self._looks_of(run)
            while not cancelled() and (looks is None or run.id not in known or known[run.id].seen != looks):
                try:
                    for step in self._index(run, self._source.step_count(run.id), cancelled):
                        self.done = before + step - _own_start(run)
                        yield
                    if looks is not None and not cancelled():
                        self._note_seen(run, looks)
                    break
                except _Elsewhere:
                    continue
                except RunNotFound:
                    break
            self.done = before + max(0, run.steps - _own_start(run)) + 1
        self._cache.settle()

    def _looks_of(self, run: Run) -> str | None:
        """What a run of ours looks like that is over and was not resumed: then nothing has to be looked at."""
        if not self._is_ours or run.status == "running":
            return None
        return f"{run.status} {run.steps} {run.ended_us}"

    def _note_seen(self, run: Run, looks: str) -> None:
        with self._cache.writing() as connection:
            connection.execute("UPDATE runs SET seen = ? WHERE id = ?", (looks, run.id))

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

    def _index(self, run: Run, end: int, cancelled: Callable[[], bool]) -> Iterator[int]:
        texts: RunTexts | None = None
        row = self._cache.run(run.id)
        if row is not None and not self._is_same(run, row):
            forget(self._cache, [run.id])
            row = None
        if row is None:
            texts = RunTexts(self._source, run)
            self._begin(run, texts)
            row = self._cache.run(run.id)
            if row is None:
                raise _Elsewhere
        row = self._index_opened(run, row)
        if row.upto >= end:
            return
        start = row.upto + 1
        if texts is None or start > texts.first + 1:
            texts = RunTexts(self._source, run, start)
        for batch in self._batches_of(run, row, texts, start, end, cancelled):
            row = self._write(run, row, batch)
            yield row.upto

    def _begin(self, run: Run, texts: RunTexts) -> None:
        brought = [(texts.first, order, text) for order, text in enumerate(texts.begin(), start=texts.first_order)]
        with self._cache.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO runs(id, first, upto) VALUES(?, ?, -1)", (run.id, texts.first))
            ((number, upto),) = connection.execute("SELECT no, upto FROM runs WHERE id = ?", (run.id,))
            if upto == -1:
                write_texts(connection, number, 0, brought)
                connection.execute(
                    "UPDATE runs SET upto = ?, part = 1, used_us = ? WHERE no = ?", (texts.first, _now(), number)
                )

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
        return row if len(left) == len(waiting) else self._write(run, row, _Batch(brought, row.upto, left, requests))

    def _batches_of(
        self, run: Run, row: Indexed, texts: RunTexts, start: int, end: int, cancelled: Callable[[], bool]
    ) -> Iterator[_Batch]:
        batch = _Batch([], start - 1, json.loads(row.still_open))
        most, characters = _FIRST_BATCH, 0
        for step in steps_of(texts, start, end):
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
        if batch.upto >= start:
            yield batch

    def _write(self, run: Run, row: Indexed, batch: _Batch) -> Indexed:
        """Write a batch, unless somebody else wrote about the run since; say what is indexed then."""
        mark = self._mark(run, batch.upto, batch.open)
        with self._cache.writing() as connection:
            now = self._cache.run(run.id)
            if now is None or (now.number, now.upto, now.part) != (row.number, row.upto, row.part):
                raise _Elsewhere
            write_texts(connection, now.number, now.part, batch.texts)
            write_requests(connection, now.number, now.part, batch.requests)
            now = now._replace(
                upto=batch.upto, part=now.part + 1, still_open=json.dumps(batch.open), mark=mark, used_us=_now()
            )
            connection.execute(
                "UPDATE runs SET upto = ?, part = ?, open = ?, mark = ?, used_us = ? WHERE no = ?",
                (now.upto, now.part, now.still_open, now.mark, now.used_us, now.number),
            )
        self._batches += 1
        if self._batches % _SETTLE_EVERY == 0:
            self._cache.settle()
            self._make_room(run)
        return now

    def _make_room(self, run: Run) -> None:
        """Drop the runs that were searched longest ago, and not now, while the file is too large."""
        while self._cache.size() > MOST_BYTES:
            with self._cache.using() as connection:
                others = connection.execute(
                    "SELECT id FROM runs WHERE id <> ? AND used_us < ? ORDER BY used_us LIMIT 1", (run.id, self._begun)
                ).fetchall()
            if not others:
                raise IndexFull
            forget(self._cache, [others[0][0]])
            if self._cache.run(run.id) is None:  # all of it was thrown away
                raise _Elsewhere

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
            start = max(1, upto - _MARKED + 1) if self._is_ours else 1
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


def _own_start(run: Run) -> int:
    return (run.fork_step or 0) if run.parent is not None else 0


def _now() -> int:
    return time.time_ns() // 1_000
