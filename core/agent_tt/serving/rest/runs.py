"""Runs, steps, calls and states, as they were recorded."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response

from agent_tt._version import __version__
from agent_tt.codec.paths import get
from agent_tt.errors import InvalidPath, PathNotFound, StepNotFound
from agent_tt.model.as_json import time_text
from agent_tt.model.kinds import RunStatus
from agent_tt.querying.absent import not_there
from agent_tt.querying.places import path_in, written_path
from agent_tt.serving.looking import state_note
from agent_tt.serving.references import step_of
from agent_tt.serving.rest import models
from agent_tt.serving.rest.desk import Asked, desk_of, no_run
from agent_tt.serving.rest.ids import MOST_STEPS, CallNumber, Most, RunId, StepNumber, Text
from agent_tt.shapes.answers import calls_of
from agent_tt.shapes.records import (
    call_shape,
    input_shape,
    labels_shape,
    notes_shape,
    run_shapes,
    step_shape,
)

if TYPE_CHECKING:
    from agent_tt.model import Call, Run
    from agent_tt.shapes.records import Shape

__all__ = ["router"]

router = APIRouter(prefix="/api", tags=["runs"])


@router.get("/store", response_model=models.StoreAnswer)
async def store(request: Request) -> Response:
    """What is served, and what may be done with it."""
    desk = desk_of(request)

    def work(asked: Asked) -> Shape:
        leave = None if desk.starter is None else desk.starter.leave
        return {
            "store": str(asked.source.path),
            "version": desk.version(),
            "agent_tt": __version__,
            "read_only": desk.read_only,
            "may_fork": leave is not None and not desk.read_only,
            "may_write": [*leave.allow] if leave is not None else [],
            "may_ask": [*leave.ask] if leave is not None else [],
            "capabilities": asdict(asked.source.capabilities),
        }

    return await desk.ask(request, work)


@router.get("/runs", response_model=models.Runs)
async def runs(
    request: Request,
    name: Annotated[str | None, Query(max_length=512, description="only runs of exactly this name")] = None,
    status: Annotated[RunStatus | None, Query()] = None,
    tag: Annotated[str | None, Query(max_length=512)] = None,
    archived: Annotated[bool, Query(description="archived ones too")] = False,  # noqa: FBT002  a query of FastAPI
    limit: Most = 50,
    after: Annotated[str | None, Query(max_length=512, description="the id of the last run of the page before")] = None,
) -> Response:
    """List runs, newest first."""

    def work(asked: Asked) -> Shape:
        opened = asked.opened
        found = [
            run
            for run in opened.runs(archived=archived)
            if (name is None or run.name == name)
            and (status is None or run.status == status)
            and (tag is None or tag in run.tags)
        ]
        if after is not None:
            ids = [run.id for run in found]
            if after not in ids:
                raise no_run(after)
            found = found[ids.index(after) + 1 :]
        page = [asked.shown(run) for run in found[:limit]]
        return {"runs": [*run_shapes(opened, page)], "next": page[-1].id if len(found) > limit else None}

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}", response_model=models.RunAnswer)
async def one_run(request: Request, run: RunId) -> Response:
    """Show one run."""
    return await desk_of(request).ask(request, lambda asked: run_shapes(asked.opened, [asked.run(run)])[0])


@router.get("/runs/{run}/forks", response_model=models.Runs)
async def forks(
    request: Request,
    run: RunId,
    deep: Annotated[bool, Query(description="forks of forks too")] = False,  # noqa: FBT002  a query of FastAPI
) -> Response:
    """List what was forked from a run, oldest first."""

    def work(asked: Asked) -> Shape:
        found = asked.opened.forks(asked.run(run).id, deep=deep)
        return {"runs": [*run_shapes(asked.opened, map(asked.shown, found))], "next": None}

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}/notes", response_model=models.Notes)
async def notes(request: Request, run: RunId) -> Response:
    """List the notes about a run, and the names of its checkpoints."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        return {
            "run": found.id,
            "notes": notes_shape(asked.source.notes(found.id)),
            "labels": labels_shape(asked.source.labels(found.id)),
        }

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}/steps", response_model=models.Steps)
async def steps(
    request: Request,
    run: RunId,
    start: Annotated[int, Query(ge=1, le=MOST_STEPS, description="the first step")] = 1,
    limit: Most = 50,
) -> Response:
    """List steps with their calls, in order."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        source, last = asked.source, asked.source.step_count(found.id)
        page = source.steps(found.id, start, start + limit)
        return {
            "run": found.id,
            "steps": [step_shape(step, calls_of(source, found, step)) for step in page],
            "last": last,
            "next": start + limit if last >= start + limit else None,
        }

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}/steps/{step}", response_model=models.StepAnswer)
async def one_step(request: Request, run: RunId, step: StepNumber) -> Response:
    """Show one step with its calls; 0 is the input."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        asked.step(found, step)
        own = step_of(asked.source, found, step)
        return input_shape(found.started_us) if own is None else step_shape(own, calls_of(asked.source, found, own))

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}/steps/{step}/calls/{call}", response_model=models.CallAnswer)
async def one_call(request: Request, run: RunId, step: StepNumber, call: CallNumber) -> Response:
    """Show one call with its arguments and its result."""
    return await desk_of(request).ask(request, lambda asked: call_shape(_call(asked, asked.run(run), step, call)))


def _call(asked: Asked, run: Run, step: int, number: int) -> Call:
    asked.step(run, step)
    calls = asked.source.calls(run.id, step) if step else []
    found = next((call for call in calls if call.number == number), None)
    if found is None:
        raise StepNotFound(f"step {step} has no call {number}: it has {len(calls)}")
    return found


@router.get("/runs/{run}/steps/{step}/calls/{call}/deliveries", response_model=models.Deliveries)
async def deliveries(request: Request, run: RunId, step: StepNumber, call: CallNumber) -> Response:
    """List the pieces of an answer that came in pieces; none where it came whole, or where they may not be shown."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        _call(asked, found, step, call)
        return {
            "run": found.id,
            "step": step,
            "call": call,
            "deliveries": [
                {"number": each.number, "kind": each.kind, "at": time_text(each.at_us), "data": each.data}
                for each in asked.source.deliveries(found.id, step, call)
            ],
        }

    return await desk_of(request).ask(request, work)


@router.get("/runs/{run}/states/{step}", response_model=models.StateAnswer)
async def state(request: Request, run: RunId, step: StepNumber, path: Text = "") -> Response:
    """Give the state after a step, or the value at a path in it: `messages[-1].content`."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        asked.step(found, step)
        return state_shape(asked, found, step, path)

    return await desk_of(request).ask(request, work)


def state_shape(asked: Asked, run: Run, step: int, text: str) -> Shape:
    """`{run, step, path, value, note}`.

    Raises:
        InvalidPath: the path cannot be read.
        PathNotFound: the state has nothing there.
    """
    whole = asked.source.state(run.id, step)
    try:
        path = path_in(whole, text) if text else ()
        value = get(whole, path)
    except (InvalidPath, PathNotFound) as error:
        raise not_there(asked.source, run.id, whole, text, step, error) from error
    return {
        "run": run.id,
        "step": step,
        "path": written_path(whole, path),
        "value": value,
        "note": state_note(asked.source, run, step),
    }
