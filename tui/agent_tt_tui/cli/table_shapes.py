"""The JSON shape of a table of runs. It is stable as those in `shapes` are: fields are added, never taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.cli.shapes import Shape, run_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.runs.table import Table, TableRow

__all__ = ["table_shape"]


def table_shape(table: Table, rows: Sequence[TableRow]) -> Shape:
    """`{base: {run, name, letter, outcome}, rows, answers: [{letter, count, text, failed}]}`.

    A row is `{run, name, parent, fork_step, depth, changed, edits, diverged_at, because, rejoined_at, rejoined_state,
    shared, only_base, only_run, final_changes, final_equal, differs, letter, outcome, difference, effects, damaged,
    error}`, with `only_base`, `only_run` and `final_changes` as counts, `difference` as `{steps, tokens, cost_usd,
    duration_ms}`, and `effects` as counts by what became of calls and by name. `final_equal` and `differs` are null
    where that is not known.

    Args:
        table: The table.
        rows: Its rows, in the order in which they are wanted.
    """
    return {
        "base": {
            "run": table.base.id,
            "name": table.base.name,
            "letter": table.letter(table.base.id),
            "outcome": None if table.outcome is None else table.outcome.to_json(),
        },
        "rows": [_row(table, row) for row in rows],
        "answers": [
            {"letter": each.letter, "count": each.count, "text": each.text, "failed": each.failed}
            for each in table.answers
        ],
    }


def _row(table: Table, row: TableRow) -> Shape:
    run, error, outcome = row.run, row.error, row.outcome
    return {
        "run": run.id,
        "name": run.name,
        "parent": run.parent,
        "fork_step": run.fork_step,
        "depth": row.depth,
        "changed": list(row.changed),
        "edits": run_shape(run)["edits"],
        "diverged_at": row.diverged_at,
        "because": row.because,
        "rejoined_at": row.rejoined_at,
        "rejoined_state": row.rejoined_state,
        "shared": row.shared,
        "only_base": row.only_base,
        "only_run": row.only_run,
        "final_changes": row.final_changes,
        "final_equal": row.final_equal,
        "differs": row.differs,
        "letter": table.letter(run.id),
        "outcome": None if outcome is None else outcome.to_json(),
        "difference": None if row.difference is None else row.difference.to_json(),
        "effects": {} if outcome is None else {title: dict(names) for title, names in outcome.effects.groups()},
        "damaged": list(row.damaged),
        "error": None if error is None else {"kind": error.kind, "message": error.message, "hint": error.hint},
    }
