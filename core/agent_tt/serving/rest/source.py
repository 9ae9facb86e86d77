"""Questions of `agent_tt.remote`, the typed client: each is one of `RunSource`, answered with whole records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Body, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from agent_tt.errors import UsageError
from agent_tt.remote.asked import QUESTIONS, answer
from agent_tt.remote.records import written
from agent_tt.serving.rest import models
from agent_tt.serving.rest.desk import Asked, desk_of
from agent_tt.serving.rest.ids import LONGEST_ID, LONGEST_TEXT, MOST_STEPS

__all__ = ["router"]

router = APIRouter(prefix="/api/source", tags=["client"])

if TYPE_CHECKING:
    _Question: TypeAlias = str
else:
    _Question = Literal[tuple(QUESTIONS)]  # the names of the table

_Step: TypeAlias = Annotated[int, Field(ge=-MOST_STEPS, le=MOST_STEPS + 1)]


class About(BaseModel):
    """What is asked about; each question takes some of it, and needs it."""

    model_config = ConfigDict(extra="forbid")
    run: str | None = Field(default=None, max_length=LONGEST_ID)
    ref: str | None = Field(default=None, max_length=LONGEST_ID)
    archived: bool = False
    limit: int | None = Field(default=None, ge=0, le=1_000_000)
    deep: bool = False
    step: _Step | None = None
    start: _Step = 1
    stop: _Step | None = None
    first: _Step = 0
    last: _Step | None = None
    call: _Step = 1
    path: list[str | int] = Field(default=[], max_length=200)
    wanted: dict[str, str] = Field(default={}, max_length=5)
    checkpoint: str = Field(default="", max_length=LONGEST_TEXT)
    own: bool = False


_NEEDED: Final = ("run", "ref", "step", "stop", "last")
"""What has no default that would do; `run` and `step` may be left out of some questions."""

_MAY_LACK: Final[dict[str, tuple[str, ...]]] = {
    "replays": ("run",),
    "questions": ("run",),
    "verify": ("run",),
    "anchor": ("step",),
    "steps": ("stop",),
    "call_heads": ("stop",),
    "damage": ("last",),
}
_KINDS: Final = ("kind", "name", "effect", "status", "lane")


@router.post("/{question}", response_model=models.SourceAnswer)
async def source(
    request: Request,
    question: _Question,
    about: About = Body(),  # noqa: B008  FastAPI's way
) -> Response:
    """Answer a question of the typed client. `agent_tt.remote` is the one that asks; its records may change with it."""

    def work(asked: Asked) -> dict[str, Any]:
        lacking = [
            name
            for name in QUESTIONS[question]
            if name in _NEEDED and getattr(about, name) is None and name not in _MAY_LACK.get(question, ())
        ]
        if lacking or not {*about.wanted} <= {*_KINDS}:
            raise UsageError(f"{question} lacks {', '.join(lacking) or 'what calls are asked for by'}")
        if question == "version":
            return {"value": asked.desk.version()}
        if question == "runs":
            found = asked.opened.runs(archived=about.archived, limit=about.limit)
            return {"value": written([asked.shown(run) for run in found])}
        if question == "run":
            return {"value": written(asked.shown(asked.opened.run(about.ref or "")))}
        if about.run is not None:
            asked.run(about.run)
        return {"value": answer(asked.source, question, about.model_dump())}

    return await desk_of(request).ask(request, work)
