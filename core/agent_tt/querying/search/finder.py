"""Finding texts in the runs of a source: by an index where there can be one, else by reading.

The index is made when something is first searched for, and goes on from there. What is indexed can be searched while
the rest is made, and what a running step has brought so far is read beside it.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.cache_files import CacheLost, cache_path
from agent_tt.codec.collector import collector_paused
from agent_tt.errors import AgentTTError, RunNotFound
from agent_tt.querying.search.build import Builder, IndexFull
from agent_tt.querying.search.cache import Cache, can_index
from agent_tt.querying.search.hits import Gathered, Hits
from agent_tt.querying.search.lookup import Stretch, look_up
from agent_tt.querying.search.newest import FIRST_SNAPSHOT_S, NEARLY_ALL, SNAPSHOT_S, Asked, Newest
from agent_tt.querying.search.read import gather, gather_step
from agent_tt.querying.search.recorded import RunTexts, Segment, segments
from agent_tt.querying.search.write import forget
from agent_tt.querying.unread import unread_in

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.cache import Indexed
    from agent_tt.querying.search.hits import By
    from agent_tt.querying.search.query import Query
    from agent_tt.querying.search.recorded import Text
    from agent_tt.querying.search.requests import Request

__all__ = ["Finder", "forget_runs"]

_NO_END: Final = float("inf")


def _never() -> bool:
    return False


def _nobody(_share: float) -> None:
    """Nobody wants to know how far it is."""


class Finder:
    """Searches the runs of one source. Safe to use from several threads.

    Attributes:
        uses_index: whether there is an index; it is given up where it cannot be made or kept.
    """

    def __init__(self, source: RunSource, *, use_index: bool | None = None, folder: Path | None = None) -> None:
        """Search nothing yet.

        Args:
            source: where the runs are.
            use_index: whether to make and use an index; by default what is configured.
            folder: where indexes lie; by default the user's cache folder.
        """
        self._source = source
        self._folder = folder
        self._building = threading.Lock()
        self._reading = threading.Lock()
        self._cache: Cache | None = None
        self._current: tuple[int, frozenset[str] | None] | None = None
        self._open: dict[tuple[str, int], tuple[int, list[Text], list[Request]]] = {}
        self._doubted: tuple[int, Sequence[str]] | None = None
        is_file = not isinstance(source.path, Address)  # what lies on a server is not copied onto this disk
        self.uses_index = is_file and (_is_configured() if use_index is None else use_index) and can_index()

    def close(self) -> None:
        """Let go of the index."""
        with self._reading:
            if self._cache is not None:
                self._cache.close()
                self._cache = None

    # -------------------------------------------------------------------- the index

    def update(self, runs: Sequence[str] | None = None, *, cancelled: Callable[[], bool] = _never) -> Iterator[float]:
        """Bring the index up to date; what is indexed can be searched meanwhile, from another thread.

        Args:
            runs: ids of runs; all where not given.
            cancelled: asked once a step; the work ends when it says yes.

        Yields:
            The share that is indexed, 0 to 1, whenever there is more.

        Raises:
            RunNotFound: there is no such run.
            StoreUnreadable: the source cannot be read.
        """
        if not self.indexes(runs):
            return
        wanted = None if runs is None else frozenset(runs)
        with self._building:
            version = self._source.version()
            if self._current == (version, wanted):
                return
            try:
                cache = Cache(self._source.path, self._folder)
            except CacheLost:
                self.uses_index = False
                return
            try:
                yield from self._update(cache, runs, cancelled)
                self._current = None if cancelled() else (version, wanted)
            except CacheLost:  # it is made anew with the next search
                self._current = None
            except IndexFull:
                self.uses_index = False
            finally:
                cache.close()

    def indexes(self, runs: Sequence[str] | None) -> bool:
        """Whether an index of some runs is made and used: of all runs not where the source tells which may hold it."""
        return self.uses_index and (runs is not None or self._source.may_hold(()) is None)

    def _update(self, cache: Cache, runs: Sequence[str] | None, cancelled: Callable[[], bool]) -> Iterator[float]:
        known = {run.id: run for run in self._source.runs(archived=True)}
        builder = Builder(cache, self._source)
        builder.forget_missing(known)
        wanted: Mapping[str, Run] = known
        if runs is not None:
            chosen = [known.get(run) or self._source.run(run) for run in runs]
            wanted = {segment.run.id: segment.run for run in chosen for segment in segments(self._source, run)}
        for _ in builder.update(list(wanted.values()), cancelled=cancelled):
            yield min(1.0, builder.done / max(builder.of, 1))

    def _opened(self) -> Cache | None:
        """The index to read; None where there is none."""
        if not self.uses_index:
            return None
        if self._cache is None:
            try:
                self._cache = Cache(self._source.path, self._folder)
            except CacheLost:
                self.uses_index = False
        return self._cache

    def unread(
        self, runs: Sequence[str] | None = None, *, cancelled: Callable[[], bool] = _never
    ) -> list[tuple[Run, str]]:
        """What of some runs a search cannot look at, in words, for each run that has such parts.

        The index knows it of databases of other systems that nobody has changed since; else it is found out now.

        Args:
            runs: ids of runs; all, each with its own steps, where not given.
            cancelled: asked once a run; of the first run that it says yes at, it is said that it was not looked at.
        """
        looks = None if self._source.capabilities.redacted else self._source.fingerprint()
        known: Mapping[str, Indexed] = {}
        with self._reading, suppress(CacheLost):
            known = cache.runs() if looks is not None and (cache := self._opened()) is not None else {}
        found: list[tuple[Run, str]] = []
        if runs is None and self._doubted is not None and self._doubted[0] == self._source.version():
            chosen: Iterable[Run] = map(self._source.run, self._doubted[1])
        else:
            chosen = self._source.runs() if runs is None else map(self._source.run, runs)
        for run in chosen:
            if cancelled():
                found.append((run, "whether all of it, and of the runs before it, can be read was not looked at"))
                break
            row = known.get(run.id) if runs is None or run.parent is None else None  # which knows of its own steps only
            if row is not None and row.seen == looks:
                said = json.loads(row.unread)
            else:
                said = unread_in(self._source, run, own_only=runs is None)
            found += ((run, words) for words in said)
        return found

    # -------------------------------------------------------------------- searching

    def found(
        self,
        query: Query,
        runs: Sequence[str] | None = None,
        *,
        by: By = "rank",
        limit: int = 100,
        seconds: float | None = None,
        progress: Callable[[float], None] = _nobody,
        cancelled: Callable[[], bool] = _never,
    ) -> Hits:
        """Search all there is: `update`, then `search`.

        Where a source of another system tells which runs may hold it, they are read without an index, the newest first,
        and not all of them where those fill the list: see `Hits.newest`.

        Args:
            query: what is searched for.
            runs: ids of runs; all where not given.
            by: order of the hits.
            limit: at most so many hits.
            seconds: how long a search of all runs of another system's file may take; None for as long as it takes.
            progress: is told the share that can be searched, 0 to 1.
            cancelled: asked now and then; when it says yes, what is indexed by then is searched, or was read.

        Raises:
            RunNotFound: there is no such run.
            InvalidExpression: a pattern takes too much work.
        """
        begun = time.monotonic()
        is_timed = seconds is not None and runs is None and not self._source.capabilities.redacted
        if not is_timed:
            return self._found(query, runs, by, limit, _NO_END, progress, cancelled)
        end = begun + (seconds or 0.0)
        with collector_paused():  # what is kept of a large file is gone through again and again otherwise
            hits = self._found(query, runs, by, limit, end, progress, cancelled)
        return hits if hits.searched >= 1 or cancelled() else replace(hits, seconds=time.monotonic() - begun)

    def _found(
        self,
        query: Query,
        runs: Sequence[str] | None,
        by: By,
        limit: int,
        end: float,
        progress: Callable[[float], None],
        cancelled: Callable[[], bool],
    ) -> Hits:
        def is_over() -> bool:
            return time.monotonic() >= end or cancelled()

        for share in self.update(runs, cancelled=is_over):
            progress(share)
        hits = Hits()
        # To search what is indexed takes little beside making the index.
        is_partial = self.indexes(runs) and is_over()
        until, wished = (_NO_END, _never) if is_partial else (end, cancelled)
        for hits in self.searching(query, runs, by=by, limit=limit, end=until, cancelled=wished):
            progress(hits.searched)
        if hits.searched < 1 and self.indexes(runs) and not is_over():  # somebody threw the index away meanwhile
            self.uses_index = False
            return self.search(query, runs, by=by, limit=limit)
        return hits

    def search(
        self,
        query: Query,
        runs: Sequence[str] | None = None,
        *,
        by: By = "rank",
        limit: int = 100,
        cancelled: Callable[[], bool] = _never,
    ) -> Hits:
        """Search what is indexed; where there is no index, read.

        Args:
            query: what is searched for.
            runs: ids of runs; all, the newest first and each with what it recorded itself, where not given.
            by: order of the hits.
            limit: at most so many hits.
            cancelled: asked now and then; what was found by then is given when it says yes.

        Raises:
            RunNotFound: there is no such run.
            InvalidExpression: a pattern takes too much work.
        """
        every = list(self.searching(query, runs, by=by, limit=limit, cancelled=cancelled))
        return every[-1] if every else Hits()

    def searching(
        self,
        query: Query,
        runs: Sequence[str] | None = None,
        *,
        by: By = "rank",
        limit: int = 100,
        end: float = _NO_END,
        cancelled: Callable[[], bool] = _never,
    ) -> Iterator[Hits]:
        """As `search`; what was found so far is given soon, and then now and again, each time as all of it together.

        A search that gives something is to be taken to its end or closed: others wait for it. It ends at `end` of
        `time.monotonic` at the latest, however busy the machine is not before it has read a little.
        """
        names = self._source.may_hold(()) if runs is None else None
        if names is not None:
            asked = Asked(query, (), own_only=True, by=by, limit=limit, cancelled=cancelled)
            newest = Newest(self._source, asked, end)
            yield from newest.read(names)
            if newest.sifted is not None:
                self._doubted = (self._source.version(), newest.sifted)
            return
        chosen = self._source.runs(archived=True) if runs is None else [self._source.run(run) for run in runs]

        def is_over() -> bool:
            return time.monotonic() >= end or cancelled()

        asked = Asked(query, chosen, runs is None, by, limit, is_over)
        if not (yield from self._by_index(asked)):
            yield from self._read(asked)

    def _by_index(self, asked: Asked) -> Generator[Hits, None, bool]:
        """What the index has; returns whether there is one."""
        with self._reading:
            cache = self._opened()
            if cache is None:
                return False
            try:
                yield from self._look_up(cache, asked)
            except CacheLost:
                self._cache = None
                cache.close()
                return False
        return True

    def _look_up(self, cache: Cache, asked: Asked) -> Iterator[Hits]:
        due = time.monotonic() + FIRST_SNAPSHOT_S
        gathered = Gathered(asked.query, asked.by)
        rows = cache.runs()
        stretches: list[Stretch] = []
        requests: dict[int, list[Request]] = {}
        done = of = 0
        for rank, run in enumerate(asked.runs):
            for segment in [Segment(run, None)] if asked.own_only else segments(self._source, run):
                last = segment.run.steps if segment.last is None else segment.last
                of += last + 1
                row = rows.get(segment.run.id)
                if row is not None:
                    stretches.append(Stretch(run.id, rank, row.number, segment.last))
                    done += min(row.upto, last) + 1
                    opened = self._read_open(row.still_open, segment, run, rank, asked.query, gathered)
                    requests.setdefault(row.number, []).extend(opened)
        self._forget_open(rows)
        indexed = done / of if of else 1.0
        shares = look_up(
            cache, asked.query, stretches, gathered, asked.by, open_requests=requests, cancelled=asked.cancelled
        )
        looked = 0.0
        for looked in shares:
            if time.monotonic() >= due:
                yield gathered.hits(asked.limit, searched=min(looked, NEARLY_ALL) * indexed)
                due = time.monotonic() + SNAPSHOT_S
        yield gathered.hits(asked.limit, searched=indexed * (min(looked, NEARLY_ALL) if asked.cancelled() else 1))

    def _forget_open(self, rows: Mapping[str, Indexed]) -> None:
        """Let go of what was read of steps that are over now."""
        for run, step in list(self._open):
            if run not in rows or step not in json.loads(rows[run].still_open):
                del self._open[run, step]

    def _read_open(
        self, steps: str, segment: Segment, run: Run, rank: int, query: Query, into: Gathered
    ) -> list[Request]:
        """Read what steps have brought so far that were not over when they were looked at; give their requests."""
        requests: list[Request] = []
        version = self._source.version() if steps != "[]" else 0
        for number in json.loads(steps):
            if segment.last is not None and number > segment.last:
                continue
            known = self._open.get((segment.run.id, number))
            if known is None or known[0] != version:
                texts = RunTexts(self._source, segment.run, number)
                found = [texts.step(step)[0] for step in texts.steps(number, number + 1)]
                known = self._open[segment.run.id, number] = (version, found[0] if found else [], texts.requests)
            gather_step(known[1], number, run, rank, query, into)
            requests += known[2]
        return requests

    def _read(self, asked: Asked) -> Iterator[Hits]:
        gathered = Gathered(asked.query, asked.by)
        due = time.monotonic() + FIRST_SNAPSHOT_S
        for rank, run in enumerate(asked.runs):
            if asked.cancelled():
                yield gathered.hits(asked.limit, searched=min(rank / len(asked.runs), NEARLY_ALL))
                return
            try:
                steps = gather(
                    self._source, run, rank, asked.query, gathered, own_only=asked.own_only, cancelled=asked.cancelled
                )
                for step in steps:
                    if time.monotonic() >= due:
                        share = (rank + step / max(run.steps, step, 1)) / len(asked.runs)
                        yield gathered.hits(asked.limit, searched=min(share, NEARLY_ALL))
                        due = time.monotonic() + SNAPSHOT_S
                    if gathered.is_full:
                        gathered.stop_at(step)
                        yield gathered.hits(asked.limit)
                        return
            except RunNotFound:  # it was deleted meanwhile
                continue
        yield gathered.hits(asked.limit, searched=NEARLY_ALL if asked.cancelled() else 1.0)


def forget_runs(store: Path, run_ids: Sequence[str], *, folder: Path | None = None) -> None:
    """Delete what is indexed of runs that were deleted from a store; nothing where it has no index."""
    if not cache_path(store, folder).exists():
        return
    try:
        cache = Cache(store, folder, create=False)
    except CacheLost:
        return
    try:
        forget(cache, run_ids)
    except CacheLost:  # which threw all of it away, or it is somebody else's turn: the next search looks after it
        return
    finally:
        cache.close()


def _is_configured() -> bool:
    from agent_tt import config

    try:
        return config.load().search_index is not False
    except AgentTTError:  # which whoever asks for settings is told
        return True
