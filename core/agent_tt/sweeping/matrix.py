"""How far a sweep is and what came out: read from the forks that name it, in any process and at any time.

Of the runs that were begun for a sample one counts: that which came to an end by itself. A run that was broken off with
the sweep (interrupted, or its process killed) is kept, counts for nothing, and the sample is taken again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.outcome import final_state, last_words
from agent_tt.errors import AgentTTError
from agent_tt.model import STOPPED_BY_LIMIT
from agent_tt.querying.expecting import why_unknown_at_the_end
from agent_tt.querying.watches.step_search import Watch
from agent_tt.sweeping.definition import Cell, Definition, definition_of
from agent_tt.sweeping.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.model import Run, Sweep
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expressions.values import Value
    from agent_tt.querying.predicates import Predicate

__all__ = [
    "CRASHES_KEPT",
    "Matrix",
    "MatrixCell",
    "MatrixReader",
    "Rate",
    "Sample",
    "SampleStatus",
    "Standing",
    "SweepStatus",
    "Tally",
    "ended",
    "place_of",
    "standing_of",
]

SampleStatus = Literal["waiting", "running", "succeeded", "failed", "stopped", "crashed", "broken"]
"""`stopped`: by a limit; `crashed`: several times by itself; `broken`: off with the sweep, and to be taken again."""

SweepStatus = Literal["running", "complete", "interrupted"]
"""Whether a process drives it, it is over, or it can be resumed."""

DONE: Final[frozenset[SampleStatus]] = frozenset({"succeeded", "failed", "stopped", "crashed"})
"""Those that are not taken again."""

CRASHES_KEPT: Final = 3
"""So often an agent's process dies of its own before that is what came out."""

_NEVER_RAN: Final = "agent_tt.errors:InvalidEntryPoint"


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something held.

    Attributes:
        count: how often.
        runs: among how many.
    """

    count: int
    runs: int

    @property
    def share(self) -> float | None:
        """Between 0 and 1; None of no runs."""
        return self.count / self.runs if self.runs else None

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies with 95 % confidence (Wilson's score interval)."""
        return wilson(self.count, self.runs)


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a cell.

    Attributes:
        number: which, from 1.
        status: what became of it.
        run: the run that counts, else the newest that was begun; None where none was.
        runs: all that were begun for it, oldest first.
        steps: steps of the run, those before the fork too; None where it did not end.
        tokens: that models read and wrote in the fork's own steps; None where nobody said.
        cost_usd: US dollars, likewise.
        duration_us: from its start to its end.
        found: for each outcome what the last state has there.
        holds: for each outcome whether it holds; None where it compares nothing, and where that is not known.
        answer: the run's last words, read off its state.
        unpriced: how many of its model calls have no known price: `cost_usd` is that of the others.
    """

    number: int
    status: SampleStatus = "waiting"
    run: Run | None = None
    runs: tuple[Run, ...] = ()
    steps: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    duration_us: int | None = None
    found: tuple[Value, ...] = ()
    holds: tuple[bool | None, ...] = ()
    answer: str | None = None
    unpriced: int = 0
    knows_end: bool = True
    """Whether the state after its last step is known; else `found` and `answer` may only be missing."""

    @property
    def is_done(self) -> bool:
        """Whether it has come to an outcome."""
        return self.status in DONE

    @property
    def begun(self) -> int:
        """How many runs were begun for it."""
        return len(self.runs)


@dataclass(frozen=True, slots=True)
class Tally:
    """Several samples counted together.

    Attributes:
        samples: how many there are to be.
        done: how many came to an outcome; all below is about these.
        succeeded: how many of them succeeded.
        holds: for each outcome how many it held for, among those that tell; None where it compares nothing.
        steps, tokens, cost_usd, duration_us: means over those that know; None where none does.
        unpriced: how many of their model calls have no known price.
    """

    samples: int
    done: int
    succeeded: Rate
    holds: tuple[Rate | None, ...]
    steps: float | None
    tokens: float | None
    cost_usd: float | None
    duration_us: float | None
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One combination of values and what came out of it."""

    cell: Cell
    labels: tuple[str, ...]
    samples: tuple[Sample, ...]
    tally: Tally


@dataclass(frozen=True, slots=True)
class Matrix:
    """How far a sweep is and what came out.

    Attributes:
        sweep: the sweep.
        definition: what is varied.
        run: the run that is forked; None where it cannot be read.
        cells: every combination, in order.
        total: all samples together.
        pooled: for each axis that varies, its values in order, each with all samples that took it.
        spent_usd: US dollars that all its runs have cost, those that broke off too; None where none of them said.
        unpriced: how many of their model calls have no known price: `spent_usd` is that of the others.
        broken: how many runs broke off and count for nothing.
    """

    sweep: Sweep
    definition: Definition
    run: Run | None
    cells: tuple[MatrixCell, ...]
    total: Tally
    pooled: tuple[tuple[tuple[str, Tally], ...], ...]
    spent_usd: float | None
    broken: int
    unpriced: int = 0

    @property
    def status(self) -> SweepStatus:
        """Whether a process drives it, it is over, or it can be resumed."""
        return _status(self.sweep, self.total.done, self.total.samples)

    @property
    def running(self) -> int:
        """How many runs are under way."""
        return sum(sample.status == "running" for cell in self.cells for sample in cell.samples)

    @property
    def left_us(self) -> int | None:
        """How long it may take still, in microseconds: as long as runs took so far; None where none has ended."""
        left = self.total.samples - self.total.done
        if self.total.duration_us is None:
            return None
        jobs = max(1, min(self.definition.jobs, left))
        return round(self.total.duration_us * left / jobs)


class Standing(NamedTuple):
    """How far a sweep is, and how many of its runs succeeded."""

    status: SweepStatus
    done: int
    samples: int
    succeeded: int


def standing_of(source: RunSource, sweep: Sweep) -> Standing:
    """Tell how far a sweep is from its runs alone: no state and no step of them is read.

    Raises:
        Damaged: Its definition cannot be read.
    """
    samples = definition_of(sweep.definition).run_count
    came_to = [ended(runs) for runs in _begun(source, sweep).values()]
    done = sum(status in DONE for status in came_to)
    return Standing(_status(sweep, done, samples), done, samples, came_to.count("succeeded"))


def _status(sweep: Sweep, done: int, samples: int) -> SweepStatus:
    if sweep.driven:
        return "running"
    return "complete" if done == samples else "interrupted"


def _begun(source: RunSource, sweep: Sweep) -> dict[tuple[int, int], list[Run]]:
    """The runs of a sweep, by cell and sample, oldest first."""
    begun: defaultdict[tuple[int, int], list[Run]] = defaultdict(list)
    for fork in source.forks(sweep.run):
        place = place_of(fork, sweep.id)
        if place is not None:
            begun[place].append(fork)
    return begun


class MatrixReader:
    """Reads the matrix of one sweep again and again; what was read of runs that are over is kept.

    Args:
        source: the store.
        sweep: what names the sweep.
        definition: what it is, where that is known better than the store does (its values may be redacted there).

    Raises:
        RunNotFound: there is no such sweep.
        Damaged: its definition cannot be read.
    """

    def __init__(self, source: RunSource, sweep: str, definition: Definition | None = None) -> None:
        self._source = source
        self._id = source.sweep(sweep).id
        self._given = definition
        self._known: dict[str, Sample] = {}

    def read(self) -> Matrix:
        """How far it is now."""
        sweep = self._source.sweep(self._id)
        definition = self._given or definition_of(sweep.definition)
        asked = definition.predicates
        begun = _begun(self._source, sweep)
        cells = tuple(self._cell(definition, cell, begun, asked) for cell in definition.cells())
        samples = [sample for cell in cells for sample in cell.samples]
        spent = [self._spent(fork) for forks in begun.values() for fork in forks]
        known = [cost for cost, _ in spent if cost is not None]
        return Matrix(
            sweep=sweep,
            definition=definition,
            run=self._run(sweep.run),
            cells=cells,
            total=_tally(samples, asked),
            pooled=_pooled(definition, cells, asked),
            spent_usd=sum(known) if known else None,
            broken=sum(sample.begun - (sample.is_done or sample.status == "running") for sample in samples),
            unpriced=sum(unpriced for _, unpriced in spent),
        )

    def _run(self, run_id: str) -> Run | None:
        try:
            return self._source.run(run_id)
        except AgentTTError:
            return None

    def _cell(
        self,
        definition: Definition,
        cell: Cell,
        begun: dict[tuple[int, int], list[Run]],
        asked: Sequence[Predicate],
    ) -> MatrixCell:
        samples = tuple(
            self._sample(number, begun.get((cell.number, number), []), asked)
            for number in range(1, definition.samples + 1)
        )
        return MatrixCell(cell, definition.labels(cell), samples, _tally(samples, asked))

    def _sample(self, number: int, runs: Sequence[Run], asked: Sequence[Predicate]) -> Sample:
        """What became of a sample: of the runs that were begun for it the first that came to an end by itself."""
        if not runs:
            return Sample(number)
        status = ended(runs)
        fits = [run for run in runs if _outcome(run) == status]
        counted = fits[0] if fits and status != "broken" else runs[-1]
        if status not in DONE:
            return Sample(number, status, counted, tuple(runs))
        known = self._known.get(counted.id)
        if known is None or len(known.found) != len(asked):
            known = self._known[counted.id] = self._read(number, status, counted, asked)
        return replace(known, number=number, status=status, run=counted, runs=tuple(runs))

    def _read(self, number: int, status: SampleStatus, run: Run, asked: Sequence[Predicate]) -> Sample:
        state = final_state(self._source, run.id)
        steps = self._source.steps(run.id, (run.fork_step or 0) + 1)
        tokens = [count for step in steps for count in (step.tokens_in, step.tokens_out) if count is not None]
        costs = [step.cost_usd for step in steps if step.cost_usd is not None]
        return Sample(
            number,
            status,
            run,
            (run,),
            run.steps,
            sum(tokens) if tokens else None,
            sum(costs) if costs else None,
            None if run.ended_us is None else run.ended_us - run.started_us,
            tuple(each.look(state) for each in asked),
            tuple(self._holds(each, run) if each.compares else None for each in asked),
            last_words(state),
            sum(step.unpriced for step in steps),
            knows_end=state is not None,
        )

    def _holds(self, asked: Predicate, run: Run) -> bool | None:
        try:
            if why_unknown_at_the_end(self._source, run, asked.expression):
                return None
            return Watch(self._source, run.id, asked.expression).holds_at(self._source.step_count(run.id))
        except AgentTTError:  # its state is damaged, or a pattern would take too long on what this one run holds
            return None

    def _spent(self, run: Run) -> tuple[float | None, int]:
        """What a run has cost, and how many of its model calls have no known price."""
        known = self._known.get(run.id)
        if known is not None:
            return known.cost_usd, known.unpriced
        steps = self._source.steps(run.id, (run.fork_step or 0) + 1)
        said = [step.cost_usd for step in steps if step.cost_usd is not None]
        return (sum(said) if said else None), sum(step.unpriced for step in steps)


def place_of(run: Run, sweep_id: str) -> tuple[int, int] | None:
    """Cell and sample of a run of a sweep; None of any other run."""
    place = run.facts.fork_sweep
    if place.id != sweep_id or place.cell is None or place.sample is None:
        return None
    return place.cell, place.sample


def _outcome(run: Run) -> SampleStatus:
    """What became of one run that was begun."""
    match run.status:
        case "running":
            return "running"
        case "succeeded":
            return "succeeded"
        case "failed":
            return "broken" if run.error is not None and run.error.class_name == _NEVER_RAN else "failed"
        case "interrupted" if run.error is not None and run.error.class_name in STOPPED_BY_LIMIT:
            return "stopped"
    return "broken"


def ended(runs: Sequence[Run]) -> SampleStatus:
    """What became of a sample for which these runs were begun, oldest first."""
    outcomes = [_outcome(run) for run in runs]
    for outcome in outcomes:
        if outcome in DONE:
            return outcome
    if "running" in outcomes:
        return "running"
    # Whoever saw the process die wrote down how: what was killed together with the sweep has no such words.
    crashes = sum(run.status == "crashed" and run.error is not None for run in runs)
    return "crashed" if crashes >= CRASHES_KEPT else "broken" if runs else "waiting"


def _tally(samples: Iterable[Sample], asked: Sequence[Predicate]) -> Tally:
    every = list(samples)
    done = [sample for sample in every if sample.is_done]
    return Tally(
        samples=len(every),
        done=len(done),
        succeeded=Rate(sum(sample.status == "succeeded" for sample in done), len(done)),
        holds=tuple(
            _rate_of([sample.holds[index] for sample in done]) if each.compares else None
            for index, each in enumerate(asked)
        ),
        steps=_mean(sample.steps for sample in done),
        tokens=_mean(sample.tokens for sample in done),
        cost_usd=_mean(sample.cost_usd for sample in done),
        duration_us=_mean(sample.duration_us for sample in done),
        unpriced=sum(sample.unpriced for sample in done),
    )


def _rate_of(held: Iterable[bool | None]) -> Rate:
    known = [each for each in held if each is not None]
    return Rate(sum(known), len(known))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _pooled(
    definition: Definition, cells: Sequence[MatrixCell], asked: Sequence[Predicate]
) -> tuple[tuple[tuple[str, Tally], ...], ...]:
    pools = []
    for position, axis in enumerate(definition.axes):
        if not axis.varies:
            continue
        rows = []
        for index in range(len(axis.values)):
            taken = [sample for cell in cells if cell.cell.indexes[position] == index for sample in cell.samples]
            rows.append((axis.label(index), _tally(taken, asked)))
        pools.append(tuple(rows))
    return tuple(pools)
