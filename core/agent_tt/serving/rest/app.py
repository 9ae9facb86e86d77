"""The application: all routes, what every answer has in common, and the description of the interface."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from agent_tt._version import __version__
from agent_tt.serving.rest import asking, events, forks, goldens, models, questions, received, runs, source, traces
from agent_tt.serving.rest.failures import failure, failure_body, flaws_of
from agent_tt.serving.rest.gate import OPEN_PATH, Gate, Room

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agent_tt.serving.rest.audit import Audit
    from agent_tt.serving.rest.desk import Desk

__all__ = ["application", "gated"]

_FAILURES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": models.Failure, "description": "What was asked cannot be, may not be, or is not there."},
    "5XX": {"model": models.Failure, "description": "The store cannot be read, is busy, or it takes too long."},
}
_KINDS = {404: "not_found", 405: "method_not_allowed"}

DESCRIPTION = (
    "Recorded runs of agents: their steps, calls and states, questions about them, and, where that was allowed, forks."
    " An id names exactly what has it. Every error is `{error: {kind, message, hint}}`: 404 for what is not there, 422"
    " for what cannot be read, 403 for what was not allowed."
)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Let go of the store when the server ends."""
    yield
    app.state.desk.forget()


def application(desk: Desk) -> FastAPI:
    """The application, which has to stand behind a gate.

    Args:
        desk: where requests are worked on.
    """
    app = FastAPI(
        title="agent-tt",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        responses=_FAILURES,
        lifespan=_lifespan,
    )
    app.state.desk = desk
    app.state.lookout = events.Lookout(desk)
    known = [HTTPBearer(auto_error=False, description="the token that the server was started with")]
    for router in (
        runs.router,
        asking.router,
        goldens.router,
        traces.router,
        forks.router,
        questions.router,
        events.router,
        received.router,
        source.router,
    ):
        app.include_router(router, dependencies=[_declared(each) for each in known])
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unanswered)
    app.add_exception_handler(Exception, _failed)

    @app.get(OPEN_PATH, response_model=models.Health, tags=["server"])
    async def health() -> JSONResponse:
        """Say that the server is there; the one path that takes no token."""
        return JSONResponse({"status": "ok"})

    return app


def gated(
    app: FastAPI, *, token: str, hosts: frozenset[str], origins: frozenset[str], audit: Audit, room: Room | None = None
) -> Gate:
    """The application behind its gate."""
    return Gate(app, token=token, hosts=hosts, origins=origins, room=room or Room(), audit=audit)


def _declared(scheme: HTTPBearer) -> Any:
    """What says in the description that a token is wanted; the gate has checked it already."""
    from fastapi import Depends

    return Depends(scheme)


async def _malformed(_request: Request, error: Exception) -> Response:
    flaws = flaws_of(error.errors()) if isinstance(error, RequestValidationError) else []
    body = failure_body("malformed", "the request cannot be read", "See /openapi.json.", flaws=flaws)
    return Response(body, 422, media_type="application/json")


async def _unanswered(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    told = str(error.detail) if isinstance(error, HTTPException) else ""
    kind = _KINDS.get(status, "malformed")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return Response(
        failure_body(kind, told[:1].lower() + told[1:], "See /openapi.json."),
        status,
        headers,
        media_type="application/json",
    )


async def _failed(_request: Request, error: Exception) -> Response:
    status, body = failure(error)
    return Response(body, status, media_type="application/json")
