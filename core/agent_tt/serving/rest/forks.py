"""Running agents again, as far as whoever started the server allows: forks, replays from checkpoints, offline replays.

What a fork asks about waits for an answer over the same server: see `questions` beside this.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import anyio
from fastapi import APIRouter, Request, Response

from agent_tt.codec.encode import encode
from agent_tt.codec.paths import format_path
from agent_tt.codec.sameness import identical
from agent_tt.errors import AgentTTError, RunNotFound, UsageError
from agent_tt.forking.editing.forms import read_edit
from agent_tt.forking.editing.request_edits import model_edit, parameter_edit
from agent_tt.forking.editing.written import state_edits
from agent_tt.forking.terms import terms_from
from agent_tt.model.as_json import time_text
from agent_tt.redaction.values import redact
from agent_tt.serving.rest import running_models as models
from agent_tt.serving.rest.asking import diff_of
from agent_tt.serving.rest.desk import Asked, Desk, answered, desk_of
from agent_tt.serving.rest.failures import NotAllowed
from agent_tt.serving.rest.ids import CheckpointId, RunId
from agent_tt.shapes.answers import fork_answer
from agent_tt.shapes.plans import graph_shape, plan_shape
from agent_tt.shapes.records import error_shape, run_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.terms import Terms
    from agent_tt.model import Edit, Run
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt.serving.starting import Starter
    from agent_tt.shapes.records import Shape

__all__ = ["router", "starter_of"]

router = APIRouter(prefix="/api", tags=["forks"])

_LOOK_SECONDS: Final = 0.05
_PARAMETERS: Final = ("temperature", "top_p", "max_tokens", "seed")
"""What is overridden of requests to models, and not told to the agent."""

_STATUSES: Final[Mapping[str, str]] = {
    "running": "running",
    "succeeded": "completed",
    "failed": "failed",
    "crashed": "failed",
    "interrupted": "stopped",
}


def starter_of(desk: Desk) -> Starter:
    """What starts agents.

    Raises:
        NotAllowed: nothing does.
    """
    if desk.starter is None or desk.read_only:
        raise NotAllowed("this server starts no agents", hint="It is started with --allow-forks where it may.")
    return desk.starter


def _start(asked: Asked, plan: ForkPlan) -> RunHandle:
    """Start the agent of a fork; what it asks about waits."""
    handle = starter_of(asked.desk).fork(plan)
    asked.did |= {"did": "forked", "run": handle.run_id, "from": f"{plan.run.id}@{plan.step}"}
    return handle


def _edits(given: Sequence[models.EditText]) -> list[Edit]:
    return [read_edit(each.form, each.text) for each in given]


# -------------------------------------------------------------------- forks


@router.post(
    "/runs/{run}/forks",
    response_model=models.ForkAnswer,
    status_code=201,
    responses={200: {"model": models.Plan, "description": "A dry run: what would run."}},
)
async def fork(request: Request, run: RunId, wanted: models.ForkRequest) -> Response:
    """Run the agent of a run again from a step, with edits, for real; with `dry_run` only say what would run.

    Tools that write are denied but for those that whoever started the server allowed.
    """

    def work(asked: Asked) -> Response:
        starter = starter_of(asked.desk)
        found = asked.run(run)
        terms = terms_from(executor=wanted.executor, overrides=wanted.overrides or {}, stop_at=wanted.stop_at)
        plan = starter.plan(
            asked.opened,
            found,
            wanted.at,
            _edits(wanted.edits),
            terms=terms,
            seconds=wanted.seconds,
            deny=wanted.deny,
            name=wanted.name,
            expect=wanted.expect,
        )
        if wanted.dry_run:
            return answered(redact(plan_shape(plan) | graph_shape(plan)))
        handle = _start(asked, plan)
        return answered(_fork(asked, handle.run_id), 201, {"location": f"/api/runs/{handle.run_id}/fork"})

    return await desk_of(request).ask(request, work, writes=True)


@router.get("/runs/{run}/fork", response_model=models.ForkAnswer)
async def fork_so_far(request: Request, run: RunId) -> Response:
    """Say what a fork did and was kept from, so far."""
    return await desk_of(request).ask(request, lambda asked: _fork(asked, run))


def _fork(asked: Asked, run_id: str) -> Shape:
    from agent_tt.comparing.runs.without_effect import edits_without_effect
    from agent_tt.querying.expecting import hoped_of

    found = asked.run(run_id)
    if found.parent is None:
        raise RunNotFound(f"{found.id} is no fork", hint="GET /api/runs/RUN/forks lists those of a run.")
    return fork_answer(asked.source, found, edits_without_effect(found), hoped_of(asked.source, found))


@router.post("/runs/{run}/stop", response_model=models.Stopped)
async def stop(request: Request, run: RunId) -> Response:
    """Stop a fork that this server started; one that has ended is left as it is."""

    def work(asked: Asked) -> Shape:
        found = asked.run(run)
        starter = starter_of(asked.desk)
        for handle in starter.running():
            if handle.run_id == found.id:
                handle.stop()
                asked.did |= {"did": "stopped", "run": found.id}
        if found.id not in starter.known:
            raise NotAllowed(f"{found.id} was not started by this server")
        return {"run": found.id, "status": asked.opened.run(found.id).status}

    return await desk_of(request).ask(request, work, writes=True)


@router.post("/runs/{run}/replay", response_model=models.ReplayReport)
async def replay_offline(request: Request, run: RunId, wanted: models.OfflineReplay) -> Response:
    """Run the agent of a run again offline, every call answered as it was recorded: does it still do what it did?"""

    def work(asked: Asked) -> object:
        starter = starter_of(asked.desk)
        found = asked.run(run)
        report = starter.replay(
            asked.opened,
            found,
            observe=wanted.observe,
            seconds=min(starter.seconds(wanted.seconds), asked.desk.seconds),
            cancelled=asked.cancelled,
        )
        asked.did |= {"did": "replayed", "run": found.id, "verdict": report.verdict}
        return redact(report.to_json())

    return await desk_of(request).ask(request, work, writes=True)


# -------------------------------------------------------------------- replays from checkpoints


@router.post("/checkpoints/{checkpoint_id}/replay", response_model=models.ReplayAnswer, status_code=201)
async def replay(request: Request, checkpoint_id: CheckpointId, wanted: models.ReplayRequest) -> Response:
    """Let the agent of a run go on from a checkpoint, in a run of its own; the recorded run is never changed.

    Answered when it has ended, or after `wait_seconds`: then its `status` is `running`, and `GET /api/replays/ID` says
    more.
    """
    desk = desk_of(request)
    started: list[RunHandle] = []

    def work(asked: Asked) -> Shape:
        starter = starter_of(asked.desk)
        run, step = asked.checkpoint(checkpoint_id)
        edits, terms = _as_edits(asked, run, step, wanted)
        plan = starter.plan(
            asked.opened,
            run,
            step,
            edits,
            terms=terms,
            seconds=wanted.timeout_seconds,
            deny=wanted.deny,
            name=wanted.name,
            expect=wanted.expect,
            allows=not wanted.dry_run,
        )
        started.append(_start(asked, plan))
        return {}

    answer = await desk.ask(request, work, writes=True)
    if not started:
        return answer
    (handle,) = started
    ends = time.monotonic() + wanted.wait_seconds
    while handle.poll() is None and time.monotonic() < ends and not desk.stopping.is_set():
        await anyio.sleep(_LOOK_SECONDS)
    return await desk.ask(
        request,
        lambda asked: answered(
            _replay(asked, _fork_of(asked, handle.run_id)), 201, {"location": f"/api/replays/{handle.run_id}"}
        ),
    )


def _as_edits(asked: Asked, run: Run, step: int, wanted: models.ReplayRequest) -> tuple[list[Edit], Terms]:
    """What is changed first, and on what terms the agent goes on."""
    edits: list[Edit] = []
    if wanted.modified_input:
        changes = {format_path((key,)): value for key, value in wanted.modified_input.items()}
        edits += state_edits(asked.opened.state(run.id, step), changes)
    overrides: dict[str, Any] = dict(wanted.agent_overrides or {})
    model = overrides.pop("model", None)
    if model is not None:
        if not isinstance(model, str):
            raise UsageError("a model is named by a text")
        edits.append(model_edit(model))
    edits += [parameter_edit(name, encode(overrides.pop(name))) for name in _PARAMETERS if name in overrides]
    odd = [name for name in overrides if not name.isidentifier()]
    if odd:
        raise UsageError(f"{odd[0][:80]!r} cannot be overridden: it is no name of a parameter")
    stop_at = None if wanted.stop_at_span is None else int(wanted.stop_at_span.partition("_")[2])
    executor = "mock" if wanted.dry_run and wanted.executor is None else wanted.executor
    return edits + _edits(wanted.edits), terms_from(executor=executor, overrides=overrides, stop_at=stop_at)


def _fork_of(asked: Asked, run_id: str) -> Run:
    """A run that goes on from another one.

    Raises:
        RunNotFound: there is none of exactly this id.
    """
    found = asked.run(run_id)
    if found.parent is None or found.fork_step is None:
        raise RunNotFound(
            f"there is no replay {run_id[:200]!r}", hint="GET /api/traces/ID/replays lists those of a run."
        )
    return found


def _replay_head(run: Run) -> Shape:
    return {
        "replay_id": run.id,
        "checkpoint_id": f"{run.parent}@{run.fork_step}",
        "trace_id": run.parent,
        "status": _STATUSES.get(run.status, "unknown"),
        "started_at": time_text(run.started_us),
        "completed_at": time_text(run.ended_us),
        "duration_ms": None if run.ended_us is None else (run.ended_us - run.started_us) / 1000,
    }


def _summary(asked: Asked, run: Run) -> Shape | None:
    """Whether it ended otherwise than the run that it goes on from; None where nobody knows."""
    if run.status == "running" or run.parent is None:
        return None
    try:
        parent = asked.run(run.parent)
        found = diff_of(asked, (parent, parent.steps), (run, run.steps))
    except AgentTTError:
        return None
    return {"has_changes": found["differ"], "summary": _in_words(found)}


def _in_words(found: Shape) -> str:
    changes = found["changes"]
    count = len(changes) if isinstance(changes, list) else 0
    return f"{count} change{'s' * (count != 1)} of the last state" if found["differ"] else "the last states are equal"


def _replay(asked: Asked, run: Run) -> Shape:
    return {
        **_replay_head(run),
        "output": asked.source.state(run.id, run.steps),
        "error": error_shape(run.error),
        "diff": _summary(asked, run),
        "run": run_shape(run),
    }


@router.get("/replays/{replay_id}", response_model=models.ReplayAnswer)
async def one_replay(request: Request, replay_id: RunId) -> Response:
    """Give a replay, as far as it is."""
    return await desk_of(request).ask(request, lambda asked: _replay(asked, _fork_of(asked, replay_id)))


@router.get("/replays/{replay_id}/diff", response_model=models.ReplayDiff)
async def replay_diff(request: Request, replay_id: RunId) -> Response:
    """Say what differs between how a run ended and how its replay did, or stands by now."""

    def work(asked: Asked) -> Shape:
        run = _fork_of(asked, replay_id)
        parent = asked.run(run.parent or "")
        found = diff_of(asked, (parent, parent.steps), (run, run.steps))
        old = _by_key(asked.source.state(parent.id, parent.steps))
        new = _by_key(asked.source.state(run.id, run.steps))
        both = [key for key in old if key in new]
        return {
            "replay_id": run.id,
            "status": _STATUSES.get(run.status, "unknown"),
            "has_changes": found["differ"],
            "summary": _in_words(found),
            "added": {key: value for key, value in new.items() if key not in old},
            "removed": {key: value for key, value in old.items() if key not in new},
            "changed": {key: {"old": old[key], "new": new[key]} for key in both if not identical(old[key], new[key])},
            "unchanged": [key for key in both if identical(old[key], new[key])],
            "changes": found["changes"],
        }

    return await desk_of(request).ask(request, work)


def _by_key(state: Any) -> dict[str, Any]:
    """A state by its keys; one that has none stands under no name."""
    return state if isinstance(state, dict) else {"": state}


@router.get("/traces/{trace_id}/replays", response_model=models.TraceReplays)
async def replays(request: Request, trace_id: RunId) -> Response:
    """List the replays of a run, the oldest first: what was forked from it."""

    def work(asked: Asked) -> Shape:
        run = asked.run(trace_id)
        listed: list[Any] = []
        for each in asked.opened.forks(run.id):
            found = asked.run(each.id)
            summary = _summary(asked, found)
            listed.append({**_replay_head(found), "has_changes": None if summary is None else summary["has_changes"]})
        return {"trace_id": run.id, "replay_count": len(listed), "replays": listed}

    return await desk_of(request).ask(request, work)
