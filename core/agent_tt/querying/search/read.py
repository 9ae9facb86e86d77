"""Searching by reading: where there is no index, and what an index is checked against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.folding import fold
from agent_tt.querying.search.hits import Place
from agent_tt.querying.search.recorded import KINDS, Kind, RunTexts, Segment, segments
from agent_tt.querying.search.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.hits import Gathered
    from agent_tt.querying.search.query import Query
    from agent_tt.querying.search.recorded import Text
    from agent_tt.querying.search.requests import Request

__all__ = ["AGENT", "CALL", "FOREVER", "OF_CALLS", "OF_REQUESTS", "gather", "gather_step", "steps_of"]

CALL: Final = KINDS.index(Kind("call"))
AGENT: Final = KINDS.index(Kind("agent"))
OF_CALLS: Final = frozenset(
    number for number, kind in enumerate(KINDS) if kind.where in ("error", "call", "arguments", "result")
)
OF_REQUESTS: Final = frozenset(number for number, kind in enumerate(KINDS) if kind.where == "arguments")
FOREVER: Final = 1 << 60
_ASKED_AFTER: Final = 1000
"""Texts of one step between two looks at whether the search is cancelled."""
_PAGE: Final = 200
"""Steps read at once."""


def steps_of(texts: RunTexts, start: int, last: int | None) -> Iterator[Step]:
    """A run's own steps from `start` to `last`, page by page."""
    while last is None or start <= last:
        page = texts.steps(start, start + _PAGE if last is None else min(start + _PAGE, last + 1))
        if not page:
            return
        yield from page
        start = page[-1].number + 1


def gather(
    source: RunSource,
    run: Run,
    rank: int,
    query: Query,
    into: Gathered,
    *,
    own_only: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[int]:
    """Read a run and gather what is found, step by step.

    Args:
        source: where the run is.
        run: the run.
        rank: its place among those that are searched.
        query: what is searched for.
        into: takes what is found.
        own_only: leave out what its ancestors recorded.
        cancelled: asked once a step, and of one with very many texts once every so many; the search ends when it
            says yes.

    Yields:
        The number of each step that was read.
    """
    for segment in [Segment(run, None)] if own_only else segments(source, run):
        texts = RunTexts(source, segment.run)
        asked = _Asked(run, rank, query, into)
        if segment.last is None or texts.first <= segment.last:
            found = texts.begin()
            gather_step(found, texts.first, run, rank, query, into, first_order=texts.first_order, cancelled=cancelled)
        for step in steps_of(texts, texts.first, segment.last):
            if cancelled():
                return
            found = texts.step(step)[0]
            gather_step(found, step.number, run, rank, query, into, cancelled=cancelled)
            asked.add(step.number, found, texts.requests)
            yield step.number
        asked.gather()


class _Asked:
    """What the models of some steps were asked: gathers what their requests repeat, when all of them are known."""

    def __init__(self, run: Run, rank: int, query: Query, into: Gathered) -> None:
        self._run, self._rank, self._query, self._into = run, rank, query, into
        self._requests: list[Request] = []
        self._found: list[tuple[Text, Place]] = []
        self._calls: set[tuple[int, int | None]] = set()
        self._steps: set[int] = set()

    def add(self, step: int, texts: Sequence[Text], requests: Sequence[Request]) -> None:
        """Take the texts and the requests of a step."""
        if not requests:
            return
        query = self._query
        self._requests += requests
        if query.agent is None or any(each.kind == AGENT and query.agent in fold(each.text) for each in texts):
            self._steps.add(step)
        self._calls |= {
            (step, each.call)
            for each in texts
            if each.kind == CALL and (query.tool is None or query.tool in fold(each.text))
        }
        asking = {each.call for each in requests}
        self._found += [
            (each, Place(step, order, each.call, each.path))
            for order, each in enumerate(texts)
            if each.kind in OF_REQUESTS and each.kind in query.kinds and each.call in asking
            and query.find(each.text) is not None
        ]  # fmt: skip

    def gather(self) -> None:
        """Take each text at the later places where requests repeat it."""
        requests = Requests(self._requests)
        first, last = self._query.first or 0, FOREVER if self._query.last is None else self._query.last
        for text, place in self._found:
            for request in requests.again(place.step, place.call, place.path, first, last):
                if request.step in self._steps and (request.step, request.call) in self._calls:
                    self._into.add(self._run.id, self._rank, text.kind, text.text, place.again(request))


def gather_step(
    texts: Sequence[Text],
    step: int,
    run: Run,
    rank: int,
    query: Query,
    into: Gathered,
    *,
    first_order: int = 0,
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Gather what is found in the texts that a step brought, or in the first of them if it is cancelled."""
    if not (query.first or 0) <= step <= (step if query.last is None else query.last):
        return
    if query.agent is not None and not any(text.kind == AGENT and query.agent in fold(text.text) for text in texts):
        return
    calls: set[int | None] = set()
    if query.tool is not None:
        calls = {text.call for text in texts if text.kind == CALL and query.tool in fold(text.text)}
    for order, text in enumerate(texts, start=first_order):
        if order % _ASKED_AFTER == _ASKED_AFTER - 1 and cancelled():
            return
        if text.kind not in query.kinds or (query.tool is not None and (text.call is None or text.call not in calls)):
            continue
        into.add(run.id, rank, text.kind, text.text, Place(step, order, text.call, text.path))
