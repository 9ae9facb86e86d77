"""`agent-tt compare` of one run with many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import UsageError
from agent_tt.shapes.records import Shape, run_shape
from agent_tt_tui.cli.comparing.table_text import print_table
from agent_tt_tui.cli.options import write_json
from agent_tt_tui.cli.progress import counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.runs.table import SortKey, Table, TableRow
    from agent_tt_tui.cli.options import Options

__all__ = ["check_two", "compare_many"]


def check_two(*, archived: bool, sort: SortKey | None) -> None:
    """Refuse what means nothing where two runs are compared.

    Raises:
        UsageError: it does not.
    """
    if archived:
        raise UsageError("--all goes with --forks", hint="a run that is named may be archived")
    if sort is not None:
        raise UsageError("--sort orders the rows of a table", hint="name three runs, or one and --forks")


def compare_many(options: Options, runs: tuple[str, ...], *, forks: bool, archived: bool, sort: SortKey | None) -> int:
    """Write the table of one run against its forks, or against the others that are named; give the exit code.

    Raises:
        UsageError: what was asked for makes no sense.
        AgentTTError: the first run, or the store, cannot be read, or a run is not there.
    """
    from agent_tt.comparing.runs.table import TableReader
    from agent_tt.querying.checkpoints import split_file

    elsewhere = next((text for text in runs if split_file(text)[0] is not None), None)
    if elsewhere is not None:
        hint = "two runs may lie in two files; for a table of another file give it as --store"
        raise UsageError(f"{elsewhere} lies in another file than the table", hint=hint)
    _check(runs, forks=forks, archived=archived)
    with options.source(*runs) as source:
        base, others = source.run(runs[0]), None if forks else [source.run(name) for name in runs[1:]]
        reader = TableReader(source, base, others, archived=archived)
        with counter("comparing", show=not options.as_json) as report:
            total = len(reader.heads())
            for done, _ in enumerate(reader.read(), start=1):
                report(done, total)
        table = reader.table()
        hidden = forks and not table.rows and bool(source.forks(base.id))
    rows = table.ordered(sort or "made")
    if options.as_json:
        write_json(_table_shape(table, rows))
    else:
        print_table(options.terminal(), table, rows, hidden=hidden)
    # What cannot be read may differ or not: the code of its error says so.
    codes = [row.error.exit_code for row in rows if row.error is not None]
    return max(codes, default=1 if table.differs else 0)


def _check(runs: tuple[str, ...], *, forks: bool, archived: bool) -> None:
    if forks and len(runs) > 1:
        raise UsageError("--forks takes one run", hint="name the runs to compare, or one run and --forks")
    if not forks and len(runs) == 1:
        hint = "name another run, or add --forks to compare it with its own"
        raise UsageError(f"{runs[0]} is to be compared with what?", hint=hint)
    if archived and not forks:
        raise UsageError("--all goes with --forks", hint="a run that is named may be archived")


def _table_shape(table: Table, rows: Sequence[TableRow]) -> Shape:
    """`{base: {run, name, letter, outcome}, rows, answers: [{letter, count, text, failed}]}`.

    A row is `{run, name, parent, fork_step, depth, changed, edits, diverged_at, because, rejoined_at, rejoined_state,
    shared, only_base, only_run, final_changes, final_equal, differs, letter, outcome, difference, effects, damaged,
    error}`, with `only_base`, `only_run` and `final_changes` as counts, `difference` as `{steps, tokens, cost_usd,
    duration_ms}`, and `effects` as counts by what became of calls and by name. `final_equal` and `differs` are null
    where that is not known.

    Args:
        table: the table.
        rows: its rows, in the order in which they are wanted.
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
