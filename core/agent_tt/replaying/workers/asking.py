"""In a worker process of a replay: every call is put to the process that replays, which holds the recording."""

from __future__ import annotations

import contextlib
import itertools
import threading
from typing import TYPE_CHECKING, Any, cast

from agent_tt._dataclass import dataclass
from agent_tt.recording.errors.cancellation import is_cancellation
from agent_tt.recording.scope import here, nowhere
from agent_tt.replaying.answers.answer import READS_ON, Answer
from agent_tt.replaying.clock.timeline import Upcoming

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.errors import NotRebuildable
    from agent_tt.model import Call, Delivery, NewStep
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.replaying.clock.timeline import Timeline
    from agent_tt.replaying.workers.connection import Line

__all__ = ["Asking", "Awaited", "Given"]


@dataclass(frozen=True, slots=True)
class Given:
    """What the process that replays gives for a question.

    Attributes:
        key: by which it knows the answer.
        call: the recorded call.
        pieces: what reached the agent in pieces.
        lasted: by piece, the seconds from the question until it came.
    """

    key: int
    call: Call
    pieces: Sequence[Delivery]
    lasted: Mapping[int, float]


class Awaited:
    """The answers that this process waits for, as the clock of this process knows them."""

    def __init__(self) -> None:
        self.line: Timeline | None = None
        self.progress = 0
        self._changed = threading.Condition()
        self._due: dict[int, tuple[float, float]] = {}
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def waiting(self, asked: float, lasted: float) -> Any:
        """While the block lasts an answer is waited for that came `lasted` seconds behind its question."""
        number = next(self._numbers)
        with self._changed:
            self._due[number] = asked + lasted, lasted
        try:
            yield
            if self.line is not None:
                self.line.reach(asked + lasted)
        finally:
            with self._changed:
                del self._due[number]
                self.progress += 1
                self._changed.notify_all()

    @property
    def is_waited_for(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._due)

    def upcoming(self) -> Upcoming | None:
        """The earliest; it is given out by the other process, and meanwhile nothing else happens in this one."""
        with self._changed:
            if not self._due:
                return None
            due, lasted = min(self._due.values())
        return Upcoming(due, lasted, 0, 0, self._wait_for_any)

    def _wait_for_any(self) -> None:
        with self._changed:
            before = self.progress
            while self._due and self.progress == before:
                self._changed.wait()

    def relax(self) -> bool:
        """The other process sees to that."""
        return False

    def follow(self, line: Timeline | None) -> None:
        """The other process says when answers are given out; `line`, which is a worker's, is moved on then."""
        self.line = line
        if line is not None:
            line.is_worker = True

    def now(self) -> float:
        """What the clock of this process shows."""
        return 0.0 if self.line is None else self.line.now()


class Asking:
    """What answers the calls of a worker; see `agent_tt.intercepting.recorded_responses.Answers`.

    Args:
        line: to the process that replays.
        kept_headers: names of request headers that counted as part of a question when the run was recorded.
    """

    def __init__(self, line: Line, kept_headers: frozenset[str]) -> None:
        self.kept_headers = kept_headers
        self.line = line
        self.awaited = Awaited()

    def ask(self, question: Question) -> Served | None:
        """Have a call served."""
        scope = here()
        given = self.line.ask("ask", question, None if scope is None else scope.recording.id)
        return None if given is None else _RemoteAnswer(self, given)

    def next_denied(self, lane: str, signature: str) -> Call | None:
        """See `agent_tt.replaying.engine.Replay`."""
        return cast("Call | None", self.line.ask("next_denied", lane, signature))

    def unrecorded_effect(self, what: str, target: str, site: Mapping[str, Wire]) -> BaseException:
        """See `agent_tt.replaying.engine.Replay`."""
        return cast("BaseException", self.line.ask("unrecorded_effect", what, target, dict(site)))

    def job_returns(self, run_id: str, lane: str) -> None:
        """Wait until what a job of this worker gave may go back."""
        self.line.ask("job_returns", run_id, lane)

    def open_step(self, run_id: str, new: NewStep) -> int:
        """Number a step that begins here."""
        return cast("int", self.line.ask("open_step", run_id, new))

    def close_step(self, run_id: str, number: int, state: Wire) -> None:
        """Have the state after a step compared."""
        self.line.ask("close_step", run_id, number, state)


class _RemoteAnswer(Answer):
    """A recorded answer that the process that replays gives out."""

    def __init__(self, asking: Asking, given: Given) -> None:
        super().__init__(cast("Any", asking), cast("Any", given))
        self._asking = asking
        self._key = given.key
        self._lasted = given.lasted
        self._asked = asking.awaited.now()

    def wait(self, index: int = 0) -> None:
        """Block until it is the turn of a piece, among those of all processes."""
        with self._waiting(index):
            self._asking.line.ask("wait", self._key, index)

    async def turn(self, index: int = 0) -> None:
        """As `wait`, for a coroutine."""
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # another kind of loop: nothing is known of it
            self.wait(index)
            return
        came: asyncio.Future[BaseException | None] = loop.create_future()

        def tell(error: BaseException | None) -> None:
            if not came.done():
                came.set_result(error)

        def wait() -> None:
            error: BaseException | None = None
            try:
                with self._waiting(index):
                    self._asking.line.ask("turn", self._key, index)
            except BaseException as raised:  # noqa: BLE001  raised where it is awaited
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(tell, error)

        with nowhere():
            threading.Thread(target=wait, name="agent-tt wait", daemon=True).start()
        try:
            error = await came
        except BaseException as left:
            if is_cancellation(left):
                self.cancelled()
            raise
        if error is not None:
            raise error

    def leave(self, index: int) -> None:
        """Take no piece from `index` on."""
        self._asking.line.ask("leave", self._key, index)

    def read_past(self, why: str = READS_ON) -> BaseException:
        """What to raise when the agent wants more than was recorded."""
        return cast("BaseException", self._asking.line.ask("read_past", self._key, why))

    def cancelled(self) -> None:
        """The agent stopped waiting for it."""
        self._asking.line.ask("cancelled", self._key)

    def cannot_rebuild(self, why: NotRebuildable) -> BaseException:
        """What to raise where a recorded value cannot be made again."""
        return cast("BaseException", self._asking.line.ask("cannot_rebuild", self._key, why))

    def check_sent(self, index: int, recorded: Wire, value: Wire) -> None:
        """Have compared what the agent sent into a generator."""
        self._asking.line.ask("check_sent", self._key, index, recorded, value)

    def _waiting(self, index: int) -> Any:
        return self._asking.awaited.waiting(self._asked, self._lasted.get(index, 0.0))
