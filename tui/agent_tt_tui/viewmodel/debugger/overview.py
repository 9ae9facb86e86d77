"""A few bytes about every step of a run, so that strip, folds and errors need not read the steps again."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from agent_tt_tui.viewmodel.debugger.clock_axis import ClockAxis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Step

KINDS = ("", "other", "llm", "http", "read", "write", "human")
"""Kinds of steps, weakest call first; the empty one made no call."""

_NOT_ENDED = -1
_NOT_KNOWN = -1
_FOREVER_US = 1 << 62
_MOST_IDLE = 8
_FAR_BACK = 64
"""Steps of a lane that are looked through for what models were sent before."""
_PERCENTILE = 0.95
_FAR_LONGER = 4
_DEEPEST = 255


def lane_name(step: Step) -> str:
    """Under which name a step's lane is shown: its agent, or the last part of the lane's own name."""
    return step.agent or step.lane.rpartition("/")[2]


class Overview:
    """What is known about the steps 1..`scanned` of a run; step 0, the input, is not among them."""

    def __init__(self) -> None:
        self.scanned = 0
        """The last step that was looked at."""
        self.errors: list[int] = []
        """Numbers of the failed steps, in order."""
        self.lanes: list[str] = []
        """Names of the lanes, in order of appearance."""
        self._kind = bytearray(b"\0")
        self._depth = bytearray(b"\0")
        self._lane = array("l", [0])
        self._duration = array("q", [0])
        self._started = array("q", [0])
        self._ended = array("q", [0])
        self.span_us: tuple[int, int] = (0, 0)
        """When the first step started and the last one ended, as far as that is known."""
        self._tokens_in = array("q", [_NOT_KNOWN])
        self.most_context = 0
        """The most tokens that models were sent at one step."""
        self.most_tokens = 0
        """The most tokens of one step, those that came back included."""
        self._busy_until = 0
        self._idle: list[tuple[int, int, int]] = []
        self._axes: dict[tuple[int, int, int], ClockAxis] = {}
        self._repeats = array("q", [0])
        """A number that neighbours share which repeat the same; 0 for a step that repeats nothing."""
        self._running: set[int] = set()
        self._lane_of: dict[str, int] = {}
        self._lane_numbers: list[array[int]] = []
        self._origin: dict[int, int] = {}
        """By lane, the step of another lane that its first step is nested in."""
        self._branches: dict[int, list[int]] = {}
        """By step, the lanes that begin in it."""
        self._scale: tuple[int, int] = (0, 0)

    def add(self, steps: Sequence[Step]) -> None:
        """Take in steps: those that follow, or newer facts about ones that are known.

        Args:
            steps: in order, the first at most one after `scanned`.
        """
        for step in steps:
            if step.number > self.scanned:
                self._note_idle(step)
                self._append(step)
            self._set(step)

    @property
    def unfinished(self) -> int | None:
        """The first step that was still running when it was looked at."""
        return min(self._running, default=None)

    def kind(self, number: int) -> str:
        """The kind of a step, one of `KINDS`."""
        return KINDS[self._kind[number]]

    def count_of(self, kind: str) -> int:
        """How many of the steps that were looked at are of a kind, one of `KINDS`."""
        return self._kind.count(KINDS.index(kind), 1)

    def lane_count(self, lane: int) -> int:
        """How many steps of a lane were looked at."""
        return len(self._lane_numbers[lane])

    def depth(self, number: int) -> int:
        """In how many steps a step is nested."""
        return self._depth[number] if number <= self.scanned else 0

    @property
    def deepest(self) -> int:
        """The deepest nesting there is."""
        return max(self._depth)

    def is_error(self, number: int) -> bool:
        """Whether a step failed."""
        at = bisect_left(self.errors, number)
        return at < len(self.errors) and self.errors[at] == number

    def is_running(self, number: int) -> bool:
        """Whether a step had not ended when it was looked at."""
        return number in self._running

    def like_previous(self, number: int) -> bool:
        """Whether a step repeats what an earlier one did, and so does the one before it, under the same name."""
        return 0 < number <= self.scanned and self._repeats[number] == self._repeats[number - 1] != 0

    def errors_between(self, first: int, last: int) -> int:
        """How many of the steps first..last failed."""
        return bisect_right(self.errors, last) - bisect_left(self.errors, first)

    def rarest(self, first: int, last: int) -> str:
        """The kind worth showing for the steps first..last: `write`, else `human`, else none."""
        return next(
            (kind for kind in ("write", "human") if self._kind.find(KINDS.index(kind), first, last + 1) >= 0), ""
        )

    def next_error(self, number: int, direction: int) -> int | None:
        """The nearest failed step after (direction 1) or before (-1) a step."""
        at = bisect_right(self.errors, number) if direction > 0 else bisect_left(self.errors, number) - 1
        return self.errors[at] if 0 <= at < len(self.errors) else None

    def lane_index(self, number: int) -> int:
        """Which of `lanes` a step ran in; 0 for what is not known."""
        return self._lane[number] if 0 < number <= self.scanned else 0

    def lane_span(self, lane: int) -> tuple[int, int]:
        """The first and last step of a lane."""
        numbers = self._lane_numbers[lane]
        return numbers[0], numbers[-1]

    def branches(self, number: int) -> Sequence[int]:
        """The lanes that begin inside a step: it fans out."""
        return self._branches.get(number, ())

    def gathered(self, number: int) -> Sequence[int]:
        """The lanes that began inside the step before in this lane and have ended: this step gathers them."""
        before = self.in_lane(number, -1)
        lanes = self.branches(before) if before is not None else ()
        return [lane for lane in lanes if self._lane_numbers[lane][-1] < number]

    def lane_reach(self, lane: int) -> tuple[int, int]:
        """From which step to which the rail of a lane is drawn: where it branches off, and where it is gathered."""
        first, last = self.lane_span(lane)
        origin = self._origin.get(lane)
        if origin is None:
            return first, last
        gathering = self.in_lane(origin, 1)
        return origin, gathering if gathering is not None and gathering > last else last

    def lane_steps(self, lane: int) -> Sequence[int]:
        """The steps of a lane, in order."""
        return self._lane_numbers[lane]

    def times_us(self, number: int) -> tuple[int, int]:
        """When a step started and ended; 0 for what is not known."""
        return self._started[number], self._ended[number]

    def axis(self, began_us: int, ended_us: int, columns: int) -> ClockAxis | None:
        """The clock of the run in so many columns; None where no time is known.

        Args:
            began_us: When the run began; 0 where nobody knows.
            ended_us: When it ended; 0 where nobody knows, or it goes on.
            columns: How many columns.
        """
        begin, end = began_us or self.span_us[0], max(ended_us, self.span_us[1])
        if not begin or end <= begin:
            return None
        key = (begin, end, columns)
        if key not in self._axes:
            idle = sorted((first, last) for _, first, last in self._idle)
            self._axes = {key: ClockAxis(begin, end, columns, idle)}
        return self._axes[key]

    def _note_idle(self, step: Step) -> None:
        """Note the time before a step in which none ran, if it is among the longest; steps come by number."""
        began = step.started_us or 0
        if began and 0 < self._busy_until < began:
            heappush(self._idle, (began - self._busy_until, self._busy_until, began))
            if len(self._idle) > _MOST_IDLE:
                heappop(self._idle)
        self._busy_until = max(self._busy_until, step.ended_us or _FOREVER_US)

    def context_before(self, number: int) -> int | None:
        """How many tokens models were sent before a step: at the last one of its lane of which that is known."""
        if not 0 < number <= self.scanned:
            return None
        numbers = self._lane_numbers[self._lane[number]]
        at = bisect_left(numbers, number)
        for before in reversed(numbers[max(0, at - _FAR_BACK) : at]):
            if self._tokens_in[before] > 0:
                return self._tokens_in[before]
        return None

    def in_lane(self, number: int, direction: int) -> int | None:
        """The next (direction 1) or previous (-1) step of the lane that a step ran in."""
        if not 0 < number <= self.scanned:
            return 1 if direction > 0 and number == 0 and self.scanned else None
        numbers = self._lane_numbers[self._lane[number]]
        at = bisect_left(numbers, number) + direction
        return numbers[at] if 0 <= at < len(numbers) else None

    @property
    def long_duration_us(self) -> int:
        """What a full bar stands for; 0 while nothing is known.

        It is the longest duration, so that lengths can be compared, unless that is so far beyond nearly all others
        that their bars would be too short to tell apart: then it is the longest of those, and the bars beyond are cut.
        """
        size, value = self._scale
        # Bars must not jump with each step of a live run, nor be sorted anew for each.
        if self.scanned >= size * 1.25 or size == 0:
            known = sorted(duration for duration in self._duration if duration > 0)
            nearly_all = known[max(0, min(len(known) - 2, int(len(known) * _PERCENTILE)))] if known else 0
            value = known[-1] if known and known[-1] <= _FAR_LONGER * nearly_all else nearly_all
            self._scale = (self.scanned, value)
        return value

    def _append(self, step: Step) -> None:
        # A lane for each agent: its own tasks come and go within it.
        name = lane_name(step)
        lane = self._lane_of.setdefault(name, len(self.lanes))
        parent = step.parent
        nested = parent is not None and 0 < parent < step.number
        if lane == len(self.lanes):
            self.lanes.append(name)
            self._lane_numbers.append(array("l"))
            if nested and parent is not None:
                self._origin[lane] = parent
                self._branches.setdefault(parent, []).append(lane)
        self._lane_numbers[lane].append(step.number)
        self._lane.append(lane)
        self._depth.append(min(_DEEPEST, self._depth[parent] + 1) if nested and parent is not None else 0)
        self._kind.append(0)
        self._duration.append(_NOT_ENDED)
        self._started.append(0)
        self._ended.append(0)
        self._tokens_in.append(_NOT_KNOWN)
        self._repeats.append(0)
        self.scanned = step.number

    def _set(self, step: Step) -> None:
        number = step.number
        self._kind[number] = KINDS.index(step.kind) if step.kind in KINDS else 0
        duration = step.duration_us
        self._duration[number] = _NOT_ENDED if duration is None else duration
        self._started[number] = step.started_us or 0
        self._ended[number] = step.ended_us or 0
        self._tokens_in[number] = _NOT_KNOWN if step.tokens_in is None else step.tokens_in
        self.most_context = max(self.most_context, step.tokens_in or 0)
        self.most_tokens = max(self.most_tokens, (step.tokens_in or 0) + (step.tokens_out or 0))
        known = [time for time in (*self.span_us, step.started_us, step.ended_us) if time]
        self.span_us = (min(known), max(known)) if known else (0, 0)
        if step.status == "running":
            self._running.add(number)
        else:
            self._running.discard(number)
        if step.status == "error" and not self.is_error(number):
            insort(self.errors, number)
        repeats = step.repeat_of is not None and step.status == "ok"
        self._repeats[number] = hash((step.name, step.kind, lane_name(step), step.parent)) or 1 if repeats else 0
