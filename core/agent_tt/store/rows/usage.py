"""Tokens and dollars of runs, with what a fork shares with the runs that it descends from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.model import NO_USAGE, Usage
from agent_tt.model.facts import StepFacts
from agent_tt.model.facts.stored import StepMeta
from agent_tt.store.rows import columns
from agent_tt.store.rows.columns import ANY, COUNT, NUMBER, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.store.tables.asking import Rows

__all__ = ["inherited_usage", "usage_from_wire", "usage_of_runs", "usage_of_steps", "usage_to_wire"]

_UNPRICED: Final = (
    f"CASE WHEN json_valid(s.meta) THEN json_extract(s.meta, '$.{StepMeta.extra.key}.{StepFacts.unpriced.key}') END"
)
_SUMS: Final = ", ".join(
    f"sum(CASE WHEN {number} BETWEEN 0 AND {1 << 40} THEN {number} END)"
    for number in ("s.tokens_in", "s.tokens_out", "s.cost_usd", _UNPRICED)
)
"""Sums without what no step used: SQLite fails at a sum that is too large for it."""
_KINDS: Final = (COUNT, COUNT, NUMBER, COUNT)
_ORIGINS: Final = """WITH RECURSIVE up(run, parent, fork_step) AS (
  SELECT run, parent, fork_step FROM runs WHERE run IN (SELECT value FROM json_each(?))
  UNION SELECT r.run, r.parent, r.fork_step FROM up JOIN runs r ON r.run = up.parent)
  SELECT run, parent, fork_step FROM up WHERE parent IS NOT NULL"""
"""The forks among some runs and among all that those descend from, each with where it began."""


def usage_to_wire(usage: Usage) -> Wire:
    """As `runs.meta` keeps the usage of a run that is over."""
    return [usage.tokens_in, usage.tokens_out, usage.cost_usd, usage.unpriced]


def usage_from_wire(found: Wire) -> Usage | None:
    """What `usage_to_wire` gave, None if it is not that."""
    if not isinstance(found, list) or len(found) not in (3, 4):
        return None
    tokens_in, tokens_out, cost, *more = found
    cost_usd = cost if isinstance(cost, int | float) else None
    unpriced = columns.integer(more[0]) if more else None
    return Usage(columns.integer(tokens_in), columns.integer(tokens_out), cost_usd, unpriced)


def usage_of_steps(rows: Rows, run: int) -> Usage:
    """The usage of a run's own steps."""
    ((tokens_in, tokens_out, cost, unpriced),) = columns.fitted(
        rows.query(f"SELECT {_SUMS} FROM steps s WHERE run = ?", (run,)),  # noqa: S608  # a constant of ours
        _KINDS,
    )
    return Usage(tokens_in, tokens_out, cost, unpriced)


def usage_of_runs(rows: Rows, runs: Iterable[int]) -> dict[int, Usage]:
    """The usage of the own steps of several runs, in one query."""
    return {run: usage for (run, _), usage in _sums(rows, {(run, 1 << 62) for run in runs}).items()}


def inherited_usage(rows: Rows, forks: Iterable[int]) -> dict[int, Usage]:
    """The usage of the steps that forks share with what they descend from: two queries, however deep they lie.

    A fork shares the steps up to its own fork step with the nearest ancestor that has steps of its own up to there,
    and everything before with whoever that one shares it with.
    """
    origins = _origins(rows, forks)
    sharers = {run: sharer for run in origins if (sharer := _sharer(origins, run)) is not None}
    sums = _sums(rows, set(sharers.values()))
    known: dict[int, Usage] = {}
    for fork in sharers:
        waiting: list[int] = []
        at = fork
        while at in sharers and at not in known and at not in waiting:  # those of a damaged file may go round
            waiting.append(at)
            at = sharers[at][0]
        for run in reversed(waiting):
            holder, _ = sharers[run]
            known[run] = known.get(holder, NO_USAGE) + sums.get(sharers[run], NO_USAGE)
    return known


def _origins(rows: Rows, forks: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Parent and fork step of the forks and of all forks that they descend from."""
    found = columns.fitted(rows.query(_ORIGINS, (json.dumps(list(forks)),)), (WHOLE, WHOLE, COUNT))
    return {run: (parent, fork_step or 0) for run, parent, fork_step in found}


def _sharer(origins: Mapping[int, tuple[int, int]], fork: int) -> tuple[int, int] | None:
    """The nearest ancestor that has own steps up to where a fork began, and that step; None where there is none."""
    run, last = origins[fork]
    seen = {fork}
    while run in origins and run not in seen and origins[run][1] >= last:
        seen.add(run)
        run, last = origins[run][0], min(last, origins[run][1])
    return None if run in seen else (run, last)


def _sums(rows: Rows, stretches: set[tuple[int, int]]) -> dict[tuple[int, int], Usage]:
    """The usage of the steps of runs up to a last step each."""
    wanted = sorted(stretches)
    found = rows.query(
        f"SELECT e.key, {_SUMS} FROM json_each(?) e JOIN steps s ON s.run = json_extract(e.value, '$[0]')"  # noqa: S608  # a constant of ours
        " AND s.step <= json_extract(e.value, '$[1]') GROUP BY e.key",
        (json.dumps(wanted),),
    )
    return {
        wanted[key]: Usage(tokens_in, tokens_out, cost, unpriced)
        for key, tokens_in, tokens_out, cost, unpriced in columns.fitted(found, (ANY, *_KINDS))
    }
