"""Runs as traces with checkpoints, by the paths of AgentTrace: a trace is a run, a checkpoint a state that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response

from agent_tt.errors import Refused, StepNotFound, UsageError
from agent_tt.model.as_json import time_text
from agent_tt.protocols import Store
from agent_tt.serving.rest import running_models as models
from agent_tt.serving.rest.desk import Asked, answered, desk_of
from agent_tt.serving.rest.ids import CheckpointId, Most, RunId
from agent_tt.shapes.records import run_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.model import Label, Run, Step
    from agent_tt.shapes.records import Shape

__all__ = ["router"]

router = APIRouter(prefix="/api", tags=["checkpoints"])


@router.get("/traces/{trace_id}/checkpoints", response_model=models.Checkpoints)
async def checkpoints(
    request: Request,
    trace_id: RunId,
    offset: Annotated[int, Query(ge=0, le=999_999_999)] = 0,
    limit: Most = 50,
) -> Response:
    """List the checkpoints of a run: its input, and the state after each step of which one is kept."""

    def work(asked: Asked) -> Shape:
        run = asked.run(trace_id)
        labels = asked.source.labels(run.id)
        kept = [None, *(step for step in asked.source.steps(run.id) if step.seq is not None)]
        page = kept[offset : offset + limit]
        return {
            "trace_id": run.id,
            "checkpoint_count": len(kept),
            "checkpoints": [_head(asked, run, step, labels) for step in page],
            "offset": offset,
            "limit": limit,
            "has_more": offset + limit < len(kept),
        }

    return await desk_of(request).ask(request, work)


def _head(asked: Asked, run: Run, step: Step | None, labels: Mapping[int, Label]) -> Shape:
    number = 0 if step is None else step.number
    label = labels.get(number)
    return {
        "checkpoint_id": f"{run.id}@{number}",
        "trace_id": run.id,
        "span_id": f"step_{number}",
        "step": number,
        "name": None if label is None else label.name,
        "created_at": time_text(run.started_us if step is None else step.ended_us),
        "metadata": {} if label is None else dict(label.metadata),
        "can_replay": asked.desk.starter is not None and not asked.desk.read_only,
    }


@router.post(
    "/traces/{trace_id}/checkpoints",
    response_model=models.CheckpointsCreated,
    status_code=201,
    responses={200: {"model": models.CheckpointsCreated, "description": "Nothing new was written down."}},
)
async def create_checkpoints(request: Request, trace_id: RunId, wanted: models.NewCheckpoints) -> Response:
    """Give checkpoints a name or facts. The states themselves were kept while the run was recorded."""

    def work(asked: Asked) -> Response:
        run = asked.run(trace_id)
        known = {step.id: step for step in asked.source.steps(run.id)}
        chosen: list[Step | None] = []
        for span in dict.fromkeys(wanted.span_ids):
            if span != "step_0" and span not in known:
                raise StepNotFound(f"there is no step {span[:80]!r}: the last one is step_{run.steps}")
            step = known.get(span)
            if step is not None and step.seq is None:
                raise Refused(f"no state after {span} is kept: {step.why_unkept or 'it took none'}", runs=(run.name,))
            chosen.append(step)
        if wanted.auto and not chosen:
            chosen = [None, *(step for step in known.values() if step.seq is not None)]
        if not chosen:
            raise UsageError("no checkpoint is named", hint='Say "auto": true, or "span_ids": ["step_3"].')
        if wanted.name is not None and len(chosen) > 1:
            raise UsageError("one name is for one checkpoint", hint="Name one step, or none.")
        numbers = [0 if step is None else step.number for step in chosen]
        before = asked.source.labels(run.id)
        is_new = wanted.name is not None or bool(wanted.metadata)
        if is_new:
            _write(asked, run, numbers, wanted)
        created = sum(number not in before for number in numbers) if is_new else 0
        told: Shape = {
            "trace_id": run.id,
            "checkpoints_created": created,
            "checkpoint_ids": [f"{run.id}@{number}" for number in numbers],
        }
        return answered(told, 201 if is_new else 200)

    return await desk_of(request).ask(request, work, writes=True)


def _write(asked: Asked, run: Run, numbers: list[int], wanted: models.NewCheckpoints) -> None:
    marks = asked.marks()
    if wanted.name is not None:
        marks.name_checkpoint(run.id, numbers[0], wanted.name)
    for number in numbers if wanted.metadata else ():
        marks.set_metadata(run.id, wanted.metadata or {}, step=number)
    asked.did |= {"did": "labelled", "run": run.id, "steps": [*numbers]}


@router.get("/checkpoints/{checkpoint_id}", response_model=models.CheckpointAnswer)
async def checkpoint(request: Request, checkpoint_id: CheckpointId) -> Response:
    """Give a checkpoint with its state."""

    def work(asked: Asked) -> Shape:
        run, step = _kept(asked, checkpoint_id)
        number = 0 if step is None else step.number
        found = asked.source.digest(run.id, number)
        model = run_shape(run)["model"]
        return {
            **_head(asked, run, step, asked.source.labels(run.id)),
            "state": asked.source.state(run.id, number),
            "configuration": model if isinstance(model, dict) else {},
            "digest": None if found is None else found.hex(),
        }

    return await desk_of(request).ask(request, work)


def _kept(asked: Asked, checkpoint: str) -> tuple[Run, Step | None]:
    """The run and the step of a checkpoint, None for the input.

    Raises:
        RunNotFound, StepNotFound: there is none, or its state is not kept.
    """
    run, number = asked.checkpoint(checkpoint)
    step = next(iter(asked.source.steps(run.id, number, number + 1)), None) if number else None
    if step is not None and step.seq is None:
        why = step.why_unkept.partition(";")[0] or "it took none"
        raise StepNotFound(
            f"step {number} has no checkpoint: {why}", hint="GET …/checkpoints lists those that there are."
        )
    return run, step


@router.delete("/checkpoints/{checkpoint_id}", response_model=models.CheckpointDeleted)
async def delete_checkpoint(request: Request, checkpoint_id: CheckpointId) -> Response:
    """Drop the state of a checkpoint for good. The step and its calls stay, and the run says that it went.

    The first and the last state of a run stay, and so do those that forks begin with.
    """
    from agent_tt.redacting.beside import still_held
    from agent_tt.redacting.dropping import drop_checkpoints

    def work(asked: Asked) -> Shape:
        run, step = _kept(asked, checkpoint_id)
        number = 0 if step is None else step.number
        if not isinstance(asked.opened, Store):
            asked.marks()  # which says why nothing can be written
            raise UsageError("no state can be dropped from a file of another system")
        asked.opened.close()  # what goes is to be gone from the log too
        asked.desk.forget()
        gone, is_clean = drop_checkpoints(asked.desk.store, run, [number])
        if not gone:
            raise StepNotFound(f"step {number} has no checkpoint any more")
        asked.did |= {"did": "dropped", "run": run.id, "step": number}
        left = still_held(asked.desk.store, is_clean=is_clean) or None
        return {"status": "deleted", "checkpoint_id": f"{run.id}@{number}", "clean": is_clean, "left": left}

    return await desk_of(request).ask(request, work, writes=True)
