"""The link that keeps the limits of a fork: before each step and call, so that nothing goes out once one is reached.

Whether an expression holds is looked at when a step has ended, and stops the agent there: before its next line.

Whoever catches a `LimitReached` meets it again at the next step or call.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.intercepting.limits import LimitReached, memory_is_up, shown_dollars, shown_memory, time_is_up
from agent_tt.recording.errors.outcome import run_status
from agent_tt.recording.links import Link, Place

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.intercepting.limits import Limits
    from agent_tt.model import Usage
    from agent_tt.recording.open_run import OpenCall, OpenRun, OpenStep

__all__ = ["Breaks", "LimitEnforcement"]


_now: Final = time.monotonic
"""As it was before an agent's clock is replaced."""


class Breaks(Protocol):
    """What looks at each step that has ended."""

    def why(self, step: int) -> str | None:
        """Why the fork is to stop after a step; None where it is to go on."""


class LimitEnforcement(Link):
    """Keeps limits in the whole process, that of one run; the time begins when it is made.

    Args:
        limits: the limits.
        run_id: the run.
        breaks: looks after those of its steps.

    Raises:
        LimitReached: the process holds more memory than it may before anything has begun.
    """

    place = Place.LIMITS

    def __init__(self, limits: Limits, run_id: str, breaks: Breaks | None = None) -> None:
        self._limits = limits
        self._run_id = run_id
        self._breaks = breaks
        self._lock = threading.Lock()
        self._ends = None if limits.seconds is None else _now() + limits.seconds
        self._last_step = 0
        self._tokens = 0
        self._cost = 0.0
        self._reached: str | None = None
        """Why no call may follow; None where that is not so."""
        self._broke: str | None = None
        """Why no step may follow the one that has ended; None where that is not so."""
        if limits.memory is not None and self._over_memory() is not None:
            raise LimitReached(
                f"its memory limit of {shown_memory(limits.memory)} is too small to start:"
                f" {shown_memory(most_held())} are held before its agent begins"
            )

    def before_step(self, recording: OpenRun) -> None:
        """Stop before a step that is one too many.

        Raises:
            LimitReached: it is.
        """
        stop_at = self._limits.stop_at
        if stop_at is not None and recording.id == self._run_id and self._last_step >= stop_at:
            self._stop(f"it was to stop after step {stop_at}")
        self.while_waiting()

    def step_begun(self, step: OpenStep) -> None:
        """Remember how far the run has come."""
        with self._lock:
            if step.recording.id == self._run_id:
                self._last_step = max(self._last_step, step.number)

    def after_step(self, step: OpenStep) -> None:
        """Look whether an expression holds; `before_going_on` stops the agent then."""
        if self._breaks is None or self._broke is not None or step.recording.id != self._run_id:
            return
        self._broke = self._breaks.why(step.number)
        self._reached = self._reached or self._broke

    def before_going_on(self) -> None:
        """Stop after a step at which an expression holds.

        Raises:
            LimitReached: one does.
        """
        if self._broke is not None:
            raise LimitReached(self._broke)

    def before_call(self, call: OpenCall, facts: dict[str, Wire]) -> None:  # noqa: ARG002  every call counts alike
        """Stop before a call that is one too many.

        Raises:
            LimitReached: it is.
        """
        self.while_waiting()

    def while_waiting(self) -> None:
        """Stop once any limit is reached.

        Raises:
            LimitReached: one is.
        """
        limits = self._limits
        if self._reached is not None:
            raise LimitReached(self._reached)
        over = self._over_memory()
        if over is not None:
            self._stop(over)
        if self._ends is not None and _now() >= self._ends:
            self._stop(time_is_up(limits.seconds or 0.0))
        with self._lock:
            tokens, cost = self._tokens, self._cost
        if limits.tokens is not None and tokens >= limits.tokens:
            self._stop(f"its limit of {limits.tokens:,} tokens is reached: {tokens:,} are spent")
        if limits.cost_usd is not None and cost >= limits.cost_usd:
            self._stop(f"its limit of {shown_dollars(limits.cost_usd)} is reached: {shown_dollars(cost)} are spent")

    def usage_counted(self, usage: Usage) -> None:
        """Add what a model cost."""
        with self._lock:
            self._tokens += (usage.tokens_in or 0) + (usage.tokens_out or 0)
            self._cost += usage.cost_usd or 0.0

    def run_ends(self, error: BaseException | None) -> BaseException | None:
        """Say which limit stopped the run, where that is not what it ends with.

        Its agent may have swallowed that an expression holds, or made another error of it; an event loop makes a mere
        cancellation of whatever limit was reached.
        """
        if isinstance(error, LimitReached):
            return error
        # Of memory whatever became of it: an agent may catch any exception.
        why = self._over_memory() or (self._reached if run_status(error) == "interrupted" else self._broke)
        return error if why is None else LimitReached(why)

    def _over_memory(self) -> str | None:
        """Say that the process has held more memory than it may at any moment so far; None where it has not."""
        limit = self._limits.memory
        if limit is None:
            return None
        held = most_held()
        return memory_is_up(limit, held) if held > limit else None

    def _stop(self, why: str) -> None:
        self._reached = why
        raise LimitReached(why)


def most_held() -> int:
    """Bytes of memory that this process has held at most at one time; 0 where that cannot be told."""
    try:
        for line in Path("/proc/self/status").read_text(errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:  # only Unix has it
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
