"""Questions about what was recorded: what differs, who wrote a value, where a text stands, when something holds."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast, get_args

from fastapi import APIRouter, Query, Request, Response

from agent_tt.errors import NotFound, UsageError
from agent_tt.exporting.redacted import RedactedRuns
from agent_tt.model.quantities import moment
from agent_tt.model.statistics import CallGroups, Chosen, RunGroups
from agent_tt.querying.search.fields import MESSAGES, Where
from agent_tt.serving.rest import models
from agent_tt.serving.rest.desk import Asked, desk_of
from agent_tt.serving.rest.ids import MOST_STEPS, CheckpointRef, Many, Most, RunId, RunRef, StepNumber, Text
from agent_tt.shapes.answers import (
    effects_answer,
    find_answer,
    links_answer,
    oddities_answer,
    steps_answer,
    where_answer,
)
from agent_tt.shapes.records import replay_shape
from agent_tt.shapes.statistics import statistics_shape

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.shapes.records import Shape

__all__ = ["compared", "diff_of", "router"]

router = APIRouter(prefix="/api", tags=["asking"])

_RUN_GROUPS: Final = get_args(RunGroups)
_CALL_GROUPS: Final = get_args(CallGroups)
_Field = Literal[Where, "messages"]
_By = Literal[RunGroups, CallGroups]
assert MESSAGES in get_args(_Field)  # noqa: S101  the one word that has no type of its own


@router.get("/diff", response_model=models.DiffAnswer)
async def diff(
    request: Request,
    a: CheckpointRef,
    b: CheckpointRef,
    ignore: Annotated[Many, Query(description="paths that do not count: messages[*].id")] = [],  # noqa: B006
    ignore_order: bool = False,  # noqa: FBT001, FBT002  a query of FastAPI
    ignore_type: bool = False,  # noqa: FBT001, FBT002
    tolerance: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """Say what differs between two states, of one run or of two."""
    from agent_tt.comparing.values.ignoring import Ignoring

    def work(asked: Asked) -> Shape:
        rules = Ignoring.of(ignore_order=ignore_order, ignore=ignore, tolerance=tolerance, ignore_type=ignore_type)
        return diff_of(asked, asked.checkpoint(a), asked.checkpoint(b), rules)

    return await desk_of(request).ask(request, work)


def diff_of(asked: Asked, a: tuple[Run, int], b: tuple[Run, int], rules: object = None) -> Shape:
    """`{a, b, differ, changes, ignored, remarks}` of two states, each by its run and step."""
    from agent_tt.comparing.values.ignoring import Ignoring
    from agent_tt.comparing.values.state_diff import diff_states

    ignoring = rules if isinstance(rules, Ignoring) else Ignoring.of()
    found = diff_states(asked.source.state(a[0].id, a[1]), asked.source.state(b[0].id, b[1]), ignoring)
    return {
        "a": f"{a[0].id}@{a[1]}",
        "b": f"{b[0].id}@{b[1]}",
        "differ": found.differ,
        "changes": [change.to_json() for change in found],
        "ignored": [each.to_json() for each in found.ignored],
        "remarks": [*found.remarks()],
    }


@router.get("/runs/{run}/blame", response_model=models.BlameAnswer)
async def blame(
    request: Request,
    run: RunId,
    path: Text,
    step: Annotated[int | None, Query(ge=0, le=999_999_999, description="the last one where none is named")] = None,
    limit: Most = 100,
) -> Response:
    """Say who wrote a value of the state, and what caused it."""
    from agent_tt.querying.provenance.blaming import blame_value

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        at = asked.source.step_count(found.id) if step is None else step
        asked.step(found, at)
        return blame_value(asked.source, found.id, path, at, limit=limit, cancelled=asked.cancelled).to_json()

    return await desk_of(request).ask(request, work)


@router.get("/find", response_model=models.FindAnswer)
async def find(
    request: Request,
    text: Annotated[Text, Query(min_length=1, description='all words, "phrases", in:FIELD, tool:NAME, step:10-20')],
    run: Annotated[Many, Query(description="only in runs of these ids")] = [],  # noqa: B006
    field: Annotated[list[_Field], Query(description="only in these fields", max_length=20)] = [],  # noqa: B006
    regex: bool = False,  # noqa: FBT001, FBT002  a query of FastAPI
    by: Annotated[Literal["rank", "step"], Query(description="the best first, or every place")] = "rank",
    limit: Most = 50,
) -> Response:
    """Search everything that was recorded."""
    from agent_tt.querying.search.finder import Finder
    from agent_tt.querying.search.query import parse

    def work(asked: Asked) -> Shape:
        query = parse(text, regex=regex, fields=tuple(field))
        runs = [asked.run(each).id for each in dict.fromkeys(run)] if run else None
        source = asked.source if runs else _whole(asked)
        use_index = False if isinstance(source, RedactedRuns) else None  # an index holds what is taken out here
        with closing(Finder(source, use_index=use_index)) as finder:
            found = finder.found(query, runs, by=by, limit=limit, cancelled=asked.cancelled)
            unread = () if found.hits else finder.unread(runs, cancelled=asked.cancelled)
        return find_answer(found, [f"{each.name}: {words}" for each, words in unread])

    return await desk_of(request).ask(request, work)


def _whole(asked: Asked) -> RunSource:
    """All runs as they may be shown: one that nobody redacted is enough for all to be redacted now."""
    for each in asked.opened.runs(archived=True):
        asked.run(each.id)
        if asked.source is not asked.opened:
            break
    return asked.source


@router.get("/runs/{run}/where", response_model=models.WhereAnswer)
async def where(request: Request, run: RunId, expression: Annotated[Text, Query(min_length=1)]) -> Response:
    """Say after which steps an expression holds: `state.budget < 0`."""
    return await desk_of(request).ask(request, lambda asked: where_answer(asked.source, asked.run(run), expression))


@router.get("/compare", response_model=models.CompareAnswer)
async def compare(request: Request, a: RunRef, b: RunRef) -> Response:
    """Compare two runs by what their steps did."""
    return await desk_of(request).ask(request, lambda asked: compared(asked, asked.run(a), asked.run(b)))


def compared(asked: Asked, a: Run, b: Run) -> Shape:
    """`agent-tt compare --json` with `differs`, null where something could not be read and nothing else differs."""
    from agent_tt.comparing.runs.comparison import compare_runs

    found = compare_runs(asked.source, a, asked.source, b, cancelled=asked.cancelled)
    is_known = found.differs or (found.is_over and not found.unread)
    return {**found.to_json(), "differs": found.differs if is_known else None}


@router.get("/runs/{run}/effects", response_model=models.EffectsAnswer)
async def effects(request: Request, run: RunId) -> Response:
    """Say what a run did to the world."""
    return await desk_of(request).ask(request, lambda asked: effects_answer(asked.source, asked.run(run)))


@router.get("/runs/{run}/steps/{step}/links", response_model=models.LinksAnswer)
async def links(request: Request, run: RunId, step: StepNumber) -> Response:
    """Say which steps fed a step, and which it fed: what is recorded apart from what equal texts suggest."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        asked.step(found, step)
        return links_answer(asked.source, found, step, asked.cancelled)

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}/range", response_model=models.RangeAnswer)
async def some_steps(
    request: Request,
    run: RunId,
    first: Annotated[int, Query(ge=0, le=MOST_STEPS, description="the first step")] = 1,
    last: Annotated[
        int | None, Query(ge=0, le=MOST_STEPS, description="the last step, which belongs to it; that of the run")
    ] = None,
) -> Response:
    """Say what some steps in a row alone took, cost, wrote and changed."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        end = asked.source.step_count(found.id) if last is None else last
        asked.step(found, end)
        if first > end:
            raise UsageError(f"step {first} comes after step {end}", hint="Name the earlier step as the first.")
        return steps_answer(asked.source, found, first, end)

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}/oddities", response_model=models.OdditiesAnswer)
async def oddities(request: Request, run: RunId) -> Response:
    """Say what is odd about a run."""
    return await desk_of(request).ask(request, lambda asked: oddities_answer(asked.source, asked.run(run)))


@router.get("/runs/{run}/kept-replays", response_model=models.KeptReplays)
async def kept_replays(request: Request, run: RunId) -> Response:
    """List the offline replays of a run that were kept, newest first."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        return {
            "run": found.id,
            "replays": [replay_shape(each) for each in asked.source.replays(found.id)],
        }

    return await desk_of(request).ask(request, work)


@router.get("/statistics", response_model=models.StatisticsAnswer)
async def statistics(
    request: Request,
    by: Annotated[_By, Query(description="what runs or calls are grouped by")] = "agent",
    agent: Annotated[str | None, Query(max_length=512, description="only runs of this entry point")] = None,
    since: Annotated[str | None, Query(max_length=64, description="30d, 12h, 2026-03-02")] = None,
    limit: Most = 10,
) -> Response:
    """Count runs, tokens, cost, replays and errors."""

    def work(asked: Asked) -> Shape:
        chosen = Chosen(agent, None if since is None else moment(since, time.time_ns() // 1000), limit)
        source = asked.source
        whole = source.statistics(chosen)
        if agent is not None and not whole.whole.runs and not source.statistics(Chosen(agent, None, limit)).whole.runs:
            raise NotFound(f"no run has the entry point {agent[:200]!r}")
        runs = {str(by): source.run_groups(chosen, cast("RunGroups", by))} if by in _RUN_GROUPS else {}
        calls = {str(by): source.call_groups(chosen, cast("CallGroups", by))} if by in _CALL_GROUPS else {}
        return statistics_shape(whole, runs, calls, source.growth(chosen) if by == "day" else None)

    return await desk_of(request).ask(request, work)
