"""One run against many: its forks, or any others, each in a row that says how it stands against the one.

A row says what `agent_tt.comparing.runs.comparison.compare_runs` of the two says, in figures alone, so that hundreds
of them can be kept. What the base did is read once for all rows; rows come as they are ready, and those of runs that
are over are not read again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, get_args

from agent_tt._dataclass import dataclass
from agent_tt.comparing.runs.comparison import Against
from agent_tt.comparing.runs.edits import changed_on_the_way
from agent_tt.comparing.runs.equal_answers import NONE, group_answers, why_not
from agent_tt.comparing.steps.outcome import difference_of
from agent_tt.errors import AgentTTError, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agent_tt.comparing.runs.comparison import Comparison
    from agent_tt.comparing.runs.equal_answers import Answer
    from agent_tt.comparing.steps.outcome import Difference, Outcome
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["SORT_KEYS", "SortKey", "Table", "TableReader", "TableRow"]

SortKey = Literal["made", "diverged", "answer", "status", "steps", "cost"]

SORT_KEYS: Final[tuple[SortKey, ...]] = get_args(SortKey)
"""What rows can be ordered by; `made` is the order of the forks, or the one in which runs were named."""

_STATUS_RANK: Final = {"running": 0, "failed": 1, "crashed": 2, "interrupted": 3, "unknown": 4, "succeeded": 5}

_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class TableRow:
    """One run as it stands against the base.

    Attributes:
        run: The run.
        depth: 1 for a fork of the base, 2 for a fork of that, and so on; 0 for a run that was not forked from it.
        changed: What people changed on the way from the base to it, a few words for each change.
        shared: How many leading steps are one and the same.
        diverged_at: Number of the step at which they part (in the base, or in the run where the base took none).
        because: Why they part; empty where they do not.
        rejoined_at: Number, in the base, of the step at which they meet again; None if they never do.
        rejoined_state: Whether the states are equal again there, and not the moves alone.
        only_base: How many steps only the base took; those that a run which goes on may yet come to do not count.
        only_run: How many only this run took.
        final_changes: In how many places the final states differ.
        final_equal: Whether these are equal, those of all lanes too; None where that is not known.
        differs: Whether they differ at all; None where that is not known.
        outcome: How the run ended, without what its calls carried; None as long as it was not compared.
        difference: How much more it took than the base. A fork's time is its own: that of its first steps is not in it.
        damaged: Numbers of the steps that were found to be damaged.
        error: Why it could not be compared.
        is_over: Whether both it and the base had ended when they were compared; else `differs` may be not known yet.
    """

    run: Run
    depth: int = 0
    changed: tuple[str, ...] = ()
    shared: int = 0
    diverged_at: int | None = None
    because: str = ""
    rejoined_at: int | None = None
    rejoined_state: bool = False
    only_base: int = 0
    only_run: int = 0
    final_changes: int = 0
    final_equal: bool | None = None
    differs: bool | None = None
    outcome: Outcome | None = None
    difference: Difference | None = None
    damaged: tuple[int, ...] = ()
    error: AgentTTError | None = None
    is_over: bool = True

    @property
    def trouble(self) -> str:
        """What is wrong with it, in one line; "" where nothing is."""
        if self.error is not None:
            return self.error.message
        if not self.damaged:
            return ""
        steps = ", ".join(str(number) for number in self.damaged[:_MOST_NAMED])
        return f"damaged at {steps}" + (" and more" if len(self.damaged) > _MOST_NAMED else "")


@dataclass(frozen=True, slots=True)
class Table:
    """One run against many.

    Attributes:
        base: The run that all are compared with.
        outcome: How it ended, without what its calls carried; None where nothing was compared with it.
        rows: The others.
        answers: What all of them and the base came to, equal answers under one letter.
        letters: The letter of each run that is over, by its id; `-` of one that did not succeed, `?` of one whose
            answer is not known.
    """

    base: Run
    outcome: Outcome | None
    rows: tuple[TableRow, ...]
    answers: tuple[Answer, ...]
    letters: Mapping[str, str]

    @property
    def differs(self) -> bool:
        """Whether any of them differs from the base."""
        return any(row.differs for row in self.rows)

    @property
    def succeeded(self) -> int:
        """How many of them, with the base, ended well and have an answer that is known."""
        return sum(group.count for group in self.answers if group.is_known)

    @property
    def different(self) -> int:
        """How many different answers there are among these."""
        return sum(group.is_known for group in self.answers)

    def letter(self, run_id: str) -> str:
        """What stands for the answer of a run: `-` where it failed, "" where nobody knows yet."""
        return self.letters.get(run_id, "")

    def ordered(self, by: SortKey = "made") -> tuple[TableRow, ...]:
        """The rows in another order than they were made in; equal ones keep theirs, those not compared come last.

        Args:
            by: `diverged` puts first what parts first; `answer` the most frequent answer; `status` what runs, then what
                failed; `steps` the longest; `cost` the dearest.
        """
        if by == "made":
            return self.rows

        def rank(row: TableRow) -> tuple[bool, float | str]:
            outcome = row.outcome
            if outcome is None:
                return True, "" if by == "answer" else 0
            values: dict[SortKey, float | str] = {
                "diverged": float("inf") if row.diverged_at is None else row.diverged_at,
                "answer": _letter_rank(self.letter(row.run.id)),
                "status": _STATUS_RANK[outcome.status],
                "steps": -outcome.steps,
                "cost": float("inf") if outcome.cost_usd is None else -outcome.cost_usd,
            }
            return False, values[by]

        return tuple(sorted(self.rows, key=rank))


class TableReader:
    """Reads a table again and again while its runs go on; for one thread at a time.

    Args:
        source: Where the runs are.
        base: The run that all others are compared with.
        others: The others, in order; None for what was forked from the base, directly or through other forks, whatever
            is forked while the table is read too.
        archived: Whether forks that were archived are among them; those that are named always are.
    """

    def __init__(
        self, source: RunSource, base: Run, others: Sequence[Run] | None = None, *, archived: bool = False
    ) -> None:
        self.base = base
        """The base as it was read last."""
        self.outcome: Outcome | None = None
        """How the base ended, as it was read last."""
        self._source = source
        self._others = None if others is None else {run.id: run for run in others}
        self._archived = archived
        self._against: Against | None = None
        self._rows: dict[str, TableRow] = {}
        self._due: set[str] = set()

    @property
    def due(self) -> int:
        """How many rows wait to be compared, for the first time or again."""
        return len(self._due)

    def heads(self) -> list[TableRow]:
        """What there is to be compared, at once: of rows that were not compared yet only the run is known.

        Rows that are to be compared again stay as they were until then. A run that was deleted after it was listed
        stays too, with its error.

        Raises:
            RunNotFound: The base was deleted.
            AgentTTError: The source cannot be read.
        """
        base = self._source.run(self.base.id)
        if base != self.base or base.status == "running":
            # What is known of a run that goes on may be out of date although its row is what it was.
            self._against = None
            self._due |= self._rows.keys()
        self.base = base
        known = {run.id: run for run in self._listed()} | {base.id: base}
        self._rows = {run_id: self._head(run_id, known) for run_id in self._order(known)}
        return list(self._rows.values())

    def read(self, *, cancelled: Callable[[], bool] = lambda: False) -> Iterator[TableRow]:
        """Compare the base with each of them that is to be compared; all rows come, as they are ready.

        Raises:
            Interrupted: It was cancelled; what came so far is kept.
            AgentTTError: The base, or the source, cannot be read.
        """
        for row in self.heads():
            if row.run.id not in self._due:
                yield row
                continue
            compared = self._rows[row.run.id] = self._compared(row, cancelled)
            self._due.discard(row.run.id)
            yield compared

    def table(self) -> Table:
        """What is known now."""
        rows = tuple(self._rows.values())
        # Of a run whose end cannot be read nobody knows what it answered.
        read = [row for row in rows if row.outcome is not None and row.outcome.steps not in row.damaged]
        known = [(self.base, self.outcome), *((row.run, row.outcome) for row in read)]
        ended = [(run, outcome) for run, outcome in known if outcome is not None and outcome.status != "running"]
        said = {run.id: outcome.last_words for run, outcome in ended if outcome.status == "succeeded"}
        wrong = [why_not(run, outcome.status) for run, outcome in ended if outcome.status != "succeeded"]
        found = group_answers(said, wrong)
        letters = {run.id: found.letters.get(run.id, NONE) for run, _ in ended}
        return Table(self.base, self.outcome, rows, found.groups, letters)

    # Which runs.

    def _listed(self) -> list[Run]:
        if self._others is None:
            forks = self._source.forks(self.base.id, deep=True)
            return [run for run in forks if self._archived or not run.archived]
        found = []
        for run_id in self._others:
            try:
                found.append(self._source.run(run_id))
            except AgentTTError:  # `_head` says so
                continue
        return found

    def _order(self, known: dict[str, Run]) -> Iterable[str]:
        """Ids of all rows: those that are listed, then those that were."""
        if self._others is not None:
            return self._others
        return dict.fromkeys([*(run_id for run_id in known if run_id != self.base.id), *self._rows])

    def _head(self, run_id: str, known: dict[str, Run]) -> TableRow:
        before = self._rows.get(run_id)
        try:
            run = known.get(run_id) or self._source.run(run_id)
        except AgentTTError as error:
            self._due.discard(run_id)
            last = before or TableRow((self._others or {})[run_id])
            return TableRow(last.run, last.depth, last.changed, error=error)
        is_over = run.status != "running"
        if before is not None and before.run == run and before.error is None and is_over:
            return before
        self._due.add(run_id)
        way = self._way(run, known)
        depth = len(way) if way and way[0].parent == self.base.id else 0
        changed = changed_on_the_way(self.base, way)
        kept = before if before is not None and before.error is None else TableRow(run)
        return replace(kept, run=run, depth=depth, changed=changed)

    def _way(self, run: Run, known: dict[str, Run]) -> list[Run]:
        """A run behind those that it was forked from, up to the base; up to the first recorded where that is none."""
        if run.id == self.base.id:
            return []
        way, seen = [run], {run.id}
        while (parent := way[0].parent) is not None and parent != self.base.id and parent not in seen:
            seen.add(parent)
            try:
                way.insert(0, known.get(parent) or self._source.run(parent))
            except AgentTTError:  # it was deleted: what it shared with others is still known by number
                break
        return way

    # Comparing.

    def _compared(self, head: TableRow, cancelled: Callable[[], bool]) -> TableRow:
        if cancelled():
            raise Interrupted("the comparison was given up")
        if self._against is None:
            self._against = Against(self._source, self.base)
        try:
            comparison = self._against.compare(self._source, head.run, cancelled=cancelled)
            damaged = tuple(self._source.damaged_steps(head.run.id))
        except Interrupted:
            raise
        except AgentTTError as error:
            return TableRow(head.run, head.depth, head.changed, error=error)
        self.outcome = _light(comparison.outcome_a)
        return _row(head, comparison, damaged)


def _row(head: TableRow, comparison: Comparison, damaged: tuple[int, ...]) -> TableRow:
    a, b = comparison.outcome_a, comparison.outcome_b
    return replace(
        head,
        shared=comparison.shared,
        diverged_at=comparison.diverged_at,
        because=comparison.because,
        rejoined_at=comparison.rejoined_at,
        rejoined_state=comparison.rejoined_state,
        only_base=sum(each.kind == "only_a" for each in comparison.rows),
        only_run=sum(each.kind == "only_b" for each in comparison.rows),
        final_changes=len(comparison.final_changes),
        final_equal=comparison.final_equal,
        differs=comparison.differs or (None if comparison.unread or not comparison.is_over else False),
        outcome=_light(b),
        difference=difference_of(a, b),
        damaged=damaged,
        is_over=comparison.is_over,
    )


def _light(outcome: Outcome) -> Outcome:
    """An outcome without what its calls carried, which may be large."""
    effects = outcome.effects
    rows = tuple(replace(row, args=None, asked={}, result=None) for row in effects.rows)
    return replace(outcome, effects=replace(effects, rows=rows))


def _letter_rank(letter: str) -> str:
    """Letters first, then what stands for all others, then failures, then what is not known yet."""
    return f"{'0' if letter.isalpha() else '1' if letter not in (NONE, '') else '2' if letter else '3'}{letter}"
