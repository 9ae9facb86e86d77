"""The one clock of a replay, on which nothing takes time but what moves it.

Everybody who waits says so here: threads that sleep or time out, event loops that have come to rest, whoever wants a
recorded answer. While any of the agent's threads works, time is the real one. When none does, whatever is next happens,
and the clock jumps there: a timer, the end of a sleep, or the next answer at the moment at which it came when it was
recorded, counted from its question. So a heartbeat beside a slow call beats as often as it did, a deadline comes after
as many calls, and nobody waits.

One of those who wait looks after the others: it is the only one that asks whether somebody still works.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt._dataclass import dataclass
from agent_tt.replaying.clock.busy_threads import BusyThreads
from agent_tt.replaying.clock.sleepers import RestingLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.replaying.clock.sleepers import Sleeper

__all__ = ["Timeline", "Upcoming", "Waiting"]

_PATIENT_JUMPS, _PATIENT_SECONDS, _MOST_JUMPS = 1_000, 3_600.0, 100_000
"""How often, and for how much virtual time, timers are run while somebody waits for an answer and none is given out.

A recorded pause may be long, so it takes both; then a heartbeat beats in vain, and the one that waits is released.
"""

_IDLE_JUMPS: Final = 100
"""How often the clock of a worker process jumps without an answer; who looks for something so often waits for real."""

_SHORTEST, _LONGEST = 0.0001, 0.005
"""Real seconds between two looks of the one who looks: more each time that nothing has changed."""

_BESIDE: Final = 0.01
"""Real seconds after which the others see whether anyone looks at all."""

_SETTLED: Final = 0.1
"""Real seconds for which all threads rest before an answer comes out of turn: of some that is only a guess."""

_SETTLED_TOGETHER, _STILL_TOGETHER = 5.0, 0.25
"""The same where other processes work with this one, and before the clock jumps to a moment: shorter where an answer is
due behind that, longer where nobody waits for one. No moment is waited for longer than it is away.
"""

_JITTER, _DRIFT = 0.05, 0.2
"""Seconds for each timer, and part of an answer's time, by which they may have been late when it was recorded."""

_BEFORE: Final = 1e-6

_real_monotonic: Final = time.monotonic


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The answer that is next in the recorded order, where somebody waits for it.

    Attributes:
        due: when it comes.
        lasted: seconds between its question and then.
        timers: how many timers of event loops had fired before it when it was recorded, since the one before.
        fired: how many have fired since then now.
        give: gives it out.
    """

    due: float
    lasted: float
    timers: int
    fired: int
    give: Callable[[], None]


class Waiting(Protocol):
    """Those who wait for recorded answers, as `agent_tt.replaying.answers.turns` keeps them."""

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for its turn."""

    @property
    def progress(self) -> int:
        """Another number whenever an answer was given out."""

    def upcoming(self) -> Upcoming | None:
        """The answer that may come next; None where nobody waits for the one whose turn it is."""

    def relax(self) -> bool:
        """Release the earliest, because nothing else can happen; whether there was one."""

    def follow(self, line: Timeline | None) -> None:
        """Give answers out when `line` says so; None: as soon as it is their turn."""


class Timeline:
    """See the module.

    Attributes:
        offset: seconds that the clock has been moved on beyond the real time.
        busy: what the other threads do.
        others_work: whether another process works, on which somebody here may wait; None where there is no other.
        is_worker: whether it is that of a worker process, whose work another process waits for.
    """

    def __init__(self, waiting: Waiting | None) -> None:
        self.offset = 0.0
        self.busy = BusyThreads()
        self.others_work: Callable[[], bool | None] = lambda: None
        self.is_worker = False
        self._waiting = waiting
        self._sleepers: dict[int, Sleeper] = {}
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._is_over = False
        self._progress = 0
        self._jumps = 0
        self._jumped = 0.0

    @property
    def is_over(self) -> bool:
        """Whether everybody waits for real."""
        return self._is_over

    def now(self) -> float:
        """What the clock shows, in seconds; comparable with `time.monotonic`."""
        return _real_monotonic() + self.offset

    def reach(self, moment: float) -> None:
        """Move on to `moment`; never back."""
        with self._lock:
            self.offset = max(self.offset, moment - _real_monotonic())

    def stop(self) -> None:
        """From now on everybody waits for real."""
        self._is_over = True

    # ------------------------------------------------------------ waiting

    def block(self, sleeper: Sleeper) -> bool:
        """Wait as `sleeper` says; whether what it waits for has happened.

        It has not where the moment came first, or where this clock is over: that is for the caller to see.
        """
        me, looks, pause, since = threading.get_ident(), 0, 0.0, _real_monotonic()
        with self._lock:
            self._sleepers[me] = sleeper
        try:
            while True:
                if sleeper.poll(pause) or sleeper.is_fired:
                    return not sleeper.is_fired
                if self._is_over:
                    return False
                if not self._looking.acquire(blocking=False):
                    looks, pause = 0, _BESIDE
                    continue
                try:
                    has_happened, works = self._look(is_first=not looks, rested=_real_monotonic() - since)
                finally:
                    self._looking.release()
                looks = 0 if has_happened else looks + 1
                pause = 0.0 if has_happened else min(_SHORTEST * 2 ** min(looks, 10), _LONGEST)
                if has_happened or works:
                    since = _real_monotonic()
        finally:
            with self._lock:
                del self._sleepers[me]

    def restless(self) -> None:
        """Somebody polls in an event loop, which therefore never rests: let the next answer come all the same."""
        upcoming = None if self._waiting is None else self._waiting.upcoming()
        if upcoming is not None:
            self.reach(upcoming.due)
            upcoming.give()

    def _look(self, *, is_first: bool, rested: float) -> tuple[bool, bool]:
        """Let something happen, if nobody works: whether something did, and whether somebody works."""
        sleepers = self._waiting_now()
        if self.busy.works(sleepers, is_first=is_first) or self._waiting_now() != sleepers:  # somebody came or left
            return False, True
        others_work = self.others_work()
        if others_work:
            return False, True
        if sleepers[threading.get_ident()].has_happened:  # somebody woke us, and rests again
            return False, True
        timed = [sleeper for sleeper in sleepers.values() if sleeper.when is not None]
        first = min(timed, key=lambda sleeper: sleeper.when or 0.0, default=None)
        if others_work is not None:
            return self._advance(first, rested - _SETTLED_TOGETHER, rested - _STILL_TOGETHER), False
        is_alone = len(sleepers) == 1 and not self.busy.has_others()
        return self._advance(first, 1.0 if is_alone else rested - _SETTLED), False

    def _waiting_now(self) -> dict[int, Sleeper]:
        with self._lock:
            return dict(self._sleepers)

    def _advance(self, first: Sleeper | None, settled: float, still: float | None = None) -> bool:
        """Go to what is next; whether there was anything.

        Args:
            first: who has the earliest moment to wait for.
            settled: above 0 where it is certain that nothing happens by itself.
            still: above 0 where the clock may jump to a moment, if an answer is due behind it; None: it may always.
        """
        waiting, moment = self._waiting, None if first is None else first.when
        upcoming = None if waiting is None else waiting.upcoming()
        if upcoming is not None and (first is None or _is_before(upcoming, first)):
            # The clock stays short of a timer that had not fired when the answer came.
            self.reach(upcoming.due if moment is None else min(upcoming.due, moment - _BEFORE))
            upcoming.give()
            return True
        if waiting is not None and waiting.is_waited_for and (first is None or self._is_in_vain(waiting)):
            if settled <= 0:
                return False
            if waiting.relax():
                self._jumps, self._jumped = 0, 0.0
                return True
        if first is None or moment is None:
            return False
        distance = moment - self.now()
        if distance > 0:
            if still is not None and (settled if upcoming is None else still) <= 0:
                return False
            if self.is_worker and self._is_polling():
                return False
            self.reach(moment)
            self._jumps, self._jumped = self._jumps + 1, self._jumped + distance
        first.fire()
        return True

    def _is_polling(self) -> bool:
        """Whether this process only looks again and again for something; it waits for real, and is seen to rest."""
        waiting = self._waiting
        if waiting is not None and waiting.progress != self._progress:
            self._progress, self._jumps, self._jumped = waiting.progress, 0, 0.0
        return self._jumps >= _IDLE_JUMPS

    def _is_in_vain(self, waiting: Waiting) -> bool:
        if waiting.progress != self._progress:
            self._progress, self._jumps, self._jumped = waiting.progress, 0, 0.0
        return self._jumps >= _MOST_JUMPS or (self._jumps >= _PATIENT_JUMPS and self._jumped >= _PATIENT_SECONDS)


def _is_before(answer: Upcoming, first: Sleeper) -> bool:
    """Whether an answer comes before the moment that somebody else waits for.

    Timers of event loops fire late, each a little, and that adds up. So of these it was counted how many had fired, and
    the time decides only where the count cannot be meant: a timer of another kind fired then, or none was left now.
    Those that were counted may be a call's own, which the replay does not make: they make no deadline later.
    """
    moment = first.when or 0.0
    if not isinstance(first, RestingLoop):
        return answer.due <= moment
    late = _JITTER + _DRIFT * answer.lasted
    if answer.fired < answer.timers:
        return answer.due + late < moment
    return answer.due - late - _JITTER * answer.timers <= moment
