"""Goldens of the folder that the server was started with: listed, shown, and run as far as agents may be started."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request, Response

from agent_tt.errors import NotFound
from agent_tt.exporting.redacted import RedactedRuns, is_unredacted
from agent_tt.redaction.values import redact
from agent_tt.serving.rest import models, running_models
from agent_tt.serving.rest.desk import Asked, desk_of
from agent_tt.serving.rest.forks import starter_of
from agent_tt.serving.rest.ids import RunId
from agent_tt.shapes.records import step_shape

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.golden.running import GoldenResult
    from agent_tt.shapes.records import Shape

__all__ = ["router"]

router = APIRouter(prefix="/api/goldens", tags=["goldens"])

_MOST_STEPS: Final = 500
"""Steps of the run that came, in one answer."""


@router.get("", response_model=models.Goldens)
async def goldens(request: Request) -> Response:
    """List the goldens of the folder that the server was started with."""
    from agent_tt.golden.golden_file import find_goldens
    from agent_tt.golden.listing import golden_heads

    def work(asked: Asked) -> Shape:
        folder = asked.desk.goldens
        heads: list[Wire] = [*golden_heads(find_goldens(folder))] if folder.is_dir() else []
        return {"goldens": heads}

    return await desk_of(request).ask(request, work)


@router.get("/{name}", response_model=models.GoldenAnswer)
async def golden(request: Request, name: RunId) -> Response:
    """Show a golden: what is run, and its rules."""
    from agent_tt.golden.golden_file import read_golden
    from agent_tt.golden.listing import golden_shape

    def work(asked: Asked) -> Shape:
        return {**golden_shape(read_golden(_file_of(asked, name))), "name": name}

    return await desk_of(request).ask(request, work)


@router.post("/{name}/run", response_model=running_models.GoldenRun)
async def run(request: Request, name: RunId, wanted: running_models.GoldenWanted) -> Response:
    """Run a golden: its agent as the code is now, offline, every call answered as it was recorded; and judge it.

    No call is made for real, and no model is asked. A command that one of its rules names is run, as with `agent-tt
    test`; none that a client names.
    """
    from agent_tt.golden.golden_file import read_golden

    def work(asked: Asked) -> Wire:
        starter = starter_of(asked.desk)
        found = read_golden(_file_of(asked, name))
        seconds = min(starter.seconds(wanted.seconds), asked.desk.seconds)
        result = starter.golden(found, seconds=seconds, cancelled=asked.cancelled)
        asked.did |= {"did": "tested", "golden": name, "outcome": result.outcome}
        return redact({**result.to_json(), "name": name, "steps": _steps(result)})

    return await desk_of(request).ask(request, work, writes=True)


def _file_of(asked: Asked, name: str) -> Path:
    """The file of a golden.

    Raises:
        NotFound: there is none of exactly this name.
    """
    from agent_tt.golden.golden_file import find_goldens

    folder = asked.desk.goldens
    for path in find_goldens(folder) if folder.is_dir() else ():
        if path.stem == name:
            return path
    raise NotFound(f"there is no golden {name[:200]!r}", hint="GET /api/goldens lists them.")


def _steps(result: GoldenResult) -> list[Wire]:
    """The steps of the run that came; none where none did."""
    from agent_tt.store import open_store

    if result.now is None:
        return []
    with closing(open_store(result.store, read_only=True)) as opened:
        found = opened.run(result.now)
        source = RedactedRuns(opened) if is_unredacted(opened, found) else opened
        steps = source.steps(found.id, 1, _MOST_STEPS + 1)
        return [step_shape(step, source.calls(found.id, step.number)) for step in steps]
