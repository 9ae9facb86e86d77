"""One of two runs that are compared, read once and only as far as it is needed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from agent_tt.comparing.steps.moves import Move, describe_move, is_silent
from agent_tt.comparing.steps.outcome import read_outcome
from agent_tt.comparing.steps.unrecorded_effects import effects_outside
from agent_tt.comparing.steps.updates import read_updates
from agent_tt.comparing.values.bookkeeping import without_bookkeeping
from agent_tt.errors import AgentTTError, Interrupted
from agent_tt.history.digest import digest
from agent_tt.protocols import check_count, check_run, check_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["RunView"]

_PAGE: Final = 512
"""Steps whose calls are read at once: enough to be fast, and soon over when the comparison is given up."""


class RunView:
    """One of the two runs.

    Args:
        source: where the run is.
        run: the run.

    Raises:
        Damaged: its row, or a step, is not as it was recorded, or is missing.

    Attributes:
        source: where the run is.
        run: the run.
        steps: all its steps.
        by_number: the same by their numbers.
        live: whether it still runs.
        cancelled: asked now and then; once it says yes, the comparison is given up.
        pages: whether the source gives calls of many steps at once.
        gives_digests: whether it gives the digests of states at once, too, and these are of what is compared.
        unread: what could not be read, in words: nothing is known of whether that is the same.
        unkept: what of that is not damaged: no checkpoint of it is kept.
    """

    def __init__(self, source: RunSource, run: Run) -> None:
        self.source = source
        self.run = run
        check_run(run)
        self.steps: list[Step] = source.steps(run.id)
        check_shown(run, *self.steps)
        self.by_number = {step.number: step for step in self.steps}
        self.live = run.status == "running"
        self.cancelled: Callable[[], bool] = lambda: False
        self.pages = source.capabilities.pages
        self._has_bookkeeping = self.pages and any(step.facts.checkpoint_id is not None for step in self.steps)
        self.gives_digests = self.pages and not self._has_bookkeeping
        self.unread: dict[str, None] = {}
        self.unkept: set[str] = set()
        self._moves: dict[int, Move] = {}
        self._shared = 0
        self._heads: dict[int, list[Call]] = {}
        self._digests: dict[int, bytes] = {}
        self._digests_from: int | None = None
        self._containers = {step.parent for step in self.steps}

    def check(self) -> None:
        """Find out whether the comparison was given up.

        Raises:
            Interrupted: it was.
        """
        if self.cancelled():
            raise Interrupted("the comparison was given up")

    def share(self, other: RunView, upto: int) -> None:
        """Reuse what the other side has read of the first steps, which both runs share."""
        for step in self.steps[:upto]:
            if step.number in other._heads:
                self._heads[step.number] = other._heads[step.number]

    def moves(self, shared: int) -> list[Move]:
        """What the steps after the shared ones did, those left out that still run.

        Raises:
            Interrupted: the comparison was given up.
        """
        self._shared = shared  # a run that is compared with many knows more moves than these
        over = [step for step in self.steps[shared:] if not self._runs(step)]
        unknown = [step for step in over if step.number not in self._moves]
        for start in range(0, len(unknown), _PAGE):
            self.check()
            page = unknown[start : start + _PAGE]
            for step, calls in zip(page, self._calls_of(page), strict=True):
                written = self.updates(step) if is_silent(calls) else None
                self._moves[step.number] = describe_move(step, calls, written)
        return [self._moves[step.number] for step in over]

    def unfinished(self, shared: int) -> list[Step]:
        """The steps after the shared ones that still run."""
        return [step for step in self.steps[shared:] if self._runs(step)]

    def did(self, number: int) -> bool:
        """Whether `moves` gave what a step did."""
        return number in self._moves

    def move(self, number: int) -> Move:
        """What a step did that `moves` gave."""
        return self._moves[number]

    def beside(self, number: int, way: int) -> Move | None:
        """What the next of these steps in the same lane did, or with -1 the one before; None where there is none."""
        move = self._moves[number]
        lane = sorted(
            other.number
            for other in self._moves.values()
            if other.step.lane == move.step.lane and other.number > self._shared
        )
        at = lane.index(number) + way
        return self._moves[lane[at]] if 0 <= at < len(lane) else None

    def calls(self, number: int) -> list[Call]:
        """The calls of a step, with all that they carried."""
        calls = self.source.calls(self.run.id, number)
        check_shown(self.run, *calls)
        return calls

    def updates(self, step: Step) -> dict[str, str]:
        """What a step wrote to the state; nothing for one that contains steps, of which each is compared itself.

        Raises:
            Interrupted: the comparison was given up.
        """
        if step.number in self._containers:
            return {}
        self.check()
        try:
            return read_updates(self.source, self.run.id, step)
        except AgentTTError:  # one damaged checkpoint must not end the comparison
            self.unread[f"what step {step.number} wrote"] = None
            return {}

    def read_digests(self, start: int) -> None:
        """Read the digests of the states from a step on at once, where the source can."""
        if self._digests_from is None or start < self._digests_from:
            self._digests_from = start
            if self.gives_digests:
                self._digests |= self.source.digest_page(self.run.id, start, len(self.steps) + 1)

    def digest(self, number: int) -> bytes | None:
        """The digest of the state after a step; None where it is not known, or the step took no checkpoint."""
        if self.lacks_state(number):
            return None
        known = self._digests.get(number)
        if known is None and (not self.gives_digests or self._digests_from is None or number < self._digests_from):
            try:
                known = self._made_digest(number) if self._has_bookkeeping else self.source.digest(self.run.id, number)
            except AgentTTError:
                self.unread[_state_after(number)] = None
                return None
            if known is not None:
                self._digests[number] = known
        return known

    def _made_digest(self, number: int) -> bytes | None:
        step = self.by_number.get(number)
        return None if step is not None and step.seq is None else digest(self.state(number))

    def state(self, number: int) -> Wire:
        """Give the state after a step, without the entries that a framework stores in it for its own use.

        Raises:
            AgentTTError: it cannot be read.
        """
        return without_bookkeeping(self.source.state(self.run.id, number))

    @cached_property
    def final_state(self) -> Wire:
        """The state after its last step; None where it has none, or none that is kept and can be read."""
        last = len(self.steps)
        if self.lacks_state(last):
            self.unread[_state_after(last)] = None
            self.unkept.add(_state_after(last))
            return None
        try:
            return self.state(last)
        except AgentTTError:
            self.unread[_state_after(last)] = None
            return None

    def lacks_state(self, number: int) -> bool:
        """Whether no checkpoint of a step is kept: what is read after it is the state of an earlier one."""
        step = self.by_number.get(number)
        return step is not None and step.is_unkept

    @property
    def knows_final_state(self) -> bool:
        """Whether the state after its last step could be read."""
        return self.final_state is not None or _state_after(len(self.steps)) not in self.unread

    @cached_property
    def outcome(self) -> Outcome:
        """How it ended."""
        outcome = read_outcome(self.run, self.steps, self.heads, self.final_state)
        return replace(outcome, effects=outcome.effects.plus(effects_outside(self.source, self.run)))

    @cached_property
    def heads(self) -> list[Call]:
        """Every call of the run, without what it carried."""
        if self.pages:
            known = self.source.call_heads(self.run.id)
            check_shown(self.run, *known)
            return known
        heads: list[Call] = []
        for step in self.steps:
            if step.number not in self._heads:
                self._read_calls(step)
            heads += self._heads[step.number]
        return heads

    def _calls_of(self, steps: Sequence[Step]) -> Iterator[Sequence[Call]]:
        """The calls of some steps, which are in order."""
        if self.pages:
            by_step: defaultdict[int, list[Call]] = defaultdict(list)
            for call in self.source.call_page(self.run.id, steps[0].number, steps[-1].number + 1):
                by_step[call.step].append(call)
            return iter([self._whole(step, by_step[step.number]) for step in steps])
        return iter([self._read_calls(step) for step in steps])

    def _read_calls(self, step: Step) -> Sequence[Call]:
        self.check()
        calls = self.source.calls(self.run.id, step.number) if step.calls else []
        self._heads[step.number] = [replace(call, args=None, result=None) for call in calls]
        return self._whole(step, calls)

    def _whole(self, step: Step, calls: Sequence[Call]) -> Sequence[Call]:
        """The calls of a step, none of which may be damaged or missing.

        Raises:
            Damaged: one is.
        """
        check_shown(self.run, *calls)
        check_count(self.run, step, len(calls))
        return calls

    def _runs(self, step: Step) -> bool:
        return self.live and step.status == "running"


def _state_after(step: int) -> str:
    return f"the state after step {step}" if step else "the state that it began with"
