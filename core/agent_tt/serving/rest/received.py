"""The paths that exporters of OpenTelemetry send to: `/v1/traces`, `/v1/logs`; metrics are refused."""

from __future__ import annotations

import functools

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from agent_tt.errors import AgentTTError
from agent_tt.serving.otlp.bodies import JSON, PROTOBUF, Signal, Unreadable, read_body, unpacked
from agent_tt.serving.otlp.receiver import Full, Receiver
from agent_tt.serving.otlp.replies import failed, taken
from agent_tt.serving.rest import models
from agent_tt.serving.rest.audit import DID
from agent_tt.serving.rest.desk import Asked, desk_of
from agent_tt.serving.rest.failures import NotAllowed, status_of

__all__ = ["router"]

router = APIRouter(tags=["OpenTelemetry"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": {"type": "object"}},
            PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
_ANSWERS: dict[int | str, dict[str, object]] = {
    200: {
        "description": "What was sent is on the disk; `partialSuccess` says what of it is not.",
        "content": {JSON: {"schema": {"type": "object"}}, PROTOBUF: {"schema": {"type": "string"}}},
    },
    "4XX": {
        "description": "Nothing of it was kept: `google.rpc.Status`, or an error as of all paths.",
        "content": {JSON: {"schema": {"type": "object"}}, PROTOBUF: {"schema": {"type": "string"}}},
    },
    "5XX": {
        "description": "Nothing of it was kept: after 503 it may be sent again.",
        "content": {JSON: {"schema": {"type": "object"}}, PROTOBUF: {"schema": {"type": "string"}}},
    },
}


@router.post("/v1/traces", response_class=Response, responses=_ANSWERS, openapi_extra=_BODY)
async def traces(request: Request) -> Response:
    """Take spans: each trace is a run, which grows while they come."""
    return await _take(request, "traces")


@router.post("/v1/logs", response_class=Response, responses=_ANSWERS, openapi_extra=_BODY)
async def logs(request: Request) -> Response:
    """Take records that say what a model was asked in a span; others are rejected, and counted."""
    return await _take(request, "logs")


@router.post("/v1/metrics", response_class=Response, status_code=501, responses=_ANSWERS, openapi_extra=_BODY)
async def metrics(request: Request) -> Response:
    """Refuse metrics: none are kept."""
    content = _content(request)
    hint = "Set OTEL_METRICS_EXPORTER=none where spans are sent here."
    return Response(
        failed(501, "not_kept", "metrics are not kept", hint, content if content == PROTOBUF else JSON),
        501,
        media_type=content if content == PROTOBUF else JSON,
    )


@router.get("/api/received", response_model=models.Received, tags=["runs"])
async def received(request: Request) -> Response:
    """Say of which traces spans came lately, and what became of them."""

    def work(asked: Asked) -> object:
        receiver: Receiver | None = asked.desk.receiver
        return {"traces": [] if receiver is None else receiver.told()}

    return await desk_of(request).ask(request, work)


def _content(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _take(request: Request, signal: Signal) -> Response:
    content, desk = _content(request), desk_of(request)
    try:
        async with desk.receiving:
            work = functools.partial(_taken, request, await request.body(), content, signal)
            answer = await anyio.to_thread.run_sync(work, limiter=desk.limiter)
    except AgentTTError as error:
        status = error.status if isinstance(error, Unreadable) else 503 if isinstance(error, Full) else status_of(error)
        form = content if content == PROTOBUF else JSON
        headers = {"retry-after": "5"} if status == 503 else None
        said = failed(status, error.kind, error.message, error.hint, form)
        return Response(said, status, headers, media_type=form)
    return Response(answer, 200, media_type=content)


def _taken(request: Request, body: bytes, content: str, signal: Signal) -> bytes:
    """Keep what was sent.

    Raises:
        Unreadable: it cannot be read.
        Full: there is no room.
        NotAllowed: nothing is taken here.
    """
    desk = desk_of(request)
    if desk.receiver is None or desk.read_only:
        raise NotAllowed(
            "this server takes no spans",
            hint="It is started without --read-only where it does, on a server's database as its owner.",
        )
    if content not in (JSON, PROTOBUF):
        raise Unreadable(
            f"the content type {content[:60]!r} is not read", status=415, hint=f"Send {PROTOBUF} or {JSON}."
        )
    encoding = request.headers.get("content-encoding", "").strip().lower()
    sent = read_body(unpacked(body, encoding), content, signal)
    desk.receiver.take(sent)
    request.scope[DID] = {"did": "received", "spans": sent.spans, "traces": len(sent.lines)}
    return taken(sent, content, signal)
