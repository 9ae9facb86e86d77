"""Searching all runs of a source that tells which of them may hold what is searched for: reading, the newest first."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.errors import RunNotFound
from agent_tt.querying.search.hits import Gathered
from agent_tt.querying.search.read import gather
from agent_tt.redaction.own import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.hits import By, Hits
    from agent_tt.querying.search.query import Query

__all__ = ["FIRST_SNAPSHOT_S", "NEARLY_ALL", "SNAPSHOT_S", "Asked", "Newest"]

FIRST_SNAPSHOT_S: Final = 0.04
SNAPSHOT_S: Final = 0.25
"""Seconds until what a search has found so far is given for the first time, and between two further times."""

NEARLY_ALL: Final = 0.99
"""The share that a search says at most before it has come to its end."""


_FEWEST_STEPS: Final = 1_000
"""Steps that are read, of the newest runs, before a list that is full ends a search of a source that has no index."""

_AT_ONCE: Final = 50
"""Runs of which what is stored is fetched at once."""

_MANY: Final = 500
_FULL_AFTER: Final = 200
"""Of more than so many runs the first `_AT_ONCE` are read at once, and the next ones as long as the list is on the way
to be full after so many of them."""

_LEAST_S: Final = 0.4
"""Seconds of the processor that are spent on reading in any case: a machine may be so busy that opening took all."""

_OF_SIFTING: Final = 0.9
"""The share of the time that a search may take in which it is told which runs may hold what is looked for."""


class Asked(NamedTuple):
    """One search.

    Attributes:
        query: what is searched for.
        runs: in which runs.
        own_only: only in what each recorded itself, without what it began with as a fork.
        by: order of the hits.
        limit: at most so many hits.
        cancelled: asked now and then; the search ends when it says yes.
    """

    query: Query
    runs: Sequence[Run]
    own_only: bool
    by: By
    limit: int
    cancelled: Callable[[], bool]


class Newest:
    """A search that reads the newest runs first.

    Args:
        source: where the runs are.
        asked: the search, which names no runs.
        end: when it ends at the latest, by `time.monotonic`.

    Attributes:
        sifted: the ids of all runs that may hold it, the newest first; None where that was not asked.
    """

    def __init__(self, source: RunSource, asked: Asked, end: float) -> None:
        self._source = source
        self._asked = asked
        self._end = end
        self.sifted: Sequence[str] | None = None

    def read(self, names: Sequence[str]) -> Iterator[Hits]:
        """Read the newest of some runs until all were read, the list is full, or it is cancelled.

        Where the first few do not promise to fill it, it is asked first which of all may hold what is searched for.
        """
        with ExitStack() as fetched:
            yield from self._read(names, fetched)

    def _read(self, names: Sequence[str], fetched: ExitStack) -> Iterator[Hits]:
        asked, end = self._asked, self._end
        gathered = Gathered(asked.query, asked.by)
        ranks = {name: rank for rank, name in enumerate(names)}
        due = time.monotonic() + FIRST_SNAPSHOT_S
        read = steps = ahead = 0
        is_cut = is_sifted = was_sifted = False
        least = time.process_time() + _LEAST_S

        def cancelled() -> bool:
            nonlocal is_cut
            is_over = time.monotonic() >= end and time.process_time() >= least
            is_cut = is_cut or is_over or asked.cancelled()
            return is_cut

        while read < len(names) and not is_cut:
            is_promising = read < _AT_ONCE or len(gathered) * _FULL_AFTER >= asked.limit * read
            if not is_sifted and (len(names) <= _MANY or not is_promising):
                known, is_sifted = set(names[:read]), True
                sifted = self._sifted()
                names = sorted(sifted, key=lambda name: name not in known)  # which keeps the others in order
                read = len(known.intersection(sifted))
                continue
            if gathered.is_full or (steps >= _FEWEST_STEPS and len(gathered) >= asked.limit):
                yield replace(gathered.hits(asked.limit), is_complete=False, newest=read, of=len(names))
                return
            if read >= ahead or is_sifted is not was_sifted:
                fetched.close()
                fetched.enter_context(self._source.ahead(names[read : read + _AT_ONCE]))
                ahead, was_sifted = read + _AT_ONCE, is_sifted
            try:
                run, rank = self._source.run(names[read]), ranks.setdefault(names[read], len(ranks))
                found = gather(self._source, run, rank, asked.query, gathered, own_only=True, cancelled=cancelled)
                while self._next_of(found) is not None:
                    steps += 1
            except RunNotFound:  # it was deleted meanwhile
                pass
            read += not is_cut
            if time.monotonic() >= due and not is_cut and read < len(names):
                share = min(read / len(names), NEARLY_ALL)
                yield replace(gathered.hits(asked.limit, searched=share), newest=read, of=len(names))
                due = time.monotonic() + SNAPSHOT_S
        if is_cut:
            share = min((read + 1) / len(names), NEARLY_ALL)
            yield replace(gathered.hits(asked.limit, searched=share), newest=read, of=len(names))
        else:
            yield gathered.hits(asked.limit)

    def _sifted(self) -> Sequence[str]:
        """The ids of all runs that may hold what is searched for, the newest first.

        Nothing but the source tells which others there are: of those nothing has to be read, and all of them can be.
        """
        now = time.monotonic()
        stop = now + (self._end - now) * _OF_SIFTING
        needed = () if OWN.rules.profile else self._asked.query.needed_somewhere  # its marks are any letters
        names = self._source.may_hold(needed, lambda: time.monotonic() >= stop or self._asked.cancelled()) or ()
        self.sifted = names
        return names

    def _next_of(self, steps: Iterator[int]) -> int | None:
        """The next step that was read, as of one moment; None after the last one."""
        with self._source.one_moment():
            return next(steps, None)
