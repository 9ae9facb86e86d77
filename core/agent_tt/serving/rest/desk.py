"""Where requests are worked on: the store is opened for each, in a thread, and only so long is worked for it."""

from __future__ import annotations

import json
import math
import secrets
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from agent_tt._dataclass import dataclass
from agent_tt.addresses import Address
from agent_tt.errors import AgentTTError, ReadOnlySource, RunNotFound, StepNotFound, UsageError
from agent_tt.exporting.redacted import RedactedRuns, is_unredacted
from agent_tt.protocols import Store
from agent_tt.serving.rest.audit import DID, SLASH
from agent_tt.serving.rest.failures import NotAllowed, TooLong, failure
from agent_tt.sources import marks_of, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import MarkedRuns, RunSource
    from agent_tt.serving.otlp.receiver import Receiver
    from agent_tt.serving.starting import Starter

__all__ = ["Asked", "Desk", "answered", "desk_of", "no_run"]

_MOST_RECEIVED: Final = 2
"""Requests with spans that are held in memory at a time: each may take hundreds of megabytes."""

_MOST_ANSWER: Final = 64 << 20
"""Bytes of an answer; of a larger state a part is asked for."""


class Asked:
    """One request, as the thread sees it that works on it.

    Attributes:
        source: the runs as they may be shown: secrets were taken out.
        opened: the store itself.
        desk: where it is worked on.
        cancelled: whether nobody waits any more.
    """

    def __init__(self, desk: Desk, opened: RunSource, cancelled: Callable[[], bool]) -> None:
        self.desk, self.opened, self.cancelled = desk, opened, cancelled
        self.source: RunSource = opened if opened.capabilities.redacted else RedactedRuns(opened)
        self.did: dict[str, Wire] = {}

    def run(self, run_id: str) -> Run:
        """The run of exactly this id.

        Raises:
            RunNotFound: there is none; no name and no beginning of an id will do.
        """
        run_id = run_id.replace(SLASH, "/")
        try:
            found = self.opened.run(run_id)
        except RunNotFound as error:
            raise no_run(run_id) from error
        if found.id != run_id:
            raise no_run(run_id)
        if self.source is self.opened and is_unredacted(self.opened, found):
            self.source = RedactedRuns(self.opened)  # a thread that LangGraph's checkpointer kept
        return found if self.source is self.opened else self.source.run(run_id)

    def shown(self, run: Run) -> Run:
        """A run of a list as it may be shown."""
        if self.source is self.opened and not is_unredacted(self.opened, run):
            return run
        return RedactedRuns(self.opened).run(run.id)

    def checkpoint(self, checkpoint: str) -> tuple[Run, int]:
        """The run and the step of `RUN@STEP`, both exactly.

        Raises:
            RunNotFound, StepNotFound: there is none.
        """
        run_id, _, step = checkpoint.rpartition("@")
        run = self.run(run_id)
        self.source.check_step(run.id, int(step))
        return run, int(step)

    def step(self, run: Run, number: int) -> None:
        """Check that a run has a step.

        Raises:
            StepNotFound: there is no such step.
        """
        if number > self.source.step_count(run.id):
            raise StepNotFound(f"there is no step {number}: the last one is {self.source.step_count(run.id)}")

    def marks(self) -> MarkedRuns:
        """Where something can be written down about runs.

        Raises:
            ReadOnlySource: nothing can.
        """
        found = marks_of(self.opened)
        if found is None:
            raise ReadOnlySource("nothing can be written down about these runs")
        return found


@dataclass
class Desk:
    """Where requests are worked on.

    Attributes:
        store: the file, or the address; it is opened anew for each request, so it may be recorded into meanwhile.
        goldens: the folder whose goldens are shown.
        read_only: whether nothing may be changed or started, whatever else is allowed.
        seconds: how long is worked for one request.
        at_once: how many are worked on side by side; others wait.
        starter: what starts agents; None without leave.
        receiver: what takes spans; None where none are taken.
        stopping: set when the server is about to end, so that streams do.
    """

    store: Path
    goldens: Path
    read_only: bool = False
    seconds: float = 60.0
    at_once: int = 4
    starter: Starter | None = None
    receiver: Receiver | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    _watching: threading.Lock = field(default_factory=threading.Lock)
    _watched: RunSource | None = None
    _place: object = None
    _opened: int = 0
    _limiter: list[anyio.CapacityLimiter] = field(default_factory=list)
    _receiving: list[anyio.CapacityLimiter] = field(default_factory=list)

    def check_store(self) -> bool:
        """Open the store once, so that what is wrong with it is said before anybody asks; make it where it may be.

        Returns:
            Whether runs can be written into it, and written anew, as those of spans are.

        Raises:
            StoreNotFound, StoreUnreadable: it is not there, or cannot be read.
            ReadOnlySource: nothing was recorded into the database of a server, and this user may make no tables in it.
        """
        from agent_tt.store import open_store

        if not self.read_only and not self._is_there():
            open_store(self.store, create=True).close()
        with closing(open_source(self.store, read_only=self.read_only)) as opened:
            may_write = not opened.read_only and isinstance(opened, Store)
        if not may_write or not isinstance(self.store, Address):
            return may_write
        from agent_tt.store.postgres.opening import may_delete

        return may_delete(self.store)

    def _is_there(self) -> bool:
        if not isinstance(self.store, Address):
            return self.store.exists()
        from agent_tt.store.postgres.opening import tables_of

        return self.store.is_langgraphs or tables_of(self.store) != "none"

    @contextmanager
    def opened(self) -> Iterator[Asked]:
        """Open the store to read something in this thread."""
        with closing(open_source(self.store, read_only=True)) as opened:
            yield Asked(self, opened, self.stopping.is_set)

    async def ask(
        self, request: Request, work: Callable[[Asked], object], *, writes: bool = False, status: int = 200
    ) -> Response:
        """Work on a request in a thread, and answer it; an error is an answer too.

        Args:
            request: the request.
            work: gives what is answered, as JSON; a response is sent as it is.
            writes: whether the store has to be opened for writing.
            status: that of the answer, where `work` sets none.
        """
        left = threading.Event()
        ends = time.monotonic() + self.seconds

        def cancelled() -> bool:
            return left.is_set() or time.monotonic() > ends

        try:
            self._check(writes=writes)
            with anyio.fail_after(self.seconds):
                return await anyio.to_thread.run_sync(
                    lambda: self._work(request, work, cancelled, status, writes=writes),
                    abandon_on_cancel=True,
                    limiter=self.limiter,
                )
        except TimeoutError:
            return _failed(TooLong(f"it takes longer than {self.seconds:.0f} s", hint="Ask about less."))
        except Exception as error:  # noqa: BLE001  the one place where every failure is told
            return _failed(error)
        finally:
            left.set()

    def version(self) -> int:
        """Give a number that differs after anyone changed the store, the same for all who ask.

        A store tells changes by one open file: one that is opened for a request knows of none before.
        """
        with self._watching:
            found = None if isinstance(self.store, Address) else self.store.stat()
            place = None if found is None else (found.st_dev, found.st_ino)
            if self._watched is None or place != self._place:  # another file has come in its place
                self._forget()
                self._watched, self._place = open_source(self.store, read_only=True), place
            number: int = hash((self._opened, self._watched.version()))
            return number

    def forget(self) -> None:
        """Let go of the store that `version` holds open."""
        with self._watching:
            self._forget()

    def _forget(self) -> None:
        if self._watched is not None:
            self._watched.close()
        self._watched, self._opened = None, secrets.randbits(62)

    def _check(self, *, writes: bool) -> None:
        if writes and self.read_only:
            raise NotAllowed("this server changes nothing and starts nothing: it was started with --read-only")

    @property
    def limiter(self) -> anyio.CapacityLimiter:
        """Lets so many be worked on side by side."""
        if not self._limiter:
            self._limiter.append(anyio.CapacityLimiter(self.at_once))
        return self._limiter[0]

    @property
    def receiving(self) -> anyio.CapacityLimiter:
        """Lets so many requests with spans be held in memory; the bodies of others are not read meanwhile."""
        if not self._receiving:
            self._receiving.append(anyio.CapacityLimiter(_MOST_RECEIVED))
        return self._receiving[0]

    def _work(
        self,
        request: Request,
        work: Callable[[Asked], object],
        cancelled: Callable[[], bool],
        status: int,
        *,
        writes: bool,
    ) -> Response:
        with closing(open_source(self.store, read_only=not writes)) as opened:
            asked = Asked(self, opened, cancelled)
            try:
                found = work(asked)
                return found if isinstance(found, Response) else answered(found, status)
            except AgentTTError as error:
                if cancelled() and not isinstance(error, UsageError):
                    raise TooLong(f"it takes longer than {self.seconds:.0f} s", hint="Ask about less.") from error
                raise
            finally:
                if asked.did:
                    request.scope[DID] = asked.did


def desk_of(request: Request) -> Desk:
    """Where a request is worked on."""
    desk: Desk = request.app.state.desk
    return desk


def answered(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer of JSON: ASCII, as recorded texts may hold what UTF-8 cannot say.

    Raises:
        UsageError: it is too large.
    """
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    if len(text) > _MOST_ANSWER:
        raise UsageError(
            f"the answer would have {len(text) >> 20} MB, and {_MOST_ANSWER >> 20} are the most",
            hint="Ask for a part: a path in the state, fewer steps.",
        )
    return Response(text.encode(), status, headers, media_type="application/json")


def _finite(value: Any) -> Any:
    """A value with null for numbers that JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _failed(error: Exception) -> Response:
    status, body = failure(error)
    headers = {"retry-after": "1"} if status == 503 else None
    return Response(body, status, headers, media_type="application/json")


def no_run(run_id: str) -> RunNotFound:
    """What is raised where there is no run of exactly this id."""
    return RunNotFound(f"there is no run {run_id[:200]!r}", hint="GET /api/runs lists their ids.")
