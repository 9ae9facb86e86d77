"""How many rows a run has: what shows that one of its steps, calls or answers is missing.

The steps of a run, the calls of a step and the answers of a run are numbered without gaps, so that a row which is
missing before another one shows by itself. The last ones are counted in a row that is proven: a step's end counts its
calls (`steps.meta`), a run's end its own steps and answers (`runs.meta`, `counts`). A process that the agent forked may
write more rows after that, so that more than were counted is not damage; a row that somebody added has no proof.

Of a run that broke off nobody has counted the last rows: without them it looks as if it had broken off earlier.
"""

from __future__ import annotations

from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agent_tt.history.rows import MOST_RUNS
from agent_tt.model.facts.stored import RunMeta, StepMeta
from agent_tt.store.rows import columns, deliveries
from agent_tt.store.tables.definitions import RUNS, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows

__all__ = ["meta_with_counts", "missing_rows"]

_MOST_NAMED: Final = 20
"""How many missing steps are named one by one; the rest are given as a number."""
_ONE_STEP: Final = "run = ? AND step = ?"


def meta_with_counts(tx: Transaction, run: int, more: Mapping[str, Wire] = MappingProxyType({})) -> str:
    """What `runs.meta` of a run that ends now is to hold.

    Args:
        tx: the transaction that writes it.
        run: the run's row number.
        more: other facts that its end adds.
    """
    ((meta,),) = tx.query("SELECT meta FROM runs WHERE run = ?", (run,)) or [(None,)]
    facts = {**columns.mapping_from_text(meta), **more, **RunMeta.counts.entry(_count_rows(tx, run))}
    return columns.mapping_to_text(facts) or "{}"


def _count_rows(rows: Rows, run: int) -> tuple[int, int]:
    low, high = deliveries.keys_of(run)
    ((steps, calls, pieces),) = rows.query(
        "SELECT (SELECT count(*) FROM steps WHERE run = ?),"
        " (SELECT count(*) FROM calls WHERE run = ? AND delivered IS NOT NULL),"
        " (SELECT count(*) FROM deliveries WHERE id BETWEEN ? AND ?)",
        (run, run, low, high),
    )
    return steps, calls + pieces


def missing_rows(rows: Rows, run: int) -> Iterator[tuple[int | None, str]]:
    """Say what is missing of a run's steps, calls and answers: pairs of a step, None where it is unknown, and a text.

    Args:
        rows: the file.
        run: the run's row number; only its own rows are looked at.
    """
    if not 0 <= run < MOST_RUNS:
        return  # the number is damaged, as its row's proof says
    for row in RUNS.read(rows, "run = ?", (run,)):
        parent, fork_step, meta = row[6], row[7], row[14]
        # What a damaged row counts is not known.
        steps, answers = RunMeta.counts.of(columns.mapping_from_text(meta)) if RUNS.holds(row) else (None, None)
        is_fork = columns.integer(parent) is not None
        yield from _missing_steps(rows, run, 1 + ((columns.integer(fork_step) or 0) if is_fork else 0), steps or 0)
        yield from _missing_calls(rows, run)
        yield from _missing_answers(rows, run, answers or 0)


def _missing_steps(rows: Rows, run: int, first: int, counted: int) -> Iterator[tuple[int | None, str]]:
    there = [step for (step,) in rows.query("SELECT step FROM steps WHERE run = ? ORDER BY step", (run,))]
    # A number that cannot be one of so many rows is a damaged row, which its proof shows: nothing follows from it.
    numbers = {step for step in there if type(step) is int and first <= step < first + 2 * len(there)}
    last = max([first + counted - 1, *numbers])
    missing = last - first + 1 - len(numbers)  # as a number: a foreign file may say that there should be billions
    named = list(islice((step for step in range(first, last + 1) if step not in numbers), _MOST_NAMED + 1))
    for step in named[:_MOST_NAMED]:
        yield step, f"step {step} is missing"
    if len(named) > _MOST_NAMED:
        yield named[-1], f"{missing - _MOST_NAMED} more steps are missing"


def _missing_calls(rows: Rows, run: int) -> Iterator[tuple[int | None, str]]:
    counted = {
        step: StepMeta.calls.of(columns.mapping_from_text(meta)) or 0
        for step, meta in rows.query("SELECT step, meta FROM steps WHERE run = ? AND meta IS NOT NULL", (run,))
    }
    numbers: dict[object, set[object]] = {}
    for step, call in rows.query("SELECT step, call FROM calls NOT INDEXED WHERE run = ?", (run,)):
        numbers.setdefault(step, set()).add(call)
    for step in sorted({*counted, *numbers}, key=str):
        there = numbers.get(step, set())
        likely = {call for call in there if type(call) is int and 0 < call <= 2 * len(there)}
        expected = max([0, *likely])
        if counted.get(step, 0) > expected and all(map(STEPS.holds, STEPS.read(rows, _ONE_STEP, (run, step)))):
            expected = counted[step]
        missing = expected - len(likely)
        if missing:
            are = "is" if missing == 1 else "are"
            yield columns.integer(step), f"{missing} of the {expected} calls of step {step} {are} missing"


def _missing_answers(rows: Rows, run: int, counted: int) -> Iterator[tuple[int | None, str]]:
    low, high = deliveries.keys_of(run)
    ((count, distinct, first, last),) = rows.query(
        "SELECT count(n), count(DISTINCT n), min(n), max(n) FROM (SELECT CAST(delivered AS INTEGER) AS n"
        " FROM calls NOT INDEXED WHERE run = ? AND delivered IS NOT NULL"
        " UNION ALL SELECT id & ? FROM deliveries NOT INDEXED WHERE id BETWEEN ? AND ?) AS answers",
        (run, deliveries.NUMBER_MASK, low, high),
    )
    if count and not (first > 0 and count == distinct == last - first + 1):
        yield None, f"its answers are numbered {first} to {last}, but {count} of them ({distinct} different) are there"
    elif count < counted:
        yield None, f"{counted - count} of its {counted} answers {'is' if counted - count == 1 else 'are'} missing"
    elif count and first > 1 + deliveries.last_before(rows, run):
        yield None, f"its first answer has number {first}: those before it are missing"
