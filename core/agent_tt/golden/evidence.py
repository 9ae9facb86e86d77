"""What of a run the rules of a golden look at, read once and only as far as a rule asks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.asked_tools import read_asked_tools
from agent_tt.comparing.steps.outcome import cost_of, last_words, tokens_of, uncounted_in
from agent_tt.comparing.values.bookkeeping import without_bookkeeping
from agent_tt.errors import StepNotFound
from agent_tt.protocols import check_proven, check_shown
from agent_tt.querying.expecting import why_unknown
from agent_tt.querying.expressions import parse
from agent_tt.querying.watches.step_search import Watch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.asked_tools import AskedTools
    from agent_tt.model import Effect, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["Evidence", "Leave", "ToolUse"]

_HALTED: Final = "agent_tt.replaying.divergence:Divergence"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One time that an agent used a tool.

    Attributes:
        name: the tool.
        step: the step in which it did.
        effect: what the tool does; None where nobody knows.
    """

    name: str
    step: int
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """What rules may do beyond reading a run.

    Attributes:
        root: the folder in which commands are run; None where none is.
        asks_judges: whether models may be asked.
    """

    root: Path | None = None
    asks_judges: bool = False


_NO_LEAVE: Final = Leave()


class Evidence:
    """A run as rules see it.

    Args:
        source: where it lies.
        run: the run.
        is_whole: whether the agent came to its own end. Of one that was halted only what it did before is known: a
            rule may be broken for good by that, and may be kept for good, but mostly nobody knows.
        leave: what rules may do beyond reading it.

    Raises:
        Damaged: something of the run is not as it was recorded, or is missing.
    """

    def __init__(self, source: RunSource, run: Run, *, is_whole: bool = True, leave: Leave = _NO_LEAVE) -> None:
        check_proven(source, run)
        self._source = source
        self.run = run
        self.leave = leave
        self.is_whole = is_whole and run.status != "running"
        self.steps: Sequence[Step] = source.steps(run.id)
        check_shown(run, *self.steps)

    @property
    def last_step(self) -> int:
        """Number of the last step; 0 where there is none."""
        return self.steps[-1].number if self.steps else 0

    @cached_property
    def completed(self) -> tuple[int, ...]:
        """Numbers of the steps that are over, and that nobody halted; the input, 0, is one."""
        return (0, *(step.number for step in self.steps if step.status != "running" and not _is_halted(step)))

    @cached_property
    def tools(self) -> tuple[ToolUse, ...]:
        """The tools that it used, in their order: recorded calls, and what its conversation shows beside them."""
        calls = self._source.call_page(self.run.id, 1, self.last_step + 1)
        check_shown(self.run, *calls)
        recorded = [
            (call.step, call.number, ToolUse(call.name, call.step, call.effect))
            for call in calls
            if call.kind == "tool" and call.status != "denied"
        ]
        seen = [
            (each.step, each.call, ToolUse(each.name, each.step))
            for each in self._asked.times
            if each.answer is not None
        ]
        return tuple(use for _, _, use in sorted([*recorded, *seen], key=lambda each: each[:2]))

    @cached_property
    def asked_only(self) -> dict[str, int]:
        """Tools that a model asked for while neither a call nor an answer is seen: by name the first step."""
        found: dict[str, int] = {}
        for each in self._asked.times:
            if each.answer is None:
                found.setdefault(each.name, each.step)
        return found

    @cached_property
    def _asked(self) -> AskedTools:
        return read_asked_tools(self._source, self.run)

    @property
    def tokens(self) -> int | None:
        """Tokens in and out together; None where no step says. Of `uncounted` model calls nothing is in it."""
        return tokens_of(self.steps)

    @cached_property
    def uncounted(self) -> int:
        """How many model calls say nothing of their tokens."""
        return uncounted_in(self.steps, self._source.call_heads(self.run.id))

    @property
    def dollars(self) -> float | None:
        """US dollars; None where no step says. Of `unpriced` model calls nothing is in it."""
        return cost_of(self.steps)

    @property
    def unpriced(self) -> int:
        """How many model calls have no known price."""
        return sum(step.unpriced for step in self.steps)

    def lacks_state(self, step: int) -> bool:
        """Whether no checkpoint of a step is kept, so that nobody knows the state after it."""
        return any(each.is_unkept for each in self.steps if each.number == step)

    def state(self, step: int) -> Wire:
        """The state after a step, without what a framework keeps in it for itself.

        Raises:
            StepNotFound, Damaged: there is none, or none that can be read.
        """
        return without_bookkeeping(self._source.state(self.run.id, step))

    @cached_property
    def answer(self) -> str | None:
        """What the agent answered in the end; None where its last state says none.

        Raises:
            StepNotFound, Damaged: the last state is not kept, or cannot be read.
        """
        if self.lacks_state(self.last_step):
            raise StepNotFound(f"no checkpoint is kept of step {self.last_step}")
        return last_words(self.state(self.last_step))

    def holding(self, expression: str, steps: Sequence[int]) -> list[int]:
        """The steps among some at which an expression holds.

        Raises:
            InvalidExpression: it cannot be read, or would take too long to answer.
        """
        watch = Watch(self._source, self.run.id, expression)
        return [step for step in steps if watch.holds_at(step)]

    def unknown(self, expression: str, steps: Collection[int]) -> dict[int, str]:
        """Why nobody can know whether an expression holds, by those among some steps of which nobody can.

        Raises:
            InvalidExpression: it cannot be read.
        """
        read = parse(expression)
        rows = [(0, None), *((step.number, step) for step in self.steps)]
        found = {number: why_unknown(step, read) for number, step in rows if number in steps}
        return {number: why for number, why in found.items() if why}


def _is_halted(step: Step) -> bool:
    return step.error is not None and step.error.class_name == _HALTED
