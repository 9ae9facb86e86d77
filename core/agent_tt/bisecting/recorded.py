"""The first step after which something holds, over the states that were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
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
        last_without: the step before it, after which it does not hold; None where there is none.
        spans: of recorded states, all stretches of steps in which it holds; the first begins with `first`.
        probes: of forks, those that were asked, in order.
        last: the last step of the run.
        stopped: of forks, why the search ended before it was known which step is the first: `first` is then the
            earliest that is known to hold. Empty where it is known.
    """

    run_id: str
    expression: str
    first: int | None
    last_without: int | None
    last: int
    spans: tuple[Span, ...] = ()
    probes: tuple[Probe, ...] = ()
    stopped: str = ""

    @property
    def is_monotone(self) -> bool:
        """Whether it goes on holding to the end, so that `first` is the one step that made the difference.

        Forks are only asked at a few steps, where this is taken for granted.
        """
        if self.probes:
            return True
        return len(self.spans) <= 1 and all(span.last == self.last for span in self.spans)

    def to_json(self) -> dict[str, Wire]:
        """`{run, expression, first, last_without, monotone, spans: [[first, last]], probes: [probe], stopped}`."""
        return {
            "run": self.run_id,
            "expression": self.expression,
            "first": self.first,
            "last_without": self.last_without,
            "monotone": self.is_monotone,
            "spans": [[span.first, span.last] for span in self.spans],
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
    spans = tuple(Watch(source, run.id, expression).spans())
    first = spans[0].first if spans else None
    return Bisection(
        run_id=run.id,
        expression=expression,
        first=first,
        last_without=first - 1 if first else None,
        last=source.step_count(run.id),
        spans=spans,
    )
