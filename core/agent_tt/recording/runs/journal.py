"""The one way from a recording to its store.

It keeps three promises: what the store does on its own account (threads, `__repr__` of the agent's values) is never
recorded as the agent's; an error of the store is remembered as the store's; and what the garbage collector finishes
while this very thread is inside the store waits until it has left.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from agent_tt.errors import AgentTTError, StoreUnreadable
from agent_tt.recording.lanes.thread_ordering import Handover
from agent_tt.recording.store_work import store_at_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import ErrorInfo, RunStatus
    from agent_tt.protocols import RunWriter

_LOG = logging.getLogger(__name__)
T = TypeVar("T")


@runtime_checkable
class GoesOnForked(Protocol):
    """A writer that has to know when its process was forked."""

    def go_on_forked(self) -> None:
        """This is the new process."""


class _Depth(threading.local):
    """How many writes this thread is inside of."""

    depth = 0


class Journal:
    """Writes one run, from any thread, until it is closed.

    Attributes:
        failures: the errors of the store, in order; empty while all is well.
        handover: lets threads take their answers one after another.
    """

    def __init__(self, writer: RunWriter) -> None:
        self._writer = writer
        self._gate = threading.Condition()
        self._active = 0
        self._closed = False
        self._here = _Depth()
        self._deferred: deque[Callable[[], None]] = deque()
        self.failures: list[Exception] = []
        self.handover = Handover()

    def go_on_forked(self) -> None:
        """In a process that was forked: what other threads were about to write is their process's to write."""
        self._gate = threading.Condition()
        self._active = 0
        self._deferred.clear()
        self.handover = Handover()
        if isinstance(self._writer, GoesOnForked):
            self._writer.go_on_forked()

    @property
    def run_id(self) -> str:
        """The run that it writes."""
        return self._writer.run_id

    @property
    def is_open(self) -> bool:
        """Whether the run can still be written."""
        return not self._closed

    def write(self, action: Callable[[RunWriter], T]) -> T | None:
        """Let `action` write; its result, or None when the run has ended.

        Raises:
            StoreUnreadable: the store is busy, full or damaged. The agent did nothing wrong.
        """
        with self._gate:
            if self._closed:
                return None
            self._active += 1
        try:
            return self._perform(action)
        finally:
            with self._gate:
                self._active -= 1
                self._gate.notify_all()

    def attempt(self, action: Callable[[RunWriter], T]) -> T | None:
        """As `write`, for what an agent can do without: None too where the store fails, which is none of its failures.

        Args:
            action: asks the store something, or tells it what nobody waits for.
        """
        with self._gate:
            if self._closed:
                return None
            self._active += 1
        self._here.depth += 1
        try:
            with store_at_work():
                return action(self._writer)
        except (AgentTTError, OSError):
            _LOG.debug("the store of run %s could not be asked", self._writer.run_id, exc_info=True)
            return None
        finally:
            self._leave()
            with self._gate:
                self._active -= 1
                self._gate.notify_all()

    def when_free(self, action: Callable[[], None]) -> None:
        """Run `action` now, or after the write that this thread is in: a finalizer may run anywhere, also in there."""
        if self._here.depth:
            self._deferred.append(action)
        else:
            action()

    def finish(self, status: RunStatus, error: ErrorInfo | None) -> None:
        """End the run once every write under way is done. Does nothing the second time."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            while self._active:
                self._gate.wait()
        self._perform(lambda writer: writer.finish(status, error))

    def _perform(self, action: Callable[[RunWriter], T]) -> T:
        self._here.depth += 1
        try:
            with store_at_work():
                return action(self._writer)
        except AgentTTError as error:
            self._remember(error)
            raise
        except OSError as error:
            ours = StoreUnreadable(
                f"the run could not be recorded: {error}",
                hint="the agent did nothing wrong; make room or choose another store, then run it again",
            )
            self._remember(ours)
            raise ours from error
        finally:
            self._leave()

    def _leave(self) -> None:
        self._here.depth -= 1
        if not self._here.depth:
            self._run_deferred()

    def _remember(self, error: Exception) -> None:
        known = {str(failure) for failure in self.failures}
        # Where the disk is full every write fails, for one reason: that is said once.
        level = logging.DEBUG if str(error) in known else logging.ERROR
        _LOG.log(level, "run %s could not be recorded: %s", self._writer.run_id, error)
        self.failures.append(error)

    def _run_deferred(self) -> None:
        while self._deferred:
            try:
                action = self._deferred.popleft()
            except IndexError:  # another thread took the last one
                return
            with contextlib.suppress(AgentTTError):  # remembered and logged; nobody here asked for this write
                action()
