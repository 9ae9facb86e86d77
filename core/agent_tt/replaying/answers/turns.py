"""The order in which recorded answers are given out: that in which they reached the agent when it was recorded.

Who wants an answer waits until every answer with a smaller number has been given out, dropped, or turns out not to be
wanted. Then it comes when none of the agent's threads and event loops has anything else to do, because that is when
answers from outside come (see `recording.lanes.arrival` for those that did not), and when its moment has come on the
clock of the replay (`agent_tt.replaying.clock.timeline`). So whoever got one does what it does with it before the next
comes.

Without such a clock an answer comes as soon as it is its turn (`agent_tt.replaying.answers.without_clock`).

A faithful replay cannot get stuck: what came before an answer did not depend on it. Where the agent has changed it can,
and then the earliest answer that is waited for is released, with a note, when nothing else can happen.
"""

from __future__ import annotations

import contextlib
import threading
from bisect import bisect_right
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.recording.lanes.timers import timers_fired
from agent_tt.replaying.answers.waiters import TaskWaiter, ThreadWaiter, running_loop
from agent_tt.replaying.answers.without_clock import MOST_PATIENT_SLICES, Conductor, pause, released
from agent_tt.replaying.clock.paces import Paces
from agent_tt.replaying.clock.timeline import Upcoming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from agent_tt.replaying.answers.waiters import Loop, Waiter
    from agent_tt.replaying.clock.timeline import Timeline

__all__ = ["Turns"]


class Turns:
    """Gives out answers in order, to any threads and event loops.

    Attributes:
        is_held: whether nobody's patience ends, because somebody looks at the agent in a debugger.

    Args:
        numbers: every number that is to be given out (between those of answers stand those of changes of a state that
            were made while the agent was held), and how many passes of the event loop after the one before it;
            None where the loop had come to rest, `tape.passes.WITH_ITS_OWN` for pieces that came with the one before.
        relaxed: told of a number that was given out before its turn.
        questions: by number, how many questions had been asked when it was given out. Coroutines get an answer only
            when as many have been asked again: one that is still on its way through a thread is not seen in the loop.
        timers: by number, how many of the agent's timers had fired since the answer before it, where any had.
    """

    def __init__(
        self,
        numbers: Iterable[tuple[float, int | None]],
        relaxed: Callable[[float], None],
        questions: Mapping[float, int] | None = None,
        timers: Mapping[float, int] | None = None,
    ) -> None:
        passes = dict(numbers)
        self._order = sorted(passes)
        self._paces = Paces(passes, self._came)
        self._conductor = Conductor(self._rests)
        self._outstanding = set(self._order)
        self._head = 0
        self._relaxed = relaxed
        self._questions = questions or {}
        self._timers = timers or {}
        self._fired = timers_fired()
        self._asked = 0
        self._line: Timeline | None = None
        self._moments: dict[float, tuple[float, float]] = {}
        self._waiters: dict[float, Waiter] = {}
        self._hung: dict[int, Waiter] = {}
        self._behind: dict[int, Waiter] = {}
        self._lock = threading.RLock()
        self._depth = 0
        self._dropped: deque[tuple[float, ...]] = deque()
        self._progress = 0
        self._is_over = False
        self.is_held = False

    # ------------------------------------------------------------ for those who wait

    def wait(self, number: float) -> None:
        """Block this thread until it is the turn of `number`; gives it out."""
        with self._locked():
            line = self._line
            if line is None and self._try_take(number):
                return
            if self._is_over or number not in self._outstanding:
                return
            if self._stands_in_its_own_way():
                self._make_next(number)
                self._take(number)
                return
            waiter = ThreadWaiter()
            self._waiters[number] = waiter
            self._announce()
        try:
            if line is None or not line.block(waiter):
                pause(self, waiter)
        finally:
            with self._locked():
                self._waiters.pop(number, None)
                self._take(number)

    async def turn(self, number: float, *, at_once: bool = False) -> None:
        """As `wait`, for a coroutine: the event loop goes on meanwhile.

        Args:
            number: of the answer.
            at_once: it came without the loop having run anything else since the question.
        """
        loop = running_loop()
        if loop is None:  # another kind of event loop: nothing is known of it
            self.wait(number)
            return
        with self._locked():
            if at_once and self._try_take(number):
                return
            waiter = TaskWaiter(loop, at_once=at_once)
            self._waiters[number] = waiter
            self._announce()
        try:
            await released(self, waiter)
        finally:  # cancelled too: then nobody waits for it
            with self._locked():
                self._waiters.pop(number, None)
                self._take(number)

    async def hang(self) -> None:
        """Wait for an answer that never came: until the task is cancelled, or everything ends."""
        loop = running_loop()
        if loop is None:
            self.hang_thread()
            return
        waiter = TaskWaiter(loop, at_once=True)
        with self._locked():
            if self._is_over:
                return
            self._hung[id(waiter)] = waiter
        try:
            await waiter.wait()
        finally:
            with self._locked():
                self._hung.pop(id(waiter), None)
                self._fired = timers_fired()  # as it was counted: the end of what was given up is an answer there

    def hang_thread(self) -> None:
        """As `hang`, for a thread: until everything ends."""
        waiter = ThreadWaiter()
        with self._locked():
            if self._is_over:
                return
            self._hung[id(waiter)] = waiter
            line = self._line
        if line is None or not line.block(waiter):
            while not waiter.pause():
                pass

    def wait_for_all(self) -> None:
        """Block this thread until every answer has been given out or dropped; sooner where nothing else happens."""
        waiter = ThreadWaiter()
        if self._stands_behind(waiter):
            line = self._line
            try:
                if line is None or not line.block(waiter):
                    pause(self, waiter, MOST_PATIENT_SLICES)
            finally:
                with self._locked():
                    self._behind.pop(id(waiter), None)

    async def turn_after_all(self) -> None:
        """As `wait_for_all`, for a coroutine: the event loop goes on meanwhile."""
        loop = running_loop()
        if loop is None:
            self.wait_for_all()
            return
        waiter = TaskWaiter(loop, at_once=True)
        if self._stands_behind(waiter):
            try:
                await released(self, waiter)
            finally:
                with self._locked():
                    self._behind.pop(id(waiter), None)

    # ------------------------------------------------------------ for those who see more

    def drop(self, *numbers: float) -> None:
        """Nobody wants these any more, so nobody waits for them. Safe in finalizers, which run anywhere."""
        self._dropped.append(numbers)
        self._drain()

    def relax(self) -> bool:
        """Release the earliest answer that is waited for, because nothing else can happen; whether there was one."""
        with self._locked():
            if self._is_over or self.is_held:
                return False
            if not self._waiters:
                return self._release_behind()
            number = min(self._waiters)
            if self._next() != number:
                self._make_next(number)
            self._release(number, self._waiters[number])
            return True

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for a turn."""
        return bool(self._waiters or self._behind)

    @property
    def progress(self) -> int:
        """Another number whenever an answer was given out, or something else happened."""
        return self._progress

    @property
    def hangs(self) -> bool:
        """Whether somebody waits for an answer that never came."""
        return bool(self._hung)

    def asked(self, lasted: Mapping[float, float], after: tuple[float, float] | None = None) -> None:
        """A question was asked, and will be answered.

        Args:
            lasted: seconds from the question to each of the answers that it has, by number, as recorded.
            after: an answer that came before it in its lane, and the seconds from then to the question.
        """
        with self._locked():
            self._asked += 1
            if self._line is not None:
                asked = self._line.now()
                if after is not None and after[0] in self._moments:
                    asked = max(asked, self._moments[after[0]][0] + after[1])
                self._moments.update({number: (asked + seconds, seconds) for number, seconds in lasted.items()})
            self._announce()

    def follow(self, line: Timeline | None) -> None:
        """Give answers out when `line` says so; None: as soon as it is their turn."""
        with self._locked():
            self._line = line
            self._announce()

    def upcoming(self) -> Upcoming | None:
        """The answer that may come next; None where nobody waits for the one whose turn it is."""
        with self._locked():
            number = self._next()
            is_wanted = number is not None and number in self._waiters and not self.is_held
            if number is None or not is_wanted or self._asked < self._questions.get(number, 0):
                return None
            due, lasted = self._moments.get(number, (0.0, 0.0))
            fired = timers_fired() - self._fired
            return Upcoming(due, lasted, self._timers.get(number, 0), fired, partial(self._give, number))

    def _give(self, number: float) -> None:
        """Release whoever waits for `number`, whose turn it is."""
        with self._locked():
            if number in self._waiters and self._next() == number:
                self._release(number, self._waiters[number])

    def progressed(self) -> None:
        """Something happened: those who wait are patient again."""
        self._progress += 1

    def end(self) -> None:
        """Release everybody: no more answers are given out."""
        with self._locked():
            self._is_over = True
            for waiter in [*self._waiters.values(), *self._hung.values(), *self._behind.values()]:
                waiter.release()

    # ------------------------------------------------------------ inside the lock

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
        self._drain()

    def _drain(self) -> None:
        """Take dropped numbers out, unless this thread is in the midst of something: then whoever leaves does it."""
        while self._dropped and self._lock.acquire(blocking=False):
            try:
                if self._depth:
                    return
                self._depth += 1
                try:
                    while self._dropped:
                        self._outstanding.difference_update(self._dropped.popleft())
                    self._announce()
                finally:
                    self._depth -= 1
            finally:
                self._lock.release()

    def _next(self) -> float | None:
        """The smallest number that has not been given out."""
        while self._head < len(self._order):
            number = self._order[self._head]
            if number in self._outstanding:
                return number
            self._head += 1
        return None

    def _try_take(self, number: float) -> bool:
        """Give `number` out if that may be: it is its turn, it was given out before, or there is no order any more."""
        if self._is_over or number not in self._outstanding:
            return True
        if self._next() != number:
            return False
        self._take(number)
        return True

    def _take(self, number: float) -> None:
        self._progress += 1
        self._outstanding.discard(number)
        self._fired = timers_fired()
        loop = running_loop()
        if loop is not None:
            self._paces.given_out(loop, self._after(number))
        self._announce()

    def _make_next(self, number: float) -> None:
        """Let `number` come before its turn: what was to come before it and is not waited for holds nobody up now."""
        self._outstanding = {other for other in self._outstanding if other >= number or other in self._waiters}
        self._relaxed(number)

    def _announce(self) -> None:
        """Release whoever waits for the next number, where it is not the clock that says when."""
        number = self._next()
        if number is None:
            self._release_behind()
        if number is None or number not in self._waiters or self._paces.is_coming(number):
            return
        waiter = self._waiters[number]
        if self._paces.is_due(number) or (isinstance(waiter, TaskWaiter) and waiter.at_once):
            self._release(number, waiter)
        elif self._line is None and isinstance(waiter, TaskWaiter):
            self._conductor.conduct(waiter.loop)
        elif self._line is None:
            self._release(number, waiter)

    def _release(self, number: float, waiter: Waiter) -> None:
        """Let a waiter go; and in their time those that came right behind it, before its loop had come to rest."""
        waiter.release()
        if not isinstance(waiter, TaskWaiter) or running_loop() is not waiter.loop:
            return
        following = self._after(number)
        while following is not None and self._paces.is_with_its_own(following):
            following = self._after(following)  # whoever got `number` takes that by itself
        self._paces.released(waiter.loop, following)

    def _stands_behind(self, waiter: Waiter) -> bool:
        """Whether there are answers that `waiter` has to wait for; then it does."""
        with self._locked():
            if self._is_over or self._next() is None:
                return False
            self._behind[id(waiter)] = waiter
            return True

    def _release_behind(self) -> bool:
        """Release those who wait until all has been given out; whether there were any."""
        for waiter in self._behind.values():
            waiter.release()
        return bool(self._behind)

    def _stands_in_its_own_way(self) -> bool:
        """Whether this thread would wait for a coroutine of the event loop that it runs: neither could go on."""
        loop, number = running_loop(), self._next()
        waiter = None if number is None else self._waiters.get(number)
        return loop is not None and isinstance(waiter, TaskWaiter) and waiter.loop is loop

    # ------------------------------------------------------------ event loops

    def _came(self, number: float) -> None:
        """The moment of a number has come that comes some passes behind the one before it."""
        with self._locked():
            if number in self._waiters:
                self._release(number, self._waiters[number])

    def _rests(self, loop: Loop) -> None:
        """Nothing in `loop` is ready: release its waiter, if it is still its turn."""
        with self._locked():
            number = self._next()
            waiter = None if number is None else self._waiters.get(number)
            if number is None or self._asked < self._questions.get(number, 0):
                return  # the next question asks again; where none comes, `relax` lets it go
            if isinstance(waiter, TaskWaiter) and waiter.loop is loop:
                self._release(number, waiter)

    def _after(self, number: float) -> float | None:
        """The next number behind one that was given out, if that is not long ago."""
        index = bisect_right(self._order, number)
        while index < len(self._order) and self._order[index] not in self._outstanding:
            index += 1
        return self._order[index] if index < len(self._order) else None
