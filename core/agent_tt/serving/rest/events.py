"""Events as they happen, as server-sent events: the steps of a run that is recorded, and what changes among the runs.

The id of an event says how far somebody has seen, not which event it was: who comes back with it as `Last-Event-ID` is
sent what came since, also by another server. Nothing is kept for those who left.
"""

from __future__ import annotations

import json
import threading
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import StreamingResponse

from agent_tt.errors import AgentTTError, RunNotFound
from agent_tt.serving.rest.desk import Asked, Desk, desk_of
from agent_tt.serving.rest.failures import TooMany
from agent_tt.serving.rest.ids import RunId
from agent_tt.shapes.answers import calls_of
from agent_tt.shapes.records import run_shapes, step_shape

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["Lookout", "router"]

router = APIRouter(prefix="/api", tags=["events"])

_MOST_STREAMS: Final = 64
_LOOK_SECONDS: Final = 0.2
_HEARTBEAT_SECONDS: Final = 15.0
_MOST_STEPS: Final = 100
"""Steps that are read at once."""

_EVENT: Final = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "id": {"type": "string"}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": _EVENT}}}
}


class Lookout:
    """Looks whether the store was changed, once for all streams, and only while there are some; counts them.

    Args:
        desk: where the store is.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._version, self._at = 0, 0.0
        self._streams = 0

    def join(self) -> None:
        """Count a stream.

        Raises:
            TooMany: there are as many as may be.
        """
        with self._lock:
            if self._streams >= _MOST_STREAMS:
                raise TooMany(f"{_MOST_STREAMS} streams are open already", hint="Ask again later.")
            self._streams += 1

    def leave(self) -> None:
        """Count a stream off."""
        with self._lock:
            self._streams -= 1

    def version(self) -> int:
        """What differs after somebody changed the store, as it was a moment ago at most."""
        with self._lock:
            if time.monotonic() - self._at > _LOOK_SECONDS:
                self._version, self._at = self._desk.version(), time.monotonic()
            return self._version


@router.get("/runs/{run}/events", response_class=Response, responses=_STREAM)
async def run_events(
    request: Request,
    run: RunId,
    last_event_id: Annotated[str | None, Header(pattern="^[0-9]{1,9}$", description="the number of a step")] = None,
) -> Response:
    """Follow a run: `step` for each step that is over, `run` when it stands otherwise, `end` when it has ended."""
    follow = _RunFollower(run, int(last_event_id or 0))
    return await _stream(request, follow.events, lambda asked: asked.run(run))


@router.get("/events", response_class=Response, responses=_STREAM)
async def events(
    request: Request,
    last_event_id: Annotated[str | None, Header(pattern="^[0-9a-f]{1,32}$")] = None,
) -> Response:
    """Follow all runs: `runs` with the list of them, then `run` for each that changes, and `gone`."""
    follow = _RunsFollower(last_event_id)
    return await _stream(request, follow.events, lambda asked: asked.opened.runs(limit=1))


class _RunFollower:
    """What is sent of one run."""

    def __init__(self, run: str, seen: int) -> None:
        self._run, self._seen = run, seen
        self._stood: object = None
        self.is_over = False

    def events(self, asked: Asked) -> tuple[list[str], bool, bool]:
        """What came since; whether that is the end; and whether there is more at once."""
        run = asked.run(self._run)
        sent: list[str] = []
        page = asked.source.steps(run.id, self._seen + 1, self._seen + 1 + _MOST_STEPS)
        for step in page:
            if step.status == run.status == "running":
                break
            self._seen = step.number
            sent.append(_event("step", step_shape(step, calls_of(asked.source, run, step)), str(step.number)))
        stands = run.status, run.name, run.steps
        if stands != self._stood:
            self._stood = stands
            sent.append(_event("run", run_shapes(asked.opened, [run])[0]))
        has_more = len(page) == _MOST_STEPS and self._seen == page[-1].number
        receiver = asked.desk.receiver
        goes_on = run.status == "running" or (receiver is not None and receiver.is_open(run.id))
        is_end = not goes_on and not has_more
        if is_end:
            sent.append(_event("end", {"run": run.id, "status": run.status}))
        return sent, is_end, has_more


class _RunsFollower:
    """What is sent of all runs."""

    def __init__(self, seen: str | None) -> None:
        self._last = seen
        self._known: dict[str, object] | None = None

    def events(self, asked: Asked) -> tuple[list[str], bool, bool]:
        """As of `_RunFollower`."""
        runs = asked.opened.runs(archived=True)
        now: dict[str, object] = {
            run.id: (run.status, run.name, run.steps, run.tags, run.pinned, run.archived) for run in runs
        }
        mark = blake2b(repr(now).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        sent: list[str] = []
        if self._known is None:
            if mark != self._last:
                heads = [{"id": run.id, "name": run.name, "status": run.status, "steps": run.steps} for run in runs]
                sent.append(_event("runs", {"runs": heads}, mark))
        else:
            changed = [run for run in runs if self._known.get(run.id) != now[run.id]]
            told = [_event("gone", {"run": run_id}) for run_id in self._known if run_id not in now]
            shown = [asked.shown(run) for run in reversed(changed)]
            told += [_event("run", shape) for shape in run_shapes(asked.opened, shown)]
            if told:
                sent = [*told, _event("seen", {}, mark)]
        self._known = now
        return sent, False, False


def _event(name: str, data: object, number: str | None = None) -> str:
    """An event in the form of the specification; JSON in ASCII has no line breaks."""
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n"


async def _stream(
    request: Request, read: Callable[[Asked], tuple[list[str], bool, bool]], check: Callable[[Asked], object]
) -> Response:
    """Stream what is read whenever the store has changed; what cannot be read at all is an error at once."""
    desk, lookout = desk_of(request), request.app.state.lookout

    def begin(asked: Asked) -> Response:
        check(asked)
        lookout.join()
        return StreamingResponse(
            _sent(desk, lookout, read), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    return await desk.ask(request, begin)


async def _sent(
    desk: Desk, lookout: Lookout, read: Callable[[Asked], tuple[list[str], bool, bool]]
) -> AsyncIterator[str]:
    seen: int | None = None
    heard = time.monotonic()
    try:
        while not desk.stopping.is_set():
            version = await anyio.to_thread.run_sync(lookout.version, limiter=desk.limiter)
            if version == seen:
                if time.monotonic() - heard > _HEARTBEAT_SECONDS:
                    heard = time.monotonic()
                    yield ": still here\n\n"
                await anyio.sleep(_LOOK_SECONDS)
                continue
            sent, is_end, has_more = await anyio.to_thread.run_sync(_once, desk, read, limiter=desk.limiter)
            seen = None if has_more else version
            if sent:
                heard = time.monotonic()
                yield "".join(sent)
            if is_end:
                return
    except RunNotFound as error:
        yield _event("gone", {"message": error.message})
    except AgentTTError as error:
        yield _event("failed", {"kind": error.kind, "message": error.message, "hint": error.advice})
    finally:
        lookout.leave()


def _once(desk: Desk, read: Callable[[Asked], tuple[list[str], bool, bool]]) -> tuple[list[str], bool, bool]:
    with desk.opened() as asked:
        return read(asked)
