"""What a sweep is: the axes of its product, how often each cell is taken, and on what terms.

It is kept in the store as JSON, so that a sweep that was interrupted goes on as it was begun. Whatever a file holds
there is read with care.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged, UsageError
from agent_tt.forking.effects_said import checked_effects
from agent_tt.forking.request import ForkRequest
from agent_tt.forking.terms import MOCK, PYTHON, Terms, terms_in
from agent_tt.model.facts import TermFacts
from agent_tt.querying.predicates import Predicate, parse_predicate
from agent_tt.sweeping.axes import KINDS, Axis, AxisKind, axes_of, axis_from_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import WayBackIn

__all__ = ["MOST_RUNS", "MOST_UNASKED", "Cell", "Definition", "definition_of", "with_executors"]

MOST_UNASKED: Final = 100
"""Sweeps of more runs are started only by somebody who says so."""

MOST_RUNS: Final = 10_000
"""Sweeps of more runs are not started at all."""

_MOST_JOBS: Final = 64


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of values.

    Attributes:
        number: from 1, the last axis changing first.
        indexes: which value of each axis it takes.
    """

    number: int
    indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a sweep is.

    Attributes:
        axes: what is varied, and with a single value what holds for all.
        fork: what each run is, but for what is varied. Of tools that write only those run that its `allow` names.
        samples: how often each cell is taken.
        jobs: how many runs are under way at a time.
        outcomes: what is asked of each run's last step, as it was written (see `querying.predicates`).
        max_cost: US dollars; once the runs have cost that, none is begun.
        new_keys: whether values may be given to keys that the state does not have.
    """

    axes: tuple[Axis, ...]
    fork: ForkRequest = field(default_factory=ForkRequest)
    samples: int = 1
    jobs: int = 1
    outcomes: tuple[str, ...] = ()
    max_cost: float | None = None
    new_keys: bool = False

    @property
    def varied(self) -> tuple[Axis, ...]:
        """The axes that take several values."""
        return tuple(axis for axis in self.axes if axis.varies)

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The outcomes, read."""
        return tuple(parse_predicate(text) for text in self.outcomes)

    @property
    def cell_count(self) -> int:
        """How many combinations there are."""
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def run_count(self) -> int:
        """How many runs it takes."""
        return self.cell_count * self.samples

    def cells(self) -> Iterator[Cell]:
        """Every combination."""
        ranges = (range(len(axis.values)) for axis in self.axes)
        return (Cell(number, indexes) for number, indexes in enumerate(itertools.product(*ranges), start=1))

    def labels(self, cell: Cell) -> tuple[str, ...]:
        """The values that a cell takes of the axes that vary."""
        return tuple(axis.label(index) for axis, index in zip(self.axes, cell.indexes, strict=True) if axis.varies)

    def with_jobs(self, jobs: int | None = None, max_cost: float | None = None) -> Definition:
        """The same, taken by more or fewer runs at a time, or with another budget; None leaves it."""
        changed = replace(
            self, jobs=self.jobs if jobs is None else jobs, max_cost=self.max_cost if max_cost is None else max_cost
        )
        return changed.checked()

    def checked(self) -> Definition:
        """Itself.

        Raises:
            UsageError: it makes no sense; the message says why.
        """
        axes_of(self.axes)
        if not self.varied and self.samples < 2:
            raise UsageError(
                "nothing is varied: each edit has one value, and one sample is taken",
                hint="give values with commas between them (--set temperature=0,0.5,1), or --samples 5",
            )
        if self.samples < 1 or self.jobs < 1:
            raise UsageError("at least one sample is taken, by one run at a time")
        if self.jobs > _MOST_JOBS:
            raise UsageError(f"at most {_MOST_JOBS} runs are taken at a time")
        if self.run_count > MOST_RUNS:
            raise UsageError(
                f"that would be {self.run_count:,} runs: a sweep has at most {MOST_RUNS:,}", hint="vary less at a time"
            )
        for text in self.outcomes:
            parse_predicate(text)
        if any(axis.kind == "executor" for axis in self.axes) and self.fork.terms.executor != PYTHON:
            raise UsageError("the executor is said twice")
        return self

    def to_mapping(self) -> dict[str, Wire]:
        """As the store keeps it."""
        return {
            "axes": [axis.to_mapping() for axis in self.axes],
            "step": self.fork.step,
            "samples": self.samples,
            "jobs": self.jobs,
            "outcomes": list(self.outcomes),
            "allow": list(self.fork.allow),
            **({"effects": dict(self.fork.effects)} if self.fork.effects else {}),
            "by": self.fork.by,
            "accept_changes": self.fork.accept_changes or None,
            "terms": self.fork.terms.to_mapping(),
            "max_cost": self.max_cost,
            "new_keys": self.new_keys or None,
        }


def with_executors(terms: Terms, executors: Sequence[str], seed: int | None) -> tuple[Terms, tuple[Axis, ...]]:
    """Terms with the executor that was named, or the axis of several.

    Raises:
        UsageError: a seed is given, but no answers are made up.
    """
    if seed is not None and (MOCK not in executors or terms.script is not None):
        raise UsageError("a seed varies the answers of mock, and that is not the executor", hint="add --executor mock")
    terms = replace(terms, seed=seed or 0)
    if len(executors) > 1:
        return terms, (axis_from_values("executor", "", list(executors)),)
    return (replace(terms, executor=executors[0]) if executors else terms), ()


def definition_of(kept: Mapping[str, Wire]) -> Definition:
    """What `to_mapping` wrote.

    Raises:
        Damaged: it is something else, or makes no sense.
    """
    try:
        return Definition(
            axes=tuple(_axis(facts) for facts in _listed(kept.get("axes"))),
            fork=ForkRequest(
                step=_whole(kept.get("step")),
                allow=tuple(text for text in _listed(kept.get("allow")) if isinstance(text, str)),
                effects=checked_effects(_named(kept.get("effects"))),
                by=_way(kept.get("by")),
                accept_changes=kept.get("accept_changes") is True,
                terms=_terms(kept.get("terms")),
            ),
            samples=_whole(kept.get("samples")) or 1,
            jobs=_whole(kept.get("jobs")) or 1,
            outcomes=tuple(text for text in _listed(kept.get("outcomes")) if isinstance(text, str)),
            max_cost=_number(kept.get("max_cost")),
            new_keys=kept.get("new_keys") is True,
        ).checked()
    except UsageError as error:
        raise Damaged(f"the sweep cannot be read: {error.message}", hint="begin it again") from error
    except RecursionError as error:
        raise Damaged("the sweep cannot be read: a value is nested too deep", hint="begin it again") from error


def _axis(facts: Wire) -> Axis:
    if not isinstance(facts, dict) or facts.get("kind") not in KINDS or not isinstance(facts.get("place"), str):
        raise Damaged("the sweep cannot be read: one of its axes is none", hint="begin it again")
    return axis_from_values(cast("AxisKind", facts["kind"]), cast("str", facts["place"]), _listed(facts.get("values")))


def _terms(kept: Wire) -> Terms:
    return terms_in(TermFacts(_named(kept)))


def _listed(kept: Wire) -> list[Wire]:
    return kept if isinstance(kept, list) else []


def _named(kept: Wire) -> Mapping[str, Wire]:
    return kept if isinstance(kept, dict) else {}


def _whole(kept: Wire) -> int | None:
    return kept if type(kept) is int else None


def _number(kept: Wire) -> float | None:
    return float(kept) if isinstance(kept, int | float) and not isinstance(kept, bool) else None


def _way(kept: Wire) -> WayBackIn | None:
    return "restore" if kept == "restore" else "replay" if kept == "replay" else None
