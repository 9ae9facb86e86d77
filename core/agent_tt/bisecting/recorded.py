"""The first step after which something holds, over the states that were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.querying.expecting import why_unknown
from agent_tt.querying.watches.step_search import Span, Watch

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["Bisection", "Probe", "bisect_recorded"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One fork that was asked.

    Attributes:
        step: the step that it began after.
        run: the fork's id.
        name: its name.
        holds: whether the expression holds after one of its own steps.
        known: whether it ran for an earlier bisection.
    """

    step: int
    run: str
    name: str
    holds: bool
    known: bool

    def to_json(self) -> dict[str, Wire]:
        """`{step, run, name, holds, known}`."""
        return {"step": self.step, "run": self.run, "name": self.name, "holds": self.holds, "known": self.known}


@dataclass(frozen=True, slots=True)
class Bisection:
    """The first step after which something holds.

    Attributes:
        run_id: the run.
        expression: what was asked.
        first: the step; None where it holds nowhere.
        last_without: the last step before it after which it is known not to hold; None where there is none.
        spans: of recorded states, all stretches of steps in which it holds; the first begins with `first`.
        probes: of forks, those that were asked, in order.
        last: the last step of the run.
        stopped: of forks, why the search ended before it was known which step is the first: `first` is then the
            earliest that is known to hold. Empty where it is known.
        unknown: of recorded states, the steps after which nobody knows whether it holds: what it asks about is not
            kept, or damaged.
    """

    run_id: str
    expression: str
    first: int | None
    last_without: int | None
    last: int
    spans: tuple[Span, ...] = ()
    probes: tuple[Probe, ...] = ()
    stopped: str = ""
    unknown: tuple[int, ...] = ()

    @property
    def is_monotone(self) -> bool:
        """Whether it goes on holding to the end, so that `first` is the one step that made the difference.

        Forks are only asked at a few steps, where this is taken for granted.
        """
        if self.probes or self.first is None:
            return True
        held = {step for span in self.spans for step in range(span.first, span.last + 1)}
        return held.issuperset({*range(self.first, self.last + 1)} - {*self.unknown})

    @property
    def doubtful(self) -> tuple[int, ...]:
        """The steps before `first` of which nobody knows whether it holds there: it may have begun with one of them."""
        without = -1 if self.last_without is None else self.last_without
        return tuple(step for step in self.unknown if self.first is not None and without < step < self.first)

    def to_json(self) -> dict[str, Wire]:
        """The bisection for programs.

        `{run, expression, first, last_without, monotone, spans: [[first, last]], unknown, probes: [probe], stopped}`.
        """
        return {
            "run": self.run_id,
            "expression": self.expression,
            "first": self.first,
            "last_without": self.last_without,
            "monotone": self.is_monotone,
            "spans": [[span.first, span.last] for span in self.spans],
            "unknown": [*self.unknown],
            "probes": [probe.to_json() for probe in self.probes],
            "stopped": self.stopped,
        }


def bisect_recorded(source: RunSource, run: Run, expression: str) -> Bisection:
    """Find the first step after which an expression holds. All steps are asked, which is as fast as asking a few.

    Args:
        source: where the run is.
        run: the run.
        expression: what is asked.

    Raises:
        InvalidExpression: it cannot be read.
    """
    watch = Watch(source, run.id, expression)
    spans = tuple(watch.spans())
    first = spans[0].first if spans else None
    damaged = {*source.damaged_steps(run.id)} if watch.expression.asks_state else frozenset[int]()
    held = {step for span in spans for step in range(span.first, span.last + 1)}
    rest = (step for step in source.steps(run.id) if step.number not in held)
    unknown = tuple(step.number for step in rest if why_unknown(step, watch.expression) or step.number in damaged)
    known = None if first is None else next((n for n in range(first - 1, -1, -1) if n not in unknown), None)
    return Bisection(
        run_id=run.id,
        expression=expression,
        first=first,
        last_without=known,
        last=source.step_count(run.id),
        spans=spans,
        unknown=unknown,
    )
