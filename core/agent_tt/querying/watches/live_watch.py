"""An expression that is watched while its run grows: all steps at which it holds so far.

A page of steps is looked at at a time, so that whoever watches can say how far it is, show what was found, and stop.
Only what came since is looked at when the run has grown; a step that has not ended is looked at when it has. The work
is bounded: an expression that needs much more of it than usual ones is given up, with the reason.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError, InvalidExpression
from agent_tt.querying.expressions import parse
from agent_tt.querying.watches.kept_watches import asks_moments
from agent_tt.querying.watches.step_ranges import StepRanges
from agent_tt.querying.watches.step_search import Watch
from agent_tt.recording.steps.state_histories import MAIN_TRACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expressions import Expression

__all__ = ["LiveWatch"]

_FIRST_PAGE: Final = 64
_LARGEST_PAGE: Final = 1_024

_FREE_SECONDS: Final = 5.0
_SECONDS_A_STEP: Final = 0.01
"""Work on one expression: so much, and so much more for each step that was looked at. A usual one needs a tenth of it;
one that was made to be slow is given up after a few steps, and not after all of them."""

_MOST_SECONDS: Final = 120.0


class LiveWatch:
    """An expression, and where it holds as far as that is known. One thread at a time may look; any may ask.

    Attributes:
        found: the steps at which it holds.
        looked: the last step that was looked at; -1 before the input was.
        error: why it cannot be answered, or not now; None where it can.
    """

    def __init__(
        self,
        source: RunSource,
        run_id: str,
        where: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the expression; look at nothing yet.

        Args:
            source: where the run is.
            run_id: the run.
            where: the expression. One that cannot be read is an `error`, and holds nowhere.
            clock: tells the time, in seconds.
        """
        self.found = StepRanges()
        self.looked = -1
        self.error: AgentTTError | None = None
        self.expression: Expression | None = None
        self._source, self._run_id, self._where = source, run_id, where
        self._spent, self._clock = 0.0, clock
        self._is_given_up = False
        self._open: set[int] = set()
        self._lost: set[int] = set()
        """Steps of which no checkpoint is kept, where the state is asked about: nobody knows it there."""
        self._bases: dict[int, int | None] = {}
        """Of steps at which it holds, those that went on from another state than that of the step before."""
        self._has_tracks = False
        self._seen: tuple[int, bytes | None] | None = None
        self._page = _FIRST_PAGE
        self._until = 0.0
        self._cancelled: Callable[[], bool] = lambda: False
        self._watch: Watch | None = None
        try:
            self.expression = parse(where)
        except InvalidExpression as error:
            self._give_up(error)

    # ---------------------------------------------------------------- asking

    @property
    def at_each(self) -> bool:
        """Whether a breakpoint stops at each step at which it holds, not only where it begins to."""
        return self.expression is not None and asks_moments(self.expression)

    def stop_after(self, step: int) -> int | None:
        """The next step after one at which a breakpoint stops; the input is none."""
        step = max(step, 0)
        if not self.at_each and not self._bases:
            return self.found.begin_after(step)
        at = self.found.after(step)
        while at is not None and not self._is_stop(at):
            at = self.found.after(at)
        return at

    def stop_before(self, step: int) -> int | None:
        """The last step before one at which a breakpoint stops."""
        if not self.at_each and not self._bases:
            return self.found.begin_before(step) or None
        at = self.found.before(step)
        while at is not None and not self._is_stop(at):
            at = self.found.before(at)
        return at or None

    def stops(self) -> Iterator[int]:
        """All steps at which a breakpoint stops, in order."""
        at = self.stop_after(0)
        while at is not None:
            yield at
            at = self.stop_after(at)

    def stops_at(self, step: int) -> bool:
        """Whether a breakpoint stops at a step."""
        return self.stop_after(step - 1) == step

    def _is_stop(self, step: int) -> bool:
        """Whether a step at which it holds is an event: with the state that it went on from it did not hold."""
        return self.at_each or self._bases.get(step, step - 1) not in self.found

    @property
    def settled(self) -> int:
        """The last step up to which everything is known."""
        return min([self.looked, *(step - 1 for step in list(self._open))])

    def is_known(self, step: int) -> bool:
        """Whether it is known if it holds at a step."""
        return step <= self.looked and step not in self._open and step not in self._lost

    def holds_now(self, last: int) -> bool | None:
        """Whether it holds at the last step that has ended; None where that is not known, or not yet."""
        if self.looked < last:
            return None
        settled = self._settled_before(last)
        return None if settled in self._lost else settled in self.found

    # ---------------------------------------------------------------- looking

    def look(self, run: Run, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Look at the next page of steps.

        Args:
            run: the run as it is now; in one that is over every step has ended.
            cancelled: asked for each step; what was found on this page is then forgotten, and found again.

        Returns:
            Whether there is more to look at now.
        """
        if self._is_given_up:
            return False
        self.error = None
        began = self._clock()
        allowed = min(_MOST_SECONDS, _FREE_SECONDS + _SECONDS_A_STEP * (self.looked + 1))
        self._until, self._cancelled = began + allowed - self._spent, cancelled
        try:
            return self._look(run)
        except InvalidExpression as error:
            self._give_up(error)
        except AgentTTError as error:  # a file that is busy, or was just replaced
            self.error = error
        finally:
            self._spent += self._clock() - began
        return False

    def _look(self, run: Run) -> bool:
        last = self._source.step_count(self._run_id)
        if self._is_other(last):
            self._begin_anew()
        watch = self._watch
        if watch is None:
            self._watch = watch = Watch(self._source, self._run_id, self._where, cancelled=self._is_stopped)
        if run.status != "running":
            ended, self._open = sorted(self._open), set()
        else:
            ended = self._ended()
        for step in ended:
            if not self._take(watch, step, step, frozenset()):
                self._open.update(ended)
                return False
        first = self.looked + 1
        if first > last:
            return False
        high = min(last, first + self._page - 1)
        unfinished = self._unfinished(first, high) if run.status == "running" else frozenset()
        if not self._take(watch, first, high, unfinished):
            return False
        self._open |= unfinished
        self.looked = high
        self._remember(high)
        self._page = min(self._page * 2, _LARGEST_PAGE)
        return high < last

    def _take(self, watch: Watch, first: int, last: int, unfinished: frozenset[int]) -> bool:
        """Look at steps; whether that came to its end."""
        found = list(watch.steps(first, last))
        if self._is_stopped():
            if self._clock() >= self._until:
                done = self.looked + 1
                why = f"it takes too long: given up after {done:,} step{'' if done == 1 else 's'}"
                self._give_up(InvalidExpression(f"{self._where!r}: {why}", text=self._where, why=why, position=0))
            return False
        self._find_bases(found, first, last)
        if self.expression is not None and self.expression.asks_state:
            rows = self._source.steps(self._run_id, max(first, 1), last + 1)
            self._lost.update(row.number for row in rows if row.is_unkept)
        for step in found:
            if step not in unfinished:
                self.found.add(step)
        return True

    def _find_bases(self, found: list[int], first: int, last: int) -> None:
        """Lanes have states of their own: in one of them a step goes on from the one before in that lane."""
        if self.at_each or not found:
            return
        if not self._has_tracks:
            rows = self._source.steps(self._run_id, max(first, 1), last + 1)
            self._has_tracks = any(row.track != MAIN_TRACK for row in rows)
        if self._has_tracks:
            for step in filter(None, found):
                base = self._source.base_step(self._run_id, step)
                if base != step - 1:
                    self._bases[step] = base

    def _is_stopped(self) -> bool:
        return self._cancelled() or self._clock() >= self._until

    def _unfinished(self, first: int, last: int) -> frozenset[int]:
        rows = self._source.steps(self._run_id, max(first, 1), last + 1)
        return frozenset(step.number for step in rows if step.status == "running")

    def _ended(self) -> list[int]:
        """Those of the open steps that have ended since."""
        if not self._open:
            return []
        ended = [
            number
            for number in sorted(self._open)
            if all(step.status != "running" for step in self._source.steps(self._run_id, number, number + 1))
        ]
        self._open.difference_update(ended)
        return ended

    def _remember(self, looked: int) -> None:
        """Remember the state after the last step that has ended: while it stays, so does what was before."""
        settled = self._settled_before(looked)
        self._seen = settled, self._source.digest(self._run_id, settled)

    def _settled_before(self, last: int) -> int:
        """The last step up to one that has ended; the input always has."""
        return next(step for step in range(last, -1, -1) if step not in self._open)

    def _is_other(self, last: int) -> bool:
        """Whether the steps that were looked at are others by now: a file of another system may be written anew."""
        if self._seen is None:
            return False
        seen, digest = self._seen
        return seen > last or self._source.digest(self._run_id, seen) != digest

    def _begin_anew(self) -> None:
        self.found, self.looked, self._seen, self._watch, self._open = StepRanges(), -1, None, None, set()
        self._lost = set()
        self._bases, self._has_tracks = {}, False
        self._spent = 0.0
        self._page = _FIRST_PAGE

    def _give_up(self, error: AgentTTError) -> None:
        self.error, self._is_given_up, self._watch = error, True, None
